"""Reductions over replicas: sums, means and joined values, each computed once for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import look_up
from talweg.core.errors import value_error
from talweg.core.value import IndexedSlices
from talweg.eager.convert import convert_to_tensor
from talweg.eager.replicated import DistributedValues, Mirrored, place
from talweg.graph import structure
from talweg.strategies.contexts import ReduceOp, reduce_op
from talweg.strategies.crossing import join_over_workers, sum_over_workers
from talweg.strategies.local_values import LocalValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.strategies.cluster import Cluster


def reduce_values(how: ReduceOp, values: Sequence[Any]) -> Any:
    """Return the sum or mean of one value of each replica of this worker."""
    values = list(values)
    if any([isinstance(value, IndexedSlices) for value in values]):
        return _join_slices(reduce_op(how), values)
    tensors = [convert_to_tensor(value) for value in values]
    total = tensors[0] if len(tensors) == 1 else look_up("add_n")(tensors)
    return total / len(tensors) if reduce_op(how) is ReduceOp.MEAN else total


def reduce_together(
    how: ReduceOp, columns: Sequence[Sequence[Any]], cluster: Cluster | None
) -> list:
    """Return the sums or means of values of each replica of all workers, exchanged together."""
    if cluster is None:
        return [reduce_values(how, values) for values in columns]
    totals = sum_over_workers(cluster, [reduce_values(ReduceOp.SUM, values) for values in columns])
    if reduce_op(how) is ReduceOp.SUM:
        return totals
    counts = [len(values) * cluster.count for values in columns]
    return [_divide(total, count) for total, count in zip(totals, counts)]


def _divide(total: Any, count: int) -> Any:
    if isinstance(total, IndexedSlices):
        return IndexedSlices(total.values / count, total.indices, total.dense_shape)
    return total / count


def _join_slices(how: ReduceOp, values: list) -> IndexedSlices:
    """Return all slices of all replicas, one after the other."""
    join = look_up("concat")
    rows = join([value.values for value in values], 0)
    if how is ReduceOp.MEAN:
        rows = rows / len(values)
    indices = join([value.indices for value in values], 0)
    return IndexedSlices(rows, indices, values[0].dense_shape)


def reduce_leaf(how: object, value: object, cluster: Cluster | None = None) -> Any:
    """Reduce a value to the replicas' sum or mean; ValueError for a sum without replicas.

    In a cluster a plain value is this worker's own.
    """
    operation = reduce_op(how)
    if isinstance(value, LocalValue) and not isinstance(value.local, IndexedSlices):
        total = value.sum()
        return total / value.count if operation is ReduceOp.MEAN else total
    if isinstance(value, DistributedValues) and not is_same_everywhere(value):
        return reduce_together(operation, [value.values], cluster)[0]
    if cluster is not None and not place.traced and not isinstance(value, DistributedValues):
        return reduce_together(operation, [[value]], cluster)[0]
    if operation is ReduceOp.MEAN:
        return value.values[0] if isinstance(value, DistributedValues) else value
    if isinstance(value, (int, float)) and value == 0:
        return value
    raise value_error(
        "TW510",
        f"A non-DistributedValues value {value!r} cannot be reduced with the given reduce op "
        f"{operation}: nobody knows whether to count it once or once for each replica",
        "a value of each replica, as strategy.run gives it",
        "reduce('MEAN', ...) gives it as it is",
    )


def is_same_everywhere(value: object) -> bool:
    """Return whether all replicas have the same value, so that their sum says nothing."""
    return isinstance(value, Mirrored) or getattr(value, "written_together", False)


def reduce_along(how: object, values: Any, axis: int, cluster: Cluster | None) -> Any:
    """Return the sum or mean over replicas,
    and along an axis in which they may have different sizes.
    """
    tensors = [convert_to_tensor(value) for value in values]
    if cluster is not None and all([tensor.shape.rank == 0 for tensor in tensors]):
        return reduce_together(reduce_op(how), [tensors], cluster)[0]  # what Keras asks of losses
    sums = [look_up("reduce_sum")(tensor, axis=axis) for tensor in tensors]
    if reduce_op(how) is ReduceOp.SUM:
        return reduce_together(ReduceOp.SUM, [sums], cluster)[0]
    cast, shape = look_up("cast"), look_up("shape")
    counts = [cast(shape(tensor)[axis], sums[0].dtype) for tensor in tensors]
    total, size = reduce_together(ReduceOp.SUM, [sums, counts], cluster)
    return total / size


def reduce_nest(
    how: object, value: object, axis: int | None, count: int, cluster: Cluster | None = None
) -> Any:
    """Call `tf.distribute.Strategy.reduce` for `count` replicas on this worker."""

    def leaf(one: object) -> Any:
        if axis is None:
            return reduce_leaf(how, one, cluster)
        values = one.values if isinstance(one, DistributedValues) else [one] * count
        return reduce_along(how, values, axis, None if place.traced else cluster)

    reduce_op(how)
    return structure.map_leaves(leaf, value)


def gather_values(value: object, axis: int, cluster: Cluster | None = None) -> Any:
    """Return the replicas' values one after the other along an axis; ValueError for scalars."""

    def leaf(one: object) -> Any:
        own = cluster if not place.traced else None
        if not isinstance(one, DistributedValues) and own is None:
            return one
        parts = one.values if isinstance(one, DistributedValues) else [one]
        tensors = [convert_to_tensor(part) for part in parts]
        if any([tensor.shape.rank == 0 for tensor in tensors]):
            raise value_error(
                "TW203",
                "gather: scalars have no axis along which they could be joined",
                "values with at least one dimension",
                "tf.expand_dims, or reduce",
            )
        return join_over_workers(own, look_up("concat")(tensors, axis), axis)

    return structure.map_leaves(leaf, value)
