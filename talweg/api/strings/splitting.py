"""Splitting of strings into words and bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import integer, tensor
from talweg.api.array.shapes import expand_dims, reshape
from talweg.api.export import export
from talweg.api.ragged.functions import RaggedTensor  # its methods know graphs there
from talweg.core.dtypes import string
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.eager.composite import SparseTensor
from talweg.prims.strings.splitting import string_split, string_split_at

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.dtypes import DType


def convert(x: object, dtype: DType | None = None) -> Any:
    """Return a tensor or ragged tensor."""
    return x if isinstance(x, (Tensor, RaggedTensor)) else tensor(x, dtype)


def as_vector(x: TensorLike) -> tuple[Any, Callable[[Any], Any]]:
    """Return the elements as a vector, and the function that puts each element's row in its place.

    A scalar's row becomes the whole result.
    """
    if isinstance(x, RaggedTensor):
        inner, place = as_vector(x.values)
        return inner, lambda rows: x.with_values(place(rows))
    if x.ndim == 0:
        return reshape(x, [1]), lambda rows: rows.values
    if x.ndim == 1:
        return x, lambda rows: rows
    return as_vector(RaggedTensor.from_tensor(x, ragged_rank=x.ndim - 1))


def _rows(sparse: Any) -> RaggedTensor:
    """Return the rows of a sparse matrix of words."""
    indices, values, shape = sparse
    return RaggedTensor.from_value_rowids(values, indices[:, 0], nrows=shape[0], validate=False)


def _limit(maxsplit: int) -> Any:
    return integer(maxsplit, "split", "maxsplit")


def _separator(sep: object) -> Any:
    return tensor("" if sep is None else sep, string)


@export("strings.split")
def split(
    input: TensorLike, sep: TensorLike | None = None, maxsplit: int = -1, name: str | None = None
) -> RaggedTensor:
    """Return the words of each string, a RaggedTensor with one more axis; of a scalar, a vector.

    Words end at `sep`, a scalar string, or at any blanks if it is None or ""; after `maxsplit`
    cuts the rest is one word.

    >>> import talweg as tf
    >>> tf.strings.split(["a b", "c"]).to_list()
    [[b'a', b'b'], [b'c']]
    """
    vector, place = as_vector(convert(input, string))
    return place(_rows(string_split(vector, _separator(sep), maxsplit=_limit(maxsplit))))


def _of_type(result_type: str, rows: Any) -> Any:
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise value_error("TW207", f"result_type {result_type!r}", "RaggedTensor or SparseTensor")
    return SparseTensor(*rows) if result_type == "SparseTensor" else _rows(rows)


@export("compat.v1.strings.split")
def split_v1(
    input: TensorLike | None = None,
    sep: TensorLike | None = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Do what `tf.strings.split` does, of a scalar as of a vector; the result is a SparseTensor by
    default.

    result_type: "SparseTensor" or "RaggedTensor"; ValueError for others.  `source` is another name
    of input.
    """
    if input is not None and source is not None:
        raise value_error("TW104", "both 'input' and 'source' are given", "one of them")
    x = convert(source if input is None else input, string)
    x = x if isinstance(x, RaggedTensor) or x.ndim else expand_dims(x, 0)
    vector, as_given = as_vector(x)
    pieces = string_split(vector, _separator(sep), maxsplit=_limit(maxsplit))
    if result_type == "SparseTensor" and not isinstance(x, RaggedTensor) and x.ndim == 1:
        return SparseTensor(*pieces)
    rows = as_given(
        _of_type("RaggedTensor" if result_type == "SparseTensor" else result_type, pieces)
    )
    return rows.to_sparse() if result_type == "SparseTensor" else rows


@export("compat.v1.string_split")
def string_split_v1(
    source: TensorLike,
    sep: TensorLike | None = None,
    skip_empty: bool = True,
    delimiter: TensorLike | None = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """Split each string of a vector at any of the bytes of `sep` (a blank).

    sep: if it is "", each byte is a part; skip_empty: whether empty parts are left out; delimiter:
    another name of sep; result_type: "SparseTensor" or "RaggedTensor", ValueError for others.
    InvalidArgumentError if source is no vector.
    """
    if sep is not None and delimiter is not None:
        raise value_error("TW104", "both 'delimiter' and 'sep' are given", "one of them")
    mark = delimiter if sep is None else sep
    mark = tensor(" " if mark is None else mark, string)
    pieces = string_split_at(tensor(source, string), mark, skip_empty=bool(skip_empty))
    return _of_type(result_type, pieces)


@export("strings.bytes_split")
def bytes_split(input: TensorLike, name: str | None = None) -> RaggedTensor:
    """Return the bytes of each string, a RaggedTensor with one more axis; of a scalar, a vector.

    >>> import talweg as tf
    >>> tf.strings.bytes_split(["ab", "c"]).to_list()
    [[b'a', b'b'], [b'c']]
    """
    x = convert(input)
    if x.dtype is not string:
        raise value_error("TW102", f"bytes_split: input has dtype {x.dtype.name}", "string")
    vector, place = as_vector(x)
    empty = tensor(np.array(b"", object), string)
    return place(_rows(string_split_at(vector, empty, skip_empty=False)))
