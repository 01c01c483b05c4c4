"""Products by matrix registers, and by the vectors that stand in for them, against NumPy."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest

from talweg.execute.llvm import processor
from talweg.execute.llvm.link import code
from talweg.execute.llvm.runtime import matrix_tiles

SIDE = 32
WAYS = [False, *[True] * (processor.has_matrix_tiles() and matrix_tiles.request_tiles())]


@pytest.fixture(params=WAYS, scope="module")
def routines(request):
    """`tile_rows`, `tile_columns` and `tile_product` as Python functions."""
    found = code.compile_module(matrix_tiles.text(request.param), {}, matrix_tiles.EXPORTS)
    kinds = [ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * count) for count in (6, 6, 7)]
    made = [kind(found.addresses[name]) for kind, name in zip(kinds, matrix_tiles.EXPORTS)]
    return found, *made


def shorts(rng, *dims):
    return rng.standard_normal(dims).astype(ml_dtypes.bfloat16)


def whole(count):
    return -(-count // SIDE) * SIDE


SIZES = [(1, 1, 1), (5, 7, 3), (16, 32, 16), (17, 33, 40), (33, 64, 31), (70, 100, 77)]


@pytest.mark.parametrize("turned", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("m, k, n", SIZES)
def test_products_of_all_sizes_and_both_ways_round(routines, m, k, n, turned):
    _, rows, columns, product = routines
    rng = np.random.default_rng(m * k * n)
    x, y = shorts(rng, m, k), shorts(rng, k, n)
    held = [np.ascontiguousarray(a.T if t else a) for a, t in zip((x, y), turned)]
    gap = [np.concatenate([a, np.full((len(a), 3), np.nan, a.dtype)], 1) for a in held]
    wide = [whole(k) * whole(size) for size in (m, n)]
    left, right = [np.full(size, np.nan, x.dtype) for size in wide]
    rows(turned[0], m, k, gap[0].ctypes.data, gap[0].shape[1], left.ctypes.data)
    columns(turned[1], k, n, gap[1].ctypes.data, gap[1].shape[1], right.ctypes.data)
    z = np.full((whole(m), whole(n)), np.nan, np.float32)
    given = [whole(size) // SIDE for size in (k, m, n)]
    product(*given, 0, left.ctypes.data, right.ctypes.data, z.ctypes.data)
    wanted = x.astype(np.float64) @ y.astype(np.float64)
    bound = np.abs(x).astype(np.float64) @ np.abs(y).astype(np.float64) * (k + 1) * 2.0**-24
    assert (np.abs(z[:m, :n] - wanted) <= bound).all()
    assert not z[m:].any() and not z[:, n:].any()
    product(*given, 1, left.ctypes.data, right.ctypes.data, z.ctypes.data)
    assert (np.abs(z[:m, :n] - 2 * wanted) <= 3 * bound).all()


def test_numbers_that_are_not_finite_reach_their_rows_alone(routines):
    _, rows, columns, product = routines
    x, y = np.ones((3, 40), ml_dtypes.bfloat16), np.ones((40, 5), ml_dtypes.bfloat16)
    x[1, 39], y[0, 2] = np.inf, np.nan
    left, right = [np.zeros(32 * 64, x.dtype) for _ in range(2)]
    rows(0, 3, 40, x.ctypes.data, 40, left.ctypes.data)
    columns(0, 40, 5, y.ctypes.data, 5, right.ctypes.data)
    z = np.zeros((32, 32), np.float32)
    product(2, 1, 1, 0, left.ctypes.data, right.ctypes.data, z.ctypes.data)
    np.testing.assert_array_equal(z[:3, :5], x.astype(np.float32) @ y.astype(np.float32))
