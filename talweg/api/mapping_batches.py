"""tf.vectorized_map beside batching: composite results, gradients of graphs inside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.export import look_up
from talweg.core.dtypes import int32, int64
from talweg.graph import structure
from talweg.prims import arithmetic, layout
from talweg.prims.state import as_factor
from talweg.transform.batch import BatchTensor, repeat_rows
from talweg.transform.rules import densify

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.dims import Size
    from talweg.core.value import Tensor
    from talweg.eager.ragged import RaggedTensor


def together(result: TensorLike, parts: list, size: Size) -> Any:
    """Return a nest like `result` of tensors with the batch axis
    in front, and composites of these.
    """
    remaining = iter(parts)
    leaves = []
    for leaf in structure.flatten(result):
        own = [next(remaining) for _ in structure.flatten(leaf, composites=True)]
        if hasattr(leaf, "dense_shape") and hasattr(leaf, "with_values"):
            leaves.append(_sparse(own, size))
        elif hasattr(leaf, "ragged_rank"):
            leaves.append(_make_ragged(leaf, own, size))
        else:
            leaves.append(structure.pack(leaf, own, composites=True))
    return structure.pack(result, leaves)


def _sparse(parts: list, size: int) -> Any:
    """Return the sparse tensor of [n, k, rank] indices, [n,
    k] values and [n, rank] sizes of n slices.
    """
    indices, values, shapes = parts
    count, rank = indices.dims[1:]
    numbers = layout.reshape(
        look_up("range")(as_factor(size, int64), dtype=int64), shape=(size, 1, 1)
    )
    rows = layout.broadcast_to(numbers, shape=(size, count, 1))
    indices = layout.reshape(layout.concat(rows, indices, axis=2), shape=(size * count, rank + 1))
    sizes = look_up("concat")([[as_factor(size, int64)], look_up("reduce_max")(shapes, 0)], 0)
    values = layout.reshape(values, shape=(size * count,))
    return look_up("SparseTensor")(indices, values, sizes)


def _make_ragged(leaf: RaggedTensor, parts: list, size: int) -> Any:
    """Return the ragged tensor of the flat values [n, k, ...] and the row splits of n slices."""
    flat, *splits = parts
    lengths = []
    for own in splits:
        first = look_up("slice")(own, [0, 0], [-1, own.dims[1] - 1])
        last = look_up("slice")(own, [0, 1], [-1, -1])
        lengths.append(arithmetic.sub(last, first))
    rows = arithmetic.cast(look_up("shape")(lengths[0])[1], dtype=leaf.row_splits.dtype)
    outer = look_up("fill")([as_factor(size, int32)], rows)
    lengths = [look_up("reshape")(own, [-1]) for own in lengths]
    flat = layout.reshape(flat, shape=(size * flat.dims[1], *flat.dims[2:]))
    make = look_up("RaggedTensor").from_nested_row_lengths
    return make(flat, [outer, *lengths], validate=False)


# -- tf.gradients of what a vectorized_map computes


def interpreter_of(ys: list) -> Any:
    """Return the innermost batching that some of `ys` belong to; None if there is none."""
    own = [y.interpreter for y in ys if type(y) is BatchTensor]
    return max(own, key=lambda interpreter: interpreter.level) if own else None


def batch_gradients(
    pull: Callable[[list, list, list], list], ys: list, xs: list, given: Any, batching: Any
) -> list:
    """Compute the gradients of each slice of `ys` by `xs`, of which some are slices, too.

    `pull(ys, xs, seeds)` is `tf.gradients` of what the slices are slices of: slice i starts from a
    cotangent that is zero but for slice i, and of the gradient by a tensor of slices takes its own.
    """
    weights = [None] * len(ys) if given is None else given
    seeds = [_seed(y, weight, batching) for y, weight in zip(ys, weights)]
    inner = [x.inner if batching.owns(x) else x for x in (*ys, *xs)]
    cotangents = pull(inner[: len(ys)], inner[len(ys) :], seeds)
    return [
        _own_slice(g, batching) if batching.owns(x) and g is not None else g
        for x, g in zip(xs, cotangents)
    ]


def _seed(y: Tensor, weight: Any, batching: Any) -> Any:
    if not batching.owns(y):
        return weight
    size = batching.size
    if weight is None:
        weight = arithmetic.zeros_of(y.inner) + 1
    elif batching.owns(weight):
        weight = weight.inner
    else:
        weight = repeat_rows(weight, size)
    numbers = look_up("range")(as_factor(size, int32))
    own = arithmetic.equal(
        layout.reshape(numbers, shape=(size, 1)), layout.reshape(numbers, shape=(1, size))
    )
    rest = weight.dims[1:]
    own = layout.reshape(own, shape=(size, size, *(1,) * len(rest)))
    weight = layout.reshape(weight, shape=(1, *weight.dims))
    return BatchTensor(arithmetic.gate(own, weight), batching)


def _own_slice(g: Tensor, batching: Any) -> Any:
    """Return slice i of the gradient that slice i has."""
    g = densify(g)
    size = batching.size
    if not batching.owns(g):
        return BatchTensor(g, batching)
    rest = g.inner.dims[2:]
    flat = layout.reshape(g.inner, shape=(size * size, *rest))
    places = look_up("range")(as_factor(size, int32)) * as_factor(size + 1, int32)
    return BatchTensor(look_up("gather")(flat, places), batching)
