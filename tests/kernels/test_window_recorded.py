"""The kernels against TensorFlow's recorded answers (tools/record_window.py)."""

import json

import numpy as np
import pytest

from talweg.kernels import convolution as convolutions
from talweg.kernels import pooling, window
from tests.kernels import window_cases as cases

RECORDED = json.loads(cases.VALUES.read_text(encoding="utf-8"))


def pairs(topic, table):
    named = [case.get("name", str(number)) for number, case in enumerate(table)]
    return pytest.mark.parametrize(
        "case, recorded", list(zip(table, RECORDED[topic], strict=True)), ids=named
    )


def check(got, recorded):
    if recorded is None:  # TensorFlow has no such kernel
        return
    assert list(got.shape) == recorded["shape"]
    assert got.dtype in (np.float32, np.int64)
    np.testing.assert_allclose(got.ravel(), recorded["elements"], rtol=3e-7)


@pairs("convolutions", cases.CONVOLUTIONS)
def test_convolution(case, recorded):
    x, w = cases.operand(case["input"], 1), cases.operand(case["filter"], 2)
    geometry = x.shape[1:-1], w.shape[:-2], case["strides"], case["dilation"]
    padding = window.explicit_padding(case["padding"], *geometry)
    rest = case["strides"], padding, case["dilation"], case["groups"]
    y = convolutions.convolution(x, w, *rest)
    g = cases.operand(y.shape, 3)
    check(y, recorded[0])
    check(convolutions.convolution_input_gradient(g, w, x.shape[1:-1], *rest), recorded[1])
    check(convolutions.convolution_filter_gradient(x, g, w.shape[:-2], *rest), recorded[2])


@pairs("depthwise", cases.DEPTHWISE)
def test_depthwise(case, recorded):
    x, w = cases.operand(case["input"], 1), cases.operand(case["filter"], 2)
    geometry = x.shape[1:-1], w.shape[:-2], case["strides"], (1, 1)
    padding = window.explicit_padding(case["padding"], *geometry)
    depth = x.shape[-1]
    rest = case["strides"], padding, (1, 1), depth
    kernel = w.reshape(*w.shape[:2], 1, -1)
    y = convolutions.convolution(x, kernel, *rest)
    g = cases.operand(y.shape, 3)
    check(y, recorded[0])
    check(convolutions.convolution_input_gradient(g, kernel, x.shape[1:-1], *rest), recorded[1])
    gw = convolutions.convolution_filter_gradient(x, g, kernel.shape[:-2], *rest)
    check(gw.reshape(w.shape), recorded[2])


@pairs("poolings", cases.POOLINGS)
def test_pooling(case, recorded):
    x, ones = cases.operand(case["input"], 1), (1,) * len(case["window"])
    geometry = x.shape[1:-1], case["window"], case["strides"], ones
    padding = window.explicit_padding(case["padding"], *geometry)
    rest = case["window"], case["strides"], padding, ones
    y, position = pooling.max_pool_with_argmax(x, *rest)
    g = cases.operand(y.shape, 3)
    check(y, recorded["max"][0])
    check(pooling.max_pool(x, *rest), recorded["max"][0])
    check(pooling.max_pool_scatter(g, x, *rest), recorded["max"][1])
    check(position, recorded.get("argmax"))
    check(pooling.avg_pool(x, *rest), recorded["average"][0])
    check(pooling.avg_pool_transpose(g, x.shape[1:-1], *rest), recorded["average"][1])


@pairs("patches", cases.PATCHES)
def test_patches(case, recorded):
    x = cases.operand(case["input"], 1)
    geometry = x.shape[1:-1], case["window"], case["strides"], case["rates"]
    padding = window.explicit_padding(case["padding"], *geometry)
    rest = case["window"], case["strides"], padding, case["rates"]
    y = window.patches(x, *rest)
    check(y, recorded[0])
    check(window.patches_transpose(cases.operand(y.shape, 3), x.shape[1:-1], *rest), recorded[1])
