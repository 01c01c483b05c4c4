"""Long programs are compiled aside: they go on interpreted, and lose nothing by it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.execute import executor
from talweg.execute.background import BackgroundCompiler, background
from talweg.execute.llvm.codegen import program

STEPS = 220  # of the program: more than `executor.ASIDE`


@pytest.fixture(autouse=True)
def _eager_to_compile(monkeypatch, tmp_path):
    """Compiling is always worth it, nothing is on disk, and somebody compiles."""
    monkeypatch.setattr(executor, "INTERPRETED_PART", 0.0)
    with settings.executor("auto"), settings.cache(str(tmp_path)):
        yield
        background.wait(300)


def training():
    """A function of many operations that updates a variable, and what a call does to a number."""
    variable = tf.Variable(np.zeros(8, np.float32))

    @tf.function
    def step(x):
        for number in range(STEPS):
            x = tf.sin(x) + float(number % 3)
        variable.assign_add(x)
        return tf.reduce_sum(variable)

    return step, variable


def tier_of(function):
    """How the function's one program is run."""
    return function.get_concrete_function(tf.ones(8))._program.tier


def test_calls_go_on_interpreted_and_then_compiled(monkeypatch):
    """No call waits for the compiler; what variables have does not hang on who ran which call."""
    begun, may_go_on = threading.Event(), threading.Event()
    made = executor.compile_program

    def slow(*args, **kwargs):
        if args[-1] is False:  # the disk is asked
            return made(*args, **kwargs)
        begun.set()
        assert may_go_on.wait(300)
        assert background.is_here()
        return made(*args, **kwargs)

    monkeypatch.setattr(executor, "compile_program", slow)
    step, variable = training()
    x = tf.constant(np.linspace(-1, 1, 8, dtype=np.float32))
    first = step(x).numpy()
    calls = 1
    while not begun.is_set():
        step(x)
        calls += 1
    for _ in range(3):
        step(x)
        calls += 1
    assert not tier_of(step).versions
    may_go_on.set()
    background.wait(300)
    assert tier_of(step).versions
    last = step(x).numpy()
    np.testing.assert_allclose(last, first * (calls + 1), rtol=1e-5)
    np.testing.assert_allclose(variable.numpy().sum(), last, rtol=1e-6)


def test_a_fault_aside_is_met_by_the_next_call(monkeypatch):
    def broken(*args, **kwargs):
        raise ValueError("broken")

    monkeypatch.setattr(executor.compiled, "Compiled", broken)
    step, _ = training()
    step.get_concrete_function(tf.ones(8))
    with settings.strict(True), pytest.raises(tf.errors.InternalError, match="broken"):
        for _ in range(200):
            step(tf.ones(8))
            background.wait(300)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_compiling(monkeypatch):
    """The child has no thread that compiles, and compiles itself."""
    may_go_on, made = threading.Event(), executor.compile_program

    def slow(*args, **kwargs):
        if background.is_here():
            may_go_on.wait(300)
        return made(*args, **kwargs)

    monkeypatch.setattr(executor, "compile_program", slow)
    step, _ = training()
    x = tf.ones(8)
    for _ in range(3):
        step(x)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            may_go_on.set()
            for _ in range(3):
                step(x)
            background.wait(300)
            step(x)
            code = 0 if tier_of(step).versions else 2
        finally:
            os._exit(code)
    may_go_on.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_end_of_the_process_does_not_wait(tmp_path):
    """What is not compiled when the program ends is given up."""
    program = """
    import talweg as tf
    from talweg.execute import executor
    executor.INTERPRETED_PART = 0.0

    @tf.function
    def step(x):
        for number in range(2000):
            x = tf.sin(x) * tf.cos(x[::-1]) + float(number)
        return x

    for _ in range(3):
        step(tf.ones(8))
    print("done")
    """
    environment = os.environ | {"TALWEG_CACHE": str(tmp_path), "TALWEG_EXECUTOR": "auto"}
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (found.returncode, found.stdout) == (0, "done\n"), found.stderr


def test_the_interval_of_threads_is_as_it_was():
    usual = sys.getswitchinterval()
    compiler, seen = BackgroundCompiler(), []
    compiler.submit("one", lambda: seen.append(sys.getswitchinterval()))
    compiler.submit("two", lambda: 1 / 0)
    compiler.submit("three", lambda: seen.append(compiler.is_here()))
    compiler.wait(300)
    deadline = time.monotonic() + 60
    while len(seen) < 2 and time.monotonic() < deadline:
        compiler.wait(1)
    assert seen[0] < usual and seen[1] is True
    assert sys.getswitchinterval() == usual
    compiler.stop()
    assert compiler.submit("four", lambda: None) is False


def test_kinds_hold_no_values():
    array, other = np.ones((1000, 1000)), np.ones(3)
    program = tf.function(lambda x: x + 1.0).get_concrete_function(tf.ones(3))._only_program()
    (first, again, one), variables = executor.kinds_of(program, [array, array, other], {})
    assert first is again and first is not one and variables == {}
    assert first.shape == array.shape and first.dtype == array.dtype
    assert not np.may_share_memory(first, array) and first.strides == (0, 0)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_run_is_a_module_of_its_own(monkeypatch, threads):
    """@run of a program of many kernels is made quickly, the kernels as always."""
    monkeypatch.setattr(program, "LONG_RUN", 0)
    monkeypatch.setattr(program, "MODULE_TEXT", 2000)

    @tf.function
    def f(x):
        for number in range(8):
            x = tf.sin(x @ x) + tf.reduce_sum(x, number % 2, keepdims=True)
        return x, tf.cumsum(x)

    x = tf.constant(np.random.default_rng(0).normal(size=(48, 48)).astype(np.float32))
    with settings.executor("interpret"):
        wanted = f(x)
    with settings.executor("llvm"), settings.threads(threads), settings.cache("off"):
        found = f(x)
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)
