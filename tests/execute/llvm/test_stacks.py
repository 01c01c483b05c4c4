"""The memory of loops of unknown length: it grows, is kept within bounds, and may run out."""

from __future__ import annotations

import gc
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import talweg as tf
from talweg.core import settings as talweg_settings
from talweg.execute.llvm.codegen import stacks
from talweg.execute.llvm.runtime import stack_memory
from talweg.lower.buffer_assignment import plan
from tests.lower.controlled import Case, agree, gradient


def halved(x, limit):
    """Twice the number of trips for each power of two."""
    n, total = tf.constant(0), tf.zeros_like(x)
    while tf.cast(n, tf.float64) < limit:
        total = total * 0.5 + tf.sin(x * total + x)
        n += 1
    return total


def sloped():
    """A function compiled from the first call on: the slope of `halved`, for several lengths."""

    @tf.function
    def slope(x, limit):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(halved(x, limit))
        return tape.gradient(y, x)

    return slope


def by_hand(x, limit):
    total, slope = np.zeros_like(x), np.zeros_like(x)
    for _ in range(limit):
        inner = np.cos(x * total + x) * (total + x * slope + 1)
        total, slope = total * 0.5 + np.sin(x * total + x), slope * 0.5 + inner
    return slope


X = np.random.default_rng(0).normal(size=7) * 0.3


@pytest.fixture
def compiled():
    with talweg_settings.executor("llvm"):
        yield


def call(slope, limit):
    return slope(tf.constant(X), tf.constant(float(limit), tf.float64)).numpy()


def test_lengths_from_call_to_call(compiled):
    slope = sloped()
    for limit in (3, 0, 1, 700, 2, 5000, 699, 1):
        np.testing.assert_allclose(call(slope, limit), by_hand(X, limit), 1e-9, 1e-12)


def test_memory_after_many_calls(compiled):
    slope = sloped()
    call(slope, 300)
    gc.collect()
    tracemalloc.start()
    for limit in range(1000):
        call(slope, limit % 300)
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 100_000


def test_what_is_too_much_is_given_back(compiled, monkeypatch):
    monkeypatch.setattr(stacks, "KEPT", 1 << 16)
    grown: list[int] = []
    adapt = stack_memory.StackMemory.adapt

    def watched(self, number):
        adapt(self, number)
        grown.append(sum(held.nbytes for held in self.held.values()))

    monkeypatch.setattr(stack_memory.StackMemory, "adapt", watched)
    with talweg_settings.cache("off"):
        slope = sloped()
        call(slope, 10)
        small = grown[-1]
        assert 0 < small < 1 << 16
        call(slope, 5000)
        assert max(grown) > 5000 * X.nbytes
        assert grown[-1] <= small
        call(slope, 10)
        count = len(grown)
        assert grown[-1] <= small
        call(slope, 10)
        assert len(grown) == count  # memory that is not much stays


def test_out_of_memory(compiled, monkeypatch):
    variable = tf.Variable(X)

    @tf.function
    def step(limit):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(halved(variable, limit))
        variable.assign_sub(tape.gradient(y, variable))
        return y

    small = tf.constant(3.0, tf.float64)
    step(small)
    before = variable.numpy()
    zeros = stack_memory.zeros

    def scarce(nbytes):
        if nbytes > 1 << 18:
            raise MemoryError
        return zeros(nbytes)

    monkeypatch.setattr(stack_memory, "zeros", scarce)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        step(tf.constant(1e5, tf.float64))
    np.testing.assert_array_equal(variable.numpy(), before)
    monkeypatch.undo()
    step(tf.constant(1e4, tf.float64))
    assert not np.array_equal(variable.numpy(), before)


def test_several_threads(compiled):
    slope, wrong = sloped(), []
    call(slope, 1)

    def work(seed):
        for limit in np.random.default_rng(seed).integers(0, 900, 25):
            if not np.allclose(call(slope, limit), by_hand(X, limit), 1e-9, 1e-12):
                wrong.append(limit)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_team_of_threads():
    """Rows so large that all threads write their share of them."""

    def function(x):
        while tf.reduce_sum(x * x) > 1.0:
            x = tf.sin(x) * 0.5
        return x

    x = np.random.default_rng(1).normal(size=(300, 700))
    agree(gradient(function), x, machine=True, tolerance=1e-9)


def test_lists_as_results(compiled):
    @tf.function
    def trajectory(y):
        values, i = tf.TensorArray(tf.float64, 0, dynamic_size=True), 0
        while tf.reduce_sum(y * y) > 0.5:
            y = tf.sin(y) * 0.8
            values = values.write(i, y)
            i += 1
        return i, values.stack(), y

    for scale in (1.0, 5.0, 0.001, 2.0):
        y = X * scale
        rows = []
        while (y * y).sum() > 0.5:
            y = np.sin(y) * 0.8
            rows.append(y)
        count, found, last = trajectory(tf.constant(X * scale))
        assert int(count) == len(rows)
        assert found.shape == (len(rows), 7)
        np.testing.assert_allclose(found, np.reshape(rows, (-1, 7)), 1e-12)
        np.testing.assert_allclose(last, y, 1e-12)


