"""Storms: eight threads at once on what they share; what comes out is what some order gives.

A storm is one round with new functions and variables, so that every round races for the first
trace, the first compilation, the first handle of a variable.  `python -m tests.threads.storms`
runs many rounds of each kind, half of them with a switch interval of 1e-5 s, and counts faults:

    python -m tests.threads.storms              1,000 rounds of each kind
    python -m tests.threads.storms 50 eager     50 rounds of the kinds with "eager" in their names
"""

from __future__ import annotations

import faulthandler
import functools
import itertools
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

import talweg as tf
from talweg.core import settings

THREADS, CALLS = 8, 6
LIMIT = 60.0  # seconds after which threads count as hanging
STORMS: dict[str, Callable[[], None]] = {}


def storm(make: Callable[[], None]) -> Callable[[], None]:
    """Register a kind of round."""
    STORMS[make.__name__] = make
    return make


def together(work: Callable[[int], Any], threads: int = THREADS) -> list:
    """What `work(number)` gives in threads that begin at once; raises what one of them raises."""
    start, results, errors = threading.Barrier(threads), [None] * threads, []

    def run(number: int) -> None:
        try:
            start.wait()
            results[number] = work(number)
        except BaseException as error:  # noqa: BLE001 -- raised below
            errors.append(error)

    team = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(threads)]
    for thread in team:
        thread.start()
    end = time.monotonic() + LIMIT
    for thread in team:
        thread.join(max(0.0, end - time.monotonic()))
    if any(thread.is_alive() for thread in team):
        faulthandler.dump_traceback(all_threads=True)
        raise AssertionError(f"threads hang after {LIMIT:.0f} s")
    if errors:
        raise errors[0]
    return results


@contextmanager
def switching(interval: float | None) -> Iterator[None]:
    """Let threads take turns after so many seconds inside the block."""
    before = sys.getswitchinterval()
    if interval is not None:
        sys.setswitchinterval(interval)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def repeated(call: Callable[[], Any], calls: int = CALLS) -> Callable[[int], list]:
    """What calls it several times."""
    return lambda number: [call() for _ in range(calls)]


def is_what_an_order_gives(found: list, first: float = 1.0) -> None:
    """Counters that return their value: every number once."""
    numbers = sorted(float(np.ravel(x)[0]) for each in found for x in each)
    assert numbers == [first + place for place in range(len(numbers))], numbers
    for each in found:
        own = [float(np.ravel(x)[0]) for x in each]
        assert own == sorted(own), own
        assert all(len(set(np.ravel(x).tolist())) == 1 for x in each), "torn values"


# -- eager variables


@storm
def eager_assign_add() -> None:
    v, w = tf.Variable(0.0), tf.Variable(tf.zeros([300]))
    together(repeated(lambda: (v.assign_add(1.0), w.assign_sub(tf.ones([300]))), 30))
    assert float(v) == 30 * THREADS
    assert w.numpy().tolist() == [-30.0 * THREADS] * 300


@storm
def eager_rows() -> None:
    v = tf.Variable(tf.zeros([4, 50]))

    def work(number: int) -> None:
        for turn in range(12):
            v.scatter_add(tf.IndexedSlices(tf.ones([1, 50]), [(number + turn) % 4]))
            v.scatter_nd_add([[0, 0]], [0.0])
            assert len(set(v.numpy()[number % 4, 1:].tolist())) == 1
            v[3, 0].assign(7.0)

    together(work)
    assert v.numpy()[:, 1:].tolist() == [[12.0 * THREADS / 4] * 49] * 4


@storm
def eager_count_up_to() -> None:
    v = tf.Variable(0)
    found = together(repeated(lambda: int(v.count_up_to(10**6))))
    assert sorted(itertools.chain(*found)) == list(range(CALLS * THREADS))


@storm
def eager_generator() -> None:
    g = tf.random.Generator.from_seed(1)
    found = together(repeated(lambda: int(g.uniform_full_int([], tf.int64)), 4))
    assert len(set(itertools.chain(*found))) == 4 * THREADS


# -- functions that update


