"""Writes primitives with windows, slices and random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dims import same
from talweg.core.dtypes import int64, uint64
from talweg.graph.node import Node
from talweg.interop.graph_def.tables import look_up
from talweg.interop.graph_def.writing import Literal, Writer, WrittenNode, cannot_write
from talweg.prims.nn.pooling import patches
from talweg.prims.random import distributions
from talweg.prims.random.streams import THREEFRY, generator_stream, reserve_stream, seed_stream

if TYPE_CHECKING:
    from talweg.interop.graph_def.writing import Output

RULES: dict[str, Callable[..., Any]] = {}  # primitive -> rule(writer, node, operands, params)


def describe_as(*names: str) -> Callable[[Any], Any]:
    """Register how these primitives are described."""

    def register(function: Callable[..., Any]) -> Any:
        for name in names:
            RULES[name] = function
        return function

    return register


def vector(*numbers: int) -> Literal:
    """Return numbers as a constant vector."""
    return Literal(np.array(numbers, np.int32))


def add_axis(x: Output, axis: int) -> WrittenNode:
    """Add an axis of size 1 to `x`."""
    return WrittenNode("ExpandDims", (x, Literal(np.int32(axis))), {})


# -- windows


def _per_axis(numbers: tuple) -> list[int]:
    """Return one number for every axis of [N, *S, C]."""
    return [1, *map(int, numbers), 1]


def _padding(padding: Any, spatial: int) -> dict:
    if isinstance(padding, str):
        return {"padding": padding}
    if spatial == 3:
        raise cannot_write("explicit padding in three dimensions")
    flat = [int(n) for pair in padding for n in pair]
    return {"padding": "EXPLICIT", "explicit_paddings": [0, 0, *flat, 0, 0]}


def _flat(params: dict) -> dict:
    """Return the parameters with a first spatial axis of size 1: a line is an image of one row."""
    found = dict(params)
    for key in ("strides", "dilation", "window", "sizes", "kernel"):
        if key in found:
            found[key] = (1, *found[key])
    if not isinstance(found["padding"], str):
        found["padding"] = ((0, 0), *found["padding"])
    return found


@describe_as("convolution", "convolution_input_gradient", "convolution_filter_gradient")
def convolution(writer: Writer, node: Node, operands: list, params: dict) -> Any:
    """Write convolutions of lines, images and volumes, and their transposes."""
    line = len(params["strides"]) == 1
    kind = {
        "convolution": "",
        "convolution_input_gradient": "Input",
        "convolution_filter_gradient": "Filter",
    }[node.prim.name]
    x, y = operands
    dims = node.aval.dims
    if line:
        params = _flat(params)
        x = add_axis(x, 1)
        y = add_axis(y, 1 if kind == "Filter" else 0)
        dims = (1, *dims) if kind == "Filter" else (dims[0], 1, *dims[1:])
    spatial = len(params["strides"])
    groups = params["groups"]
    given = {
        "strides": _per_axis(params["strides"]),
        "dilations": _per_axis(params["dilation"]),
        **_padding(params["padding"], spatial),
    }
    channels = node.aval.dims[-1] if kind == "Input" else node.operands[0].aval.dims[-1]
    if groups > 1 and not (same(channels, groups) and spatial == 2):
        made = _in_groups(writer, node, (kind, spatial, dims), (x, y), groups, given)
    else:
        made = _convolution(writer, node, (kind, spatial, dims), (x, y), groups, given)
    if line:
        return WrittenNode("Squeeze", (made,), {"squeeze_dims": [0 if kind == "Filter" else 1]})
    return made


def _convolution(
    writer: Writer, node: Node, what: tuple, operands: tuple, groups: int, given: dict
) -> WrittenNode:
    kind, spatial, dims = what
    alone = groups > 1
    x, y = operands
    op = "Conv3D" if spatial == 3 else "DepthwiseConv2dNative" if alone else "Conv2D"
    version = "V2" if spatial == 3 and kind else ""
    if not kind:
        w = _by_channel(writer, y, node.operands[1].aval.dims, groups) if alone else y
        return WrittenNode(op, (x, w), given)
    if kind == "Input":
        w = _by_channel(writer, y, node.operands[1].aval.dims, groups) if alone else y
        return WrittenNode(f"{op}BackpropInput{version}", (writer.integers(dims), w, x), given)
    if not alone:
        sizes = writer.integers(dims)
        return WrittenNode(f"{op}BackpropFilter{version}", (x, sizes, y), given)
    sizes = writer.integers((*dims[:-2], groups, dims[-1] // groups))
    made = WrittenNode(f"{op}BackpropFilter", (x, sizes, y), given)
    return WrittenNode("Reshape", (made, writer.integers(dims)), {})


def _in_groups(
    writer: Writer, node: Node, what: tuple, operands: tuple, groups: int, given: dict
) -> WrittenNode:
    """Write separate convolutions side by side: channels are cut, convolved and joined."""
    kind, spatial, dims = what
    last = spatial + 1
    if kind:
        dims = (*dims[:-1], dims[-1] // groups)
    cut = [
        WrittenNode("Split", (writer.integers(last), x), {"num_split": groups}) for x in operands
    ]
    parts = [
        _convolution(writer, node, (kind, spatial, dims), (cut[0][k], cut[1][k]), 1, given)
        for k in range(groups)
    ]
    return WrittenNode("ConcatV2", (parts, writer.integers(last)), {})


def _by_channel(writer: Writer, w: Output, dims: tuple, groups: int) -> WrittenNode:
    """Return filters [*K, 1, C M] as [*K, C, M]."""
    window = (1,) if len(dims) == 3 else ()
    shape = (*window, *dims[:-2], groups, dims[-1] // groups)
    return WrittenNode("Reshape", (w, writer.integers(shape)), {})


@describe_as("max_pool", "avg_pool", "avg_pool_transpose", "max_pool_scatter", "max_pool_gather")
def pooling(writer: Writer, node: Node, operands: list, params: dict) -> Any:
    """Write pooling of lines, images and volumes, and its derivatives."""
    name = node.prim.name
    line = len(params["strides"]) == 1
    dims = node.aval.dims
    if line:
        params = _flat(params)
        operands = [add_axis(x, 1) for x in operands]
        dims = (dims[0], 1, *dims[1:])
    if any(n != 1 for n in params["dilation"]):
        raise cannot_write("pooling with dilations")
    volume = "3D" if len(params["strides"]) == 3 else ""
    given = {
        "ksize": _per_axis(params["window"]),
        "strides": _per_axis(params["strides"]),
        **_padding(params["padding"], 3 if "avg" in name else len(params["strides"])),
    }
    if name == "max_pool":
        made = WrittenNode(f"MaxPool{volume}", (operands[0],), given)
    elif name == "avg_pool":
        made = WrittenNode(f"AvgPool{volume}", (operands[0],), given)
    elif name == "avg_pool_transpose":
        made = WrittenNode(f"AvgPool{volume}Grad", (writer.integers(dims), operands[0]), given)
    else:
        g, x, y = operands
        ending = "GradGrad" if name == "max_pool_gather" else "Grad"
        made = WrittenNode(f"MaxPool{volume}{ending}", (x, y, g), given)
    return WrittenNode("Squeeze", (made,), {"squeeze_dims": [1]}) if line else made


@describe_as("patches", "max_pool_with_argmax")
def write_windows(writer: Writer, node: Node, operands: list, params: dict) -> Any:
    """Write patches, and maxima with their places."""
    if len(params["strides"]) != 2 or not isinstance(params["padding"], str):
        raise cannot_write(f"{node.prim.name} with these windows")
    given = {"strides": _per_axis(params["strides"]), "padding": params["padding"]}
    window = _per_axis(params["window"])
    if node.prim is patches:
        given |= {"ksizes": window, "rates": _per_axis(params["dilation"])}
        return WrittenNode("ExtractImagePatches", tuple(operands), given)
    if any(n != 1 for n in params["dilation"]):
        raise cannot_write("pooling with dilations")
    return WrittenNode("MaxPoolWithArgmax", tuple(operands), {**given, "ksize": window})


# -- slices


@describe_as("strided_slice", "unslice")
def write_slice(writer: Writer, node: Node, operands: list, params: dict) -> Any:
    """Write slices with resolved bounds, where an end of -1 means: to the very first element."""
    begin, end, strides = params["begin"], params["end"], params["strides"]
    mask = sum(1 << i for i, e in enumerate(end) if type(e) is int and e < 0)
    bounds = tuple([writer.integers(part) for part in (begin, end, strides)])
    return _slice_parts(writer, node, operands[0], bounds, {"end_mask": mask})


def _slice_parts(writer: Writer, node: Node, x: Output, bounds: tuple, masks: dict) -> WrittenNode:
    if "shape" in node.params:
        shape = writer.integers(node.params["shape"])
        return WrittenNode("StridedSliceGrad", (shape, *bounds, x), masks)
    return WrittenNode("StridedSlice", (x, *bounds), masks)


@describe_as("slice_by", "unslice_by")
def slice_by(writer: Writer, node: Node, operands: list, params: dict) -> Any:
    """Write slices as the user wrote them."""
    begin, end, strides = [], [], []
    masks = {"begin_mask": 0, "end_mask": 0, "shrink_axis_mask": 0}
    for axis, part in enumerate(params["key"]):
        if type(part) is not tuple:
            masks["shrink_axis_mask"] |= 1 << axis
            part = (part, part + 1, 1)
        start, stop, step = part
        masks["begin_mask"] |= (start is None) << axis
        masks["end_mask"] |= (stop is None) << axis
        begin.append(0 if start is None else start)
        end.append(0 if stop is None else stop)
        strides.append(1 if step is None else step)
    bounds = tuple([writer.integers(tuple(part)) for part in (begin, end, strides)])
    return _slice_parts(writer, node, operands[0], bounds, masks)


# -- sorting, searching, transforms


@describe_as("searchsorted")
def searchsorted(writer: Writer, node: Node, operands: list, params: dict) -> Any:
    """Write rows of sorted numbers and of values, as matrices."""
    x, v = operands
    rows = []
    for part, source in ((x, node.operands[0]), (v, node.operands[1])):
        last = source.aval.dims[-1]
        rows.append(WrittenNode("Reshape", (part, writer.integers((-1, last))), {}))
    op = "UpperBound" if params["right"] else "LowerBound"
    found = WrittenNode(op, tuple(rows), {"out_type": params["dtype"]})
    return WrittenNode("Reshape", (found, WrittenNode("Shape", (v,), {})), {})


@describe_as("fft", "rfft", "irfft")
def fourier(writer: Writer, node: Node, operands: list, params: dict) -> Any:
    """Write Fourier transforms; the axes are moved to the end and back if need be."""
    name, rank = node.prim.name, len(node.operands[0].aval.dims)
    axes = tuple(params["axes"]) if name == "fft" else (params["axis"],)
    if len(axes) > 3 or params.get("doubled") or params.get("halved"):
        raise cannot_write(f"this {name}")
    order = (*[axis for axis in range(rank) if axis not in axes], *axes)
    moved = order != tuple(range(rank))
    x = WrittenNode("Transpose", (operands[0], vector(*order)), {}) if moved else operands[0]
    if name == "fft":
        size = {1: "", 2: "2D", 3: "3D"}[len(axes)]
        made = WrittenNode(f"{'I' if params['inverse'] else ''}FFT{size}", (x,), {})
    else:
        length = params["length"] if name == "irfft" else node.operands[0].aval.dims[params["axis"]]
        key = {"Tcomplex": node.aval.dtype} if name == "rfft" else {"Treal": node.aval.dtype}
        made = WrittenNode(name.upper(), (x, writer.integers((length,))), key)
    if not moved:
        return made
    back = sorted(range(rank), key=lambda dimension: order[dimension])
    return WrittenNode("Transpose", (made, vector(*back)), {})


@describe_as("scatter_rows")
def scatter_rows(writer: Writer, node: Node, operands: list, params: dict) -> Any:
    """Write the addition of rows of g where i says, along an axis."""
    g, i = operands
    axis, rank = params["axis"], len(node.aval.dims)
    if params["batch_dims"]:
        raise cannot_write("scatter_rows with batch axes")
    depth = len(node.operands[1].aval.dims)
    rows = writer.integers(params["rows"])
    if axis == 0:
        return WrittenNode("UnsortedSegmentSum", (g, i, rows), {})
    places = range(rank - 1 + depth)
    order = (*places[axis : axis + depth], *places[:axis], *places[axis + depth :])
    front = WrittenNode("Transpose", (g, vector(*order)), {})
    summed = WrittenNode("UnsortedSegmentSum", (front, i, rows), {})
    return WrittenNode(
        "Transpose", (summed, vector(*range(1, axis + 1), 0, *range(axis + 1, rank))), {}
    )


@describe_as("unique")
def unique(writer: Writer, node: Node, operands: list, params: dict) -> Any:
    """Write first places, numbers of values, counts."""
    (x,) = operands
    dtype = params["dtype"]
    unique_node = writer.one(
        WrittenNode("UniqueWithCounts", (x,), {"out_idx": dtype}), "unique_with_counts"
    )
    number, count = (
        unique_node._replace(number=k, inner=f"{unique_node.node}:{part}:0", dtype=dtype)
        for k, part in ((1, "idx"), (2, "count"))
    )
    zero, one = (Literal(dtype.numpy_dtype.type(n)) for n in (0, 1))
    places = WrittenNode("Range", (zero, WrittenNode("Size", (x,), {"out_type": dtype}), one), {})
    length = WrittenNode("Size", (count,), {"out_type": dtype})
    first = WrittenNode("UnsortedSegmentMin", (places, number, length), {})
    return [first, number, count]


# -- random numbers

_FLOATS = {
    "uniform": "RandomUniform",
    "normal": "RandomStandardNormal",
    "truncated_normal": "TruncatedNormal",
}
_STATELESS = {
    "RandomUniform": "StatelessRandomUniform",
    "TruncatedNormal": "StatelessTruncatedNormal",
    "RandomStandardNormal": "StatelessRandomNormal",
    "RandomUniformInt": "StatelessRandomUniformInt",
}


@describe_as("random_gamma", "random_poisson")
def write_distribution(writer: Writer, node: Node, operands: list, params: dict) -> Any:
    """Return numbers of a distribution, from a hidden stream."""
    source = node.operands[0]
    if source.prim is not reserve_stream:
        return None
    seeds = source.params["seeds"]
    given = {"seed": int(seeds[0]), "seed2": int(seeds[1])}
    inputs = (writer.integers(params["shape"]), operands[1])
    if node.prim is distributions.random_gamma:
        return WrittenNode("RandomGamma", inputs, given)
    return WrittenNode("RandomPoissonV2", inputs, {**given, "dtype": params["dtype"]})


@describe_as(
    "random_binomial",
    "random_bounded_normal",
    "random_candidates",
    "index_shuffle",
    "generator_stream",
    "seed_stream",
    "reserve_stream",
)
def streams(writer: Writer, node: Node, operands: list, params: dict) -> Any:
    """Return None: streams have no form of their own."""
    return None


@describe_as("random_numbers", "random_integers", "random_order", "random_classes")
def random(writer: Writer, node: Node, operands: list, params: dict) -> Any:
    """Write numbers of a hidden stream, or of the stream of a seed."""
    source = node.operands[0]
    name = node.prim.name
    if name == "random_order":
        op, size = "RandomShuffle", writer.integers(params["size"], int64)
        bounds = (Literal(np.int64(0)), size, Literal(np.int64(1)))
        inputs: tuple = (WrittenNode("Range", bounds, {}),)
        given: dict = {}
    elif name == "random_classes":
        op, inputs = "Multinomial", (operands[1], writer.integers(params["size"]))
        given = {"output_dtype": params["dtype"]}
    elif name == "random_integers":
        op, inputs = "RandomUniformInt", (writer.integers(params["shape"]), *operands[1:])
        given = {}
    else:
        op = _FLOATS.get(params["kind"], "")
        inputs, given = (writer.integers(params["shape"]),), {"dtype": params["dtype"]}
    if source.prim is reserve_stream:
        seeds = source.params["seeds"]
        return WrittenNode(op, inputs, {**given, "seed": int(seeds[0]), "seed2": int(seeds[1])})
    if source.prim is seed_stream and op in _STATELESS:
        seed = writer.value(source.operands[0])
        return WrittenNode(_STATELESS[op], (inputs[0], seed, *inputs[1:]), given)
    if op not in _STATELESS or source.prim is seed_stream:
        return None
    if source.prim is generator_stream:
        state = writer.value(source.operands[0])
        key = _key_and_counter(state, source.params["algorithm"])
    else:
        key = (
            _part(operands[0], 2, 3),
            _part(operands[0], 0, 2),
            Literal(np.int32(params["algorithm"])),
        )
    return WrittenNode(f"{_STATELESS[op]}V2", (inputs[0], *key, *inputs[1:]), given)


# -- strings and tables


@describe_as("text_map")
def _text_map(writer: Writer, node: Node, operands: list, params: dict) -> WrittenNode:
    rule = params["rule"]
    if rule.table is not None:
        return look_up(writer, rule, operands[0])
    if rule.form is None:
        raise cannot_write(f"a function of strings, {rule.apply!r}")
    op, inputs, given = rule.form
    return WrittenNode(op, (operands[0], *map(Literal, inputs)), given)


# -- generators


def word(state: Output, place: int) -> WrittenNode:
    """Return an element of a generator's state."""
    bounds = [vector(place), vector(place + 1), vector(1)]
    return WrittenNode("StridedSlice", (state, *bounds), {"shrink_axis_mask": 1})


