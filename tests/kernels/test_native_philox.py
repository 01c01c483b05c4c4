"""Blocks and counts in machine code are those of NumPy, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from talweg.kernels.native import philox as native
from talweg.kernels.random import rejection
from talweg.kernels.random.philox import MASK128, Stream, blocks_at, one_block

STREAMS = {
    "small": Stream(3, 5),
    "signs": Stream((1 << 64) - 7, (1 << 127) + (1 << 63) + 9),
    "carry": Stream(123456789123456789, (77 << 64) + (1 << 64) - 20),
    "end": Stream(1 << 63, MASK128 - 11),
}


@pytest.fixture
def machine_code(monkeypatch):
    monkeypatch.setattr(native, "MANY", 0)


@pytest.fixture
def numpy_only(monkeypatch):
    monkeypatch.setattr(native, "MANY", 1 << 60)


OFFSETS = np.array([*range(40), 1 << 40, (1 << 63) + 3], np.uint64)


def _expected(stream):
    counters = [(stream.counter + int(n)) & MASK128 for n in OFFSETS]
    return np.array([one_block(counter, stream.key) for counter in counters], np.uint32)


@pytest.mark.parametrize("name", STREAMS)
def test_blocks_in_machine_code(name, machine_code):
    stream = STREAMS[name]
    assert native.blocks_at(0, np.zeros((10, 2), np.uint32), OFFSETS) is not None
    np.testing.assert_array_equal(blocks_at(stream, OFFSETS), _expected(stream))


@pytest.mark.parametrize("name", STREAMS)
def test_blocks_by_numpy(name, numpy_only):
    np.testing.assert_array_equal(blocks_at(STREAMS[name], OFFSETS), _expected(STREAMS[name]))


PARAMETERS = np.r_[0.0, 1e-3, np.random.default_rng(0).uniform(0, 12, 3000)]


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("draw", [rejection.poisson, rejection.gamma])
def test_numbers_by_rejection(draw, name, monkeypatch):
    monkeypatch.setattr(native, "MANY", 1 << 60)
    expected = draw(STREAMS[name], PARAMETERS)
    monkeypatch.setattr(native, "MANY", 0)
    np.testing.assert_array_equal(draw(STREAMS[name], PARAMETERS), expected)


def test_few_numbers_are_not_worth_compiling(monkeypatch):
    monkeypatch.setattr(native, "MANY", 3 * native.CALL)
    monkeypatch.setattr(native, "_seen", {"count": 0})
    keys, offsets = np.zeros((10, 2), np.uint32), np.arange(5, dtype=np.uint64)
    made = [native.blocks_at(0, keys, offsets) is not None for _ in range(5)]
    assert made == [False, False, True, True, True]