def _counting(executor: str, size: int = 1000) -> None:
    v = tf.Variable(tf.zeros([size]))

    @tf.function
    def count() -> Any:
        v.assign_add(tf.ones([size]))
        return v.read_value()

    with settings.executor(executor):
        found = together(repeated(lambda: count().numpy()))
    is_what_an_order_gives(found)
    assert v.numpy()[0] == CALLS * THREADS
    assert count.experimental_get_tracing_count() == 1


@storm
def interpreted_updates() -> None:
    _counting("interpret")


@storm
def compiled_updates() -> None:
    _counting("llvm")


@storm
def automatic_updates() -> None:
    _counting("auto")


@storm
def compiled_updates_outside_the_gil() -> None:
    _counting("llvm", 50_000)


@storm
def readers_of_what_is_written_in_place() -> None:
    v = tf.Variable(tf.zeros([50_000]))

    @tf.function
    def count() -> None:
        v.assign_add(tf.ones([50_000]))

    def work(number: int) -> None:
        for _ in range(CALLS):
            if number % 2:
                count()
            else:
                found = v.read_value()
                before = found.numpy()
                assert before.min() == before.max(), "torn value"
                time.sleep(0)
                assert found.numpy()[0] == before[0], "a tensor that was read has changed"

    with settings.executor("llvm"):
        together(work)
    assert v.numpy()[0] == CALLS * THREADS / 2


@storm
def updates_of_several_kinds() -> None:
    """Eager updates, and those of two functions with the same variables in another order."""
    v, w = tf.Variable(0.0), tf.Variable(0.0)

    @tf.function
    def one(x: Any) -> None:
        v.assign_add(x)
        w.assign_add(2.0 * x)

    @tf.function
    def other(x: Any) -> None:
        w.assign_sub(x)
        if x > 0.0:
            v.assign_add(x * 3.0)

    def work(number: int) -> None:
        for _ in range(CALLS):
            if number % 4 == 0:
                v.assign_add(1.0)
            elif number % 4 == 1:
                one(tf.constant(1.0))
            else:
                other(tf.constant(1.0))

    together(work)
    of_each = CALLS * THREADS / 4
    assert (float(v), float(w)) == (8 * of_each, 0.0)


@storm
def updates_beside_calls_of_python() -> None:
    v, seen = tf.Variable(0.0), []

    @tf.function
    def count() -> Any:
        v.assign_add(1.0)
        tf.py_function(lambda: seen.append(1), [], [])
        return v.read_value()

    found = together(repeated(lambda: float(count()), 3))
    is_what_an_order_gives([[np.float64(x) for x in each] for each in found])
    assert len(seen) == 3 * THREADS


@storm
def random_numbers() -> None:
    draw = tf.function(lambda: tf.random.uniform([], maxval=2**62, dtype=tf.int64))
    found = together(repeated(lambda: int(draw())))
    assert len(set(itertools.chain(*found))) == CALLS * THREADS


# -- traces


@storm
def first_traces() -> None:
    runs = []

    @tf.function
    def f(x: Any) -> Any:
        runs.append(1)
        return x * 2.0

    found = together(lambda number: float(f(tf.constant(float(number)))))
    assert found == [2.0 * number for number in range(THREADS)]
    assert len(runs) == f.experimental_get_tracing_count() == 1


@storm
def traces_that_make_variables() -> None:
    made: list = []

    @tf.function
    def f(x: Any) -> Any:
        if not made:
            made.append(tf.Variable(0.0))
        made[0].assign_add(x)
        return made[0].read_value()

    found = together(lambda number: float(f(tf.constant(1.0))))
    assert sorted(found) == [1.0 + number for number in range(THREADS)] and len(made) == 1


@storm
def variables_as_arguments() -> None:
    variables = [tf.Variable(float(number)) for number in range(THREADS)]

    @tf.function
    def add(v: Any, w: Any) -> None:
        v.assign_add(1.0)
        w.assign_sub(1.0)

    def work(number: int) -> None:
        for turn in range(1, CALLS):
            add(variables[number], variables[(number + turn) % THREADS])

    together(work)
    assert [float(v) for v in variables] == list(range(THREADS))
    assert add.experimental_get_tracing_count() == 1


