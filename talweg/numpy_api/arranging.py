"""Shapes, orders of axes and elements, joining and splitting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export, look_up
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.numpy_api.promotion import as_array, axis_within, promote

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, ShapeLike, TensorLike


@export("experimental.numpy.reshape")
def reshape(a: Any, newshape: Any, order: str = "C") -> Tensor:
    """Return the elements in another shape, read and written by rows ("C") or columns ("F").

    ValueError for another order.

    >>> import talweg as tf
    >>> tf.experimental.numpy.reshape([1, 2, 3, 4], [2, 2], order="F").numpy()
    array([[1, 3],
           [2, 4]])
    """
    x = as_array(a)
    sizes = [newshape] if isinstance(newshape, (int, np.integer)) else newshape
    if order == "C":
        return look_up("reshape")(x, sizes)
    if order != "F":
        raise value_error("TW207", f"reshape: order is {order!r}", "'C' or 'F'")
    backwards = sizes[::-1]
    return transpose(look_up("reshape")(transpose(x), backwards))


@export("experimental.numpy.ravel")
def ravel(a: Any) -> Tensor:
    """Return the elements as a vector.

    >>> import talweg as tf
    >>> tf.experimental.numpy.ravel([[1, 2], [3, 4]]).numpy()
    array([1, 2, 3, 4])
    """
    return look_up("reshape")(as_array(a), [-1])


@export("experimental.numpy.flatten")
def flatten(a: TensorLike, order: str = "C") -> Tensor:
    """Return the elements as a vector, by rows ("C", "A", "K") or columns ("F"); ValueError for
    others.

    >>> import talweg as tf
    >>> tf.experimental.numpy.flatten([[1, 2], [3, 4]], "F").numpy()
    array([1, 3, 2, 4])
    """
    if order not in ("C", "A", "K", "F"):
        raise value_error("TW207", f"flatten: order is {order!r}", "'C', 'A', 'K' or 'F'")
    return ravel(transpose(a) if order == "F" else a)


@export("experimental.numpy.transpose")
def transpose(a: object, axes: Sequence[Any] | None = None) -> Tensor:
    """Return the axes in another order, backwards unless `axes` says otherwise.

    >>> import talweg as tf
    >>> tf.experimental.numpy.transpose([[1, 2]]).shape
    TensorShape([2, 1])
    """
    return look_up("transpose")(as_array(a), perm=None if axes is None else list(axes))


@export("experimental.numpy.swapaxes")
def swapaxes(a: TensorLike, axis1: int, axis2: int) -> Tensor:
    """Exchange two axes.

    >>> import talweg as tf
    >>> tf.experimental.numpy.swapaxes([[[1, 2]]], 0, -1).shape
    TensorShape([2, 1, 1])
    """
    x = as_array(a)
    order = np.arange(x.ndim)
    if not all(-x.ndim <= axis < x.ndim for axis in (axis1, axis2)):
        raise IndexError(f"swapaxes: axes {axis1} and {axis2} of shape {x.dims}  [TW202]")
    order[[axis1, axis2]] = order[[axis2, axis1]]
    return transpose(x, order.tolist())


@export("experimental.numpy.moveaxis")
def moveaxis(a: object, source: Any, destination: Any) -> Tensor:
    """Move axes to other places; the others keep their order.  ValueError for repeated ones.

    >>> import talweg as tf
    >>> tf.experimental.numpy.moveaxis([[[1, 2]]], 2, 0).shape
    TensorShape([2, 1, 1])
    """
    x = as_array(a)
    rank = x.ndim
    sources, targets = (
        [axis_within(n, rank, "moveaxis") for n in (axes if np.iterable(axes) else [axes])]
        for axes in (source, destination)
    )
    if len(sources) != len(targets) or len({*sources}) < len(sources):
        raise value_error("TW203", f"moveaxis: {source} to {destination}", "as many, all different")
    order = [n for n in range(rank) if n not in sources]
    for target, origin in sorted(zip(targets, sources)):
        order.insert(target, origin)
    return transpose(x, order)


@export("experimental.numpy.expand_dims")
def expand_dims(a: TensorLike, axis: int) -> Tensor:
    """Return a new axis of size 1.

    >>> import talweg as tf
    >>> tf.experimental.numpy.expand_dims([1, 2], 0).shape
    TensorShape([1, 2])
    """
    return look_up("expand_dims")(as_array(a), axis)


@export("experimental.numpy.squeeze")
def squeeze(a: TensorLike, axis: AxisLike | None = None) -> Tensor:
    """Drop the axes of size 1, or the one given.

    >>> import talweg as tf
    >>> tf.experimental.numpy.squeeze([[1, 2]]).shape
    TensorShape([2])
    """
    return look_up("squeeze")(as_array(a), axis)


@export("experimental.numpy.broadcast_to")
def broadcast_to(array: TensorLike, shape: ShapeLike) -> Tensor:
    """Return an array repeated to fill a shape.

    >>> import talweg as tf
    >>> tf.experimental.numpy.broadcast_to([1, 2], [2, 2]).numpy()
    array([[1, 2],
           [1, 2]])
    """
    sizes = [shape] if isinstance(shape, (int, np.integer)) else shape
    return look_up("broadcast_to")(as_array(array), sizes)


@export("experimental.numpy.broadcast_arrays")
def broadcast_arrays(*args: object, **kwargs: object) -> list[Tensor]:
    """Return arrays repeated to a common shape.  ValueError for `subok` or other keywords.

    >>> import talweg as tf
    >>> [x.shape.as_list() for x in tf.experimental.numpy.broadcast_arrays([1, 2], [[3]])]
    [[1, 2], [1, 2]]
    """
    if kwargs.pop("subok", False) or kwargs:
        raise value_error("TW207", "broadcast_arrays: keywords are given", "subok=False")
    arrays = [as_array(x) for x in args]
    whole = look_up("shape")(arrays[0])
    for x in arrays[1:]:
        whole = look_up("broadcast_dynamic_shape")(whole, look_up("shape")(x))
    static = look_up("get_static_value")(whole)
    sizes = whole if static is None else static.tolist()
    return [look_up("broadcast_to")(x, sizes) for x in arrays]


@export("experimental.numpy.atleast_1d")
def atleast_1d(*arys: object) -> Tensor:
    """Return arrays of at least one axis; a list of them for several.

    >>> import talweg as tf
    >>> tf.experimental.numpy.atleast_1d(3).shape
    TensorShape([1])
    """
    return _at_least(1, arys)


@export("experimental.numpy.atleast_2d")
def atleast_2d(*arys: object) -> Tensor:
    """Return arrays of at least two axes, new ones in front; a list of them for several.

    >>> import talweg as tf
    >>> tf.experimental.numpy.atleast_2d([1, 2]).shape
    TensorShape([1, 2])
    """
    return _at_least(2, arys)


@export("experimental.numpy.atleast_3d")
def atleast_3d(*arys: object) -> Tensor:
    """Return arrays of at least three axes: a vector is [1, n, 1], a matrix [m, n, 1].

    >>> import talweg as tf
    >>> tf.experimental.numpy.atleast_3d([1, 2]).shape
    TensorShape([1, 2, 1])
    """
    return _at_least(3, arys)


def _at_least(rank: int, arys: tuple) -> Any:
    found = []
    for ary in arys:
        x = as_array(ary)
        if rank == 3 and x.ndim in (1, 2):
            x = look_up("expand_dims")(x, -1)
        while x.ndim < rank:
            x = look_up("expand_dims")(x, 0)
        found.append(x)
    return found[0] if len(found) == 1 else found


@export("experimental.numpy.stack")
def stack(arrays: Sequence[Any], axis: int = 0) -> Tensor:
    """Return arrays of one shape along a new axis, in their common dtype.

    >>> import talweg as tf
    >>> tf.experimental.numpy.stack([[1, 2], [3.5, 4]], axis=1).numpy()
    array([[1. , 3.5],
           [2. , 4. ]])
    """
    if isinstance(arrays, Tensor):
        x = as_array(arrays)
        return x if axis == 0 else moveaxis(x, 0, axis)
    return look_up("stack")(promote(*arrays), axis)


@export("experimental.numpy.concatenate")
def concatenate(arys: TensorLike, axis: int = 0) -> Tensor:
    """Return arrays one after the other along an axis, in their common dtype; `None` flattens them.

    ValueError for no arrays.

    >>> import talweg as tf
    >>> tf.experimental.numpy.concatenate([[1, 2], [3]]).numpy()
    array([1, 2, 3])
    """
    if not isinstance(arys, Sequence):
        arys = list(arys) if isinstance(arys, Tensor) else [arys]
    if not arys:
        raise value_error("TW207", "concatenate: there are no arrays", "at least one")
    arrays = promote(*arys)
    if axis is None:
        arrays, axis = [ravel(x) for x in arrays], 0
    return look_up("concat")(arrays, axis)


@export("experimental.numpy.append")
def append(arr: TensorLike, values: TensorLike, axis: int | None = None) -> Tensor:
    """Return `values` behind `arr` along an axis; without one, both flat.

    >>> import talweg as tf
    >>> tf.experimental.numpy.append([1, 2], [[3]]).numpy()
    array([1, 2, 3])
    """
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis)


@export("experimental.numpy.vstack")
def vstack(tup: Sequence[Any]) -> Tensor:
    """Return arrays below each other; vectors count as rows.

    >>> import talweg as tf
    >>> tf.experimental.numpy.vstack([[1, 2], [3, 4]]).shape
    TensorShape([2, 2])
    """
    return concatenate([atleast_2d(x) for x in tup], 0)


@export("experimental.numpy.hstack")
def hstack(tup: Sequence[Any]) -> Tensor:
    """Return arrays side by side; vectors one after the other.

    >>> import talweg as tf
    >>> tf.experimental.numpy.hstack([[1, 2], [3]]).numpy()
    array([1, 2, 3])
    """
    arrays = [atleast_1d(x) for x in tup]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


@export("experimental.numpy.dstack")
def dstack(tup: Sequence[Any]) -> Tensor:
    """Return arrays behind each other, along the third axis.

    >>> import talweg as tf
    >>> tf.experimental.numpy.dstack([[1, 2], [3, 4]]).shape
    TensorShape([1, 2, 2])
    """
    return concatenate([atleast_3d(x) for x in tup], 2)


@export("experimental.numpy.split")
def split(ary: TensorLike, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Return an array in so many equal parts along an axis, or cut before the given indices.

    >>> import talweg as tf
    >>> [x.numpy().tolist() for x in tf.experimental.numpy.split([1, 2, 3], [1])]
    [[1], [2, 3]]
    """
    x = as_array(ary)
    if isinstance(indices_or_sections, (int, np.integer)):
        return look_up("split")(x, int(indices_or_sections), axis)
    cuts = [int(n) for n in indices_or_sections]
    axis = axis % x.ndim
    front = [slice(None)] * axis
    return [x[(*front, slice(a, b))] for a, b in zip([0, *cuts], [*cuts, None])]


