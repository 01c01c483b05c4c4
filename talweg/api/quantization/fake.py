"""Fake quantization: rounding to the numbers that a few bits can hold, and its gradient.

The interval from `min` to `max` is moved so that 0 is one of its 2^bits numbers.  The gradient is
that of clipping: rounding counts as the identity (Jacob et al. 2018).
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import require_sizes, tensor
from talweg.api.array.clipping import clip_by_value
from talweg.api.array.creating import ones_like, zeros_like
from talweg.api.array.gathering import where
from talweg.api.array.passing import stop_gradient
from talweg.api.export import export
from talweg.api.math.comparison import equal, greater, less
from talweg.api.math.reductions import reduce_sum
from talweg.api.math.rounding import floor
from talweg.api.tensors import cast
from talweg.core.dims import dims_differ
from talweg.core.dtypes import float32
from talweg.core.errors import invalid
from talweg.core.value import Tensor

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike


def _nudge(a: Any, b: Any, num_bits: int, narrow_range: bool) -> tuple[Any, Any, Any, Any]:
    """Return (whether the range is empty, the step, the range moved so that 0 is one of its
    numbers).
    """
    if not 2 <= num_bits <= 16:
        raise invalid("TW207", f"num_bits is {num_bits}", "2 to 16")
    first, last = (1 if narrow_range else 0), 2**num_bits - 1
    empty = equal(a, b)
    scale = where(empty, ones_like(a), (b - a) / float(last - first))
    zero = clip_by_value(floor(first - a / scale + 0.5), float(first), float(last))
    return empty, scale, (first - zero) * scale, (last - zero) * scale


def _quantize(x: object, low: object, high: object, num_bits: int, narrow_range: bool) -> Any:
    stop = stop_gradient
    empty, scale, bottom, top = _nudge(stop(low), stop(high), num_bits, narrow_range)
    clipped = where(less(x, bottom), low, where(greater(x, top), high, x))
    inside = clip_by_value(stop(x), bottom, top)
    found = floor((inside - bottom) * (1.0 / scale) + 0.5) * scale + bottom
    found = where(empty, zeros_like(found), found)
    return clipped + stop(found - clipped)


@export("quantization.fake_quant_with_min_max_vars")
def fake_quant_with_min_max_vars(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return `inputs`, clipped to [min, max] and rounded to one of 2^num_bits numbers (float32).

    With `narrow_range`, one number fewer, so that they are symmetric.  InvalidArgumentError for
    less than 2 or more than 16 bits.

    >>> import talweg as tf
    >>> tf.quantization.fake_quant_with_min_max_vars([0.4, 0.9, 9.0], 0.0, 3.0, num_bits=2).numpy()
    array([0., 1., 3.], dtype=float32)
    """
    x, low, high = (cast(tensor(v), float32) for v in (inputs, min, max))
    return _quantize(x, low, high, num_bits, narrow_range)


@export("quantization.fake_quant_with_min_max_vars_per_channel")
def fake_quant_with_min_max_vars_per_channel(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the same with a `min` and a `max` for each element of the last axis.

    >>> import talweg as tf
    >>> tf.quantization.fake_quant_with_min_max_vars_per_channel(
    ...     [[0.4, 0.4]], [0.0, 0.0], [3.0, 0.9], num_bits=2).numpy().round(2).tolist()[0][0]
    0.0
    """
    x, low, high = (cast(tensor(v), float32) for v in (inputs, min, max))
    if dims_differ(low.dims, x.dims[-1:]) or dims_differ(high.dims, x.dims[-1:]):
        raise invalid(
            "TW204",
            f"min of shape {low.dims} and max of shape {high.dims}",
            f"shape {x.dims[-1:]}, one for each channel",
        )
    sizes, channels = (*low.dims, *high.dims), x.dims[-1:] * 2
    low = require_sizes(low, sizes, channels, "min and max: one for each channel")
    return _quantize(x, low, high, num_bits, narrow_range)


@export("quantization.fake_quant_with_min_max_args")
def fake_quant_with_min_max_args(
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the same with numbers for `min` and `max`.

    >>> import talweg as tf
    >>> tf.quantization.fake_quant_with_min_max_args([7.0], 0.0, 3.0, num_bits=2).numpy()
    array([3.], dtype=float32)
    """
    if not min < max:
        raise invalid("TW207", f"min is {min}, max {max}", "min smaller than max")
    return fake_quant_with_min_max_vars(inputs, float(min), float(max), num_bits, narrow_range)


Gradient = collections.namedtuple(
    "FakeQuantWithMinMaxVarsGradient",
    ["backprops_wrt_input", "backprop_wrt_min", "backprop_wrt_max"],
)


def _gradients(
    g: object, x: object, low: object, high: object, bits: int, narrow: bool, axes: AxisLike | None
) -> Gradient:
    empty, _, bottom, top = _nudge(low, high, bits, narrow)
    below, above = less(x, bottom), greater(x, top)
    nothing = zeros_like(g)
    passes = where(below, nothing, where(above, nothing, g))
    ends = [where(empty, nothing, where(outside, g, nothing)) for outside in (below, above)]
    return Gradient(where(empty, g, passes), *[reduce_sum(end, axis=axes) for end in ends])


@export("quantization.fake_quant_with_min_max_vars_gradient")
def fake_quant_with_min_max_vars_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Gradient:
    """Compute the gradients of `fake_quant_with_min_max_vars` by `inputs`, `min` and `max`.

    >>> import talweg as tf
    >>> found = tf.quantization.fake_quant_with_min_max_vars_gradient(
    ...     [1.0, 2.0, 4.0], [-9.0, 0.0, 9.0], -1.0, 1.0)
    >>> found.backprops_wrt_input.numpy(), float(found.backprop_wrt_max)
    (array([0., 2., 0.], dtype=float32), 4.0)
    """
    g, x, low, high = (cast(tensor(v), float32) for v in (gradients, inputs, min, max))
    return _gradients(g, x, low, high, num_bits, narrow_range, None)


@export("quantization.fake_quant_with_min_max_vars_per_channel_gradient")
def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Gradient:
    """Compute the gradients of `fake_quant_with_min_max_vars_per_channel`; those of the range are
    vectors.

    >>> import talweg as tf
    >>> tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient(
    ...     [[1.0, 2.0]], [[-9.0, 9.0]], [-1.0, -1.0], [1.0, 1.0]).backprop_wrt_min.numpy()
    array([1., 0.], dtype=float32)
    """
    g, x, low, high = (cast(tensor(v), float32) for v in (gradients, inputs, min, max))
    return _gradients(g, x, low, high, num_bits, narrow_range, list(range(x.ndim - 1)))


@export("quantization.fake_quant_with_min_max_args_gradient")
def fake_quant_with_min_max_args_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """Compute the gradient of `fake_quant_with_min_max_args` by `inputs`.

    >>> import talweg as tf
    >>> tf.quantization.fake_quant_with_min_max_args_gradient([1.0, 2.0], [9.0, 0.0]).numpy()
    array([0., 2.], dtype=float32)
    """
    by_inputs = fake_quant_with_min_max_vars_gradient(
        gradients, inputs, float(min), float(max), num_bits, narrow_range
    )
    return by_inputs.backprops_wrt_input
