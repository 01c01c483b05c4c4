"""Taking elements by indices and conditions, in NumPy's ways; sorting; diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.api.tensors import cast
from talweg.core.dtypes import bool_, int64
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.numpy_api.promotion import as_array, axis_within, promote

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike


@export("experimental.numpy.take")
def take(
    a: TensorLike,
    indices: TensorLike,
    axis: int | None = None,
    out: object = None,
    mode: str = "clip",
) -> Tensor:
    """Return elements (slices along an axis) at indices; without an axis, of the flat array.

    mode: "clip" takes the nearest for indices out of range, "wrap" counts on in a circle.
    ValueError for "raise" and for `out`.

    >>> import talweg as tf
    >>> tf.experimental.numpy.take([5, 6, 7], [0, 9]).numpy()
    array([5, 7])
    """
    if out is not None or mode not in ("raise", "clip", "wrap"):
        raise value_error("TW207", f"take: mode {mode!r}, out {out!r}", "'clip' or 'wrap', None")
    if mode == "raise":
        raise value_error("TW207", "take: mode is 'raise'", "'clip' or 'wrap'")
    x, places = as_array(a), as_array(indices)
    if axis is None:
        x, axis = look_up("reshape")(x, [-1]), 0
    size = cast(look_up("shape")(x)[axis], places.dtype)
    if mode == "clip":
        places = look_up("clip_by_value")(places, as_array(0, places.dtype), size - 1)
    else:
        places = look_up("math.floormod")(places, size)
    return look_up("gather")(x, places, axis=axis)


@export("experimental.numpy.take_along_axis")
def take_along_axis(arr: TensorLike, indices: TensorLike, axis: int | None) -> Tensor:
    """Return elements at indices along an axis, for each place in the others; both are broadcast
    there.

    >>> import talweg as tf
    >>> tf.experimental.numpy.take_along_axis([[4, 5], [6, 7]], [[1], [0]], 1).numpy().tolist()
    [[5], [6]]
    """
    x, places = as_array(arr), as_array(indices)
    if axis is None:
        return take_along_axis(look_up("reshape")(x, [-1]), look_up("reshape")(places, [-1]), 0)
    rank = x.ndim
    if places.ndim != rank:
        raise value_error("TW203", f"indices have {places.ndim} axes, arr {rank}", "as many")
    axis = axis_within(axis, rank, "take_along_axis")
    order = [*[n for n in range(rank) if n != axis], axis]
    back = [order.index(n) for n in range(rank)]
    x, places = (look_up("transpose")(value, order) for value in (x, places))
    shapes = [look_up("shape")(value) for value in (x, places)]
    outer = look_up("broadcast_dynamic_shape")(shapes[0][:-1], shapes[1][:-1])
    static = look_up("get_static_value")(outer)
    outer = outer if static is None else static
    x, places = (
        look_up("broadcast_to")(value, look_up("concat")([outer, shape[-1:]], 0))
        for value, shape in zip((x, places), shapes)
    )
    size = cast(look_up("shape")(x)[-1], places.dtype)
    places = look_up("where")(places < as_array(0, places.dtype), places + size, places)
    elements = look_up("gather")(x, places, batch_dims=rank - 1, axis=rank - 1)
    return look_up("transpose")(elements, back)


@export("experimental.numpy.where")
def where(condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None) -> Any:
    """Return `x` where a condition holds, else `y`; with neither, the indices where it holds.

    ValueError for only one of them.

    >>> import talweg as tf
    >>> tf.experimental.numpy.where([True, False], 1, 2.5).numpy()
    array([1. , 2.5])
    """
    holds = cast(as_array(condition), bool_)
    if x is None and y is None:
        return nonzero(holds)
    if x is None or y is None:
        raise value_error("TW207", "where: only one of x and y is given", "both or neither")
    return look_up("where")(holds, *promote(x, y))


@export("experimental.numpy.nonzero")
def nonzero(a: TensorLike) -> list[Tensor]:
    """Find the indices of elements that are not 0: a vector for each axis.

    >>> import talweg as tf
    >>> [x.numpy().tolist() for x in tf.experimental.numpy.nonzero([[0, 5], [6, 0]])]
    [[0, 1], [1, 0]]
    """
    x = look_up("experimental.numpy.atleast_1d")(a)
    places = look_up("where")(cast(x, bool_))
    return look_up("unstack")(places, num=x.ndim, axis=1)


@export("experimental.numpy.compress")
def compress(condition: TensorLike, a: TensorLike, axis: int | None = None) -> Tensor:
    """Return the slices along an axis for which a vector of conditions holds; without an axis,
    elements.

    ValueError unless the condition is a vector.

    >>> import talweg as tf
    >>> tf.experimental.numpy.compress([False, True], [1, 2, 3]).numpy()
    array([2])
    """
    holds, x = cast(as_array(condition), bool_), as_array(a)
    if holds.ndim != 1:
        raise value_error("TW203", f"compress: condition has {holds.ndim} axes", "one")
    if axis is None:
        x, axis = look_up("reshape")(x, [-1]), 0
    places = look_up("where")(holds)[:, 0]
    return look_up("gather")(x, places, axis=axis)


@export("experimental.numpy.sort")
def sort(a: TensorLike, axis: AxisLike = -1, kind: str = "quicksort", order: Any = None) -> Tensor:
    """Sort along an axis (flat for None).  ValueError for `order` or kinds but "quicksort" and
    "stable".

    >>> import talweg as tf
    >>> tf.experimental.numpy.sort([3, 1, 2]).numpy()
    array([1, 2, 3])
    """
    x, axis = _sortable("sort", a, axis, kind, order)
    return look_up("sort")(x, axis=axis)


@export("experimental.numpy.argsort")
def argsort(
    a: TensorLike, axis: AxisLike = -1, kind: str = "quicksort", order: Any = None
) -> Tensor:
    """Return the indices that sort along an axis (of the flat array for None).  ValueError as
    `sort`.

    >>> import talweg as tf
    >>> tf.experimental.numpy.argsort([3, 1, 2]).numpy()
    array([1, 2, 0])
    """
    x, axis = _sortable("argsort", a, axis, kind, order)
    return cast(look_up("argsort")(x, axis=axis, stable=kind == "stable"), int64)


def _sortable(function: str, a: object, axis: object, kind: str, order: object) -> tuple:
    if kind not in ("quicksort", "stable"):
        raise value_error("TW207", f"{function}: kind is {kind!r}", "'quicksort' or 'stable'")
    if order is not None:
        raise value_error("TW207", f"{function}: order is {order!r}", "None")
    x = as_array(a)
    return (look_up("reshape")(x, [-1]), 0) if axis is None else (x, axis)


@export("experimental.numpy.diag")
def diag(v: TensorLike, k: int = 0) -> Tensor:
    """Return a matrix with a vector on its k-th diagonal; of a matrix, that diagonal.

    ValueError for other ranks.

    >>> import talweg as tf
    >>> tf.experimental.numpy.diag([1, 2]).numpy().tolist()
    [[1, 0], [0, 2]]
    """
    x = as_array(v)
    if x.ndim not in (1, 2):
        raise value_error("TW203", f"diag: v has {x.ndim} axes", "one or two")
    if x.ndim == 1:
        return look_up("linalg.diag")(x, k=k)
    return diagonal(x, k)


@export("experimental.numpy.diagflat")
def diagflat(v: TensorLike, k: int = 0) -> Tensor:
    """Return a matrix with the elements of an array on its k-th diagonal.

    >>> import talweg as tf
    >>> tf.experimental.numpy.diagflat([[1], [2]]).numpy().tolist()
    [[1, 0], [0, 2]]
    """
    return diag(look_up("reshape")(as_array(v), [-1]), k)


@export("experimental.numpy.diagonal")
def diagonal(a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Return a diagonal of the matrices that two axes make, along a new last axis.

    >>> import talweg as tf
    >>> tf.experimental.numpy.diagonal([[1, 2], [3, 4]], 1).numpy()
    array([2])
    """
    x = as_array(a)
    if x.ndim < 2:
        raise value_error("TW203", f"diagonal: `a` has {x.ndim} axes", "at least two")
    x = look_up("experimental.numpy.moveaxis")(x, (axis1, axis2), (-2, -1))
    rows, columns = x.shape.as_list()[-2:]
    if rows is not None and columns is not None and not -rows < offset < columns:
        return x[..., 0, :0] if rows else x[..., :0, 0]
    return look_up("linalg.diag_part")(x, k=offset)
