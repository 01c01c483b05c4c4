"""Learning rates that change with the step.

In a graph each function gives a tensor; in eager mode, as in TensorFlow, a function of nothing that
gives the rate for the present value of the step.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.export import export, look_up
from talweg.core import dispatch
from talweg.core.dtypes import int32, int64
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.prims.arithmetic import cast, equal, less_equal, minimum, pow_, select, sqrt
from talweg.prims.rounding import ceil, floor
from talweg.prims.transcendental import cos, exp, log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import DTypeLike, TensorLike
    from talweg.eager.graph_variable import GraphVariable

Rate = Any  # a tensor, or in eager mode a function that gives one


def _now_or_later(compute: Callable[[], Any]) -> Rate:
    """Return the rate in a graph; what computes it in eager mode."""
    return compute if dispatch.context.base is None else compute()


def _needs_step(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function; ValueError if it is called without a step."""

    @functools.wraps(function)
    def compute_rate(
        learning_rate: float, global_step: GraphVariable, *args: object, **kwargs: object
    ) -> Rate:
        if global_step is None:
            raise value_error("TW207", f"global_step is required for {function.__name__}.")
        return _now_or_later(lambda: function(learning_rate, global_step, *args, **kwargs))

    return compute_rate


def _as(dtype: object, value: object) -> Any:
    """Return a number, tensor or variable as a tensor of a dtype."""
    if isinstance(value, (int, float)):
        return tensor(value, dtype)
    value = tensor(value)
    return value if value.dtype is dtype else cast(value, dtype=dtype)


def _progress(rate: Tensor, global_step: object, decay_steps: object, staircase: bool) -> Any:
    p = _as(rate.dtype, global_step) / _as(rate.dtype, decay_steps)
    return floor(p) if staircase else p


