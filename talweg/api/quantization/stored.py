"""Floats as integers of few bits and back, in the three ways that TensorFlow's graphs have.

"MIN_COMBINED" lays the integers evenly from the smallest number to the largest, "MIN_FIRST" too,
but so that 0 is one of them, and "SCALED" multiplies, so that 0 is 0.  A range that is given is
widened until it holds 0 and is not empty.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export, look_up
from talweg.api.tensors import cast
from talweg.core.dtypes import QUANTIZED, DType, as_dtype, bfloat16, float32, float64
from talweg.core.errors import invalid
from talweg.core.value import Tensor

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, DTypeLike, TensorLike

MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")
BOTTOM = {"qint8": -(2**7), "qint16": -(2**15), "qint32": -(2**31), "quint8": 0, "quint16": 0}
BITS = {"qint8": 8, "qint16": 16, "qint32": 32, "quint8": 8, "quint16": 16}

QuantizeV2 = collections.namedtuple("QuantizeV2", ["output", "output_min", "output_max"])
QuantizedConcat = collections.namedtuple("QuantizedConcat", ["output", "output_min", "output_max"])


def _check(function: str, dtype: object, mode: str) -> DType:
    found = as_dtype(dtype)
    if found not in QUANTIZED:
        names = ", ".join(sorted(BITS))
        raise invalid("TW102", f"{function}: the dtype is {found.name}", f"one of {names}")
    if mode not in MODES:
        raise invalid("TW207", f"{function}: mode is {mode!r}", f"one of {MODES}")
    return found


def limits(dtype: DType, narrow_range: bool = False) -> tuple[int, int]:
    """Return the smallest and the largest integer of a quantized dtype, symmetric if narrow."""
    low = BOTTOM[dtype.name]
    return low + (1 if narrow_range and low else 0), low + 2 ** BITS[dtype.name] - 1


def along(x: Tensor, numbers: object, axis: int | None) -> Any:
    """Return numbers of a range beside x: scalars, or one for each place along an axis."""
    numbers = cast(tensor(numbers), float32)
    if axis is None or axis == -1 and numbers.ndim == 0:
        return numbers
    shape = [1] * x.ndim
    shape[axis] = -1
    return look_up("reshape")(numbers, shape)


def away_from_zero(x: Tensor) -> Tensor:
    """Return the integer next to x, halves away from 0."""
    return look_up("sign")(x) * look_up("floor")(look_up("abs")(x) + 0.5)


def _widen(low: object, high: object, least: float) -> tuple[Any, Any]:
    """Return a range that holds 0 and is not empty."""
    zero = look_up("zeros_like")(low)
    largest = look_up("maximum")
    low = look_up("minimum")(zero, low)
    size = largest(largest(zero + 1, look_up("abs")(low)), look_up("abs")(high))
    high = largest(zero, largest(high, low + size * least))
    return low, high


def scale_of(low: Any, high: Any, least: int, most: int) -> Any:
    """Return the largest factor that keeps a range within integers from `least` to `most`."""
    infinite = look_up("ones_like")(low) * np.inf
    factors = []
    for bound, number in ((low, least), (high, most)):
        fits = bound * float(number) > 0
        safe = look_up("where")(fits, bound, look_up("ones_like")(bound))
        factors.append(look_up("where")(fits, float(number) / safe, infinite))
    return look_up("minimum")(*factors)


@export("quantization.quantize")
def quantize(
    input: TensorLike,  # noqa: A002
    min_range: TensorLike,
    max_range: TensorLike,
    T: DTypeLike,  # noqa: N803
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> QuantizeV2:
    """Return (`input` as the quantized dtype T, the smallest and the largest number that it stands
    for).

    input: float32 of any shape; min_range, max_range: scalars, or vectors along `axis`.
    round_mode: for "SCALED" also "HALF_TO_EVEN".  InvalidArgumentError for a range the wrong way
    round, another mode, or a dtype that is not quantized.

    >>> import talweg as tf
    >>> tf.quantization.quantize([0.0, 1.0, 2.0], 0.0, 2.0, tf.quint8).output.numpy().tolist()
    [0, 128, 255]
    """
    dtype = _check("quantize", T, mode)
    if round_mode not in ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"):
        raise invalid("TW207", f"quantize: round_mode is {round_mode!r}")
    if round_mode == "HALF_TO_EVEN" and mode != "SCALED":
        raise invalid("TW207", "quantize: round_mode is 'HALF_TO_EVEN'", "mode='SCALED' for it")
    x, low, high = (cast(tensor(v), float32) for v in (input, min_range, max_range))
    look_up("debugging.assert_greater_equal")(
        high, low, message="quantize: max_range must be larger than min_range"
    )
    low, high = _widen(low, high, ensure_minimum_range)
    if mode == "SCALED":
        least, most = limits(dtype, narrow_range)
        scale = scale_of(low, high, least, most)
        low, high = float(least) / scale, float(most) / scale
        scaled = _clip(x, along(x, low, axis), along(x, high, axis)) * along(x, scale, axis)
        halves = look_up("round") if round_mode == "HALF_TO_EVEN" else away_from_zero
        return QuantizeV2(_store(halves(scaled), dtype), low, high)
    ends = along(x, low, axis), along(x, high, axis)
    convert = _combine if mode == "MIN_COMBINED" else _first
    return QuantizeV2(convert(x, *ends, dtype), low, high)


def _clip(x: object, low: object, high: object) -> Any:
    return look_up("minimum")(look_up("maximum")(x, low), high)


def _store(x: object, dtype: DType) -> Any:
    """Store whole numbers in a quantized dtype."""
    return cast(cast(x, _plain(dtype)), dtype)


def _plain(dtype: DType) -> str:
    """Return the integer dtype that a quantized one stores."""
    return dtype.name[1:] if dtype.name.startswith("qi") else dtype.name[1:]


def _combine(x: Tensor, low: Any, high: Any, dtype: DType) -> Any:
    above, factor = _clip(x, low, high) - low, float(2 ** BITS[dtype.name] - 1) / (high - low)
    # a product of float32 is exact in float64: rounded here, it goes into no fused multiply-add
    scaled = cast(cast(above, float64) * cast(factor, float64), float32)
    return _store(away_from_zero(scaled + float(BOTTOM[dtype.name])), dtype)


def _first(x: object, low: object, high: object, dtype: DType) -> Any:
    steps = float(2 ** BITS[dtype.name])
    size = cast(high, float64) - cast(low, float64)
    scale = cast(steps / (size * (steps / (steps - 1))), float32)
    whole = [cast(away_from_zero(value * scale), float64) for value in (x, low)]
    least, most = limits(dtype)
    top = float(np.nextafter(np.float32(2**31), np.float32(0))) if most == 2**31 - 1 else most
    placed = whole[0] - whole[1] + float(least)
    return _store(_clip(placed, tensor(float(least), float64), tensor(float(top), float64)), dtype)


@export("quantization.dequantize")
def dequantize(
    input: TensorLike,  # noqa: A002
    min_range: TensorLike,
    max_range: TensorLike,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    axis: int | None = None,
    narrow_range: bool = False,
    dtype: DTypeLike = float32,
) -> Any:
    """Return the numbers that a tensor of a quantized dtype stands for, float32 or bfloat16.

    min_range, max_range, mode, axis: as they were given to `quantize`.  InvalidArgumentError for
    other modes and dtypes.

    >>> import talweg as tf
    >>> x = tf.quantization.quantize([0.0, 2.0], 0.0, 2.0, tf.quint8)
    >>> tf.quantization.dequantize(*x).numpy()
    array([0., 2.], dtype=float32)
    """
    x = tensor(input)
    kind = _check("dequantize", x.dtype, mode)
    wanted = as_dtype(dtype)
    if wanted not in (float32, bfloat16):
        raise invalid("TW102", f"dequantize: dtype is {wanted.name}", "float32 or bfloat16")
    if wanted is bfloat16 and mode != "MIN_COMBINED":
        raise invalid("TW207", f"dequantize: bfloat16 with mode {mode!r}", "'MIN_COMBINED'")
    low, high = along(x, min_range, axis), along(x, max_range, axis)
    numbers = cast(cast(x, _plain(kind)), float32)
    if mode == "SCALED":
        least, most = limits(kind, narrow_range)
        factors = [high / float(most)] + ([low / float(least)] if least else [])
        scale = look_up("maximum")(*factors) if least else factors[0]
        return cast(numbers * scale, wanted)
    step = (high - low) / float(2 ** BITS[kind.name] - 1)
    offset = numbers - float(BOTTOM[kind.name])
    if mode == "MIN_FIRST":
        low = away_from_zero(low / step) * step
    return cast(low + offset * step, wanted)


@export("quantization.quantized_concat")
def quantized_concat(
    concat_dim: AxisLike, values: Any, input_mins: Any, input_maxes: Any, name: str | None = None
) -> QuantizedConcat:
    """Concatenate tensors of one quantized dtype along an axis, in a range that holds all of
    theirs.

    values of another range than that are quantized anew.  InvalidArgumentError for different
    numbers of tensors and ranges.

    >>> import talweg as tf
    >>> x = tf.cast([1, 2], tf.quint8)
    >>> tf.quantization.quantized_concat(0, [x, x], [0.0, 0.0], [1.0, 1.0]).output.numpy().tolist()
    [1, 2, 1, 2]
    """
    parts = [tensor(value) for value in values]
    dtype = _check("quantized_concat", parts[0].dtype, "MIN_FIRST")
    lows, highs = ([cast(tensor(v), float32) for v in given] for given in (input_mins, input_maxes))
    if not len(parts) == len(lows) == len(highs):
        raise invalid("TW204", f"quantized_concat: {len(parts)} values, {len(lows)} ranges")
    low = look_up("minimum")(look_up("reduce_min")(look_up("stack")(lows)), 0.0)
    high = look_up("reduce_max")(look_up("stack")(highs))
    if BOTTOM[dtype.name]:
        high = look_up("maximum")(-low, high)
        low = -high
    placed = [
        look_up("where")(
            look_up("logical_and")(look_up("equal")(a, low), look_up("equal")(b, high)),
            cast(part, _plain(dtype)),
            cast(_first(dequantize(part, a, b, "MIN_FIRST"), low, high, dtype), _plain(dtype)),
        )
        for part, a, b in zip(parts, lows, highs)
    ]
    joined = look_up("concat")(placed, look_up("get_static_value")(concat_dim))
    return QuantizedConcat(cast(joined, dtype), low, high)
