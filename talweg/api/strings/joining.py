"""Strings joined: element by element, along axes, by segments, to n-grams; values in a text."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import integer, integers, tensor
from talweg.api.array.shapes import expand_dims, reshape
from talweg.api.export import export
from talweg.api.printing import array_text, rows_text
from talweg.api.ragged.functions import RaggedTensor  # its methods know graphs there
from talweg.api.ragged.reducing import along_rows
from talweg.api.strings.splitting import convert
from talweg.core.dtypes import string
from talweg.core.errors import type_error, value_error
from talweg.core.value import Tensor
from talweg.eager import ragged_rows
from talweg.prims.strings import joining as prims

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import AxisLike, TensorLike


def _text(value: str, function: str, argument: str) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise type_error("TW104", f"{function}: {argument} {value!r}", "a string")
    return value


@export("strings.join", "compat.v1.string_join")
def join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Tensor:
    """Join strings element by element; scalars go with any shape.

    inputs: a list of tensors or ragged tensors.  InvalidArgumentError for other shapes.

    >>> import talweg as tf
    >>> tf.strings.join([["a", "b"], "c"], separator="-").numpy()
    array([b'a-c', b'b-c'], dtype=object)
    """
    if isinstance(inputs, (str, bytes)):
        raise type_error("TW104", f"strings.join: inputs {inputs!r}", "a list")
    mark = _text(separator, "strings.join", "separator")
    if isinstance(inputs, Tensor):
        return prims.reduce_join(inputs, axes=(0,), keepdims=False, separator=mark)
    parts = [convert(x, string) for x in inputs]
    if any(isinstance(part, RaggedTensor) for part in parts):
        return ragged_rows.map_flat(functools.partial(prims.string_join, separator=mark), *parts)
    return prims.string_join(*parts, separator=mark)


@export("strings.reduce_join")
def reduce_join(
    inputs: object,
    axis: AxisLike | None = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """Return the strings along an axis, or some, or all, joined.

    axis: an integer or a list of them, the first of which changes fastest; all
    axes if it is None.  OutOfRangeError for an axis that there is not, InvalidArgumentError for one
    that is there twice.

    >>> import talweg as tf
    >>> tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=0).numpy()
    array([b'ac', b'bd'], dtype=object)
    """
    x = convert(inputs)
    if isinstance(x, RaggedTensor):
        return _reduce_rows(x, axis, keepdims, separator)
    mark = _text(separator, "reduce_join", "separator")
    if axis is None:
        axes: tuple = tuple(reversed(range(x.ndim)))
    else:
        axes = tuple(
            [integer(n, "reduce_join", "axis") for n in integers(axis, "reduce_join", "axis")]
        )
    return prims.reduce_join(x, axes=axes, keepdims=bool(keepdims), separator=mark)


def _reduce_rows(x: Any, axis: AxisLike | None, keepdims: bool, separator: str) -> Any:
    """Return the strings of a ragged tensor along axes, joined, the last axis first."""
    rank = x.shape.rank
    if axis is None:
        found = reduce_join(x.flat_values, None, False, separator)
        return reshape(found, [1] * rank) if keepdims else found
    given = axis if isinstance(axis, (list, tuple)) else [axis]
    if not all(isinstance(n, (int, np.integer)) for n in given):
        raise type_error("TW104", f"reduce_join: axis {axis!r}", "an int, or a list of them")
    if any(not -rank <= n < rank for n in given):
        raise value_error("TW202", f"axis={axis} out of bounds: expected -{rank}<=axis<{rank}")
    for place in sorted([n % rank for n in given], reverse=True):
        x = _along(x, place, separator)
        x = expand_dims(x, place) if keepdims else x
    return x


def _along(x: object, axis: int, separator: str) -> Any:
    if not isinstance(x, RaggedTensor):
        return reduce_join(x, axis, False, separator)
    if axis > 1:
        return x.with_values(_along(x.values, axis - 1, separator))
    return along_rows(x, axis, functools.partial(unsorted_segment_join, separator=separator))


@export("compat.v1.strings.reduce_join", "compat.v1.reduce_join")
def reduce_join_v1(
    inputs: TensorLike,
    axis: AxisLike | None = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: AxisLike | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Do what `tf.strings.reduce_join` does; reduction_indices and keep_dims are other names."""
    keep = keep_dims if keepdims is None else keepdims
    return reduce_join(inputs, reduction_indices if axis is None else axis, bool(keep), separator)


