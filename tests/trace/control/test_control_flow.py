"""Branches and loops in graphs: results of all kinds, state, errors that say what to do."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf

F64 = tf.float64


def function(f):
    """`f` as a function, without AutoGraph: only what the API does is tested."""
    return tf.function(f, autograph=False)


def sparse(x):
    return tf.SparseTensor([[0, 1], [1, 0]], tf.stack([x, 2.0 * x]), [2, 2])


# -- results


def test_composites_as_results_of_branches():
    @function
    def run(x):
        other = lambda: tf.SparseTensor([[0, 0]], x[None], [2, 2])  # noqa: E731
        found = tf.cond(x > 0.0, lambda: sparse(x), other)
        slices = tf.cond(
            x > 0.0,
            lambda: tf.IndexedSlices(tf.stack([x, x]), tf.constant([0, 2]), tf.constant([3])),
            lambda: tf.IndexedSlices(x[None], tf.constant([1]), tf.constant([3])),
        )
        return tf.sparse.to_dense(found), tf.convert_to_tensor(slices)

    dense, rows = run(tf.constant(1.0))
    np.testing.assert_array_equal(dense, [[0, 1], [2, 0]])
    np.testing.assert_array_equal(rows, [1, 0, 1])
    dense, rows = run(tf.constant(-1.0))
    np.testing.assert_array_equal(dense, [[-1, 0], [0, 0]])
    np.testing.assert_array_equal(rows, [0, -1, 0])


def test_composites_as_loop_variables():
    @function
    def run(x):
        def body(i, s, slices):
            s = tf.SparseTensor(s.indices, s.values * 2.0, s.dense_shape)
            return (
                i + 1,
                s,
                tf.IndexedSlices(slices.values + 1.0, slices.indices, slices.dense_shape),
            )

        start = tf.IndexedSlices(x[None], tf.constant([1]), tf.constant([3]))
        _, s, slices = tf.while_loop(lambda i, *_: i < 3, body, (0, sparse(x), start))
        return tf.sparse.to_dense(s), tf.convert_to_tensor(slices)

    dense, rows = run(tf.constant(1.0))
    np.testing.assert_array_equal(dense, [[0, 8], [16, 0]])
    np.testing.assert_array_equal(rows, [0, 4, 0])


def test_numbers_strings_and_none_as_results():
    @function
    def run(p):
        return tf.cond(p, lambda: (1, 2.5, "yes", None), lambda: (tf.constant(3), 1.0, "no", None))

    found = run(tf.constant(False))
    assert [x.numpy() for x in found[:3]] == [3, 1.0, b"no"] and found[3] is None
    assert function(lambda x: tf.cond(x, lambda: None, lambda: None))(tf.constant(True)) is None


def test_operations_as_results():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        p = v1.placeholder(tf.bool, [])
        v = v1.get_variable("v", initializer=0.0)
        done = tf.cond(p, lambda: v1.assign(v, 5.0).op, lambda: tf.no_op())
        session.run(v1.global_variables_initializer())
        assert isinstance(done, tf.Operation)
        assert [
            session.run(v) for flag in (False, True) if session.run(done, {p: flag}) is None
        ] == [0.0, 5.0]


def test_nests_as_loop_variables():
    @function
    def run(x):
        def body(state):
            number, (rows,) = state["pair"]
            return [{"i": state["i"] + 1, "pair": (number * 2.0, [rows + number])}]

        start = {"i": tf.constant(0), "pair": (x, [tf.stack([x, x])])}
        return tf.while_loop(lambda state: state["i"] < 4, body, [start])

    (found,) = run(tf.constant(1.0))
    assert int(found["i"]) == 4 and float(found["pair"][0]) == 16.0
    np.testing.assert_array_equal(found["pair"][1][0], [16, 16])


def test_switch_case_and_case():
    @function
    def run(n):
        pairs = [(n < 1, lambda: 10), (n < 2, lambda: 20)]
        return (
            tf.switch_case(n, [lambda: 1, lambda: 2]),
            tf.switch_case(n, {0: lambda: 1, 1: lambda: 2}, default=lambda: 7),
            tf.case(pairs, default=lambda: 30),
            tf.case(pairs[:1]) if n.dtype is tf.int64 else 0,
        )

    for n, wanted in ((0, [1, 1, 10, 0]), (1, [2, 2, 20, 0]), (5, [2, 7, 30, 0])):
        assert [int(x) for x in run(tf.constant(n))] == wanted
    assert int(run(tf.constant(0, tf.int64))[3]) == 10
    with pytest.raises(tf.errors.InvalidArgumentError, match="none of the conditions"):
        run(tf.constant(1, tf.int64))


def test_exclusive_case():
    @function
    def run(x):
        return tf.case([(x < 2.0, lambda: 1), (x > 0.0, lambda: 2)], lambda: 3, exclusive=True)

    assert [int(run(tf.constant(x))) for x in (-1.0, 5.0)] == [1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="exclusive"):
        run(tf.constant(1.0))


def test_maximum_iterations():
    @function
    def run(n):
        count = tf.while_loop(lambda i: i < 100, lambda i: (i + 1,), (0,), maximum_iterations=n)[0]
        none = tf.while_loop(lambda i: True, lambda i: (i + 1,), (0,), maximum_iterations=0)[0]
        return count, none

    assert [int(x) for x in run(tf.constant(7))] == [7, 0]


def test_sizes_that_change():
    @function
    def run(n):
        def body(i, rows):
            return i + 1, tf.concat([rows, [[tf.cast(i, tf.float32), 1.0]]], 0)

        return tf.while_loop(
            lambda i, _: i < n,
            body,
            (0, tf.zeros([1, 2])),
            shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 2])),
        )[1]

    assert run(tf.constant(2)).shape == [3, 2] and run(tf.constant(0)).shape == [1, 2]


def test_gradient_through_sizes_that_change():
    @function
    def run(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            _, rows = tf.while_loop(
                lambda i, _: i < n,
                lambda i, rows: (i + 1, tf.concat([rows, rows[-1:] * x], 0)),
                (0, tf.ones([1], F64)),
                shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
            )
            y = tf.reduce_sum(rows)  # 1 + x + x^2 + ...
        return tape.gradient(y, x)

    assert float(run(tf.constant(2.0, F64), tf.constant(3))) == 1 + 2 * 2 + 3 * 4


# -- state


def test_variables_in_branches_and_loops():
    v = tf.Variable(1.0)

    def first():
        v.assign_add(10.0)
        return v * 2.0

    def second():
        v.assign(5.0)
        return v + 0.0

    @function
    def choose(p):
        return tf.cond(p, first, second), v.read_value()

    @function
    def double(n):
        def body(i, total):
            v.assign(v * 2.0)
            return i + 1, total + v

        return tf.while_loop(lambda i, _: i < n, body, (0, 0.0))[1]

    assert [float(x) for x in choose(tf.constant(True))] == [22.0, 11.0]
    assert [float(x) for x in choose(tf.constant(False))] == [5.0, 5.0]
    assert float(double(tf.constant(3))) == 10 + 20 + 40 and float(v) == 40.0
    assert float(double(tf.constant(0))) == 0 and float(v) == 40.0


def test_a_branch_not_taken_has_no_effect():
    seen = []

    @function
    def run(p):
        call = lambda n: tf.py_function(lambda: seen.append(n) or n, [], tf.int32)  # noqa: E731
        return tf.cond(p, lambda: call(1), lambda: call(2))

    assert int(run(tf.constant(True))) == 1 and int(run(tf.constant(False))) == 2
    assert seen == [1, 2]


# -- functions over the first axis


@pytest.mark.parametrize("shape", [[3, 2], [None, 2], [None, None], None])
def test_maps_of_unknown_sizes(shape):
    @tf.function(input_signature=[tf.TensorSpec(shape, F64)], autograph=False)
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            mapped = tf.map_fn(lambda row: tf.reduce_sum(row) * row, x)
            scanned = tf.scan(lambda a, row: tf.sin(a) * row, x)
            folded = tf.foldl(lambda a, row: a * row + 1.0, x) + tf.foldr(lambda a, r: a - r, x)
            y = tf.reduce_sum(mapped) + tf.reduce_sum(scanned**2) + tf.reduce_sum(folded)
        return mapped, scanned, folded, tape.gradient(y, x)

    x = np.array([[0.5, -1.2], [0.3, 0.8], [1.1, 0.7]])
    found, wanted = run(tf.constant(x)), run.python_function(tf.constant(x))
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_maps_of_nests_and_other_dtypes():
    @function
    def run(a, b):
        return tf.map_fn(
            lambda pair: (pair[0], {"s": tf.cast(pair[1], tf.float32) * pair[0]}),
            (a, b),
            fn_output_signature=(tf.float32, {"s": tf.float32}),
        )

    found = run(tf.constant([1.0, 2.0]), tf.constant([3, 4]))
    np.testing.assert_array_equal(found[1]["s"], [3, 8])


def test_maps_with_ragged_results():
    spec = tf.RaggedTensorSpec([None], tf.int32)
    run = function(lambda n: tf.map_fn(tf.range, n, fn_output_signature=spec))
    assert run(tf.constant([1, 3, 0, 2])).to_list() == [[0], [0, 1, 2], [], [0, 1]]


def test_an_empty_map_knows_its_shape():
    @tf.function(input_signature=[tf.TensorSpec([None, 2], F64)], autograph=False)
    def run(x):
        return tf.map_fn(lambda row: row * 2.0, x)

    assert run(tf.zeros([0, 2], F64)).shape == [0, 2]


# -- errors


def fails(kind, text, call):
    """Building `call(x)` in a function raises the error, with the line it was written on."""

    @function
    def run(x):
        return call(x)

    with pytest.raises(kind, match=text) as caught:
        run(tf.constant(1.0))
    assert "test_control_flow.py" in str(caught.value)


def test_branches_that_differ():
    fails(TypeError, "same dtypes", lambda x: tf.cond(x > 0, lambda: x, lambda: 1))
    fails(TypeError, "structures", lambda x: tf.cond(x > 0, lambda: (x, x), lambda: x))
    fails(ValueError, "None", lambda x: tf.cond(x > 0, lambda: x, lambda: None))
    fails(TypeError, "structures", lambda x: tf.case([(x < 3, lambda: 1)], lambda: (1, 1)))


def test_loops_that_change():
    loop = tf.while_loop
    double = lambda i, a: (i + 1, tf.concat([a, a], 0))  # noqa: E731
    go = lambda i, _: i < 3  # noqa: E731
    fails(TypeError, "dtype", lambda x: loop(lambda i: i < 3, lambda i: (i * 2.0,), (0,)))
    fails(ValueError, "shape_invariants", lambda x: loop(go, double, (0, x[None])))
    fails(ValueError, "structure", lambda x: loop(go, lambda i, a: (i, a, a), (0, x)))
    shapes = (tf.TensorShape([]), tf.TensorShape([3]))
    fails(ValueError, "invariant", lambda x: loop(go, double, (0, x[None]), shapes))


def test_arguments():
    fails(TypeError, "callable", lambda x: tf.cond(x > 0, lambda: x, x))
    fails(TypeError, "Python bool", lambda x: tf.cond(True, lambda: x, lambda: x))
    fails(ValueError, "scalar", lambda x: tf.cond(tf.stack([x, x]) > 0, lambda: x, lambda: x))

    def limit(x):
        most = tf.constant([1])
        return tf.while_loop(lambda i: True, lambda i: (i,), (x,), maximum_iterations=most)

    fails(ValueError, "maximum_iterations", limit)


def test_a_tensor_that_leaks_out_of_a_branch():
    def leak(x):
        kept = []
        tf.cond(x > 0, lambda: kept.append(x * 3.0) or x, lambda: x)
        return kept[0] + 1.0

    with pytest.raises((TypeError, ValueError), match="cond_0"):
        function(leak)(tf.constant(1.0))


def test_a_condition_of_one_element_in_a_function():
    either = tf.function(lambda p: tf.cond(p, lambda: 1, lambda: 2))
    assert int(either(tf.constant([True]))) == 1 and int(either(tf.constant([[False]]))) == 2
    shaped = tf.function(lambda x: tf.constant(x, shape=[2, 2]))
    assert shaped(tf.range(4)).shape == (2, 2)
