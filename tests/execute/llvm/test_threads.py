"""The worker threads: all see what others wrote, none is left behind; clean forks and exits."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.core.dtypes import int32
from talweg.execute.llvm.link import code, jit
from talweg.execute.llvm.runtime import thread_pool, thread_pool_jobs
from talweg.execute.llvm.runtime.executable import Executable
from talweg.execute.llvm.runtime.structures import MAX_THREADS, ContextFields
from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import For, Host, Kernel, LoopProgram, Store, load

ROUNDS = """
declare void @talweg_barrier(ptr, i64, i64)

; each thread adds what its neighbour wrote in the round before
define void @run(ptr %buffers, i64 %thread, i64 %threads, ptr %context) {
entry:
  %table = load ptr, ptr %buffers
  %rounds.at = getelementptr ptr, ptr %buffers, i64 1
  %rounds = load i64, ptr %rounds.at
  %up = add i64 %thread, 1
  %neighbour = urem i64 %up, %threads
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %work]
  %more = icmp ult i64 %i, %rounds
  br i1 %more, label %work, label %done
work:
  %row = mul i64 %i, %threads
  %from = add i64 %row, %neighbour
  %from.at = getelementptr i64, ptr %table, i64 %from
  %value = load i64, ptr %from.at
  %larger = add i64 %value, 1
  %row.next = add i64 %row, %threads
  %to = add i64 %row.next, %thread
  %to.at = getelementptr i64, ptr %table, i64 %to
  store i64 %larger, ptr %to.at
  call void @talweg_barrier(ptr %context, i64 %thread, i64 %threads)
  %next = add i64 %i, 1
  br label %loop
