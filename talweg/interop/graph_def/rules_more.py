"""Rules of operations that tf.raw_ops does not have: strings, images, files."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import look_up
from talweg.core import dtypes
from talweg.core.aval import Aval
from talweg.core.errors import InvalidArgumentError, UnimplementedError, compose, invalid
from talweg.core.shapes import broadcast_dims
from talweg.eager.tensor import array_of, wrap
from talweg.graph.symbol import constant_of
from talweg.interop.graph_def.rules_basic import kept_whole
from talweg.interop.graph_def.values import constant, rule
from talweg.prims import arithmetic, rounding
from talweg.prims.control import fixed
from talweg.prims.strings.mapping import substring

# -- strings: functions of arrays, carried out when the graph runs


def _mapped(function: Callable[..., Any], x: Any, kind: Any = object) -> Any:
    """`function` of every element."""
    array = np.asarray(array_of(x), object)
    found = np.empty(array.shape, kind)
    found.reshape(-1)[:] = [function(value) for value in array.reshape(-1)]
    return wrap(found[()] if kind is not object else found)


def _length(x: Any, unit: str) -> Any:
    if unit == "UTF8_CHAR":
        return _mapped(lambda s: len(s.decode("utf-8", "replace")), x, np.int32)
    return _mapped(len, x, np.int32)


def _substring(x: Any, place: Any, length: Any, unit: str) -> Any:
    return substring(tensor(x), tensor(place), tensor(length), unit=unit)


def _upper(x: Any, encoding: str) -> Any:
    if encoding == "utf-8":
        return _mapped(lambda s: s.decode("utf-8", "replace").upper().encode(), x)
    return _mapped(bytes.upper, x)


def _lower(x: Any, encoding: str) -> Any:
    if encoding == "utf-8":
        return _mapped(lambda s: s.decode("utf-8", "replace").lower().encode(), x)
    return _mapped(bytes.lower, x)


def _strip(x: Any) -> Any:
    return _mapped(bytes.strip, x)


def _as_string(
    x: Any, precision: int, scientific: bool, shortest: bool, width: int, fill: str
) -> Any:
    dtype = x.dtype

    def text(value: Any) -> bytes:
        if dtype is dtypes.bool_:
            found = "true" if value else "false"
        elif dtype.is_floating:
            digits = 6 if precision < 0 else precision
            kind = "e" if scientific else "g" if shortest else "f"
            found = f"{float(value):.{digits}{kind}}"
        else:
            found = str(int(value))
        if width > len(found):
            found = found.rjust(width, fill) if fill != "-" else found.ljust(width)
        return found.encode()

    array = np.asarray(array_of(x))
    strings = np.empty(array.shape, object)
    strings.reshape(-1)[:] = [text(value) for value in array.reshape(-1)]
    return wrap(strings)


def _number(x: Any, dtype: Any) -> Any:
    def parse(text: bytes) -> Any:
        try:
            return int(text) if dtype.is_integer else float(text)
        except ValueError:
            shown = text.decode("utf-8", "replace")
            raise InvalidArgumentError(
                None, None, f"StringToNumberOp could not correctly convert string: {shown}"
            ) from None

    return _mapped(parse, x, dtype.numpy_dtype)


@cache
def _joined_by(separator: bytes) -> Callable[..., Any]:
    def joined(*parts: Any) -> Any:
        arrays = np.broadcast_arrays(*[np.asarray(array_of(part), object) for part in parts])
        found = np.empty(arrays[0].shape, object)
        for at in np.ndindex(found.shape):
            found[at] = separator.join([bytes(array[at]) for array in arrays])
        return wrap(found)

    return joined


def _reduced(x: Any, axes: Any, keep_dims: bool, separator: str) -> Any:
    array = np.asarray(array_of(x), object)
    given = [int(axis) % max(array.ndim, 1) for axis in np.ravel(array_of(axes))]
    places = given if given else []
    rest = [axis for axis in range(array.ndim) if axis not in places]
    moved = array.transpose([*rest, *places])
    dims = [array.shape[axis] for axis in rest]
    found = np.empty(dims, object)
    for at in np.ndindex(*dims):
        found[at] = separator.encode().join([bytes(part) for part in np.ravel(moved[at])])
    if keep_dims:
        found = found.reshape([1 if a in places else n for a, n in enumerate(array.shape)])
    return wrap(found)


def compiled(pattern: str) -> re.Pattern:
    """A regular expression; UnimplementedError for one that could take exponential time."""
    try:
        tree = parser.parse(pattern)
        found = re.compile(pattern.encode())
    except (re.error, OverflowError, RecursionError) as error:
        raise invalid("TW207", f"Invalid pattern: {pattern}, error: {error}") from None
    if _nested(tree, False):
        raise UnimplementedError(
            None,
            None,
            compose("TW506", f"the pattern {pattern!r} repeats what repeats or has alternatives"),
        )
    return found


def _nested(tree: Any, inside: bool) -> bool:
    """Whether something that repeats lies in something that repeats."""
    for code, argument in tree:
        repeats = code in (codes.MAX_REPEAT, codes.MIN_REPEAT)
        if inside and (repeats and argument[1] > 1 or code is codes.BRANCH):
            return True
        if code in (codes.GROUPREF, codes.GROUPREF_EXISTS):
            return True
        parts = argument if isinstance(argument, (tuple, list)) else ()
        more = repeats and argument[1] > 1
        for part in parts:
            for tree_part in part if isinstance(part, list) else [part]:
                if isinstance(tree_part, parser.SubPattern) and _nested(tree_part, inside or more):
                    return True
    return False


def _replaced(x: Any, pattern: str, rewrite: str, everywhere: bool) -> Any:
    found = compiled(pattern)
    template = re.sub(r"\\(\d)", r"\\g<\1>", rewrite).encode()
    return _mapped(lambda s: found.sub(template, s, 0 if everywhere else 1), x)


def _matched(x: Any, pattern: str) -> Any:
    found = compiled(pattern)
    return _mapped(lambda s: found.fullmatch(s) is not None, x, np.bool_)


def _text(x: Any) -> str:
    return bytes(np.asarray(array_of(x), object)[()]).decode("utf-8", "replace")


def _replaced_by(x: Any, pattern: Any, rewrite: Any, everywhere: bool) -> Any:
    return _replaced(x, _text(pattern), _text(rewrite), everywhere)


def _matched_by(x: Any, pattern: Any) -> Any:
    return _matched(x, _text(pattern))


_STRINGS: dict[str, tuple] = {
    "StringLength": (_length, "unit"),
    "Substr": (_substring, "unit"),
    "StringUpper": (_upper, "encoding"),
    "StringLower": (_lower, "encoding"),
    "StringStrip": (_strip,),
    "StringToNumber": (_number, "out_type"),
    "StaticRegexReplace": (_replaced, "pattern", "rewrite", "replace_global"),
    "RegexReplace": (_replaced_by, "replace_global"),
    "StaticRegexFullMatch": (_matched, "pattern"),
    "RegexFullMatch": (_matched_by,),
    "AsString": (_as_string, "precision", "scientific", "shortest", "width", "fill"),
    "ReduceJoin": (_reduced, "keep_dims", "separator"),
}


@rule(*_STRINGS)
def strings(builder: Any, item: Any, inputs: list) -> list:
    """A function of strings."""
    function, *names = _STRINGS[item.op]
    (dtype,) = item.operation.outputs[0].dtypes(item.attributes)
    dims = fixed(inputs[0].node.aval) if item.op not in ("ReduceJoin", "Substr") else None
    arguments = tuple([item.attributes[name] for name in names])
    return [kept_whole(item, function, tuple(inputs), arguments, Aval(dims, dtype))]


@rule("StringJoin")
def string_join(builder: Any, item: Any, inputs: list) -> list:
    """Strings one after the other."""
    avals = [x.node.aval for x in inputs]
    dims = None
    if all(aval.dims is not None for aval in avals):
        dims = broadcast_dims("StringJoin", *[aval.dims for aval in avals])
    aval = Aval(dims if dims is None else fixed(Aval(dims, dtypes.string)), dtypes.string)
    separator = item.attributes["separator"].encode()
    return [kept_whole(item, _joined_by(separator), tuple(inputs), (), aval)]


# -- images


@rule("ResizeBilinear", "ResizeNearestNeighbor")
def resized(builder: Any, item: Any, inputs: list) -> list:
    """Images of another size."""
    images, size = inputs
    corners, centers = item.attributes["align_corners"], item.attributes["half_pixel_centers"]
    kind = "bilinear" if item.op == "ResizeBilinear" else "nearest"
    dims = images.node.aval.dims
    if dims is not None:
        content = constant_of(size.node)
        wanted = [None, None] if content is None else [int(n) for n in np.ravel(content.array)]
        dims = (None, *wanted[:2], dims[-1] if type(dims[-1]) is int else None)
    dtype = dtypes.float32 if kind == "bilinear" else images.dtype
    arguments = (kind, corners, centers)
    return [kept_whole(item, resize, (images, size), arguments, Aval(dims, dtype))]


def resize(images: Any, size: Any, kind: str, corners: bool, centers: bool) -> Any:
    """Images [b, h, w, c] of the sizes `size`: each pixel from the nearest, or from four."""
    gather = look_up("gather")
    if kind == "bilinear":
        images = look_up("cast")(images, dtypes.float32)
    wanted = [int(n) for n in np.ravel(array_of(size))]
    if len(wanted) != 2 or min(wanted) < 1 or images.ndim != 4 or 0 in images.dims[1:3]:
        raise invalid("TW205", f"resize: images of shape {images.dims} to the sizes {wanted}")
    for axis, count in zip((1, 2), wanted):
        have = images.dims[axis]
        scale = (have - 1) / (count - 1) if corners and count > 1 else have / count
        scale = np.float32(scale)
        steps = np.arange(count, dtype=np.float32)
        if kind == "nearest":
            if centers:
                places = np.floor((steps + np.float32(0.5)) * scale)
            else:
                places = np.round(steps * scale) if corners else np.floor(steps * scale)
            chosen = np.clip(places, 0, have - 1).astype(np.int32)
            images = gather(images, wrap(chosen), axis=axis)
            continue
        half = np.float32(0.5)
        places = (steps + half) * scale - half if centers else steps * scale
        low = np.floor(places)
        weight = (places - low).reshape((count, *(1,) * (3 - axis)))
        first = np.clip(low, 0, have - 1).astype(np.int32)
        second = np.clip(low + 1, 0, have - 1).astype(np.int32)
        a, b = (gather(images, wrap(part), axis=axis) for part in (first, second))
        images = a + (b - a) * wrap(weight.astype(np.float32))
    return images


@rule("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def quantized(builder: Any, item: Any, inputs: list) -> list:
    """Numbers rounded to the steps of a quantization, limits moved so that 0 is a step."""
    attributes = item.attributes
    x, *limits = inputs
    if not limits:
        limits = [constant(attributes[name], dtypes.float32) for name in ("min", "max")]
    low, high = limits
    least = 1.0 if attributes["narrow_range"] else 0.0
    most = float(2 ** min(max(attributes["num_bits"], 2), 16) - 1)
    step = (high - low) / (most - least)
    offset = least - low / step
    zero = rounding.floor(arithmetic.minimum(arithmetic.maximum(offset, least), most) + 0.5)
    low, high = (least - zero) * step, (most - zero) * step
    inside = arithmetic.minimum(arithmetic.maximum(x, low), high)
    return [rounding.floor((inside - low) / step + 0.5) * step + low]


# -- files: a graph that was imported writes and reads none


def _refuse(*tensors: Any) -> Any:
    raise UnimplementedError(
        None,
        None,
        compose(
            "TW506",
            "an imported graph was asked to read or write a file",
            hint="tf.train.Saver of talweg, made for the imported variables",
        ),
    )


@rule("SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename")
def checkpoint(builder: Any, item: Any, inputs: list) -> Any:
    """An operation that raises UnimplementedError when it is run."""
    dtypes_of = [dtype for part in item.operation.outputs for dtype in part.dtypes(item.attributes)]
    found = [
        kept_whole(item, _refuse, tuple(inputs), (number,), Aval(None, dtype))
        for number, dtype in enumerate(dtypes_of or [dtypes.bool_])
    ]
    return found if dtypes_of else found[0].op


# -- ragged tensors, and files


def _words(x: Any, mark: Any, maxsplit: int) -> list:
    """The words of strings as the parts of a sparse matrix."""
    sep = bytes(np.asarray(array_of(mark)).item()) or None
    rows = [text.split(sep, maxsplit) for text in np.asarray(array_of(x)).tolist()]
    places = [(n, k) for n, row in enumerate(rows) for k in range(len(row))]
    values = np.empty(len(places), object)
    values[:] = [word for row in rows for word in row]
    widest = max([len(row) for row in rows], default=0)
    return [
        wrap(np.array(places, np.int64).reshape(len(places), 2)),
        wrap(values),
        wrap(np.array([len(rows), widest], np.int64)),
    ]


@rule("StringSplitV2")
def words(builder: Any, item: Any, inputs: list) -> list:
    """The words of strings: their places, themselves, and the shape of a matrix that holds them."""
    avals = (Aval((None, 2), dtypes.int64), Aval((None,), dtypes.string), Aval((2,), dtypes.int64))
    options = (item.attributes["maxsplit"],)
    return list(kept_whole(item, _words, tuple(inputs), options, *avals))


@rule("RaggedTensorToTensor")
def filled_up(builder: Any, item: Any, inputs: list) -> list:
    """The rows of a ragged tensor as a tensor."""
    shape, values, default, *rows = inputs
    kinds = [
        kind if isinstance(kind, str) else kind.decode()
        for kind in item.attributes["row_partition_types"]
    ]
    first = None
    if kinds and kinds[0] == "FIRST_DIM_SIZE":
        first, rows, kinds = rows[0], rows[1:], kinds[1:]
    ragged = values
    for number in range(len(rows) - 1, -1, -1):
        if kinds[number] == "ROW_SPLITS":
            ragged = look_up("RaggedTensor").from_row_splits(ragged, rows[number], validate=False)
        elif kinds[number] == "VALUE_ROWIDS" and number == 0 and first is not None:
            ragged = look_up("RaggedTensor").from_row_splits(
                ragged, _splits_of(rows[number], first), validate=False
            )
        else:
            raise UnimplementedError(
                None,
                None,
                compose("TW506", f"{item.described} has rows given as {kinds[number]}"),
            )
    sizes = constant_of(shape.node)
    if sizes is None:
        raise item.error("its shape is not constant")
    wanted = (
        None if sizes.array.ndim == 0 else [None if size < 0 else int(size) for size in sizes.array]
    )
    return [ragged.to_tensor(default_value=default, shape=wanted)]


def _splits_of(rows: Any, count: Any) -> Any:
    """The splits of `count` rows, for the row of each value."""
    lengths = look_up("math.unsorted_segment_sum")(look_up("ones_like")(rows), rows, count)
    return look_up("concat")([look_up("zeros")([1], rows.dtype), look_up("cumsum")(lengths)], 0)


@rule("ReadFile")
def read_file(builder: Any, item: Any, inputs: list) -> list:
    """The contents of a file, read when the graph runs."""
    return [look_up("io.read_file")(inputs[0])]
