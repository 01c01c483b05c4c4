"""Forked children: they can use talweg at once, or are told why not; what is left ends quietly."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings


def in_child(work):
    """What `work` says in a forked child, which has 60 seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            signal.alarm(60)
            found = repr(work())
        except BaseException as error:
            found = f"{type(error).__name__}: {error}"
        os.write(writing, found.encode()[:4000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        found = file.read()
    os.waitpid(child, 0)
    return found


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("executor", ["llvm", "interpret"])
def test_compiled_steps_of_the_parent(executor, threads):
    with settings.executor(executor), settings.threads(threads):
        v = tf.Variable(tf.zeros([400, 400]))

        @tf.function
        def step(x):
            v.assign_add(tf.sin(x) @ x)
            return tf.reduce_sum(v)

        x = tf.ones([400, 400])
        step(x)
        expected = float(step(x))
        v.assign(tf.zeros([400, 400]))

        def work():
            step(x)
            return float(step(x)) == expected and float(tf.function(lambda y: y + 1.0)(1.0)) == 2

        assert in_child(work) == "True"
        assert in_child(lambda: in_child(work)) == "'True'"
        step(x)
        assert float(step(x)) == expected


def test_a_child_of_a_thread_while_others_compute():
    with settings.executor("llvm"):
        v = tf.Variable(tf.zeros([100, 100]))
        step = tf.function(lambda x: v.assign_add(x @ x))
        x, stop, found = tf.ones([100, 100]), [], []
        step(x)

        def compute():
            while not stop:
                step(x)

        def fork():
            for _ in range(5):
                found.append(in_child(lambda: step(x).shape.as_list()))

        others = [threading.Thread(target=compute) for _ in range(2)]
        forking = threading.Thread(target=fork)
        for thread in (*others, forking):
            thread.start()
        forking.join()
        stop.append(True)
        for thread in others:
            thread.join()
    assert found == ["[100, 100]"] * 5


def test_iterators_without_threads_go_on():
    data = tf.data.Dataset.range(10).map(lambda x: x + 1).shuffle(3, seed=1).batch(2)
    iterator = iter(data)
    next(iterator)
    found = in_child(lambda: [x.numpy().tolist() for x in iterator])
    assert found == str([x.numpy().tolist() for x in iterator])


def test_functions_in_threads_go_on():
    def slow(x):
        time.sleep(0.02)
        return x + np.int64(1)

    data = tf.data.Dataset.range(30).map(
        lambda x: tf.numpy_function(slow, [x], tf.int64), num_parallel_calls=4
    )
    iterator = iter(data)
    assert int(next(iterator)) == 1
    expected = str(list(range(2, 31)))
    assert in_child(lambda: [int(x) for x in iterator]) == expected
    assert str([int(x) for x in iterator]) == expected


def test_an_iterator_that_reads_ahead_says_what_to_do():
    def endless():
        while True:
            time.sleep(0.005)
            yield 1

    data = tf.data.Dataset.from_generator(
        endless, output_signature=tf.TensorSpec([], tf.int32)
    ).prefetch(2)
    iterator = iter(data)
    next(iterator)
    found = in_child(lambda: next(iterator))
    assert found.startswith("FailedPreconditionError") and "iter(dataset)" in found
    assert in_child(lambda: int(next(iter(data)))) == "1"

    def drop():
        nonlocal iterator
        del iterator
        gc.collect()
        return "gone"

    assert in_child(drop) == "'gone'"
    assert int(next(iterator)) == 1


def test_an_iterator_that_a_thread_holds_is_free_in_the_child():
    def endless():
        while True:
            time.sleep(0.2)
            yield 1

    iterator = iter(
        tf.data.Dataset.from_generator(endless, output_signature=tf.TensorSpec([], tf.int32))
    )
    other = threading.Thread(target=lambda: next(iterator))
    other.start()
    time.sleep(0.1)
    found = in_child(lambda: next(iterator))  # of a generator that runs in the parent's thread
    other.join()
    assert "already executing" in found or found.startswith("<tf.Tensor")


@pytest.mark.parametrize("parallel", [None, 4])
def test_abandoned_iterators_leave_no_thread(parallel):
    before = threading.active_count()
    for _ in range(3):
        data = tf.data.Dataset.range(10**6).map(
            lambda x: tf.py_function(lambda y: y, [x], tf.int64), num_parallel_calls=parallel
        )
        next(iter(data.prefetch(2)))
        next(iter(data.shuffle(10).prefetch(2).shuffle(2)))
        del data
    gc.collect()
    end = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before


EXITS = {
    "a prefetch": "iterator = iter(data.prefetch(2)); next(iterator)",
    "a parallel map": "iterator = iter(data.map(slow, num_parallel_calls=4)); next(iterator)",
    "a thread in next": """
        iterator = iter(data.prefetch(1))
        threading.Thread(target=lambda: [0 for _ in iterator], daemon=True).start()
        time.sleep(0.05)
    """,
    "a generator": "generator = (x for x in data.prefetch(2)); next(generator)",
    "a thread in a compiled step": """
        threading.Thread(target=lambda: [step() for _ in range(10**7)], daemon=True).start()
        time.sleep(0.2)
    """,
    "an abandoned call of a library": """
        import signal
        signal.signal(signal.SIGALRM, lambda *_: sys.exit(0))
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        tf.linalg.svd(tf.random.normal([500, 500]))
        while True:
            time.sleep(1)
    """,
    "sys.exit in a step": "step(); iterator = iter(data.prefetch(2)); next(iterator); sys.exit(0)",
    "a fork": "step()\nif os.fork(): os.wait()\nelse: step(); next(iter(data.prefetch(2)))",
}


@pytest.mark.parametrize("kind", EXITS)
def test_the_end_of_the_interpreter_is_quiet(kind, tmp_path):
    program = """
        import os, sys, threading, time
        import talweg as tf

        def slow(x):
            return tf.numpy_function(lambda y: (time.sleep(0.005), y)[1], [x], tf.int64)

        data = tf.data.Dataset.range(10**6).map(slow)
        v = tf.Variable(tf.zeros([300, 300]))

        @tf.function
        def step():
            v.assign(tf.sin(v @ v + 1.0))
    """
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program) + textwrap.dedent(EXITS[kind]) + "\n")
    found = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", path],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "TALWEG_EXECUTOR": "llvm"},
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
