"""tf.experimental.DynamicRaggedShape: the sizes of the axes of a ragged or dense tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.experimental.ragged_shape_functions import teach
from talweg.api.experimental.row_partition import RowPartition
from talweg.api.export import export, look_up
from talweg.core.dtypes import DType, as_dtype, int64
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.eager.extension import ExtensionType
from talweg.eager.ragged import RaggedTensor

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike


@export("experimental.DynamicRaggedShape")
class DynamicRaggedShape(ExtensionType):
    """The sizes of the axes of a tensor; those of ragged axes differ from row to row.

    row_partitions: of the ragged axes, and those before one, outer first.  inner_shape: the shape
    of the flat values.  dtype: int64 or int32.  validate: InvalidArgumentError unless the values
    are as many as the last partition has.  `tf.reshape`, `tf.broadcast_to`, `tf.zeros`, `tf.ones`,
    `tf.fill` and `tf.broadcast_dynamic_shape` take one.

    >>> import talweg as tf
    >>> shape = tf.shape(tf.ragged.constant([[1], [2, 3]]))
    >>> int(shape[0]), shape.rank, shape.is_uniform(1), shape.static_lengths()
    (2, 2, False, [2, (1, 2)])
    """

    _partitions: tuple[RowPartition, ...]
    _inner: Tensor

    def __init__(
        self,
        row_partitions: Sequence[RowPartition],
        inner_shape: Any,
        dtype: Any = None,
        validate: bool = False,
        static_inner_shape: Any = None,
    ):
        if isinstance(row_partitions, RaggedTensor):
            raise value_error("TW104", "row_partitions is a RaggedTensor", "a list of partitions")
        kinds = [part.dtype for part in row_partitions]
        kind = as_dtype(dtype) if dtype is not None else kinds[0] if kinds else None
        inner = tensor(inner_shape, None if hasattr(inner_shape, "dtype") else kind or int64)
        kind = inner.dtype if kind is None else kind
        self._inner = look_up("cast")(inner, kind)
        self._partitions = tuple([part.with_dtype(kind) for part in row_partitions])
        teach(DynamicRaggedShape)
        if validate and self._partitions:
            look_up("debugging.assert_equal")(self._partitions[-1].nvals(), self._inner[0])

    # -- ways to make one

    @classmethod
    def from_tensor(cls, t: Tensor, dtype: DTypeLike | None = None) -> DynamicRaggedShape:
        """Return the shape of a ragged or dense tensor."""
        parts = []
        x = t if isinstance(t, RaggedTensor) else tensor(t)
        while isinstance(x, RaggedTensor):
            parts.append(RowPartition.of_ragged(x))
            x = x.values
        kind = as_dtype(dtype) if dtype is not None else parts[0].dtype if parts else int64
        return cls(parts, look_up("shape")(x, kind), kind)

    @classmethod
    def from_row_partitions(
        cls, row_partitions: Sequence[RowPartition], dtype: DTypeLike | None = None
    ) -> DynamicRaggedShape:
        """Return the shape of these partitions over scalars; ValueError without one."""
        if not row_partitions:
            raise value_error("TW104", "row_partitions cannot be empty")
        inner = look_up("reshape")(row_partitions[-1].nvals(), [1])
        return cls(row_partitions, inner, dtype)

    @classmethod
    def from_lengths(
        cls, lengths: Sequence[Any], num_row_partitions: int | None = None, dtype: DTypeLike = int64
    ) -> DynamicRaggedShape:
        """Make the shape of axes whose sizes are numbers, or tuples with the length of each row.

        num_row_partitions: how many partitions it has, by default up to the last ragged axis.
        ValueError for lengths that do not fit.

        >>> import talweg as tf
        >>> tf.experimental.DynamicRaggedShape.from_lengths([2, (3, 1), 5])
        <DynamicRaggedShape lengths=[2, (3, 1), 5] num_row_partitions=1>
        """
        ragged = [axis for axis, size in enumerate(lengths) if not isinstance(size, int)]
        least = max(ragged, default=0)
        count = least if num_row_partitions is None else num_row_partitions
        if 0 in ragged or count < least or (count and count >= len(lengths)):
            raise value_error(
                "TW204",
                f"lengths={list(lengths)}, num_row_partitions={count}",
                "a number first, and a partition for each axis up to the last ragged one",
            )
        parts, values = [], lengths[0] if lengths else 0
        for size in lengths[1 : count + 1]:
            if isinstance(size, int):
                part = RowPartition.from_uniform_row_length(size, nrows=values, dtype=dtype)
                values *= size
            elif len(size) != values:
                raise value_error("TW204", "Shape not consistent.", f"{values} lengths of rows")
            else:
                part = RowPartition.from_row_lengths(list(size), dtype=dtype)
                values = sum(size)
            parts.append(part)
        inner = [values, *lengths[count + 1 :]] if lengths else []
        return cls(parts, tensor(inner, dtype) if inner else look_up("zeros")([0], dtype))

    # -- what it says

    @property
    def dtype(self) -> DType:
        """int64 or int32."""
        return self._inner.dtype

    @property
    def row_partitions(self) -> tuple[RowPartition, ...]:
        """The partitions, outer first."""
        return self._partitions

    @property
    def num_row_partitions(self) -> int:
        """The number of axes that are ragged, or lie before one that is."""
        return len(self._partitions)

    @property
    def inner_shape(self) -> Tensor:
        """The shape of the flat values."""
        return self._inner

    @property
    def inner_rank(self) -> int | None:
        """The rank of the flat values."""
        return self._inner.shape[0]

    @property
    def rank(self) -> int | None:
        """The number of axes."""
        inner = self.inner_rank
        return None if inner is None else inner + self.num_row_partitions

    def is_uniform(self, axis: int) -> bool:
        """Return whether all rows have one size along the axis."""
        if 0 < axis <= self.num_row_partitions:
            return self._partitions[axis - 1].is_uniform()
        return True

    def static_lengths(self, ragged_lengths: bool = True) -> list:
        """Return the sizes of the axes: a number, or a tuple with those of each row; None if not
        known.

        ragged_lengths=False: None for ragged axes.
        """
        sizes_so_far: list = []
        for part in self._partitions:
            if not sizes_so_far:
                sizes_so_far.append(part.static_nrows)
            if part.is_uniform():
                sizes_so_far.append(part.static_uniform_row_length)
            elif ragged_lengths:
                lengths = look_up("get_static_value")(part.row_lengths())
                sizes_so_far.append(None if lengths is None else tuple(lengths.tolist()))
            else:
                sizes_so_far.append(None)
        inner = look_up("get_static_value")(self._inner)
        sizes = [None] * (self.inner_rank or 0) if inner is None else inner.tolist()
        return sizes_so_far + sizes[1:] if sizes_so_far else sizes

    def with_dtype(self, dtype: DTypeLike) -> DynamicRaggedShape:
        """Return the same shape in another dtype."""
        return DynamicRaggedShape(self._partitions, self._inner, dtype)

    def over(self, flat_values: Any) -> Any:
        """Return a tensor of this shape with these values, which are as many."""
        found = look_up("reshape")(flat_values, self._inner)
        for part in reversed(self._partitions):
            found = part.over(found)
        return found

    # -- parts

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._slice(index)
        rank = self.rank
        place = index + rank if index < 0 and rank is not None else index
        if rank is not None and not 0 <= place < rank:
            raise IndexError(f"Index must be between [0, {rank}), got {index}  [TW202]")
        count = self.num_row_partitions
        if count and place == 0:
            return self._partitions[0].nrows()
        if place > count or not count:
            return self._inner[place - count]
        if not self.is_uniform(place):
            raise value_error("TW203", f"Index {place} is not uniform: its sizes differ")
        return self._partitions[place - 1].uniform_row_length()

    def _slice(self, index: slice) -> DynamicRaggedShape:
        if index.step not in (None, 1):
            raise IndexError("Cannot stride through a shape  [TW202]")
        rank, count = self.rank or 0, self.num_row_partitions
        start, stop, _ = index.indices(rank)
        if start == 0 and count and stop > 0:
            if stop > count:
                return DynamicRaggedShape(self._partitions, self._inner[: stop - count])
            kept = self._partitions[: stop - 1]
            last = self._partitions[stop - 1].nrows()
            return DynamicRaggedShape(kept, look_up("reshape")(last, [1]))
        if not all([self.is_uniform(axis) for axis in range(start, stop)]):
            raise value_error("TW203", "All relevant dimensions must be uniform")
        if not count:
            return DynamicRaggedShape([], self._inner[start:stop])
        sizes = [self[axis] for axis in range(start, stop)]
        empty = look_up("zeros")([0], self.dtype)
        return DynamicRaggedShape([], look_up("stack")(sizes) if sizes else empty)

    def __repr__(self) -> str:
        return (
            f"<DynamicRaggedShape lengths={self.static_lengths()} "
            f"num_row_partitions={self.num_row_partitions}>"
        )
