"""Tensors of dtype variant with a shape: arrays of lists, in functions, graphs and tables."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
import talweg.compat.v1 as tf1
from talweg.private import list_ops
from talweg.testing.test_case import TestCase


def empty():
    return list_ops.empty_tensor_list(element_shape=[2], element_dtype=tf.float32)


def values_of(lists):
    return [
        list_ops.tensor_list_stack(one, tf.float32).numpy().tolist() for one in tf.unstack(lists)
    ]


def build(x, places):
    """Move lists about as other elements are moved."""
    lists = list_ops.tensor_list_push_back_batch(tf.fill([3], empty()), x)
    lists = list_ops.tensor_list_push_back_batch(lists, 2 * x)
    taken = tf.gather(lists, places)
    chosen = tf.where([True, False, True], lists, tf.reverse(lists, [0]))
    rows = list_ops.tensor_list_from_tensor(x, [2])
    joined = list_ops.tensor_list_concat_lists(lists[2], rows, element_dtype=tf.float32)
    return (
        list_ops.tensor_list_stack(taken[0], tf.float32),
        list_ops.tensor_list_stack(joined, tf.float32),
        tf.raw_ops.TensorListLength(input_handle=chosen[1]),
        tf.size(lists),
        list_ops.tensor_list_stack(tf.stack([lists[0], lists[1]])[1], tf.float32),
    )


@pytest.mark.parametrize("wrapped", [False, True])
def test_lists_are_moved_like_elements(wrapped):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    function = tf.function(build) if wrapped else build
    for _ in range(2):
        taken, joined, length, size, second = function(x, [2, 0])
        np.testing.assert_array_equal(taken, [[5, 6], [10, 12]])
        np.testing.assert_array_equal(joined, [[5, 6], [10, 12], [1, 2], [3, 4], [5, 6]])
        assert (int(length), int(size)) == (2, 3)
        np.testing.assert_array_equal(second, [[3, 4], [6, 8]])


def test_pairs_of_lists_are_joined():
    first = list_ops.tensor_list_push_back_batch(tf.fill([2], empty()), [[1.0, 2.0], [3.0, 4.0]])
    joined = list_ops.tensor_list_concat_lists(first, first, element_dtype=tf.float32)
    assert joined.shape == [2] and joined.dtype is tf.variant
    assert values_of(joined) == [[[1, 2], [1, 2]], [[3, 4], [3, 4]]]
    assert "shape=(2,), dtype=variant" in repr(joined)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot convert a Tensor of dtype"):
        joined.numpy()
    with pytest.raises(tf.errors.InvalidArgumentError, match="zeros_like: input has dtype variant"):
        tf.zeros_like(joined)
    with pytest.raises(tf.errors.InvalidArgumentError):
        list_ops.tensor_list_concat_lists(first, first[:1], element_dtype=tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError):
        list_ops.tensor_list_push_back_batch(first, [[1.0, 2.0]])


def test_an_empty_list_knows_the_shape_of_its_elements():
    none = list_ops.tensor_list_stack(empty(), tf.float32)
    assert none.shape == [0, 2]
    one = list_ops.tensor_list_push_back_batch(tf.fill([1], empty()), [[1.0, 2.0]])[0]
    one = list_ops.tensor_list_concat_lists(empty(), one, element_dtype=tf.float32)
    assert list_ops.tensor_list_stack(one, tf.float32).shape == [1, 2]


def table_of_lists():
    return tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.variant, empty(), empty_key=-1, deleted_key=-2
    )


def add(table, keys, rows):
    keys = tf.constant(keys, tf.int64)
    longer = list_ops.tensor_list_push_back_batch(table.lookup(keys), rows)
    return table.insert_or_assign(keys, longer)


def test_tables_hold_lists():
    table = table_of_lists()
    add(table, [0, 5], [[1.0, 2.0], [3.0, 4.0]])
    tf.function(add)(table, [5, 7], [[5.0, 6.0], [7.0, 8.0]])
    looked_up = table.lookup(tf.constant([5, 9, 7], tf.int64))
    assert values_of(looked_up) == [[[3, 4], [5, 6]], [], [[7, 8]]]
    assert table.lookup(tf.zeros([0], tf.int64)).shape == [0]
    one = table.lookup(tf.constant(0, tf.int64))
    assert one.shape == [] and tf.raw_ops.TensorListLength(input_handle=one).numpy() == 1
    table.insert(tf.constant(0, tf.int64), empty())
    table.erase(tf.constant([7], tf.int64))
    keys, lists = table.export()
    assert dict(zip(keys.numpy().tolist(), values_of(lists))) == {0: [], 5: [[3, 4], [5, 6]]}


def test_tables_of_graphs_hold_lists():
    with tf1.Graph().as_default(), tf1.Session() as session:
        table = table_of_lists()
        step = add(table, [0, 5], [[1.0, 2.0], [3.0, 4.0]])
        looked_up = table.lookup(tf.constant(5, tf.int64))
        stacked = list_ops.tensor_list_stack(looked_up, tf.float32)
        assert session.run(stacked).shape == (0, 2)
        session.run(step)
        session.run(step)
        np.testing.assert_array_equal(session.run(stacked), [[3, 4], [3, 4]])


def test_elements_that_have_no_hash_are_compared():
    case = TestCase()
    case.assertSameElements(np.array([[1], [2]]), [2, 1, 2])
    with pytest.raises(AssertionError):
        case.assertSameElements(np.array([[1], [3]]), [2, 1])
