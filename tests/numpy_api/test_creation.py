"""Arrays of equally spaced numbers, against NumPy where TensorFlow leaves `dtype` out."""

import numpy as np
import pytest

import talweg as tf

tnp = tf.experimental.numpy


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("ends", [(0, 10), (0, -7), (-1.5, 2.5)])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace_is_made_in_the_dtype_that_is_asked_for(dtype, ends, endpoint):
    """Integers raised TypeError; TensorFlow gives float64 whatever is asked for."""
    found = tnp.linspace(*ends, 4, endpoint=endpoint, dtype=dtype)
    expected = np.linspace(*ends, 4, endpoint=endpoint, dtype=dtype)
    assert found.dtype.as_numpy_dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_linspace_goes_by_the_dtype_of_its_ends():
    """Complex ends lost what is imaginary in them, and float32 ones became float64."""
    found = tnp.linspace(1j, 2, 3)
    assert found.dtype == tf.complex128
    np.testing.assert_allclose(found, np.linspace(1j, 2, 3))
    assert tnp.linspace(tf.constant(0.0), tf.constant(3.0), 3).dtype == tf.float32
    assert tnp.linspace(0, 3, 3).dtype == tf.float64
    numbers, step = tnp.linspace(0, 10, 4, retstep=True, dtype=int)
    assert numbers.numpy().tolist() == [0, 3, 6, 10]
    np.testing.assert_allclose(step, 10 / 3)
