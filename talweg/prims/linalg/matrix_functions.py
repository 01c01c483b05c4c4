"""Functions of matrices: exponential, logarithm, square root; Sylvester and tridiagonal equations.

The derivative of an analytic function f in the direction e is a block of f itself:
f([[x, e], [0, x]]) = [[f(x), L(x, e)], [0, f(x)]]  (Mathias 1996; Higham 2008, "Functions of
Matrices", theorem 3.6).  The adjoint of L(x, .) is L(xᴴ, .), so rules of all orders follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from talweg.core.declare import LEADING, check_dtype, primitive
from talweg.core.dims import differ, dims_differ, same
from talweg.core.dtypes import COMPLEX, complex64
from talweg.core.errors import invalid
from talweg.core.primitive import Reject, Sample
from talweg.kernels import linalg as kernels
from talweg.prims.arithmetic import cast, maximum, stop_gradient, zeros_of
from talweg.prims.complex import conj, imag, real
from talweg.prims.contract import adjoint, matmul
from talweg.prims.guarded import div_no_nan
from talweg.prims.layout import concat, reshape, strided_slice
from talweg.prims.linalg.systems import (
    POSITIVE,
    RECTANGLE,
    ROOMY,
    ROOMY_COMPLEX,
    check_matrix,
    check_square,
    square_infer,
)
from talweg.prims.reduce import reduce_max, reduce_sum

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive

DIAGONALS = np.array([[1.0, -0.5, 0.3, 9], [4.0, 3, 5, 4], [9, 0.7, 1.2, -1.0]], np.float32)


def _block(x, rows: tuple, columns: tuple):
    """x[..., rows, columns] for slices given as pairs."""
    lead = x.dims[:-2]
    return strided_slice(
        x,
        begin=(*(0,) * len(lead), rows[0], columns[0]),
        end=(*lead, rows[1], columns[1]),
        strides=(1,) * len(x.dims),
    )


def _size(e):
    """Return the largest |Re| or |Im| of each matrix, [..., 1, 1], a constant; 1 if it is 0."""
    axes = (len(e.dims) - 2, len(e.dims) - 1)
    parts = (real(e), imag(e)) if e.dtype.is_complex else (e,)
    found = None
    for part in parts:
        top = reduce_max(maximum(part, -part), axes=axes, keepdims=True)
        found = top if found is None else maximum(found, top)
    return stop_gradient(cast(found, dtype=e.dtype))


def frechet(function: Primitive, x, e):
    """Return L(x, e): the derivative of `function` at x in the direction e.

    L is linear in e: a direction of size 1 is used, so that it does not change the scaling.
    """
    if any(same(n, 0) for n in x.dims):
        return e
    n, axis, size = x.dims[-1], len(x.dims) - 1, _size(e)
    top = concat(x, div_no_nan(e, size), axis=axis)
    below = concat(zeros_of(x), x, axis=axis)
    whole = function(concat(top, below, axis=axis - 1))
    return size * _block(whole, (0, n), (n, 2 * n))


@primitive
class expm:
    """y = eˣ = Σ xᵏ / k!.   ẏ = L(x, ẋ),  x̄ = L(xᴴ, ȳ).   Al-Mohy and Higham 2009."""

    operands = "x"
    tf_type = "MatrixExponential"
    infer = square_infer("expm")
    numpy = kernels.widen_kernel(kernels.exponential, 16)

    def vjp(g, y, x):
        return frechet(expm, adjoint(x), g)

    def jvp(t, y, x):
        return frechet(expm, x, t)

    batch = LEADING
    memory = "library"
    samples = (
        Sample(ROOMY),
        Sample(ROOMY_COMPLEX),
        Sample(np.stack([ROOMY, ROOMY.T])),
        Sample([0, 0]),
    )
    rejects = RECTANGLE


@primitive
class logm:
    """y = the principal logarithm of complex x: eʸ = x.   ẏ = L(x, ẋ),  x̄ = L(xᴴ, ȳ)."""

    operands = "x"
    tf_type = "MatrixLogarithm"

    def infer(x):
        check_dtype("logm", "input", x.dtype, COMPLEX)
        check_square("logm", "input", x)
        return x

    numpy = kernels.logarithm

    def vjp(g, y, x):
        return frechet(logm, adjoint(x), g)

    def jvp(t, y, x):
        return frechet(logm, x, t)

    batch = LEADING
    memory = "library"
    singular = "x with an eigenvalue on the closed negative real axis"
    samples = (
        Sample(ROOMY_COMPLEX + 3 * np.eye(2, dtype=np.complex64)),
        Sample(POSITIVE.astype(np.complex64)),
    )
    rejects = (*RECTANGLE[2:], Reject([2, 3], dtype=complex64, code="TW204"))


@primitive
class sylvester:
    """z with a z + z b = q.   With y solving aᴴ y + y bᴴ = z̄:  q̄ = y,  ā = -y zᴴ,  b̄ = -zᴴ y."""

    operands = "a b q"

    def infer(a, b, q):
        check_square("sylvester", "a", a)
        check_square("sylvester", "b", b)
        wrong = dims_differ(q.dims, (*a.dims[:-1], b.dims[-1]))
        if wrong or dims_differ(a.dims[:-2], b.dims[:-2]):
            raise invalid(
                "TW204",
                f"sylvester: a, b and q have shapes {a.dims}, {b.dims}, {q.dims}",
                "[..., m, m], [..., n, n] and [..., m, n]",
            )
        return q

    numpy = kernels.widen_kernel(kernels.sylvester_solution, 32)

    def vjp(g, z, a, b, q):
        y = sylvester(adjoint(a), adjoint(b), g)
        h = adjoint(z)
        return -matmul(y, h), -matmul(h, y), y

    def jvp(t: tuple, z, a, b, q):
        return sylvester(a, b, t[2] - matmul(t[0], z) - matmul(z, t[1]))

    batch = LEADING
    memory = "library"
    singular = "a and -b with a common eigenvalue"
    samples = (
        Sample(POSITIVE, ROOMY + 3 * np.eye(3, dtype=np.float32), [3, 3]),
        Sample(ROOMY_COMPLEX, POSITIVE.astype(np.complex64), [2, 3], dtype=complex64),
    )
    rejects = (Reject([3, 3], [2, 2], [2, 3], code="TW204"),)


@primitive
class sqrtm:
    """y = the principal square root of x; NaN where x is real and y is not.

    ẏ solves y ẏ + ẏ y = ẋ, x̄ solves yᴴ x̄ + x̄ yᴴ = ȳ.   Higham 2008, 6.1.
    """

    operands = "x"
    tf_type = "MatrixSquareRoot"
    infer = square_infer("sqrtm")
    numpy = kernels.widen_kernel(kernels.square_root, 32)

    def vjp(g, y, x):
        h = adjoint(y)
        return sylvester(h, h, g)

    def jvp(t, y, x):
        return sylvester(y, y, t)

    batch = LEADING
    memory = "library"
    singular = "x with an eigenvalue on the closed negative real axis"
    samples = (
        Sample(POSITIVE),
        Sample(np.stack([POSITIVE, POSITIVE.T + 1])),
        Sample(ROOMY_COMPLEX + 3 * np.eye(2, dtype=np.complex64)),
    )
    rejects = RECTANGLE


# -- tridiagonal matrices [..., 3, m]: superdiagonal from place 0, diagonal, subdiagonal from 1


def _up(x):
    """y[i] = x[i + 1] along the last axis but one, 0 at the end."""
    first, rest = _split(x, 1)
    return concat(rest, zeros_of(first), axis=len(x.dims) - 2)


def _down(x):
    """y[i] = x[i - 1] along the last axis but one, 0 at the start."""
    rest, last = _split(x, x.dims[-2] - 1)
    return concat(zeros_of(last), rest, axis=len(x.dims) - 2)


def _split(x, at: int):
    rows, every = x.dims[-2], (0, x.dims[-1])
    return _block(x, (0, at), every), _block(x, (at, rows), every)


def diagonals_of(d):
    """Return superdiagonal, diagonal and subdiagonal as columns [...,
    m, 1]; 0 outside the matrix.
    """
    shape = (*d.dims[:-2], d.dims[-1], 1)
    upper, middle, lower = (
        reshape(_block(d, (i, i + 1), (0, d.dims[-1])), shape=shape) for i in range(3)
    )
    return _up(_down(upper)), middle, _down(_up(lower))


def compact(upper: object, middle, lower: object):
    """Return three columns [..., m, 1] as the rows of [..., 3, m]."""
    shape = (*middle.dims[:-2], 1, middle.dims[-2])
    rows = [reshape(x, shape=shape) for x in (upper, middle, lower)]
    return concat(*rows, axis=len(shape) - 2)


def tridiagonal_product(d, x):
    """Return the product of a tridiagonal matrix with x [..., m, k], by elementwise operations."""
    if same(x.dims[-2], 0):
        return x
    upper, middle, lower = diagonals_of(d)
    return upper * _up(x) + middle * x + lower * _down(x)


@primitive
class tridiagonal_solve:
    """z with a z = b for tridiagonal a, given as d [..., 3, m]; b [..., m, k].

    With y = a⁻ᴴ z̄:  b̄ = y,  and d̄ holds the three diagonals of -y zᴴ.
    """

    operands = "d b"

    def infer(d, b):
        check_matrix("tridiagonal_solve", "diagonals", d)
        check_dtype("tridiagonal_solve", "rhs", b.dtype, {d.dtype})
        if differ(d.dims[-2], 3) or dims_differ((*d.dims[:-2], d.dims[-1]), b.dims[:-1]):
            raise invalid(
                "TW204",
                f"tridiagonal_solve: diagonals have shape {d.dims} and rhs has shape {b.dims}",
                "shapes [..., 3, m] and [..., m, k]",
            )
        return b

    numpy = kernels.widen_kernel(kernels.tridiagonal_solution)

    def vjp(g, z, d, b):
        if same(z.dims[-2], 0):
            return d, g
        upper, middle, lower = (conj(x) for x in diagonals_of(d))
        y = tridiagonal_solve(compact(_up(lower), middle, _down(upper)), g)
        axes = (len(z.dims) - 1,)
        parts = (reduce_sum(-y * conj(x), axes=axes, keepdims=True) for x in (_up(z), z, _down(z)))
        return compact(*parts), y

    def jvp(t: tuple, z, d, b):
        return tridiagonal_solve(d, t[1] - tridiagonal_product(t[0], z))

    batch = LEADING
    memory = "library"
    singular = "a of rank below full: the result is NaN"
    samples = (
        Sample(DIAGONALS, [4, 2]),
        Sample(np.stack([DIAGONALS, DIAGONALS[:, ::-1]]), [2, 4, 1]),
        Sample((DIAGONALS * (1 + 0.3j)).astype(np.complex64), [4, 1], dtype=complex64),
        Sample(DIAGONALS[:, 1:2], [1, 2]),
    )
    rejects = (Reject([2, 3], [3, 1], code="TW204"), Reject([3, 3], [2, 1], code="TW204"))
