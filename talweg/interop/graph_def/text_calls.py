"""Writes primitives of strings, and opaque calls of functions of texts and ragged tensors.

A ragged tensor is its flat values and the splits of its rows, outermost first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.strings.joining import join
from talweg.api.strings.splitting import split
from talweg.core.dtypes import as_dtype
from talweg.eager.ragged import RaggedTensor
from talweg.interop.graph_def.writing import Literal, WrittenNode
from talweg.interop.graph_def.writing_rules import describe_as
from talweg.trace.opaque_calls import Hole, Parts

if TYPE_CHECKING:
    from talweg.core.aval import Aval
    from talweg.graph.node import Node
    from talweg.interop.graph_def.exporting import Exporter
    from talweg.kernels.strings.unicode import Policy
    from talweg.trace.opaque_calls import OpaqueCall


def form_of_call(call: OpaqueCall, operands: list, avals: tuple[Aval, ...]) -> Any:
    """Translate an opaque call to operations, one a result; None if none of them does the same."""
    for function, form in FORMS.items():
        own = getattr(function, "in_eager_mode", function)
        if call.function in (function, own):
            given = inspect.signature(own).bind(*call.args, **call.kwargs)
            given.apply_defaults()
            return form(dict(given.arguments), operands, avals)
    return None


def _policy(policy: Policy, controls: bool) -> dict:
    """Return the attributes of TensorFlow's operations for errors in characters."""
    given = {"errors": policy.errors, "replacement_char": policy.replacement}
    return {**given, "replace_control_characters": policy.controls} if controls else given


@describe_as("unicode_decode")
def _decoding(writer: Exporter, node: Node, operands: list, params: dict) -> Any:
    given = {"input_encoding": params["encoding"], **_policy(params["policy"], True)}
    return WrittenNode("UnicodeDecodeWithOffsets", tuple(operands), given)


@describe_as("unicode_encode")
def _encoding(writer: Exporter, node: Node, operands: list, params: dict) -> Any:
    given = {"output_encoding": params["encoding"], **_policy(params["policy"], False)}
    return WrittenNode("UnicodeEncode", tuple(operands), given)


@describe_as("string_ngrams")
def _ngrams(writer: Exporter, node: Node, operands: list, params: dict) -> Any:
    left, right = params["pads"]
    given = {
        "separator": params["separator"],
        "ngram_widths": list(params["widths"]),
        "left_pad": left,
        "right_pad": right,
        "pad_width": params["padding"],
        "preserve_short_sequences": params["preserve_short"],
    }
    return WrittenNode("StringNGrams", tuple(operands), given)


@describe_as("string_format")
def _format(writer: Exporter, node: Node, operands: list, params: dict) -> Any:
    if any(count > 1 for count in params["groups"]):
        return None
    given = {name: params[name] for name in ("template", "placeholder", "summarize")}
    return WrittenNode("StringFormat", (operands,), given)


@describe_as("unsorted_segment_join")
def _segments(writer: Exporter, node: Node, operands: list, params: dict) -> Any:
    count = writer.integers(params["num_segments"])
    given = {"separator": params["separator"]}
    return WrittenNode("UnsortedSegmentJoin", (*operands, count), given)


def _integers(*numbers: int) -> Literal:
    return Literal(np.array(numbers, np.int64))


def _column(x: object, place: int) -> WrittenNode:
    """Return the column of a matrix."""
    bounds = [Literal(np.array(pair, np.int32)) for pair in ((0, place), (0, place + 1), (1, 1))]
    given = {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2}
    return WrittenNode("StridedSlice", (x, *bounds), given)


def _element(x: object, place: int) -> WrittenNode:
    """Return an element of a vector."""
    bounds = [Literal(np.array([n], np.int32)) for n in (place, place + 1, 1)]
    return WrittenNode("StridedSlice", (x, *bounds), {"shrink_axis_mask": 1})


def _split(given: dict, operands: list, avals: list[Any]) -> Any:
    """Split strings into words: their values, and the splits of one row for each string."""
    x = given["input"]
    if type(x) is not Hole or len(avals) > 2:
        return None
    mark = given["sep"] or ""
    text = Literal(np.array(mark.encode() if isinstance(mark, str) else mark, object))
    flat = WrittenNode("Reshape", (operands[x.number], _integers(-1)), {})
    words = WrittenNode("StringSplitV2", (flat, text), {"maxsplit": given["maxsplit"]})
    if len(avals) == 1:
        return words[1]
    rows = _column(words[0], 0)
    ones = WrittenNode("OnesLike", (rows,), {})
    lengths = WrittenNode("UnsortedSegmentSum", (ones, rows, _element(words[2], 0)), {})
    ends = WrittenNode("Cumsum", (lengths, Literal(np.int32(0))), {})
    return [words[1], WrittenNode("ConcatV2", ([_integers(0), ends], Literal(np.int32(0))), {})]


def _to_tensor(given: dict, operands: list, avals: tuple[Aval, ...]) -> Any:
    """Fill up the rows of a ragged tensor."""
    parts = given["self"]
    if type(parts) is not Parts or len(parts.holes) < 2:
        return None
    values, *splits = [operands[hole.number] for hole in parts.holes]
    shape = given["shape"]
    sizes = (
        _integers(-1).array.reshape(())
        if shape is None
        else np.array(
            [-1 if size is None else size for size in getattr(shape, "as_list", lambda: shape)()],
            np.int64,
        )
    )
    dtype = as_dtype(values.dtype)
    default = given["default_value"]
    if type(default) is Hole:
        filled: Any = operands[default.number]
    else:
        empty: Any = b"" if dtype.name == "string" else 0
        filled = Literal(np.array(empty if default is None else default, dtype.numpy_dtype))
    kinds = ["ROW_SPLITS"] * len(splits)
    return WrittenNode(
        "RaggedTensorToTensor",
        (Literal(sizes), values, filled, splits),
        {"row_partition_types": kinds},
    )


def _join(given: dict, operands: list, avals: list[Any]) -> Any:
    """Join texts element by element."""
    parts = given["inputs"]
    if not isinstance(parts, (list, tuple)):
        return None
    texts = [operands[x.number] if type(x) is Hole else Literal(np.array(x, object)) for x in parts]
    return WrittenNode("StringJoin", (texts,), {"separator": given["separator"]})


FORMS: dict[Callable[..., Any], Callable[..., Any]] = {
    join: _join,
    split: _split,
    RaggedTensor.to_tensor: _to_tensor,
}
