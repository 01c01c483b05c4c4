"""Pooling and patches against plain loops; transposes against the adjoint identity."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from talweg.kernels import pooling as kernels
from talweg.kernels import window as windows
from tests.kernels import window_loops as loops

seeds = st.integers(0, 2**32 - 1)
plain = loops.geometries()


def tied_values(geometry, seed, nan=False):
    """Few different values, so that windows have ties, with infinities and perhaps NaN."""
    pool = [-np.inf, -1.0, -0.0, 0.0, 2.0, 2.0, np.inf] + [np.nan] * nan
    return np.random.default_rng(seed).choice(pool, geometry.input_shape)


@settings(max_examples=300, deadline=None)
@given(plain, seeds, st.booleans())
def test_max_pool_and_its_choice(geometry, seed, nan):
    x = tied_values(geometry, seed, nan)
    generator = np.random.default_rng(seed)
    y, where = loops.maxima(geometry, x)
    got = kernels.max_pool(x, *geometry.pooling)
    np.testing.assert_array_equal(got, y)

    v = generator.standard_normal(x.shape)
    chosen = np.array([0.0 if at is None else v[at] for at in where.flat]).reshape(where.shape)
    np.testing.assert_array_equal(kernels.max_pool_gather(v, x, *geometry.pooling), chosen)

    g = generator.standard_normal(y.shape)
    total = np.zeros(x.shape)
    for at, value in zip(where.flat, g.flat, strict=True):
        if at is not None:
            total[at] += value
    np.testing.assert_allclose(kernels.max_pool_scatter(g, x, *geometry.pooling), total, atol=1e-13)
    np.testing.assert_allclose(
        kernels.max_pool_scatter(g, x, *geometry.pooling, y=got), total, atol=1e-13
    )


@settings(max_examples=100, deadline=None)
@given(plain, seeds, st.booleans())
def test_argmax(geometry, seed, nan):
    x = tied_values(geometry, seed, nan)
    _, where = loops.maxima(geometry, x)
    y, position = kernels.max_pool_with_argmax(x, *geometry.pooling)
    np.testing.assert_array_equal(y, kernels.max_pool(x, *geometry.pooling))
    for at, found in zip(where.flat, position.flat, strict=True):
        if at is not None:
            assert found == np.ravel_multi_index(at[1:], x.shape[1:])


@settings(max_examples=200, deadline=None)
@given(plain, seeds)
def test_average_and_its_transpose(geometry, seed):
    generator = np.random.default_rng(seed)
    x = generator.standard_normal(geometry.input_shape)
    g = generator.standard_normal(geometry.pooled_shape)
    y = kernels.avg_pool(x, *geometry.pooling)
    np.testing.assert_allclose(y, loops.average(geometry, x), atol=1e-12)
    gx = kernels.avg_pool_transpose(g, geometry.sizes, *geometry.pooling)
    assert gx.shape == x.shape
    np.testing.assert_allclose(np.vdot(gx, x), np.vdot(g, y), atol=1e-10)


@settings(max_examples=200, deadline=None)
@given(plain, seeds)
def test_patches_and_their_transpose(geometry, seed):
    window, strides, padding, dilation = geometry.pooling
    generator = np.random.default_rng(seed)
    x = generator.standard_normal(geometry.input_shape)
    y = windows.patches(x, window, strides, padding, dilation)
    np.testing.assert_array_equal(y, loops.patches(geometry, x))
    g = generator.standard_normal(y.shape)
    gx = windows.patches_transpose(g, geometry.sizes, window, strides, padding, dilation)
    assert gx.shape == x.shape
    np.testing.assert_allclose(np.vdot(gx, x), np.vdot(g, y), atol=1e-10)


@pytest.mark.parametrize("window, stride", [(2, 2), (3, 2), (3, 1), (2, 3)])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ml_dtypes.bfloat16, "i1", "u1", "i4", "i8"])
def test_dtypes_and_memory_orders(window, stride, dtype):
    generator = np.random.default_rng(5)
    x = generator.integers(0, 9, (2, 7, 6, 3)).astype(dtype)
    rest = (window,) * 2, (stride,) * 2, ((1, 0), (0, 1)), (1, 1)
    y = kernels.max_pool(x, *rest)
    g = generator.integers(0, 9, y.shape).astype(dtype)
    gx = kernels.max_pool_scatter(g, x, *rest)
    assert y.dtype == gx.dtype == x.dtype
    assert np.sum(gx.astype("f8")) == np.sum(g.astype("f8"))

    first = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -1, 1)), 1, -1)
    np.testing.assert_array_equal(kernels.max_pool(first, *rest), y)
    np.testing.assert_array_equal(kernels.max_pool_scatter(g, first, *rest), gx)
    np.testing.assert_array_equal(kernels.max_pool_gather(first, first, *rest), y)
    if np.dtype(dtype).kind in "fV":
        average = kernels.avg_pool(x, *rest)
        assert average.dtype == x.dtype
        np.testing.assert_array_equal(kernels.avg_pool(first, *rest), average)


@pytest.mark.parametrize("g", [np.inf, -np.inf, np.nan])
def test_infinite_cotangents_stay_where_they_belong(g):
    x = np.array([1.0, 3.0, 2.0]).reshape(1, 3, 1)
    gx = kernels.max_pool_scatter(np.full((1, 1, 1), g), x, (3,), (3,), ((0, 0),), (1,))
    np.testing.assert_array_equal(gx.ravel(), [0, g, 0])


@pytest.mark.parametrize("padding", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("window, stride", [(2, 2), (2, 3)])
def test_elements_of_no_window_have_gradient_zero(padding, window, stride):
    """Windows of the size of the input may still pass an element by, if they begin in padding."""
    x = np.arange(1, 3, dtype=np.float64).reshape(1, 2, 1)
    rest = (window,), (stride,), (padding,), (1,)
    y, position = kernels.max_pool_with_argmax(x, *rest)
    wanted = np.zeros(2)
    for number in position.flat:
        wanted[number] += 5
    np.empty(2).fill(777)  # likely to be the memory of the next small array
    gx = kernels.max_pool_scatter(np.full(y.shape, 5.0), x, *rest)
    np.testing.assert_array_equal(gx.ravel(), wanted)


def test_results_are_not_views_of_the_input():
    x = np.ones((1, 3, 3, 1))
    nothing = (1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1)
    for y in (
        kernels.max_pool(x, *nothing),
        kernels.avg_pool(x, *nothing),
        windows.patches(x, *nothing),
    ):
        y[...] = 7
    assert np.all(x == 1)


def test_same_padding_puts_the_odd_element_behind():
    # size 5, window 2, stride 2: 3 outputs need 6 elements
    assert windows.same_padding((5, 5), (2, 3), (2, 2), (1, 1)) == ((0, 1), (1, 1))
    assert windows.same_padding((7,), (3,), (1,), (4,)) == ((4, 4),)
    assert windows.same_padding((4,), (1,), (3,), (1,)) == ((0, 0),)


def test_transposed_sizes_turn_output_sizes_round():
    geometry = (3, 2), (2, 3), ((1, 0), (0, 2)), (2, 1)
    sizes = windows.infer_transposed_sizes((4, 5), *geometry)
    assert windows.output_sizes(sizes, *geometry) == (4, 5)
    smaller = tuple(size - 1 for size in sizes)
    assert windows.output_sizes(smaller, *geometry) == (3, 4)