done:
  ret void
}
"""


def shifting(steps: int, size: int = 64) -> LoopProgram:
    """`steps` kernels, each of which turns what the one before wrote by one element."""
    program = LoopProgram("shifting")
    before = program.buffer("x", int32, (size,), "input")
    for step in range(steps):
        kind = "output" if step == steps - 1 else "temporary"
        after = program.buffer("t", int32, (size,), kind)
        axis = Axis("i", size)
        value = load(before, (Index.of(axis) + 1) % size) + 1
        program.blocks.append(Kernel("turn", [For(axis, [Store(after, axis, value)], "parallel")]))
        before = after
    return program


def shifted(x: np.ndarray, steps: int) -> np.ndarray:
    return np.roll(x, -steps) + steps


@pytest.mark.parametrize("count", [2, 3, 5])
def test_after_a_barrier_all_have_written(count):
    found = thread_pool.get_thread_pool()
    found.ensure(count)
    rounds = 300
    made = code.compile_module(ROUNDS, {"talweg_barrier": found.addresses["talweg_barrier"]})
    table = np.zeros((rounds + 1, count), np.int64)
    buffers = np.array([table.ctypes.data, rounds])
    context = ContextFields(
        pool=found.address,
        run=made.addresses["run"],
        buffers=buffers.ctypes.data,
        threads=count,
        waits=1,
    )
    for _ in range(5):
        table[...] = 0
        found.launch(ctypes.addressof(context))
        np.testing.assert_array_equal(table, np.arange(rounds + 1)[:, None] + np.zeros(count))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_programs_of_many_kernels(count):
    executable = Executable(shifting(30), threads=count)
    x = np.arange(64, dtype=np.int32)
    for _ in range(20):
        (y,) = executable([x])
        np.testing.assert_array_equal(y, shifted(x, 30))


def test_python_threads_at_once():
    """One has the workers, the others run alone; all get their own results."""
    executable = Executable(shifting(10, 3000), threads=2)
    failures = []

    def work(number: int) -> None:
        x = np.arange(3000, dtype=np.int32) * number
        for _ in range(40):
            (y,) = executable([x])
            if not np.array_equal(y, shifted(x, 10)):
                failures.append(number)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert not failures and not any(worker.is_alive() for worker in workers)


def test_workers_that_have_nothing_to_do_sleep():
    executable = Executable(shifting(3), threads=3)
    x = np.arange(64, dtype=np.int32)
    executable([x])
    all_sleep()
    start = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - start < 0.05


def test_workers_end_and_start_again():
    executable = Executable(shifting(5), threads=3)
    x = np.arange(64, dtype=np.int32)
    executable([x])
    found = thread_pool.get_thread_pool()
    workers = list(found.threads)
    assert len(workers) >= 2 and found.stop(patience=20)
    assert not any(worker.is_alive() for worker in workers) and not found.threads
    np.testing.assert_array_equal(executable([x])[0], shifted(x, 5))  # alone
    again = Executable(shifting(5), threads=3)
    np.testing.assert_array_equal(again([x])[0], shifted(x, 5))
    assert len(found.threads) == 2


def all_sleep() -> None:
    """Wait until no worker is awake."""
    found = thread_pool.get_thread_pool()
    slots = found.fields.slots[1 : 1 + len(found.threads)]
    end = time.monotonic() + 60
    while not all(slot.asleep for slot in slots) and time.monotonic() < end:
        time.sleep(0.001)
    assert all(slot.asleep for slot in slots)


@contextmanager
def looking_for_long() -> Iterator[None]:
    """Let workers that were roused look out for a job until there is one, in the block."""
    found = thread_pool.get_thread_pool()
    spins = [slot.idle for slot in found.fields.slots[1 : 1 + len(found.threads)]]
    before = [each.most for each in spins]
    for each in spins:
        each.most = 1 << 30
    try:
        yield
    finally:
        for each, most in zip(spins, before):
            each.most = most


def test_short_programs_do_not_wait_for_sleepers():
    """They run alone, and rouse the workers now and then: one that follows soon is shared."""
    executable = Executable(shifting(2), threads=2)
    x = np.arange(64, dtype=np.int32)
    executable([x])
    (context,) = executable.contexts
    found = thread_pool.get_thread_pool()
    pool = found.fields
    context.fields.waits = 0
    all_sleep()
    before = pool.sequence
    for _ in range(3):
        np.testing.assert_array_equal(executable([x])[0], shifted(x, 2))
        all_sleep()
    assert pool.sequence == before  # everybody slept each time
    with looking_for_long():
        for _ in range(thread_pool_jobs.RARELY + 1):
            np.testing.assert_array_equal(executable([x])[0], shifted(x, 2))
    assert pool.sequence > before
    context.fields.waits = 1
    executable([x])  # after which they look no longer than ever
    all_sleep()
    before = pool.sequence
    executable([x])
    assert pool.sequence == before + 1


def test_workers_keep_off_the_core_of_the_caller():
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0}
    if len(cores) < 2:
        return
    executable = Executable(shifting(5), threads=2)
    x = np.arange(64, dtype=np.int32)
    executable([x])
    try:
        for core in sorted(cores)[:2]:
            os.sched_setaffinity(0, {core})
            np.testing.assert_array_equal(executable([x])[0], shifted(x, 5))
            for worker in thread_pool.get_thread_pool().threads:
                assert os.sched_getaffinity(worker.native_id) == cores - {core}
    finally:
        os.sched_setaffinity(0, cores)


def test_the_caller_keeps_to_its_core_while_it_works_and_no_longer():
    """It is made to sleep at every barrier; a call of Python finds it free to run anywhere."""
    if not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2:
        return
    cores, caller = os.sched_getaffinity(0), threading.get_native_id()
    steps, within, seen = 3000, [], set()
    program = shifting(steps)
    (y,) = [buffer for buffer in program.buffers if buffer.kind == "output"]
    after = program.buffer("z", int32, (64,), "output")
    program.blocks.append(
        Host("look", lambda x: within.append(os.sched_getaffinity(0)) or x, (y,), (after,))
    )
    executable = Executable(program, threads=2)
    found = thread_pool.get_thread_pool()
    spins = found.fields.slots[0].barrier
    learned = spins.limit, spins.misses, spins.most
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.add(frozenset(os.sched_getaffinity(caller)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        spins.limit, spins.misses, spins.most = 1, 0, 1
        end = time.monotonic() + 60
        while not any(len(each) == 1 for each in set(seen)) and time.monotonic() < end:
            executable([np.arange(64, dtype=np.int32)])
            assert os.sched_getaffinity(0) == cores
    finally:
        done.set()
        watcher.join()
        spins.limit, spins.misses, spins.most = learned
    assert within and all(each == cores for each in within)
    assert any(len(each) == 1 for each in seen)


def test_more_threads_than_cores_do_not_look_for_long():
    """Whoever looks then keeps the one it waits for from its core."""

    def patience() -> list[int]:
        return [slot.barrier.most for slot in found.fields.slots[: len(found.locks)]]

    found = thread_pool.get_thread_pool()
    assert found.stop(patience=20)
    cores = thread_pool.available_cores()
    found.ensure(cores)
    long = patience()
    found.ensure(cores + 1)
    short = patience()
    assert len(short) == cores + 1
    if cores > 1:
        assert min(long) > 10 * max(short)
    assert found.stop(patience=20)


def test_how_many():
    with settings.threads(3):
        assert thread_pool.thread_count() == 3
    with settings.threads(10**6):
        assert thread_pool.thread_count() == MAX_THREADS
    with settings.threads(0):
        assert 1 <= thread_pool.thread_count() <= (os.cpu_count() or 1)


def test_tensorflows_name_for_it():
    with settings.threads(0):
        tf.config.threading.set_intra_op_parallelism_threads(5)
        assert tf.config.threading.get_intra_op_parallelism_threads() == 5
        assert thread_pool.thread_count() == 5
        tf.config.threading.set_intra_op_parallelism_threads(0)
        assert thread_pool.thread_count() == thread_pool.available_cores()


def test_an_interrupt_comes_after_the_step():
    """Ctrl-C while native code runs: the step is done, then KeyboardInterrupt."""
    executable = Executable(shifting(100, 60_000), threads=2)
    x = np.arange(60_000, dtype=np.int32)
    main = threading.main_thread().ident
    assert main is not None
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # shells may let it be ignored
    raised = 0
    for _ in range(3):
        timer = threading.Timer(0.01, lambda: signal.pthread_kill(main, signal.SIGINT))
        try:
            timer.start()
            for _ in range(10_000):
                (y,) = executable([x])
        except KeyboardInterrupt:
            raised += 1
        timer.join()
    signal.signal(signal.SIGINT, before)
    assert raised == 3
    (y,) = executable([x])
    np.testing.assert_array_equal(y, shifted(x, 100))


def test_an_interrupt_while_workers_are_started(monkeypatch):
    """Ctrl-C as soon as a worker runs: it is known, and the next program has it."""
    found = thread_pool.get_thread_pool()
    assert found.stop(patience=20)
    main = threading.main_thread().ident
    assert main is not None
    started = []

    class Interrupted(threading.Thread):
        def start(self):
            super().start()
            if self.name.startswith("talweg"):
                started.append(self)
                signal.pthread_kill(main, signal.SIGINT)
                time.sleep(0.02)  # the handler may run

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(thread_pool.threading, "Thread", Interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            found.ensure(2)
            time.sleep(1)
        started[0].join(0.1)
    finally:
        monkeypatch.undo()
        signal.signal(signal.SIGINT, before)
    assert found.threads == started and found.fields.workers == 1
    executable = Executable(shifting(30), threads=2)
    x = np.arange(64, dtype=np.int32)
    np.testing.assert_array_equal(executable([x])[0], shifted(x, 30))
    assert found.threads == started


def in_a_child(work) -> int:
    """The exit code of a forked child that runs `work`; -1 if it does not end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


