"""Products of arrays: dot, matmul, tensordot, einsum, outer, kron, cross; polynomials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.api.export import export, look_up
from talweg.core.errors import NeedsStaticError, value_error
from talweg.core.value import Tensor
from talweg.numpy_api.promotion import promote

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike


@export("experimental.numpy.matmul")
def matmul(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return matrix products; a vector on the left is a row, on the right a column, and its axis
    goes.

    ValueError for scalars.

    >>> import talweg as tf
    >>> tf.experimental.numpy.matmul([[1, 2]], [3, 4]).numpy()
    array([11])
    """
    x, y = promote(x1, x2)
    if not x.ndim or not y.ndim:
        raise value_error("TW203", "matmul: an operand is a scalar", "at least one axis")
    row, column = x.ndim == 1, y.ndim == 1
    if row and column:
        return look_up("tensordot")(x, y, axes=1)
    if column:
        return look_up("linalg.matvec")(x, y)
    if row:
        x = look_up("expand_dims")(x, 0)
    product = look_up("matmul")(x, y)
    return look_up("squeeze")(product, [-2]) if row else product


def _times(x: Tensor, y: Tensor) -> Tensor:
    """Return the product; of truth values, whether both are true."""
    return look_up("experimental.numpy.multiply")(x, y)


@export("experimental.numpy.dot")
def dot(a: TensorLike, b: TensorLike) -> Tensor:
    """Compute the sum of products over the last axis of `a` and the last but one of `b` (the only
    one of a vector); the product for scalars.

    >>> import talweg as tf
    >>> tf.experimental.numpy.dot([1, 2], [3, 4]).numpy().item()
    11
    """
    x, y = promote(a, b)
    if not x.ndim or not y.ndim:
        return _times(x, y)
    return look_up("tensordot")(x, y, axes=[[-1], [-1 if y.ndim == 1 else -2]])


@export("experimental.numpy.inner")
def inner(a: TensorLike, b: TensorLike) -> Tensor:
    """Compute the sum of products over the last axes; the product for scalars.

    >>> import talweg as tf
    >>> tf.experimental.numpy.inner([1, 2], [3, 4]).numpy().item()
    11
    """
    x, y = promote(a, b)
    if not x.ndim or not y.ndim:
        return look_up("multiply")(x, y)
    return look_up("tensordot")(x, y, axes=[[-1], [-1]])


@export("experimental.numpy.vdot")
def vdot(a: TensorLike, b: TensorLike) -> Tensor:
    """Compute the sum of products of all elements, those of `a` conjugated.

    >>> import talweg as tf
    >>> tf.experimental.numpy.vdot([[1, 2]], [3, 4]).numpy().item()
    11
    """
    x, y = (look_up("reshape")(value, [-1]) for value in promote(a, b))
    return dot(look_up("math.conj")(x) if x.dtype.is_complex else x, y)


@export("experimental.numpy.outer")
def outer(a: TensorLike, b: TensorLike) -> Tensor:
    """Return all products of an element of `a` with one of `b`, [m, n].

    >>> import talweg as tf
    >>> tf.experimental.numpy.outer([1, 2], [3, 4]).numpy().tolist()
    [[3, 4], [6, 8]]
    """
    x, y = promote(a, b)
    return _times(look_up("reshape")(x, [-1, 1]), look_up("reshape")(y, [-1]))


@export("experimental.numpy.tensordot")
def tensordot(a: TensorLike, b: TensorLike, axes: AxisLike = 2) -> Tensor:
    """Compute the sum of products over pairs of axes (`tf.tensordot`).

    >>> import talweg as tf
    >>> tf.experimental.numpy.tensordot([1, 2], [3, 4], 1).numpy().item()
    11
    """
    return look_up("tensordot")(*promote(a, b), axes=axes)


@export("experimental.numpy.einsum")
def einsum(subscripts: str, *operands: object, **kwargs: object) -> Tensor:
    """Return sums of products by the names of axes (`tf.einsum`).

    optimize: False, True, "greedy" or "optimal".  ValueError for casting but "safe", or order but
    "C" and "K".

    >>> import talweg as tf
    >>> tf.experimental.numpy.einsum("i,i->", [1, 2], [3, 4]).numpy().item()
    11
    """
    if kwargs.pop("casting", "safe") != "safe":
        raise value_error("TW207", "einsum: another casting is given", "'safe'")
    if kwargs.pop("order", "K") not in ("C", "K"):
        raise value_error("TW207", "einsum: another order is given", "'C' or 'K'")
    optimize = kwargs.pop("optimize", False)
    way = "optimal" if optimize == "optimal" else "greedy"
    return look_up("einsum")(subscripts, *promote(*operands), optimize=way, **kwargs)


@export("experimental.numpy.kron")
def kron(a: TensorLike, b: TensorLike) -> Tensor:
    """Compute the Kronecker product: each element of `a` times the whole of `b`.

    >>> import talweg as tf
    >>> tf.experimental.numpy.kron([1, 2], [3, 4]).numpy()
    array([3, 4, 6, 8])
    """
    x, y = promote(a, b)
    rank = max(x.ndim, y.ndim)
    x, y = (look_up("reshape")(v, (1,) * (rank - v.ndim) + tuple(v.dims)) for v in (x, y))
    first, second = look_up("shape")(x), look_up("shape")(y)
    wide = [size for pair in zip(x.dims, (1,) * rank) for size in pair]
    fine = [size for pair in zip((1,) * rank, y.dims) for size in pair]
    found = _times(look_up("reshape")(x, wide), look_up("reshape")(y, fine))
    return look_up("reshape")(found, first * second)


@export("experimental.numpy.cross")
def cross(
    a: TensorLike,
    b: TensorLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Tensor:
    """Return cross products of vectors of 2 or 3 elements, along axes; of two in the plane, the
    third element alone.  ValueError for other sizes.

    >>> import talweg as tf
    >>> tf.experimental.numpy.cross([1, 0, 0], [0, 1, 0]).numpy()
    array([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    move = look_up("experimental.numpy.moveaxis")
    x, y = promote(a, b)
    x, y = move(x, axisa, -1), move(y, axisb, -1)
    sizes = x.shape[-1], y.shape[-1]
    if None in sizes:
        error = NeedsStaticError(f"cross: vectors of {sizes[0]} and {sizes[1]} elements")
        error.rank_varies = 3 not in sizes
        raise error
    if any(size not in (2, 3) for size in sizes):
        raise value_error("TW204", f"cross: vectors of {sizes[0]} and {sizes[1]}", "2 or 3")
    u, v = ([value[..., n] for n in range(size)] for value, size in zip((x, y), sizes))
    third = u[0] * v[1] - u[1] * v[0]
    if sizes == (2, 2):
        return third
    zero = look_up("zeros_like")(third)
    u, v = ([*parts, zero][:3] for parts in (u, v))
    first = u[1] * v[2] - u[2] * v[1]
    second = u[2] * v[0] - u[0] * v[2]
    return move(look_up("stack")([first, second, third], axis=-1), -1, axisc)


@export("experimental.numpy.polyval")
def polyval(p: TensorLike, x: TensorLike) -> Tensor:
    """Compute a polynomial with coefficients p, the highest first, at x.

    >>> import talweg as tf
    >>> tf.experimental.numpy.polyval([1, 0, 2], 3).numpy().item()
    11
    """
    coefficients, point = promote(p, x)
    coefficients = look_up("experimental.numpy.atleast_1d")(coefficients)
    found = look_up("zeros_like")(point)
    for n in range(int(coefficients.dims[0])):
        found = found * point + coefficients[n]
    return found
