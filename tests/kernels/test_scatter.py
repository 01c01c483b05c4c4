"""Rows combined into rows are what one update after the other gives, to the last bit."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from talweg.kernels import scatter

PLACES = {
    "none": lambda random: random.integers(0, 5, 0),
    "one": lambda random: np.array([3]),
    "different": lambda random: random.permutation(90)[:70],
    "some equal": lambda random: random.integers(0, 90, 200),
    "many equal": lambda random: random.integers(0, 3, 150),
    "all equal": lambda random: np.full(80, 7),
    "two dimensions": lambda random: random.integers(0, 90, (12, 11)),
}
KINDS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
}


@pytest.mark.parametrize("width", [(), (3,), (40,), (4, 5)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PLACES)
def test_scattered_rows(name, kind, width):
    random = np.random.default_rng(0)
    places = PLACES[name](random)
    table = random.normal(size=(90, *width)).astype(np.float32)
    for updates in (
        random.normal(size=(*places.shape, *width)).astype(np.float32),
        np.float32(1.5),
    ):
        wanted = table.copy()
        KINDS[kind].at(wanted, places, updates)
        found = table.copy()
        scatter.scatter_rows(kind, found, places, np.asarray(updates))
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16, np.int32, bool])
@pytest.mark.parametrize("name", PLACES)
def test_sums_of_rows(name, dtype):
    random = np.random.default_rng(1)
    places = PLACES[name](random).reshape(-1)
    updates = random.integers(0, 3, (places.size, 33)).astype(dtype)
    wanted = np.zeros((90, 33), dtype)
    if dtype is bool:
        np.logical_or.at(wanted, places, updates)
    else:
        np.add.at(wanted, places, updates)
    found = np.zeros((90, 33), dtype)
    scatter.combine_rows("add", found, places, updates)
    assert np.array_equal(found, wanted)


def test_rows_longer_than_what_is_taken_at_a_time(monkeypatch):
    monkeypatch.setattr(scatter, "PART", 1000)
    random = np.random.default_rng(2)
    places = random.integers(0, 90, 500)
    updates = random.normal(size=(500, 100))
    wanted = np.zeros((90, 100))
    np.subtract.at(wanted, places, updates)
    found = np.zeros((90, 100))
    scatter.scatter_rows("sub", found, places, updates)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("kernel", [np.add, np.multiply, np.maximum, np.minimum])
@pytest.mark.parametrize("width", [(), (40,), (4, 5)])
@pytest.mark.parametrize("name", PLACES)
def test_reductions_of_rows(name, width, kernel):
    random = np.random.default_rng(3)
    places = PLACES[name](random).reshape(-1)
    updates = random.choice([0.5, -1.0, 2.0, -np.inf, np.nan], (places.size, *width))
    found = np.full((90, *width), 7.0)
    if places.size:
        scatter.reduce_rows(kernel, found, places, updates)
    with np.errstate(all="ignore"):
        for row in range(90):
            own = updates[places == row]
            wanted = kernel.reduce(own, 0) if len(own) else np.full(width, 7.0)
            np.testing.assert_array_equal(found[row], wanted)
    if kernel.identity is not None and places.size:
        blank = np.full(found.shape, kernel.identity, np.float64)
        scatter.reduce_rows(kernel, blank, places, updates, blank=True)
        named = np.isin(np.arange(90), places)
        np.testing.assert_array_equal(blank[named], found[named])
        assert (blank[~named] == kernel.identity).all()


def test_what_interrupts_an_update_leaves_the_rows_as_they_were(monkeypatch):
    monkeypatch.setattr(scatter, "PART", 4000)
    random = np.random.default_rng(4)
    places = random.integers(0, 90, 500)
    updates = random.normal(size=(500, 100)).astype(object)
    updates[places == places[400], 50] = "no number"
    table = random.normal(size=(90, 100)).astype(object)
    before = table.copy()
    with pytest.raises(TypeError):
        scatter.scatter_rows("add", table, places, updates)
    assert np.array_equal(table, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
@pytest.mark.parametrize("kernel", [np.add, np.multiply, np.fmax, np.fmin])
def test_long_runs_in_order(kernel, dtype):
    """Numbers of many rows that are in order are reduced run by run, and no row is left out."""
    random = np.random.default_rng(3)
    rows = np.sort(random.integers(0, 90, scatter.MANY))
    rows = rows[(rows != 4) & (rows != 90)].repeat(2)
    updates = random.integers(1, 3, rows.size).astype(dtype)
    if kernel is np.multiply:
        updates[random.random(rows.size) < 0.95] = 1  # products stay finite
    if np.dtype(dtype).kind == "f" and kernel in (np.fmax, np.fmin):
        updates[::7] = np.nan
        updates[rows == 8] = np.nan
    turned = np.roll(rows, -rows.size // 2)  # long runs, too, but not in order
    for order in (rows, rows[::-1].copy(), turned, np.append(turned, 89)[1:]):
        found, wanted = np.full(91, 5, dtype), np.full(91, 5, dtype)
        start = kernel.identity
        wanted[order] = updates if start is None else start
        kernel.at(wanted, order, updates)
        scatter.reduce_rows(kernel, found, order, updates)
        np.testing.assert_allclose(found, wanted, 1e-5)
        assert found[4] == 5 and found.dtype == dtype


@pytest.mark.parametrize("kernel", (np.add, np.maximum, np.multiply))
def test_long_runs_of_wide_rows(kernel):
    """Each run is reduced by a call of its own, to what one row after the other gives."""
    random = np.random.default_rng(3)
    rows = np.sort(random.integers(0, 7, 200))
    updates = random.uniform(0.5, 1.5, (200, 30, 3)).astype(np.float32)
    target = np.zeros((9, 30, 3), np.float32)
    scatter.reduce_rows(kernel, target, rows, updates)
    for row in range(9):
        mine = updates[rows == row]
        wanted = mine[0] if len(mine) else target[row]
        for more in mine[1:]:
            wanted = kernel(wanted, more)
        np.testing.assert_array_equal(target[row], wanted)
    runs = np.flatnonzero(np.r_[True, rows[1:] != rows[:-1]])
    flat = updates.reshape(200, 90)
    np.testing.assert_allclose(
        scatter._reduce_runs(kernel, flat, runs), kernel.reduceat(flat, runs, 0), rtol=1e-5
    )


@pytest.mark.parametrize("dtype", ("i1", "i2", "i4", "i8", "u1", "u4", ">i4", ">i8"))
def test_indices_inside(dtype):
    """Negative ones look large, whatever the dtype and the layout."""
    plain = np.array([0, 5, 3], dtype)
    for indices in (plain, plain[::-1], plain.reshape(3, 1), plain[:0], plain[1]):
        assert scatter.are_inside(indices, 6)
        assert scatter.are_inside(indices, 5) == (5 not in np.ravel(indices))
    assert scatter.are_inside(plain, 1 << 40)
    if np.dtype(dtype).kind == "i":
        for least in (-1, np.iinfo(dtype).min):
            indices = np.array([0, least, 3], dtype)
            assert not scatter.are_inside(indices, 6)
            assert not scatter.are_inside(indices[1], 6)
            assert not scatter.are_inside(indices, np.iinfo(dtype).max)
