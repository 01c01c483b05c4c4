"""Signals while talweg computes: their handlers run soon, and variables are as before the call.

A timer's signal stands for Ctrl-C: what its handler raises comes out of the call as
KeyboardInterrupt does.  It is a timer of the processor's time, so that a busy machine changes
nothing.
"""

from __future__ import annotations

import contextlib
import gc
import random
import signal
import threading
import time

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.kernels import abandoned_calls

SOON = 0.5
SIZE = 200


class Interrupt(BaseException):
    """What the handler raises."""


@contextlib.contextmanager
def interrupted(delay, handler=None):
    """Have a signal come after some seconds of work; `handler` is called, or Interrupt raised.

    Gives a list of the seconds of work from the signal until its handler was called.
    """

    def handle(*_):
        times.append(time.process_time() - start - delay)
        if handler is None:
            raise Interrupt
        handler()

    times: list[float] = []
    before = signal.signal(signal.SIGPROF, handle)
    start = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, delay)
        yield times
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def small(*shape):
    return tf.constant(np.random.default_rng(0).random(shape, "float32") / shape[-1])


def loop_that_writes():
    """A loop of unknown length that changes a variable in each turn."""
    v, a = tf.Variable(tf.zeros([SIZE, SIZE])), small(SIZE, SIZE)

    @tf.function
    def f(n):
        x = a
        for _ in tf.range(n):
            x = x @ a + 0.1
            v.assign_add(x)
        return x

    return f, v


def long_step():
    """Many layers one after the other, each of some milliseconds, and a variable at the end."""
    v, a = tf.Variable(tf.zeros([1000, 1000])), small(1000, 1000)

    @tf.function
    def f(n):
        x = a + tf.cast(n, tf.float32)
        for _ in range(60):
            x = tf.sin(x @ a)
        v.assign_add(x)
        return x

    return f, v


def long_kernel():
    """One sweep over much memory, with much to compute for each element."""
    v, a = tf.Variable(0.0), tf.ones([3000, 3000])

    @tf.function
    def f(n):
        x = a * tf.cast(n, tf.float32)
        for _ in range(120):
            x = tf.sin(x) + 0.5
        y = tf.reduce_sum(x)
        v.assign_add(y)
        return y

    return f, v


def scan_of_a_list():
    """A loop with a list, which has memory that grows."""
    v, a = tf.Variable(tf.zeros([])), small(SIZE)

    @tf.function
    def f(n):
        found = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        x = a
        for i in tf.range(n):
            x = tf.sin(x) + 0.1
            found = found.write(i, x)
        v.assign_add(tf.reduce_sum(found.stack()))
        return x

    return f, v


CASES = {
    "loop": (loop_that_writes, 10**5),
    "step": (long_step, 1),
    "kernel": (long_kernel, 1),
    "list": (scan_of_a_list, 10**6),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_a_compiled_step_ends_soon_and_changes_nothing(name, threads):
    make, much = CASES[name]
    with settings.executor("llvm"), settings.threads(threads):
        f, v = make()
        f(tf.constant(2))  # compiled
        before, whole = v.numpy(), f(tf.constant(2)).numpy()
        after = v.numpy()
        v.assign(before)
        with interrupted(0.05) as times, contextlib.suppress(Interrupt):
            f(tf.constant(much))
            assert name in ("step", "kernel"), "it took no time"  # they may on a fast machine
        assert not times or times[0] < SOON * threads
        assert (v.numpy() == before).all() or not times
        v.assign(before)
        assert (f(tf.constant(2)).numpy() == whole).all()
        assert (v.numpy() == after).all()


@pytest.mark.parametrize("executor", ["eager", "interpret", "llvm"])
def test_one_large_product_ends_before_it_is_done(executor):
    n = 4600
    v, a = tf.Variable(tf.ones([n, n])), tf.ones([n, n])

    def f(x):
        v.assign(x @ a)

    with settings.executor("interpret" if executor == "eager" else executor), settings.threads(1):
        f = f if executor == "eager" else tf.function(f)
        if executor == "llvm":
            f(a * 0.0)  # compiled
        before = v.numpy()
        with interrupted(0.01) as times, pytest.raises(Interrupt):
            f(a)
        assert times
        assert (v.numpy() == before).all()


def test_handlers_run_while_a_step_goes_on():
    seen = []
    with settings.executor("llvm"):
        f, v = loop_that_writes()
        f(tf.constant(2))
        v.assign(tf.zeros([SIZE, SIZE]))
        with interrupted(0.02, lambda: seen.append(v.numpy().copy())) as times:
            f(tf.constant(3000))
        assert times[0] < SOON * 2
        assert (seen[0] == 0).all()
        assert (v.numpy() != 0).all()


@pytest.mark.parametrize("executor", ["llvm", "interpret"])
@pytest.mark.parametrize("drawn", [False, True])
def test_variables_change_together_or_not_at_all(executor, drawn):
    a, b, c = tf.Variable(tf.zeros([64])), tf.Variable(tf.zeros([3])), tf.Variable(0.0)
    rng = random.Random(1)

    @tf.function
    def step():
        x = tf.random.uniform([]) * 0.0 + 1.0 if drawn else 1.0
        a.assign_add(tf.ones([64]) * x)
        b.assign_add(tf.ones([3]) * x)
        c.assign_add(x)

    with settings.executor(executor):
        step()
        kept = c.read_value()  # of one of them, somebody else has the value
        for number in range(60):
            with interrupted(rng.uniform(0.0002, 0.004)), contextlib.suppress(Interrupt):
                while True:
                    step()
            if number % 3 == 0:
                kept = c.read_value()
            found = {*a.numpy(), *b.numpy(), c.numpy()}
            assert len(found) == 1, found
    assert kept.dtype == tf.float32


def test_steps_in_other_threads_go_on():
    f, v = loop_that_writes()
    with settings.executor("llvm"):
        f(tf.constant(2))
        v.assign(tf.zeros([SIZE, SIZE]))
        once = tf.constant(500)
        worker = threading.Thread(target=f, args=(once,))
        worker.start()
        with interrupted(0.02), contextlib.suppress(Interrupt):
            f(tf.constant(10**6))
        worker.join()
    assert (v.numpy() != 0).all()


@pytest.mark.parametrize("parallel", [None, 2])
def test_pipelines(parallel):
    def slow(x):
        time.sleep(0.01)
        return x

    def stop(*_):
        stopped.append(True)
        raise Interrupt

    stopped: list[bool] = []
    data = tf.data.Dataset.range(10**6).map(
        lambda x: tf.py_function(slow, [x], tf.int64), num_parallel_calls=parallel
    )
    before = threading.active_count()
    handler = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with contextlib.suppress(Interrupt):
            for _ in data.shuffle(1000).batch(100).prefetch(2):
                pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert stopped
    end = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before


@pytest.mark.parametrize("steps", [1, 8])
def test_fit(steps):
    tf.as_tensorflow()
    import keras

    x = np.ones([512, 4], "float32")
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).shuffle(512).batch(2).prefetch(2)
    model = keras.Sequential([keras.Input([4]), keras.layers.Dense(1, use_bias=False)])
    model.compile(
        keras.optimizers.SGD(2**-12), lambda _, y: keras.ops.mean(y), steps_per_execution=steps
    )
    first = model.get_weights()[0]
    first[...] = 0
    model.set_weights([first])
    model.fit(data, epochs=1, verbose=0)

    def raise_until_it_is_heard():
        """Keras drops all that is raised while it makes numbers of logs, Python in finalizers."""
        signal.setitimer(signal.ITIMER_PROF, 3)
        raise Interrupt

    for number in range(6):
        interrupt = interrupted(0.05 + 0.003 * number, raise_until_it_is_heard)
        with interrupt as times:
            try:
                model.fit(data, epochs=1000, verbose=0)
                pytest.fail("nothing was raised")
            except Interrupt:
                signal.setitimer(signal.ITIMER_PROF, 0)
        assert times[0] < SOON
        done = int(model.optimizer.iterations)
        assert (model.get_weights()[0] == -done * 2**-12).all()


