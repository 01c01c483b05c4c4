"""Updates scattered into a tensor: scatter_nd and tensor_scatter_nd_*."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.array.gathering import inside
from talweg.api.array.operands import as_unsized_vector, dims_or_none, integer_vector, set_dims
from talweg.api.export import export
from talweg.core.dims import below
from talweg.core.dtypes import int64
from talweg.core.errors import invalid
from talweg.core.value import Tensor
from talweg.eager.operators import matching_list
from talweg.prims import arithmetic, indexing, layout, scattering, search

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike, TensorLike


@export("scatter_nd", "compat.v1.scatter_nd")
def scatter_nd(
    indices: TensorLike,
    updates: TensorLike,
    shape: ShapeLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Return zeros of `shape` to which the `updates` are added at `indices`.

    indices [..., depth] (int32 or int64), updates of shape indices.shape[:-1] + shape[depth:];
    equal indices accumulate, strings are joined.  InvalidArgumentError where shapes do not fit or
    an index is outside; with bad_indices_policy "IGNORE" such an update is left out.

    >>> import talweg as tf
    >>> tf.scatter_nd([[0], [2], [0]], [1, 2, 3], [4]).numpy()
    array([4, 0, 2, 0], dtype=int32)
    """
    i, u = tensor(indices), tensor(updates)
    if isinstance(shape, Tensor) and not isinstance(indices, Tensor) and shape.dtype is int64:
        i = tensor(indices, hint=int64)
    if isinstance(shape, Tensor) and shape.dtype is not i.dtype:
        raise invalid(
            "TW102",
            f"scatter_nd: shape has dtype {shape.dtype.name} and indices have dtype {i.dtype.name}",
            "one dtype",
        )
    unsized = as_unsized_vector(shape)
    if unsized is not None:
        shape = _set_rank(unsized, i, u)
        dims = integer_vector(shape, "scatter_nd", "shape")
    else:
        dims = integer_vector(shape, "scatter_nd", "shape")
    if any(below(size, 0) for size in dims):
        raise invalid("TW205", f"scatter_nd: shape={dims} has a negative dimension", "sizes >= 0")
    _check_rank("scatter_nd", u)
    if bad_indices_policy == "IGNORE":
        i, u = _inside_only(i, u, dims)
    return indexing.scatter_nd(i, u, shape=dims)


def _set_rank(shape: Tensor, i: Tensor, u: Tensor) -> Any:
    """Return a shape of unknown length with the length that indices and updates tell."""
    depth = operator.index(i.dims[-1])
    return set_dims(shape, (depth + len(u.dims) - (len(i.dims) - 1),))


def _check_rank(function: str, u: object) -> None:
    if dims_or_none(u) == ():
        raise invalid("TW203", f"{function}: updates is a scalar", "updates of rank at least 1")


def _inside_only(i: Any, u: Tensor, dims: tuple) -> tuple:
    """Return the indices inside `dims`, and their updates."""
    fits = inside(i, dims)
    rank, count = len(fits.dims), math.prod(fits.dims)
    kept = search.nonzero(layout.reshape(fits, shape=(count,)))
    kept = layout.reshape(kept, shape=kept.dims[:1])
    rows = [layout.reshape(x, shape=(count, *x.dims[rank:])) for x in (i, u)]
    i, u = (indexing.gather(part, kept, axis=0, batch_dims=0) for part in rows)
    return i, u


def _scatter(
    kind: str, x: object, indices: TensorLike, updates: object, bad_indices_policy: str = ""
) -> Any:
    x, u = matching_list((x, updates))
    i = tensor(indices)
    _check_rank(f"tensor_scatter_nd_{kind}", u)
    if bad_indices_policy == "IGNORE":
        i, u = _inside_only(i, u, x.dims)
    return scattering.SCATTERS[kind](x, i, u)


@export("tensor_scatter_nd_update")
def tensor_scatter_nd_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Return `tensor` with the slices at `indices` replaced by `updates`; of equal indices the
    last wins.

    indices [..., depth], updates of shape indices.shape[:-1] + tensor.shape[depth:].
    InvalidArgumentError where shapes do not fit or an index is outside.

    >>> import talweg as tf
    >>> tf.tensor_scatter_nd_update([1, 2, 3], [[0], [2]], [8, 9]).numpy()
    array([8, 2, 9], dtype=int32)
    """
    return _scatter("update", tensor, indices, updates)


@export("tensor_scatter_nd_add")
def tensor_scatter_nd_add(
    tensor: TensorLike,
    indices: TensorLike,
    updates: object,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Return `tensor` with `updates` added at `indices`; shapes as in
    `tf.tensor_scatter_nd_update`.

    >>> import talweg as tf
    >>> tf.tensor_scatter_nd_add([1, 2, 3], [[0], [0]], [10, 20]).numpy()
    array([31,  2,  3], dtype=int32)
    """
    return _scatter("add", tensor, indices, updates, bad_indices_policy)


@export("tensor_scatter_nd_sub")
def tensor_scatter_nd_sub(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Return `tensor` with `updates` subtracted at `indices`; shapes as in
    `tf.tensor_scatter_nd_update`.

    >>> import talweg as tf
    >>> tf.tensor_scatter_nd_sub([1, 2, 3], [[0], [0]], [10, 20]).numpy()
    array([-29,   2,   3], dtype=int32)
    """
    x, u = matching_list((tensor, updates))
    return _scatter("add", x, indices, arithmetic.neg(u), bad_indices_policy)


@export("tensor_scatter_nd_max")
def tensor_scatter_nd_max(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Return `tensor`, or at `indices` the larger of it and `updates`; shapes as in the update.

    >>> import talweg as tf
    >>> tf.tensor_scatter_nd_max([1, 2, 3], [[0], [0]], [0, 5]).numpy()
    array([5, 2, 3], dtype=int32)
    """
    return _scatter("max", tensor, indices, updates, bad_indices_policy)


@export("tensor_scatter_nd_min")
def tensor_scatter_nd_min(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Return `tensor`, or at `indices` the smaller of it and `updates`; shapes as in the update.

    >>> import talweg as tf
    >>> tf.tensor_scatter_nd_min([1, 2, 3], [[0], [0]], [0, 5]).numpy()
    array([0, 2, 3], dtype=int32)
    """
    return _scatter("min", tensor, indices, updates, bad_indices_policy)
