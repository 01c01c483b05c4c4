"""Evaluates the expressions of `writing_table.py` for a node: a description of what to write."""

from __future__ import annotations

from functools import cache
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dims import same_dims
from talweg.core.dtypes import as_dtype, int64
from talweg.graph.node import Node
from talweg.interop.graph_def.writing import (
    Literal,
    Output,
    Writer,
    WrittenNode,
    cannot_write,
    static_shape,
)
from talweg.interop.graph_def.writing_table import TABLE
from talweg.prims.nn.activations import CURVED, STEEP
from talweg.raw import operations

if TYPE_CHECKING:
    from talweg.core.dtypes import DType


@cache
def _expressions() -> dict[str, CodeType]:
    """Return the table, compiled; its text is part of this program."""
    found = {}
    for line in TABLE.strip().splitlines():
        name, _, text = line.partition(": ")
        found[name] = compile(text, f"writing_table: {name}", "eval")
    return found


class _Words(dict):
    """Maps the words of an expression to their meanings for one node."""

    def __init__(self, writer: Writer, node: Node, operands: list):
        super().__init__(node.key[1])
        prim, aval = node.prim, node.aval
        names = prim.operands
        fixed = len(names) - 1 if prim.variadic else len(names)
        self.update(zip(names[:fixed], operands[:fixed]))
        if prim.variadic:
            self[names[-1]] = operands[fixed:]
        self.writer, self.avals = writer, dict(zip(operands, [x.aval for x in node.operands]))
        first = aval[0] if type(aval) is tuple and aval else aval
        if first:
            self.setdefault("dims", first.dims)
            self["kind"] = first.dtype
        self["kinds"] = [part.dtype for part in aval] if type(aval) is tuple else []
        self.setdefault("z", None)
        self["nothing"] = Literal(np.zeros(0, np.int64))

    def __missing__(self, word: str) -> Any:
        helper = _HELPERS.get(word)
        if helper is not None:
            return lambda *arguments: helper(self, *arguments)
        if operations.find(word) is None:
            raise KeyError(word)
        return lambda *inputs, **given: WrittenNode(word, inputs, given)

    def dims_of(self, x: Output) -> tuple:
        """Return the dimensions of an operand."""
        dims = self.avals[x].dims
        if dims is None:
            raise cannot_write("an operation on a tensor of unknown rank")
        return dims


def _number(words: _Words, value: float, like: Output) -> Literal:
    return Literal(like.dtype.numpy_dtype.type(value))


def _log_sum(words: _Words, x: Output, axes: tuple) -> WrittenNode:
    """Describe ln of the sum of eˣ along axes, which keep the size 1."""
    ints = Literal(np.array(axes, np.int32))
    keep = {"keep_dims": True}
    top = WrittenNode("Max", (x, ints), keep)
    total = WrittenNode(
        "Sum", (WrittenNode("Exp", (WrittenNode("Sub", (x, top), {}),), {}), ints), keep
    )
    return WrittenNode("AddV2", (WrittenNode("Log", (total,), {}), top), {})


def _steepness_of_gelu(words: _Words, x: Output) -> WrittenNode:
    """Describe u / x of the approximate GELU: c (1 + 0.044715 x²)."""
    steep, curved = (Literal(x.dtype.numpy_dtype.type(c)) for c in (STEEP, CURVED))
    square = WrittenNode("Mul", (x, x), {})
    return WrittenNode("AddV2", (WrittenNode("Mul", (square, curved), {}), steep), {})


def _hot(words: _Words, labels: Output, logits: Output) -> WrittenNode:
    kind = logits.dtype.numpy_dtype
    depth = words.writer.integers(words.dims_of(logits)[-1])
    return WrittenNode("OneHot", (labels, depth, Literal(kind.type(1)), Literal(kind.type(0))), {})


def _smallest(words: _Words, x: Output, k: int, dtype: DType) -> list:
    found = WrittenNode(
        "TopKV2", (WrittenNode("Neg", (x,), {}), words.writer.integers(k)), {"index_type": dtype}
    )
    return [WrittenNode("Neg", (found[0],), {}), found[1]]


def _real_parts(words: _Words, made: WrittenNode) -> Any:
    """Return the results of an operation,
    real where TensorFlow gives real numbers as complex ones.
    """
    wanted = words["kinds"] or [words["kind"]]
    source = next(iter(words.avals.values())).dtype
    if not source.is_complex:
        return made
    return [
        WrittenNode("Real", (made[k],), {"Tout": dtype}) if not dtype.is_complex else made[k]
        for k, dtype in enumerate(wanted)
    ]


