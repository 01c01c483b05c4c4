"""`while` and `for` in traced functions."""

import operator

import numpy as np
import pytest

import talweg as tf
from tests.trace.autograph.support import agree


def test_while_with_break_continue_and_return():
    def run(n, stop):
        total, i = 0, 0
        while i < n:
            i += 1
            if i % 3 == 0:
                continue
            if i == stop:
                break
            if total > 50:
                return -total, i
            total += i
        return total, i

    agree(run, (10, 100), (10, 7), (100, 1000), (0, 0))


def test_for_over_everything():
    def run(x, n):
        total = tf.zeros([])
        for row in x:
            total += tf.reduce_sum(row)
        for i in tf.range(n):
            total += tf.cast(i, tf.float32)
        for i, row in enumerate(x):
            total += row[0] * tf.cast(i, tf.float32)
        for a, (b, c) in zip(x, zip(x, x)):
            total += a[0] * b[0] * c[0]
        for y in map(lambda row: row * 2.0, x):
            total += y[1]
        for i in range(2, 8, 3):
            total += float(i)
        return total

    matrix = np.float32([[1, 2], [3, 4], [5, 6]])
    agree(run, (tf.constant(matrix), 4))
    signature = [tf.TensorSpec([None, 2]), tf.TensorSpec([], tf.int32)]
    agree(run, (tf.constant(matrix), 4), (tf.constant(matrix[:0]), 0), signature=signature)


def test_zip_with_a_python_list():
    def run(x):
        total = 0.0
        for value, weight in zip(x, [1.0, 10.0, 100.0]):
            total += value * weight
        return total

    agree(run, [1.0, 2.0])
    agree(run, [1.0, 2.0], [3.0], signature=[tf.TensorSpec([None])])


def test_ragged_rows():
    @tf.function
    def run(x):
        total = tf.zeros([], tf.int32)
        for row in x:
            total = total * 10 + tf.reduce_sum(row)
        return total

    assert int(run(tf.ragged.constant([[1, 2], [], [4]]))) == 304


def test_none_is_none_in_the_first_iteration_only():
    def run(x):
        best = None
        for v in x:
            if best is None:
                best = v
            elif v > best:
                best = v * 1.0
        return best

    agree(run, [-5.0, -3.0, -4.0], [2.0])


def test_python_loops_that_end_by_a_tensor():
    def broken(x):
        total = tf.constant(0)
        for i in range(5):
            if total > x:
                break
            total += i
        return total, i

    def returned(x):
        for i in range(5):
            if x == i:
                return x * 10
        return tf.constant(-1)

    def forever(n):
        i = tf.constant(0)
        while True:
            if i * i >= n:
                return i
            i += 1

    agree(lambda x: broken(x)[0], 2, 200)
    agree(returned, 0, 2, 7)
    agree(forever, 0, 10)


def test_else_of_loops():
    def run(x):
        result = -1
        for v in x:
            if v < 0:
                result = v
                break
        else:
            result = 100
        return result

    agree(run, [1, -2, 3], [1, 2])


def test_names_that_the_loop_defines():
    def run(n):
        for i in tf.range(n):
            square = i * i
            pair = (i, [square])
        return square, pair, i

    agree(run, 4, 1)


def test_nests_and_objects_are_carried():
    class Box:
        pass

    def run(n):
        box, table, state = Box(), {"sum": tf.constant(0), "name": "x"}, (tf.constant(1), [0])
        box.best = tf.constant(-1)
        for i in tf.range(n):
            table["sum"] = table["sum"] + i
            state = (state[0] * 2, [state[1][0] + i])
            if i % 2 == 0:
                box.best = i
        return table["sum"], state, box.best

    agree(run, 5, 0)


def test_lists_that_grow():
    def run(n):
        items = []
        for i in tf.range(n):
            items.append(i * 2)
        first = items[0]
        for item in items:
            first += item
        return tf.stack(items), len(items), first, items[-1]

    @tf.function
    def mixed(n):
        items = []
        for i in tf.range(n):
            items.append((i, i))
        return tf.stack(items)

    agree(run, 3, 5)
    with pytest.raises(TypeError, match="appends"):
        mixed(tf.constant(2))


