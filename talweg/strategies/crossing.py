"""Values of all workers of a cluster, summed or joined: at once, or as a step of a graph.

Without a cluster everything is as it is on this worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.dims import Dim
from talweg.core.value import IndexedSlices
from talweg.eager.convert import convert_to_tensor
from talweg.prims.host import host_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.strategies.cluster import Cluster


class Exchange:
    """The function that `host_call` calls to exchange arrays with the other workers."""

    may_wait = True

    def __init__(self, cluster: Cluster, avals: Sequence[Aval]):
        self.cluster, self.avals = cluster, tuple([loose(aval) for aval in avals])


class SumExchange(Exchange):
    """The sums over all workers."""

    tf_type = "CollectiveReduceV2"

    def __call__(self, *arrays: np.ndarray) -> tuple:
        return tuple(self.cluster.sum(arrays))


class GatherExchange(Exchange):
    """The arrays of all workers one after the other along an axis."""

    tf_type = "CollectiveGatherV2"

    def __init__(self, cluster: Cluster, aval: Aval, axis: int):
        self.axis = axis
        dims = aval.dims
        if dims is not None:
            place = axis % max(1, len(dims))
            dims = tuple([None if k == place else d for k, d in enumerate(dims)])
        super().__init__(cluster, [Aval(dims, aval.dtype)])

    def __call__(self, array: np.ndarray) -> tuple:
        return (np.concatenate(self.cluster.gather(array), self.axis),)


def loose(aval: Aval) -> Aval:
    """Return another graph's view of a result's shape: sizes that are numbers."""
    if aval.dims is None:
        return aval
    return Aval(tuple([None if type(size) is Dim else size for size in aval.dims]), aval.dtype)


def _aval(tensor: Any) -> Aval:
    dims = tensor.shape.as_list() if tensor.shape.rank is not None else None
    return Aval(None if dims is None else tuple(dims), tensor.dtype)


def sum_over_workers(cluster: Cluster | None, values: Sequence[Any]) -> list:
    """Return the sums of tensors over all workers; of slices, the slices of all."""
    if cluster is None:
        return list(values)
    totals = list(values)
    slices = [k for k, value in enumerate(totals) if isinstance(value, IndexedSlices)]
    for k in slices:
        one = totals[k]
        rows, places = (
            join_over_workers(cluster, one.values, 0),
            join_over_workers(cluster, one.indices, 0),
        )
        totals[k] = IndexedSlices(rows, places, one.dense_shape)
    plain = [k for k in range(len(totals)) if k not in slices]
    tensors = [convert_to_tensor(totals[k]) for k in plain]
    if tensors:
        call = SumExchange(cluster, [_aval(x) for x in tensors])
        for k, total in zip(plain, host_call(*tensors, call=call)):
            totals[k] = total
    return totals


def join_over_workers(cluster: Cluster | None, value: Any, axis: int) -> Any:
    """Return the tensors of all workers one after the other along an axis."""
    if cluster is None:
        return value
    tensor = convert_to_tensor(value)
    return host_call(tensor, call=GatherExchange(cluster, _aval(tensor), axis))[0]


def of_first(cluster: Cluster | None, value: Any) -> Any:
    """Return the first worker's tensor, on all of them."""
    if cluster is None:
        return value
    tensor = convert_to_tensor(value)
    own = tensor if cluster.own == 0 else tensor * 0
    return sum_over_workers(cluster, [own])[0]
