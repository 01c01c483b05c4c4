"""Convolution against plain loops, its adjoints against the adjoint identity."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from talweg.kernels import convolution as kernels
from talweg.kernels import window as windows
from tests.kernels import window_loops as loops

seeds = st.integers(0, 2**32 - 1)


def operands(geometry, seed):
    generator = np.random.default_rng(seed)
    shapes = geometry.input_shape, geometry.filter_shape, geometry.output_shape
    return [generator.standard_normal(shape) for shape in shapes]


@settings(max_examples=300, deadline=None)
@given(loops.geometries(), seeds)
def test_convolution_is_the_formula(geometry, seed):
    x, w, _ = operands(geometry, seed)
    y = kernels.convolution(x, w, *geometry.convolution)
    assert y.shape == geometry.output_shape
    np.testing.assert_allclose(y, loops.convolution(geometry, x, w), atol=1e-12)


@settings(max_examples=300, deadline=None)
@given(loops.geometries(), seeds)
def test_gradients_are_adjoints(geometry, seed):
    x, w, g = operands(geometry, seed)
    one = np.vdot(loops.convolution(geometry, x, w), g)
    gx = kernels.convolution_input_gradient(g, w, geometry.sizes, *geometry.convolution)
    gw = kernels.convolution_filter_gradient(x, g, geometry.window, *geometry.convolution)
    assert gx.shape == x.shape and gw.shape == w.shape
    np.testing.assert_allclose(np.vdot(gx, x), one, atol=1e-9)
    np.testing.assert_allclose(np.vdot(gw, w), one, atol=1e-9)


def full_gradients(geometry, x, w, g):
    """The gradients, one element at a time, from the loops."""
    found = []
    for at, other in ((0, x), (1, w)):
        gradient = np.zeros(other.shape)
        for place in np.ndindex(other.shape):
            unit = np.zeros(other.shape)
            unit[place] = 1
            pair = (unit, w) if at == 0 else (x, unit)
            gradient[place] = np.vdot(loops.convolution(geometry, *pair), g)
        found.append(gradient)
    return found


@pytest.mark.parametrize("groups, channels", [(1, 2), (1, 6), (2, 2), (2, 5), (3, 1)])
@pytest.mark.parametrize(
    "strides, dilation", [((1, 1), (1, 1)), ((2, 3), (1, 2)), ((3, 1), (2, 1))]
)
def test_gradients_element_by_element(groups, channels, strides, dilation):
    geometry = loops.Geometry(
        2, (5, 4), channels, 2, (2, 3), strides, ((1, 0), (2, 1)), dilation, groups
    )
    x, w, g = operands(geometry, 0)
    gx, gw = full_gradients(geometry, x, w, g)
    got = kernels.convolution_input_gradient(g, w, geometry.sizes, *geometry.convolution)
    np.testing.assert_allclose(got, gx, atol=1e-12)
    got = kernels.convolution_filter_gradient(x, g, geometry.window, *geometry.convolution)
    np.testing.assert_allclose(got, gw, atol=1e-12)


@pytest.mark.parametrize("limit", [1, 300, 2000])
@pytest.mark.parametrize("groups, channels", [(1, 2), (1, 6), (2, 5), (3, 1)])
def test_tiles_do_not_change_the_result(monkeypatch, limit, groups, channels):
    geometry = loops.Geometry(
        3, (7, 6), channels, 2, (3, 2), (2, 1), ((1, 2), (1, 0)), (1, 2), groups
    )
    x, w, g = operands(geometry, 1)

    def everything():
        return (
            kernels.convolution(x, w, *geometry.convolution),
            kernels.convolution_input_gradient(g, w, geometry.sizes, *geometry.convolution),
            kernels.convolution_filter_gradient(x, g, geometry.window, *geometry.convolution),
        )

    whole = everything()
    monkeypatch.setattr(windows.tiles, "__defaults__", (limit,))
    monkeypatch.setattr(kernels, "DEPTHWISE_BYTES", limit)
    for tiled, expected in zip(everything(), whole, strict=True):
        np.testing.assert_allclose(tiled, expected, atol=1e-12)


@pytest.mark.parametrize("channels, groups", [(3, 1), (8, 1), (2, 4), (1, 8)])
@pytest.mark.parametrize("kernel", [(1, 1), (3, 3)])
def test_any_memory_order(channels, groups, kernel):
    """Channels-first data arrives as a transposed view; broadcast cotangents have zero strides."""
    geometry = loops.Geometry(
        2, (6, 5), channels, 3, kernel, (1, 1), ((0, 0), (0, 0)), (1, 1), groups
    )
    x, w, g = operands(geometry, 2)
    first = np.ascontiguousarray(np.moveaxis(x, -1, 1))
    moved = np.moveaxis(first, 1, -1)
    g_first = np.moveaxis(np.ascontiguousarray(np.moveaxis(g, -1, 1)), 1, -1)
    rest = geometry.convolution
    np.testing.assert_allclose(
        kernels.convolution(moved, w, *rest), kernels.convolution(x, w, *rest), atol=1e-12
    )
    np.testing.assert_allclose(
        kernels.convolution_filter_gradient(moved, g_first, kernel, *rest),
        kernels.convolution_filter_gradient(x, g, kernel, *rest),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        kernels.convolution_input_gradient(g_first, w, geometry.sizes, *rest),
        kernels.convolution_input_gradient(g, w, geometry.sizes, *rest),
        atol=1e-12,
    )
    ones = np.broadcast_to(np.float64(1), g.shape)
    np.testing.assert_allclose(
        kernels.convolution_input_gradient(ones, w, geometry.sizes, *rest),
        kernels.convolution_input_gradient(np.ones(g.shape), w, geometry.sizes, *rest),
        atol=1e-12,
    )


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.int32])
@pytest.mark.parametrize("groups, channels", [(1, 4), (2, 4), (4, 4), (1, 16)])
def test_dtypes_are_kept(dtype, groups, channels):
    """Of 16 channels the gradient is a convolution itself, and was float32."""
    geometry = loops.Geometry(
        2, (9, 9), channels // groups, 3, (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), groups
    )
    x, w, g = (np.rint(4 * part).astype(dtype) for part in operands(geometry, 3))
    y = kernels.convolution(x, w, *geometry.convolution)
    gx = kernels.convolution_input_gradient(g, w, geometry.sizes, *geometry.convolution)
    gw = kernels.convolution_filter_gradient(x, g, geometry.window, *geometry.convolution)
    assert y.dtype == gx.dtype == gw.dtype == dtype
    exact = loops.convolution(geometry, x.astype(np.float64), w.astype(np.float64))
    np.testing.assert_array_equal(y, exact.astype(dtype))


def test_sixteen_bit_sums_are_rounded_once():
    x = np.full((1, 1, 4096), 1, np.float16)
    w = np.full((1, 4096, 1), 1, np.float16)
    y = kernels.convolution(x, w, (1,), ((0, 0),), (1,))
    assert y.item() == 4096  # sums in float16 stop at 2048
