"""Random numbers whose distribution depends on tensors: gamma, Poisson, binomial, bounded normal.

The parameters' shape is the end of the result's: `shape` says how many numbers are drawn for each
set of parameters, [k...] + [p...].  Gamma and bounded normal numbers are differentiable although
they come from rejection: a sample keeps its probability while a parameter moves (Figurnov, Mohamed
and Mnih, "Implicit reparameterization gradients", NeurIPS 2018).  Where rejection has a different
outcome the sample jumps, so finite differences for a fixed stream do not show these derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, check_dtype, elementwise, primitive
from talweg.core.dims import same
from talweg.core.dtypes import FLOATING, bfloat16, float16, float32, float64, int32, int64
from talweg.core.errors import OpError, invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.core.shapes import broadcast_dims
from talweg.kernels.random import rejection
from talweg.kernels.random.gamma_derivative import gamma_derivative as derivative_of_gamma
from talweg.kernels.random.philox import stream_of_state
from talweg.kernels.random.truncated_normal import draw_bounded_normal, standardize
from talweg.prims.arithmetic import (
    cast,
    maximum,
    minimum,
    one_like,
    select,
    stop_gradient,
    zeros_of,
)
from talweg.prims.random.streams import _STATE, BITS, check_stream
from talweg.prims.reduce import reduce_sum
from talweg.prims.special import digamma, erfc, gamma_density, igamma_by_a, in_double
from talweg.prims.transcendental import exp, log

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.dtypes import DType

COUNT = NoGradient("a count is an integer", "a continuous relaxation, or a score-function estimate")
_RATES = frozenset((float16, float32, float64, int32, int64))
_WIDE = frozenset((float16, float32, float64))
_REACH = 80.0  # deviations beyond which a bound has no effect


def _flat(x: np.ndarray, dims: Sequence[Any]):
    """Return `x` broadcast to `dims`, as a vector."""
    return np.broadcast_to(x, dims).reshape(-1)


def _spread(draw: Callable, shape: tuple, parameters: list[np.ndarray]):
    """Return [shape] + [parameters] from `draw(v1, v2, ...)`, which gives one number for each
    element.

    The numbers of one set of parameters are drawn in a row.
    """
    dims = np.broadcast_shapes(*(np.shape(p) for p in parameters))
    count = math.prod(shape)
    numbers = draw(*(np.repeat(_flat(p, dims), count) for p in parameters))
    return np.ascontiguousarray(numbers.reshape(math.prod(dims), count).T).reshape((*shape, *dims))


def _narrow(x: np.ndarray, target: np.dtype):
    """Return float64 as `target`; 16-bit floats by way of float32, as TensorFlow rounds them."""
    return (x.astype(np.float32) if target.itemsize == 2 else x).astype(target)


# -- gamma


@elementwise(
    numpy=lambda a, x: _narrow(derivative_of_gamma(*np.broadcast_arrays(a, x)), a.dtype),
    accepts=FLOATING,
    domain={"a": (0.5, 3), "x": (0.5, 3)},
    singular="a = 0",
)
class gamma_derivative:
    """z = dx/da of a gamma number x of shape a: -∂ₐP(a, x) / p,  p = xᵃ⁻¹ e⁻ˣ / Γ(a).

    With ∂ₐ log p = log x - ψ(a) and ∂ₓ log p = (a - 1)/x - 1:
    dz/dx = -∂ₐ log p - z ∂ₓ log p,  dz/da = -∂ₐ²P / p - z ∂ₐ log p.
    """

    operands = "a x"

    @in_double
    def da(z, a, x):
        a, x = a + zeros_of(x), x + zeros_of(a)
        return -igamma_by_a(a, x, order=2) / gamma_density(a, x) - z * (log(x) - digamma(a))

    @in_double
    def dx(z, a, x):
        return digamma(a) - log(x) - z * ((a - 1) / x - 1)


@primitive
class random_gamma:
    """z = gamma numbers of shape a, scale 1.   a [p...] -> z [k..., p...].

    dz/da is implicit: `gamma_derivative`.
    """

    operands = "stream a"
    tf_type = "RandomGamma"

    def infer(stream, a, *, shape):
        check_stream("random_gamma", stream)
        check_dtype("random gamma numbers", "alpha", a.dtype, _WIDE)
        return Aval(None if a.dims is None else (*shape, *a.dims), a.dtype)

    def numpy(stream, a, *, shape):
        start = stream_of_state(stream)
        wide = np.asarray(a).astype(np.float64)
        found = _spread(lambda v: rejection.gamma(start, v), shape, [wide])
        return _narrow(found, a.dtype)

    def vjp(g, z, stream, a, *, shape):
        moved = g * gamma_derivative(a, z)
        return None, reduce_sum(moved, axes=tuple(range(len(shape))), keepdims=False)

    def jvp(t: tuple, z, stream, a, *, shape):
        return gamma_derivative(a, z) * t[1]

    no_gradient = {"stream": BITS}
    batch = LOOP
    memory = "map"
    domain = {"a": (0.5, 3)}
    # for a fixed stream finite differences see the rejection, not the distribution
    samples = (
        Sample(_STATE, [3], shape=(2,), skip=("forward", "second")),
        Sample(_STATE, [2, 2], shape=(), skip=("forward", "second")),
        Sample(_STATE, [], shape=(0,), skip=("forward", "second")),
    )
    rejects = (
        Reject(_STATE, np.array([2]), shape=(2,), code="TW102"),
        Reject(np.ones(2, np.uint64), [2], shape=(2,), code="TW205"),
    )


# -- counts


def _counts(found: np.ndarray, dtype: DType):
    """Return counts as `dtype`; InvalidArgumentError for those no integer can be."""
    target = dtype.numpy_dtype
    if target.kind == "i" and not np.isfinite(found).all():
        raise invalid("TW209", "A count is not finite, since a parameter is not")
    return _narrow(found, target) if target.kind == "f" else found.astype(target)


@primitive
class random_poisson:
    """z = Poisson numbers of mean r.   r [p...] -> z [k..., p...]."""

    operands = "stream r"
    tf_type = "RandomPoissonV2"

    def infer(stream, r, *, shape, dtype):
        check_stream("random_poisson", stream)
        check_dtype("random Poisson numbers", "lam", r.dtype, _RATES)
        check_dtype("random Poisson numbers", "the result", dtype, _RATES)
        return Aval(None if r.dims is None else (*shape, *r.dims), dtype)

    def numpy(stream, r, *, shape, dtype):
        start, largest = stream_of_state(stream), float(dtype.max)

        def draw(rate: np.ndarray):
            return rejection.poisson(start, rate, largest)

        return _counts(_spread(draw, shape, [np.asarray(r).astype(np.float64)]), dtype)

    no_gradient = {"stream": BITS, "r": COUNT}
    batch = LOOP
    memory = "map"
    domain = {"r": (0.5, 20)}
    samples = (
        Sample(_STATE, [3], shape=(2,), dtype_=float32),
        Sample(_STATE, [], shape=(), dtype_=int32),
        Sample(_STATE, [0], shape=(3,), dtype_=int64),
    )
    rejects = (
        Reject(_STATE, np.array([1j]), shape=(2,), dtype_=float32, code="TW102"),
        Reject(_STATE, [2], shape=(2,), dtype_=bfloat16, code="TW102"),
        Reject(_STATE, np.array([np.nan]), shape=(2,), dtype_=int32, code="TW209"),
    )


@primitive
class random_binomial:
    """z = successes in n trials of probability p.   n, p [p...] (broadcast) -> z [k..., p...]."""

    operands = "stream n p"
    tf_type = "StatefulRandomBinomial"

    def infer(stream, n, p, *, shape, dtype):
        check_stream("random_binomial", stream)
        check_dtype("random binomial numbers", "counts", n.dtype, _WIDE)
        check_dtype("random binomial numbers", "probs", p.dtype, {n.dtype})
        check_dtype("random binomial numbers", "the result", dtype, _RATES)
        return Aval((*shape, *_broadcast("random_binomial", n, p)), dtype)

    def numpy(stream, n, p, *, shape, dtype):
        start = stream_of_state(stream)

        def draw(count: np.ndarray, chance: np.ndarray):
            return rejection.binomial(start, count, chance)

        return _counts(_spread(draw, shape, [n, p]), dtype)

    no_gradient = {"stream": BITS, "n": COUNT, "p": COUNT}
    batch = LOOP
    memory = "map"
    domain = {"n": (0.5, 30), "p": (0.1, 0.9)}
    samples = (
        Sample(_STATE, [3], [3], shape=(2,), dtype_=float32),
        Sample(_STATE, [2, 1], [3], shape=(), dtype_=int32),
    )
    rejects = (
        Reject(_STATE, [3], [2], shape=(), dtype_=int32, code="TW201"),
        Reject(_STATE, np.array([3]), [1], shape=(), dtype_=int32, code="TW102"),
        Reject(_STATE, [3], np.array([0.5]), shape=(), dtype_=int32, code="TW102"),
        Reject(_STATE, np.array([np.nan], "f4"), [1], shape=(), dtype_=int32, code="TW209"),
    )


def _broadcast(name: str, *operands: object):
    from_dims = [operand.dims for operand in operands]
    try:
        return broadcast_dims(name, *from_dims)
    except OpError:
        shapes = ", ".join(str(list(dims)) for dims in from_dims)
        raise invalid(
            "TW201", f"{name}: the parameters' shapes {shapes} do not broadcast"
        ) from None


# -- normal numbers between bounds


def _bounds(mean, deviation, low, high):
    """Return the sets of parameters, standardised;
    InvalidArgumentError for those that make no sense.
    """
    dims = np.broadcast_shapes(*(np.shape(v) for v in (mean, deviation, low, high)))
    found = []
    for numbers in zip(*(_flat(v, dims) for v in (mean, deviation, low, high))):
        these = standardize(*numbers)
        if these is None:
            mean, deviation, low, high = (float(number) for number in numbers)
            raise invalid(
                "TW207",
                f"Invalid parameters: mean={mean}, stddev={deviation}, minval={low}, maxval={high}",
                "stddev > 0, minval < maxval, and one of these finite",
            )
        found.append(these)
    return found, dims


def _weights(z, mean, deviation, low, high):
    """Return ∂z/∂low and ∂z/∂high, and low and high in deviations, in float64.

    In deviations from the mean, (Φ(x) - Φ(a)) / (Φ(b) - Φ(a)) stays as it is while a and b move, so
    ∂x/∂a = φ(a)/φ(x) (Φ(b) - Φ(x)) / (Φ(b) - Φ(a)) and ∂x/∂b = φ(b)/φ(x) (Φ(x) - Φ(a)) / (...).
    Differences of Φ are taken on the side of the mean where it is small.
    """
    mean, deviation, low, high, z = (
        cast(v, dtype=float64) for v in (mean, deviation, low, high, z)
    )
    x = (z - mean) / deviation
    centre = stop_gradient(x)
    a = maximum((low - mean) / deviation, centre - _REACH)
    b = minimum((high - mean) / deviation, centre + _REACH)
    side = select(a + b >= 0, one_like(centre), -one_like(centre))

    def between(left, right):
        return side * (erfc(side * left / math.sqrt(2)) - erfc(side * right / math.sqrt(2)))

    whole = between(a, b)
    by_low = exp((x * x - a * a) * 0.5) * between(x, b) / whole
    by_high = exp((x * x - b * b) * 0.5) * between(a, x) / whole
    return x, a, b, by_low, by_high


def _partials(z: object, mean: object, deviation: object, low: object, high: object):
    """Return ∂z by each of the four parameters, in float64.
    Shifting all moves z; so does scaling.
    """
    x, a, b, by_low, by_high = _weights(z, mean, deviation, low, high)
    return 1 - by_low - by_high, x - a * by_low - b * by_high, by_low, by_high


def _unbroadcast(g, dims: Sequence[Any]):
    """Return the sum of g over what broadcasting a tensor of `dims` to g's shape has repeated."""
    extra = len(g.dims) - len(dims)
    g = reduce_sum(g, axes=tuple(range(extra)), keepdims=False)
    axes = tuple(i for i, size in enumerate(dims) if same(size, 1) and not same(g.dims[i], 1))
    return reduce_sum(g, axes=axes, keepdims=True)


