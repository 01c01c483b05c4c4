"""Runs that wait in Python for other threads: nothing hangs, no update is lost.

Where `PATIENCE` is long, nobody may have to wait for it; where it is short, somebody does.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import talweg as tf
from talweg.core import locking, settings
from talweg.eager.long_runs import replay_change
from tests.threads import storms

v1 = tf.compat.v1
EXECUTORS = pytest.mark.parametrize("executor", ["interpret", "llvm"])
SIZE = 50_000  # elements of what is written in place


@pytest.fixture
def patient(monkeypatch):
    """Who waits for a run in Python waits longer than the test."""
    monkeypatch.setattr(locking, "PATIENCE", 1000.0)


@pytest.fixture
def impatient(monkeypatch):
    """Who waits for a run in Python does so for a moment."""
    monkeypatch.setattr(locking, "PATIENCE", 0.05)


def in_a_thread(work: Callable[[], Any]) -> None:
    """Do something in another thread, to the end."""
    errors: list = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 -- raised below
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive(), "the thread hangs"
    if errors:
        raise errors[0]


def step_of(v: Any, inside: list, change: Callable[[Any], Any] | None = None) -> Any:
    """A function that adds 1 to a variable, calls what is `inside` in another thread, adds 10."""

    @tf.function
    def step() -> Any:
        v.assign_add(tf.ones_like(v))
        tf.py_function(lambda: in_a_thread(inside[0]), [], [])
        v.assign_add(10.0 * tf.ones_like(v))

    return step


@EXECUTORS
def test_no_update_is_lost_where_a_step_is_waited_for_in_vain(executor, impatient):
    v = tf.Variable(tf.zeros([SIZE]))
    inside: list = [lambda: v.assign_add(100.0 * tf.ones([SIZE]))]
    step = step_of(v, inside)
    with settings.executor(executor):
        for turn in range(1, 4):
            step()
            assert set(v.numpy().tolist()) == {111.0 * turn}


@EXECUTORS
def test_no_update_is_lost_where_functions_overtake_each_other(executor, impatient):
    v = tf.Variable(tf.zeros([SIZE]))
    inside: list = [lambda: other()]
    step = step_of(v, inside)

    @tf.function
    def other() -> None:
        v.assign_add(100.0 * tf.ones([SIZE]))
        v.scatter_add(tf.IndexedSlices([1000.0], [3]))

    with settings.executor(executor):
        for turn in range(1, 4):
            step()
            assert v.numpy()[:5].tolist() == [111.0 * turn] * 3 + [1111.0 * turn, 111.0 * turn]


@EXECUTORS
def test_rows_that_others_changed_meanwhile_stay(executor, impatient):
    v = tf.Variable(tf.zeros([SIZE]))

    @tf.function
    def step() -> None:
        v.scatter_update(tf.IndexedSlices([1.0], [0]))
        tf.py_function(lambda: in_a_thread(lambda: v[1].assign(2.0)), [], [])
        v.scatter_update(tf.IndexedSlices([3.0], [2]))

    with settings.executor(executor):
        for _ in range(2):
            v.assign(tf.zeros([SIZE]))
            step()
            assert v.numpy()[:4].tolist() == [1.0, 2.0, 3.0, 0.0]


@EXECUTORS
def test_who_reads_does_not_wait_for_a_step_in_python(executor, patient):
    v, seen = tf.Variable(tf.zeros([SIZE])), []
    step = step_of(v, [lambda: seen.append(v.numpy())])
    with settings.executor(executor):
        for turn in range(1, 4):
            step()
            assert v.numpy()[0] == 11.0 * turn
    assert all(len(set(found.tolist())) == 1 for found in seen)


@EXECUTORS
def test_a_step_that_others_waited_for_in_vain_makes_nobody_wait_again(executor, monkeypatch):
    v = tf.Variable(tf.zeros([SIZE]))
    step = step_of(v, [lambda: v.assign_add(100.0 * tf.ones([SIZE]))])
    with settings.executor(executor):
        monkeypatch.setattr(locking, "PATIENCE", 0.05)
        step()
        monkeypatch.setattr(locking, "PATIENCE", 1000.0)
        step(), step()
    assert set(v.numpy().tolist()) == {333.0}


@EXECUTORS
def test_a_step_that_lost_a_variable_gives_way_with_all(executor, impatient):
    """Somebody has taken over one, and wants another that the step still holds."""
    v, w = tf.Variable(tf.zeros([SIZE])), tf.Variable(tf.zeros([SIZE]))
    taken = threading.Event()

    def take_over() -> None:
        with locking.holding(v):
            taken.set()
            v.assign_add(100.0 * tf.ones([SIZE]))
            with locking.holding(w):
                w.assign_add(1000.0 * tf.ones([SIZE]))

    def begin() -> None:
        threads.append(threading.Thread(target=take_over, daemon=True))
        threads[0].start()
        assert taken.wait(30)

    @tf.function
    def step() -> None:
        v.assign_add(tf.ones([SIZE]))
        w.assign_add(tf.ones([SIZE]))
        tf.py_function(begin, [], [])
        v.assign_add(tf.ones([SIZE]))

    threads: list = []
    with settings.executor(executor):
        in_a_thread(step)
    threads[0].join(30)
    assert (set(v.numpy().tolist()), set(w.numpy().tolist())) == ({102.0}, {1001.0})


@EXECUTORS
def test_what_python_changes_in_the_thread_of_the_step_stays(executor, patient):
    v, w = tf.Variable(0.0), tf.Variable(0.0)

    @tf.function
    def inner() -> None:
        v.assign_add(1000.0)

    def change() -> None:
        v.assign_add(100.0)
        inner()
        assert float(v) >= 1100.0

    @tf.function
    def step() -> None:
        v.assign_add(1.0)
        w.assign_add(1.0)
        tf.py_function(change, [], [])
        v.assign_add(10.0)

    with settings.executor(executor):
        for turn in range(1, 4):
            step()
            assert (float(v), float(w)) == (1111.0 * turn, turn)


def test_a_generator_may_read_what_the_step_changes(patient):
    """As in Keras' `fit`: the step takes the next element, which a background thread makes."""
    v = tf.Variable(tf.zeros([SIZE]))

    def elements() -> Any:
        for _ in range(6):
            yield float(v.numpy()[0])

    data = tf.data.Dataset.from_generator(elements, tf.float32, []).prefetch(1)
    iterator = iter(data)

    @tf.function
    def step(iterator: Any) -> Any:
        v.assign_add(tf.ones([SIZE]))
        return next(iterator)

    with settings.executor("llvm"):
        found: list = []
        in_a_thread(lambda: found.extend([float(step(iterator)) for _ in range(6)]))
    assert found == sorted(found) and v.numpy()[0] == 6.0


