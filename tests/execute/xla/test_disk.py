"""Executables on disk: a program that was compiled before needs neither JAX's trace nor XLA."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax", reason="the third executor is an extra")

import talweg as tf
from talweg.core import settings
from talweg.execute.xla import engine, parts

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path):
    (tmp_path / "cache").mkdir(mode=0o700)
    with settings.cache(str(tmp_path / "cache")), settings.executor("xla"):
        yield


@pytest.fixture
def traced(monkeypatch):
    """The modules that JAX was asked for."""
    asked, text_of = [], engine.text_of

    def counted(*arguments):
        asked.append(arguments)
        return text_of(*arguments)

    monkeypatch.setattr(engine, "text_of", counted)
    return asked


def network(width=5, scale=2.0, stop=False):
    """A step of a network, as another process would make it again, and its variables."""
    rng = np.random.default_rng(0)
    w = tf.Variable(rng.normal(size=(3, width)).astype(np.float32))

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.linalg.svd(x @ w, compute_uv=False) ** 2) / scale
            if stop:
                tf.debugging.assert_less(loss, 0.0)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    return step, w


def run(**options):
    step, w = network(**options)
    losses = [float(step(tf.constant(X))) for _ in range(3)]
    return [*losses, *w.numpy().ravel()]


def test_the_same_program_is_found(traced):
    first = run()
    count = len(traced)
    assert count
    np.testing.assert_array_equal(run(), first)
    assert len(traced) == count


def test_other_programs_sizes_and_settings_are_not(traced):
    run()
    for options in ({"width": 6}, {"scale": 3.0}):
        count = len(traced)
        assert run(**options) != run()
        assert len(traced) > count
    count, enable = len(traced), tf.config.experimental.enable_tensor_float_32_execution
    enable(not tf.config.experimental.tensor_float_32_execution_enabled())
    try:
        run()
    finally:
        enable(not tf.config.experimental.tensor_float_32_execution_enabled())
    assert len(traced) > count


def test_a_damaged_entry_is_made_anew(traced, tmp_path):
    wanted = run()
    for path in (tmp_path / "cache").rglob("*.object"):
        path.write_bytes(path.read_bytes()[:-7])
    count = len(traced)
    np.testing.assert_array_equal(run(), wanted)
    assert len(traced) > count


def test_what_calls_python_is_compiled_each_time(traced):
    def call(f):
        total = tf.constant(0.0)
        for _ in tf.range(3):
            total += tf.numpy_function(f, [total], tf.float32)
        return total

    for more in (1.0, 2.0):
        f = tf.function(lambda: call(lambda x: np.float32(x + more)))  # noqa: B023
        assert float(f()) == 7 * more


def test_a_failed_check_is_raised_by_a_program_from_the_disk(traced):
    for _ in range(2):
        step, w = network(stop=True)
        before = w.numpy()
        with pytest.raises(tf.errors.InvalidArgumentError):
            step(X)
        np.testing.assert_array_equal(w, before)


def test_the_parts_of_a_program_are_the_same(traced, monkeypatch):
    asked, has_form = [], parts.has_form

    def noted(equation):
        asked.append(equation)
        return has_form(equation)

    monkeypatch.setattr(parts, "has_form", noted)
    first = run()
    count = len(asked)
    assert count and run() == first
    assert len(asked) == count
