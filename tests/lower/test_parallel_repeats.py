"""Loops whose trips are shared between threads, as whole trips."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import talweg as tf
from talweg.execute.llvm.runtime.executable import Executable
from talweg.lower.blocks import parallel_repeats
from talweg.lower.buffer_assignment import plan
from talweg.lower.ir.loops import OF_THREADS, Repeat
from talweg.lower.ir.visitors import root_of
from tests.lower.controlled import Case, agree, blocks_of, gradient

R = np.random.default_rng(3)
X = R.normal(size=(8, 5, 5)).astype("f")
W = (R.normal(size=(5, 5)) / 2).astype("f")


def mapped(x, w):
    return tf.map_fn(lambda a: tf.nn.softmax(tf.tanh(a @ w) @ a), x)


def of_two_results(x, w):
    types = (tf.float32, tf.float32)
    return tf.map_fn(lambda a: (a @ w, tf.reduce_sum(a, 0)), x, fn_output_signature=types)


def with_its_number(x):
    out = tf.TensorArray(tf.float32, 8)
    for i in tf.range(8):
        out = out.write(i, tf.sin(x[i]) * tf.cast(i, tf.float32))
    return out.stack()


def with_a_loop_within(x, w):
    def power(a):
        body = lambda i, b: (i + 1, tf.tanh(b @ w) + a)  # noqa: E731
        return tf.while_loop(lambda i, b: i < 3, body, (0, a))[1]

    return tf.map_fn(power, x)


def reads_other_rows(x):
    return tf.map_fn(lambda i: x[7 - i] * x[i], tf.range(8), fn_output_signature=tf.float32)


APART = {
    "mapped": (mapped, X, W),
    "two results": (of_two_results, X, W),
    "its number": (with_its_number, X),
    "a loop within": (with_a_loop_within, X, W),
    "reads other rows of an argument": (reads_other_rows, X),
    "more trips than are even": (lambda x: tf.map_fn(tf.sin, tf.tile(x, [2, 1, 1])[:9]), X),
}


@pytest.mark.parametrize("name", APART)
def test_trips_are_shared(name):
    """The loop program does what the interpreter does, and so does machine code on two threads."""
    agree(*APART[name])
    lowered = agree(*APART[name], machine=True)
    assert [block.parallel for block in lowered.program.blocks if type(block) is Repeat] == [True]


def carries_a_sum(x):
    body = lambda i, a, out: (i + 1, a + x[i], out.write(i, a))  # noqa: E731
    start = 0, tf.zeros([5, 5]), tf.TensorArray(tf.float32, 8)
    return tf.while_loop(lambda i, *_: i < 8, body, start)[2].stack()


def reads_the_row_before(x):
    out = tf.TensorArray(tf.float32, 8, clear_after_read=False).write(0, x[0])
    for i in tf.range(1, 8):
        out = out.write(i, out.read(i - 1) * 0.5 + x[i])
    return out.stack()


def ends_by_a_value(x):
    def halved(a):
        return tf.while_loop(lambda b: tf.reduce_sum(b * b) > 1.0, lambda b: (b * 0.5,), (a,))[0]

    return tf.map_fn(halved, x)


def has_no_loops(x):
    return tf.map_fn(lambda a: tf.linalg.svd(a, compute_uv=False), x)


NOT_APART = {
    "a carried sum": (carries_a_sum, X),
    "the row before": (reads_the_row_before, X),
    "an end that depends on values": (ends_by_a_value, X),
    "an operation of LAPACK": (has_no_loops, X),
    "few trips": (lambda x: tf.map_fn(tf.sin, x[:3]), X),
}


@pytest.mark.parametrize("name", NOT_APART)
def test_trips_that_stay_in_order(name):
    lowered = agree(*NOT_APART[name])
    assert not any(loop.parallel for loop in blocks_of(lowered, Repeat))


def in_a_loop(x, w):
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, mapped(a, w)), (0, x))[1]


def in_a_branch(x, w):
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: mapped(x, w), lambda: mapped(-x, w) + 1.0)


@pytest.mark.parametrize("function", [in_a_loop, in_a_branch])
def test_parallel_repeats_within_others(function):
    for x in (X, -X):
        lowered = agree(function, x, W, machine=True)
        assert any(loop.parallel for loop in blocks_of(lowered, Repeat))


def test_gradients():
    """What a trip keeps for its reverse are rows of its own, too."""
    lowered = agree(gradient(mapped), X, W, machine=True)
    forward, _ = [block for block in lowered.program.blocks if type(block) is Repeat]
    assert forward.parallel


def test_much_memory_is_not_multiplied(monkeypatch):
    monkeypatch.setattr(parallel_repeats, "PRIVATE_BYTES", 99)
    lowered = agree(mapped, X, W)
    assert not any(loop.parallel for loop in blocks_of(lowered, Repeat))
    assert not any(buffer.kind == "private" for buffer in lowered.program.buffers)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_memory_of_threads_in_different_places_of_a_trip(threads):
    """No thread writes where another one has something, wherever in the loop both are."""

    def attention(a):
        scores = tf.nn.softmax(tf.matmul(tf.sin(a) @ W, a, transpose_b=True))
        return tf.matmul(scores * tf.reduce_mean(scores), tf.cos(a) @ W)

    program = agree(lambda x: tf.map_fn(attention, x), X).program
    offsets = plan(program, threads).offsets
    kept = [
        (offsets[buffer], offsets[buffer] + buffer.nbytes * threads)
        for buffer in program.buffers
        if root_of(buffer) is buffer and buffer.kind in OF_THREADS
    ]
    kept.sort()
    assert len(kept) > 3
    assert all(end <= begin for (_, end), (begin, _) in zip(kept, kept[1:]))


def test_threads_give_equal_bits():
    """On one, two and three threads, however trips fall to them."""
    x = R.normal(size=(24, 40, 40)).astype("f")
    w = R.normal(size=(40, 40)).astype("f")
    case = Case(with_a_loop_within, x, w)
    lowered = case.lowered()
    results = set()
    for threads in (1, 2, 3):
        executable = Executable(lowered.program, threads=threads)
        for _ in range(20):
            (found,) = executable([x, w], [])
            results.add(np.asarray(found).tobytes())
    assert len(results) == 1


STEPS = st.lists(st.sampled_from(("sin", "matmul", "softmax", "add", "loop", "turn")), max_size=5)


def step(kind, a, w, i):
    if kind == "loop":
        body = lambda k, b: (k + 1, tf.tanh(b @ w) * 0.5 + a)  # noqa: E731
        return tf.while_loop(lambda k, b: k < 2, body, (0, a))[1]
    number = tf.cast(i, tf.float32) * 0.1
    return {
        "sin": lambda: tf.sin(a) + number,
        "matmul": lambda: tf.matmul(a, w),
        "softmax": lambda: tf.nn.softmax(a),
        "add": lambda: a + tf.reduce_mean(a, 0, keepdims=True),
        "turn": lambda: tf.transpose(a),
    }[kind]()


@given(steps=STEPS, trips=st.sampled_from([2, 4, 8]))
@settings(max_examples=10, deadline=None)
def test_random_trips(steps, trips):
    def function(x, w):
        def trip(i):
            a = x[i]
            for kind in steps:
                a = step(kind, a, w, i)
            return a

        return tf.map_fn(trip, tf.range(trips), fn_output_signature=tf.float32)

    agree(function, X, W, machine=True)
