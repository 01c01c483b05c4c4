"""Eight threads at once: nothing is lost, nothing is traced twice, nothing raises, nothing hangs.

A round or two of each kind here; `python -m tests.threads.storms` runs a thousand.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import talweg as tf
from talweg.core import locking
from tests.threads import storms, storms_of_programs

ROOT = Path(__file__).resolve().parents[2]

OTHERS = storms_of_programs  # which adds its own to those


@pytest.mark.parametrize("kind", storms.STORMS)
def test_storms(kind):
    assert storms.rounds(kind, 2)[0] == 0


def test_a_circle_of_threads_that_trace_is_no_deadlock():
    """f traces g while g, in another thread, traces f; in TensorFlow that hangs."""
    inside = threading.Barrier(2, timeout=20)
    met = []

    def meet():
        if len(met) < 2:
            met.append(1)
            inside.wait()

    @tf.function(autograph=False)
    def f(x, deep):
        if deep:
            meet()
            return g(x, False) + 1.0
        return x

    @tf.function(autograph=False)
    def g(x, deep):
        if deep:
            meet()
            return f(x, False) + 2.0
        return x

    found = storms.together(lambda number: float((f if number else g)(tf.constant(1.0), True)), 2)
    assert found == [3.0, 2.0]


def test_a_step_that_waits_in_python_for_another_writer_is_no_deadlock(monkeypatch):
    monkeypatch.setattr(locking, "PATIENCE", 0.1)
    v = tf.Variable(0.0)

    def wait():
        thread = threading.Thread(target=lambda: v.assign_add(1.0))
        thread.start()
        thread.join(20)
        assert not thread.is_alive()

    @tf.function
    def step():
        v.assign_add(1.0)
        tf.py_function(wait, [], [])

    step()
    assert float(v) >= 1.0
    v.assign(5.0)
    assert float(v) == 5.0


def test_a_failed_step_leaves_variables_readable():
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def step(i):
        v.scatter_nd_add([[0]], [1.0])
        v.scatter_nd_add([[i]], [1.0])

    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError):
            step(tf.constant(7))
        storms.together(lambda number: v.numpy(), 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_locks_that_other_threads_hold_are_free_in_a_forked_child():
    v, stop = tf.Variable(0.0), threading.Event()
    f = tf.function(lambda x: x + 1.0)
    held = threading.Event()

    def hold():
        with locking.holding(v):
            f._turn.take()
            held.set()
            stop.wait(30)
            f._turn.give()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    child = os.fork()
    if child == 0:
        try:
            v.assign_add(1.0)
            f(tf.constant(1.0))
            os._exit(0 if float(v) == 1.0 else 1)
        finally:
            os._exit(2)
    try:
        end = time.monotonic() + 30
        while (found := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
            time.sleep(0.01)
        if found == (0, 0):
            os.kill(child, 9)
        assert found == (child, 0)
    finally:
        stop.set()
        thread.join()


def test_updates_of_variables_that_a_device_may_keep():
    """Once a group of a device was there, `_tensor` was a property, and additions were lost."""
    program = (
        "from talweg.eager import device_group\n"
        "device_group.let_groups_keep()\n"
        "from tests.threads import storms\n"
        "assert storms.rounds('eager_assign_add', 40)[0] == 0\n"
    )
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False)
    assert found.returncode == 0
