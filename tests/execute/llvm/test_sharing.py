"""Programs take their share of the cores, by what other processes do."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

import talweg as tf
from talweg.core import load, settings
from talweg.execute import compiled
from talweg.execute.llvm.runtime import sharing
from talweg.execute.llvm.runtime.thread_pool import get_thread_pool


@pytest.fixture
def share(monkeypatch):
    """A share that looks at every call, two cores, and a file that says who could run."""
    made = sharing.FairShare()
    monkeypatch.setattr(compiled, "fair_share", made)
    monkeypatch.setattr(sharing, "load", load.Load())
    monkeypatch.setattr(load, "INTERVAL", -1.0)
    monkeypatch.setattr(load, "NEW", 1.0)
    monkeypatch.setattr(load, "count_cores", lambda: 2)
    monkeypatch.setattr(load, "own_runnable", lambda: 1)
    monkeypatch.setattr(load.os, "cpu_count", lambda: 2)
    return made


def running(monkeypatch, count):
    monkeypatch.setattr(load, "runnable", lambda: count)


@pytest.fixture
def function():
    """A function of long products."""
    x = tf.constant(np.random.default_rng(0).normal(size=(700, 700)).astype(np.float32))
    traced = tf.function(lambda x: tf.reduce_sum(tf.sin(x @ x) @ x, 0))
    with settings.executor("llvm"), settings.threads(2):
        traced(x)
    return lambda: traced(x).numpy()


@pytest.mark.parametrize("asked", [0, 2])
def test_threads_by_load(share, monkeypatch, function, asked):
    """One thread or all by turns where others have the cores; where somebody asked, that many."""
    used, crowded, results = [], [], []
    with settings.executor("llvm"), settings.threads(asked):
        for count in (1, 6, 6, 6, 6, 1, 1):
            running(monkeypatch, count)
            results.append(function())
            used.append(share.used)
            crowded.append(share.crowded)
    assert used == ([2, 1, 2, 1, 2, 2, 2] if asked == 0 else [2] * 7)
    assert crowded == [False, True, True, True, True, False, False]
    assert not get_thread_pool().fields.crowded
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_threads_keep_together_during_calls_alone(share, monkeypatch, function):
    """Beside as many others as there are cores, threads keep to one core, until the call ends."""
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    pool = get_thread_pool()
    result = function()
    with settings.executor("llvm"), settings.threads(2):
        for count, gathers in ((1, 0), (3, 1), (5, 1), (2, 0), (1, 0)):
            monkeypatch.setattr(time, "process_time", lambda: 1e9)  # it has what it wants
            share.worked = 0.0
            running(monkeypatch, count)
            np.testing.assert_array_equal(function(), result)
            assert pool.fields.gathers == gathers
            if before is not None:
                assert os.sched_getaffinity(0) == before
                allowed = sum(byte.bit_count() for byte in bytes(pool.fields.allowed))
                assert allowed == (1 if gathers else len(before))


def test_cores_that_give_less_than_the_share_are_left(share, monkeypatch):
    """Where threads that keep together get no time, they run anywhere until the next look."""
    worked, cores = [0.0], []
    monkeypatch.setattr(time, "process_time", lambda: worked[0])
    sharing.load.cores, sharing.load.others = 2, 2.0
    for seconds in (1.0, 1.0, 0.2, 1.0, 1.0):
        sharing.load.looked += 1.0
        worked[0] += seconds
        share.look(free=0)
        cores.append(share.cores)
    sharing.load.others = 0.0
    share.look(free=2)
    assert cores == [1, 1, 0, 1, 1]
    assert share.cores == 0 and not get_thread_pool().fields.gathers


def test_the_faster_number_is_chosen_and_the_other_tried_again(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(sharing.time, "perf_counter", lambda: now[0])
    measured = sharing.MeasuredThreads(1, 4)
    seconds = {1: 2.0, 4: 3.0}

    def calls(count):
        threads = []
        for _ in range(count):
            threads.append(measured.begin())
            now[0] += seconds[threads[-1]]
            measured.end()
        return threads

    assert calls(2 * sharing.TRIALS) == [1, 4] * sharing.TRIALS
    assert calls(16) == [1] * 15 + [4]
    assert calls(32) == [1] * 31 + [4]
    assert calls(10_000).count(4) == 10_000 // sharing.AFRESH[1] + 1
    seconds[1] = 4.0
    assert calls(100)[-50:].count(4) >= 49
