"""The gamma, error and zeta functions and their relatives.

SciPy's functions; 16-bit floats by way of float32.  Derivatives: NIST Digital Library of
Mathematical Functions (dlmf.nist.gov), cited by equation.
"""

from __future__ import annotations

import math
from functools import wraps
from typing import TYPE_CHECKING

import numpy as np

from talweg.core.declare import check_dtype, elementwise, primitive
from talweg.core.dims import dims_differ
from talweg.core.dtypes import FLOATING, float32, float64
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Sample
from talweg.core.value import Tensor
from talweg.kernels.incomplete_gamma import derivatives_by_a
from talweg.prims import special_scalars
from talweg.prims.arithmetic import cast, zeros_of
from talweg.prims.guarded import xlog1py, xlogy
from talweg.prims.layout import batch_to_front
from talweg.prims.transcendental import exp, log

if TYPE_CHECKING:
    from collections.abc import Callable

WIDE = frozenset({float32, float64})
POSITIVE = {"x": (0.3, 3)}
UNIT = {"x": (0.1, 0.9)}
ROOT_PI = math.sqrt(math.pi)


def in_double(rule: Callable):
    """Compute a partial derivative in float64: its factors may be out of range."""

    @wraps(rule)
    def partial(z, *operands: object):
        values = [in_float64(v) if isinstance(v, Tensor) else v for v in (z, *operands)]
        return cast(rule(*values), dtype=z.dtype)

    return partial


def in_float64(x):
    """Return x as float64."""
    return cast(x, dtype=float64)


def scipy_special(name: str, mend: Callable | None = None):
    """Return SciPy's function of that name as a kernel.

    `mend(y, *operands)` gives the values where TensorFlow's convention is another than SciPy's.
    """

    def kernel(*arrays):
        from scipy import special

        dtype = np.result_type(*arrays)
        if dtype.itemsize == 2:
            arrays = [array.astype(np.float32) for array in arrays]
        result = getattr(special, name)(*arrays)
        if mend is not None:
            result = mend(result, *arrays)
        return result.astype(dtype, copy=False)

    return kernel


# -- gamma


@elementwise(
    numpy=scipy_special("gammaln", lambda y, x: np.where(np.isinf(x), np.inf, y)),
    accepts=FLOATING,
    domain=POSITIVE,
    singular="x = 0, -1, ...",
    scalar=special_scalars.lgamma,
    xla="lax.lgamma",
)
def lgamma(y, x):
    """y = ln |Γ(x)|.   dy/dx = ψ(x)."""
    return digamma(x)


@elementwise(
    numpy=scipy_special("psi", lambda y, x: np.where(x == 0, np.nan, y)),
    accepts=FLOATING,
    domain=POSITIVE,
    singular="x = 0, -1, ...",
    scalar=special_scalars.digamma,
    xla="lax.digamma",
)
def digamma(y, x):
    """y = ψ(x) = Γ'(x) / Γ(x).   dy/dx = ψ′(x)."""
    return trigamma(x)


def one_of(x: object):
    """Return ones in x's shape and dtype, constant."""
    return zeros_of(x) + 1


def _polygamma(a: np.generic | np.ndarray, x: np.generic | np.ndarray):
    """(-1)ᵃ⁺¹ a! ζ(a + 1, x), ψ where a = 0, NaN unless a is 0, 1, 2, ...  DLMF 25.11.12"""
    from scipy import special

    dtype = np.result_type(a, x)
    a, x = np.asarray(a, np.float64), np.asarray(x, np.float64)
    size = special.gamma(a + 1) * special.zeta(a + 1, x)
    value = np.where(a == 0, special.psi(x), np.where(a % 2 == 1, size, -size))
    whole = (a >= 0) & (a == np.floor(a))
    return np.where(whole, value, np.nan).astype(dtype)[()]


def _polygamma_by_jax(j, a, x):
    a, x = j.numpy.broadcast_arrays(a, x)
    whole = (a >= 0) & (a == j.numpy.floor(a))
    return j.numpy.where(whole, j.lax.polygamma(a, x), j.numpy.nan)


@elementwise(
    numpy=_polygamma,
    accepts=FLOATING,
    domain=POSITIVE,
    samples=(
        Sample(np.array([0, 1, 2], np.float32), [3]),
        Sample(np.float32(3), [2, 2]),
        Sample(np.array([[1], [2]], np.float32), [3]),
    ),
    singular="x = 0, -1, ...",
    scalar=special_scalars.polygamma,
    xla=_polygamma_by_jax,
)
class polygamma:
    """z = ψ⁽ᵃ⁾(x), the derivative of order a of ψ.   dz/dx = ψ⁽ᵃ⁺¹⁾(x).   DLMF 5.15"""

    operands = "a x"
    no_gradient = {"a": NoGradient("the order of a polygamma function is an integer")}

    def dx(z, a, x):
        return polygamma(a + 1, x)


