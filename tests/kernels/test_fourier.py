"""Kernels of discrete Fourier transforms."""

import numpy as np
import pytest

import talweg as tf
from talweg.kernels import fourier


def test_cores_are_counted_for_large_operands_only(monkeypatch):
    """Counting them reads files, which took ten times as long as a small transform."""

    def refuse():
        raise AssertionError("cores were counted")

    monkeypatch.setattr(fourier, "count_cores", refuse)
    x = np.exp(1j * np.arange(8)).astype("c8")
    np.testing.assert_allclose(tf.signal.fft(x), np.fft.fft(x), atol=1e-5)
    monkeypatch.setattr(fourier, "LARGE", 8)
    monkeypatch.setattr(fourier.threads, "value", 0)
    with pytest.raises(Exception, match="cores were counted"):
        fourier.transform("fft", x)