@EXECUTORS
def test_functions_that_draw_run_at_the_same_time(executor, patient):
    meeting = threading.Barrier(2, timeout=30)

    @tf.function
    def draw() -> Any:
        x = tf.random.uniform([], maxval=2**62, dtype=tf.int64)
        tf.py_function(lambda: (meeting.wait(), None)[1], [], [])
        return x + tf.random.uniform([], maxval=2**60, dtype=tf.int64)

    with settings.executor(executor):
        found = storms.together(lambda number: [int(draw()) for _ in range(3)], 2)
    assert len({*found[0], *found[1]}) == 6


def _drawing() -> dict[str, Callable[[], Any]]:
    def in_a_loop() -> Any:
        total = tf.constant(0.0)
        while total < 3.0:
            total += tf.random.uniform([])
        return total

    def where_something_is_checked() -> Any:
        x = tf.random.uniform([4])
        tf.debugging.assert_less(x, 2.0)
        return tf.gather(x, tf.cast(x[0] * 3.0, tf.int32))

    return {
        "straight": lambda: tf.random.normal([3]) + tf.random.uniform([]),
        "loop": in_a_loop,
        "checked": where_something_is_checked,
        "truncated": lambda: tf.random.truncated_normal([5]),
        "gamma": lambda: tf.random.gamma([3], 2.0),
    }


