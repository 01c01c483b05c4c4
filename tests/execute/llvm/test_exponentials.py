"""exp(x - max x) as `exp_below`, and long loop bodies that take two vectors at a time."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.execute.llvm.codegen.program import emit
from talweg.execute.llvm.vector_math.library import VectorMathLibrary
from talweg.lower.ir.printer import parse, to_text
from talweg.passes.functionalize import program_of

WILD = np.array(
    [
        [-np.inf, 0, 5, -200],
        [-np.inf] * 4,
        [np.inf, 1, 2, 3],
        [np.nan, 0, 1, 2],
        [1e30, -1e30, 0, 1],
    ],
    np.float32,
)


def lowered(function, *args) -> str:
    """The loop program of a function; what it gives agrees with the interpreter."""
    with settings.executor("interpret"):
        wanted = tf.function(function)(*args)
    made = tf.function(function)
    with settings.executor("llvm"):
        got = made(*args)
    np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=1e-30)
    body = made.get_concrete_function(*args).body
    (version,) = program_of(body).tier.versions.values()
    return to_text(version.lowered.program)


def by_hand(x):
    e = tf.exp(x - tf.reduce_max(x, -1, keepdims=True))
    return e / tf.reduce_sum(e, -1, keepdims=True)


@pytest.mark.parametrize("function", [by_hand, tf.nn.softmax, tf.nn.log_softmax])
def test_rows_below_their_maximum(function):
    text = lowered(function, tf.constant(WILD))
    assert "exp_below(" in text and "exp(" not in text.replace("exp_below(", "")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.exp(x - tf.reduce_max(x, 0)[:, None]),  # of columns, from rows
        lambda x: tf.exp(x - tf.reduce_max(x, 1)),
        lambda x: tf.exp(x - tf.reduce_max(-x, 1, keepdims=True)),
        lambda x: tf.exp(tf.reduce_max(x, 1, keepdims=True) - x),
    ],
)
def test_numbers_that_may_be_above(function):
    x = np.random.default_rng(3).normal(size=(4, 4)).astype(np.float32)
    assert "exp_below" not in lowered(function, tf.constant(x))


@pytest.mark.parametrize("size, lanes", [(64, 16), (24, 8), (8, 8), (1000, 16), (100, 8)])
def test_long_bodies_take_two_vectors(size, lanes):
    text = f"""program p
  x: input float32[{size}]
  y: output float32[{size}]
kernel k:
  for i in {size} vector:
    y[i] = tanh(x[i])
"""
    assert f"store <{lanes} x float>" in emit(parse(text), 32, VectorMathLibrary())
    assert (
        f"store <{lanes} x float>"
        not in emit(parse(text.replace("tanh", "neg")), 32, VectorMathLibrary())
        or lanes == 8
    )


@pytest.mark.parametrize("size", [5, 64, 1000, 4097])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_extremes_of_rows_with_nan(size, dtype):
    """A NaN shows wherever it is, in the last lane and in the last, shorter vector too."""
    x = np.random.default_rng(size).normal(size=(9, size)).astype(dtype)
    x[1, 0] = x[2, -1] = x[3, size // 2] = np.nan
    x[4], x[5], x[6, 0], x[7, -1] = np.inf, -np.inf, -np.inf, np.inf
    for reduce, wanted in ((tf.reduce_max, np.max), (tf.reduce_min, np.min)):
        with settings.executor("llvm"):
            got = tf.function(lambda x: (reduce(x, 1), reduce(x)))(tf.constant(x))  # noqa: B023
        np.testing.assert_array_equal(got[0], wanted(x, 1))
        assert np.isnan(got[1])
