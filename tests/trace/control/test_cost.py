"""What loops and their derivatives cost: nothing runs twice, time and memory are linear."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.core.primitive import REGISTRY
from talweg.kernels.variants import List, total
from talweg.passes.functionalize import bodies_of

F64 = tf.float64


@pytest.fixture(autouse=True)
def interpreted():
    """What is counted here are the kernels and the memory of the interpreter."""
    with settings.executor("interpret"):
        yield


class Recurrence:
    """v = sin(x v) + v, n times, with its first and second derivative."""

    def __init__(self, **options):
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.x = tf.compat.v1.placeholder(F64, [])
            self.n = tf.compat.v1.placeholder(tf.int32, [])
            step = lambda i, v: (i + 1, tf.sin(v * self.x) + v)  # noqa: E731
            self.y = tf.while_loop(lambda i, v: i < self.n, step, (0, self.x), **options)[1]
            self.first = tf.gradients(self.y, self.x)[0]
            self.second = tf.gradients(self.first, self.x)[0]
        self.session = tf.compat.v1.Session(graph=self.graph)

    def run(self, fetches, n):
        return self.session.run(fetches, {self.x: 0.5, self.n: n})

    def seconds(self, fetches, n):
        start = time.thread_time()  # others may use the machine, too
        self.run(fetches, n)
        return time.thread_time() - start


@pytest.fixture
def count(monkeypatch):
    """How often the kernels of some primitives run."""
    calls = {}

    def watch(*names):
        for name in names:
            kernel = REGISTRY[name].numpy
            calls[name] = 0

            def counted(*arrays, name=name, kernel=kernel, **params):
                calls[name] += 1
                return kernel(*arrays, **params)

            monkeypatch.setattr(REGISTRY[name], "numpy", counted)
        return calls

    return watch


def test_nothing_runs_twice(count):
    calls = count("sin", "cos")
    model = Recurrence()
    model.run([model.y, model.first], 10)
    assert calls == {"sin": 10, "cos": 10}
    calls.update(sin=0, cos=0)
    model.run([model.y, model.first, model.second], 10)
    assert calls == {"sin": 20, "cos": 20}  # each of the two reversed loops needs a cosine


def test_only_what_the_reverse_needs_is_kept():
    model = Recurrence()
    loop = model.y.node.inputs[0]
    kept = [node.prim.name for node in bodies_of(loop)[1].find_requested()]
    assert sorted(kept) == ["mul", "placeholder"]  # not the sine, not the sum


def test_a_loop_that_nobody_differentiates_keeps_nothing():
    model = Recurrence()
    tracemalloc.start()
    try:
        model.run(model.y, 10)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        model.run(model.y, 3000)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < 20_000


@pytest.mark.parametrize("order", [1, 2])
def test_time_and_memory_are_linear(order):
    model = Recurrence()
    fetch = model.first if order == 1 else model.second
    model.run(fetch, 10)
    short = min(model.seconds(fetch, 300) for _ in range(3))
    assert model.seconds(fetch, 3000) < 40 * short
    peaks = []
    for n in (300, 3000):
        tracemalloc.start()
        try:
            model.run(fetch, n)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 20 * peaks[0]


@pytest.mark.parametrize("order", [1, 2])
def test_checkpoints_need_the_square_root(order):
    peaks = {}
    for swap in (False, True):
        model = Recurrence(swap_memory=swap)
        fetch = model.first if order == 1 else model.second
        model.run(fetch, 10)
        found = []
        for n in (250, 4000):
            tracemalloc.start()
            try:
                found.append(model.run(fetch, n))
                peaks[swap, n] = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
        wanted = found if swap is False else wanted  # noqa: F821
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert peaks[True, 4000] < 7 * peaks[True, 250]  # 4 times, and what does not grow
    assert peaks[True, 4000] < 0.3 * peaks[False, 4000]


@pytest.mark.parametrize("width, runs", [(4, 1), (4_000_000, 2)])
def test_checkpoints_only_where_they_save_memory(count, width, runs):
    """A loop that is known to keep little runs once, its reverse too: Keras's layers ask so."""
    calls = count("sin")

    @tf.function
    def slope(x):
        start = tf.fill([width], x)
        step = lambda i, v: (i + 1, tf.sin(v) * x)  # noqa: E731
        going_on = lambda i, v: i < 10  # noqa: E731
        options = {"maximum_iterations": 10, "swap_memory": True}
        return tf.gradients(tf.while_loop(going_on, step, (0, start), **options)[1], x)[0]

    slope(tf.constant(0.5))
    assert calls["sin"] == 10 * runs


def written_and_read(graph, length):
    """A loop that writes an array, one that reads it, and the gradient through both."""
    with graph.as_default():
        x = tf.compat.v1.placeholder(F64, [])
        n = tf.constant(length)
        _, array = tf.while_loop(
            lambda i, a: i < n,
            lambda i, a: (i + 1, a.write(i, x * tf.cast(i, F64))),
            (0, tf.TensorArray(F64, n, element_shape=[], clear_after_read=False)),
        )
        _, y = tf.while_loop(
            lambda i, s: i < n, lambda i, s: (i + 1, s + array.read(i) * array.read(0)), (0, x)
        )
        return x, y, tf.gradients(y, x)[0]


def test_arrays_are_linear():
    seconds = []
    for length in (1000, 10_000):
        graph = tf.Graph()
        x, _, slope = written_and_read(graph, length)
        with tf.compat.v1.Session(graph=graph) as session:
            start = time.thread_time()
            assert session.run(slope, {x: 2.0}) == 1.0  # the first element is 0 x
            seconds.append(time.thread_time() - start)
    assert seconds[1] < 40 * seconds[0]


def test_effects_happen_once():
    v = tf.Variable(0.0)
    seen = []

    def body(i, a):
        tf.py_function(lambda: seen.append(1) or 0, [], tf.int32)
        v.assign_add(1.0)
        return i + 1, a * v

    @tf.function(autograph=False)
    def slopes(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.while_loop(lambda i, a: i < 3, body, (0, x))[1] ** 2
            first = inner.gradient(y, x)
        return first, outer.gradient(first, x)

    first, second = slopes(tf.constant(2.0))
    assert (float(first), float(second)) == (2 * 36 * 2.0, 72.0)  # y = (1 * 2 * 3 * x)^2
    assert float(v) == 3.0 and len(seen) == 3


def test_every_version_of_a_list_stays_what_it_was():
    random = np.random.default_rng(0)
    versions, models = [List.absent(5)], [[None] * 5]
    for _ in range(300):
        number = int(random.integers(len(versions)))
        place, value = int(random.integers(9)), float(random.normal())
        versions.append(versions[number].put(place, value))
        model = list(models[number])
        model.extend([None] * (place + 1 - len(model)))
        model[place] = value
        models.append(model)
        number = int(random.integers(len(versions)))
        assert versions[number].values() == models[number]
    for version, model in zip(versions, models):
        assert version.values() == model and len(version) == len(model)


def test_sums_of_lists():
    one = List.sparse().put(7, 1.0).put(2, 5.0)
    other = List.of([1.0, None, 3.0])
    for a, b in ((one, other), (other, one)):
        assert total(a, b).values() == [1.0, None, 8.0, None, None, None, None, 1.0]
    assert total(None, one) is one and one.values()[2] == 5.0
    assert total(one, one).values()[7] == 2.0


def test_a_long_history_of_a_list_is_let_go_without_recursion():
    first = newest = List.absent(1)
    for number in range(200_000):
        newest = newest.put(0, number)
    del newest
    assert first.get(0) is None
