"""Programs take their share of the cores, by what other processes do."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import load, settings
from talweg.execute import compiled
from talweg.execute.llvm.runtime import sharing


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


@pytest.mark.parametrize("asked", [0, 2])
def test_threads_by_load(share, monkeypatch, asked):
    """One thread where others have the cores; as many as were asked for, where somebody asked."""
    x = tf.constant(np.random.default_rng(0).normal(size=(700, 700)).astype(np.float32))
    function = tf.function(lambda x: tf.reduce_sum(tf.sin(x @ x) @ x, 0))
    used, results = [], []
    with settings.executor("llvm"), settings.threads(2):
        function(x)
    with settings.executor("llvm"), settings.threads(asked):
        for count in (1, 6, 6, 1, 1):
            running(monkeypatch, count)
            results.append(function(x).numpy())
            used.append(share.used)
    assert used == ([2, 1, 1, 2, 2] if asked == 0 else [2] * 5)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
