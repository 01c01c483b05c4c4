"""What a graph cannot tell of ranks and sizes is left to the run, derivatives included."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

v1 = tf.compat.v1
ONES = np.ones([3, 2], np.float32)
LU = 2 * np.eye(3, dtype=np.float32)
IMAGE = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
NO = [[0, 0], [0, 0]]


def _squares(y):
    return tf.add_n([tf.reduce_sum(part * part) for part in tf.nest.flatten(y)])


def _halves(x, sizes):
    first, second = tf.split(x, sizes, num=2)
    return [first, 3.0 * second]


# a function, and what it is given: every placeholder is of unknown rank
CALLS = {
    "space_to_batch": (lambda p: tf.space_to_batch(IMAGE, [2, 2], p), [NO]),
    "space_to_batch of unknown": (lambda x, p: tf.space_to_batch(x, [2, 2], p), [IMAGE, NO]),
    "batch_to_space": (lambda p: tf.batch_to_space(IMAGE.reshape(4, 2, 2, 1), [2, 2], p), [NO]),
    "split": (lambda p: tf.split(tf.range(6), p, num=2), [[2, 4]]),
    "split of unknown": (_halves, [np.arange(6, dtype=np.float32), [2, 4]]),
    "unstack": (lambda x: tf.unstack(x, num=3), [ONES]),
    "set_diag": (tf.linalg.set_diag, [LU, np.ones(3, np.float32)]),
    "lu_matrix_inverse": (tf.linalg.lu_matrix_inverse, [LU, [0, 1, 2]]),
    "lu_reconstruct": (tf.linalg.lu_reconstruct, [LU, [0, 1, 2]]),
    "lu_solve": (tf.linalg.lu_solve, [LU, [0, 1, 2], ONES]),
    "pad": (tf.pad, [np.ones([2, 2, 2], np.float32), [[0, 0], [1, 1], [0, 2]]]),
    "top_k": (lambda x, k: tf.math.top_k(x, k)[0], [np.array([1, 3, 2], np.float32), 2]),
    "scatter_nd": (tf.scatter_nd, [[[0], [1]], np.array([1, 2], np.float32), [4]]),
    "reverse_sequence": (lambda x, n: tf.reverse_sequence(x, n, 1), [ONES, [1, 2, 2]]),
    "gather": (lambda x, i: tf.gather(x, i), [ONES, [0, 2, 0]]),
    "ragged": (lambda x, n: tf.RaggedTensor.from_row_lengths(x, n).to_tensor(), [ONES, [1, 2]]),
    "squared error": (v1.losses.mean_squared_error, [ONES, 0 * ONES, np.ones([3, 1], np.float32)]),
    "pairs": (v1.losses.mean_pairwise_squared_error, [ONES, LU[:, :2]]),
    "softmax": (lambda x, y: v1.losses.softmax_cross_entropy(x, y, label_smoothing=0.1), [LU, LU]),
    "sparse softmax": (
        v1.losses.sparse_softmax_cross_entropy,
        [[0, 1, 2], LU, np.array([1, 0, 1], np.float32)],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_placeholders_of_unknown_rank(name):
    function, values = CALLS[name]
    values = [np.asarray(x, None if isinstance(x, np.ndarray) else np.int32) for x in values]
    with tf.GradientTape() as tape:
        given = [tf.constant(x) for x in values]
        tape.watch(given)
        wanted = function(*given)
        total = _squares(wanted)
    floats = [x for x in given if x.dtype.is_floating]
    slopes = [
        np.zeros(x.shape) if g is None else tf.convert_to_tensor(g).numpy()
        for g, x in zip(tape.gradient(total, floats), floats)
    ]
    wanted = [part.numpy() for part in tf.nest.flatten(wanted)]
    with tf.Graph().as_default(), v1.Session() as session:
        held = [v1.placeholder(x.dtype) for x in values]
        found = function(*held)
        asked = [x for x in held if x.dtype.is_floating]
        gradients = tf.gradients(_squares(found), asked) if asked else []
        gradients = [
            tf.zeros_like(x) if g is None else tf.convert_to_tensor(g)
            for g, x in zip(gradients, asked)
        ]
        fed = dict(zip(held, values))
        got = session.run([*tf.nest.flatten(found), *gradients], fed)
        for one, expected in zip(got, [*wanted, *slopes], strict=True):
            np.testing.assert_allclose(one, expected, rtol=1e-5, atol=1e-6)


def test_ranks_that_a_trial_cannot_tell_are_not_claimed():
    with tf.Graph().as_default():
        x, p = v1.placeholder(tf.float32), v1.placeholder(tf.int32)
        assert tf.pad(x, p).shape.rank is None
        assert tf.space_to_batch(x, [2, 2], p).shape.rank is None


@pytest.mark.parametrize("known", [True, False])
def test_gradients_of_a_gather_in_a_function_of_unknown_shapes(known):
    signature = [tf.TensorSpec(None, tf.float64), tf.TensorSpec(None, tf.int32)]
    with tf.Graph().as_default(), v1.Session() as session:
        rows = tf.function(lambda p, i: tf.gather(p, i, axis=0), input_signature=signature)
        x = tf.constant(np.ones([3, 2])) if known else v1.placeholder(tf.float64)
        slopes = tf.gradients(rows(x, [0, 2, 0]), x)[0]
        found = session.run(tf.convert_to_tensor(slopes), {} if known else {x: np.ones([3, 2])})
        np.testing.assert_array_equal(found, [[2, 2], [0, 0], [1, 1]])


@pytest.mark.parametrize("name", ["momentum", "adagrad", "adam"])
def test_optimizers_update_rows_of_unknown_number(name):
    found = []
    for dims in (None, [3]):
        with tf.Graph().as_default(), v1.Session() as session:
            table = v1.Variable(tf.ones([4, 2]))
            ids = v1.placeholder(tf.int32, dims)
            optimizer = {
                "momentum": lambda: v1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
                "adagrad": lambda: v1.train.AdagradOptimizer(0.1),
                "adam": lambda: v1.train.AdamOptimizer(0.1),
            }[name]()
            step = optimizer.minimize(tf.reduce_sum(tf.gather(table, ids) ** 2))
            session.run(v1.global_variables_initializer())
            session.run(step, {ids: [0, 2, 0]})
            found.append(session.run(table))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
    assert np.all(found[0][[1, 3]] == 1) and np.all(found[0][[0, 2]] < 1)


BY_A_NUMBER = {
    "resize": lambda s: tf.image.resize(IMAGE, [s, 2]),
    "resize, a vector": lambda s: tf.image.resize(IMAGE, tf.stack([s, s + 1])),
    "pad_to_bounding_box": lambda s: tf.image.pad_to_bounding_box(IMAGE, s - 1, 0, 6, 4),
    "crop_to_bounding_box": lambda s: tf.image.crop_to_bounding_box(IMAGE, s - 1, 0, s, s),
    "categorical": lambda s: tf.random.categorical([[1.0, -90.0]], s),
    "stateless_categorical": lambda s: tf.random.stateless_categorical([[1.0, 2.0]], s, [1, 2]),
    "substr": lambda s: tf.strings.substr(["hello"], 0, s),
    "scan": lambda s: tf.scan(lambda a, b: a + b, tf.range(s)),
    "frame": lambda s: tf.signal.frame(tf.range(16.0), s, s),
    "rfft": lambda s: tf.signal.rfft(tf.range(16.0), [s * 4]),
    "top_k": lambda s: tf.math.top_k(tf.range(4.0), s),
    "diag": lambda s: tf.linalg.diag(tf.range(2.0), k=s),
    "roll": lambda s: tf.roll(tf.range(12.0), s, 0),
    "axis": lambda s: tf.reduce_sum(tf.ones([2, 3, 4]), s),
    "ragged": lambda s: tf.ragged.range([s, 3]).to_tensor(),
    "sparse": lambda s: tf.sparse.to_dense(tf.sparse.eye(s)),
}


@pytest.mark.parametrize("executor", ["interpreter", "llvm"])
@pytest.mark.parametrize("name", BY_A_NUMBER)
def test_functions_of_sizes_that_are_values(name, executor):
    function = BY_A_NUMBER[name]
    with settings.executor(executor):
        traced = tf.function(function, input_signature=[tf.TensorSpec([], tf.int32)])
        pairs = zip(
            tf.nest.flatten(traced(tf.constant(2))), tf.nest.flatten(function(tf.constant(2)))
        )
        for found, wanted in pairs:
            np.testing.assert_array_equal(found, wanted)


def test_what_users_do_with_tensors_as_numbers_is_still_an_error():
    for use, kind in (
        (lambda x: tf.zeros([int(x)]), TypeError),
        (lambda x: tf.zeros(x.numpy()), AttributeError),
        (lambda x: tf.zeros(np.asarray(x)), NotImplementedError),
        (lambda x: tf.map_fn(lambda y: tf.zeros([int(x)]), tf.range(3.0)), TypeError),
    ):
        with pytest.raises(kind):
            tf.function(use, [tf.TensorSpec([], tf.int32)], autograph=False)(tf.constant(2))


def test_sizes_of_results_that_are_values_of_arguments():
    @tf.function
    def filled(n):
        return tf.fill(tf.stack([5, n]), 1.0)

    for outer, given, shape in (
        (lambda: filled(4), (), (5, 4)),
        (lambda: filled(tf.constant(4)), (), (5, 4)),
        (lambda x: filled(tf.shape(x)[0]), (tf.TensorSpec([7]),), (5, 7)),
        (lambda x: filled(tf.shape(x)[0]), (tf.TensorSpec([None]),), (5, None)),
    ):
        found = tf.function(outer).get_concrete_function(*given).output_shapes
        assert found.as_list() == list(shape)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.function(lambda: filled(tf.constant(-1)))()
