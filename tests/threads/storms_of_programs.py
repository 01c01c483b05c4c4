"""More storms (`storms.py`): sessions, datasets, Keras, tapes, random numbers, calls of Python."""

from __future__ import annotations

import functools
import itertools
import queue
import time
from typing import Any

import numpy as np

import talweg as tf
from talweg.core import locking, settings
from tests.threads.storms import (
    CALLS,
    THREADS,
    is_what_an_order_gives,
    main,
    repeated,
    storm,
    together,
)

v1 = tf.compat.v1


# -- Python in between


@storm
def updates_that_overtake_python() -> None:
    """Nobody waits for who is in Python, and all the same nothing is lost."""
    v, w = tf.Variable(tf.zeros([300])), tf.Variable(0.0)

    @tf.function
    def slow() -> None:
        v.assign_add(tf.ones([300]))
        tf.py_function(lambda: time.sleep(0.0005), [], [])
        w.assign_add(1.0)
        v.scatter_add(tf.IndexedSlices([1.0], [7]))

    @tf.function
    def quick() -> None:
        v.assign_sub(3.0 * tf.ones([300]))

    def work(number: int) -> None:
        for _ in range(3):
            (slow, quick, slow, lambda: w.assign_add(10.0))[number % 4]()
            found = v.numpy()
            assert len(set(np.delete(found, 7).tolist())) == 1, "torn value"

    before, locking.PATIENCE = locking.PATIENCE, 0.0002
    try:
        together(work)
    finally:
        locking.PATIENCE = before
    of_each = 3 * THREADS / 4
    wanted = np.full(300, 2 * of_each - 3 * of_each, np.float32)
    wanted[7] += 2 * of_each
    assert v.numpy().tolist() == wanted.tolist() and float(w) == 12 * of_each


@storm
def random_numbers_in_loops() -> None:
    @tf.function
    def draw() -> Any:
        found = tf.random.uniform([], maxval=2**62, dtype=tf.int64)
        for _ in tf.range(3):
            found += tf.random.uniform([], maxval=2**62, dtype=tf.int64) // 8
        return found

    with settings.executor("llvm"):
        found = together(repeated(lambda: int(draw()), 3))
    assert len(set(itertools.chain(*found))) == 3 * THREADS


# -- sessions


@storm
def a_graph_that_is_extended_while_it_is_run() -> None:
    graph = tf.Graph()
    with graph.as_default(), v1.Session() as session:
        v = v1.get_variable("v", [20], initializer=v1.zeros_initializer())
        x = v1.placeholder(tf.float32, [])
        count = v1.assign_add(v, tf.ones([20]))
        session.run(v1.global_variables_initializer())

        def work(number: int) -> list:
            found = []
            with graph.as_default():
                for turn in range(CALLS):
                    if number % 2:
                        y = x * float(turn + 2) + float(number)
                        assert session.run(y, {x: 2.0}) == 2.0 * (turn + 2) + number
                    else:
                        found.append(session.run(count))
            return found

        is_what_an_order_gives(together(work))


@storm
def sessions_that_pass_elements() -> None:
    """Half of the threads fill a queue through a session, half empty it and train."""
    items: queue.Queue = queue.Queue(2)
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", [], initializer=v1.zeros_initializer())
        made = v1.get_variable("made", [], initializer=v1.zeros_initializer())
        get = v1.py_func(lambda: items.get(timeout=30), [], tf.float32)
        put = v1.py_func(lambda: items.put(np.float32(2.0), timeout=30), [], [])
        train = v1.assign_add(v, get)
        with tf.control_dependencies([put]):
            fill = v1.assign_add(made, 1.0)
        session.run(v1.global_variables_initializer())
        together(lambda number: [session.run(train if number % 2 else fill) for _ in range(CALLS)])
        assert session.run([v, made]) == [CALLS * THREADS, CALLS * THREADS / 2]


@storm
def queues_of_sessions() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        q = tf.queue.FIFOQueue(2, tf.int64, [[]])
        x = v1.placeholder(tf.int64, [])
        put, got = q.enqueue(x), q.dequeue()

        def work(number: int) -> list:
            if number % 2:
                return [int(session.run(got)) for _ in range(CALLS)]
            for turn in range(CALLS):
                session.run(put, {x: number * CALLS + turn})
            return []

        found = sorted(itertools.chain(*together(work)))
    assert found == [n * CALLS + t for n in range(0, THREADS, 2) for t in range(CALLS)]


# -- datasets


@storm
def datasets() -> None:
    offset = tf.Variable(1, dtype=tf.int64)
    data = tf.data.Dataset.range(12).shuffle(12).map(lambda x: x + offset).batch(4).prefetch(1)

    def work(number: int) -> None:
        found = np.concatenate([batch.numpy() for batch in data])
        assert sorted(found.tolist()) == list(range(1, 13))

    together(work)


@storm
def datasets_that_call_python() -> None:
    def slow(x: Any) -> Any:
        time.sleep(0)
        return x * 2

    def mapped(x: Any) -> Any:
        return tf.numpy_function(slow, [x], tf.int64)

    data = tf.data.Dataset.range(10).map(mapped, num_parallel_calls=3)
    for found in together(lambda number: [int(x) for x in data]):
        assert found == list(range(0, 20, 2))


# -- derivatives, functions, Keras


@storm
def tapes() -> None:
    v = tf.Variable([1.0, 2.0, 3.0])

    def work(number: int) -> None:
        for _ in range(CALLS):
            x = tf.constant(float(number + 1))
            with tf.GradientTape() as outer, tf.GradientTape() as inner:
                outer.watch(x)
                y = tf.reduce_sum(v * v * x * x)
                first = inner.gradient(y, v)
            assert first.numpy().tolist() == [2.0 * a * (number + 1) ** 2 for a in (1, 2, 3)]
            assert float(outer.gradient(first, x)) == 24.0 * (number + 1)

    together(work)


@storm
def functions_with_loops_traced_for_the_first_time() -> None:
    v = tf.Variable(1.0)
    inner = tf.function(lambda x: x * v)

    @tf.function
    def f(x: Any) -> Any:
        total = tf.zeros([])
        for i in tf.range(4):
            if i > 1:
                total += inner(x)
            else:
                total += 1.0
        return total

    def work(number: int) -> tuple:
        x = tf.constant(float(number))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return float(y), float(tape.gradient(y, x))

    assert together(work) == [(2.0 + 2.0 * number, 2.0) for number in range(THREADS)]
    assert f.experimental_get_tracing_count() == inner.experimental_get_tracing_count() == 1


@storm
def keras_predictions() -> None:
    model = _model()
    x = np.arange(12, dtype=np.float32).reshape(4, 3)

    def work(number: int) -> None:
        for found in (model.predict(x + number, verbose=0), model(x + number).numpy()):
            np.testing.assert_allclose(found[:, 0], (x + number).sum(1), rtol=1e-6)

    together(work)


@functools.cache
def _model() -> Any:
    layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
    return tf.keras.Sequential([tf.keras.Input([3]), layer])


def run(arguments: list[str]) -> int:
    """Storms of both files: `python -m tests.threads.storms` is another module than `storms`."""
    return main(arguments)
