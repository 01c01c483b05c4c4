"""Rows at places of unknown number: written in place when a compiled step is over, or never."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.passes.functionalize import program_of

ROWS, WIDTH = 200, 24


def numbers(*dims: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=dims).astype(np.float32)


class Model:
    """Two tables and a matrix, which steps change."""

    def __init__(self) -> None:
        self.table = tf.Variable(numbers(ROWS, WIDTH))
        self.other = tf.Variable(numbers(ROWS, WIDTH, seed=1))
        self.weights = tf.Variable(numbers(WIDTH, WIDTH, seed=2))
        self.variables = [self.table, self.other, self.weights]
        for variable in self.variables:
            variable.assign(variable * 1)

    def values(self) -> list[np.ndarray]:
        return [variable.numpy() for variable in self.variables]


def equal_ids(model, ids, mask):
    with tf.GradientTape() as tape:
        rows = tf.tanh(tf.gather(model.table, ids) @ model.weights)
        loss = tf.reduce_sum(rows * rows)
    found, slope = tape.gradient(loss, [model.table, model.weights])
    places, numbers_ = tf.unique(found.indices)
    sums = tf.math.unsorted_segment_sum(found.values, numbers_, tf.size(places))
    model.table.scatter_sub(tf.IndexedSlices(0.1 * sums, places))
    model.weights.assign_sub(0.01 * slope)
    return loss


def masked(model, ids, mask):
    rows = tf.tanh(tf.gather(model.table, ids) @ model.weights)
    model.table.scatter_add(
        tf.IndexedSlices(tf.boolean_mask(rows, mask), tf.boolean_mask(ids, mask))
    )
    model.other.scatter_update(
        tf.IndexedSlices(tf.boolean_mask(rows, mask), tf.boolean_mask(ids, mask))
    )
    return tf.reduce_sum(rows)


def elements(model, ids, mask):
    rows = tf.tanh(model.weights @ model.weights)
    places = tf.where(tf.abs(rows) > 0.9)
    model.table.scatter_nd_add(places, tf.gather_nd(rows, places))
    return tf.reduce_sum(tf.gather(model.table, ids) * 0 + 1)


def read_afterwards(model, ids, mask):
    rows = tf.tanh(tf.gather(model.table, ids) @ model.weights)
    places = tf.boolean_mask(ids, mask)
    model.table.scatter_sub(tf.IndexedSlices(tf.boolean_mask(rows, mask), places))
    return tf.reduce_sum(tf.gather(model.table, ids) @ model.weights)


def twice(model, ids, mask):
    rows = tf.tanh(tf.gather(model.table, ids) @ model.weights)
    places, part = tf.boolean_mask(ids, mask), tf.boolean_mask(rows, mask)
    model.table.scatter_add(tf.IndexedSlices(part, places))
    model.table.scatter_mul(tf.IndexedSlices(part, places))
    model.other.assign(model.table)
    return tf.reduce_sum(rows)


STEPS = (equal_ids, masked, elements, read_afterwards, twice)
IN_PLACE = (equal_ids, masked, elements)
IDS = np.array([3, 1, 3, 199, 0, 7, 7, 7])
MASK = np.array([True, False, True, True, False, True, True, True])


def made(step, executor="llvm"):
    model = Model()
    function = tf.function(lambda ids, mask: step(model, ids, mask))

    def run(ids=IDS, mask=MASK):
        with settings.executor(executor):
            return function(tf.constant(ids), tf.constant(mask)).numpy()

    run.version = lambda: list(
        program_of(
            function.get_concrete_function(tf.constant(IDS), tf.constant(MASK)).body
        ).tier.versions.values()
    )[0]
    return model, run


def address(variable: tf.Variable) -> int:
    return variable._tensor._array.ctypes.data


def references(variable: tf.Variable) -> list:
    """Who refers to a variable's value, by class: nobody else, and so it is written in place."""
    tensor = variable._tensor
    values = (tensor, tensor._array)
    return [[type(each).__name__ for each in gc.get_referrers(x)] for x in values]


@pytest.mark.parametrize("step", STEPS)
def test_they_are_what_the_interpreter_makes(step):
    model, run = made(step)
    wanted, interpreted = made(step, "interpret")
    for count in (0, 8, 3):
        mask = np.arange(8) < count
        np.testing.assert_allclose(run(mask=mask), interpreted(mask=mask), rtol=2e-4, atol=1e-4)
        for one, other in zip(model.values(), wanted.values(), strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-4)
    assert run.version().hosts is not None


@pytest.mark.parametrize("step", IN_PLACE)
def test_they_are_written_where_they_are(step):
    model, run = made(step)
    run()
    gc.collect()  # what refers to a value and is garbage may make it be copied
    places, found = [address(variable) for variable in model.variables], []
    for _ in range(3):
        holders = [references(variable) for variable in model.variables]
        run()
        found.append(([address(variable) for variable in model.variables], holders))
    assert [here for here, _ in found] == [places] * 3, found


@pytest.mark.parametrize("step", STEPS)
def test_what_somebody_holds_stays(step):
    model, run = made(step)
    run()
    held = [variable.value() for variable in model.variables]
    before = model.values()
    for _ in range(2):
        run()
    assert all(np.array_equal(x, y) for x, y in zip(held, before))
    assert not np.array_equal(model.table, before[0])


@pytest.mark.parametrize("step", [equal_ids, masked])
def test_places_out_of_range_leave_everything(step):
    model, run = made(step)
    run()
    before = model.values()
    for wrong in (200, -1):
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(np.where(np.arange(8) == 3, wrong, IDS))
        assert all(np.array_equal(x, y) for x, y in zip(model.values(), before))


def test_places_that_only_the_update_refuses():
    def step(model, ids, mask):
        rows = tf.tanh(tf.gather(model.table, ids) @ model.weights)
        model.weights.assign(model.weights * 0.5)
        places = tf.boolean_mask(ids + 100, mask)
        model.other.scatter_add(tf.IndexedSlices(tf.boolean_mask(rows, mask), places))
        return tf.reduce_sum(rows)

    model, run = made(step)
    run(IDS % 100)
    before = model.values()
    with pytest.raises(tf.errors.InvalidArgumentError, match="scatter_add"):
        run(IDS)
    assert all(np.array_equal(x, y) for x, y in zip(model.values(), before))


def test_what_fails_later_leaves_everything():
    failing = []

    def check(x):
        if failing:
            raise ValueError("not this time")
        return x

    def step(model, ids, mask):
        loss = masked(model, ids, mask)
        return tf.numpy_function(check, [loss], tf.float32)

    model, run = made(step)
    run()
    before = model.values()
    failing.append(1)
    with pytest.raises(Exception, match="not this time"):
        run()
    assert all(np.array_equal(x, y) for x, y in zip(model.values(), before))
    failing.clear()
    run()
    assert not np.array_equal(model.table, before[0])


def test_what_python_has_seen_meanwhile_stays():
    model, seen = Model(), []

    def look(x):
        seen.append((model.table.value(), model.table.numpy()))
        return x

    def step(ids, mask):
        loss = tf.numpy_function(look, [tf.reduce_sum(tf.gather(model.table, ids))], tf.float32)
        return loss + masked(model, ids, mask)

    function = tf.function(step)
    with settings.executor("llvm"):
        for _ in range(3):
            function(tf.constant(IDS), tf.constant(MASK))
    for held, copy in seen:
        assert np.array_equal(held, copy)
    assert not np.array_equal(seen[0][1], seen[1][1])
