"""Real and imaginary parts, and what else is not holomorphic.

Cotangents follow TensorFlow: for a real function L of complex z the cotangent is
dL/dRe z + i dL/dIm z.
"""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import ELEMENTWISE, check_dtype, primitive
from talweg.core.dtypes import COMPLEX, FLOATING, INEXACT, complex64, complex128, float32, float64
from talweg.core.primitive import Reject, Sample
from talweg.core.shapes import broadcast_dims
from talweg.core.value import Tensor
from talweg.prims.arithmetic import zeros_of
from talweg.prims.guarded import div_no_nan

Z = np.array([1 + 2j, -0.5 + 0.25j, 3 - 1j], np.complex64)
WIDER = {float32: complex64, float64: complex128}


def _real_result(name: str):
    def infer(x):
        check_dtype(name, "x", x.dtype, COMPLEX)
        return Aval(x.dims, x.dtype.real_dtype)

    return infer


@primitive
class conj:
    """y = the complex conjugate of x; real numbers are their own."""

    operands = "x"

    def infer(x):
        check_dtype("conj", "x", x.dtype, INEXACT)
        return x

    numpy = np.conjugate

    def scalar(s, x):
        return x

    def vjp(g, y, x):
        return conj(g)

    def jvp(t, y, x):
        return conj(t)

    batch = ELEMENTWISE
    memory = "map"
    xla = "numpy.conj"
    samples = (Sample(Z), Sample([2, 2]))


@primitive
class real:
    """y = Re x."""

    operands = "x"
    infer = _real_result("real")

    def numpy(x):
        return x.real.copy()

    def vjp(g: Tensor, y, x):
        return complex_(g, 0 * g)

    def jvp(t, y, x):
        return real(t)

    batch = ELEMENTWISE
    memory = "map"
    xla = "numpy.real"
    samples = (Sample(Z),)


@primitive
class imag:
    """y = Im x."""

    operands = "x"
    infer = _real_result("imag")

    def numpy(x):
        return x.imag.copy()

    def vjp(g: Tensor, y, x):
        return complex_(0 * g, g)

    def jvp(t, y, x):
        return imag(t)

    batch = ELEMENTWISE
    memory = "map"
    xla = "numpy.imag"
    samples = (Sample(Z),)


@primitive
class complex_:
    """z = x + i y."""

    operands = "x y"
    tf_name = "Complex"

    def infer(x, y):
        check_dtype("complex", "real", x.dtype, FLOATING & set(WIDER))
        check_dtype("complex", "imag", y.dtype, {x.dtype})
        return Aval(broadcast_dims("complex", x.dims, y.dims), WIDER[x.dtype])

    def numpy(x: np.ndarray, y):
        result = np.empty(np.broadcast_shapes(x.shape, y.shape), np.result_type(x, np.complex64))
        result.real, result.imag = x, y
        return result

    def vjp(g, z, x, y):
        return real(g), imag(g)

    def jvp(t: tuple, z, x, y):
        return complex_(*t)

    batch = ELEMENTWISE
    memory = "map"

    def xla(j, x, y):
        return j.lax.complex(*j.numpy.broadcast_arrays(x, y))

    samples = (Sample([3], [3]),)


def direction(x: object):
    """x / |x|, and 0 where x = 0."""
    size = complex_abs(x)
    return div_no_nan(x, complex_(size, zeros_of(size)))


@primitive
class complex_abs:
    """y = |x| of complex numbers.   x̄ = ȳ x / |x|, which is taken as 0 at x = 0."""

    operands = "x"
    infer = _real_result("complex_abs")

    def numpy(x: np.ndarray):
        return np.abs(x)

    def vjp(g, y, x):
        return complex_(g, zeros_of(g)) * direction(x)

    def jvp(t, y, x):
        return real(conj(direction(x)) * t)

    batch = ELEMENTWISE
    memory = "map"
    xla = "numpy.abs"
    kinks = {"x": "the derivative at 0 is taken as 0"}
    samples = (Sample(Z),)
    rejects = (Reject([2], code="TW102"),)


@primitive
class angle:
    """y = arctan2(Im x, Re x).   dy = Im(dx / x), so x̄ = i ȳ / conj x."""

    operands = "x"
    infer = _real_result("angle")

    def numpy(x: np.ndarray):
        return np.angle(x)

    def vjp(g, y, x):
        return complex_(zeros_of(g), g) / conj(x)

    def jvp(t, y, x):
        return imag(t / x)

    batch = ELEMENTWISE
    memory = "map"
    xla = "numpy.angle"
    samples = (Sample(Z),)
    rejects = (Reject([2], code="TW102"),)
