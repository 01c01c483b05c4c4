"""Updates scattered into a tensor: scatter_nd and tensor_scatter_nd_*."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.operands import constant, integer_vector
from talweg.api.export import export, operation
from talweg.core.errors import invalid
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.operators import matching_list
from talweg.eager.tensor import array_of
from talweg.prims import arithmetic, indexing, layout, scattering


@export("scatter_nd", "compat.v1.scatter_nd")
def scatter_nd(
    indices: Any, updates: Any, shape: Any, bad_indices_policy: str = "", name: str | None = None
) -> Any:
    """Zeros of `shape` to which the `updates` are added at `indices`.

    indices [..., depth] (int32 or int64), updates of shape indices.shape[:-1] + shape[depth:];
    equal indices accumulate, strings are joined.  InvalidArgumentError where shapes do not fit or
    an index is outside; with bad_indices_policy "IGNORE" such an update is left out.

    >>> import talweg as tf
    >>> tf.scatter_nd([[0], [2], [0]], [1, 2, 3], [4]).numpy()
    array([4, 0, 2, 0], dtype=int32)
    """
    i, u = tensor(indices), tensor(updates)
    if isinstance(shape, Tensor) and shape.dtype is not i.dtype:
        raise invalid(
            "TW102",
            f"scatter_nd: shape has dtype {shape.dtype.name} and indices have dtype {i.dtype.name}",
            "one dtype",
        )
    dims = integer_vector(shape, "scatter_nd", "shape")
    if any(size < 0 for size in dims):
        raise invalid("TW205", f"scatter_nd: shape={dims} has a negative dimension", "sizes >= 0")
    _check_rank("scatter_nd", u)
    if bad_indices_policy == "IGNORE":
        i, u = _inside_only(i, u, dims)
    return indexing.scatter_nd(i, u, shape=dims)


def _scatter_rows(kind: str, verb: str) -> Any:
    def scatter(
        ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        slices = IndexedSlices(tensor(updates, ref.dtype), tensor(indices))
        return getattr(ref, f"scatter_{kind}")(slices)

    scatter.__name__ = scatter.__qualname__ = f"scatter_{kind}"
    scatter.__doc__ = f"""{verb} rows of the variable `ref`: those that `indices` names.

    >>> import talweg as tf
    >>> v = tf.Variable([1.0, 2.0])
    >>> tf.compat.v1.scatter_{kind}(v, [], []) is v
    True
    """
    return export(f"compat.v1.scatter_{kind}")(scatter)


_V1 = [
    _scatter_rows("add", "Add updates to"),
    _scatter_rows("sub", "Subtract updates from"),
    _scatter_rows("mul", "Multiply by updates"),
    _scatter_rows("div", "Divide by updates"),
    _scatter_rows("max", "Raise to updates"),
    _scatter_rows("min", "Lower to updates"),
    _scatter_rows("update", "Set"),
]


def _check_rank(function: str, u: Any) -> None:
    if not u.dims:
        raise invalid("TW203", f"{function}: updates is a scalar", "updates of rank at least 1")


def _inside_only(i: Any, u: Any, dims: tuple) -> tuple:
    """The indices inside `dims`, and their updates."""
    array = array_of(i)
    inside = ((array >= 0) & (array < np.array(dims[: array.shape[-1]]))).all(-1)
    rank = inside.ndim
    flat = layout.reshape(u, shape=(inside.size, *u.dims[rank:]))
    kept = constant(np.flatnonzero(inside))
    return constant(array[inside]), indexing.gather(flat, kept, axis=0, batch_dims=0)


def _scatter(kind: str, x: Any, indices: Any, updates: Any, bad_indices_policy: str = "") -> Any:
    x, u = matching_list((x, updates))
    i = tensor(indices)
    _check_rank(f"tensor_scatter_nd_{kind}", u)
    if bad_indices_policy == "IGNORE":
        i, u = _inside_only(i, u, x.dims)
    return scattering.SCATTERS[kind](x, i, u)


@operation("tensor_scatter_nd_update")
@export("tensor_scatter_nd_update")
def tensor_scatter_nd_update(
    tensor: Any, indices: Any, updates: Any, name: str | None = None
) -> Any:
    """`tensor` with the slices at `indices` replaced by `updates`; of equal indices the last wins.

    indices [..., depth], updates of shape indices.shape[:-1] + tensor.shape[depth:].
    InvalidArgumentError where shapes do not fit or an index is outside.

    >>> import talweg as tf
    >>> tf.tensor_scatter_nd_update([1, 2, 3], [[0], [2]], [8, 9]).numpy()
    array([8, 2, 9], dtype=int32)
    """
    return _scatter("update", tensor, indices, updates)


@operation("tensor_scatter_nd_add")
@export("tensor_scatter_nd_add")
def tensor_scatter_nd_add(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: Any = None
) -> Any:
    """`tensor` with `updates` added at `indices`; shapes as in `tf.tensor_scatter_nd_update`.

    >>> import talweg as tf
    >>> tf.tensor_scatter_nd_add([1, 2, 3], [[0], [0]], [10, 20]).numpy()
    array([31,  2,  3], dtype=int32)
    """
    return _scatter("add", tensor, indices, updates, bad_indices_policy)


@operation("tensor_scatter_nd_sub")
@export("tensor_scatter_nd_sub")
def tensor_scatter_nd_sub(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: Any = None
) -> Any:
    """`tensor` with `updates` subtracted at `indices`; shapes as in `tf.tensor_scatter_nd_update`.

    >>> import talweg as tf
    >>> tf.tensor_scatter_nd_sub([1, 2, 3], [[0], [0]], [10, 20]).numpy()
    array([-29,   2,   3], dtype=int32)
    """
    x, u = matching_list((tensor, updates))
    return _scatter("add", x, indices, arithmetic.neg(u), bad_indices_policy)


@operation("tensor_scatter_nd_max")
@export("tensor_scatter_nd_max")
def tensor_scatter_nd_max(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: Any = None
) -> Any:
    """`tensor`, or at `indices` the larger of it and `updates`; shapes as in the update.

    >>> import talweg as tf
    >>> tf.tensor_scatter_nd_max([1, 2, 3], [[0], [0]], [0, 5]).numpy()
    array([5, 2, 3], dtype=int32)
    """
    return _scatter("max", tensor, indices, updates, bad_indices_policy)


@operation("tensor_scatter_nd_min")
@export("tensor_scatter_nd_min")
def tensor_scatter_nd_min(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: Any = None
) -> Any:
    """`tensor`, or at `indices` the smaller of it and `updates`; shapes as in the update.

    >>> import talweg as tf
    >>> tf.tensor_scatter_nd_min([1, 2, 3], [[0], [0]], [0, 5]).numpy()
    array([0, 2, 3], dtype=int32)
    """
    return _scatter("min", tensor, indices, updates, bad_indices_policy)
