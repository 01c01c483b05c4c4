"""Partial derivatives at the edges of a dtype's range, against the same rule in float64.

Where value and derivative are numbers of the dtype, what is computed on the way to them must not be
infinite, NaN or 0 instead.  The operands are all combinations of edges.
"""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.core.primitive import REGISTRY
from talweg.eager.tensor import wrap
from tests.prims import harness

CASES = [
    case
    for case in harness.cases()
    if case.prim.elementwise
    and case.number == 0
    and harness.is_float64_capable(case)
    and case.sample.dtype is tf.float32
    and not any(np.asarray(a).dtype == bool for a in case.arrays())
]

# Differences of numbers that are nearly equal: right to the rounding of those.
CANCELLING = {
    "bessel_k0e": 100,
    "bessel_k1e": 100,
    "dawsn": 100,
    "tanh": 100,
    "gamma_derivative": np.inf,
}
SLOW = {"gamma_derivative", "igamma", "igammac"}


def edges(dtype: np.dtype) -> np.ndarray:
    """Numbers of a dtype near which something ends: its range, its precision, exp, 0, 1."""
    info = np.finfo(dtype)
    top, least, step = float(info.max), float(info.tiny), float(info.eps)
    sizes = [
        0,
        1,
        0.5,
        2,
        6,
        10,
        100,
        1 - step,
        1 + step,
        top,
        top / 16,
        top**0.25,
        top**0.5,
        4 * top**0.5,
        4 * least,
        64 * least,
        4 * least**0.5,
        0.999 * np.log(top),
        np.log(top) / 2,
    ]
    sizes = np.array(sizes).astype(dtype).astype(np.float64)
    return np.concatenate([sizes, -sizes[1:]])


def operands_of(case, dtype: np.dtype) -> list:
    count = len(case.prim.operands)
    given = edges(dtype)
    if count == 3 or case.prim.name in SLOW:
        given = given[:: 3 if count == 3 else 5]
    found = [x.reshape(-1) for x in np.meshgrid(*[given] * count)]
    keep = np.ones(found[0].shape, bool)
    if case.prim.name == "pow":  # y - 1 is not an integer's neighbour: TensorFlow's signs, too
        keep = (found[0] > 0) | (np.abs(found[1]) < 1 / np.finfo(dtype).eps)
    if "mod" in case.prim.name:  # a quotient that is 0 has no sign to round by
        with np.errstate(all="ignore"):
            keep = np.abs(found[0] / found[1]) >= np.finfo(dtype).tiny
    if "labels" in case.prim.operands:
        keep = (found[0] >= 0) & (found[0] <= 1)
    return [x[keep] for x in found]


def derivatives(case, arrays: list, g: np.ndarray) -> tuple:
    """The value, the cotangent of each operand, and the tangent along each alone."""
    operands = [wrap(a) for a in arrays]
    sources = [operands[i] for i in case.differentiable()]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        z = case.prim(*operands, **case.params())
    parts = tape.gradient(z, sources, wrap(g), "zero")
    for x in sources:
        with tf.autodiff.ForwardAccumulator(x, wrap(g)) as accumulator:
            again = case.prim(*operands, **case.params())
        parts.append(accumulator.jvp(again, "zero"))
    return np.asarray(z._array), [np.asarray(part._array) for part in parts]


def agree(case, found: np.ndarray, wanted: np.ndarray, there: np.ndarray, arrays: list) -> None:
    """Finite, and within a factor, where the wanted number is one of the dtype."""
    info = np.finfo(found.dtype)
    rounding = float(info.eps) * CANCELLING.get(case.prim.name, 0)
    with np.errstate(all="ignore"):
        there = there & (np.abs(wanted) <= 0.99 * float(info.max))
        slack = 0.5 * np.abs(wanted) + 8 * float(info.tiny) + rounding
        bad = there & ~(np.abs(found - wanted) <= slack)
    first = [(*[x[i] for x in arrays], "gives", found[i], wanted[i]) for i in np.flatnonzero(bad)]
    assert not first, f"{len(first)} of {there.sum()}, as {first[:4]}"


@pytest.mark.parametrize("kind", ["float16", "float32"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.prim.name)
def test_partials(case, kind):
    if tf.as_dtype(kind) not in case.prim.accepts:
        return
    dtype = np.dtype(kind)
    arrays = operands_of(case, dtype)
    ones = np.ones(arrays[0].shape)
    z, wanted = derivatives(case, arrays, ones)
    narrow = [x.astype(dtype) for x in arrays]
    _, found = derivatives(case, narrow, ones.astype(dtype))
    with np.errstate(all="ignore"):
        there = np.abs(z) <= float(np.finfo(dtype).max)
    for part, right in zip(found, wanted):
        agree(case, part, right, there, arrays)


# A partial that is out of range, and a cotangent with which its product is not.
PRODUCTS = [
    ("pow", "y", [1, 6, 6], [6, 6, 6], [1, 0, 0.125]),
    ("pow", "x", [6, 6], [6, 6], [0, 0.125]),
    ("square", "x", [65504, 40000], None, [0, 0.5]),
    ("squared_difference", "x", [65504, 40000], [0, 0], [0, 0.5]),
    ("squared_difference", "y", [65504, 40000], [0, 0], [0, 0.5]),
    ("rsqrt", "x", [1e-4, 1e-4], None, [0, 1e-3]),
    ("reciprocal", "x", [1e-3, 1e-3], None, [0, 1e-2]),
]


@pytest.mark.parametrize("executor", ["eager", "interpret", "llvm"])
@pytest.mark.parametrize(("name", "by", "x", "y", "g"), PRODUCTS)
def test_products_with_cotangents(name, by, x, y, g, executor):
    prim = REGISTRY[name]

    def both(dtype):
        operands = [tf.constant(v, dtype) for v in (x, y) if v is not None]
        cotangent, source = tf.constant(g, dtype), operands[prim.operands.index(by)]
        with tf.GradientTape() as tape:
            tape.watch(source)
            z = prim(*operands)
        with tf.autodiff.ForwardAccumulator(source, cotangent) as accumulator:
            again = prim(*operands)
        return tape.gradient(z, source, cotangent), accumulator.jvp(again)

    with settings.executor("auto" if executor == "eager" else executor):
        narrow = (both if executor == "eager" else tf.function(both))(tf.float16)
    for found, wanted in zip(narrow, both(tf.float64)):
        np.testing.assert_allclose(found, wanted, 5e-3)
