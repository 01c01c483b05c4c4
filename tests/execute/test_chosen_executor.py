"""The executor that is chosen runs a program, whatever has run it before."""

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.execute import interpret


@pytest.fixture
def interpreted(monkeypatch):
    """The programs that the interpreter has run."""
    programs: list = []
    run = interpret.run

    def noting(program, *others):
        programs.append(program)
        return run(program, *others)

    monkeypatch.setattr(interpret, "run", noting)
    return programs


def test_the_interpreter_runs_what_was_compiled(interpreted):
    """Comparisons of the executors on one function compared machine code with itself."""
    function = tf.function(lambda x: tf.tanh(x) * 2)
    x = tf.constant([1.0, 2.0])
    with settings.executor("llvm"):
        function(x)
    assert not interpreted
    with settings.executor("interpret"):
        function(x)
    assert len(interpreted) == 1
    with settings.executor("llvm"):
        function(x)
    assert len(interpreted) == 1


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
@pytest.mark.parametrize("divide", [tf.math.floordiv, tf.truncatediv])
def test_quotients_of_16_bits_are_rounded_before_they_are_cut_off(divide, dtype):
    """4.44 // -0.0683 is -65 as TensorFlow rounds it, and was -66 in machine code."""
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=4000) * 20, dtype)
    y = tf.constant(rng.normal(size=4000), dtype)
    eager = divide(x, y)
    for executor in ("interpret", "llvm"):
        with settings.executor(executor):
            assert bool(tf.reduce_all(tf.function(divide)(x, y) == eager))
    if dtype == tf.float16 and divide is tf.math.floordiv:
        assert float(divide(tf.constant(4.44, dtype), tf.constant(-0.0683, dtype))) == -65
