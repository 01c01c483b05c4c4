"""Variables are updated by values whose size is known when the function runs, as in TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

MASKS = {3: [True, True, False, True], 4: [True] * 4, 1: [True] + [False] * 3, 0: [False] * 4}


@pytest.fixture(autouse=True, params=["interpret", "llvm"])
def executor(request):
    with settings.executor(request.param):
        yield


def masked(count: int) -> tuple:
    return tf.constant([1.0, 2, 3, 4]), tf.constant(MASKS[count])


@pytest.mark.parametrize("name", ["assign", "assign_add", "assign_sub"])
def test_equal_sizes_go_and_others_are_refused(name):
    variable = tf.Variable([10.0, 20, 30])

    @tf.function
    def update(x, mask):
        getattr(variable, name)(tf.boolean_mask(x, mask))
        return variable + 0

    wanted = {"assign": [1.0, 2, 4], "assign_add": [11.0, 22, 34], "assign_sub": [9.0, 18, 26]}
    assert update(*masked(3)).numpy().tolist() == wanted[name]
    for count in (4, 1, 0):
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"(shape|value) \[{count}\]"):
            update(*masked(count))
        assert variable.numpy().tolist() == wanted[name]


def test_sizes_that_a_number_says():
    variable = tf.Variable(tf.ones([3]))

    @tf.function
    def update(x, count):
        variable.assign_add(x[:count])

    update(tf.ones([5]), tf.constant(3))
    with pytest.raises(tf.errors.InvalidArgumentError, match="assign_add"):
        update(tf.ones([5]), tf.constant(2))
    assert variable.numpy().tolist() == [2.0] * 3


def test_a_variable_of_unknown_size():
    variable = tf.Variable([1.0, 2, 3], shape=[None])

    @tf.function
    def update(x, mask):
        variable.assign(tf.boolean_mask(x, mask))
        variable.assign_add(tf.boolean_mask(x, mask))
        return variable + 0

    for count in (3, 1, 0, 4):
        wanted = 2 * np.array([1.0, 2, 3, 4])[MASKS[count]]
        assert update(*masked(count)).numpy().tolist() == wanted.tolist()


def test_in_branches_and_loops():
    variable = tf.Variable(tf.zeros([3]))

    @tf.function
    def update(x, mask, times):
        for _ in tf.range(times):
            if times > 1:
                variable.assign_add(tf.boolean_mask(x, mask))
        return tf.reduce_sum(variable)

    assert update(*masked(3), tf.constant(3)).numpy() == 21.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="equal shapes"):
        update(*masked(1), tf.constant(2))
    assert update(*masked(1), tf.constant(1)).numpy() == 21.0


@pytest.mark.parametrize("name", ["scatter_add", "scatter_update", "scatter_max", "scatter_sub"])
def test_rows_and_places_of_different_number(name):
    table = tf.Variable(np.arange(8.0).reshape(4, 2))

    @tf.function
    def update(rows, places, mask):
        places = tf.boolean_mask(places, mask)
        getattr(table, name)(tf.IndexedSlices(rows, places))

    rows, places = tf.ones([3, 2], tf.float64), tf.constant([0, 1, 2])
    update(rows, places, tf.constant([True] * 3))
    before = table.numpy()
    with pytest.raises(tf.errors.InvalidArgumentError, match="indices.shape"):
        update(rows, places, tf.constant([True, False, True]))
    assert np.array_equal(table, before)
