"""tf.nn: dropout.  Srivastava et al. 2014, "Dropout: a simple way to prevent overfitting"."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import integers, tensor
from talweg.api.export import export
from talweg.api.random.stateful import uniform
from talweg.api.random.stateless import stateless_uniform
from talweg.core.dims import differ, same_dims
from talweg.core.dtypes import int32
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.eager.variable import Variable
from talweg.graph.symbol import Symbol, constant_of
from talweg.prims.arithmetic import greater_equal, select, zeros_of
from talweg.prims.layout import broadcast_to
from talweg.prims.state import shape_of

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike
    from talweg.core.dtypes import DType

Sampler = Callable[[Any, Any], Tensor]


def _drop(x: Any, rate: Any, noise_shape: object, sample: Sampler, function: str) -> Tensor:
    """Compute x / (1 - rate) where a uniform number is at least `rate`, 0 elsewhere."""
    x = tensor(x)
    if not x.dtype.is_floating:
        raise value_error(
            "TW102",
            f"{function}: x has dtype {x.dtype.name}",
            "a floating dtype, since the elements that stay are scaled",
        )
    divisor = _divisor(rate, x.dtype)
    rate = _check_rate(rate, x, function)
    shape = _noise_shape(noise_shape, x, function)
    if type(rate) is float and rate == 0.0:
        return x
    keep = greater_equal(tensor(sample(shape, x.dtype)), rate)
    scaled = x * (1.0 / (1.0 - rate)) if divisor is None else x / divisor
    if type(shape) is tuple and not same_dims(shape, x.dims):
        keep = broadcast_to(keep, shape=x.dims)
    return select(keep, scaled, zeros_of(x))


def _divisor(rate: Any, dtype: DType) -> Any:
    """Return 1 - rate of a tensor, by which TensorFlow divides; None for a number."""
    if isinstance(rate, (Tensor, Variable)) and not rate.shape.rank and rate.dtype is dtype:
        return 1.0 - rate
    return None


def _check_rate(rate: Any, x: Tensor, function: str) -> Any:
    """Check the rate: a float, or a tensor where only running the graph tells it."""
    if isinstance(rate, Variable):
        rate = rate.value()
    if not isinstance(rate, (Tensor, float, int)) and np.ndim(rate):
        rate = tensor(rate)
    if rate is None or (isinstance(rate, Tensor) and rate.shape.rank):
        given = rate if rate is None else f"of shape {rate.shape}"
        raise value_error("TW203", f"{function}: `rate` must be a scalar tensor, not {given}")
    if type(rate) is Symbol and constant_of(rate.node) is None:
        if rate.dtype is not x.dtype:
            raise value_error(
                "TW102", f"{function}: rate has dtype {rate.dtype.name} and x {x.dtype.name}"
            )
        return rate
    number = float(rate._array if type(rate) is Symbol else rate)
    if not 0 <= number < 1:
        raise value_error("TW207", f"{function}: rate={number}", "a number in [0, 1)")
    return number


def _noise_shape(noise_shape: object, x: Tensor, function: str) -> Any:
    """Return the shape of the choices:
    sizes, or a tensor of them where x has a rank nobody knows.
    """
    if noise_shape is None:
        return shape_of(x, dtype=int32) if x.shape.rank is None else x.dims
    if isinstance(noise_shape, (list, tuple)) and len(noise_shape) == x.shape.rank:
        noise_shape = [n if s is None else s for s, n in zip(noise_shape, x.dims)]
    shape = integers(noise_shape, function, "noise_shape")
    if type(shape) is tuple and x.shape.rank is not None:
        sizes = zip(reversed(shape), reversed(x.dims))
        if len(shape) > len(x.dims) or any(differ(n, 1) and differ(n, size) for n, size in sizes):
            raise invalid(
                "TW201", f"{function}: noise_shape {shape}, x has shape {x.dims}", "what broadcasts"
            )
    return shape


@export("nn.dropout")
def dropout(
    x: object,
    rate: object,
    noise_shape: object = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return `x` with each element set to 0 with probability `rate`, the others divided by 1 -
    rate.

    x: a floating tensor of any shape.  noise_shape: the shape of the random choices, which
    broadcasts to x's; None takes x's own.  ValueError for other dtypes and for a rate outside
    [0, 1).

    >>> import talweg as tf
    >>> tf.nn.dropout([1.0, 2.0], rate=0.0).numpy()
    array([1., 2.], dtype=float32)
    """

    def sample(dims: tuple, dtype: DType) -> Tensor:
        return uniform(dims, seed=seed, dtype=dtype)

    return _drop(x, rate, noise_shape, sample, "dropout")


@export("compat.v1.nn.dropout")
def dropout_v1(
    x: object,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: object = None,
) -> Tensor:
    """Call `tf.nn.dropout` by `rate` or the probability to keep an element; ValueError for both.

    >>> import talweg.compat.v1 as tf
    >>> tf.nn.dropout([1.0, 2.0], keep_prob=1.0).numpy()
    array([1., 2.], dtype=float32)
    """
    if (keep_prob is None) == (rate is None):
        raise value_error(
            "TW401", f"dropout: keep_prob={keep_prob!r} and rate={rate!r}", "one of the two"
        )
    return dropout(x, 1 - keep_prob if rate is None else rate, noise_shape, seed)


@export("nn.experimental.stateless_dropout")
def stateless_dropout(
    x: TensorLike,
    rate: TensorLike,
    seed: TensorLike,
    rng_alg: Any = None,
    noise_shape: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Do what `tf.nn.dropout` does, chosen by `seed` (two integers) alone: the same seed, the same
    choice.

    >>> import talweg as tf
    >>> tf.nn.experimental.stateless_dropout(tf.ones([4]), 0.5, seed=[1, 2]).shape
    TensorShape([4])
    """
    algorithm = "auto_select" if rng_alg is None else rng_alg

    def sample(dims: tuple, dtype: DType) -> Tensor:
        return stateless_uniform(dims, seed, dtype=dtype, alg=algorithm)

    return _drop(x, rate, noise_shape, sample, "stateless_dropout")


@export("nn.experimental.general_dropout")
def general_dropout(
    x: TensorLike,
    rate: TensorLike,
    uniform_sampler: Callable[..., Any],
    noise_shape: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Do what `tf.nn.dropout` does, with the random numbers `uniform_sampler(shape=...,
    dtype=...)` gives.

    >>> import talweg as tf
    >>> def zeros(shape, dtype):
    ...     return tf.zeros(shape, dtype)
    >>> tf.nn.experimental.general_dropout(tf.ones([2]), 0.5, zeros).numpy()
    array([0., 0.], dtype=float32)
    """

    def sample(dims: tuple, dtype: DTypeLike) -> Tensor:
        return uniform_sampler(shape=dims, dtype=dtype)

    return _drop(x, rate, noise_shape, sample, "general_dropout")
