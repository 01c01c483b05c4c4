"""Control flow: what the recorded cases leave out."""

import numpy as np
import pytest

import talweg as tf

F64 = tf.float64


def test_cond_wants_functions_and_a_scalar():
    for arguments in ((True,), (True, lambda: 1), (True, 1, lambda: 2)):
        with pytest.raises(TypeError, match="must be callable"):
            tf.cond(*arguments)
    with pytest.raises(ValueError, match="pred"):
        tf.cond(tf.constant([True, False]), lambda: 1, lambda: 2)


def test_case_without_a_true_condition():
    with pytest.raises(tf.errors.InvalidArgumentError, match="none of the conditions"):
        tf.case([(tf.constant(False), lambda: 1)])


def test_switch_case_out_of_range_takes_the_last():
    branches = [lambda: "zero", lambda: "one"]
    assert tf.switch_case(tf.constant(-1), branches) == "one"
    assert tf.switch_case(tf.constant(9), branches, default=lambda: "other") == "other"
    with pytest.raises(ValueError, match="keys"):
        tf.switch_case(tf.constant(0), {0: branches[0], 5: branches[1]})


def test_while_loop_keeps_structure():
    found = tf.while_loop(
        lambda i, s: i < 3, lambda i, s: (i + 1, {"a": s["a"] * 2}), (0, {"a": tf.constant(1)})
    )
    assert int(found[0]) == 3 and int(found[1]["a"]) == 8
    with pytest.raises(ValueError, match="structure"):
        tf.while_loop(lambda i: i < 3, lambda i: [i + 1, 1], [0])
    with pytest.raises(TypeError, match="body returned"):
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tf.map_fn(lambda row: tf.reduce_sum(row * row) * row, x),
        lambda x: tf.scan(lambda a, row: tf.sin(a) * row, x),
        lambda x: tf.scan(lambda a, row: tf.sin(a) * row, x, reverse=True),
        lambda x: tf.foldl(lambda a, row: a * row + tf.sin(a), x),
        lambda x: tf.foldr(lambda a, row: a * row + tf.sin(a), x),
        lambda x: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), (0, x))[1],
    ],
)
def test_exact_gradients(call):
    x = tf.constant([[0.5, -1.2], [0.3, 0.8], [1.1, 0.7]], F64)
    exact, estimated = tf.test.compute_gradient(call, [x], delta=1e-5)
    np.testing.assert_allclose(exact[0], estimated[0], rtol=1e-6, atol=1e-8)

    def inner(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.sin(call(x)))
        return tape.gradient(y, x)

    exact, estimated = tf.test.compute_gradient(inner, [x], delta=1e-5)
    np.testing.assert_allclose(exact[0], estimated[0], rtol=1e-6, atol=1e-7)


def test_forward_mode_through_scan():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.0, 0.0])) as forward:
        y = tf.scan(lambda a, v: a * v, x)
    np.testing.assert_allclose(forward.jvp(y), [1.0, 2.0, 6.0])


def test_map_fn_errors():
    with pytest.raises(tf.errors.InvalidArgumentError, match="dtype"):
        tf.map_fn(lambda n: tf.cast(n, tf.float32), tf.constant([1, 2]))
    with pytest.raises(ValueError, match="shape"):
        tf.map_fn(lambda n: tf.range(n), tf.constant([1, 2]))
    with pytest.raises(ValueError, match="first dimensions"):
        tf.map_fn(lambda x: x, (tf.constant([1, 2]), tf.constant([1, 2, 3])))
    with pytest.raises(ValueError, match="scalar"):
        tf.map_fn(lambda x: x, 3)


def test_nothing_to_fold():
    for fold in (tf.foldl, tf.foldr, tf.scan):
        with pytest.raises(tf.errors.OutOfRangeError, match="empty"):
            fold(lambda a, x: a + x, tf.zeros([0]))
        fold(lambda a, x: a + x, tf.zeros([0]), initializer=1.0)


def test_fold_passes_the_initializer_as_it_is():
    assert float(tf.foldl(lambda a, x: a + x, tf.constant([1.0, 2.0]), initializer=1)) == 4.0


def test_map_fn_over_ragged_and_sparse_tensors_and_inside_a_batch():
    ragged = tf.ragged.constant([[1], [2, 3]])
    assert tf.map_fn(lambda row: row * 2, ragged).to_list() == [[2], [4, 6]]
    sparse = tf.sparse.from_dense([[1, 0], [0, 2]])
    dense = tf.map_fn(tf.sparse.to_dense, sparse, fn_output_signature=tf.int32)
    assert dense.numpy().tolist() == [[1, 0], [0, 2]]
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    sums = tf.vectorized_map(lambda row: tf.scan(lambda a, v: a + v, row), x)
    assert sums.numpy().tolist() == [[1.0, 3.0], [3.0, 7.0]]


@pytest.mark.parametrize(
    "value",
    [[True, False], [], (), {"a": 1}, object(), [1, "a"], [[1], [2, 3]]],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_scalar_is_no_predicate(value):
    """Python's own truth of a list or an object says nothing here, as in TensorFlow."""
    with pytest.raises(ValueError):
        tf.cond(value, lambda: 1, lambda: 2)


def test_a_list_of_one_is_a_predicate():
    assert [tf.cond(value, lambda: 1, lambda: 2) for value in ([True], [[0.0]], "a", "")] == [
        1,
        2,
        1,
        2,
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.sparse.from_dense([1, 0, 2]),
        lambda: tf.ragged.constant([[1], [2, 3]]),
        lambda: [1, None],
    ],
    ids=["sparse", "ragged", "list with None"],
)
def test_values_that_are_no_tensors(make):
    """ValueError, but TypeError in a graph, as in TensorFlow; None alone is ValueError in both."""
    with pytest.raises(ValueError):
        tf.convert_to_tensor(make())
    with pytest.raises(TypeError):
        tf.function(lambda: tf.convert_to_tensor(make()))()
    with pytest.raises(ValueError):
        tf.function(lambda: tf.convert_to_tensor(None))()