@export("strings.unsorted_segment_join", "compat.v1.strings.unsorted_segment_join")
def unsorted_segment_join(
    inputs: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """Join the strings of each segment number, in order.

    segment_ids: integers in the shape of `inputs` or of its first axes; the result has
    [num_segments] in place of these.  InvalidArgumentError for numbers out of range.

    >>> import talweg as tf
    >>> tf.strings.unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 2, ":").numpy()
    array([b'b', b'a:c'], dtype=object)
    """
    return prims.unsorted_segment_join(
        tensor(inputs, string),
        tensor(segment_ids),
        num_segments=integer(num_segments, "unsorted_segment_join", "num_segments"),
        separator=_text(separator, "unsorted_segment_join", "separator"),
    )


def _widths(ngram_width: Any) -> tuple:
    widths = ngram_width if isinstance(ngram_width, (list, tuple)) else [ngram_width]
    if any([width < 1 for width in widths]):
        raise value_error("TW207", f"ngram_width is {ngram_width}", "at least 1")
    return tuple([int(width) for width in widths])


def _pads(pad_values: str) -> tuple:
    pads = pad_values if isinstance(pad_values, (list, tuple)) else (pad_values, pad_values)
    pads = (pads[0], pads[1])
    if not all(isinstance(pad, (str, bytes)) for pad in pads):
        raise type_error("TW104", f"pad_values {pad_values!r}", "a string, or a pair of strings")
    return tuple([pad.decode() if isinstance(pad, bytes) else pad for pad in pads])


@export("strings.ngrams")
def ngrams(
    data: TensorLike,
    ngram_width: TensorLike,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Tensor:
    """Join runs of `ngram_width` neighbours in the last axis; of all widths of a list.

    pad_values: a string, or one for the left and one for the right, with which rows begin and end,
    padding_width times, or one less than the width.  With `preserve_short_sequences` a row that is
    too short gives itself.  ValueError for widths below 1, for a padding_width without pad_values
    and for scalars.

    >>> import talweg as tf
    >>> tf.strings.ngrams(["a", "b", "c"], 2).numpy()
    array([b'a b', b'b c'], dtype=object)
    """
    widths = _widths(ngram_width)
    if pad_values is None and padding_width is not None:
        raise value_error("TW104", "ngrams: padding_width without pad_values", "both, or neither")
    if padding_width is not None and padding_width < 1:
        raise value_error("TW207", f"ngrams: padding_width is {padding_width}", "at least 1")
    pads = ("", "") if pad_values is None else _pads(pad_values)
    padding = 0 if pad_values is None else -1 if padding_width is None else padding_width
    x = convert(data, string)
    dense = isinstance(x, Tensor) and x.ndim
    if dense == 0 and isinstance(x, Tensor):
        raise value_error("TW203", "ngrams: data has rank 0", "at least a vector")
    if dense == 1:
        x = RaggedTensor.from_row_starts(x, [0], validate=False)
    elif dense:
        x = RaggedTensor.from_tensor(x, ragged_rank=x.ndim - 1)

    def rows(ragged: Any) -> Any:
        if isinstance(ragged.values, RaggedTensor):
            return ragged.with_values(rows(ragged.values))
        joined, splits = prims.string_ngrams(
            ragged.values,
            ragged.row_splits,
            widths=widths,
            separator=_text(separator, "ngrams", "separator"),
            pads=pads,
            padding=padding,
            preserve_short=bool(preserve_short_sequences),
        )
        return RaggedTensor.from_row_splits(joined, splits, validate=False)

    joined = rows(x)
    return (
        joined if not dense else joined.values if dense == 1 else joined.to_tensor(default_value="")
    )


def _format_text(arrays: tuple, count: int) -> str:
    """Return a tensor, or the values and splits of a ragged one, as text."""
    parts = [np.asarray(part) for part in arrays]
    if len(parts) > 1:
        return rows_text(*parts, summarize=count, errors="surrogateescape")
    return array_text(parts[0], count, quoted=True, errors="surrogateescape")


@export("strings.format")
def string_format(
    template: str,
    inputs: TensorLike,
    placeholder: str = "{}",
    summarize: int = 3,
    name: str | None = None,
) -> Tensor:
    """Return `template` with the values in place of its placeholders.

    Of long axes the first and last `summarize` elements are shown; -1 shows all.  ValueError if
    there are more or fewer placeholders than inputs.

    >>> import talweg as tf
    >>> tf.strings.format("x = {}", tf.constant([1, 2])).numpy()
    b'x = [1 2]'
    """
    values = list(inputs) if isinstance(inputs, (list, tuple, str)) else [inputs]
    count = template.count(placeholder)
    if count != len(values):
        raise value_error("TW204", f"{count} placeholders in {template!r} and {len(values)} inputs")
    parts = [x._flat_components() if isinstance(x, RaggedTensor) else [tensor(x)] for x in values]
    return prims.string_format(
        *[part for own in parts for part in own],
        template=template,
        placeholder=placeholder,
        summarize=int(summarize),
        shown=_format_text,
        groups=tuple(map(len, parts)),
    )
