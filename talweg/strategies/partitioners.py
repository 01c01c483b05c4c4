"""tf.distribute.experimental.partitioners: into how many parts a variable is divided."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from talweg.api.export import export
from talweg.core.dtypes import as_dtype, string
from talweg.core.errors import value_error
from talweg.core.shapes import as_shape

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike

_PLACE = "distribute.experimental.partitioners."


@export(f"{_PLACE}Partitioner")
class Partitioner:
    """Base of the classes that choose into how many parts each axis of a variable is divided.

    >>> import talweg as tf
    >>> kinds = tf.distribute.experimental.partitioners
    >>> issubclass(kinds.FixedShardsPartitioner, kinds.Partitioner)
    True
    """

    def __call__(self, shape: ShapeLike, dtype: DTypeLike, axis: int = 0) -> list[int]:
        """Return the number of parts for each axis; only `axis` has more than one."""
        raise NotImplementedError


@export(f"{_PLACE}FixedShardsPartitioner")
class FixedShardsPartitioner(Partitioner):
    """A number of parts, or as many as there are rows.

    >>> import talweg as tf
    >>> divide = tf.distribute.experimental.partitioners.FixedShardsPartitioner(2)
    >>> divide(tf.TensorShape([10, 3]), tf.float32)
    [2, 1]
    """

    def __init__(self, num_shards: int):
        self._count = num_shards

    def __call__(self, shape: ShapeLike, dtype: DTypeLike, axis: int = 0) -> list[int]:
        """Return the number of parts for each axis."""
        sizes = as_shape(shape).as_list()
        return _parts(sizes, axis, min(self._count, sizes[axis]))


@export(f"{_PLACE}MinSizePartitioner")
class MinSizePartitioner(Partitioner):
    """As many parts as leave each about `min_shard_bytes`, at most `max_shards`.

    >>> import talweg as tf
    >>> kinds = tf.distribute.experimental.partitioners
    >>> kinds.MinSizePartitioner(min_shard_bytes=64, max_shards=4)([10, 4], tf.float32)
    [3, 1]
    """

    def __init__(
        self, min_shard_bytes: int = 256 << 10, max_shards: int = 1, bytes_per_string: int = 16
    ):
        _check_positive(
            min_shard_bytes=min_shard_bytes,
            max_shards=max_shards,
            bytes_per_string=bytes_per_string,
        )
        self._least, self._most, self._text = min_shard_bytes, max_shards, bytes_per_string

    def __call__(self, shape: ShapeLike, dtype: DTypeLike, axis: int = 0) -> list[int]:
        """Return the number of parts for each axis."""
        sizes = as_shape(shape).as_list()
        total = math.prod(sizes) * _bytes(dtype, self._text)
        count = -(-total // self._least)  # rounded up, as TensorFlow does
        return _parts(sizes, axis, min(count, self._most, sizes[axis]))


@export(f"{_PLACE}MaxSizePartitioner")
class MaxSizePartitioner(Partitioner):
    """As few parts as leave each at most `max_shard_bytes`, if `max_shards` allows.

    >>> import talweg as tf
    >>> kinds = tf.distribute.experimental.partitioners
    >>> kinds.MaxSizePartitioner(max_shard_bytes=80)([10, 4], tf.float32)
    [2, 1]
    """

    def __init__(
        self, max_shard_bytes: int, max_shards: int | None = None, bytes_per_string: int = 16
    ):
        _check_positive(max_shard_bytes=max_shard_bytes, bytes_per_string=bytes_per_string)
        if max_shards is not None:
            _check_positive(max_shards=max_shards)
        self._largest, self._most, self._text = max_shard_bytes, max_shards, bytes_per_string

    def __call__(self, shape: ShapeLike, dtype: DTypeLike, axis: int = 0) -> list[int]:
        """Return the number of parts for each axis."""
        sizes = as_shape(shape).as_list()
        row = math.prod(sizes) // max(1, sizes[axis]) * _bytes(dtype, self._text)
        rows = max(1, self._largest // max(1, row))
        count = -(-sizes[axis] // rows)
        limits = [count, sizes[axis]] + ([] if self._most is None else [self._most])
        return _parts(sizes, axis, min(limits))


def _parts(sizes: list, axis: int, count: int) -> list[int]:
    return [max(1, count) if place == axis % len(sizes) else 1 for place in range(len(sizes))]


def _bytes(dtype: DTypeLike, text: int) -> int:
    dtype = as_dtype(dtype)
    return text if dtype is string else dtype.size


def _check_positive(**numbers: int) -> None:
    for name, value in numbers.items():
        if value < 1:
            raise value_error("TW207", f"Argument `{name}` must be positive. Received: {value}")
