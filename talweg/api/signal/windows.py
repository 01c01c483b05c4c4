"""tf.signal: windows, and the matrix from spectra to the mel scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import integer, require_sizes, tensor
from talweg.api.export import export
from talweg.core.dims import same, smallest
from talweg.core.dtypes import DType, as_dtype, float32
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.eager.tensor import wrap
from talweg.prims import fourier
from talweg.prims.state import as_factor

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike


def _arguments(
    window_length: Any, dtype: object, function: str, least: int = 0
) -> tuple[int, DType]:
    dtype = as_dtype(dtype)
    if not dtype.is_floating:
        raise value_error("TW102", f"dtype must be a floating point type. Found {dtype!r}")
    if np.ndim(getattr(window_length, "_array", window_length)):
        raise value_error("TW203", f"{function}: window_length={window_length!r}", "a scalar")
    length = integer(window_length, function, "window_length")
    if length < least:
        raise invalid("TW207", f"{function}: window_length={length}", f"at least {least}")
    return length, dtype


def _window(values: np.ndarray, dtype: DType) -> Tensor:
    return wrap(np.asarray(values).astype(dtype.numpy_dtype))


def _make_raised_cosine(length: int, periodic: bool, dtype: DType, a: float, b: float) -> Tensor:
    """Compute a - b cos(2πj/n); n is the length if periodic and even, else one less."""
    if length == 1:
        return _window(np.ones(1), dtype)
    period = length - 1 + (1 if periodic and length % 2 == 0 else 0)
    return _window(a - b * np.cos(2 * np.pi * np.arange(length) / period), dtype)


@export("signal.hann_window")
def hann_window(
    window_length: TensorLike,
    periodic: bool = True,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Return the Hann window ½ - ½ cos(2πj/n), [window_length].

    n is window_length if it is even and `periodic`, else window_length - 1.  ValueError for a dtype
    that is not floating-point, InvalidArgumentError for a negative length.

    >>> import talweg as tf
    >>> tf.signal.hann_window(4).numpy().tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    length, dtype = _arguments(window_length, dtype, "hann_window")
    return _make_raised_cosine(length, bool(periodic), dtype, 0.5, 0.5)


@export("signal.hamming_window")
def hamming_window(
    window_length: TensorLike,
    periodic: bool = True,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Return the Hamming window 0.54 - 0.46 cos(2πj/n), [window_length]; arguments as hann_window.

    >>> import talweg as tf
    >>> tf.signal.hamming_window(4, dtype=tf.float64).numpy().round(3).tolist()
    [0.08, 0.54, 1.0, 0.54]
    """
    length, dtype = _arguments(window_length, dtype, "hamming_window")
    return _make_raised_cosine(length, bool(periodic), dtype, 0.54, 0.46)