@pytest.mark.parametrize("kind", _drawing())
def test_one_thread_draws_the_same_numbers_on_both_executors(kind):
    found = []
    for executor in ("interpret", "llvm"):
        tf.random.set_seed(7)
        function = tf.function(_drawing()[kind])
        with settings.executor(executor):
            found.append(np.array([function().numpy() for _ in range(4)]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


# -- sessions


def test_runs_of_a_session_wait_for_each_other_in_python(patient):
    """As threads of TensorFlow 1 do that fill a queue for those that train."""
    items: queue.Queue = queue.Queue(1)
    with tf.Graph().as_default(), v1.Session() as session:
        weights = v1.get_variable("weights", [], initializer=v1.zeros_initializer())
        made = v1.get_variable("made", [], initializer=v1.zeros_initializer())
        get = v1.py_func(lambda: np.float32(items.get(timeout=30)), [], tf.float32)
        train = v1.assign_add(weights, get)
        put = v1.py_func(lambda w: items.put(1.0, timeout=30), [weights + made], [])
        with tf.control_dependencies([put]):
            fill = v1.assign_add(made, 1.0).op
        session.run(v1.global_variables_initializer())
        filler = threading.Thread(target=lambda: [session.run(fill) for _ in range(8)])
        filler.start()
        in_a_thread(lambda: [session.run(train) for _ in range(8)])
        filler.join(30)
        assert session.run([weights, made]) == [8.0, 8.0]


def test_no_update_of_a_session_is_lost(impatient):
    """Two runs that change one variable, of which one waits for the other."""
    items: queue.Queue = queue.Queue()
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", [100], initializer=v1.zeros_initializer())
        get = v1.py_func(lambda: np.float32(items.get(timeout=30)), [], tf.float32)
        add = v1.assign_add(v, tf.ones([100]) * get)
        put = v1.py_func(lambda: items.put(100.0), [], [])
        other = v1.assign_add(v, tf.ones([100]))
        with tf.control_dependencies([other]):
            both = tf.group(put)
        session.run(v1.global_variables_initializer())
        for turn in range(1, 4):
            thread = threading.Thread(target=lambda: session.run(add))
            thread.start()
            in_a_thread(lambda: session.run(both))
            thread.join(30)
            assert set(session.run(v).tolist()) == {101.0 * turn}


def test_a_session_may_be_run_by_python_that_one_of_its_runs_calls(patient):
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", [], initializer=v1.zeros_initializer())
        add = v1.assign_add(v, 1.0)
        inner = v1.py_func(lambda: (session.run(add), None)[1:1], [], [])
        with tf.control_dependencies([inner]):
            total = v1.assign_add(v, 10.0)
        session.run(v1.global_variables_initializer())
        for turn in range(1, 4):
            session.run(total)
            assert session.run(v) == 11.0 * turn


# -- the change made anew


def test_changes_are_made_anew():
    base, after, present = np.array([1.0, 1.0]), np.array([2.0, 1.0]), np.array([5.0, 6.0])
    assert replay_change({"add", "scatter_add"}, base, after, present).tolist() == [6.0, 6.0]
    assert replay_change({"assign"}, base, after, present).tolist() == [2.0, 1.0]
    assert replay_change({"assign"}, base, base, present).tolist() == [5.0, 6.0]
    assert replay_change({"scatter_update"}, base, after, present).tolist() == [2.0, 6.0]
    assert replay_change({"add"}, base, np.ones(3), present).tolist() == [1.0] * 3
    texts = np.array([b"a", b"b"], object)
    assert replay_change({"assign"}, texts, texts, texts).tolist() == [b"a", b"b"]