@primitive
class random_bounded_normal:
    """z = normal numbers within [low, high].   Parameters [p...] (broadcast) -> z [k..., p...].

    The derivatives are implicit; see `_weights`.
    """

    operands = "stream mean deviation low high"
    tf_type = "ParameterizedTruncatedNormal"

    def infer(stream, mean, deviation, low, high, *, shape):
        check_stream("random_bounded_normal", stream)
        check_dtype("parameterized_truncated_normal", "means", mean.dtype, _WIDE)
        for operand, value in (("stddevs", deviation), ("minvals", low), ("maxvals", high)):
            check_dtype("parameterized_truncated_normal", operand, value.dtype, {mean.dtype})
        dims = _broadcast("parameterized_truncated_normal", mean, deviation, low, high)
        return Aval((*shape, *dims), mean.dtype)

    def numpy(stream, mean, deviation, low, high, *, shape):
        bounds, dims = _bounds(mean, deviation, low, high)
        start, count = stream_of_state(stream), math.prod(shape)
        return draw_bounded_normal(start, bounds, count, mean.dtype).reshape((*shape, *dims))

    def vjp(g, z, stream, mean, deviation, low, high, *, shape):
        parameters = mean, deviation, low, high
        wide = cast(g, dtype=float64)
        return None, *(
            cast(_unbroadcast(wide * partial, v.dims), dtype=v.dtype)
            for partial, v in zip(_partials(z, *parameters), parameters)
        )

    def jvp(t: tuple, z, stream, mean, deviation, low, high, *, shape):
        partials = _partials(z, mean, deviation, low, high)
        moved = [partial * cast(v, dtype=float64) for partial, v in zip(partials, t[1:])]
        return cast(moved[0] + moved[1] + moved[2] + moved[3], dtype=z.dtype)

    no_gradient = {"stream": BITS}
    batch = LOOP
    memory = "map"
    domain = {"mean": (-1, 1), "deviation": (0.5, 2), "low": (-4, -1), "high": (1, 3)}
    samples = (
        Sample(_STATE, [2], [2], [2], [2], shape=(3,), skip=("forward", "second")),
        Sample(_STATE, [2, 1], [], [3], [1], shape=(), skip=("forward", "second")),
    )
    rejects = (
        Reject(_STATE, [], [], np.float32(2), [], shape=(2,), code="TW207"),
        Reject(_STATE, [2], [3], [], [], shape=(), code="TW201"),
        Reject(_STATE, np.array(1), [], [], [], shape=(), code="TW102"),
        Reject(_STATE, [], np.array(1.0), [], [], shape=(), code="TW102"),
    )