LIBRARIES = {  # calls of LAPACK, SciPy and NumPy, one each, that take long
    "svd": lambda x: tf.linalg.svd(x),
    "eig": lambda x: tf.linalg.eig(x),
    "logm": lambda x: tf.linalg.logm(tf.cast(x, tf.complex64)),
    "sort": lambda x: tf.sort(tf.tile(tf.reshape(x, [-1]), [9])),
    "unique": lambda x: tf.unique(tf.tile(tf.reshape(x, [-1]), [9])),
    "fft": lambda x: tf.signal.fft(tf.cast(tf.tile(tf.reshape(x, [-1]), [9]), tf.complex64)),
}


@pytest.mark.parametrize("executor", ["eager", "interpret", "llvm"])
@pytest.mark.parametrize("name", ["svd", "eig"])
def test_one_long_call_of_a_library_is_abandoned(name, executor):
    v, n = tf.Variable(tf.zeros([3])), 700
    a = tf.constant(np.random.default_rng(0).random((n, n), "float32"))

    def f(x):
        first = LIBRARIES[name](x)[0]
        v.assign_add(tf.ones([3]))
        return first

    with settings.executor("interpret" if executor == "eager" else executor):
        f = f if executor == "eager" else tf.function(f)
        f(tf.eye(n))  # traced and compiled, and soon done
        v.assign(tf.zeros([3]))
        gc.collect()
        gc.disable()  # what a handler raises in one of its callbacks is lost
        try:
            with interrupted(0.02) as times, pytest.raises(Interrupt):
                f(a)
        finally:
            gc.enable()
        assert times[0] < SOON
        assert (v.numpy() == 0).all()
        for call in list(abandoned_calls.running):
            call.wait()  # its result is nobody's
    assert (v.numpy() == 0).all()


@pytest.mark.parametrize("name", LIBRARIES)
def test_long_calls_of_libraries_give_what_short_ones_do(name, monkeypatch):
    x = tf.constant(np.random.default_rng(1).random((20, 20), "float32"))
    expected = tf.nest.map_structure(np.asarray, LIBRARIES[name](x))
    monkeypatch.setattr(abandoned_calls, "LONG", 1)
    called = []
    monkeypatch.setattr(
        abandoned_calls.LibraryCall, "wait", lambda self: (called.append(self), self.over.acquire())
    )
    found = tf.nest.map_structure(np.asarray, LIBRARIES[name](x))
    tf.nest.map_structure(np.testing.assert_array_equal, found, expected)
    assert called
    with settings.executor("llvm"):
        again = tf.function(LIBRARIES[name])(x)
    tf.nest.map_structure(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), again, found)


def test_errors_of_long_calls_are_theirs(monkeypatch):
    monkeypatch.setattr(abandoned_calls, "LONG", 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        tf.linalg.inv(tf.zeros([3, 3]))
    assert not abandoned_calls.running
