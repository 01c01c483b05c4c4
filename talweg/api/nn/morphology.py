"""tf.nn: grey-scale morphology, maxima over windows with the filters added."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.nn.windows import full_list, match_dtypes, padding_argument
from talweg.core import dtypes
from talweg.core.dims import differ
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.eager.tensor import wrap
from talweg.prims import arithmetic
from talweg.prims.layout import pad, reshape, reverse
from talweg.prims.nn import pooling
from talweg.prims.nn.convolution import padding_pairs

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike, WindowLike


@export("nn.dilation2d")
def dilation2d(
    input: TensorLike,
    filters: TensorLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str,
    dilations: WindowLike,
    name: str | None = None,
) -> Tensor:
    """Return grey-scale dilation: y[i, j, c] = max over (k, l) of x[i s + k d, j s + l d, c] +
    w[k, l, c].

    input [batch, height, width, channels], filters [height, width, channels]; strides and
    dilations: lists of 4; data_format "NHWC" (ValueError for others).  The first of equal maxima
    has the gradient.

    >>> import talweg as tf
    >>> x = tf.reshape(tf.range(4.0), [1, 2, 2, 1])
    >>> tf.nn.dilation2d(x, tf.zeros([2, 2, 1]), [1] * 4, "VALID", "NHWC", [1] * 4).numpy().item()
    3.0
    """
    function = "dilation2d"
    window, params = _morphology(function, filters, strides, padding, data_format, dilations)
    x, w = match_dtypes(input, filters)
    if x.ndim != 4 or w.ndim != 3 or differ(x.dims[-1], w.dims[-1]):
        raise invalid(
            "TW204",
            f"{function}: input has shape {x.dims}, filters have shape {w.dims}",
            "[batch, height, width, channels] and [height, width, channels]",
        )
    dtype, lowest = x.dtype, -math.inf
    if dtype.is_integer:  # a lower number than any sum, which needs more bits
        x, w = (arithmetic.cast(part, dtype=dtypes.int64) for part in (x, w))
        lowest = -(2**62)
    pairs = padding_pairs(x.dims[1:-1], window, **params)
    edge = wrap(np.asarray(lowest, x.dtype.numpy_dtype))
    x = pad(x, edge, low=(0, pairs[0][0], pairs[1][0], 0), high=(0, pairs[0][1], pairs[1][1], 0))
    patches = pooling.patches(x, window=window, **{**params, "padding": "VALID"})
    taps, depth = math.prod(window), x.dims[-1]
    rows = math.prod(patches.dims[:-1])
    sums = reshape(patches, shape=(rows, taps, depth)) + reshape(w, shape=(taps, depth))
    y = pooling.max_pool(sums, window=(taps,), strides=(taps,), padding="VALID", dilation=(1,))
    y = reshape(y, shape=(*patches.dims[:-1], depth))
    return y if y.dtype is dtype else arithmetic.cast(y, dtype=dtype)


def _morphology(
    function: str,
    filters: object,
    strides: object,
    padding: object,
    data_format: str,
    dilations: object,
) -> tuple[tuple, dict]:
    if data_format != "NHWC":
        raise value_error("TW207", f"{function}: data_format={data_format!r}", "'NHWC'")
    steps, spread = (
        full_list(value, 2, False, function, name)
        for value, name in ((strides, "strides"), (dilations, "dilations"))
    )
    if min(*steps, *spread) < 1:
        text = f"{function}: strides {strides!r}, dilations {dilations!r}"
        raise invalid("TW207", text, "positive numbers")
    padding = padding_argument(padding, 2, False, function, False)
    return tensor(filters).dims[:2], {"strides": steps, "padding": padding, "dilation": spread}


@export("nn.erosion2d")
def erosion2d(
    value: TensorLike,
    filters: TensorLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str,
    dilations: WindowLike,
    name: str | None = None,
) -> Tensor:
    """Return grey-scale erosion: y[i, j, c] = min over (k, l) of x[i s + k d, j s + l d, c] - w[k,
    l, c].

    The dual of `dilation2d`: the negated dilation of -value by the filters turned by 180 degrees.
    Arguments as there.
    """
    if data_format != "NHWC":
        raise value_error("TW207", f"erosion2d: data_format={data_format!r}", "'NHWC'")
    value, filters = match_dtypes(value, filters)
    turned = reverse(filters, axes=(0, 1))
    grown = dilation2d(arithmetic.neg(value), turned, strides, padding, data_format, dilations)
    return arithmetic.neg(grown)
