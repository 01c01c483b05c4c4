"""Strings cut into words or characters, words joined to n-grams, values put into text."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.host import numpy_function
from talweg.api.printing import array_text, element
from talweg.core.dtypes import string
from talweg.core.errors import invalid, value_error
from talweg.eager.ragged import RaggedTensor
from talweg.eager.tensor import array_of, wrap


def _texts(pieces: list) -> Any:
    found = np.empty(len(pieces), object)
    found[:] = pieces
    return wrap(found)


def _shared_out(x: Any, cut: Any) -> Any:
    """Each string replaced by a row of its pieces; a scalar gives a vector."""
    if isinstance(x, RaggedTensor):
        return x.with_values(_shared_out(x.values, cut))
    x = tensor(x)
    if x.dtype is not string:
        raise invalid("TW102", f"input has dtype {x.dtype.name}", "string")
    array = np.asarray(array_of(x))
    rows = [cut(text) for text in array.reshape(-1).tolist()]
    flat = _texts([piece for row in rows for piece in row])
    if array.ndim == 0:
        return flat
    found = RaggedTensor.from_row_lengths(flat, np.array([len(row) for row in rows], np.int64))
    for size in reversed(array.shape[1:]):
        found = RaggedTensor.from_uniform_row_length(found, size)
    return found


@export("strings.split")
def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The words of each string, a RaggedTensor with one more axis; of a scalar, a vector.

    Words end at `sep`, or at any blanks if it is None or "".

    >>> import talweg as tf
    >>> tf.strings.split(["a b", "c"]).to_list()
    [[b'a', b'b'], [b'c']]
    """
    mark = None if not sep else sep.encode() if isinstance(sep, str) else bytes(sep)
    return _shared_out(input, lambda text: text.split(mark, maxsplit))


@export("strings.unicode_split")
def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """The characters of each string, a RaggedTensor with one more axis; of a scalar, a vector.

    >>> import talweg as tf
    >>> tf.strings.unicode_split("ab", "UTF-8").numpy()
    array([b'a', b'b'], dtype=object)
    """

    def characters(text: bytes) -> list:
        decoded = text.decode(input_encoding, errors=errors)
        return [c.encode(input_encoding) for c in decoded.replace("�", chr(replacement_char))]

    return _shared_out(input, characters)


@export("strings.ngrams")
def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Runs of `ngram_width` neighbours in the last axis, joined; of all widths of a list.

    pad_values: a string, or one for the left and one for the right, with which rows begin and end.
    With `preserve_short_sequences` a row that is too short gives itself.

    >>> import talweg as tf
    >>> tf.strings.ngrams(["a", "b", "c"], 2).numpy()
    array([b'a b', b'b c'], dtype=object)
    """
    widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
    if not widths or min(widths) < 1:
        raise value_error("TW207", f"ngram_width is {ngram_width}", "at least 1")
    between = separator.encode()
    pads = (pad_values, pad_values) if isinstance(pad_values, (str, bytes)) else pad_values
    around = max(widths) - 1 if padding_width is None else padding_width

    def runs(row: list) -> list:
        found: list = []
        for width in widths:
            filled = row
            if pads is not None:
                count = min(around, width - 1)
                left, right = (p.encode() if isinstance(p, str) else p for p in pads)
                filled = [left] * count + row + [right] * count
            found += [between.join(filled[k : k + width]) for k in range(len(filled) - width + 1)]
        return [between.join(row)] if not found and preserve_short_sequences and row else found

    return _by_rows(data, runs)


def _by_rows(data: Any, change: Any) -> Any:
    if not isinstance(data, RaggedTensor):
        x = tensor(data)
        if x.ndim == 1:
            return _texts(change(np.asarray(array_of(x)).tolist()))
        array = np.asarray(array_of(x))
        rows = [change(row) for row in array.reshape(-1, array.shape[-1]).tolist()]
        found = _from_rows(rows)
        lengths = {len(row) for row in rows}
        if array.ndim == 2 and len(lengths) == 1:
            return found.to_tensor()
        for size in reversed(array.shape[1:-1]):
            found = RaggedTensor.from_uniform_row_length(found, size)
        return found
    if data.ragged_rank > 1:
        return data.with_values(_by_rows(data.values, change))
    return _from_rows([change(row) for row in data.to_list()])


def _from_rows(rows: list) -> RaggedTensor:
    flat = _texts([piece for row in rows for piece in row])
    return RaggedTensor.from_row_lengths(flat, np.array([len(row) for row in rows], np.int64))


@export("strings.join")
def join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    """Strings joined element by element; scalars go with any shape.

    >>> import talweg as tf
    >>> tf.strings.join([["a", "b"], "c"], separator="-").numpy()
    array([b'a-c', b'b-c'], dtype=object)
    """
    mark = separator.encode()
    parts = [tensor(x, string) for x in inputs]
    if not parts:
        return wrap(np.array(b"", object))
    arrays = [np.asarray(array_of(part), object) for part in parts]
    if len({array.shape for array in arrays if array.ndim}) > 1:
        shapes = [array.shape for array in arrays]
        raise invalid("TW204", f"strings.join: shapes {shapes}", "equal shapes, or scalars")
    arrays = np.broadcast_arrays(*arrays)
    rows = zip(*[array.reshape(-1).tolist() for array in arrays])
    found = np.empty(arrays[0].size, object)
    found[:] = [mark.join(row) for row in rows]
    return wrap(found.reshape(arrays[0].shape))


@export("strings.format")
def format_(
    template: str,
    inputs: Any,
    placeholder: str = "{}",
    summarize: int = 3,
    name: str | None = None,
) -> Any:
    """`template` with the values in place of its placeholders.

    Of long axes the first and last `summarize` elements are shown; -1 shows all.

    >>> import talweg as tf
    >>> tf.strings.format("x = {}", tf.constant([1, 2])).numpy()
    b'x = [1 2]'
    """
    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    parts = template.split(placeholder)
    if len(parts) != len(values) + 1:
        raise value_error(
            "TW204", f"{len(parts) - 1} placeholders in {template!r} and {len(values)} inputs"
        )

    def filled(*arrays: Any) -> Any:
        shown = [_shown(array, summarize) for array in arrays]
        pieces = [text for pair in zip(parts, [*shown, ""]) for text in pair]
        return np.array("".join(pieces).encode(), object)

    return numpy_function(filled, [tensor(value) for value in values], string)


def _shown(array: Any, count: int) -> str:
    array = np.asarray(array)
    return element(array[()], quoted=True) if array.ndim == 0 else array_text(array, count)
