"""tf.train.experimental: sharding of the tensors of a checkpoint over data files."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.device import DeviceSpec
from talweg.api.export import export
from talweg.core.dtypes import DType
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.formats.bundle.writer import Piece, string_bytes

if TYPE_CHECKING:
    from talweg.interop.checkpoint.options import CheckpointOptions

HOST = "/job:localhost/replica:0/task:0/device:CPU:0"
Shard = dict[str, dict[str, Any]]  # a tensor by its key, then by its slice


@export("train.experimental.ShardableTensor", "compat.v1.train.experimental.ShardableTensor")
@dataclass(frozen=True)
class ShardableTensor:
    """A tensor that is to be saved: its value, its key in the checkpoint, which slice it is."""

    _tensor_save_spec: Any
    tensor: Tensor
    dtype: DType
    device: DeviceSpec
    name: str
    shape: TensorShape
    slice_spec: str
    checkpoint_key: str
    trackable: Any


@export("train.experimental.ShardingCallback", "compat.v1.train.experimental.ShardingCallback")
class ShardingCallback(abc.ABC):
    """Says which tensors go into which data file of a checkpoint.

    A subclass has a `description`, and is called with all tensors; it gives a list with one
    dictionary for each file: the tensors by key, then by slice ("" is all of a tensor).
    """

    @property
    @abc.abstractmethod
    def description(self) -> str:
        """A sentence about how tensors are shared out."""

    @abc.abstractmethod
    def __call__(self, shardable_tensors: Sequence[ShardableTensor]) -> Sequence[Shard]:
        """Return the tensors of each data file."""


@export("train.experimental.ShardByTaskPolicy", "compat.v1.train.experimental.ShardByTaskPolicy")
class ShardByTaskPolicy(ShardingCallback):
    """One data file for the tensors of each process: one, where there is one process.

    >>> import talweg as tf
    >>> tf.train.experimental.ShardByTaskPolicy().description
    'Split tensors into shards based on their device spec task.'
    """

    @property
    def description(self) -> str:
        """A sentence about how tensors are shared out."""
        return "Split tensors into shards based on their device spec task."

    def __call__(self, shardable_tensors: Sequence[ShardableTensor]) -> Sequence[Shard]:
        """Return the tensors of each data file."""
        shards: dict[int | None, Shard] = {}
        for each in shardable_tensors:
            shard = shards.setdefault(each.device.task, {})
            shard.setdefault(each.checkpoint_key, {})[each.slice_spec] = each.tensor
        return list(shards.values())


@export("train.experimental.MaxShardSizePolicy", "compat.v1.train.experimental.MaxShardSizePolicy")
class MaxShardSizePolicy(ShardingCallback):
    """Data files of at most `max_shard_size` bytes; larger tensors of numbers are cut into slices.

    What cannot be cut (strings, single numbers) may make a file larger.

    >>> import talweg as tf
    >>> policy = tf.train.experimental.MaxShardSizePolicy(1 << 30)
    >>> options = tf.train.CheckpointOptions(experimental_sharding_callback=policy)
    """

    def __init__(self, max_shard_size: int):
        if max_shard_size < 1:
            raise value_error("TW507", f"max_shard_size={max_shard_size}", "at least one byte")
        self.max_shard_size = max_shard_size

    @property
    def description(self) -> str:
        """A sentence about how tensors are shared out."""
        return "Split tensors into shards with a max shard size."

    def __call__(self, shardable_tensors: Sequence[ShardableTensor]) -> Sequence[Shard]:
        """Return the tensors of each data file, in the order in which they come."""
        shards: list[Shard] = [{}]
        room = self.max_shard_size
        for each in shardable_tensors:
            for spec, tensor in self._parts(each, room):
                size = _bytes_of(tensor)
                if size > room and shards[-1]:
                    shards.append({})
                    room = self.max_shard_size
                shards[-1].setdefault(each.checkpoint_key, {})[spec] = tensor
                room -= size
        return shards

    def _parts(self, each: ShardableTensor, room: int) -> list[tuple[str, Any]]:
        """Split the tensor along its longest axis into slices that fill the room left."""
        size, sizes = _bytes_of(each.tensor), each.shape.as_list()
        if size <= room or each.slice_spec or each.dtype.name == "string" or not sizes:
            return [(each.slice_spec, each.tensor)]
        axis = int(np.argmax(sizes))
        row = size // sizes[axis]
        if sizes[axis] < 2 or row > self.max_shard_size and size <= self.max_shard_size:
            return [("", each.tensor)]
        parts, begin = [], 0
        while begin < sizes[axis]:
            rows = max(1, room // row if room >= row else self.max_shard_size // row)
            length = min(rows, sizes[axis] - begin)
            parts.append(_part(each.tensor, sizes, axis, begin, length))
            begin += length
            room = self.max_shard_size
        return parts


def _bytes_of(tensor: Any) -> int:
    if tensor.dtype.name == "string":
        return len(string_bytes(np.asarray(tensor))[0])
    return math.prod(tensor.shape.as_list()) * tensor.dtype.size


def _part(tensor: Any, sizes: list[int], axis: int, begin: int, length: int) -> tuple[str, Any]:
    """Return the spec and the value of a slice along an axis."""
    extents = [(begin, length) if k == axis else (0, size) for k, size in enumerate(sizes)]
    places = ":".join([f"{start},{count}" for start, count in extents])
    place = (slice(None),) * axis + (slice(begin, begin + length),)
    return f"{' '.join(map(str, sizes))} {places}", tensor[place]


def data_files(
    tensors: Mapping[str, Any], trackables: Mapping[str, Any], options: CheckpointOptions | None
) -> list[list[Piece]] | None:
    """Distribute the tensors over data files; None where no callback says how."""
    share = options and options.experimental_sharding_callback
    if not share:
        return None
    shardable = [
        _shardable(key, convert_to_tensor(value), trackables.get(key))
        for key, value in tensors.items()
    ]
    parts = []
    for shard in share(shardable):
        if not shard:
            raise value_error(
                "TW507", f"{type(share).__name__} gives a data file without tensors", "some in each"
            )
        parts.append(
            [
                Piece(key, np.asarray(tensor), spec.strip())
                for key, slices in shard.items()
                for spec, tensor in slices.items()
            ]
        )
    return parts


def _shardable(key: str, tensor: Any, trackable: object) -> ShardableTensor:
    device = DeviceSpec.from_string(HOST)
    shape = TensorShape(tensor.shape)
    return ShardableTensor(None, tensor, tensor.dtype, device, key, shape, "", key, trackable)