def _invert_transpose(words: _Words, x: Output) -> WrittenNode:
    adjoint = WrittenNode("MatrixInverse", (x,), {"adjoint": True})
    return WrittenNode("Conj", (adjoint,), {}) if x.dtype.is_complex else adjoint


def _spread(words: _Words, x: Output) -> Any:
    """Broadcast `x` to the shape of the result."""
    dims = words["dims"]
    if dims is None:
        raise cannot_write("a broadcast to an unknown rank")
    if same_dims(words.dims_of(x), dims):
        return x
    return WrittenNode("BroadcastTo", (x, words.writer.integers(dims)), {})


def _one_axis(words: _Words, x: Output, axis: int) -> tuple:
    """Return the shape of a vector that lies along one axis of x."""
    return (-1, *(1,) * (len(words.dims_of(x)) - axis - 1))


def _along(words: _Words, weights: Output, x: Output, axis: int) -> WrittenNode:
    """Return weights [new size, taps] that lie along one axis of x and a new one behind it."""
    dims = (*words.dims_of(weights), *(1,) * (len(words.dims_of(x)) - axis - 1))
    return WrittenNode("Reshape", (weights, words.writer.integers(dims)), {})


def _frame_places(words: _Words, dims: tuple, step: int) -> Literal:
    frames, length = dims[-2:]
    if type(frames) is not int:
        raise cannot_write("frames of a signal of unknown length")
    places = np.arange(frames)[:, None] * step + np.arange(length)[None, :]
    return Literal(places.astype(np.int32))


def _bin_values(words: _Words, x: Output, limits: Output, bins: int) -> WrittenNode:
    kind = x.dtype if x.dtype.is_floating else as_dtype("float64")
    parts = [
        WrittenNode("GatherV2", (limits, words.writer.integers(k), words.writer.integers(0)), {})
        for k in (0, 1)
    ]
    whole = WrittenNode("Cast", (WrittenNode("Sub", (parts[1], parts[0]), {}),), {"DstT": kind})
    inside = WrittenNode("Cast", (WrittenNode("Sub", (x, parts[0]), {}),), {"DstT": kind})
    number = Literal(kind.numpy_dtype.type(bins))
    return WrittenNode("Mul", (WrittenNode("RealDiv", (inside, whole), {}), number), {})


def _clip(words: _Words, x: WrittenNode, bins: int) -> WrittenNode:
    source = words["x"].dtype
    kind = (source if source.is_floating else as_dtype("float64")).numpy_dtype
    low = WrittenNode("Maximum", (x, Literal(kind.type(0))), {})
    return WrittenNode("Minimum", (low, Literal(kind.type(bins - 1))), {})


def _gather_rows(words: _Words, x: Output, ids: Output) -> WrittenNode:
    """Return the rows of x that ids name, zeros for negative ones."""
    ints = words.writer.integers
    zero = _number(words, 0, ids)
    rows = WrittenNode("GatherV2", (x, WrittenNode("Maximum", (ids, zero), {}), ints(0)), {})
    shape = WrittenNode(
        "ConcatV2",
        ([WrittenNode("Shape", (ids,), {}), ints((1,) * (len(words.dims_of(x)) - 1))], ints(0)),
        {},
    )
    there = WrittenNode("Reshape", (WrittenNode("GreaterEqual", (ids, zero), {}), shape), {})
    return WrittenNode("SelectV2", (there, rows, _number(words, 0, x)), {})


def _between(words: _Words, start: int, stop: int, step: int, dtype: DType = int64) -> WrittenNode:
    """Return start, start + step, ... before stop, which may be symbolic."""
    ints = words.writer.integers
    return WrittenNode("Range", tuple([ints(n, dtype) for n in (start, stop, step)]), {})


def _mirror(words: _Words, low: int, size: int, high: int, edge: int) -> WrittenNode:
    last = size - 1 - edge
    front = WrittenNode(
        "ReverseV2", (_between(words, edge, edge + low, 1), words.writer.integers((0,))), {}
    )
    parts = [front, _between(words, 0, size, 1), _between(words, last, last - high, -1)]
    return WrittenNode("ConcatV2", (parts, words.writer.integers(0)), {})


