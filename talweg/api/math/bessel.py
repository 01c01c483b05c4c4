"""tf.math.special: Bessel functions and integrals."""

from __future__ import annotations

from typing import Any

from talweg.api.export import export
from talweg.api.math.operands import elementwise
from talweg.prims import bessel


@export("math.bessel_i0", "math.special.bessel_i0")
def bessel_i0(x: Any, name: str | None = None) -> Any:
    """I₀(x), the modified Bessel function of the first kind and order 0.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.bessel_i0([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1.0634834, 2.2795854], dtype=float32)>
    """
    return elementwise(lambda x: bessel.bessel_i(x, order=0), x)


@export("math.bessel_i0e", "math.special.bessel_i0e")
def bessel_i0e(x: Any, name: str | None = None) -> Any:
    """e^(-|x|) I₀(x), which does not overflow.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.bessel_i0e([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.64503527, 0.30850834], dtype=float32)>
    """
    return elementwise(lambda x: bessel.bessel_ie(x, order=0), x)


@export("math.bessel_i1", "math.special.bessel_i1")
def bessel_i1(x: Any, name: str | None = None) -> Any:
    """I₁(x), the modified Bessel function of the first kind and order 1.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.bessel_i1([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.2578943, 1.5906368], dtype=float32)>
    """
    return elementwise(lambda x: bessel.bessel_i(x, order=1), x)


@export("math.bessel_i1e", "math.special.bessel_i1e")
def bessel_i1e(x: Any, name: str | None = None) -> Any:
    """e^(-|x|) I₁(x), which does not overflow.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.bessel_i1e([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.1564208 , 0.21526928], dtype=float32)>
    """
    return elementwise(lambda x: bessel.bessel_ie(x, order=1), x)


@export("math.special.bessel_j0")
def bessel_j0(x: Any, name: str | None = None) -> Any:
    """J₀(x), the Bessel function of the first kind and order 0.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_j0([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.9384698 , 0.22389078], dtype=float32)>
    """
    return elementwise(lambda x: bessel.bessel_j(x, order=0), x)


@export("math.special.bessel_j1")
def bessel_j1(x: Any, name: str | None = None) -> Any:
    """J₁(x), the Bessel function of the first kind and order 1.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_j1([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.24226846, 0.5767248 ], dtype=float32)>
    """
    return elementwise(lambda x: bessel.bessel_j(x, order=1), x)


@export("math.special.bessel_k0")
def bessel_k0(x: Any, name: str | None = None) -> Any:
    """K₀(x), the modified Bessel function of the second kind and order 0.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_k0([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.92441905, 0.11389387], dtype=float32)>
    """
    return elementwise(bessel.bessel_k0, x)


@export("math.special.bessel_k0e")
def bessel_k0e(x: Any, name: str | None = None) -> Any:
    """eˣ K₀(x), which does not underflow.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_k0e([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1.5241094 , 0.84156823], dtype=float32)>
    """
    return elementwise(bessel.bessel_k0e, x)


@export("math.special.bessel_k1")
def bessel_k1(x: Any, name: str | None = None) -> Any:
    """K₁(x), the modified Bessel function of the second kind and order 1.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_k1([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1.6564411 , 0.13986588], dtype=float32)>
    """
    return elementwise(bessel.bessel_k1, x)


@export("math.special.bessel_k1e")
def bessel_k1e(x: Any, name: str | None = None) -> Any:
    """eˣ K₁(x), which does not underflow.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_k1e([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([2.7310097, 1.0334768], dtype=float32)>
    """
    return elementwise(bessel.bessel_k1e, x)


@export("math.special.bessel_y0")
def bessel_y0(x: Any, name: str | None = None) -> Any:
    """Y₀(x), the Bessel function of the second kind and order 0.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_y0([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([-0.44451874,  0.5103757 ], dtype=float32)>
    """
    return elementwise(bessel.bessel_y0, x)


@export("math.special.bessel_y1")
def bessel_y1(x: Any, name: str | None = None) -> Any:
    """Y₁(x), the Bessel function of the second kind and order 1.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.bessel_y1([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([-1.4714724 , -0.10703243], dtype=float32)>
    """
    return elementwise(bessel.bessel_y1, x)


@export("math.special.dawsn")
def dawsn(x: Any, name: str | None = None) -> Any:
    """Dawson's integral, e^(-x²) ∫₀ˣ e^(t²) dt.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.dawsn([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.4244364, 0.3013404], dtype=float32)>
    """
    return elementwise(bessel.dawsn, x)


@export("math.special.expint")
def expint(x: Any, name: str | None = None) -> Any:
    """The exponential integral Ei(x), the integral of eᵗ / t from -∞ to x.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.expint([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.4542199, 4.954234 ], dtype=float32)>
    """
    return elementwise(bessel.expint, x)


@export("math.special.fresnel_cos")
def fresnel_cos(x: Any, name: str | None = None) -> Any:
    """The Fresnel integral ∫₀ˣ cos(π t² / 2) dt.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.fresnel_cos([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.49234423, 0.4882534 ], dtype=float32)>
    """
    return elementwise(bessel.fresnel_cos, x)


@export("math.special.fresnel_sin")
def fresnel_sin(x: Any, name: str | None = None) -> Any:
    """The Fresnel integral ∫₀ˣ sin(π t² / 2) dt.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.fresnel_sin([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.06473243, 0.34341568], dtype=float32)>
    """
    return elementwise(bessel.fresnel_sin, x)


@export("math.special.spence")
def spence(x: Any, name: str | None = None) -> Any:
    """Spence's function, -∫₁ˣ ln t / (t - 1) dt, the dilogarithm of 1 - x.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.special.spence([0.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([ 0.5822405, -0.822467 ], dtype=float32)>
    """
    return elementwise(bessel.spence, x)
