"""tf.experimental.DynamicRaggedShape: what tf.shape gives for a ragged tensor."""

from __future__ import annotations

from typing import Any

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.core.dtypes import as_dtype, int32
from talweg.core.errors import value_error
from talweg.eager.ragged import RaggedTensor


@export("experimental.DynamicRaggedShape")
class DynamicRaggedShape:
    """The sizes of the axes of a ragged tensor; those of ragged axes differ from row to row.

    >>> import talweg as tf
    >>> shape = tf.shape(tf.ragged.constant([[1], [2, 3]]))
    >>> int(shape[0]), shape.rank, shape.is_uniform(1)
    (2, 2, False)
    """

    def __init__(self, ragged: RaggedTensor, dtype: Any = int32):
        self._ragged, self.dtype = ragged, as_dtype(dtype)

    @classmethod
    def from_tensor(cls, t: Any, dtype: Any = None) -> DynamicRaggedShape:
        """The shape of a ragged tensor."""
        return cls(t, dtype or int32)

    @property
    def rank(self) -> int | None:
        """The number of axes."""
        return self._ragged.shape.rank

    @property
    def num_row_partitions(self) -> int:
        """How many axes are ragged, or lie before one that is."""
        return self._ragged.ragged_rank

    def is_uniform(self, axis: int) -> bool:
        """Whether all rows have one size along the axis."""
        return axis == 0 or self._ragged.shape[axis] is not None

    def __getitem__(self, index: Any) -> Any:
        if index == 0:
            return self._ragged.nrows(self.dtype)
        size = self._ragged.shape[index] if isinstance(index, int) else None
        if size is None:
            raise value_error("TW203", f"axis {index} is ragged: its sizes differ from row to row")
        return tensor(size, self.dtype)

    def __repr__(self) -> str:
        return f"<DynamicRaggedShape {self._ragged.shape}>"