def _transpose(words: _Words, counts: Output, size: int) -> WrittenNode:
    one = _number(words, 1, counts)
    steps = _between(words, 0, size, 1, counts.dtype)
    wide = WrittenNode("ExpandDims", (counts, words.writer.integers(1)), {})
    last = WrittenNode("Sub", (wide, one), {})
    inside = WrittenNode("LessEqual", (steps, last), {})
    return WrittenNode("SelectV2", (inside, WrittenNode("Sub", (last, steps), {}), steps), {})


def _repeat(words: _Words, counts: Output, size: int) -> WrittenNode:
    ints = words.writer.integers
    flat = WrittenNode("Reshape", (counts, ints((-1,))), {})
    whole = WrittenNode("BroadcastTo", (flat, ints((size,))), {})
    most = WrittenNode("Maximum", (_largest(words, counts), _number(words, 0, counts)), {})
    numbers = (_number(words, 0, counts), most, _number(words, 1, counts))
    steps = WrittenNode("ExpandDims", (WrittenNode("Range", numbers, {}), ints(0)), {})
    inside = WrittenNode("Less", (steps, WrittenNode("ExpandDims", (whole, ints(1)), {})), {})
    return WrittenNode("GatherV2", (WrittenNode("Where", (inside,), {}), ints(0), ints(1)), {})


def _cut(words: _Words, x: Output, sizes: tuple, axis: int) -> WrittenNode:
    """Return the pieces of x; converters look for a Split where they are equal."""
    axis, given = words.writer.integers(axis), {"num_split": len(sizes)}
    if len({*sizes}) == 1:
        return WrittenNode("Split", (axis, x), given)
    return WrittenNode("SplitV", (x, words.writer.integers(sizes), axis), given)


def _largest(words: _Words, x: Output) -> WrittenNode:
    axes = tuple(range(len(words.dims_of(x))))
    return WrittenNode("Max", (x, Literal(np.array(axes, np.int32))), {})


_HELPERS: dict[str, Any] = {
    "cut": _cut,
    "between": _between,
    "mirrored": _mirror,
    "turned": _transpose,
    "repeated_places": _repeat,
    "largest": _largest,
    "ints": lambda words, value, like=None: words.writer.integers(
        value, like.dtype if isinstance(like, Output) else like
    ),
    "num": _number,
    "one": lambda words, dtype, value: Literal(as_dtype(dtype).numpy_dtype.type(value)),
    "rank": lambda words, x: len(words.dims_of(x)),
    "dims_of": lambda words, x: words.dims_of(x),
    "flat": lambda words, x: words.avals[x].dims is not None and len(words.avals[x].dims) == 2,
    "pairs": lambda words, low, high: tuple(zip(low, high)) or np.zeros((0, 2), object),
    "fixed": lambda words, dims: static_shape(dims),
    "len": lambda words, value: len(value),
    "LogSum": _log_sum,
    "steepness": _steepness_of_gelu,
    "hot": _hot,
    "smallest_k": _smallest,
    "real_parts": _real_parts,
    "inverse_transposed": _invert_transpose,
    "spread": _spread,
    "one_axis": _one_axis,
    "along": _along,
    "frame_places": _frame_places,
    "binned": _bin_values,
    "clipped": _clip,
    "kept_rows": _gather_rows,
    "Widen": lambda words, x: WrittenNode("ExpandDims", (x, words.writer.integers(-1)), {}),
    "is_complex": lambda words, x: x.dtype.is_complex,
}


def describe(writer: Writer, node: Node, operands: list) -> Any:
    """Describe the operations to write for a node; None if it has no form in a GraphDef."""
    code = _expressions().get(node.prim.name)
    if code is not None:
        return eval(code, {"__builtins__": {}}, _Words(writer, node, operands))
    if node.params or node.prim.variadic:
        return None
    operation = operations.find(node.prim.type_of([x.aval for x in node.operands], {}))
    return None if operation is None else _plain(operation, operands)


def _plain(operation: operations.OpSignature, operands: list) -> Any:
    """Return the operation with the operands as inputs, if it takes as many and needs no more."""
    if len(operation.inputs) != len(operands) or any(part.is_list for part in operation.inputs):
        return None
    needed = {
        key for key, (_, default) in operation.attributes.items() if default is operations.REQUIRED
    }
    inferred = {part.kind for part in operation.inputs}
    return None if needed - inferred else WrittenNode(operation.name, tuple(operands), {})
