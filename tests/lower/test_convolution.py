"""Convolutions as loops give what their NumPy kernels give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import talweg as tf
from talweg.core import settings as talweg_settings
from talweg.core.primitive import later
from talweg.lower.convolution.geometry import geometry_of, shares
from tests.lower.declared import hosts, lower, static_of
from tests.lower.windows import CHANNELS, check_case, convolutions

NAMES = ("convolution", "convolution_input_gradient", "convolution_filter_gradient")
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}

assert tf.nn.conv2d  # loads the declarations


@settings(max_examples=30, **QUIET)
@given(convolutions(NAMES, most=4, channels=CHANNELS[:8]))
def test_meaning(case):
    check_case(case)


@settings(max_examples=40, **QUIET)
@given(convolutions(NAMES))
def test_machine_code(case):
    check_case(case, threads=1)


@settings(max_examples=8, **QUIET)
@given(convolutions(NAMES))
def test_threads(case):
    check_case(case, threads=2)


def plain(**params) -> dict:
    return {"strides": (1, 1), "padding": "SAME", "dilation": (1, 1), "groups": 1, **params}


SHAPES = [
    # batch, sizes, channels in and out, taps: what each case is about
    (9, (14, 14), 32, 64, (3, 3), plain()),  # images are chunks; layers of channels
    (1, (30, 30), 3, 16, (7, 7), plain(strides=(2, 2))),  # blocks of rows; runs over columns
    (8, (12, 12), 1, 32, (3, 3), plain(padding="VALID")),  # one channel, no copy
    (2, (7, 7), 16, 24, (3, 3), plain()),  # rows taken together; a panel of three vectors
    (2, (6, 5), 48, 48, (1, 1), plain(strides=(2, 1))),  # residues without taps
    (3, (5, 5), 12, 39, (2, 3), plain(groups=3)),
    (1, (5, 5), 2, 41, (3, 3), plain()),  # panels of two widths, and few chunks
    (2, (9, 6), 18, 18, (3, 3), plain(groups=18)),  # each channel by itself
    (3, (6, 5), 9, 18, (2, 3), plain(groups=9, strides=(1, 2), dilation=(2, 1))),
    (8, (6, 5), 5, 3, (3, 3), plain(strides=(2, 2))),  # residues together, image by image
    (9, (7, 6), 4, 3, (1, 2), plain(strides=(2, 3), padding="VALID")),  # some without taps
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(name, shape):
    batch, sizes, channels, filters, taps, params = shape
    rng = np.random.default_rng(0)
    x = rng.normal(size=(batch, *sizes, channels)).astype("f")
    w = rng.normal(size=(*taps, channels // params["groups"], filters)).astype("f")
    g = rng.normal(size=later("convolution").numpy(x, w, **params).shape).astype("f")
    arrays, more = {
        "convolution": ([x, w], {}),
        "convolution_input_gradient": ([g, w], {"sizes": sizes}),
        "convolution_filter_gradient": ([x, g], {"kernel": taps}),
    }[name]
    check_case((later(name), arrays, {**params, **more}), threads=2)


def test_integers_are_left_to_numpy():
    prim = later("convolution")
    arrays = [np.ones((1, 3, 3, 1), "i"), np.ones((2, 2, 1, 2), "i")]
    assert hosts(lower(static_of(prim, arrays, plain())).program) == ["convolution"]


def test_windows_of_an_input_gradient():
    """Each place of x belongs to one product, and each tap to one of each axis."""
    g, w = np.ones((1, 4, 3, 2), "f"), np.ones((3, 4, 5, 2), "f")
    params = plain(strides=(2, 3), sizes=(7, 9), dilation=(1, 2))
    static = static_of(later("convolution_input_gradient"), [g, w], params)
    parts = geometry_of(static.equations[0]).backward()
    assert len(parts) == 6
    for axis, (size, taps) in enumerate(zip((7, 9), (3, 4))):
        lines = {part.lines[axis] for part in parts}
        places = [line.first + t * line.stride for line in lines for t in range(line.outs)]
        numbers = [line.tap_first + k * line.tap_stride for line in lines for k in range(line.taps)]
        assert sorted(places) == list(range(size))
        assert sorted(numbers) == list(range(taps))


def test_shares():
    assert shares(14, 6) == [5, 5, 4]
    assert shares(6, 6) == [6]
    assert shares(1, 6) == [1]


def test_an_infinite_weight_meets_the_padding_in_both_executors():
    """Zero times infinity: interpreted input gradients once left the padding out."""
    g = np.random.default_rng(0).standard_normal((2, 8, 8, 8)).astype("float32")
    w = np.ones((3, 3, 8, 8), "float32")
    w[0, 0, 0, 0] = np.inf
    results = []
    for executor in ("interpret", "llvm"):
        with talweg_settings.executor(executor):
            transposed = tf.function(lambda g, w: tf.nn.conv2d_transpose(g, w, g.shape, 1, "SAME"))
            results.append(transposed(tf.constant(g), tf.constant(w)).numpy())
    assert np.isnan(results[0]).any()
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-5)


def test_residues_that_share_lines_are_one_kernel():
    """By itself, each would take every line of the cache from memory and write it back."""
    params = plain(strides=(2, 2), sizes=(8, 8))
    for channels, batch, count in [(8, 16, 1), (32, 16, 4), (8, 2, 4)]:
        arrays = [np.ones((batch, 4, 4, 3), "f4"), np.ones((3, 3, channels, 3), "f4")]
        static = static_of(later("convolution_input_gradient"), arrays, params)
        kernels = [block.name for block in lower(static).program.blocks]
        assert len([name for name in kernels if "panel" not in name]) == count, kernels