@export("experimental.numpy.vsplit")
def vsplit(ary: TensorLike, indices_or_sections: TensorLike) -> list[Tensor]:
    """Call `split` along the first axis.  ValueError for less than two axes.

    >>> import talweg as tf
    >>> len(tf.experimental.numpy.vsplit([[1], [2]], 2))
    2
    """
    return _split_of("vsplit", ary, indices_or_sections, 0, 2)


@export("experimental.numpy.hsplit")
def hsplit(ary: TensorLike, indices_or_sections: TensorLike) -> list[Tensor]:
    """Call `split` along the second axis, of a vector along its only one.

    >>> import talweg as tf
    >>> len(tf.experimental.numpy.hsplit([[1, 2]], 2))
    2
    """
    axis = 0 if as_array(ary).ndim == 1 else 1
    return _split_of("hsplit", ary, indices_or_sections, axis, 1)


@export("experimental.numpy.dsplit")
def dsplit(ary: TensorLike, indices_or_sections: TensorLike) -> list[Tensor]:
    """Call `split` along the third axis.  ValueError for less than three axes.

    >>> import talweg as tf
    >>> len(tf.experimental.numpy.dsplit([[[1, 2]]], 2))
    2
    """
    return _split_of("dsplit", ary, indices_or_sections, 2, 3)


