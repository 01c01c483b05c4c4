"""tf.signal: frames of a signal, their sum, and short-time Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import integer, require_sizes, tensor
from talweg.api.export import export
from talweg.api.signal.transforms import irfft, resize_axis, rfft
from talweg.api.signal.windows import hann_window
from talweg.core.dims import Dim, below, largest, smallest
from talweg.core.dtypes import DType
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.prims import fourier
from talweg.prims.arithmetic import square
from talweg.prims.guarded import div_no_nan
from talweg.prims.layout import broadcast_to, pad, reshape, strided_slice, transpose
from talweg.prims.reduce import reduce_sum

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("signal.frame")
def frame(
    signal: TensorLike,
    frame_length: int,
    frame_step: int,
    pad_end: bool = False,
    pad_value: TensorLike = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Return overlapping frames of `signal` along `axis`, which becomes two axes: frames,
    frame_length.

    Frames start frame_step apart.  With pad_end every start within the signal makes a frame, filled
    up with pad_value.  InvalidArgumentError for a negative length or a step of 0, IndexError for an
    axis that does not exist.

    >>> import talweg as tf
    >>> tf.signal.frame([1, 2, 3, 4, 5], 3, 2).numpy().tolist()
    [[1, 2, 3], [3, 4, 5]]
    """
    x = tensor(signal)
    if not x.ndim:
        raise value_error("TW203", "Shape () must have rank at least 1")
    axis = integer(axis, "frame", "axis")
    if not -x.ndim <= axis < x.ndim:
        text = f"frame: axis={axis} is out of range for a signal of shape {x.dims}  [TW202]"
        raise IndexError(text)
    axis %= x.ndim
    length = _size(frame_length, 0, "frame_length")
    step = _size(frame_step, 1, "frame_step")
    least = (smallest(length, 0), smallest(step, 1))
    x = require_sizes(x, least, (0, 1), "frame: frame_length and frame_step are too small")
    perm = (*(i for i in range(x.ndim) if i != axis), axis)
    if axis != x.ndim - 1:
        x = transpose(x, perm=perm)
    if pad_end:
        x = _pad_to_step(x, length, step, pad_value)
    z = fourier.frame(x, length=length, step=step)
    if axis == x.ndim - 1:
        return z
    rest = list(range(x.ndim - 1))
    return transpose(z, perm=(*rest[:axis], x.ndim - 1, x.ndim, *rest[axis:]))


def _size(value: TensorLike, least: int, argument: str) -> int:
    if isinstance(value, float):
        raise invalid("TW104", f"frame: {argument}={value!r}", "an integer")
    size = integer(value, "frame", argument)
    if below(size, least):
        raise invalid("TW207", f"frame: {argument}={size}", f"at least {least}")
    return size