def test_a_forked_child_has_workers_of_its_own():
    executable = Executable(shifting(10), threads=3)
    x = np.arange(64, dtype=np.int32)
    executable([x])

    def work() -> None:
        assert not thread_pool.get_thread_pool().threads
        for again in (executable, Executable(shifting(7), threads=3)):
            steps = len(again.program.blocks)
            np.testing.assert_array_equal(again([x])[0], shifted(x, steps))
        assert len(thread_pool.get_thread_pool().threads) == 2

    assert in_a_child(work) == 0
    np.testing.assert_array_equal(executable([x])[0], shifted(x, 10))


def test_a_fork_while_another_thread_runs_and_compiles():
    executable = Executable(shifting(10, 20_000), threads=2)
    x = np.arange(20_000, dtype=np.int32)
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            executable([x])

    def compile_() -> None:
        while not stop.is_set():
            jit.compile_texts(["define void @run() {\n  ret void\n}"])

    workers = [threading.Thread(target=run), threading.Thread(target=compile_)]
    for worker in workers:
        worker.start()

    def work() -> None:
        np.testing.assert_array_equal(executable([x])[0], shifted(x, 10))
        code.compile_module("define void @run() {\n  ret void\n}")

    try:
        assert [in_a_child(work) for _ in range(5)] == [0] * 5
    finally:
        stop.set()
        for worker in workers:
            worker.join()


EXITS = {
    "plain": "",
    "thread": "threading.Thread(target=again).start(); time.sleep(0.05); stop = True",
    "daemon": "threading.Thread(target=again, daemon=True).start(); time.sleep(0.05)",
    "system exit": "sys.exit(0)",
    "late": "import atexit; atexit.register(lambda: executable([x]))",
}


@pytest.mark.parametrize("way", EXITS)
def test_the_interpreter_ends(way):
    text = f"""
    import sys, threading, time
    import numpy as np
    from talweg.execute.llvm.runtime.executable import Executable
    from tests.execute.llvm.test_threads import shifting
    executable = Executable(shifting(10, 5000), threads=3)
    x = np.arange(5000, dtype=np.int32)
    executable([x])
    stop = False
    def again():
        while not stop:
            executable([x])
    {EXITS[way]}
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, timeout=600
    )
    assert found.returncode == 0 and not found.stderr, found.stderr.decode()


def test_spinning_is_timed():
    found = thread_pool.get_thread_pool()
    spin = ctypes.CFUNCTYPE(None, ctypes.c_int32)(found.addresses["talweg_spin"])
    assert thread_pool._spins_in_a_microsecond(spin) > 0.1
