"""tf.signal against NumPy and SciPy, and round trips."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft

import talweg as tf

X = np.random.default_rng(0).standard_normal((3, 4, 6))
T = tf.constant  # of float64; a transform takes a bare array as float32, as in TensorFlow


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize(
    "axes, lengths", [([0, 2], None), ([1], [5]), (None, [2, 7]), ([2, 0], None)]
)
def test_transforms_along_axes(norm, axes, lengths):
    z = X + 1j * X[::-1]
    names = [
        ("fftnd", np.fft.fftn, z),
        ("ifftnd", np.fft.ifftn, z),
        ("rfftnd", np.fft.rfftn, X),
        ("irfftnd", np.fft.irfftn, z),
    ]
    for name, reference, operand in names:
        given = range(3)[3 - len(lengths) :] if axes is None else axes
        wanted = reference(operand, lengths, given, norm)
        got = getattr(tf.signal, name)(T(operand), lengths, axes, norm)
        np.testing.assert_allclose(got, wanted, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_real_round_trip(rank):
    suffix = "" if rank == 1 else f"{rank}d"
    spectrum = getattr(tf.signal, f"rfft{suffix}")(T(X))
    np.testing.assert_allclose(getattr(tf.signal, f"irfft{suffix}")(spectrum), X, atol=1e-12)
    odd = X[..., :5]
    spectrum = getattr(tf.signal, f"rfft{suffix}")(T(odd))
    back = getattr(tf.signal, f"irfft{suffix}")(spectrum, odd.shape[-rank:])
    np.testing.assert_allclose(back, odd, atol=1e-12)


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_cosine_transforms(kind):
    np.testing.assert_allclose(tf.signal.dct(X, kind), scipy.fft.dct(X, kind), atol=1e-12)
    back = tf.signal.idct(tf.signal.dct(X, kind), kind)
    np.testing.assert_allclose(back, X * (2 * (6 - 1) if kind == 1 else 2 * 6), atol=1e-12)


@pytest.mark.parametrize("window", [None, tf.signal.vorbis_window])
def test_lapped_transform_round_trip(window):
    signal = X.reshape(-1)
    back = tf.signal.inverse_mdct(tf.signal.mdct(signal, 8, window), window).numpy()
    np.testing.assert_allclose(back[4:-4], signal[4:-4], atol=1e-12)


@pytest.mark.parametrize("length, step", [(8, 2), (8, 4), (6, 3), (7, 3)])
def test_short_time_round_trip(length, step):
    signal = X.reshape(-1)[: 10 * step + length]
    spectrum = tf.signal.stft(signal, length, step)
    window = tf.signal.inverse_stft_window_fn(step)
    back = tf.signal.inverse_stft(spectrum, length, step, window_fn=window).numpy()
    np.testing.assert_allclose(back[length:-length], signal[length:-length], atol=1e-12)


def test_shifts_are_inverse():
    np.testing.assert_array_equal(tf.signal.fftshift(X), np.fft.fftshift(X))
    np.testing.assert_array_equal(tf.signal.ifftshift(X, [0, 2]), np.fft.ifftshift(X, [0, 2]))
