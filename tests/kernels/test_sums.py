"""Sums over leading axes, against sums in float64."""

import numpy as np
import pytest

from talweg.kernels.sums import leading_sum, sums_leading


@pytest.mark.parametrize(
    "shape, axes",
    [((64, 26, 26, 32), (0, 1, 2)), ((99991, 3), (0,)), ((40000, 1), (0,)), ((4096, 4, 2), (0, 1))],
)
def test_leading_sum(shape, axes):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    assert sums_leading(x, axes)
    found, exact = leading_sum(x, axes), x.astype(np.float64).sum(axes)
    assert found.dtype == x.dtype and found.shape == exact.shape
    np.testing.assert_allclose(found, exact, atol=2e-3)


@pytest.mark.parametrize("shape, axes", [((8, 8), (0,)), ((40000, 2), (1,)), ((40000, 2), (0, 1))])
def test_other_sums_are_left_to_numpy(shape, axes):
    assert not sums_leading(np.zeros(shape, np.float32), axes)
