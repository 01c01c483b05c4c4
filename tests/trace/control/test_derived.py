"""Derivatives of random programs, in every mode, order and place, against plain Python's."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

from .derived import (
    MODES,
    REGISTERS,
    STATEMENTS,
    WAYS,
    derived,
    draw_program,
    draw_short_program,
    expected,
)


def check(program, way, modes, x):
    found = WAYS[way](program, modes, x)
    np.testing.assert_allclose(found, expected(program, len(modes), x), 1e-7, 1e-9)


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_each_statement(name):
    """Every statement, in a mode and a place that change from statement to statement."""
    rng = np.random.default_rng(sorted(STATEMENTS).index(name))
    program = draw_program(rng, 1, [name])
    for mode in sorted(MODES):
        check(program, str(rng.choice(sorted(WAYS))), [mode], rng.normal(size=REGISTERS))


@pytest.mark.parametrize("seed", range(10))
def test_first_derivatives(seed):
    rng = np.random.default_rng([1, seed])
    program = draw_program(rng, 2)
    way = sorted(WAYS)[seed % len(WAYS)]
    check(program, way, [str(rng.choice(sorted(MODES)))], rng.normal(size=REGISTERS))


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 6, 7, 9])
def test_second_derivatives(seed):
    rng = np.random.default_rng([2, seed])
    program = draw_program(rng, 1)
    way = sorted(WAYS)[seed % len(WAYS)]
    modes = [str(mode) for mode in rng.choice(sorted(MODES), 2)]
    check(program, way, modes, rng.normal(size=REGISTERS))


THIRD = {  # grad of grad of grad, jacobian of hessian, forward over reverse over reverse, ...
    "reverse": ["reverse", "reverse", "reverse"],
    "forward": ["reverse", "reverse", "forward"],
    "together": ["reverse", "forward_together", "reverse"],
    "across": ["reverse", "reverse", "across"],
    "each": ["forward", "reverse", "each"],
}


@pytest.mark.parametrize("seed", range(20))
def test_third_derivatives(seed):
    rng = np.random.default_rng([3, seed])
    program = draw_short_program(rng)
    way = sorted(WAYS)[seed % len(WAYS)]
    modes = THIRD[sorted(THIRD)[(seed // len(WAYS) + seed) % len(THIRD)]]
    check(program, way, modes, rng.normal(size=REGISTERS))


def test_executors_agree_on_derivatives(seed=0):
    """A program of any order by the interpreter and the compiler (`./run fresh` takes others)."""
    rng = np.random.default_rng([4, seed])
    order = int(rng.integers(1, 4))
    program = draw_short_program(rng) if order == 3 else draw_program(rng, int(rng.integers(1, 3)))
    way = str(rng.choice([way for way in sorted(WAYS) if way != "eager"]))
    modes = [str(mode) for mode in rng.choice(sorted(MODES), order)]
    x = rng.normal(size=REGISTERS)
    wanted = expected(program, order, x)
    for executor in ("interpret", "llvm"):
        with settings.executor(executor):
            np.testing.assert_allclose(WAYS[way](program, modes, x), wanted, 1e-7, 1e-9)


FOUND = {  # by campaigns with fresh seeds
    "a branch that no slice takes": (1009, "of_function", ["each"]),
    "what no slice computes": (1131, "of_function", ["forward_together", "forward"]),
    "a branch that no slice takes, eagerly": (3153, "eager", ["each"]),
    "no path, of unknown shape": (1054, "of_unknown_shape", ["across", "reverse"]),
    "parts of different length": (3081, "eager", ["each"]),
    "parts of different length in a batch": (3151, "of_function", ["across", "each"]),
    "parts that nobody uses": (3262, "in_graph", ["each", "across"]),
    "no path, in a graph": (3151, "in_graph", ["reverse", "reverse"]),
    "a slice in a branch not taken": (110, "eager", ["each"]),
    "a slice in a branch not taken, in a graph": (110, "in_graph", ["across", "forward"]),
    "an absent list": (110, "of_function", ["reverse", "forward_together"]),
    "a partition in a branch not taken": (124, "in_function", ["each", "across"]),
    "a partition that no slice computes": (124, "eager", ["forward", "across"]),
    "a partition, of unknown shape": (124, "of_unknown_shape", ["reverse", "reverse"]),
}


@pytest.mark.parametrize("name", FOUND)
def test_found_before(name):
    seed, way, modes = FOUND[name]
    rng = np.random.default_rng([seed, 7])
    program = draw_program(seed, int(rng.integers(1, 3)))
    check(program, way, modes, rng.normal(size=REGISTERS))


@pytest.mark.parametrize("way", ["eager", "in_function"])
def test_a_third_derivative_of_uneven_slices(way):
    """Two loops over slices begin with the same absent list; their elements have other shapes.

    The cotangents of that list were added, though nobody wanted them.
    """

    def f(x):
        return x * tf.reduce_sum(tf.boolean_mask(x, x > x[0]))

    x = tf.constant([0.5, 1.0, 2.0], tf.float64)
    g = derived(f, ["across", "reverse", "across"])
    g = tf.function(g) if way == "in_function" else g
    later = np.array([0.0, 1.0, 1.0])  # the third derivative of x_i (x_1 + x_2) is zero
    np.testing.assert_allclose(g(x), np.zeros([3] * 4), atol=1e-12)
    second = derived(f, ["across", "reverse"])(x)
    eye = np.eye(3)
    wanted = eye[:, :, None] * later + eye[:, None, :] * later[:, None]
    np.testing.assert_allclose(second, wanted, atol=1e-12)


def cube(a):
    return a * a * a


def select_cube(a):
    """Branches that are equal are one body: what it remembers must count once."""
    return tf.cond(a[0] > 0.3, lambda: cube(a), lambda: cube(a))


def cube_beside_uneven(a):
    """Slices of this are gone through in a loop."""
    return (tf.where(a > 0.0), cube(a))[1]


def cube_slices(f):
    """A function of a vector with one element, by slices."""
    return lambda x: tf.vectorized_map(f, tf.stack([x, x * 0.5]))[0]


CUBES = {
    "equal branches": tf.function(select_cube),
    "branches by slices": cube_slices(
        lambda a: tf.cond(a[0] > 0.3, lambda: cube(a), lambda: a + a)
    ),
    "a loop over slices": cube_slices(tf.function(cube_beside_uneven)),
    "loops by slices": cube_slices(
        lambda a: tf.while_loop(
            lambda i, s: i < tf.cast(a[0] * 0.0 + 2.0, tf.int32),
            lambda i, s: (i + 1, s * a),
            (0, a),
        )[1]
    ),
}


def push(f):
    """The derivative of a function of one element, forwards."""

    def slope(x):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = f(x)
        return accumulator.jvp(y, tf.UnconnectedGradients.ZERO)

    return slope


def pull(f):
    """The derivative of a function of one element, in reverse."""

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x, unconnected_gradients="zero")

    return slope


@pytest.mark.parametrize("name", CUBES)
def test_third_derivatives_of_a_cube(name):
    """Equal branches gave 8, loops over slices 0 and 2, in these orders."""
    x = tf.constant([0.5], tf.float64)
    orders = (push, push, push), (push, push, pull), (pull, push, push), (pull, push, pull)
    for ways in orders:
        slope = CUBES[name]
        for way in ways:
            slope = way(slope)
        assert slope(x).numpy() == pytest.approx(6.0), ways


PARTITION = [("partition", 0, 2)]
WHERE = [("set", "where", 1, 2, 1)]
THIRD_FOUND = {
    "sums over no slices": (PARTITION, "in_graph", ["reverse", "each", "forward"]),
    "no slices of a part": (PARTITION, "in_function", ["reverse", "reverse", "forward"]),
    "a zero tangent in a list": (PARTITION, "in_graph", ["each", "reverse", "forward_together"]),
    "a tape around a tape in a batch": (
        [("call", 1, 0, [("set", "sine", 1, 2, 0)])],
        "in_function",
        ["forward", "each", "each"],
    ),
    "a batch of histories in a batch": (
        [("switch", 0, 1, [("set", "larger", 2, 0, 2)], WHERE, WHERE)],
        "of_function",
        ["across", "reverse", "forward_together"],
    ),
}


@pytest.mark.parametrize("name", THIRD_FOUND)
def test_third_derivatives_found_before(name):
    program, way, modes = THIRD_FOUND[name]
    check(program, way, modes, np.array([1.04, -1.07, -0.26]))


@pytest.mark.parametrize("way", ["eager", "of_function", "in_function"])
def test_a_rule_over_tensors_of_what_is_around(way):
    """The rule of a user's function takes the tensors of a branch that runs for one slice."""
    plain = ("set", "product", 1, 1, 1)
    program = [("branch", 0, 2, [("recompute", 1, 1, [plain])], [plain])]
    check(program, way, ["across"], np.array([0.35, 0.17, -0.45]))


@pytest.mark.parametrize("way", ["of_function", "in_function"])
def test_compiled_programs_agree(way):
    rng = np.random.default_rng(3)
    program = draw_program(rng, 1, ["loop", "branch", "call", "array"])
    x = rng.normal(size=REGISTERS)
    with settings.executor("llvm"):
        check(program, way, ["reverse"], x)
        check(program, way, ["each"], x)
