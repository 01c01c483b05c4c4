"""tf.math: exponentials, logarithms and functions made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.api.export import export
from talweg.api.math.operands import elementwise, matching_tensors
from talweg.core.value import Tensor
from talweg.prims import guarded, transcendental

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("math.exp", "exp")
def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute eˣ.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.exp([0.0, 1.0]).numpy().round(4)
    array([1.    , 2.7183], dtype=float32)
    """
    return elementwise(transcendental.exp, x)


@export("math.expm1")
def expm1(x: TensorLike, name: str | None = None) -> Tensor:
    """Return eˣ - 1, accurate for small x.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.expm1([0.0, 0.5]).numpy().round(4)
    array([0.    , 0.6487], dtype=float32)
    """
    return elementwise(transcendental.expm1, x)


@export("math.log")
def log(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the natural logarithm; -inf at 0, NaN for negative numbers.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.log([1.0, 0.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([  0., -inf], dtype=float32)>
    """
    return elementwise(transcendental.log, x)


@export("math.log1p")
def log1p(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ln(1 + x), accurate for small x.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.log1p([0.0, 0.5]).numpy().round(4)
    array([0.    , 0.4055], dtype=float32)
    """
    return elementwise(transcendental.log1p, x)


@export("math.sigmoid", "sigmoid", "nn.sigmoid")
def sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 / (1 + e⁻ˣ), without overflow.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.sigmoid([0.0, 2.0]).numpy().round(4)
    array([0.5   , 0.8808], dtype=float32)
    """
    return elementwise(transcendental.sigmoid, x)


@export("math.log_sigmoid")
def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ln(1 / (1 + e⁻ˣ)) = -softplus(-x), without overflow.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.log_sigmoid([-100.0, 0.0]).numpy().round(4)
    array([-100.    ,   -0.6931], dtype=float32)
    """
    return elementwise(lambda x: -transcendental.softplus(-x), x)


@export("math.softplus", "nn.softplus")
def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """Return ln(1 + eˣ), without overflow.

    features: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.softplus([0.0, 100.0]).numpy().round(4)
    array([  0.6931, 100.    ], dtype=float32)
    """
    return elementwise(transcendental.softplus, features)


@export("math.softsign", "nn.softsign")
def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """Return x / (1 + |x|).

    features: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.nn.softsign([-1.0, 0.0, 3.0])
    <tf.Tensor: shape=(3,), dtype=float32, numpy=array([-0.5 ,  0.  ,  0.75], dtype=float32)>
    """
    return elementwise(transcendental.softsign, features)


@export("math.xlogy")
def xlogy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x ln y, and 0 where x = 0.

    x, y: tensors of one dtype, floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.xlogy([0.0, 2.0], [0.0, 3.0]).numpy().round(4)
    array([0.    , 2.1972], dtype=float32)
    """
    return guarded.xlogy(*matching_tensors(x, y))


@export("math.xlog1py")
def xlog1py(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x ln(1 + y), and 0 where x = 0.

    x, y: tensors of one dtype, floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.xlog1py([0.0, 2.0], [-1.0, 3.0]).numpy().round(4)
    array([0.    , 2.7726], dtype=float32)
    """
    return guarded.xlog1py(*matching_tensors(x, y))