def test_an_element_that_is_not_there(compiled):
    @tf.function
    def function(y, place):
        values, i = tf.TensorArray(tf.float64, 0, dynamic_size=True), 0
        while tf.reduce_sum(y * y) > 0.5:
            y = tf.sin(y) * 0.8
            values = values.write(i, y)
            i += 1
        return values.read(place)

    y = tf.constant(X * 5)
    for place in (10**9, -1):
        with pytest.raises(tf.errors.InvalidArgumentError, match=str(place)):
            function(y, tf.constant(place))
    assert function(y, tf.constant(0)).shape == (7,)


def test_numeric_gradients():
    """Central differences, where the number of trips does not change nearby."""

    def function(x):
        y, n = x, tf.constant(0)
        while tf.reduce_sum(y * y) > 0.3:
            y = tf.sin(y) * 0.7 + 0.1 * x * tf.cast(n, tf.float64)
            n += 1
        return tf.reduce_sum(tf.exp(y) * x)

    derived = tf.function(gradient(function))
    with talweg_settings.executor("llvm"):
        (found,) = derived(X)
    wanted, step = np.zeros_like(X), 1e-6
    for i in range(len(X)):
        ends = []
        for sign in (1, -1):
            moved = X.copy()
            moved[i] += sign * step
            ends.append(np.sin(function(tf.constant(moved)).numpy() + 0.3))
        wanted[i] = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(found, wanted, 1e-6, 1e-8)


# -- loops by chance

STEPS = [
    lambda z, x, n: tf.sin(z) * 0.8,
    lambda z, x, n: z * 0.6 + 0.1 * tf.cos(x),
    lambda z, x, n: z * tf.sigmoid(x) + 0.01 * tf.reduce_mean(z),
    lambda z, x, n: tf.where(tf.equal(n % 2, 0), z * 0.5, tf.tanh(z)),
    lambda z, x, n: tf.cond(tf.reduce_sum(z) > 0, lambda: z * 0.7, lambda: tf.atan(z) * 0.9),
    lambda z, x, n: 0.5 * tf.linalg.matvec(tf.tensordot(z, x, 0), z) + 0.4 * z,
    lambda z, x, n: 0.8 * tf.reverse(z, [0]) + 0.05 * x * x,
]


@st.composite
def loops(draw, depth=1):
    """A loop that ends by what it computes; perhaps with another one, or a known one, inside."""
    steps = draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=3))
    limit = draw(st.sampled_from([0.3, 0.1, 1e3]))
    inner = draw(st.none() | loops(depth - 1)) if depth else None
    known = draw(st.integers(0, 3))

    def function(x):
        z, n = x, tf.constant(0)
        while tf.reduce_sum(z * z) > limit and n < 40:
            for step in steps:
                z = step(z, x, n)
            if inner is not None:
                z = 0.5 * z + 0.2 * inner(z)
            for _ in tf.range(known):
                z = z * 0.9
            n += 1
        return z

    return function


@settings(max_examples=12, deadline=None)
@given(loops(), st.integers(1, 5), st.integers(0, 100))
def test_loops_by_chance(function, size, seed):
    x = np.random.default_rng(seed).normal(size=size)
    agree(gradient(function), x, tolerance=1e-7)
    agree(gradient(function), x, machine=True, tolerance=1e-7)


@settings(max_examples=6, deadline=None)
@given(loops(depth=0), st.integers(1, 5), st.integers(0, 100))
def test_second_derivatives_by_chance(function, size, seed):
    x = np.random.default_rng(seed).normal(size=size)
    twice = gradient(gradient(function))
    agree(twice, x, tolerance=1e-6)
    agree(twice, x, machine=True, tolerance=1e-6)


def test_poison_is_not_read():
    """Memory that nobody has written is full of NaN in the NumPy runner: none comes out."""
    case = Case(gradient(halved), X, np.float64(5.0))
    assert np.isfinite(np.concatenate([np.ravel(x) for x in case.interpreted()[0]])).all()
    agree(gradient(halved), X, np.float64(5.0))


def test_at_most_so_many_trips():
    """A bound on the trips is no reason to have memory for all of them."""

    def function(x):
        i = 0
        while tf.reduce_sum(x * x) > 1.0 and i < 1_000_000:
            x = tf.sin(x) * 0.9
            i += 1
        return x

    x = np.random.default_rng(2).normal(size=50)
    lowered = agree(gradient(function), x, machine=True)
    assert plan(lowered.program).nbytes < 100_000
    agree(gradient(gradient(function)), x, machine=True)


def test_random_numbers_as_in_the_interpreter():
    def walk(scale):
        y, i = tf.zeros([5]), 0
        while tf.reduce_sum(y * y) < 20.0:
            y = y * 0.99 + scale * tf.random.normal([5], seed=3)
            i += 1
        return i, y + tf.random.uniform([5], seed=4)

    def walks(executor):
        @tf.function
        def derived(scale):
            with tf.GradientTape() as tape:
                tape.watch(scale)
                i, y = walk(scale)
            return i, y, tape.gradient(y, scale)

        with talweg_settings.executor(executor):
            tf.random.set_seed(1)
            return [[np.array(x) for x in derived(tf.constant(1.1))] for _ in range(4)]

    found, wanted = walks("llvm"), walks("interpret")
    assert len({int(count) for count, _, _ in wanted}) > 1
    for one, other in zip(found, wanted):
        for x, y in zip(one, other):
            np.testing.assert_allclose(x, y, 1e-5, 1e-5)
