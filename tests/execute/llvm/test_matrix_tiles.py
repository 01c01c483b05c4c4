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
def loaded(request):
    return code.compile_module(matrix_tiles.text(request.param), {}, matrix_tiles.EXPORTS)


@pytest.fixture(params=["bfloat16", "float16"])
def routines(request, loaded):
    """A dtype, and `tile_rows`, `tile_columns` and `tile_product` for it as Python functions."""
    split = request.param == "float16"
    names = matrix_tiles.EXPORTS[3:] if split else matrix_tiles.EXPORTS[:3]
    kinds = [ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * count) for count in (6, 6, 10)]
    made = [kind(loaded.addresses[name]) for kind, name in zip(kinds, names)]
    return np.dtype(np.float16 if split else ml_dtypes.bfloat16), *made


def packed(dtype, size, fill=np.nan):
    """The room for this many numbers, of which those of float16 have two terms."""
    return np.full(size * (2 if dtype == np.float16 else 1), fill, ml_dtypes.bfloat16)


def whole(count):
    return -(-count // SIDE) * SIDE


SIZES = [(1, 1, 1), (5, 7, 3), (16, 32, 16), (17, 33, 40), (33, 64, 31), (70, 100, 77)]


@pytest.mark.parametrize("turned", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("m, k, n", SIZES)
def test_products_of_all_sizes_and_both_ways_round(routines, m, k, n, turned):
    dtype, rows, columns, product = routines
    rng = np.random.default_rng(m * k * n)
    x, y = [rng.standard_normal(dims).astype(dtype) for dims in ((m, k), (k, n))]
    held = [np.ascontiguousarray(a.T if t else a) for a, t in zip((x, y), turned)]
    gap = [np.concatenate([a, np.full((len(a), 3), np.nan, a.dtype)], 1) for a in held]
    wide = [whole(k) * whole(size) for size in (m, n)]
    left, right = [packed(dtype, size) for size in wide]
    rows(turned[0], m, k, gap[0].ctypes.data, gap[0].shape[1], left.ctypes.data)
    columns(turned[1], k, n, gap[1].ctypes.data, gap[1].shape[1], right.ctypes.data)
    z = np.full((whole(m), whole(n)), np.nan, np.float32)
    given = [1, *[whole(size) // SIDE for size in (k, m, n)]]
    read = [left.ctypes.data, len(left) // whole(m), 0, right.ctypes.data]
    product(*given, 0, *read, z.ctypes.data)
    wanted = x.astype(np.float64) @ y.astype(np.float64)
    bound = np.abs(x).astype(np.float64) @ np.abs(y).astype(np.float64) * (k + 1) * 2.0**-24
    assert (np.abs(z[:m, :n] - wanted) <= bound).all()
    assert not z[m:].any() and not z[:, n:].any()
    product(*given, 1, *read, z.ctypes.data)
    assert (np.abs(z[:m, :n] - 2 * wanted) <= 3 * bound).all()


def test_numbers_that_are_not_finite_reach_their_rows_alone(routines):
    dtype, rows, columns, product = routines
    x, y = np.ones((3, 40), dtype), np.ones((40, 5), dtype)
    x[1, 39], y[0, 2], y[39] = np.inf, np.nan, (1, -1, 1, 0, 2.0**-24)
    x[2, 39], y[39, 4] = -0.0, -0.0
    left, right = [packed(dtype, 32 * 64, 0) for _ in range(2)]
    rows(0, 3, 40, x.ctypes.data, 40, left.ctypes.data)
    columns(0, 40, 5, y.ctypes.data, 5, right.ctypes.data)
    z = np.zeros((32, 32), np.float32)
    read = [left.ctypes.data, len(left) // 32, 0, right.ctypes.data]
    product(1, 2, 1, 1, 0, *read, z.ctypes.data)
    with np.errstate(invalid="ignore"):  # infinity times 0
        wanted = x.astype(np.float32) @ y.astype(np.float32)
    np.testing.assert_array_equal(z[:3, :5], wanted)


def test_products_of_all_float16_numbers_are_exact(routines):
    """Each is split into two numbers of 8 bits; its product with a power of two shows both."""
    dtype, rows, columns, product = routines
    if dtype != np.float16:
        return
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16).reshape(-1, 1)
    y = np.array([[1, -(2.0**-14), np.inf, 65504, 2.0**-24, -np.inf, 0]], np.float16)
    left, right = packed(dtype, len(x) * 32), packed(dtype, 32 * 32)
    rows(0, len(x), 1, x.ctypes.data, 1, left.ctypes.data)
    columns(0, 1, y.shape[1], y.ctypes.data, y.shape[1], right.ctypes.data)
    z = np.full((len(x), 32), np.nan, np.float32)
    read = [left.ctypes.data, 64, 0, right.ctypes.data]
    product(1, 1, len(x) // 32, 1, 0, *read, z.ctypes.data)
    with np.errstate(invalid="ignore"):
        wanted = x.astype(np.float32) * y.astype(np.float32)
    np.testing.assert_array_equal(z[:, : y.shape[1]], wanted)
