"""Writes to variables whose value, and whose operands, are views: nothing else changes.

A variable may hold an array that is not row-major, shares its memory with a tensor, or cannot be
written; updates in place need one of its own.
"""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.eager.tensor import wrap
from tests.prims.layouts import LAYOUTS, laid, plain

START = np.arange(12, dtype=np.float32).reshape(4, 3) + 1
ROWS = np.array([3, 0, 3], np.int32)
ONCE = np.array([2, 0], np.int32)
PLACES = np.array([[3, 1], [0, 2]], np.int32)


def slices(values, rows):
    return tf.IndexedSlices(values, rows)


UPDATES = {
    "assign": (lambda v, x: v.assign(x), START * 2),
    "assign_add": (lambda v, x: v.assign_add(x), START * 3),
    "assign_sub": (lambda v, x: v.assign_sub(x), START * 3),
    "slice": (lambda v, x: v[1:3, ::2].assign(x), START[:2, :2] * 5),
    "scatter_update": (lambda v, x, i: v.scatter_update(slices(x, i)), START[:2] * 7, ONCE),
    "scatter_add": (lambda v, x, i: v.scatter_add(slices(x, i)), START[:3] * 7, ROWS),
    "scatter_sub": (lambda v, x, i: v.scatter_sub(slices(x, i)), START[:3] * 7, ROWS),
    "scatter_mul": (lambda v, x, i: v.scatter_mul(slices(x, i)), START[:3], ROWS),
    "scatter_div": (lambda v, x, i: v.scatter_div(slices(x, i)), START[:3], ROWS),
    "scatter_max": (lambda v, x, i: v.scatter_max(slices(x, i)), 9 - START[:3], ROWS),
    "scatter_min": (lambda v, x, i: v.scatter_min(slices(x, i)), START[:3], ROWS),
    "batch_scatter_update": (
        lambda v, x, i: v.batch_scatter_update(slices(x, i)),
        START[:4, :2] * 5,
        np.array([[2, 0], [1, 2], [0, 1], [1, 0]], np.int32),
    ),
    "scatter_nd_add": (lambda v, x, i: v.scatter_nd_add(i, x), START[0, :2], PLACES),
    "scatter_nd_update": (lambda v, x, i: v.scatter_nd_update(i, x), START[0, :2], PLACES),
}


def updated(update, start: np.ndarray, operands: list) -> list:
    """A variable after each of two updates, by arrays as they are."""
    first = wrap(start)
    variable = tf.Variable(first)
    found = []
    for _ in range(2):
        update(variable, *[wrap(x) for x in operands])
        seen = variable.read_value()
        found.append(np.array(seen.numpy()))
    update(variable, *[wrap(x) for x in operands])
    np.testing.assert_array_equal(seen.numpy(), found[-1])  # what was read stays
    return found


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("how", ["eager", "interpret", "llvm"])
def test_updates(how, name):
    update, *operands = UPDATES[name]
    if how != "eager":
        update = tf.function(update, autograph=False)
    for layout in LAYOUTS:
        start = laid(START, layout)
        given = [laid(x, layout) for x in operands]
        if layout.startswith("repeated") and len(given) > 1:
            given[1] = operands[1]  # rows as they are: the same twice has no one answer
        kept = [plain(x) for x in (start, *given)]
        wanted = updated(UPDATES[name][0], kept[0].copy(), [x.copy() for x in kept[1:]])
        with settings.executor("auto" if how == "eager" else how):
            found = updated(update, start, given)
        np.testing.assert_allclose(found, wanted, 1e-6, err_msg=f"{name}, {layout}")
        for before, after in zip(kept, (start, *given)):
            np.testing.assert_array_equal(after, before, f"{name}, {layout}: an operand")


@pytest.mark.parametrize("how", ["eager", "interpret", "llvm", "v1"])
@pytest.mark.parametrize(
    ("places", "size"), [([[0, 3], [1, 2]], 2), ([[0, -1], [1, 2]], 2), ([[0, 1], [1, 2]], 3)]
)
def test_a_batch_of_wrong_rows_is_refused_whole(how, places, size):
    variable = tf.Variable(np.zeros((2, 3), np.float32))
    rows = slices(tf.ones([2, size]), tf.constant(places))

    def update():
        if how == "v1":
            return tf.compat.v1.batch_scatter_update(variable, places, tf.ones([2, size]))
        return variable.batch_scatter_update(rows)

    mode = how if how in ("interpret", "llvm") else "auto"
    with settings.executor(mode), pytest.raises(tf.errors.InvalidArgumentError):
        (update if mode == "auto" else tf.function(update, autograph=False))()
    assert not variable.numpy().any()
