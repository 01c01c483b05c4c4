"""Rows combined into results too big for the caches, each of which is written once."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.execute.llvm.codegen import prefetch
from talweg.execute.llvm.link import generate
from talweg.execute.loop_interpreter import interpreter
from talweg.lower.blocks import scatter
from talweg.lower.ir.parser import parse
from talweg.lower.ir.printer import to_text
from talweg.lower.ir.verifier import check
from talweg.passes.functionalize import program_of

SIZES = {
    "float16": (9000, 128),
    "bfloat16": (5000, 128),
    "float32": (4500, 96),
    "float64": (2500, 67),
}
IDS = {"equal": [3, 3, 3, 7, 3], "none": [], "ends": [0, -1], "one": [5], "many": None}


@pytest.fixture(autouse=True)
def lowered_here():
    """Nothing comes from the disk: what an earlier run has left there has no loops to look at."""
    with settings.cache("off"):
        yield


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """As if the caches were small."""
    monkeypatch.setattr(scatter, "STREAMED_BYTES", 1 << 20)
    monkeypatch.setattr(prefetch, "STREAMED_BYTES", 1 << 20)


def places(name: str, rows: int) -> np.ndarray:
    if IDS[name] is None:
        return np.random.default_rng(1).integers(0, rows, 3 * rows)
    return np.array(IDS[name], np.int64) % rows


def sums(rows: int):
    """Sums of rows that are computed as they are added."""

    def function(x, y, ids):
        return tf.math.unsorted_segment_sum(tf.abs(x) - y * x, ids, rows)

    return function


def gradient(x, table, ids):
    with tf.GradientTape() as tape:
        tape.watch(table)
        loss = tf.reduce_sum(tf.square(tf.gather(table, ids) - x))
    return tf.convert_to_tensor(tape.gradient(loss, table))


def run(function, arguments, executor, threads=1):
    with settings.executor(executor), settings.threads(threads):
        made = tf.function(function)
        found = made(*arguments).numpy()
        tier = program_of(made.get_concrete_function(*arguments).body).tier
    return found, list(tier.versions.values()) if tier is not None else []


def texts(version):
    return to_text(version.lowered.program)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("name", IDS)
def test_they_are_what_the_interpreter_gives(name, dtype, threads):
    rows, columns = SIZES[dtype]
    ids = places(name, rows)
    random = np.random.default_rng(0)
    x, y = [tf.cast(random.integers(-4, 5, (ids.size, columns)), dtype) for _ in range(2)]
    arguments = x * 0.25, y, tf.constant(ids)
    wanted, _ = run(sums(rows), arguments, "interpret")
    for _ in range(2):  # the second time in memory that was used before
        found, (version,) = run(sums(rows), arguments, "llvm", threads)
        assert np.array_equal(found, wanted)
        assert np.array_equal(np.signbit(found), np.signbit(wanted))
        found[...] = 77
        del found
    if ids.size and dtype in ("float32", "float64"):  # others are added in float32
        assert "left" in texts(version)


def test_places_below_zero_are_left_out_and_others_refused():
    rows = 3000
    x = tf.ones([4, 96])
    found, (version,) = run(sums(rows), (x, -x, tf.constant([1, -1, 2999, 1])), "llvm")
    assert "left" in texts(version)
    assert found[1].tolist() == [4.0] * 96
    assert found.sum() == 96 * 6
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(sums(rows), (x, x, tf.constant([1, 1, 3000, 1])), "llvm")


@pytest.mark.parametrize("count", [1, 300, 20_000])
def test_gradients_of_look_ups(count):
    random = np.random.default_rng(2)
    table = tf.constant(random.normal(size=(3000, 128)).astype(np.float32))
    ids = tf.constant(random.integers(0, 3000, count))
    x = tf.constant(random.normal(size=(count, 128)).astype(np.float32))
    wanted, _ = run(gradient, (x, table, ids), "interpret")
    for threads in (1, 2):
        found, (version,) = run(gradient, (x, table, ids), "llvm", threads)
        assert "left" in texts(version)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_the_loops_print_parse_are_checked_and_run_slowly():
    x, ids = tf.ones([20, 128]), tf.constant([*range(10), *range(10)])
    wanted, (version,) = run(sums(2500), (x, -x, ids), "llvm")
    text = texts(version)
    program = parse(text)
    check(program)
    assert to_text(program) == text
    buffers = [b for b in program.buffers if b.kind == "input"]
    arrays = {"float32": iter([x.numpy(), -x.numpy()]), "int32": iter([ids.numpy()])}
    given = {b.name: next(arrays[b.dtype.name]) for b in buffers}
    found = interpreter.run(program, given)
    result = next(b for b in program.buffers if b.kind == "output" and b.shape)
    assert np.array_equal(found[result.name].reshape(result.shape), wanted)


@pytest.mark.parametrize(
    "rows, columns, asked", [(9000, 33, True), (3000, 128, True), (100, 33, False)]
)
@pytest.mark.parametrize("count", [5, 1000])
def test_rows_that_data_names_are_asked_for_ahead(rows, columns, asked, count):
    random = np.random.default_rng(3)
    start = random.normal(size=(rows, columns)).astype(np.float32)
    ids = random.integers(0, rows, count)
    ids[-1], ids[0] = rows - 1, 0
    table = tf.Variable(start)

    @tf.function
    def step(ids):
        found = tf.gather(table, ids)
        table.scatter_sub(tf.IndexedSlices(tf.tanh(found), ids))
        return tf.reduce_sum(found, 1)

    with settings.executor("llvm"):
        sums = step(tf.constant(ids))
    np.testing.assert_allclose(sums, start[ids].sum(1), rtol=1e-4, atol=1e-4)
    wanted = start.copy()
    np.subtract.at(wanted, ids, np.tanh(start[ids]))
    np.testing.assert_allclose(table, wanted, rtol=1e-4, atol=1e-5)
    (version,) = program_of(
        step.get_concrete_function(tf.constant(ids)).body
    ).tier.versions.values()
    text = generate.module_text(version.lowered.program)
    assert ("call void @llvm.prefetch" in text) == (asked and count > 5)
