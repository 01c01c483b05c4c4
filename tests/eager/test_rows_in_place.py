"""Rows of variables are changed in place where nobody can see it, and only there."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

ROWS, WIDTH = 300, 40
KINDS = ("scatter_add", "scatter_sub", "scatter_mul", "scatter_max", "scatter_update")


def slices(count: int = 70, seed: int = 0) -> tf.IndexedSlices:
    random = np.random.default_rng(seed)
    rows = random.permutation(ROWS)[:count]
    return tf.IndexedSlices(random.normal(size=(count, WIDTH)).astype(np.float32), rows)


def table() -> tf.Variable:
    start = np.random.default_rng(9).normal(size=(ROWS, WIDTH)).astype(np.float32)
    variable = tf.Variable(start)
    variable.assign(variable * 1)
    return variable


def address(variable: tf.Variable) -> int:
    return variable._tensor._array.ctypes.data


def eagerly(variable, kind, given):
    getattr(variable, kind)(given)


def in_a_function(variable, kind, given):
    @tf.function
    def update(rows, places):
        getattr(variable, kind)(tf.IndexedSlices(rows, places))

    with settings.executor("interpret"):
        update(tf.constant(given.values), tf.constant(given.indices))


WAYS = (eagerly, in_a_function)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_nobody_else_looks(kind, way):
    variable = table()
    way(variable, kind, slices())  # from here on the memory is the variable's own
    place, before = address(variable), variable.numpy()
    way(variable, kind, slices(seed=1))
    assert address(variable) == place
    wanted = tf.Variable(before)
    held = wanted.value()
    way(wanted, kind, slices(seed=1))
    assert np.array_equal(variable, wanted)
    assert np.array_equal(held, before)


def reads(variable):
    return variable.value()


def views(variable):
    return np.asarray(variable._tensor)[3:5]


def buffers(variable):
    return memoryview(variable._tensor._array)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("held", [reads, views, buffers])
def test_what_somebody_holds_stays(held, way):
    variable = table()
    way(variable, "scatter_add", slices())
    kept = held(variable)
    before = np.array(kept)
    for seed in range(3):
        way(variable, "scatter_sub", slices(seed=seed))
    assert np.array_equal(np.array(kept), before)


def test_a_users_array_is_never_changed():
    given = np.ones((ROWS, WIDTH), np.float32)
    variable = tf.Variable(given)
    variable.scatter_add(slices())
    other = tf.constant(given)
    variable.assign(other)
    variable.scatter_add(slices())
    assert (given == 1).all()
    assert (other.numpy() == 1).all()
    copy = variable.numpy()
    before = copy.copy()
    variable.scatter_add(slices())
    assert np.array_equal(copy, before)


def test_a_tape_has_what_was_read():
    variable = table()
    variable.scatter_add(slices())
    start = variable.numpy()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(variable))
        variable.scatter_add(slices(seed=1))
    np.testing.assert_allclose(tape.gradient(loss, variable), 2 * start, rtol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_failures_leave_everything(way):
    variable = table()
    way(variable, "scatter_add", slices())
    before = variable.numpy()
    for wrong in (
        tf.IndexedSlices(np.ones((2, WIDTH), np.float32), np.array([1, ROWS])),
        tf.IndexedSlices(np.ones((2, WIDTH), np.float32), np.array([1, -1])),
        tf.IndexedSlices(np.ones((3, WIDTH), np.float32), np.array([1, 2])),
    ):
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
            way(variable, "scatter_sub", wrong)
        assert np.array_equal(variable, before)


@pytest.mark.parametrize("kind", ["add", "sub", "update", "max", "min"])
def test_elements(kind):
    variable = tf.Variable(np.arange(24.0).reshape(6, 4))
    places, values = [[0, 1], [5, 3], [0, 1]], [100.0, -7.0, 100.0]
    variable.assign(variable * 1)
    held = variable.value()
    before = held.numpy()
    wanted = getattr(tf, f"tensor_scatter_nd_{kind}")(before, places, values)
    getattr(variable, f"scatter_nd_{kind}")(places, values)
    assert np.array_equal(variable, wanted)
    assert np.array_equal(held, before)
    place = address(variable)
    getattr(variable, f"scatter_nd_{kind}")(places, values)
    assert address(variable) == place
    before = variable.numpy()
    with pytest.raises(tf.errors.InvalidArgumentError):
        getattr(variable, f"scatter_nd_{kind}")([[0, 1], [6, 0]], [1.0, 1.0])
    assert np.array_equal(variable, before)


def test_several_updates_in_one_function_and_in_a_loop():
    variable, other = table(), table()

    @tf.function
    def update(rows, places, times):
        before = variable + 0
        for _ in tf.range(times):
            variable.scatter_add(tf.IndexedSlices(rows, places))
            other.assign(variable)
            variable.scatter_sub(tf.IndexedSlices(2 * rows, places))
        return before, other + 0, variable + 0

    given = slices()
    rows, places = tf.constant(given.values), tf.constant(given.indices)
    found = {}
    for executor in ("interpret", "llvm"):
        variable.assign(tf.ones_like(variable))
        with settings.executor(executor):
            found[executor] = [x.numpy() for x in update(rows, places, tf.constant(3))]
            found[executor] += [variable.numpy(), other.numpy()]
    for one, two in zip(found["interpret"], found["llvm"], strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)
    assert (found["interpret"][0] == 1).all()
    wanted = np.ones((ROWS, WIDTH))
    wanted[given.indices] -= 3 * given.values
    np.testing.assert_allclose(found["interpret"][2], wanted, rtol=1e-5, atol=1e-5)
