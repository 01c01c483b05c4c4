"""Numbers by rejection: whole vectors take what each value alone would take."""

from __future__ import annotations

import numpy as np
import pytest

from talweg.kernels.random import rejection
from talweg.kernels.random.philox import RESERVED, Stream, blocks_at, to_float64

STREAM = Stream(123456789123456789, 5 << 64 | 77)
SHAPES = {
    "even": np.full(50_000, 2.0),
    "of cubes below zero": np.full(50_000, 1e-3),  # which take no uniform number
    "mixed": np.random.default_rng(0).uniform(0, 5, 40_001),
}


@pytest.mark.parametrize("name", SHAPES)
def test_first_candidates_of_all_are_those_of_each(name):
    """Beside a shape that needs none, candidates are drawn for the values that need some."""
    alpha = SHAPES[name]
    together = rejection.gamma(STREAM, alpha)
    pieces = [alpha[i : i + rejection._CHUNK - 1] for i in range(0, len(alpha), rejection._CHUNK)]
    one = rejection.gamma(STREAM, np.append(pieces[0], 1.0))
    np.testing.assert_array_equal(together[: len(pieces[0])], one[:-1])
    assert abs(together.mean() - alpha.mean()) < 0.05


@pytest.mark.parametrize("rate", [0.0, 0.3, 4.0, 9.99])
def test_counted_products(rate):
    """Uniform numbers, the second of a pair first, while their product is above exp(-rate)."""
    found = rejection.poisson(STREAM, np.full(200, rate))
    for number, count in enumerate(found):
        offsets = np.arange(40, dtype=np.uint64) + np.uint64(number * RESERVED)
        uniform = to_float64(blocks_at(STREAM, offsets))[:, ::-1].reshape(-1)
        products = np.cumprod(uniform)
        assert count == np.argmax(products <= np.exp(-rate))


DRAWS = {
    "Poisson": lambda mean: rejection.poisson(STREAM, mean),
    "binomial": lambda mean: rejection.binomial(STREAM, mean, np.full(len(mean), 0.4)),
    "of few trials": lambda mean: rejection.binomial(STREAM, np.full(len(mean), 40.0), mean / 90),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("mean", [30.0, 44.5])
def test_numbers_of_one_mean_are_those_of_each(name, mean):
    """Equal parameters are computed with once; beside another one each has its own."""
    draw, means = DRAWS[name], np.full(20_000, mean)
    together = draw(means)
    np.testing.assert_array_equal(together, draw(np.append(means, mean + 1))[:-1])
    assert len(np.unique(together)) > 10
