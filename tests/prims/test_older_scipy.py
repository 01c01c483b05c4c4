"""Values that older versions of SciPy give otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import talweg as tf


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_expint_of_infinity(monkeypatch, dtype):
    """Before 1.16.3 it was nan there."""
    plain = special.expi
    monkeypatch.setattr(special, "expi", lambda x: np.where(np.isposinf(x), np.nan, plain(x)))
    x = tf.constant([np.nan, np.inf, -np.inf, 0.0], dtype)
    np.testing.assert_array_equal(tf.math.special.expint(x), [np.nan, np.inf, 0.0, -np.inf])
