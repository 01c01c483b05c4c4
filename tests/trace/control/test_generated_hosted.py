"""Generated programs of which the interpreter runs a part, in loops and branches, and derivatives.

What was once wrong stands here as it was generated.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import talweg as tf
from talweg.core import settings as executors
from tests.trace.control import test_generated as generated

ZERO = tf.UnconnectedGradients.ZERO


def run_masked(values, a, target):
    """A sum over a part of the registers: how many depends on their values."""
    found, together = list(values), tf.stack(values)
    found[target] = tf.reduce_sum(tf.sin(tf.boolean_mask(together, together > values[a] - 0.1)))
    return tuple(found)


def run_unique(values, a, target):
    found, together = list(values), tf.stack([values[a], values[a], values[target]])
    # of bounded numbers: in loops they would grow, and cosines of large ones are chaotic
    different, place = tf.unique(tf.stop_gradient(tf.floor(tf.tanh(together) * 3)))
    mean = tf.reduce_mean(tf.cos(together) * tf.gather(different, place)[0])
    found[target] = mean + 0.01 * tf.cast(tf.size(different), tf.float64)
    return tuple(found)


def run_over(values, a, target, block, over):
    """Each register in the place of register a, one after the other."""
    found = list(values)
    weights = [1.0, 0.5, 0.25]

    def one(x, before=None):
        own = list(values)
        own[a] = x if before is None else 0.5 * before + x
        return run_block(block, tuple(own))[a]

    if over is tf.scan:
        several = tf.scan(lambda before, x: one(x, before), tf.stack(values))
    else:
        several = tf.map_fn(one, tf.stack(values))
    found[target] = tf.reduce_sum(several * weights)
    return tuple(found)


def run_call(values, a, target, block):
    return tuple(tf.function(lambda *own: run_block(block, own), autograph=False)(*values))


STATEMENTS = {
    **generated.STATEMENTS,
    "masked": run_masked,
    "unique": run_unique,
    "map": lambda *statement: run_over(*statement, tf.map_fn),
    "scan": lambda *statement: run_over(*statement, tf.scan),
    "call": run_call,
}


def run_block(block, values):
    for statement in block:
        values = STATEMENTS[statement[0]](values, *statement[1:])
    return values


@pytest.fixture(autouse=True)
def more_statements():
    """Let blocks within loops and branches have these statements, too."""
    with with_statements():
        yield


def with_statements():
    """What programs of these statements are made and run in."""
    return mock.patch.object(generated, "STATEMENTS", STATEMENTS)


def derivatives(program, order):
    """A function that gives derivatives up to an order; -1: forward over reverse."""

    def value(x):
        found = run_block(program, tuple([x[i] for i in range(generated.REGISTERS)]))
        return found[0] + 0.5 * found[1] * found[2]

    def reverse(x, left):
        if left == 0:
            return [], value(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            lower, y = reverse(x, left - 1)
        g = tape.gradient(y, x, unconnected_gradients=ZERO)
        return [*lower, g], tf.reduce_sum(g * g)

    def pushed(x):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
            _, y = reverse(x, 1)
        return [y, forward.jvp(y, unconnected_gradients=ZERO)]

    return pushed if order < 0 else lambda x: reverse(x, order)[0]


def assert_agree(program, order, seed):
    f = derivatives(program, order)
    made = tf.function(f, autograph=False)
    first = np.random.default_rng(seed).uniform(-1, 1, generated.REGISTERS)
    for point in (tf.constant(first), tf.constant(first + 0.25)):
        with executors.executor("llvm"):
            found = made(point)
        for one, other in zip(f(point), found, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-8, atol=1e-10)


LISTS_OF_ONE_REGION = [
    ("kept", 1, 1, [("scan", 1, 2, [("unique", 2, 0)])]),
    (
        "scan",
        0,
        0,
        [
            ("call", 2, 1, [("set", "mean", 0, 2, 0)]),
            ("loop", 3, [("masked", 0, 1), ("unique", 1, 2), ("set", "product", 0, 0, 2)]),
        ],
    ),
]
STACKS_GIVEN_TO_REGIONS = [
    (
        "scan",
        0,
        1,
        [
            ("kept", 0, 0, [("set", "whole", 2, 0, 2), ("set", "mean", 2, 1, 2)]),
            (
                "branch",
                2,
                0,
                [("set", "mean", 0, 0, 2), ("set", "sine", 1, 0, 2), ("set", "bell", 2, 1, 2)],
                [("set", "whole", 0, 2, 0), ("set", "whole", 2, 2, 1), ("set", "sine", 1, 2, 0)],
            ),
            ("set", "product", 0, 2, 1),
        ],
    ),
]
STACKS_OF_ONE_BRANCH = [
    (
        "branch",
        1,
        2,
        [
            (
                "branch",
                0,
                2,
                [("set", "whole", 0, 1, 0), ("set", "whole", 2, 0, 0)],
                [("unique", 0, 0), ("set", "product", 1, 2, 0)],
            ),
            ("kept", 0, 1, [("set", "product", 0, 2, 0), ("set", "mean", 2, 1, 1)]),
        ],
        [
            ("array", 2, 0, [("masked", 2, 0), ("set", "sine", 2, 1, 2)]),
            ("map", 0, 1, [("set", "product", 1, 2, 1)]),
        ],
    ),
    (
        "map",
        2,
        0,
        [
            ("call", 0, 1, [("set", "bell", 0, 0, 0)]),
            ("array", 1, 1, [("set", "whole", 0, 1, 1), ("set", "sine", 1, 0, 0)]),
            ("masked", 1, 1),
        ],
    ),
]
LENGTHS_OF_ONE_BRANCH = [
    ("set", "product", 0, 0, 1),
    (
        "branch",
        0,
        1,
        [
            (
                "kept",
                1,
                0,
                [("set", "sine", 2, 0, 0), ("set", "whole", 1, 0, 2), ("set", "bell", 0, 1, 1)],
            ),
            ("set", "sine", 1, 2, 1),
            ("set", "bell", 0, 0, 2),
        ],
        [("map", 0, 0, [("set", "product", 2, 2, 0), ("set", "whole", 0, 2, 1)])],
    ),
]


@pytest.mark.parametrize(
    ("program", "order", "seed"),
    [
        (LISTS_OF_ONE_REGION, 1, 21),  # an element of a list was asked for before it was there
        (STACKS_GIVEN_TO_REGIONS, 3, 26),  # and one of 2**40 rows was to be reshaped
        (STACKS_OF_ONE_BRANCH, 2, 80),  # 2**40 zeros were written
        (LENGTHS_OF_ONE_BRANCH, 3, 89),  # the branch that is not taken left any number
    ],
)
def test_what_was_wrong_once(program, order, seed):
    assert_agree(program, order, seed)


register = st.integers(0, generated.REGISTERS - 1)
plain = st.one_of(
    generated.plain, st.tuples(st.sampled_from(["masked", "unique"]), register, register)
)
short = st.lists(plain, min_size=1, max_size=2)
around = st.tuples(
    st.sampled_from(["map", "scan", "call", "array", "kept"]), register, register, short
)
either = st.lists(st.one_of(plain, around), min_size=1, max_size=2)
nested = st.one_of(
    around,
    st.tuples(st.just("bounded"), register, either),
    st.tuples(st.just("branch"), register, register, short, either),
)


@settings(max_examples=6, deadline=None, derandomize=True, phases=[Phase.generate])
@given(program=st.lists(nested, min_size=1, max_size=2), order=st.integers(1, 2))
def test_programs_with_regions_agree(program, order):
    assert_agree(program, order, 0)