def _split_of(function: str, ary: object, sections: object, axis: int, rank: int) -> list:
    x = as_array(ary)
    if x.ndim < rank:
        raise value_error("TW203", f"{function}: an array of {x.ndim} axes", f"at least {rank}")
    return split(x, sections, axis)


@export("experimental.numpy.tile")
def tile(a: TensorLike, reps: TensorLike) -> Tensor:
    """Return an array repeated as a whole, `reps` times along each axis.

    >>> import talweg as tf
    >>> tf.experimental.numpy.tile([1, 2], 2).numpy()
    array([1, 2, 1, 2])
    """
    x = as_array(a)
    times = look_up("reshape")(as_array(reps), [-1])
    missing = int(times.dims[0]) - x.ndim
    if missing > 0:
        x = look_up("reshape")(x, (1,) * missing + tuple(x.dims))
    elif missing < 0:
        ones = look_up("ones")([-missing], times.dtype)
        times = look_up("concat")([ones, times], 0)
    return look_up("tile")(x, times)


@export("experimental.numpy.repeat")
def repeat(a: TensorLike, repeats: TensorLike, axis: int | None = None) -> Tensor:
    """Return each element (slice along an axis) so many times; flat without an axis.

    >>> import talweg as tf
    >>> tf.experimental.numpy.repeat([1, 2], [1, 2]).numpy()
    array([1, 2, 2])
    """
    return look_up("repeat")(as_array(a), repeats, axis)


