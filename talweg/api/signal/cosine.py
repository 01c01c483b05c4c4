"""tf.signal: discrete cosine transforms, plain and lapped."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import integer, require_sizes, tensor
from talweg.api.export import export
from talweg.api.signal.frames import frame, overlap_and_add
from talweg.api.signal.transforms import REALS, resize_axis
from talweg.api.signal.windows import vorbis_window
from talweg.core.dims import below, same, smallest
from talweg.core.errors import compose, invalid, type_error, value_error
from talweg.core.value import Tensor
from talweg.prims import fourier
from talweg.prims.layout import concat, reverse, strided_slice
from talweg.prims.state import as_factor

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.annotations import TensorLike

INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _check(type: int, n: int | None, axis: int, norm: str | None) -> None:
    if axis != -1:
        raise NotImplementedError(compose("TW402", f"axis must be -1. Got: {axis}"))
    if n is not None and integer(n, "dct", "n") < 1:
        raise value_error("TW207", "n should be a positive integer or None")
    if type not in INVERSE:
        raise value_error("TW207", "Types I, II, III and IV (I)DCT are supported.")
    _check_norm(norm)
    if type == 1 and norm == "ortho":
        raise value_error("TW207", "Normalization is not supported for the Type-I DCT.")


def _check_norm(norm: str | None) -> None:
    if norm not in (None, "ortho"):
        raise value_error("TW207", f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def _transform(x: Tensor, kind: int, norm: str | None) -> Tensor:
    """Return the transform with TensorFlow's (and SciPy's) scaling."""
    if x.dtype not in REALS:
        raise type_error("TW102", f"dct: input has dtype {x.dtype.name}", "float32 or float64")
    if not x.ndim:
        raise invalid("TW203", "dct: input has shape ()", "a rank of at least 1")
    if kind == 1 and below(x.dims[-1], 2):
        raise value_error("TW204", f"dct: type 1 needs at least 2 places, got shape {x.dims}")
    if kind == 1:
        x = require_sizes(x, (smallest(x.dims[-1], 2),), (2,), "dct: type 1 needs 2 places")
    return fourier.dct(x, kind=kind, ortho=norm == "ortho", turned=False)


@export("signal.dct")
def dct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the discrete cosine transform of type 1, 2, 3 or 4 along the last axis.

    input: float32 or float64, [..., m]; n cuts or fills it up to n places first.  norm: None, or
    "ortho" for an orthogonal transform (not for type 1).  ValueError for another type, n or norm,
    NotImplementedError for another axis.

    >>> import talweg as tf
    >>> tf.signal.dct([1.0, 1.0]).numpy().tolist()
    [4.0, 0.0]
    """
    _check(type, n, axis, norm)
    x = tensor(input)
    if n is not None:
        x = resize_axis(x, x.ndim - 1, integer(n, "dct", "n"))
    return _transform(x, type, norm)


@export("signal.idct")
def idct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the inverse of `tf.signal.dct`; without norm="ortho" up to the factor 2n (type 1: 2(n
    - 1)).

    >>> import talweg as tf
    >>> tf.signal.idct([4.0, 0.0]).numpy().tolist()
    [4.0, 4.0]
    """
    _check(type, n, axis, norm)
    return dct(input, INVERSE[type], n, axis, norm)


def _quarter(x: Tensor, start: int, stop: int) -> Tensor:
    lead = x.dims[:-1]
    return strided_slice(
        x, begin=(*(0,) * len(lead), start), end=(*lead, stop), strides=(1,) * x.ndim
    )


def _window(frames: Tensor, window_fn: Callable[..., Any] | None) -> Tensor:
    """Multiply frames by a window, by default the constant one whose squares overlap to 1."""
    if window_fn is None:
        return frames * math.sqrt(0.5)
    return frames * window_fn(frames.dims[-1], dtype=frames.dtype)


@export("signal.mdct")
def mdct(
    signals: TensorLike,
    frame_length: int,
    window_fn: Callable[..., Any] = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the modified discrete cosine transform.   [..., n] -> [..., frames, l / 2].

    Frames overlap by half.  A frame (a, b, c, d) of length l, times window_fn(l), gives the type 4
    transform of (-c_r - d, a - b_r), where r reverses.  ValueError unless l is a multiple of 4.

    >>> import talweg as tf
    >>> tf.signal.mdct([1.0, 2.0, 3.0, 4.0], 4).shape
    TensorShape([1, 2])
    """
    length = integer(frame_length, "mdct", "frame_length")
    if length % 4:
        raise value_error("TW207", "The frame length must be a multiple of 4.")
    _check_norm(norm)
    frames = frame(signals, length, length // 2, pad_end=pad_end)
    frames = _window(frames, window_fn)
    size, axis = length // 4, (frames.ndim - 1,)
    a, b, c, d = (_quarter(frames, i * size, (i + 1) * size) for i in range(4))
    folded = concat(-reverse(c, axes=axis) - d, a - reverse(b, axes=axis), axis=axis[0])
    return _transform(folded, 4, norm)


@export("signal.inverse_mdct")
def inverse_mdct(
    mdcts: TensorLike,
    window_fn: Callable[..., Any] = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the signal of which `tf.signal.mdct` gave mdcts [..., frames, l / 2], but for its
    ends.

    >>> import talweg as tf
    >>> spectrum = tf.signal.mdct([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 4)
    >>> tf.signal.inverse_mdct(spectrum).numpy()[2:4].round(3)
    array([3., 4.], dtype=float32)
    """
    _check_norm(norm)
    x = tensor(mdcts)
    half = x.dims[-1]
    y = _transform(x, 4, norm)
    if norm is None and not same(half, 0):
        y = y * (0.5 / as_factor(half, y.dtype))
    axis = (y.ndim - 1,)
    first, second = _quarter(y, 0, half // 2), _quarter(y, half // 2, half)
    turned = reverse(second, axes=axis), reverse(first, axes=axis)
    frames = concat(second, -turned[0], -turned[1], -first, axis=axis[0])
    return overlap_and_add(_window(frames, window_fn), half)
