"""Classes and functions of `tensorflow.python.data` and `.distribute` that libraries ask for."""

from __future__ import annotations

from typing import Any


class _Kind(type):
    """A class whose instances are datasets that a stage of a certain name makes."""

    def __instancecheck__(cls, instance: Any) -> bool:
        stage = getattr(instance, "stage", None)
        return type(stage).__name__ in getattr(cls, "stages", ())


class _GeneratorDataset(metaclass=_Kind):
    """Datasets of `from_generator`."""

    stages = ("Generated",)


class _RangeDataset(metaclass=_Kind):
    """Datasets of `range`."""

    stages = ("Range",)


class _SparseTensorSliceDataset(metaclass=_Kind):
    """Datasets of `from_sparse_tensor_slices`."""


class _TensorDataset(metaclass=_Kind):
    """Datasets of `from_tensors`."""

    stages = ("Once",)


class _TensorSliceDataset(metaclass=_Kind):
    """Datasets of `from_tensor_slices`."""

    stages = ("Slices",)


def auto_shard_dataset(
    dataset: Any, num_shards: int, index: int, num_replicas_in_sync: int | None = None
) -> Any:
    """Return the part of a dataset that one of several workers reads."""
    return dataset if num_shards == 1 else dataset.shard(num_shards, index)
