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
from talweg.execute import backends, executor
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
    made = backends.compile_program

    def slow(*args, **kwargs):
        if args[-1] is False:  # the disk is asked
            return made(*args, **kwargs)
        begun.set()
        assert may_go_on.wait(300)
        assert background.is_here()
        return made(*args, **kwargs)

    monkeypatch.setattr(backends, "compile_program", slow)
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


def held_up(monkeypatch):
    """What lets compilations that are not read from disk go on, and how many there were."""
    may_go_on, compiled, made = threading.Event(), [], backends.compile_program

    def slow(*args, **kwargs):
        if args[-1] is False:  # the disk is asked
            return made(*args, **kwargs)
        compiled.append(None)
        assert may_go_on.wait(300)
        compiled[-1] = background.is_here(), background.has_company()
        return made(*args, **kwargs)

    monkeypatch.setattr(backends, "compile_program", slow)
    return may_go_on, compiled


def interpreted_runs(monkeypatch):
    """The names of the programs that the interpreter runs."""
    runs, run = [], executor.interpret.run

    def noted(program, *others):
        runs.append(program.name)
        return run(program, *others)

    monkeypatch.setattr(executor.interpret, "run", noted)
    return runs


def test_the_first_call_of_a_training_step_waits_for_the_compiler(monkeypatch):
    """No step is interpreted; the compiler has the cores of the callers."""
    monkeypatch.setattr(executor, "TRAINED", 16)
    monkeypatch.setattr(executor, "PATIENCE", 300.0)
    may_go_on, compiled = held_up(monkeypatch)
    runs = interpreted_runs(monkeypatch)
    step, variable = training()
    x = tf.constant(np.linspace(-1, 1, 8, dtype=np.float32))
    step.get_concrete_function(x)
    sums: list = []

    def call():
        sums.append(step(x).numpy())

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 60
    while not (compiled and background.callers) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert background.callers > 0 and not sums
    may_go_on.set()
    for thread in threads:
        thread.join()
    assert not runs and compiled == [(True, False)] and background.callers == 0
    np.testing.assert_allclose(max(sums), 2 * min(sums), rtol=1e-5)
    np.testing.assert_allclose(variable.numpy().sum(), max(sums), rtol=1e-6)


def test_the_first_call_waits_for_a_while_only(monkeypatch):
    monkeypatch.setattr(executor, "TRAINED", 16)
    monkeypatch.setattr(executor, "PATIENCE", 0.01)
    may_go_on, compiled = held_up(monkeypatch)
    runs = interpreted_runs(monkeypatch)
    step, variable = training()
    first = step(tf.ones(8)).numpy()
    step(tf.ones(8))
    assert len(runs) == 2 and len(compiled) == 1
    may_go_on.set()
    background.wait(300)
    step(tf.ones(8))
    assert len(runs) == 2 and len(compiled) == 1
    np.testing.assert_allclose(variable.numpy().sum(), 3 * first, rtol=1e-5)


@pytest.mark.parametrize("why", ["few numbers", "no update", "start", "other sizes"])
def test_other_first_calls_do_not_wait(monkeypatch, why):
    """Of small programs, of those that are run once, and of later sizes of a training step."""
    monkeypatch.setattr(executor, "TRAINED", 64 if why == "few numbers" else 8)
    variable = tf.Variable(np.zeros(8, np.float32))

    @tf.function
    def step(x):
        for number in range(STEPS):
            x = tf.sin(x) + float(number % 3)
        if why == "start":
            variable.assign(x)
        elif why != "no update":
            variable.assign_add(tf.ones(8) * tf.reduce_sum(x))
        return tf.reduce_sum(x) + (0.0 if why == "start" else tf.reduce_sum(variable))

    if why == "other sizes":
        step(tf.ones(8))
    may_go_on, compiled = held_up(monkeypatch)
    runs = interpreted_runs(monkeypatch)
    monkeypatch.setattr(background, "await_job", lambda *args: pytest.fail("a call waits"))
    step(tf.ones(9 if why == "other sizes" else 8))
    assert len(runs) == 1
    may_go_on.set()
    background.wait(300)


def test_a_fault_while_the_first_call_waits_is_raised(monkeypatch):
    monkeypatch.setattr(executor, "TRAINED", 16)

    def broken(*args, **kwargs):
        raise ValueError("broken")

    monkeypatch.setattr(backends.compiled, "Compiled", broken)
    step, variable = training()
    with settings.strict(True), pytest.raises(tf.errors.InternalError, match="broken"):
        step(tf.ones(8))
    assert variable.numpy().sum() == 0.0
    with settings.strict(False):
        step(tf.ones(8))
    assert variable.numpy().sum() > 0.0


def test_a_fault_aside_is_met_by_the_next_call(monkeypatch):
    def broken(*args, **kwargs):
        raise ValueError("broken")

    monkeypatch.setattr(backends.compiled, "Compiled", broken)
    step, _ = training()
    step.get_concrete_function(tf.ones(8))
    with settings.strict(True), pytest.raises(tf.errors.InternalError, match="broken"):
        for _ in range(200):
            step(tf.ones(8))
            background.wait(300)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_compiling(monkeypatch):
    """The child has no thread that compiles, and compiles itself."""
    may_go_on, made = threading.Event(), backends.compile_program

    def slow(*args, **kwargs):
        if background.is_here():
            may_go_on.wait(300)
        return made(*args, **kwargs)

    monkeypatch.setattr(backends, "compile_program", slow)
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
    from talweg.execute import backends, executor
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