def test_lists_that_are_added_to():
    def run(n):
        items, more = [], [tf.constant(-1)]
        for i in tf.range(n):
            items = items + [i, i * i]
            more += [i]
        return tf.stack(items), tf.stack(more), len(more)

    agree(run, 3, 5)


@pytest.mark.parametrize(
    "change",
    [
        lambda items, i: [i, *items],
        lambda items, i: operator.add([i], items),
        lambda items, i: items * 2,
    ],
)
def test_lists_that_change_otherwise_are_refused(change):
    """With what may be done, in place of the name of a class that nobody knows."""

    @tf.function
    def run(n):
        items = [tf.constant(1)]
        for i in tf.range(n):
            items = change(items, i)
        return tf.stack(items)

    with pytest.raises(TypeError, match="list|items") as caught:
        run(tf.constant(2))
    assert "Appended" not in str(caught.value)


def test_shapes_that_change():
    @tf.function
    def without(n):
        rows = tf.zeros([1])
        for _ in tf.range(n):
            rows = tf.concat([rows, rows], axis=0)
        return rows

    @tf.function
    def given(n):
        rows = tf.zeros([1])
        while n > 0:
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(rows, tf.TensorShape([None]))]
            )
            rows, n = tf.concat([rows, rows], axis=0), n - 1
        return rows

    with pytest.raises(ValueError, match=r"'rows' has shape \(1,\) before the loop"):
        without(tf.constant(3))
    assert given(tf.constant(3)).shape == [8]


def test_unknown_shapes_may_change():
    def run(x):
        for _ in tf.range(3):
            x = tf.concat([x, x[:1]], axis=0)
        return x

    agree(run, [1.0, 2.0], signature=[tf.TensorSpec([None])])


def test_errors_name_the_variable():
    @tf.function
    def dtype(n):
        total = 0
        for i in tf.range(n):
            total = tf.cast(i, tf.float32)
        return total

    @tf.function
    def form(n):
        value = tf.zeros([1])
        for _ in tf.range(n):
            value = (value, value)
        return value

    @tf.function
    def thing(n):
        unit = object()
        for _ in tf.range(n):
            unit = object()
        return n, unit is None

    for function, kind, text in (
        (dtype, TypeError, "'total' has dtype int32 before the loop, but dtype float32"),
        (form, TypeError, "'value' must have the same nested structure"),
        (thing, TypeError, "'unit' is a Python object that the loop changes"),
    ):
        with pytest.raises(kind, match=text) as caught:
            function(tf.constant(1))
        assert "test_loops.py" in str(caught.value)


def test_maximum_iterations():
    @tf.function
    def run(n):
        total, left = 0, n
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(maximum_iterations=5)
            total += i
        while left > 0:
            tf.autograph.experimental.set_loop_options(maximum_iterations=tf.constant(2))
            left -= 1
        return total, left

    assert [int(t) for t in run(tf.constant(100))] == [10, 98]
    assert [int(t) for t in run(tf.constant(1))] == [0, 0]


def test_nested_loops_and_tensor_arrays():
    def run(n):
        rows = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        for i in tf.range(n):
            total = 0
            for j in tf.range(i + 1):
                if j == 2:
                    continue
                total += j
            rows = rows.write(i, total)
        return rows.stack()

    agree(run, 1, 5)


def test_variables_in_loops():
    count = tf.Variable(0)

    @tf.function
    def run(n):
        while count < n:
            count.assign_add(2)
            if count > 6:
                break
        return count.read_value()

    assert int(run(tf.constant(3))) == 4
    assert int(run(tf.constant(100))) == 8


def test_gradients_through_loops():
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.zeros([])
            for value in x:
                if value > 1.0:
                    y += value * value
                else:
                    y -= value
                if y > 30.0:
                    break
        return tape.gradient(y, x)

    agree(slope, [0.5, 2.0, 3.0], [5.0, 4.0, 9.0])
