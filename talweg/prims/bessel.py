"""Bessel functions and integrals: what TensorFlow keeps in `tf.math.special`.

I and J carry their order as a parameter, because Iₙ′ = (Iₙ₋₁ + Iₙ₊₁) / 2 holds at 0 too, where the
form I₀ - I₁ / x that stays within orders 0 and 1 does not.  Citations: NIST DLMF.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.declare import ELEMENTWISE, check_dtype, elementwise, primitive
from talweg.core.dtypes import FLOATING, float32
from talweg.core.primitive import Sample, later
from talweg.prims import special_scalars
from talweg.prims.arithmetic import cast, sign, zeros_of
from talweg.prims.rounding import mod
from talweg.prims.special import POSITIVE, in_float64, scipy_special
from talweg.prims.transcendental import cos, exp, sin

if TYPE_CHECKING:
    from collections.abc import Callable

AROUND = (-3, 3)


def _bessel_of_order(name: str, scipy_names: tuple[str, ...], text: str, slope: Callable):
    """Return a function of integer order n >= 0; `slope(y, x, order)` is its derivative."""

    def infer(x, *, order: int):
        check_dtype(name, "x", x.dtype, FLOATING)
        return x

    def numpy(x: np.generic | np.ndarray, *, order: int):
        if order < 2:
            return scipy_special(scipy_names[order])(x)
        return scipy_special(scipy_names[2])(x.dtype.type(order), x)

    kind, scaled = name[7:8].upper(), name[8:]
    scalar: Any = getattr(special_scalars, name, None)

    def cost(x, *, order: int):
        return 80.0 if order < 2 and x.dtype is float32 else None

    def loops(s: Any, index: tuple, x, *, order: int):
        return scalar(s, x(*index), order=order)

    fields = {
        "__doc__": text,
        "operands": "x",
        "tf_type": lambda x, *, order: f"Bessel{kind}{order}{scaled}",
        "infer": infer,
        "numpy": numpy,
        "vjp": lambda g, y, x, *, order: g * slope(y, x, order),
        "jvp": lambda t, y, x, *, order: t * slope(y, x, order),
        "batch": ELEMENTWISE,
        "memory": "map",
        "domain": {"x": AROUND},
        "samples": (
            Sample([4], order=0),
            Sample([2, 2], order=1),
            Sample([], order=2),
            Sample(np.array([0.0, 1.0], np.float32), order=1),
        ),
    }
    if scalar is not None:
        fields |= {"loops": loops, "cost": cost}
    return primitive(type(name, (), fields))


def _slope_i(y: object, x: object, order: int):
    return _neighbours("bessel_i", x, order, 1)


def _slope_ie(y: object, x: object, order: int):
    return _neighbours("bessel_ie", x, order, 1) - sign(x) * y


def _slope_j(y: object, x: object, order: int):
    return _neighbours("bessel_j", x, order, -1)


def _neighbours(name: str, x: object, order: int, parity: int):
    """Return (Bₙ₋₁ ± Bₙ₊₁) / 2, with B₋₁ = ±B₁."""
    prim = later(name)
    if order == 0:
        return prim(x, order=1) * parity
    above = prim(x, order=order + 1)
    return 0.5 * (prim(x, order=order - 1) + (above if parity == 1 else -above))


bessel_i = _bessel_of_order(
    "bessel_i", ("i0", "i1", "iv"), "y = Iₙ(x).   2 dy/dx = Iₙ₋₁ + Iₙ₊₁.   DLMF 10.29.1", _slope_i
)
bessel_ie = _bessel_of_order(
    "bessel_ie",
    ("i0e", "i1e", "ive"),
    "y = e^(-|x|) Iₙ(x).   dy/dx = (yₙ₋₁ + yₙ₊₁) / 2 - sign(x) y, with sign(0) = 0.",
    _slope_ie,
)
bessel_j = _bessel_of_order(
    "bessel_j", ("j0", "j1", "jv"), "y = Jₙ(x).   2 dy/dx = Jₙ₋₁ - Jₙ₊₁.   DLMF 10.6.1", _slope_j
)


def _infinite_below(y: np.ndarray, x: np.ndarray):
    """TensorFlow extends K to negative numbers by its limit at 0."""
    return np.where(x < 0, np.inf, y)


def _lowest_below(y: np.ndarray, x: np.ndarray):
    """TensorFlow extends Y to negative numbers by its limit at 0."""
    return np.where(x < 0, -np.inf, y)


@elementwise(
    numpy=scipy_special("k0", _infinite_below), accepts=FLOATING, domain=POSITIVE, singular="x = 0"
)
def bessel_k0(y, x):
    """y = K₀(x).   dy/dx = -K₁.   DLMF 10.29.3"""
    return -bessel_k1(x)


@elementwise(
    numpy=scipy_special("k0e", _infinite_below), accepts=FLOATING, domain=POSITIVE, singular="x = 0"
)
def bessel_k0e(y, x):
    """y = eˣ K₀(x).   dy/dx = y - eˣ K₁(x)."""
    return y - bessel_k1e(x)


@elementwise(
    numpy=scipy_special("k1", _infinite_below), accepts=FLOATING, domain=POSITIVE, singular="x = 0"
)
def bessel_k1(y, x):
    """y = K₁(x).   dy/dx = -K₀ - y / x.   DLMF 10.29.2"""
    return -bessel_k0(x) - y / x


@elementwise(
    numpy=scipy_special("k1e", _infinite_below), accepts=FLOATING, domain=POSITIVE, singular="x = 0"
)
def bessel_k1e(y, x):
    """y = eˣ K₁(x).   dy/dx = y (1 - 1/x) - eˣ K₀(x)."""
    return y * (1 - 1 / x) - bessel_k0e(x)


@elementwise(
    numpy=scipy_special("y0", _lowest_below), accepts=FLOATING, domain=POSITIVE, singular="x = 0"
)
def bessel_y0(y, x):
    """y = Y₀(x).   dy/dx = -Y₁.   DLMF 10.6.3"""
    return -bessel_y1(x)


@elementwise(
    numpy=scipy_special("y1", _lowest_below), accepts=FLOATING, domain=POSITIVE, singular="x = 0"
)
def bessel_y1(y, x):
    """y = Y₁(x).   dy/dx = Y₀ - y / x.   DLMF 10.6.2"""
    return bessel_y0(x) - y / x


# -- integrals


@elementwise(numpy=scipy_special("dawsn"), accepts=FLOATING)
def dawsn(y, x):
    """y = e^(-x²) ∫₀ˣ e^(t²) dt.   dy/dx = 1 - 2 x y.   DLMF 7.10.3"""
    return 1 - 2 * (x * y)


def _mend_expint(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.where(x == np.inf, np.inf, y)  # nan in SciPy before 1.16.3


@elementwise(
    numpy=scipy_special("expi", _mend_expint),
    accepts=FLOATING,
    domain=POSITIVE,
    singular="x = 0",
)
def expint(y, x):
    """y = Ei(x) = ⨍ eᵗ / t dt from -∞ to x.   dy/dx = eˣ / x.   DLMF 6.2.5"""
    root = exp(0.5 * x)
    return root, root / x


def _fresnel(which: int):
    def kernel(x: np.generic | np.ndarray):
        from scipy import special

        wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
        return special.fresnel(wide)[which].astype(x.dtype, copy=False)

    return kernel


def _square_in_period(x):
    """Return x² modulo 4, after which sin and cos of πx²/2 repeat, exact but for float64."""
    x = in_float64(x)
    return mod(x * x, zeros_of(x) + 4)


@elementwise(numpy=_fresnel(1), accepts=FLOATING)
def fresnel_cos(y, x):
    """y = ∫₀ˣ cos(π t² / 2) dt.   DLMF 7.2.7"""
    return cast(cos(math.pi / 2 * _square_in_period(x)), dtype=x.dtype)


@elementwise(numpy=_fresnel(0), accepts=FLOATING)
def fresnel_sin(y, x):
    """y = ∫₀ˣ sin(π t² / 2) dt.   DLMF 7.2.8"""
    return cast(sin(math.pi / 2 * _square_in_period(x)), dtype=x.dtype)


@elementwise(
    numpy=scipy_special("spence"),
    accepts=FLOATING,
    domain=POSITIVE,
    singular="x = 0",
    xla="scipy.special.spence",
)
def spence(y, x):
    """y = -∫₁ˣ ln t / (t - 1) dt.   dy/dx = -ln x / (x - 1), -1 at x = 1.   DLMF 25.12.2"""
    return -log_quotient(x, order=0)


def _log_quotient(x, order: int):
    """fₙ = dⁿ/dxⁿ of ln x / (x - 1).

    Near 1 by the integral (-1)ⁿ n! ∫₀¹ tⁿ / (1 + u t)ⁿ⁺¹ dt, u = x - 1, with 20 Gauss points (the
    integrand is analytic far around [0, 1] for |u| <= 1/2); elsewhere from u fₙ + n fₙ₋₁ = the n-th
    derivative of ln x.
    """
    u = np.asarray(x, np.float64) - 1
    points, weights = np.polynomial.legendre.leggauss(20)
    t, w = (points + 1) / 2, weights / 2
    near = np.where(np.abs(u) <= 0.5, u, 0)[..., None]
    inner = (
        (-1) ** order
        * math.factorial(order)
        * np.sum(w * t**order / (1 + near * t) ** (order + 1), -1)
    )
    far = np.where(np.abs(u) <= 0.5, 1, u)
    outer = np.log1p(far) / far
    for n in range(1, order + 1):
        outer = ((-1) ** (n - 1) * math.factorial(n - 1) / (1 + far) ** n - n * outer) / far
    return np.where(np.abs(u) <= 0.5, inner, outer).astype(x.dtype)[()]


@primitive
class log_quotient:
    """y = dⁿ/dxⁿ of ln x / (x - 1), n = order, without a hole at x = 1."""

    operands = "x"

    def infer(x, *, order):
        check_dtype("spence", "x", x.dtype, FLOATING)
        return x

    def numpy(x, *, order):
        return _log_quotient(x, order)

    def vjp(g, y, x, *, order):
        return g * log_quotient(x, order=order + 1)

    def jvp(t, y, x, *, order):
        return t * log_quotient(x, order=order + 1)

    batch = ELEMENTWISE
    memory = "map"
    domain = POSITIVE
    samples = (
        Sample([4], order=0),
        Sample([2], order=1),
        Sample(np.array([1, 0.9], np.float32), order=0),
    )