@storm
def retraces() -> None:
    f = tf.function(lambda x: tf.reduce_sum(x))

    def work(number: int) -> None:
        for size in range(1, CALLS):
            for dtype in (tf.float32, tf.int32):
                assert int(f(tf.ones([size] * (1 + number % 2), dtype))) == size ** (1 + number % 2)

    together(work)
    assert f.experimental_get_tracing_count() <= 12


@storm
def traces_for_objects() -> None:
    f = tf.function(lambda x, thing: x + 1.0)

    def work(number: int) -> None:
        for _ in range(10):
            assert float(f(tf.constant(1.0), object())) == 2.0

    together(work)


@storm
def concrete_functions() -> None:
    f = tf.function(lambda x: x + 1.0)
    spec = tf.TensorSpec([None], tf.float32)
    found = together(lambda number: f.get_concrete_function(spec))
    assert len({id(concrete) for concrete in found}) == 1
    assert f.experimental_get_tracing_count() == 1


@storm
def functions_that_trace_each_other() -> None:
    def one(x: Any, depth: int) -> Any:
        time.sleep(0.0005)
        return x + 1.0 if depth == 0 else g(x, depth - 1) + 1.0

    def other(x: Any, depth: int) -> Any:
        time.sleep(0.0005)
        return x + 1.0 if depth == 0 else f(x, depth - 1) + 1.0

    f, g = tf.function(one), tf.function(other)
    found = together(lambda number: float((f if number % 2 else g)(tf.constant(0.0), 4)))
    assert found == [5.0] * THREADS


@storm
def methods() -> None:
    class Counter(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.v = tf.Variable(0.0)

        @tf.function
        def count(self, x: Any) -> Any:
            return self.v.assign_add(x).read_value()

    counter = Counter()
    found = together(lambda number: float(counter.count(tf.constant(1.0))))
    assert sorted(found) == [1.0 + number for number in range(THREADS)]
    assert counter.count.experimental_get_tracing_count() == 1


@storm
def autograph_for_the_first_time() -> None:
    def of_its_own(x: Any) -> Any:
        if x > 0:
            x = x + 1
        return x

    fresh = FunctionType(of_its_own.__code__.replace(), globals())  # its code is not known yet
    functions = [tf.function(fresh) for _ in range(THREADS)]
    assert together(lambda number: int(functions[number](tf.constant(1)))) == [2] * THREADS


# -- derivatives


@storm
def gradients_of_functions() -> None:
    v = tf.Variable(3.0)

    @tf.function
    def f(x: Any) -> Any:
        for _ in tf.range(2):
            x = x * v
        return x

    def work(number: int) -> tuple:
        with tf.GradientTape() as tape:
            y = f(tf.constant(2.0))
        return float(y), float(tape.gradient(y, v))

    assert together(work) == [(18.0, 12.0)] * THREADS


def _training(compiled: bool) -> None:
    w = tf.Variable(tf.zeros([4, 1]))
    x, y = tf.ones([8, 4]), tf.ones([8, 1])

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w - y) ** 2)
        w.assign_sub(0.01 * tape.gradient(loss, w))
        return loss

    run = tf.function(step)
    with settings.executor("llvm" if compiled else "interpret"):
        found = together(repeated(lambda: float(run())))
        losses = sorted(itertools.chain(*found), reverse=True)
        w.assign(tf.zeros([4, 1]))
        alone = [float(run()) for _ in range(CALLS * THREADS)]
    np.testing.assert_allclose(losses, alone, rtol=1e-5)


@storm
def training_compiled() -> None:
    _training(True)


@storm
def training_interpreted() -> None:
    _training(False)


# -- compilation


@storm
def first_compilations() -> None:
    number = next(_numbers)
    f = tf.function(lambda x: tf.exp(x) * float(number % 97) + tf.sin(x))
    x = tf.constant(np.linspace(0.0, 1.0, 300, dtype=np.float32))
    want = f.python_function(x).numpy()
    with settings.executor("llvm"):
        for found in together(repeated(lambda: f(x).numpy(), 3)):
            for each in found:
                np.testing.assert_allclose(each, want, rtol=1e-5)


