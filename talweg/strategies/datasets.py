"""Datasets of several replicas: each element has a part for every replica."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.core.errors import compose, type_error, value_error
from talweg.eager.replica_contexts import contexts
from talweg.pipeline.dataset import Dataset
from talweg.pipeline.iterators import OwnedIterator
from talweg.pipeline.replicas import Consecutive, Shared
from talweg.pipeline.sharding import Together, of_worker

if TYPE_CHECKING:
    from talweg.strategies.cluster import Cluster
    from talweg.strategies.values import InputContext


@export("distribute.DistributedIterator")
class DistributedIterator(OwnedIterator):
    """An iterator over a distributed dataset (`tf.distribute.DistributedIterator`).

    >>> import talweg as tf
    >>> strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    >>> dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    >>> isinstance(iter(dataset), tf.distribute.DistributedIterator)
    True
    """

    def __next__(self) -> Any:
        self._check_outside()
        return super().__next__()

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element; OutOfRangeError at the end, ValueError inside of a replica."""
        self._check_outside()
        return super().get_next(name)

    def _check_outside(self) -> None:
        replica = contexts.stack[-1][1] if contexts.stack else None
        if replica is not None and replica.num_replicas_in_sync > 1:
            raise value_error(
                "TW510",
                "next(iterator) should be called from outside of replica_fn: each replica would "
                "take an element of all",
                "strategy.run(replica_fn, args=(next(iterator),))",
            )


@export("distribute.DistributedDataset")
class DistributedDataset:
    """A dataset shared out among replicas (`tf.distribute.DistributedDataset`).

    >>> import talweg as tf
    >>> strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    >>> dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    >>> [batch.numpy().tolist() for batch in dataset]
    [[0, 1], [2, 3]]
    """

    def __init__(self, dataset: Dataset):
        self.dataset = dataset

    def __iter__(self) -> DistributedIterator:
        return DistributedIterator(self.dataset)

    @property
    def element_spec(self) -> Any:
        """The specs of the elements: for several replicas those of each."""
        return self.dataset.element_spec

    @property
    def cardinality(self) -> Any:
        """The number of elements, -1 if there is no end, -2 if nobody knows."""
        return self.dataset.cardinality().numpy()

    def trace_steps(self) -> tuple:
        """Return, for a loop in a graph,
        what says whether there is an element, and what takes it.
        """
        return iter(self).trace_steps()

    @property
    def _type_spec(self) -> Any:
        return self.dataset._type_spec

    # -- as a nest of one tensor, so that functions take it as an argument

    @property
    def trace_key(self) -> Any:
        """Return the key that tells traces of functions with this argument apart."""
        return self.dataset.trace_key

    def _flat_components(self) -> list:
        return self.dataset._flat_components()

    def _with_components(self, parts: list) -> DistributedDataset:
        return type(self)(self.dataset._with_components(parts))


class DistributedDatasetsFromFunction(DistributedDataset):
    """The class of the result of `distribute_datasets_from_function`."""


def distribute_dataset(
    dataset: object, count: int, cluster: Cluster | None = None
) -> DistributedDataset:
    """Return a dataset
    whose batches are divided among `count` replicas here, and those of a cluster.
    """
    if not isinstance(dataset, Dataset):
        raise type_error(
            "TW104", f"experimental_distribute_dataset: {dataset!r} is no tf.data.Dataset"
        )
    if cluster is not None:
        own = of_worker(dataset, cluster.count, cluster.own, count)
        return DistributedDataset(_together(own, cluster))
    if count == 1:
        return DistributedDataset(dataset)
    return DistributedDataset(Dataset.of(Shared(dataset.stage, count), dataset))


def _together(dataset: Dataset, cluster: Cluster) -> Dataset:
    """Return a dataset that ends on all workers at once."""
    return Dataset.of(Together(dataset.stage, cluster.any_has, cluster.tell_failure), dataset)


def from_function(
    function: Callable, context: InputContext, count: int = 1, cluster: Cluster | None = None
) -> DistributedDataset:
    """Return the dataset whose elements go to the `count` replicas here in turn."""
    dataset = function(context)
    if not isinstance(dataset, Dataset):
        raise type_error(
            "TW104",
            f"the function gave {dataset!r}, which is no tf.data.Dataset",
            hint="return dataset.batch(context.get_per_replica_batch_size(global_batch_size))",
        )
    if count > 1:
        dataset = Dataset.of(Consecutive(dataset.stage, count), dataset)
    if cluster is not None:
        dataset = _together(dataset, cluster)
    return DistributedDatasetsFromFunction(dataset)


def check_options(options: object) -> None:
    """Raise NotImplementedError for the mode that only datasets from functions have."""
    mode = getattr(options, "experimental_replication_mode", None)
    if getattr(mode, "value", "") == "PER_REPLICA":
        text = "InputReplicationMode.PER_REPLICA is only supported in "
        raise NotImplementedError(compose("TW402", f"{text}`distribute_datasets_from_function`."))
