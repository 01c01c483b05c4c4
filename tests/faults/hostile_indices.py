"""Indices that lie outside, negative, huge: programs whose arrays lie between forbidden pages.

An operand of a program fills one page of memory, and neither the page before nor the one after may
be touched: who reads outside ends the process.  So `run` is called in a forked child.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import signal
from collections.abc import Callable
from typing import Any

import numpy as np

import talweg as tf
from talweg.core import settings
from talweg.eager.tensor import wrap

PAGE = mmap.PAGESIZE
ROWS, COLUMNS = 32, PAGE // (4 * 32)
_LIBC = ctypes.CDLL(None)
HOSTILE = (0, 1, 5, 31, 32, 33, -1, -2, -32, -33, 1000, 10**6, -(10**6), 2**31 - 1, -(2**31))
VERY = (2**31, 2**32, 2**32 + 1, 2**62, 2**63 - 1, -(2**63), -(2**62))
EXECUTORS = ("eager", "interpret", "llvm")

_regions: list = []


def guarded() -> Any:
    """A float32 tensor [ROWS, COLUMNS] that fills a page between two that may not be touched."""
    region = mmap.mmap(-1, 3 * PAGE)
    whole = np.frombuffer(region, np.uint8)
    _regions.append(region)
    for place in (0, 2 * PAGE):
        address = ctypes.c_void_p(whole.ctypes.data + place)
        assert _LIBC.mprotect(address, ctypes.c_size_t(PAGE), 0) == 0
    array = whole[PAGE : 2 * PAGE].view(np.float32).reshape(ROWS, COLUMNS)
    array[...] = np.arange(array.size).reshape(array.shape)
    return wrap(array)


def table() -> Any:
    """A variable with these numbers."""
    return tf.Variable(np.arange(ROWS * COLUMNS, dtype="float32").reshape(ROWS, COLUMNS))


def changed(update: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """A program that changes a variable, and gives it."""

    def program(x: Any, i: Any, v: Any) -> Any:
        update(v, i, x)
        return v.read_value()

    return program


def gradient(x: Any, i: Any) -> Any:
    """Of what an index takes, as a whole array."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.gather(x, i) ** 2.0)
    return tf.convert_to_tensor(tape.gradient(y, x))


KINDS: dict[str, Callable[[Any, Any, Any], Any]] = {  # of an array, four indices, a variable
    "gather": lambda x, i, v: tf.gather(x, i),
    "gather, axis 1": lambda x, i, v: tf.gather(x, i, axis=1),
    "gather and compute": lambda x, i, v: tf.reduce_sum(tf.sin(tf.gather(x, i)) * 2.0),
    "gather, batch": lambda x, i, v: tf.gather(x[:4], i[:, None], batch_dims=1),
    "gather_nd": lambda x, i, v: tf.gather_nd(x, tf.reshape(i, [2, 2])),
    "gather_nd rows": lambda x, i, v: tf.gather_nd(x, i[:, None]),
    "lookup": lambda x, i, v: tf.nn.embedding_lookup(x, i),
    "item": lambda x, i, v: x[i[0]],
    "item, computed": lambda x, i, v: x[2 * i[0] + i[1]],
    "two items": lambda x, i, v: x[i[0], i[1]],
    "slice": lambda x, i, v: x[i[0] : i[1]],
    "slice, steps": lambda x, i, v: x[i[0] : i[1] : 3],
    "slice from": lambda x, i, v: tf.slice(x, i[:2], [2, 2]),
    "slice of size": lambda x, i, v: tf.slice(x, [0, 0], i[:2]),
    "roll": lambda x, i, v: tf.roll(x, i[0], 0),
    "one_hot": lambda x, i, v: tf.one_hot(i, 5) @ x[:5],
    "scatter_nd": lambda x, i, v: tf.scatter_nd(i[:, None], x[:4], [8, COLUMNS]),
    "update": lambda x, i, v: tf.tensor_scatter_nd_update(x, i[:, None], x[:4]),
    "add": lambda x, i, v: tf.tensor_scatter_nd_add(x, tf.reshape(i, [2, 2]), x[0, :2]),
    "segment_sum": lambda x, i, v: tf.math.segment_sum(x[:4], tf.sort(i)),
    "unsorted": lambda x, i, v: tf.math.unsorted_segment_sum(x[:4], i, 8),
    "unsorted max": lambda x, i, v: tf.math.unsorted_segment_max(x[:4], i, 8),
    "bincount": lambda x, i, v: tf.math.bincount(tf.cast(i, tf.int32), maxlength=16),
    "labels": lambda x, i, v: tf.nn.sparse_softmax_cross_entropy_with_logits(i, x[:4]),
    "reverse_sequence": lambda x, i, v: tf.reverse_sequence(x[:4], i, seq_axis=1),
    "boolean_mask": lambda x, i, v: tf.boolean_mask(x, tf.range(ROWS) < tf.cast(i[0], tf.int32)),
    "in_top_k": lambda x, i, v: tf.math.in_top_k(i, x[:4], 3),
    "where": lambda x, i, v: tf.gather(x, tf.where(i > 0, i, 0)),
    "gradient": lambda x, i, v: gradient(x, i),
    "variable, rows": changed(lambda v, i, x: v.scatter_nd_update(i[:, None], x[:4])),
    "variable, sums": changed(lambda v, i, x: v.scatter_nd_add(i[:, None], x[:4])),
    "variable, slices": changed(lambda v, i, x: v.scatter_add(tf.IndexedSlices(x[:4], i))),
    "variable, item": changed(lambda v, i, x: v[i[0]].assign(x[0])),
    "loop": lambda x, i, v: tf.while_loop(
        lambda k, s: k < 4, lambda k, s: (k + 1, s + x[i[k]]), (0, tf.zeros([COLUMNS]))
    )[1],
}


def indices(rng: random.Random) -> np.ndarray:
    """Four indices of int32 or int64."""
    if rng.random() < 0.5:
        return np.array([rng.choice(HOSTILE) for _ in range(4)], np.int32)
    return np.array([rng.choice(HOSTILE + VERY) for _ in range(4)], np.int64)


def run(name: str, executor: str, rounds: int, seed: int) -> str:
    """Run a kind of program so often: what was wrong, or nothing."""
    program, rng = KINDS[name], random.Random(f"{name}{seed}")
    compiled = {kind: tf.function(program) for kind in (np.int32, np.int64)}
    x, v = guarded(), table()
    for _ in range(rounds):
        i = indices(rng)
        before = v.numpy()
        try:
            if executor == "eager":
                found = program(x, tf.constant(i), v)
            else:
                with settings.executor(executor):
                    found = compiled[i.dtype.type](x, tf.constant(i), v)
            tf.nest.map_structure(lambda part: part.numpy(), found)
        except (tf.errors.OpError, ValueError, IndexError, TypeError) as error:
            if isinstance(error, tf.errors.InternalError):
                return f"{i!r}: {error}"
            if not (v.numpy() == before).all():
                return f"{i!r}: the variable was changed, though {error}"
        except Exception as error:
            return f"{i!r}: {type(error).__name__}: {error}"
        v.assign(before)
    return ""


def run_in_child(name: str, executor: str, rounds: int, seed: int) -> str:
    """The same in a forked child; the number of a signal that ended it is wrong, too."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            signal.alarm(120)
            found = run(name, executor, rounds, seed)
        except BaseException as error:
            found = f"{type(error).__name__}: {error}"
        os.write(writing, found.encode(errors="replace")[:2000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, errors="replace") as file:
        found = file.read()
    _, status = os.waitpid(child, 0)
    return f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else found
