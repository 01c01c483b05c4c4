"""Predicates of numbers, of dtypes, of two arrays; and parts of complex numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export, look_up
from talweg.api.tensors import cast
from talweg.core.dtypes import bool_, float64
from talweg.core.value import Tensor
from talweg.numpy_api.promotion import as_array, inexact_pair, numpy_dtype_of, promote

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("experimental.numpy.real")
def real(val: TensorLike) -> Tensor:
    """Return the real part; other numbers as they are.

    >>> import talweg as tf
    >>> tf.experimental.numpy.real(1 + 2j).numpy().item()
    1.0
    """
    return look_up("math.real")(as_array(val))


@export("experimental.numpy.imag")
def imag(val: TensorLike) -> Tensor:
    """Return the imaginary part; 0 for real numbers.

    >>> import talweg as tf
    >>> tf.experimental.numpy.imag(1 + 2j).numpy().item()
    2.0
    """
    x = as_array(val)
    return look_up("math.imag")(x) if x.dtype.is_complex else look_up("zeros_like")(x)


@export("experimental.numpy.angle")
def angle(z: TensorLike, deg: bool = False) -> Tensor:
    """Compute the argument of complex numbers, in radians, or in degrees with `deg`.

    >>> import talweg as tf
    >>> tf.experimental.numpy.angle(1j, deg=True).numpy().round(6).item()
    90.0
    """
    x = as_array(z)
    if not (x.dtype.is_complex or x.dtype.is_floating):
        x = cast(x, float64)
    found = look_up("math.angle")(x)
    return found * (180 / math.pi) if deg else found


@export("experimental.numpy.iscomplexobj")
def iscomplexobj(x: TensorLike) -> bool:
    """Return whether the dtype is complex.

    >>> import talweg as tf
    >>> tf.experimental.numpy.iscomplexobj([1.0])
    False
    """
    return as_array(x).dtype.is_complex


@export("experimental.numpy.isrealobj")
def isrealobj(x: TensorLike) -> bool:
    """Return whether the dtype is not complex.

    >>> import talweg as tf
    >>> tf.experimental.numpy.isrealobj([1.0])
    True
    """
    return not iscomplexobj(x)


@export("experimental.numpy.iscomplex")
def iscomplex(x: TensorLike) -> Tensor:
    """Return whether the imaginary part is not 0.

    >>> import talweg as tf
    >>> tf.experimental.numpy.iscomplex([1 + 0j, 1j]).numpy()
    array([False,  True])
    """
    part = imag(x)
    return look_up("not_equal")(part, as_array(0, part.dtype))


@export("experimental.numpy.isreal")
def isreal(x: TensorLike) -> Tensor:
    """Return whether the imaginary part is 0.

    >>> import talweg as tf
    >>> tf.experimental.numpy.isreal([1 + 0j, 1j]).numpy()
    array([ True, False])
    """
    return look_up("logical_not")(iscomplex(x))


@export("experimental.numpy.isposinf")
def isposinf(x: TensorLike) -> Tensor:
    """Return whether an element is +inf.

    >>> import talweg as tf
    >>> tf.experimental.numpy.isposinf([float("inf"), 1.0]).numpy()
    array([ True, False])
    """
    return _is_number(x, math.inf)


@export("experimental.numpy.isneginf")
def isneginf(x: TensorLike) -> Tensor:
    """Return whether an element is -inf.

    >>> import talweg as tf
    >>> tf.experimental.numpy.isneginf([float("inf"), 1.0]).numpy()
    array([False, False])
    """
    return _is_number(x, -math.inf)


def _is_number(x: object, number: float) -> Tensor:
    x = as_array(x)
    if x.dtype.is_floating:
        return look_up("equal")(x, as_array(number, x.dtype))
    return look_up("zeros_like")(x, dtype=bool_)


@export("experimental.numpy.isscalar")
def isscalar(num: TensorLike) -> bool:
    """Return whether this is a scalar: a Python or NumPy number, or a tensor without axes.

    >>> import talweg as tf
    >>> tf.experimental.numpy.isscalar(3), tf.experimental.numpy.isscalar([3])
    (True, False)
    """
    if hasattr(num, "dims") or hasattr(num, "__tf_tensor__"):
        return as_array(num).ndim == 0
    return np.isscalar(num)


@export("experimental.numpy.isclose")
def isclose(
    a: TensorLike, b: TensorLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Return whether |a - b| <= atol + rtol * |b|, and for infinities whether they are equal.

    >>> import talweg as tf
    >>> tf.experimental.numpy.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1]).numpy()
    array([ True, False])
    """
    x, y = promote(a, b)
    if x.dtype.is_integer or x.dtype.is_bool:
        x, y = inexact_pair(x, y)
    return look_up("experimental.numpy.logical_or")(_near(x, y, rtol, atol), _same(x, y, equal_nan))


def _near(x: Tensor, y: Tensor, rtol: float, atol: float) -> Tensor:
    size = look_up("abs")
    bound = rtol * size(y) + atol
    finite = look_up("math.is_finite")
    parts = [look_up("math.real")(y), look_up("math.imag")(y)] if y.dtype.is_complex else [y]
    ok = finite(parts[0])
    for part in parts[1:]:
        ok = look_up("logical_and")(ok, finite(part))
    return look_up("logical_and")(size(x - y) <= bound, ok)


def _same(x: Tensor, y: Tensor, equal_nan: bool) -> Tensor:
    same = look_up("equal")(x, y)
    if not equal_nan:
        return same
    nan = [look_up("not_equal")(value, value) for value in (x, y)]
    return look_up("logical_or")(same, look_up("logical_and")(*nan))


@export("experimental.numpy.allclose")
def allclose(
    a: TensorLike, b: TensorLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Return whether all elements are close (`isclose`); a bool tensor.

    >>> import talweg as tf
    >>> bool(tf.experimental.numpy.allclose([1.0], [1.0]))
    True
    """
    return look_up("reduce_all")(isclose(a, b, rtol, atol, equal_nan))


@export("experimental.numpy.array_equal")
def array_equal(a1: TensorLike, a2: TensorLike) -> Tensor:
    """Return whether two arrays have one shape and equal elements; a bool tensor.

    >>> import talweg as tf
    >>> bool(tf.experimental.numpy.array_equal([1, 2], [1, 3]))
    False
    """
    x, y = promote(a1, a2)
    if not x.shape.is_compatible_with(y.shape):
        return as_array(False)
    if x.shape.is_fully_defined() and y.shape.is_fully_defined():
        return look_up("reduce_all")(look_up("equal")(x, y))
    same = look_up("reduce_all")(look_up("equal")(look_up("shape")(x), look_up("shape")(y)))
    return look_up("cond")(
        same, lambda: look_up("reduce_all")(look_up("equal")(x, y)), lambda: as_array(False)
    )


@export("experimental.numpy.issubdtype")
def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Return whether a dtype is of a kind, as NumPy's function answers.

    >>> import numpy as np, talweg as tf
    >>> tf.experimental.numpy.issubdtype(tf.float32, np.floating)
    True
    """
    first, second = (numpy_dtype_of(x) if hasattr(x, "as_numpy_dtype") else x for x in (arg1, arg2))
    return np.issubdtype(first, second)
