"""Pooling as loops gives what its NumPy kernels give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import talweg as tf
from talweg.core.errors import InvalidArgumentError
from talweg.core.primitive import later
from tests.lower.declared import avals_of, hosts, lower, static_of
from tests.lower.windows import check_case, pairs

NAMES = (
    "max_pool",
    "max_pool_gather",
    "max_pool_scatter",
    "avg_pool",
    "avg_pool_transpose",
    "patches",
    "patches_transpose",
)
LINEAR = NAMES[3:]
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}

assert tf.nn.max_pool2d  # loads the declarations


@st.composite
def poolings(draw) -> tuple:
    """(primitive, arrays, params)."""
    rank = draw(st.sampled_from([1, 2, 2, 3]))
    window = [draw(st.integers(1, 3)) for _ in range(rank)]
    strides = [draw(st.integers(1, 3)) for _ in range(rank)]
    steps = [draw(st.sampled_from([1, 1, 2])) for _ in range(rank)]
    if draw(st.booleans()):
        strides = window
    sizes = [draw(st.integers(1, 8 if rank < 3 else 4)) for _ in range(rank)]
    if draw(st.integers(0, 4)) == 0:
        window = sizes
    padding = draw(st.sampled_from(["SAME", "VALID", None]))
    padding = padding or tuple([draw(pairs(taps - 1)) for taps in window])
    params = {
        "window": tuple(window),
        "strides": tuple(strides),
        "padding": padding,
        "dilation": tuple(steps),
    }
    x = draw(
        numbers(st.just((draw(st.integers(1, 3)), *sizes, draw(st.sampled_from([1, 2, 3, 8, 17])))))
    )
    try:
        outs = later("max_pool").infer(*avals_of([x]), **params).dims
    except InvalidArgumentError:
        outs = (0,)
    if 0 in outs:
        params["padding"] = "SAME"
    return case_of(draw(st.sampled_from(NAMES)), x, params, draw(st.integers(0, 99)))


@st.composite
def numbers(draw, shapes) -> np.ndarray:
    """Arrays with ties and NaN."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    shape = draw(shapes)
    x = rng.integers(-3, 4, shape).astype(draw(st.sampled_from(["f4", "f8", "i4"])))
    if x.dtype.kind == "f" and draw(st.booleans()):
        x[rng.random(shape) < 0.1] = np.nan
    return x


def case_of(name: str, x: np.ndarray, params: dict, seed: int) -> tuple:
    """The operands that a primitive of pooling needs."""
    rng = np.random.default_rng(seed)
    if name in LINEAR and x.dtype.kind == "i":
        x = x.astype("f4")
    y = later("max_pool").numpy(x, **params)
    if name in ("max_pool", "avg_pool", "patches"):
        return later(name), [x], params
    if name == "max_pool_gather":
        return later(name), [rng.normal(size=x.shape).astype(x.dtype), x, y], params
    g = rng.normal(size=y.shape).astype(x.dtype)
    if name == "max_pool_scatter":
        return later(name), [g, x, y], params
    if name == "patches_transpose":
        g = np.concatenate([g] * int(np.prod(params["window"])), -1)
    return later(name), [g], {**params, "sizes": x.shape[1:-1]}


@settings(max_examples=60, **QUIET)
@given(poolings())
def test_meaning(case):
    check_case(case, lowered=False)


@settings(max_examples=40, **QUIET)
@given(poolings())
def test_machine_code(case):
    check_case(case, threads=2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("padding", ["SAME", "VALID", ((0, 1), (1, 1))])
@pytest.mark.parametrize("strides", [(2, 2), (1, 2)])
def test_no_host_calls(name, padding, strides):
    x = np.random.default_rng(0).normal(size=(2, 7, 6, 5)).astype("f")
    params = {"window": (2, 2), "strides": strides, "padding": padding, "dilation": (1, 1)}
    prim, arrays, params = case_of(name, x, params, 0)
    assert not hosts(lower(static_of(prim, arrays, params)).program)
    check_case((prim, arrays, params))


def test_first_of_equal_maxima_has_the_gradient():
    """TensorFlow's rule, in row-major order; NaN is the maximum where there is one."""
    x = np.array([[1, 1, 0, 5], [1, 1, 5, 5], [2, np.nan, 0, 0], [np.nan, 3, 0, -1]], "f")
    x = x.reshape(1, 4, 4, 1)
    params = {"window": (2, 2), "strides": (2, 2), "padding": "VALID", "dilation": (1, 1)}
    y = later("max_pool").numpy(x, **params)
    g = np.arange(1, 5, dtype="f").reshape(1, 2, 2, 1)
    case = later("max_pool_scatter"), [g, x, y], params
    check_case(case)
    check_case(case, threads=1)
    wanted = [[1, 0, 0, 2], [0, 0, 0, 0], [0, 3, 4, 0], [0, 0, 0, 0]]
    np.testing.assert_array_equal(case[0].numpy(g, x, y, **params)[0, :, :, 0], wanted)


def test_large_windows():
    """A window as large as the image, for more channels than fit into registers."""
    x = np.random.default_rng(0).normal(size=(3, 7, 7, 160)).astype("f")
    params = {"window": (7, 7), "strides": (1, 1), "padding": "VALID", "dilation": (1, 1)}
    for name in ("max_pool", "avg_pool", "avg_pool_transpose"):
        check_case(case_of(name, x, params, 0), threads=2)
