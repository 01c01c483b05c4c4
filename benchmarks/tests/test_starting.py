"""When a program has started: arithmetic on written down times, then one real process."""

import doctest

import numpy
import pytest

from benchmarks import starting
from benchmarks.models import moved


def times(*seconds):
    ends = numpy.cumsum(seconds).tolist()
    return list(zip([0.0, *ends], ends, strict=False))


def test_examples_in_docstrings():
    assert doctest.testmod(starting).failed == 0


@pytest.mark.parametrize(
    "seconds, at",
    [
        ([9, *[1] * 12], 9),  # compiled within the first call
        ([9, *[3] * 4, 8, *[1] * 12], 29),  # interpreted, compiled, fast
        ([9, 3, 1, 3, 3, *[1] * 12], 19),  # one fast call by chance is not enough
        ([1] * 12, 0),
        ([9, 1, 1, 5, 1, 1, 1], 16),
    ],
)
def test_full_speed_is_three_fast_calls_in_a_row(seconds, at):
    assert starting.settled(times(*seconds)) == at


def test_calls_last_as_long_as_the_patience():
    seen = starting.called(lambda: None, patience=0.01)
    assert seen[-1][1] - seen[0][1] >= 0.01
    assert len(starting.called(lambda: None, patience=0)) == starting.STEADY_CALLS


def test_the_peak_is_that_since_it_was_forgotten():
    before = starting.forget_peak()
    kept = numpy.ones(20_000_000)
    risen = starting.peak() - before
    assert kept.nbytes * 0.9 < risen < kept.nbytes * 2


def test_a_process_is_observed_with_its_caches_in_a_folder(tmp_path):
    seen = starting.observed("eager.scalar", "numpy", 0, tmp_path)
    assert 0 < seen["first"] <= seen["settled"] < 60 and seen["steady"] < 1


def test_a_process_that_fails_says_why(tmp_path):
    with pytest.raises(RuntimeError, match="KeyError"):
        starting.observed("eager.none", "numpy", 0, tmp_path)


def test_movement_over_the_rate_is_the_gradient():
    before = [numpy.zeros(2, "float32"), numpy.ones(3, "float32")]
    after = [numpy.full(2, 0.5, "float32"), before[1]]
    first, second = moved(numpy, before, after, rate=0.5)
    assert first == pytest.approx(1000) and not second.any()