def _part(x: Output | WrittenNode, first: int, last: int) -> WrittenNode:
    """Slice some neighbours in a vector."""
    return WrittenNode("StridedSlice", (x, vector(first), vector(last), vector(1)), {})


def _key_and_counter(state: Output, algorithm: int) -> tuple:
    """Return the key, the counter and the number of the algorithm of a generator's state."""
    bits = WrittenNode("Bitcast", (state,), {"type": uint64})
    if algorithm != THREEFRY:
        return _part(bits, 2, 3), _part(bits, 0, 2), Literal(np.int32(algorithm))
    zero = Literal(np.zeros(1, np.uint64))
    counter = WrittenNode("ConcatV2", ([_part(bits, 0, 1), zero], Literal(np.int32(0))), {})
    return _part(bits, 1, 2), counter, Literal(np.int32(algorithm))


@describe_as("skip_state")
def _skip_state(writer: Writer, node: Node, operands: list, params: dict) -> WrittenNode:
    """Advance the low word; for Philox the next one by what is carried, compared without signs."""
    state, blocks = operands[0], params["blocks"]
    if isinstance(blocks, int):
        blocks = (blocks + 2**63) % 2**64 - 2**63
    low = word(state, 0)
    grown = WrittenNode("AddV2", (low, writer.integers(blocks, int64)), {})
    if params["algorithm"] == THREEFRY:
        return WrittenNode("Pack", ([grown, word(state, 1)],), {})
    sign = Literal(np.int64(-(2**63)))
    less = WrittenNode(
        "Less", tuple([WrittenNode("BitwiseXor", (x, sign), {}) for x in (grown, low)]), {}
    )
    high = WrittenNode("AddV2", (word(state, 1), WrittenNode("Cast", (less,), {"DstT": int64})), {})
    return WrittenNode("Pack", ([grown, high, word(state, 2)],), {})