@export("signal.kaiser_window")
def kaiser_window(
    window_length: TensorLike, beta: Any = 12.0, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Return the Kaiser window I₀(β √(1 - x²)) / I₀(β) for x from -1 to 1, [window_length].

    ValueError for a dtype that is not floating-point, InvalidArgumentError for a length below 1.

    >>> import talweg as tf
    >>> tf.signal.kaiser_window(3, beta=0.0).numpy().tolist()
    [1.0, 1.0, 1.0]
    """
    length, dtype = _arguments(window_length, dtype, "kaiser_window", least=1)
    return _window(_kaiser(length, float(beta)), dtype)


def _kaiser(length: int, beta: float) -> np.ndarray:
    if length == 1:
        return np.ones(1)
    x = np.linspace(-1, 1, length)
    return np.i0(beta * np.sqrt(np.maximum(1 - x * x, 0))) / np.i0(beta)


@export("signal.kaiser_bessel_derived_window")
def kaiser_bessel_derived_window(
    window_length: TensorLike, beta: Any = 12.0, dtype: DTypeLike = float32, name: str | None = None
) -> Tensor:
    """Return √(running sum of a Kaiser window / its sum), then backwards, [2 (window_length // 2)].

    >>> import talweg as tf
    >>> tf.signal.kaiser_bessel_derived_window(2).numpy().round(4).tolist()
    [0.707099974155426, 0.707099974155426]
    """
    length, dtype = _arguments(window_length, dtype, "kaiser_bessel_derived_window")
    sums = np.cumsum(_kaiser(length // 2 + 1, float(beta)))
    half = np.sqrt(sums[:-1] / sums[-1])
    return _window(np.concatenate([half, half[::-1]]), dtype)


@export("signal.vorbis_window")
def vorbis_window(
    window_length: TensorLike, dtype: DTypeLike = float32, name: str | None = None
) -> Tensor:
    """Compute the power complementary window sin(½π sin²(π(j + ½)/n)), [n = window_length].

    >>> import talweg as tf
    >>> tf.signal.vorbis_window(2).numpy().round(4).tolist()
    [0.707099974155426, 0.707099974155426]
    """
    length, dtype = _arguments(window_length, dtype, "vorbis_window")
    inner = np.sin(np.pi / max(length, 1) * (np.arange(length) + 0.5))
    return _window(np.sin(np.pi / 2 * inner * inner), dtype)


def _mel(hertz: object) -> Any:
    """Return the mel scale: 1127 ln(1 + f / 700)."""
    return 1127.0 * np.log1p(np.asarray(hertz, np.float64) / 700.0)


@export("signal.linear_to_mel_weight_matrix")
def linear_to_mel_weight_matrix(
    num_mel_bins: TensorLike = 20,
    num_spectrogram_bins: TensorLike = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Return weights [num_spectrogram_bins, num_mel_bins] that sum linear frequencies to mel bands.

    Triangles between num_mel_bins + 2 points that are evenly spaced on the mel scale; the bin at 0
    Hz has weight 0.  ValueError for numbers that make no sense together.

    >>> import talweg as tf
    >>> tf.signal.linear_to_mel_weight_matrix(3, 5).shape
    TensorShape([5, 3])
    """
    dtype = as_dtype(dtype)
    rate = float(getattr(sample_rate, "_array", sample_rate))
    bands = integer(num_mel_bins, "linear_to_mel_weight_matrix", "num_mel_bins")
    bins = integer(num_spectrogram_bins, "linear_to_mel_weight_matrix", "num_spectrogram_bins")
    problems = (
        (bands <= 0, f"num_mel_bins must be positive. Got: {bands}"),
        (lower_edge_hertz < 0, f"lower_edge_hertz must be non-negative. Got: {lower_edge_hertz}"),
        (
            lower_edge_hertz >= upper_edge_hertz,
            f"lower_edge_hertz {lower_edge_hertz} >= upper_edge_hertz {upper_edge_hertz}",
        ),
        (rate <= 0, f"sample_rate must be positive. Got: {rate}"),
        (
            upper_edge_hertz > rate / 2 > 0,
            "upper_edge_hertz must not be larger than the Nyquist "
            f"frequency (sample_rate / 2). Got {upper_edge_hertz} for sample_rate: {rate}",
        ),
        (not dtype.is_floating, f"dtype must be a floating point type. Got: {dtype!r}"),
    )
    for wrong, text in problems:
        if wrong:
            raise value_error("TW207", text)
    points = np.linspace(_mel(lower_edge_hertz), _mel(upper_edge_hertz), bands + 2)
    low, middle, high = points[:-2], points[1:-1], points[2:]
    mels = _mel(np.linspace(0.0, rate / 2, bins)[1:])[:, None]
    weights = np.minimum((mels - low) / (middle - low), (high - mels) / (high - middle))
    return _window(np.pad(np.maximum(weights, 0), [[1, 0], [0, 0]]), dtype)


@export("signal.mfccs_from_log_mel_spectrograms")
def mfccs_from_log_mel_spectrograms(
    log_mel_spectrograms: TensorLike, name: str | None = None
) -> Tensor:
    """Return mel-frequency cepstral coefficients: the type 2 cosine transform times 1 / √(2n),
    [..., n].

    ValueError for n = 0.

    >>> import talweg as tf
    >>> tf.signal.mfccs_from_log_mel_spectrograms([[1.0, 1.0]]).numpy().tolist()
    [[2.0, 0.0]]
    """
    x = tensor(log_mel_spectrograms)
    if not x.ndim or same(x.dims[-1], 0):
        raise value_error("TW207", f"num_mel_bins must be positive. Got shape {x.dims}")
    x = require_sizes(x, (smallest(x.dims[-1], 1),), (1,), "num_mel_bins must be positive")
    z = fourier.dct(x, kind=2, ortho=False, turned=False)
    return z * (2 * as_factor(x.dims[-1], z.dtype)) ** -0.5