def _pad_to_step(x: Tensor, length: int, step: int, value: object) -> Tensor:
    """Return the signal made so long that a frame starts at every multiple of `step` within it."""
    size = x.dims[-1]
    count = -(-size // step)
    if type(size) is Dim:
        wanted = largest((count - 1) * step + length, 0)
        return resize_axis(x, x.ndim - 1, wanted, value)
    wanted = (count - 1) * step + length if count else 0
    if wanted <= size:
        end = (*x.dims[:-1], max(wanted, 0))
        return strided_slice(x, begin=(0,) * x.ndim, end=end, strides=(1,) * x.ndim)
    zeros = (0,) * x.ndim
    return pad(x, tensor(value, x.dtype), low=zeros, high=(*zeros[1:], wanted - size))


@export("signal.overlap_and_add")
def overlap_and_add(signal: TensorLike, frame_step: int, name: str | None = None) -> Tensor:
    """Compute the sum of frames placed frame_step apart.

    [..., frames, length] -> [..., (frames - 1) step + length].

    ValueError for a rank below 2 or a frame_step that is no integer.

    >>> import talweg as tf
    >>> tf.signal.overlap_and_add([[1, 2], [3, 4]], 1).numpy().tolist()
    [1, 5, 4]
    """
    x = tensor(signal)
    if x.ndim < 2:
        raise value_error("TW203", f"Shape {x.dims} must have rank at least 2")
    try:
        step = integer(frame_step, "overlap_and_add", "frame_step")
    except TypeError as error:
        raise ValueError(str(error)) from None
    if step < 1:
        raise invalid("TW207", f"overlap_and_add: frame_step={step}", "at least 1")
    count, length = x.dims[-2:]
    size = largest((count - 1) * step + length, 0)
    return fourier.overlap_add(x, step=step, size=size)


@export("signal.stft")
def stft(
    signals: TensorLike,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: Callable | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the short-time Fourier transform.   [..., n] -> complex [..., frames, fft_length / 2
    + 1].

    Frames, times window_fn(frame_length, dtype=...), are transformed by `tf.signal.rfft` with
    fft_length, by default the next power of two.  ValueError for integers.

    >>> import talweg as tf
    >>> tf.signal.stft(tf.ones([8]), frame_length=4, frame_step=2).shape
    TensorShape([3, 3])
    """
    x = tensor(signals)
    length = integer(frame_length, "stft", "frame_length")
    frames = frame(x, length, frame_step, pad_end=pad_end)
    if window_fn is not None:
        frames = frames * window_fn(length, dtype=frames.dtype)
    return rfft(frames, [_fft_length(fft_length, length, "stft")])


def _fft_length(value: object, length: int, function: str) -> int:
    return _power_of_two(length) if value is None else integer(value, function, "fft_length")


def _power_of_two(length: int) -> int:
    return 1 << max(length - 1, 0).bit_length()


@export("signal.inverse_stft")
def inverse_stft(
    stfts: TensorLike,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: Callable | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Return the signal of a short-time Fourier transform: frames by irfft, times a window, and
    added.

    With window_fn = tf.signal.inverse_stft_window_fn(frame_step, forward_window) it inverts
    `tf.signal.stft`, but for the ends.

    >>> import talweg as tf
    >>> spectrum = tf.signal.stft([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 4, 2)
    >>> window = tf.signal.inverse_stft_window_fn(2)
    >>> tf.signal.inverse_stft(spectrum, 4, 2, window_fn=window).numpy()[2:4].tolist()
    [3.0, 4.0]
    """
    length = integer(frame_length, "inverse_stft", "frame_length")
    frames = irfft(tensor(stfts), [_fft_length(fft_length, length, "inverse_stft")])
    frames = resize_axis(frames, frames.ndim - 1, length)
    if window_fn is not None:
        frames = frames * window_fn(length, dtype=frames.dtype)
    return overlap_and_add(frames, frame_step)


@export("signal.inverse_stft_window_fn")
def inverse_stft_window_fn(
    frame_step: int, forward_window_fn: Callable = hann_window, name: str | None = None
) -> Callable[..., Any]:
    """Return a window for `tf.signal.inverse_stft` that undoes frames made with forward_window_fn.

    It is w / Σ w², summed over all frames that overlap at a place; 0 where that sum is 0.

    >>> import talweg as tf
    >>> tf.signal.inverse_stft_window_fn(2)(4, dtype=tf.float32).numpy().tolist()
    [0.0, 1.0, 1.0, 1.0]
    """
    step = integer(frame_step, "inverse_stft_window_fn", "frame_step")

    def inverse_window(frame_length: int, dtype: DType) -> Any:
        length = integer(frame_length, "inverse_stft_window_fn", "frame_length")
        forward = tensor(forward_window_fn(length, dtype=dtype))
        count = -(-length // step)
        squares = reshape(resize_axis(square(forward), 0, count * step), shape=(count, step))
        sums = reduce_sum(squares, axes=(0,), keepdims=True)
        whole = reshape(broadcast_to(sums, shape=(count, step)), shape=(count * step,))
        return div_no_nan(forward, resize_axis(whole, 0, length))

    return inverse_window
