"""Quantized numbers among tf.raw_ops; `table.txt` calls them `quantized.*`.

A quantized tensor is one of integers with the two real numbers that its smallest and largest
integer stand for.  Products and sums of two are qint32, whose range follows from those of the
operands; what only moves or chooses numbers keeps the range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import look_up
from talweg.core.dtypes import DType, as_dtype, int32

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike, TensorLike
    from talweg.core.value import Tensor


LEVELS = 1 << 32  # numbers of qint32


def quantize(x: Tensor, low: Any, high: Any, kind: Any, axis: int, **more: object) -> tuple:
    """Compute `tf.quantization.quantize`, where -1 is no axis."""
    own = None if axis == -1 else axis
    return look_up("quantization.quantize")(x, low, high, kind, axis=own, **more)


def dequantize(x: Tensor, low: Any, high: Any, axis: int, **more: object) -> Any:
    """Compute `tf.quantization.dequantize`, where -1 is no axis."""
    own = None if axis == -1 else axis
    return look_up("quantization.dequantize")(x, low, high, axis=own, **more)


def _limits(dtype: DType) -> tuple[int, int]:
    info = np.iinfo(dtype.numpy_dtype if dtype.numpy_dtype.kind in "iu" else _plain(dtype))
    return int(info.min), int(info.max)


def _plain(dtype: DType) -> Any:
    return np.dtype(dtype.name[1:])


def _integers(x: TensorLike) -> Any:
    """Return the integers of a quantized tensor, int32."""
    return look_up("cast")(x, int32)


def _step(low: Any, high: Any, dtype: DType) -> Any:
    """Compute the distance of the numbers that neighbouring integers stand for."""
    least, most = _limits(dtype)
    return (high - low) / float(most - least)


def _integer_for(x: TensorLike, low: Any, high: Any, dtype: DType) -> Any:
    """Return the integer that stands for a number, halves away from zero."""
    least, most = _limits(dtype)
    factor = float(most - least) / (high - low)
    place = _away(x * factor) - _away(low * factor) + float(least)
    return _integers(look_up("clip_by_value")(place, float(least), float(most)))


def _away(x: Tensor) -> Any:
    return look_up("sign")(x) * look_up("floor")(look_up("abs")(x) + 0.5)


def _product_range(x: tuple, y: tuple) -> tuple:
    """Return the range of qint32 for products of two quantized tensors: (dtype, low, high) each."""
    step = _step(x[1], x[2], x[0]) * _step(y[1], y[2], y[0])
    return step * float(-LEVELS // 2), step * float(LEVELS // 2 - 1)


def _multiply_quantized(function: Any, a: Any, b: Any, ranges: tuple) -> tuple:
    """Return a product of two quantized tensors, around the integers that stand for 0."""
    x, y = (a.dtype, *ranges[:2]), (b.dtype, *ranges[2:])
    left = _integers(a) - _integer_for(0.0, x[1], x[2], x[0])
    right = _integers(b) - _integer_for(0.0, y[1], y[2], y[0])
    found = look_up("cast")(function(left, right), as_dtype("qint32"))
    return (found, *_product_range(x, y))


def matmul(a: Tensor, b: Tensor, *ranges: object, transpose_a: bool, transpose_b: bool) -> tuple:
    """Return the product of two matrices of quantized numbers."""
    product = look_up("matmul")
    return _multiply_quantized(lambda x, y: product(x, y, transpose_a, transpose_b), a, b, ranges)


def conv2d(
    x: Tensor, filters: Any, *ranges: object, strides: list, padding: str, dilations: list
) -> tuple:
    """Return the convolution of quantized images; what is padded stands for 0."""
    convolve = look_up("nn.conv2d")

    def of(left: Any, right: Any) -> Any:
        wide = [look_up("cast")(part, "float64") for part in (left, right)]
        found = convolve(*wide, strides, padding, dilations=dilations[1:3])
        return look_up("cast")(found, int32)

    return _multiply_quantized(of, x, filters, ranges)


def multiply(x: Tensor, y: Tensor, *ranges: object) -> tuple:
    """Multiply quantized numbers."""
    return _multiply_quantized(look_up("multiply"), x, y, ranges)


def apply_to_integers(function: str, x: Tensor, low: Any, high: Any, **more: object) -> tuple:
    """Apply a public function that only selects or moves numbers to the integers."""
    found = look_up(function)(_integers(x), **more)
    return look_up("cast")(found, x.dtype), low, high


def reshape(x: Tensor, shape: ShapeLike, low: Any, high: Any) -> tuple:
    """Reshape quantized numbers."""
    return apply_to_integers("reshape", x, low, high, shape=shape)


def max_pool(x: TensorLike, low: Any, high: Any, **more: object) -> tuple:
    """Return the largest number of each window."""
    found = look_up("nn.max_pool")(look_up("cast")(x, "float32"), **more)
    return look_up("cast")(look_up("cast")(found, int32), x.dtype), low, high


def avg_pool(x: TensorLike, low: Any, high: Any, **more: object) -> tuple:
    """Return the mean of each window, rounded."""
    found = look_up("nn.avg_pool")(look_up("cast")(x, "float32"), **more)
    rounded = look_up("floor")(found + 0.5)
    return look_up("cast")(look_up("cast")(rounded, int32), x.dtype), low, high


def relu(x: Tensor, low: Any, high: Any, kind: Any, largest: float | None = None) -> tuple:
    """Return numbers below 0 as 0, and those above `largest` as that."""
    found = look_up("maximum")(_integers(x), _integer_for(0.0, low, high, x.dtype))
    if largest is not None:
        found = look_up("minimum")(found, _integer_for(largest, low, high, x.dtype))
    return look_up("cast")(found, x.dtype), low, high
