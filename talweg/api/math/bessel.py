"""tf.math.special: Bessel functions and integrals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.api.export import export
from talweg.api.math.operands import elementwise
from talweg.core.value import Tensor
from talweg.prims import bessel

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("math.bessel_i0", "math.special.bessel_i0")
def bessel_i0(x: TensorLike, name: str | None = None) -> Tensor:
    """Return I₀(x), the modified Bessel function of the first kind and order 0.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.bessel_i0([0.5, 2.0]).numpy().round(4)
    array([1.0635, 2.2796], dtype=float32)
    """
    return elementwise(lambda x: bessel.bessel_i(x, order=0), x)


@export("math.bessel_i0e", "math.special.bessel_i0e")
def bessel_i0e(x: TensorLike, name: str | None = None) -> Tensor:
    """Return e^(-|x|) I₀(x), which does not overflow.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.bessel_i0e([0.5, 2.0]).numpy().round(4)
    array([0.645 , 0.3085], dtype=float32)
    """
    return elementwise(lambda x: bessel.bessel_ie(x, order=0), x)


@export("math.bessel_i1", "math.special.bessel_i1")
def bessel_i1(x: TensorLike, name: str | None = None) -> Tensor:
    """Return I₁(x), the modified Bessel function of the first kind and order 1.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.bessel_i1([0.5, 2.0]).numpy().round(4)
    array([0.2579, 1.5906], dtype=float32)
    """
    return elementwise(lambda x: bessel.bessel_i(x, order=1), x)


@export("math.bessel_i1e", "math.special.bessel_i1e")
def bessel_i1e(x: TensorLike, name: str | None = None) -> Tensor:
    """Return e^(-|x|) I₁(x), which does not overflow.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.bessel_i1e([0.5, 2.0]).numpy().round(4)
    array([0.1564, 0.2153], dtype=float32)
    """
    return elementwise(lambda x: bessel.bessel_ie(x, order=1), x)


@export("math.special.bessel_j0")
def bessel_j0(x: TensorLike, name: str | None = None) -> Tensor:
    """Return J₀(x), the Bessel function of the first kind and order 0.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_j0([0.5, 2.0]).numpy().round(4)
    array([0.9385, 0.2239], dtype=float32)
    """
    return elementwise(lambda x: bessel.bessel_j(x, order=0), x)


@export("math.special.bessel_j1")
def bessel_j1(x: TensorLike, name: str | None = None) -> Tensor:
    """Return J₁(x), the Bessel function of the first kind and order 1.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_j1([0.5, 2.0]).numpy().round(4)
    array([0.2423, 0.5767], dtype=float32)
    """
    return elementwise(lambda x: bessel.bessel_j(x, order=1), x)


@export("math.special.bessel_k0")
def bessel_k0(x: TensorLike, name: str | None = None) -> Tensor:
    """Return K₀(x), the modified Bessel function of the second kind and order 0.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_k0([0.5, 2.0]).numpy().round(4)
    array([0.9244, 0.1139], dtype=float32)
    """
    return elementwise(bessel.bessel_k0, x)


@export("math.special.bessel_k0e")
def bessel_k0e(x: TensorLike, name: str | None = None) -> Tensor:
    """Return eˣ K₀(x), which does not underflow.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_k0e([0.5, 2.0]).numpy().round(4)
    array([1.5241, 0.8416], dtype=float32)
    """
    return elementwise(bessel.bessel_k0e, x)


@export("math.special.bessel_k1")
def bessel_k1(x: TensorLike, name: str | None = None) -> Tensor:
    """Return K₁(x), the modified Bessel function of the second kind and order 1.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_k1([0.5, 2.0]).numpy().round(4)
    array([1.6564, 0.1399], dtype=float32)
    """
    return elementwise(bessel.bessel_k1, x)


@export("math.special.bessel_k1e")
def bessel_k1e(x: TensorLike, name: str | None = None) -> Tensor:
    """Return eˣ K₁(x), which does not underflow.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_k1e([0.5, 2.0]).numpy().round(4)
    array([2.731 , 1.0335], dtype=float32)
    """
    return elementwise(bessel.bessel_k1e, x)


@export("math.special.bessel_y0")
def bessel_y0(x: TensorLike, name: str | None = None) -> Tensor:
    """Return Y₀(x), the Bessel function of the second kind and order 0.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_y0([0.5, 2.0]).numpy().round(4)
    array([-0.4445,  0.5104], dtype=float32)
    """
    return elementwise(bessel.bessel_y0, x)


@export("math.special.bessel_y1")
def bessel_y1(x: TensorLike, name: str | None = None) -> Tensor:
    """Return Y₁(x), the Bessel function of the second kind and order 1.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_y1([0.5, 2.0]).numpy().round(4)
    array([-1.4715, -0.107 ], dtype=float32)
    """
    return elementwise(bessel.bessel_y1, x)


@export("math.special.dawsn")
def dawsn(x: TensorLike, name: str | None = None) -> Tensor:
    """Return Dawson's integral, e^(-x²) ∫₀ˣ e^(t²) dt.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.dawsn([0.5, 2.0]).numpy().round(4)
    array([0.4244, 0.3013], dtype=float32)
    """
    return elementwise(bessel.dawsn, x)


@export("math.special.expint")
def expint(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the exponential integral Ei(x), the integral of eᵗ / t from -∞ to x.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.expint([0.5, 2.0]).numpy().round(4)
    array([0.4542, 4.9542], dtype=float32)
    """
    return elementwise(bessel.expint, x)


@export("math.special.fresnel_cos")
def fresnel_cos(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the Fresnel integral ∫₀ˣ cos(π t² / 2) dt.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.fresnel_cos([0.5, 2.0]).numpy().round(4)
    array([0.4923, 0.4883], dtype=float32)
    """
    return elementwise(bessel.fresnel_cos, x)


@export("math.special.fresnel_sin")
def fresnel_sin(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the Fresnel integral ∫₀ˣ sin(π t² / 2) dt.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.fresnel_sin([0.5, 2.0]).numpy().round(4)
    array([0.0647, 0.3434], dtype=float32)
    """
    return elementwise(bessel.fresnel_sin, x)


@export("math.special.spence")
def spence(x: TensorLike, name: str | None = None) -> Tensor:
    """Return Spence's function, -∫₁ˣ ln t / (t - 1) dt, the dilogarithm of 1 - x.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.spence([0.5, 2.0]).numpy().round(4)
    array([ 0.5822, -0.8225], dtype=float32)
    """
    return elementwise(bessel.spence, x)