def _trigamma_by_jax(j, x):
    return j.lax.polygamma(j.numpy.ones_like(x), x)


@elementwise(
    numpy=lambda x: _polygamma(x.dtype.type(1), x),
    accepts=FLOATING,
    domain=POSITIVE,
    singular="x = 0, -1, ...",
    scalar=special_scalars.trigamma,
    xla=_trigamma_by_jax,
)
class trigamma:
    """y = ψ′(x).   dy/dx = ψ″(x)."""

    operands = "x"
    tf_type = "Polygamma"

    def dx(y, x):
        return polygamma(one_of(x) + 1, x)


def _zeta_at_edges(z, x, q):
    """Return ζ at its poles as TensorFlow has it:
    of an even order inf, of others a sign is not there.
    """
    pole = (q <= 0) & (q == np.floor(q))
    odd = (x % 2 != 0) & (x != 1) & ~np.isposinf(x)
    z = np.where(pole & odd | np.isnan(x) | np.isnan(q) & (x != 1), np.nan, z)
    return np.where((x > 1e20) & (q > 1), 0, z)  # of which SciPy makes NaN


@elementwise(
    numpy=scipy_special("zeta", _zeta_at_edges),
    accepts=FLOATING,
    domain={"x": (1.5, 4), "q": (0.5, 3)},
    samples=(Sample([3], [3]), Sample([2, 1], [3]), Sample([], [2])),
    scalar=special_scalars.zeta,
    xla="scipy.special.zeta",
)
class zeta:
    """z = ζ(x, q) = Σₖ₌₀ (q + k)⁻ˣ.   dz/dq = -x ζ(x + 1, q).   DLMF 25.11.17"""

    operands = "x q"
    no_gradient = {"x": NoGradient("the derivative of zeta by its exponent has no rule")}

    @in_double
    def dq(z, x, q):
        return -x * zeta(x + 1, q)


# -- incomplete gamma and beta


def gamma_density(a, x):
    """Return xᵃ⁻¹ e⁻ˣ / Γ(a)."""
    return exp(xlogy(a - 1, x) - x - lgamma(a))


GAMMA = {"a": (0.5, 3), "x": (0.3, 4)}
PAIRS = (Sample([3], [3]), Sample([2, 1], [3]), Sample([], [2]))


@elementwise(
    numpy=scipy_special("gammainc", lambda y, a, x: np.where(a > 0, y, np.nan)),
    accepts=FLOATING,
    domain=GAMMA,
    samples=PAIRS,
    singular="a = 0",
    xla="scipy.special.gammainc",
)
class igamma:
    """z = P(a, x) = ∫₀ˣ tᵃ⁻¹ e⁻ᵗ dt / Γ(a).   dz/dx = xᵃ⁻¹ e⁻ˣ / Γ(a).   DLMF 8.8.13"""

    operands = "a x"

    def da(z, a, x):
        return igamma_by_a(a + zeros_of(x), x + zeros_of(a), order=1)

    @in_double
    def dx(z, a, x):
        return gamma_density(a, x)


@elementwise(
    numpy=scipy_special("gammaincc", lambda y, a, x: np.where(a > 0, y, np.nan)),
    accepts=FLOATING,
    domain=GAMMA,
    samples=PAIRS,
    singular="a = 0",
    xla="scipy.special.gammaincc",
)
class igammac:
    """z = Q(a, x) = 1 - P(a, x)."""

    operands = "a x"

    def da(z, a, x):
        return -igamma_by_a(a + zeros_of(x), x + zeros_of(a), order=1)

    @in_double
    def dx(z, a, x):
        return -gamma_density(a, x)


