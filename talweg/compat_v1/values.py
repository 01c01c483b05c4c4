"""tf.compat.v1: sparse and ragged tensors as NumPy values, as sessions give and take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.api.export import export, look_up
from talweg.core import dispatch
from talweg.core.dtypes import as_dtype

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike


@export("compat.v1.SparseTensorValue")
class SparseTensorValue(NamedTuple):
    """The value of a SparseTensor: indices [n, rank], values [n], dense_shape [rank].

    >>> import talweg.compat.v1 as tf
    >>> tf.SparseTensorValue([[0, 1]], [5.0], [2, 2]).dense_shape
    [2, 2]
    """

    indices: Any
    values: Any
    dense_shape: Any


class IndexedSlicesValue(NamedTuple):
    """The value of IndexedSlices: values [n, ...], indices [n], dense_shape or None."""

    values: Any
    indices: Any
    dense_shape: Any


@export("compat.v1.ragged.RaggedTensorValue")
class RaggedTensorValue:
    """The value of a RaggedTensor: values (an array or another such value) and row_splits.

    >>> import numpy as np
    >>> import talweg.compat.v1 as tf
    >>> tf.ragged.RaggedTensorValue(np.array([1, 2, 3]), np.array([0, 2, 3])).to_list()
    [[1, 2], [3]]
    """

    def __init__(self, values: Any, row_splits: TensorLike):
        self.values, self.row_splits = values, np.asarray(row_splits)

    @property
    def flat_values(self) -> Any:
        """The innermost values."""
        inner = self.values
        return inner.flat_values if isinstance(inner, RaggedTensorValue) else inner

    @property
    def nested_row_splits(self) -> tuple:
        """The splits of all ragged dimensions, the outer one first."""
        inner = self.values
        rest = inner.nested_row_splits if isinstance(inner, RaggedTensorValue) else ()
        return (self.row_splits, *rest)

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self.flat_values.dtype

    @property
    def shape(self) -> tuple:
        """The shape, None where rows differ in length."""
        inner = self.values.shape
        return (len(self.row_splits) - 1, None, *inner[1:])

    def to_list(self) -> list:
        """Return the rows as nested lists."""
        inner = self.values
        items = inner.to_list() if isinstance(inner, RaggedTensorValue) else inner.tolist()
        splits = self.row_splits.tolist()
        return [items[a:b] for a, b in zip(splits[:-1], splits[1:])]

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self.values!r}, row_splits={self.row_splits!r})"

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"


@export("compat.v1.ragged.constant_value")
def constant_value(
    pylist: Any,
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    row_splits_dtype: DTypeLike = "int64",
) -> Any:
    """Return nested lists, whose lengths may differ, as a RaggedTensorValue; scalars as an array.

    The arguments are those of `tf.ragged.constant`; numbers are int64 or float64 unless dtype says
    otherwise.  ValueError for scalars at different depths.

    >>> import talweg.compat.v1 as tf
    >>> tf.ragged.constant_value([[1, 2], [3]]).to_list()
    [[1, 2], [3]]
    """
    with dispatch.eagerly():
        given = (pylist, dtype, ragged_rank, inner_shape, None, as_dtype(row_splits_dtype))
        ragged = look_up("ragged.constant")(*given)
        flat = getattr(ragged, "flat_values", ragged).numpy()
        splits = [part.numpy() for part in getattr(ragged, "nested_row_splits", ())]
    wide = {"int32": np.int64, "float32": np.float64}.get(flat.dtype.name)
    flat = flat if dtype is not None or wide is None else flat.astype(wide)
    for part in reversed(splits):
        flat = RaggedTensorValue(flat, part)
    return flat
