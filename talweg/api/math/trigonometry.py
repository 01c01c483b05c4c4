"""tf.math: trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.api.export import export
from talweg.api.math.operands import elementwise, keeping_zeros, matching
from talweg.core.value import Tensor
from talweg.prims import transcendental

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("math.sin", "sin")
def sin(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the sine of an angle in radians.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.sin([0.0, 0.5]).numpy().round(4)
    array([0.    , 0.4794], dtype=float32)
    """
    return keeping_zeros(transcendental.sin, x)


@export("math.cos", "cos")
def cos(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the cosine of an angle in radians.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.cos([0.0, 0.5]).numpy().round(4)
    array([1.    , 0.8776], dtype=float32)
    """
    return elementwise(transcendental.cos, x)


@export("math.tan", "tan")
def tan(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the tangent of an angle in radians.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.tan([0.0, 0.5]).numpy().round(4)
    array([0.    , 0.5463], dtype=float32)
    """
    return keeping_zeros(transcendental.tan, x)


@export("math.asin", "asin")
def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the angle in [-π/2, π/2] whose sine is x; NaN outside [-1, 1].

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.asin([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.5708], dtype=float32)
    """
    return keeping_zeros(transcendental.asin, x)


@export("math.acos", "acos")
def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the angle in [0, π] whose cosine is x; NaN outside [-1, 1].

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.acos([0.0, 1.0]).numpy().round(4)
    array([1.5708, 0.    ], dtype=float32)
    """
    return elementwise(transcendental.acos, x)


@export("math.atan", "atan")
def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the angle in (-π/2, π/2) whose tangent is x.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.atan([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.7854], dtype=float32)
    """
    return keeping_zeros(transcendental.atan, x)


@export("math.sinh", "sinh")
def sinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the hyperbolic sine, (eˣ - e⁻ˣ) / 2.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.sinh([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.1752], dtype=float32)
    """
    return keeping_zeros(transcendental.sinh, x)


@export("math.cosh", "cosh")
def cosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the hyperbolic cosine, (eˣ + e⁻ˣ) / 2.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.cosh([0.0, 1.0]).numpy().round(4)
    array([1.    , 1.5431], dtype=float32)
    """
    return elementwise(transcendental.cosh, x)


@export("math.tanh", "tanh", "nn.tanh")
def tanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the hyperbolic tangent, (eˣ - e⁻ˣ) / (eˣ + e⁻ˣ).

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.tanh([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.7616], dtype=float32)
    """
    return keeping_zeros(transcendental.tanh, x)


@export("math.asinh", "asinh")
def asinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the number whose hyperbolic sine is x.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.asinh([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8814], dtype=float32)
    """
    return keeping_zeros(transcendental.asinh, x)


@export("math.acosh", "acosh")
def acosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the number >= 0 whose hyperbolic cosine is x; NaN below 1.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.acosh([1.0, 2.0]).numpy().round(4)
    array([0.   , 1.317], dtype=float32)
    """
    return elementwise(transcendental.acosh, x)


@export("math.atanh", "atanh")
def atanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the number whose hyperbolic tangent is x; infinite at -1 and 1.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.atanh([0.0, 0.5]).numpy().round(4)
    array([0.    , 0.5493], dtype=float32)
    """
    return keeping_zeros(transcendental.atanh, x)


@export("math.atan2", "atan2")
def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the angle in [-π, π] between the positive x axis and the point (x, y).

    y, x: tensors of one float dtype, broadcast; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.atan2([1.0, -1.0], [-1.0, 0.0]).numpy().round(4)
    array([ 2.3562, -1.5708], dtype=float32)
    """
    return transcendental.atan2(*matching(y, x))
