"""Background work: prefetching is real, errors arrive at their places, no thread is left behind."""

import gc
import sys
import threading
import time

import pytest

import talweg as tf
from talweg.pipeline import parallel

Dataset = tf.data.Dataset


def own_threads():
    """The threads of pipelines."""
    names = ("talweg-prefetch", "talweg-map")
    return [t for t in threading.enumerate() if t.name.startswith(names)]


def wait_until_gone(seconds=60.0):
    """Whether all threads of pipelines end in time."""
    end = time.monotonic() + seconds
    while own_threads() and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    return not own_threads()


def slow(calls, seconds=0.0):
    def call(x):
        calls.append(int(x))
        time.sleep(seconds)
        return x

    return lambda x: tf.py_function(call, [x], tf.int64)


def test_short_elements_are_not_handed_over(monkeypatch):
    monkeypatch.setattr(parallel, "HANDING", 60.0)  # what is short is up to the machine
    iterator = iter(Dataset.from_tensors(tf.ones([3])).repeat().map(lambda x: x + 1).prefetch(5))
    for _ in range(20):
        next(iterator)
    assert not own_threads()


def test_long_elements_are_computed_ahead(monkeypatch):
    monkeypatch.setattr(parallel, "HANDING", 0.0)
    monkeypatch.setattr(parallel, "PATIENCE", 1e-9)
    iterator = iter(Dataset.from_tensors(tf.ones([3])).repeat(9).map(lambda x: x + 1).prefetch(5))
    assert len([next(iterator) for _ in range(5)]) == 5 and own_threads()
    assert len(list(iterator)) == 4


def test_prefetch_computes_ahead():
    calls = []
    iterator = iter(Dataset.range(100).map(slow(calls)).prefetch(5))
    next(iterator)
    end = time.monotonic() + 60
    while len(calls) < 6 and time.monotonic() < end:
        time.sleep(0.005)
    time.sleep(0.05)
    assert 6 <= len(calls) <= 8  # the one taken, five waiting, one or two on their way
    del iterator
    assert wait_until_gone()


def test_nothing_runs_before_the_first_element():
    calls = []
    iterator = iter(Dataset.range(10).map(slow(calls)).prefetch(2))
    time.sleep(0.05)
    assert calls == []
    assert int(next(iterator)) == 0


@pytest.mark.parametrize("taken", [1, 3, 10])
def test_threads_end_when_the_iterator_goes(taken):
    dataset = Dataset.range(10).map(slow([]), num_parallel_calls=3).prefetch(2)
    found = []
    for x in dataset:
        found.append(int(x))
        if len(found) == taken:
            break
    assert found == list(range(taken))
    del x
    assert wait_until_gone()


def test_threads_end_after_an_error():
    def fail(x):
        if x == 2:
            raise ValueError("two")
        return x

    dataset = Dataset.range(4).map(lambda x: tf.py_function(fail, [x], tf.int64)).prefetch(3)
    iterator, found = iter(dataset), []
    for _ in range(5):
        try:
            found.append(int(next(iterator)))
        except (tf.errors.InvalidArgumentError, StopIteration) as error:
            found.append(type(error).__name__)
    assert found == [0, 1, "InvalidArgumentError", 3, "StopIteration"]
    del iterator
    assert wait_until_gone()


def test_python_functions_run_at_the_same_time():
    together = threading.Barrier(8, timeout=60)

    def meet(x):
        together.wait()  # until all eight are here
        return x

    meeting = lambda x: tf.py_function(meet, [x], tf.int64)  # noqa: E731
    dataset = Dataset.range(8).map(meeting, num_parallel_calls=8)
    assert [int(x) for x in dataset] == list(range(8))


def test_parallel_calls_keep_the_order():
    def wait(x):
        time.sleep(0.02 if int(x) % 3 == 0 else 0.0)
        return x

    dataset = Dataset.range(12).map(
        lambda x: tf.py_function(wait, [x], tf.int64), num_parallel_calls=tf.data.AUTOTUNE
    )
    assert [int(x) for x in dataset] == list(range(12))


def test_iterators_may_be_shared_by_threads():
    iterator, found = iter(Dataset.range(400).map(lambda x: x * 2).prefetch(4)), []

    def take():
        for x in iterator:
            found.append(int(x))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(0, 800, 2))


def test_a_generator_is_closed_when_the_iterator_goes():
    closed = []

    def numbers():
        try:
            yield from range(100)
        finally:
            closed.append(True)

    dataset = Dataset.from_generator(numbers, output_signature=tf.TensorSpec([], tf.int32))
    iterator = iter(dataset.prefetch(2))
    next(iterator)
    del iterator
    assert wait_until_gone()
    gc.collect()
    assert closed == [True]


def orders_of_eight_threads(ds, passes):
    """The orders that eight threads get of one dataset, each with iterators of its own."""
    found, errors, start = [], [], threading.Barrier(8)

    def read():
        start.wait()
        try:
            for _ in range(passes):
                found.append([int(x) for x in ds.as_numpy_iterator()])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(8)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not errors, errors
    return sorted(found)


@pytest.mark.parametrize("parallel_map", [False, True])
def test_threads_share_a_shuffled_dataset(parallel_map):
    def make():
        ds = Dataset.range(7).shuffle(5, seed=3)
        return ds.map(lambda x: x, num_parallel_calls=2) if parallel_map else ds

    alone = make()
    wanted = sorted([int(x) for x in alone] for _ in range(8 * 30))
    assert orders_of_eight_threads(make(), 30) == wanted


def test_threads_share_what_a_dataset_remembers():
    assert orders_of_eight_threads(Dataset.range(7).cache(), 10) == [list(range(7))] * 80
    numbers = Dataset.random(seed=3, rerandomize_each_iteration=True).take(2)
    wanted = sorted([int(x) for x in numbers] for _ in range(80))
    again = Dataset.random(seed=3, rerandomize_each_iteration=True).take(2)
    assert orders_of_eight_threads(again, 10) == wanted
