"""Cumulative sums, products and log-sum-exps along one axis.

`exclusive` leaves an element out of its own result, `reverse` starts from the end.  The derivatives
of products and log-sum-exps are first-order linear recurrences, whose derivatives are recurrences
again, so they are exact where elements are zero, and to any order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import check_dtype, primitive
from talweg.core.dims import dims_differ
from talweg.core.dtypes import FLOATING, NUMERIC
from talweg.core.errors import invalid
from talweg.core.primitive import Reject, Sample, later
from talweg.core.shapes import merge_equal_shapes
from talweg.prims.arithmetic import greater, select, zeros_of
from talweg.prims.layout import batch_to_front, reverse, strided_slice, unslice
from talweg.prims.reduce import conjugate
from talweg.prims.transcendental import exp

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.dtypes import DType

FORWARD = {"axis": 0, "exclusive": False, "reverse": False}
SAMPLES = (
    Sample([4], **FORWARD),
    Sample([2, 5], axis=1, exclusive=True, reverse=False),
    Sample([3, 2], axis=0, exclusive=False, reverse=True),
    Sample([7], axis=0, exclusive=True, reverse=True),
    Sample([1, 2], **FORWARD),
    Sample([0, 2], **FORWARD),
)


def _infer(name: str, accepts: frozenset[DType]):
    def infer(x, *, axis: int, exclusive: bool, reverse: bool):
        check_dtype(name, "x", x.dtype, accepts)
        return Aval(x.dims, x.dtype)

    return infer


def _batch(name: str):
    def batch(size: int, batched: tuple, x: object, *, axis: int, exclusive: bool, reverse: bool):
        return later(name)(x, axis=axis + 1, exclusive=exclusive, reverse=reverse)

    return batch


def _kernel(ufunc, start: float):
    """Return the scan by `ufunc`,
    which has `start` as its neutral element; 16-bit floats in float32.
    """

    def kernel(x: np.ndarray, *, axis: int, exclusive: bool, reverse: bool):
        dtype = x.dtype
        if dtype.itemsize == 2 and dtype.kind not in "iu":
            x = x.astype(np.float32)
        if reverse:
            x = np.flip(x, axis)
        if exclusive:
            result = np.full(x.shape, start, x.dtype)
            before = _along(axis, x.ndim, slice(None, -1))
            ufunc.accumulate(x[before], axis, out=result[_along(axis, x.ndim, slice(1, None))])
        else:
            result = ufunc.accumulate(x, axis, x.dtype)
        return (np.flip(result, axis) if reverse else result).astype(dtype, copy=False)

    return kernel


def _scan_rule(step: Callable, start: float):
    """Make the rule that compiles a scan; `step(s, carried, x)` is the next carried value."""

    def scan(s, x: object, *, axis: object, exclusive: object, reverse: object):
        def forward(carried: object, _: object, element: object):
            return step(s, carried, element)

        return s.scan(axis, forward, start=start, exclusive=exclusive, reverse=reverse)

    return scan


def _along(axis: object, rank: int, bounds: slice):
    return tuple(bounds if i == axis else slice(None) for i in range(rank))


# -- pieces of an axis


def part(x, axis: int, start, stop):
    """Return x[start:stop] along an axis."""
    begin, end = [0] * len(x.dims), list(x.dims)
    begin[axis], end[axis] = start, stop
    return strided_slice(x, begin=tuple(begin), end=tuple(end), strides=(1,) * len(begin))


def shift(x, axis: int, by):
    """Return x moved by `by` places along an axis (backward if negative); zeros move in."""
    size = x.dims[axis]
    if type(size) is int and size <= abs(by):
        return zeros_of(x)
    begin, end = [0] * len(x.dims), list(x.dims)
    begin[axis], end[axis] = max(by, 0), size + min(by, 0)
    moving = part(x, axis, max(-by, 0), size - max(by, 0))
    ones = (1,) * len(begin)
    return unslice(moving, begin=tuple(begin), end=tuple(end), strides=ones, shape=x.dims)


@primitive
class linear_recurrence:
    """s with sᵢ = bᵢ + aᵢ sᵢ₋₁ along an axis (a₀ is not used).

    With b̄ᵢ = s̄ᵢ + aᵢ₊₁ b̄ᵢ₊₁, a recurrence from the other end:  āᵢ = b̄ᵢ sᵢ₋₁.

    By doubling: after the step of width w, bᵢ is the sum of the last 2w terms and aᵢ the product of
    the last 2w factors, as composition of affine maps is associative.  Blelloch 1990, "Prefix sums
    and their applications", 1.4.
    """

    operands = "a b"

    def infer(a, b, *, axis):
        check_dtype("linear_recurrence", "a", a.dtype, NUMERIC)
        check_dtype("linear_recurrence", "b", b.dtype, {a.dtype})
        if dims_differ(a.dims, b.dims):
            raise invalid("TW204", f"linear_recurrence: a has shape {a.dims}, b {b.dims}")
        return Aval(merge_equal_shapes(b.dims, a.dims), b.dtype)

    def numpy(a, b, *, axis):
        factors, sums = np.array(a), np.array(b)
        size, width = b.shape[axis], 1
        while width < size:
            after = _along(axis, b.ndim, slice(width, None))
            before = _along(axis, b.ndim, slice(None, size - width))
            sums[after] += factors[after] * sums[before]
            factors[after] = factors[after] * factors[before]
            width *= 2
        return sums

    def vjp(g, s, a, b, *, axis):
        a, before = conjugate(a), conjugate(shift(s, axis, 1))
        gb = linear_recurrence(_flip(shift(a, axis, -1), axis), _flip(g, axis), axis=axis)
        gb = _flip(gb, axis)
        return lambda: gb * before, gb

    def jvp(t: tuple, s, a, b, *, axis):
        return linear_recurrence(a, t[1] + t[0] * shift(s, axis, 1), axis=axis)

    def batch(size, batched, a, b, *, axis):
        a, b = (batch_to_front(size, x, own) for x, own in zip((a, b), batched))
        return linear_recurrence(a, b, axis=axis + 1)

    def scan(s: Any, a, b, *, axis):
        def step(carried, number, factor, term):
            return s.select(s.first(number), term, term + factor * carried)

        return s.scan(axis, step)

    call = "scan"
    memory = "scan"
    samples = (
        Sample([5], [5], axis=0),
        Sample([2, 3], [2, 3], axis=1),
        Sample([1, 2], [1, 2], axis=0),
        Sample([0], [0], axis=0),
    )
    rejects = (
        Reject([3], [4], axis=0, code="TW204"),
        Reject(np.array([True]), np.array([True]), axis=0, code="TW102"),
    )


# -- the three scans


@primitive
class cumsum:
    """yᵢ = Σⱼ≤ᵢ xⱼ along an axis.   x̄ is the cumulative sum of ȳ from the other end."""

    operands = "x"
    tf_attributes = "scan"
    infer = _infer("cumsum", NUMERIC)
    numpy = _kernel(np.add, 0)

    def transpose_x(g, x, *, axis, exclusive, reverse):
        return cumsum(g, axis=axis, exclusive=exclusive, reverse=not reverse)

    scan = _scan_rule(lambda s, carried, x: carried + x, 0)
    call = "scan"
    batch = _batch("cumsum")
    memory = "scan"
    xla = "cumsum"
    samples = SAMPLES
    rejects = (Reject(np.array([True]), code="TW102", **FORWARD),)


def _facing(rule: Callable):
    """Return `rule(v, y, x, axis, exclusive)`,
    written for a scan from the start, for both directions.
    """

    def apply(v, y, x, *, axis: int, exclusive: bool, reverse: bool):
        if not reverse:
            return rule(v, y, x, axis, exclusive)
        v, y, x = (_flip(value, axis) for value in (v, y, x))
        return _flip(rule(v, y, x, axis, exclusive), axis)

    return apply


def _flip(x: object, axis: int):
    return reverse(x, axes=(axis,))


def _cumprod_vjp(g: object, y: object, x: object, axis: int, exclusive: bool):
    """x̄ₖ = (Πⱼ<ₖ xⱼ) sₖ with sₖ = Σᵢ≥ₖ ȳᵢ Πₖ<ⱼ≤ᵢ xⱼ = ȳₖ + xₖ₊₁ sₖ₊₁."""
    x = conjugate(x)
    before = cumprod(x, axis=axis, exclusive=True, reverse=False)
    g = shift(g, axis, -1) if exclusive else g
    sums = linear_recurrence(shift(_flip(x, axis), axis, 1), _flip(g, axis), axis=axis)
    return before * _flip(sums, axis)


def _cumprod_jvp(t: object, y: object, x: object, axis: int, exclusive: bool):
    """ẏᵢ = ẋᵢ Πⱼ<ᵢ xⱼ + xᵢ ẏᵢ₋₁."""
    before = cumprod(x, axis=axis, exclusive=True, reverse=False)
    t = linear_recurrence(x, t * before, axis=axis)
    return shift(t, axis, 1) if exclusive else t


@primitive
class cumprod:
    """yᵢ = Πⱼ≤ᵢ xⱼ along an axis; the derivatives are linear recurrences, exact at zeros."""

    operands = "x"
    tf_attributes = "scan"
    infer = _infer("cumprod", NUMERIC)
    numpy = _kernel(np.multiply, 1)
    vjp = _facing(_cumprod_vjp)
    jvp = _facing(_cumprod_jvp)
    scan = _scan_rule(lambda s, carried, x: carried * x, 1)
    call = "scan"
    batch = _batch("cumprod")
    memory = "scan"
    xla = "cumprod"
    samples = (*SAMPLES, Sample(np.array([2, 0, 3, 0, 5], np.float32), **FORWARD))
    rejects = (Reject(np.array([True]), code="TW102", **FORWARD),)


def _decay(x, y):
    """Return eˣ⁻ʸ for x <= y, and 0 where x is -inf."""
    lowest = select(greater(x, zeros_of(x) - np.inf), x - y, zeros_of(x) - np.inf)
    return exp(lowest)


def _logsumexp_vjp(g: object, y: object, x: object, axis: int, exclusive: bool):
    """x̄ₖ = Σᵢ≥ₖ ȳᵢ eˣₖ⁻ʸᵢ = eˣₖ⁻ʸₖ sₖ with sₖ = ȳₖ + eʸₖ⁻ʸₖ₊₁ sₖ₊₁; no factor exceeds 1."""
    if exclusive:
        y = cumulative_logsumexp(x, axis=axis, exclusive=False, reverse=False)
        g = shift(g, axis, -1)
    y = _flip(y, axis)
    sums = linear_recurrence(_decay(y, shift(y, axis, 1)), _flip(g, axis), axis=axis)
    return _decay(x, _flip(y, axis)) * _flip(sums, axis)


def _logsumexp_jvp(t: object, y: object, x: object, axis: int, exclusive: bool):
    """ẏᵢ = ẋᵢ eˣᵢ⁻ʸᵢ + eʸᵢ₋₁⁻ʸᵢ ẏᵢ₋₁."""
    if exclusive:
        y = cumulative_logsumexp(x, axis=axis, exclusive=False, reverse=False)
    t = linear_recurrence(_decay(shift(y, axis, 1), y), _decay(x, y) * t, axis=axis)
    return shift(t, axis, 1) if exclusive else t


def _add_logarithms(s, x, y):
    """Return ln(eˣ + eʸ)."""
    apart = s.maximum(x, y) + s.log1p(s.exp(-s.abs(x - y)))
    return s.select(s.equal(x, y), x + math.log(2), apart)


@primitive
class cumulative_logsumexp:
    """yᵢ = ln Σⱼ≤ᵢ eˣⱼ along an axis, without overflow; -inf for an empty sum."""

    operands = "x"
    infer = _infer("cumulative_logsumexp", FLOATING)
    numpy = _kernel(np.logaddexp, -np.inf)
    vjp = _facing(_logsumexp_vjp)
    jvp = _facing(_logsumexp_jvp)
    scan = _scan_rule(_add_logarithms, -np.inf)
    call = "scan"
    batch = _batch("cumulative_logsumexp")
    memory = "scan"
    # The first result of an exclusive scan is -inf, of which no finite difference can be taken.
    samples = tuple(s for s in SAMPLES if not s.params["exclusive"])
    rejects = (Reject(np.array([1, 2], np.int32), code="TW102", **FORWARD),)
