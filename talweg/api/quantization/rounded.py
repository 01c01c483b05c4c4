"""Fake quantization: floats rounded to the values of a few bits, for training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.array.passing import stop_gradient
from talweg.api.export import export, look_up
from talweg.api.quantization.stored import scale_of
from talweg.api.tensors import cast
from talweg.core.dtypes import FLOATING
from talweg.core.errors import invalid

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor


def _integers(signed: bool, bits: int, narrow: bool) -> tuple[int, int]:
    if not 1 <= bits <= 62 + signed:
        raise invalid("TW207", f"num_bits is {bits}", f"1 to {62 + signed}")
    if not signed:
        return (1 if narrow else 0), 2**bits - 1
    return -(2 ** (bits - 1)) + narrow, 2 ** (bits - 1) - 1


def _beside(x: Tensor, number: object, axis: int | None, given: bool) -> Any:
    """Return an end of the range, in the dtype and with the axes of x."""
    number = cast(tensor(number), x.dtype)
    if number.ndim == 0:
        return number
    if axis is None or axis == -1 and given and number.ndim != 1:
        raise invalid("TW203", f"a range of shape {number.shape}", "a scalar, or an axis")
    shape = [1] * x.ndim
    shape[axis] = -1
    return look_up("reshape")(number, shape)


def _round_to_step(
    x: object, low: object, high: object, ends: tuple[int, int], round_mode: str, clipped: bool
) -> Any:
    """Round x to a multiple of the step that the range and the integers give."""
    least, most = ends
    scale = scale_of(low, high, least, most)
    one = look_up("ones_like")(scale)
    scale = look_up("where")(look_up("math.is_inf")(scale), one, scale)
    step = 1 / scale
    if clipped:
        x = look_up("clip_by_value")(x, step * float(least), step * float(most))
    whole = x * scale
    even = round_mode == "HALF_TO_EVEN"
    return (look_up("round")(whole) if even else look_up("floor")(whole + 0.5)) * step


def _prepare(
    input_: object, low: object, high: object, range_given: bool, axis: int | None, round_mode: str
) -> tuple[Any, Any, Any]:
    x = tensor(input_)
    if x.dtype not in FLOATING:
        raise invalid("TW102", f"input is {x.dtype.name}", "floats")
    if round_mode not in ("HALF_TO_EVEN", "HALF_UP"):
        raise invalid("TW207", f"round_mode is {round_mode!r}", "'HALF_TO_EVEN' or 'HALF_UP'")
    if range_given:
        low, high = (_beside(x, end, axis, True) for end in (low, high))
        look_up("debugging.assert_less_equal")(
            low, high, message="Invalid range: input_min > input_max"
        )
        return x, low, high
    if axis is not None and not -1 <= axis < x.ndim:
        raise invalid("TW202", f"Shape must be at least rank {axis + 1} but is rank {x.ndim}")
    axes = None if axis is None else [n for n in range(x.ndim) if n != axis % x.ndim]
    values = stop_gradient(x)
    return (
        x,
        look_up("reduce_min")(values, axis=axes, keepdims=axes is not None),
        look_up("reduce_max")(values, axis=axes, keepdims=axes is not None),
    )


@export("quantization.quantize_and_dequantize_v2")
def quantize_and_dequantize_v2(
    input: TensorLike,  # noqa: A002
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Any:
    """Round `input` to the values of `num_bits` over its range, or the range given; 0 stays 0.

    Outside of the range given it is clipped.  The gradient passes where input_min <= input <=
    input_max, and is 0 elsewhere and for the range.  round_mode: "HALF_TO_EVEN" or "HALF_UP".
    InvalidArgumentError for a range the wrong way round or too many bits.

    >>> import talweg as tf
    >>> tf.quantization.quantize_and_dequantize_v2(
    ...     [0.0, 1.2, 3.0], -3.0, 3.0, num_bits=3, range_given=True).numpy()
    array([0., 1., 3.], dtype=float32)
    """
    x, low, high = _prepare(input, input_min, input_max, range_given, axis, round_mode)
    ends = _integers(signed_input, num_bits, narrow_range)
    held, least, most = [stop_gradient(value) for value in (x, low, high)]
    rounded = stop_gradient(_round_to_step(held, least, most, ends, round_mode, range_given))
    if not range_given and axis is None and tensor(input_min).ndim + tensor(input_max).ndim:
        return x + stop_gradient(rounded - x)  # a range of no use
    given = [_beside(x, end, axis, False) for end in (input_min, input_max)]
    passes = look_up("logical_and")(x >= given[0], x <= given[1])
    nothing = look_up("zeros_like")(x)
    through = look_up("where")(passes, x, nothing + 0 * (given[0] + given[1]))
    return rounded + (through - stop_gradient(through))


@export("quantization.quantize_and_dequantize")
def quantize_and_dequantize(
    input: TensorLike,  # noqa: A002
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Any:
    """Return `quantize_and_dequantize_v2` whose gradient passes everywhere, and not to the range.

    >>> import talweg as tf
    >>> tf.quantization.quantize_and_dequantize([0.0, 9.0], -1.0, 1.0, range_given=True).numpy()
    array([0., 1.], dtype=float32)
    """
    x, low, high = _prepare(input, input_min, input_max, range_given, axis, round_mode)
    ends = _integers(signed_input, num_bits, narrow_range)
    held, least, most = [stop_gradient(value) for value in (x, low, high)]
    rounded = _round_to_step(held, least, most, ends, round_mode, range_given)
    return x + stop_gradient(rounded - x)
