"""Calls of Python in one run of a session that wait for each other, as they may in TensorFlow."""

from __future__ import annotations

import queue
import threading
from typing import Any

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from tests.threads.test_python_inside import in_a_thread

v1 = tf.compat.v1
EXECUTORS = pytest.mark.parametrize("executor", ["interpret", "llvm"])


def pair() -> tuple:
    """Two functions that wait for each other, as in TensorFlow's test of `py_func`."""
    q: queue.Queue = queue.Queue(1)

    def put() -> Any:
        q.put(42, timeout=20)
        q.join()
        return np.int64(42)

    def get() -> Any:
        found = q.get(timeout=20)
        q.task_done()
        return np.int64(found)

    return put, get


def limited(work: Any) -> Any:
    """What `work` gives, in a thread that may not hang."""
    found: list = []
    in_a_thread(lambda: found.append(work()))
    return found[0]


@EXECUTORS
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", ["py_func", "numpy_function", "py_function"])
def test_a_pair_that_waits_for_each_other(kind, turned, executor):
    function = v1.py_func if kind == "py_func" else getattr(tf, kind)
    with settings.executor(executor), tf.Graph().as_default(), v1.Session() as session:
        both = [function(each, [], tf.int64) for each in pair()[:: -1 if turned else 1]]
        total = both[0] * 2 + both[1]
        for _ in range(2):
            assert limited(lambda: session.run(both)) == [42, 42]
            assert limited(lambda: session.run(total)) == 126


def test_operands_of_the_second_are_computed_for_it():
    q: queue.Queue = queue.Queue()
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", [], initializer=v1.ones_initializer())
        x = v1.placeholder(tf.float32, [])
        session.run(v1.global_variables_initializer())
        got = v1.py_func(lambda: np.float32(q.get(timeout=20)), [], tf.float32)
        put = v1.py_func(lambda y: q.put(y, timeout=20), [tf.exp(x) + v], [])
        changed = v1.assign_add(v, got)
        assert limited(lambda: session.run([changed, put], {x: 0.0}))[0] == 3.0


def test_functions_called_in_the_graph():
    put, get = pair()
    with tf.Graph().as_default(), v1.Session() as session:
        first = tf.function(lambda: tf.numpy_function(put, [], tf.int64) + 1)
        second = tf.function(lambda: tf.numpy_function(get, [], tf.int64) + 2)
        fetches = [first(), second()]
        assert limited(lambda: session.run(fetches)) == [43, 44]


def test_queues():
    with tf.Graph().as_default(), v1.Session() as session:
        q = tf.queue.FIFOQueue(1, tf.float32)
        got, put = q.dequeue(), q.enqueue(3.0)
        for _ in range(2):
            assert limited(lambda: session.run([got, put]))[0] == 3.0


def test_each_is_called_once_and_errors_are_raised():
    calls: list = []
    event = threading.Event()

    def first() -> Any:
        calls.append("first")
        assert event.wait(20)
        return np.int64(1)

    def second() -> Any:
        calls.append("second")
        event.set()
        raise ValueError("no second")

    with tf.Graph().as_default(), v1.Session() as session:
        one, two = v1.py_func(first, [], tf.int64), v1.py_func(second, [], tf.int64)
        with pytest.raises(tf.errors.InvalidArgumentError, match="no second"):
            limited(lambda: session.run([one, two]))
        assert sorted(calls) == ["first", "second"]


def test_those_that_depend_on_each_other_keep_their_order():
    calls: list = []
    with tf.Graph().as_default(), v1.Session() as session:
        one = v1.py_func(lambda: (threading.Event().wait(0.2), calls.append(1))[:0], [], [])
        with tf.control_dependencies([one]):
            two = v1.py_func(lambda: (calls.append(2),)[:0], [], [])
        session.run([two, one])
    assert calls == [1, 2]


def test_runs_without_long_calls_start_no_threads():
    with tf.Graph().as_default(), v1.Session() as session:
        x = tf.ones([3])
        one = v1.py_func(lambda y: y + 1, [x], tf.float32)
        seen: list = []
        names = v1.py_func(lambda: np.int64(seen.append(threading.get_ident()) or 0), [], tf.int64)
        alone = session.make_callable(one)
        before = threading.active_count()
        assert alone().tolist() == [2.0] * 3
        session.run([one, names])
        assert seen == [threading.get_ident()] and threading.active_count() <= before + 1