@export("compat.v1.train.exponential_decay")
@_needs_step
def exponential_decay(
    learning_rate: TensorLike | Callable[..., Any],
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Rate:
    """Return learning_rate * decay_rate ** (global_step / decay_steps); with `staircase` whole
    powers.

    ValueError without a global_step.

    >>> import talweg.compat.v1 as tf
    >>> tf.train.exponential_decay(1.0, 20, 10, 0.5)().numpy()
    np.float32(0.25)
    """
    rate = tensor(learning_rate)
    p = _progress(rate, global_step, decay_steps, staircase)
    return rate * pow_(_as(rate.dtype, decay_rate), p)


@export("compat.v1.train.natural_exp_decay")
@_needs_step
def natural_exp_decay(
    learning_rate: TensorLike | Callable[..., Any],
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Rate:
    """Return learning_rate * exp(-decay_rate * global_step / decay_steps); with `staircase` in
    stairs.

    ValueError without a global_step.

    >>> import talweg.compat.v1 as tf
    >>> tf.train.natural_exp_decay(1.0, 0, 10, 0.5)().numpy()
    np.float32(1.0)
    """
    rate = tensor(learning_rate)
    p = _progress(rate, global_step, decay_steps, staircase)
    return rate * exp(-_as(rate.dtype, decay_rate) * p)


@export("compat.v1.train.inverse_time_decay")
@_needs_step
def inverse_time_decay(
    learning_rate: TensorLike | Callable[..., Any],
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Rate:
    """Return learning_rate / (1 + decay_rate * global_step / decay_steps); with `staircase` in
    stairs.

    ValueError without a global_step.

    >>> import talweg.compat.v1 as tf
    >>> tf.train.inverse_time_decay(1.0, 20, 10, 0.5)().numpy()
    np.float32(0.5)
    """
    rate = tensor(learning_rate)
    p = _progress(rate, global_step, decay_steps, staircase)
    return rate / (1 + _as(rate.dtype, decay_rate) * p)


@export("compat.v1.train.polynomial_decay")
@_needs_step
def polynomial_decay(
    learning_rate: TensorLike | Callable[..., Any],
    global_step: TensorLike,
    decay_steps: TensorLike,
    end_learning_rate: TensorLike = 0.0001,
    power: TensorLike = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Rate:
    """Go from learning_rate to end_learning_rate along (1 - global_step / decay_steps) ** power.

    With `cycle` it starts again behind the end, in as many more steps.  ValueError without a
    global_step.

    >>> import talweg.compat.v1 as tf
    >>> tf.train.polynomial_decay(1.0, 5, 10, 0.0)().numpy()
    np.float32(0.5)
    """
    rate = tensor(learning_rate)
    dtype = rate.dtype
    step, steps, end = (_as(dtype, x) for x in (global_step, decay_steps, end_learning_rate))
    if cycle:
        one = tensor(1, dtype)
        steps = steps * select(equal(step, 0), one, ceil(step / steps))
    else:
        step = minimum(step, steps)
    return (rate - end) * pow_(1 - step / steps, _as(dtype, power)) + end


@export("compat.v1.train.piecewise_constant", "compat.v1.train.piecewise_constant_decay")
def piecewise_constant(
    x: TensorLike, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Rate:
    """Return values[0] while x <= boundaries[0], values[1] while x <= boundaries[1], ..., then the
    last.

    ValueError unless there is one value more than boundaries, or where dtypes differ.

    >>> import talweg.compat.v1 as tf
    >>> tf.train.piecewise_constant(5, [4], [1.0, 0.1])().numpy()
    np.float32(0.1)
    """
    boundaries, values = list(boundaries), list(values)
    if len(boundaries) != len(values) - 1:
        raise value_error(
            "TW207", "The length of boundaries should be 1 less than the length of values"
        )

    def compute() -> Any:
        step = tensor(x)
        limits = [_limit(limit, step.dtype) for limit in boundaries]
        rates = [tensor(value) for value in values]
        for rate in rates[1:]:
            if rate.dtype is not rates[0].dtype:
                raise value_error(
                    "TW102",
                    f"Values must have elements all with the same dtype ({rates[0].dtype} "
                    f"vs {rate.dtype}).",
                )
        result = rates[-1]
        for limit, rate in zip(reversed(limits), reversed(rates[:-1])):
            result = select(less_equal(step, limit), rate, result)
        return result

    return _now_or_later(compute)


def _limit(limit: object, dtype: object) -> Any:
    """Return a boundary in the dtype of the step; ValueError if it does not fit."""
    limit = tensor(limit)
    if limit.dtype is dtype:
        return limit
    if limit.dtype is int32 and dtype is int64:
        return cast(limit, dtype=dtype)
    raise value_error(
        "TW102", f"Boundaries ({limit.dtype}) must have the same dtype as x ({dtype})."
    )


def _half_wave(fraction: Any) -> Any:
    """Fall from 1 at 0 down to 0 at 1, along half a cosine."""
    return 0.5 * (1 + cos(math.pi * fraction))


@export("compat.v1.train.cosine_decay")
@_needs_step
def cosine_decay(
    learning_rate: TensorLike | Callable[..., Any],
    global_step: TensorLike,
    decay_steps: TensorLike,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Rate:
    """Go from learning_rate to alpha * learning_rate along half a cosine.

    Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.
    ValueError without a global_step.

    >>> import talweg.compat.v1 as tf
    >>> tf.train.cosine_decay(1.0, 10, 10, 0.25)().numpy()
    np.float32(0.25)
    """
    rate = tensor(learning_rate)
    step, steps = _as(rate.dtype, global_step), _as(rate.dtype, decay_steps)
    wave = _half_wave(minimum(step, steps) / steps)
    return rate * ((1 - alpha) * wave + alpha)


@export("compat.v1.train.cosine_decay_restarts")
@_needs_step
def cosine_decay_restarts(
    learning_rate: TensorLike | Callable[..., Any],
    global_step: TensorLike,
    first_decay_steps: TensorLike,
    t_mul: TensorLike = 2.0,
    m_mul: TensorLike = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Rate:
    """Return cosine decay that starts again, each time `t_mul` as long and from `m_mul` as high.

    Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017.
    ValueError without a global_step.

    >>> import talweg.compat.v1 as tf
    >>> tf.train.cosine_decay_restarts(1.0, 10, 10)().numpy()
    np.float32(1.0)
    """
    rate = tensor(learning_rate)
    dtype = rate.dtype
    done = _as(dtype, global_step) / _as(dtype, first_decay_steps)
    if isinstance(t_mul, Tensor):
        t = _as(dtype, t_mul)
        once = equal(t, 1)
        number, rest = _growing(done, select(once, t + 1, t))
        number = select(once, floor(done), number)
        rest = select(once, done - floor(done), rest)
    elif t_mul == 1:
        number = floor(done)
        rest = done - number
    else:
        number, rest = _growing(done, _as(dtype, t_mul))
    wave = pow_(_as(dtype, m_mul), number) * _half_wave(rest)
    return rate * ((1 - alpha) * wave + alpha)


def _growing(done: Any, t: Any) -> tuple[Any, Any]:
    """Count the finished periods, each t times the one before; also the part done of this one."""
    number = floor(log(1 - done * (1 - t)) / log(t))
    length = pow_(t, number)
    return number, (done - (1 - length) / (1 - t)) / length


@export("compat.v1.train.linear_cosine_decay")
@_needs_step
def linear_cosine_decay(
    learning_rate: TensorLike | Callable[..., Any],
    global_step: TensorLike,
    decay_steps: TensorLike,
    num_periods: TensorLike = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Rate:
    """Return learning_rate * ((alpha + line) * wave + beta): a line down to 0, and half cosine
    waves.

    Bello, Zoph, Vasudevan, Le, "Neural optimizer search with reinforcement learning", 2017.
    ValueError without a global_step.

    >>> import talweg.compat.v1 as tf
    >>> tf.train.linear_cosine_decay(1.0, 10, 10, beta=0.5)().numpy()
    np.float32(0.5)
    """
    rate = tensor(learning_rate)
    line, wave, _ = _line_and_wave(rate.dtype, global_step, decay_steps, num_periods)
    return rate * ((alpha + line) * wave + beta)


def _line_and_wave(
    dtype: DTypeLike, global_step: object, decay_steps: object, num_periods: object
) -> tuple:
    steps = _as(dtype, decay_steps)
    step = minimum(_as(dtype, global_step), steps)
    wave = _half_wave(2 * _as(dtype, num_periods) * step / steps)
    return (steps - step) / steps, wave, step


@export("compat.v1.train.noisy_linear_cosine_decay")
@_needs_step
def noisy_linear_cosine_decay(
    learning_rate: TensorLike | Callable[..., Any],
    global_step: TensorLike,
    decay_steps: TensorLike,
    initial_variance: TensorLike = 1.0,
    variance_decay: TensorLike = 0.55,
    num_periods: TensorLike = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Rate:
    """Call `linear_cosine_decay` with normal noise on the line, of variance
    initial_variance / (1 + global_step) ** variance_decay.

    Bello, Zoph, Vasudevan, Le, "Neural optimizer search with reinforcement learning", 2017.
    ValueError without a global_step.

    >>> import talweg.compat.v1 as tf
    >>> tf.train.noisy_linear_cosine_decay(1.0, 10, 10, initial_variance=0.0, beta=0.5)().numpy()
    np.float32(0.5)
    """
    rate = tensor(learning_rate)
    dtype = rate.dtype
    line, wave, step = _line_and_wave(dtype, global_step, decay_steps, num_periods)
    variance = _as(dtype, initial_variance) / pow_(1 + step, _as(dtype, variance_decay))
    noise = look_up("random.normal")(line.shape, dtype=dtype) * sqrt(variance)
    return rate * ((alpha + line + noise) * wave + beta)