@export("experimental.numpy.roll")
def roll(a: TensorLike, shift: TensorLike, axis: AxisLike | None = None) -> Tensor:
    """Return elements moved on along axes, in a circle; without an axis, in the flat array.

    >>> import talweg as tf
    >>> tf.experimental.numpy.roll([1, 2, 3], 1).numpy()
    array([3, 1, 2])
    """
    x = as_array(a)
    if axis is not None:
        return look_up("roll")(x, shift, axis)
    return look_up("reshape")(look_up("roll")(ravel(x), shift, 0), look_up("shape")(x))


@export("experimental.numpy.flip")
def flip(m: object, axis: Any = None) -> Tensor:
    """Return elements in the opposite order, along all axes or those given.

    >>> import talweg as tf
    >>> tf.experimental.numpy.flip([1, 2]).numpy()
    array([2, 1])
    """
    x = as_array(m)
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    return look_up("reverse")(x, list(axes)) if len(axes) else x


@export("experimental.numpy.flipud")
def flipud(m: TensorLike) -> Tensor:
    """Return the rows in the opposite order.

    >>> import talweg as tf
    >>> tf.experimental.numpy.flipud([[1], [2]]).numpy().tolist()
    [[2], [1]]
    """
    return flip(m, 0)


@export("experimental.numpy.fliplr")
def fliplr(m: TensorLike) -> Tensor:
    """Return the columns in the opposite order.

    >>> import talweg as tf
    >>> tf.experimental.numpy.fliplr([[1, 2]]).numpy().tolist()
    [[2, 1]]
    """
    return flip(m, 1)


@export("experimental.numpy.rot90")
def rot90(m: object, k: int = 1, axes: Sequence[Any] = (0, 1)) -> Tensor:
    """Turn by k right angles in the plane of two axes, from the first to the second.

    >>> import talweg as tf
    >>> tf.experimental.numpy.rot90([[1, 2], [3, 4]]).numpy().tolist()
    [[2, 4], [1, 3]]
    """
    x = as_array(m)
    first, second = (axis_within(n, x.ndim, "rot90") for n in axes)
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(flip(x, first), second)
    if turns == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


@export("experimental.numpy.pad")
def pad(array: TensorLike, pad_width: TensorLike, mode: str, **kwargs: object) -> Tensor:
    """Return an array with a margin: mode "constant" (`constant_values`), "reflect" or "symmetric".

    pad_width: (before, after) for each axis.  ValueError for other modes.

    >>> import talweg as tf
    >>> tf.experimental.numpy.pad([1], [[1, 2]], "constant", constant_values=7).numpy()
    array([7, 1, 7, 7])
    """
    if mode not in ("constant", "reflect", "symmetric"):
        raise value_error("TW207", f"pad: mode is {mode!r}", "'constant', 'reflect', 'symmetric'")
    x = as_array(array)
    value = kwargs.get("constant_values", 0)
    return look_up("pad")(x, pad_width, mode.upper(), constant_values=as_array(value, x.dtype))