@storm
def compilations_for_several_shapes() -> None:
    f = tf.function(lambda x: tf.reduce_sum(x * x), reduce_retracing=True)
    f(tf.ones([2])), f(tf.ones([3]))

    def work(number: int) -> None:
        for size in range(4, 7):
            assert float(f(tf.ones([size]))) == size

    with settings.executor("llvm"):
        together(work)


_numbers = itertools.count()


# -- graphs of the first generation


@storm
def sessions() -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", [50], initializer=v1.zeros_initializer())
        x = v1.placeholder(tf.float32, [])
        count, double = v1.assign_add(v, tf.ones([50])), x * 2.0
        session.run(v1.global_variables_initializer())

        def work(number: int) -> list:
            found = []
            for turn in range(CALLS):
                found.append(session.run(count))
                assert session.run(double, {x: turn}) == 2 * turn
            return found

        is_what_an_order_gives(together(work))


@storm
def fetches_that_change() -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        nodes = [tf.constant(float(i)) for i in range(70)]

        def work(number: int) -> None:
            for i in range(0, 70, 2):
                place = (i * 7 + number) % 70
                assert session.run(nodes[place]) == place

        together(work)


@storm
def graphs_built_by_threads() -> None:
    v1 = tf.compat.v1
    graph = tf.Graph()

    def work(number: int) -> list:
        with graph.as_default():
            x = tf.constant(1.0)
            return [x := x + float(turn % 3) for turn in range(20)]

    found = together(work)
    with v1.Session(graph=graph) as session:
        assert session.run([each[-1] for each in found]) == [20.0] * THREADS


# -- tables


@storm
def tables() -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)

    def work(number: int) -> None:
        for turn in range(CALLS):
            table.insert(np.int64(number * CALLS + turn), np.int64(number))
            assert int(table.lookup(np.int64(number * CALLS + turn))) == number
            table.export()

    together(work)
    assert int(table.size()) == CALLS * THREADS


@storm
def iterators() -> None:
    iterator = iter(tf.data.Dataset.range(80).map(lambda x: x + 1).prefetch(2))
    found = together(lambda number: [int(x) for x in iterator])
    assert sorted(itertools.chain(*found)) == list(range(1, 81))


@storm
def keras_training() -> None:
    layer, optimizer = _keras()
    before = int(optimizer.iterations.value)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(layer(x) ** 2)
        weights = layer.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return optimizer.iterations.value + 0

    found = together(repeated(lambda: int(step(tf.ones([2, 3]))), 3))
    assert sorted(itertools.chain(*found)) == [before + 1 + n for n in range(3 * THREADS)]


@functools.cache
def _keras() -> tuple:
    layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
    layer.build((None, 3))
    optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.9)
    optimizer.build(layer.trainable_variables)
    return layer, optimizer


def rounds(kind: str, count: int) -> tuple[int, float]:
    """How many of so many rounds failed, and the seconds they took."""
    faults, start = 0, time.monotonic()
    for number in range(count):
        with switching(1e-5 if number % 2 else None):
            try:
                STORMS[kind]()
            except BaseException:  # noqa: BLE001 -- counted
                faults += 1
                if faults <= 2:
                    traceback.print_exc()
    return faults, time.monotonic() - start


def main(arguments: list[str]) -> int:
    """Run rounds of each kind; the number of kinds with faults."""
    logging.getLogger("talweg").setLevel(logging.ERROR)  # functions are traced often here
    count = int(arguments[0]) if arguments else 1000
    wanted = arguments[1] if len(arguments) > 1 else ""
    bad = 0
    for kind in STORMS:
        if wanted in kind:
            faults, seconds = rounds(kind, count)
            bad += faults > 0
            print(f"{kind}: {faults} faults in {count} rounds, {seconds:.1f} s", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(import_module("tests.threads.storms_of_programs").run(sys.argv[1:]))