def _density_by_a(a, x, order):
    """Return the derivative of that order of xᵃ⁻¹ e⁻ˣ / Γ(a) by a.

    The logarithm L of the density has L′ = ln x - ψ(a), L⁽ᵏ⁾ = -ψ⁽ᵏ⁻¹⁾(a), and
    p⁽ⁿ⁾ = Σₖ C(n-1, k) p⁽ⁿ⁻¹⁻ᵏ⁾ L⁽ᵏ⁺¹⁾ (Leibniz on p′ = p L′).
    """
    dtype, a, x = a.dtype, in_float64(a), in_float64(x)
    derivatives = [gamma_density(a, x)]
    logs = [log(x) - digamma(a)]
    for n in range(1, order + 1):
        if n > 1:
            logs.append(-polygamma(zeros_of(a) + (n - 1), a))
        terms = [math.comb(n - 1, k) * derivatives[n - 1 - k] * logs[k] for k in range(n)]
        derivatives.append(sum(terms[1:], terms[0]))
    return cast(derivatives[order], dtype=dtype)


@primitive
class igamma_by_a:
    """z = ∂ⁿ P(a, x) / ∂aⁿ with n = order, operands of one shape.   kernels/incomplete_gamma.py"""

    operands = "a x"

    def infer(a, x, *, order):
        check_dtype("igamma", "a", a.dtype, FLOATING)
        check_dtype("igamma", "x", x.dtype, {a.dtype})
        if dims_differ(a.dims, x.dims):
            raise invalid("TW204", f"igamma_by_a: a has shape {a.dims} and x has shape {x.dims}")
        return a

    def numpy(a, x, *, order):
        return derivatives_by_a(a, x, order).astype(a.dtype)

    def vjp(g, z, a, x, *, order):
        return g * igamma_by_a(a, x, order=order + 1), g * _density_by_a(a, x, order)

    def jvp(t: tuple, z, a, x, *, order):
        return t[0] * igamma_by_a(a, x, order=order + 1) + t[1] * _density_by_a(a, x, order)

    def batch(size, batched, a, x, *, order):
        a, x = (batch_to_front(size, v, b) for v, b in zip((a, x), batched))
        return igamma_by_a(a, x, order=order)

    memory = "map"
    domain = GAMMA
    samples = (Sample([4], [4], order=1), Sample([2, 2], [2, 2], order=2), Sample([], [], order=1))


@elementwise(
    numpy=scipy_special("betainc", lambda y, a, b, x: np.where((a > 0) & (b > 0), y, np.nan)),
    accepts=WIDE,
    domain={"a": (0.5, 3), "b": (0.5, 3), "x": (0.1, 0.9)},
    samples=(Sample([3], [3], [3]), Sample([2, 1], [], [3])),
    xla="scipy.special.betainc",
)
class betainc:
    """z = Iₓ(a, b), the regularised incomplete beta function.   DLMF 8.17.1

    dz/dx = xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b).
    """

    operands = "a b x"
    no_gradient = {
        "a": NoGradient("the derivative of betainc by a has no rule"),
        "b": NoGradient("the derivative of betainc by b has no rule"),
    }

    @in_double
    def dx(z, a, b, x):
        log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
        return exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - log_beta)


# -- error functions


@elementwise(numpy=scipy_special("erf"), accepts=FLOATING)
def erf(y, x):
    """y = 2/√π ∫₀ˣ e^(-t²) dt.   dy/dx = 2/√π e^(-x²).   DLMF 7.2.1"""
    return 2 / ROOT_PI * exp(-(x * x))


@elementwise(numpy=scipy_special("erfc"), accepts=FLOATING)
def erfc(y, x):
    """y = 1 - erf x.   dy/dx = -2/√π e^(-x²)."""
    return -2 / ROOT_PI * exp(-(x * x))


@elementwise(
    numpy=scipy_special("erfinv"),
    accepts=FLOATING,
    domain={"x": (-0.9, 0.9)},
    singular="|x| = 1",
    scalar=special_scalars.erfinv,
    xla="lax.erf_inv",
)
def erfinv(y, x):
    """erf y = x.   dy/dx = √π/2 e^(y²)."""
    return ROOT_PI / 2 * exp(y * y)


@elementwise(
    numpy=scipy_special("erfcinv"), accepts=FLOATING, domain={"x": (0.1, 1.9)}, singular="x = 0, 2"
)
def erfcinv(y, x):
    """erfc y = x.   dy/dx = -√π/2 e^(y²)."""
    return -ROOT_PI / 2 * exp(y * y)


@elementwise(
    numpy=scipy_special("ndtri"),
    accepts=FLOATING,
    domain=UNIT,
    singular="x = 0, 1",
    scalar=special_scalars.ndtri,
    xla="scipy.special.ndtri",
)
def ndtri(y, x):
    """Φ(y) = x, with Φ the normal distribution function.   dy/dx = √(2π) e^(y²/2)."""
    return math.sqrt(2 * math.pi) * exp(0.5 * (y * y))
