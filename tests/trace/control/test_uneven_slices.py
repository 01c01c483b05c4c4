"""tf.vectorized_map where slices differ in more than their values: the function, slice by slice.

TensorFlow 2.21 refuses most of these; what is wanted is what the function gives for each slice.
"""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf

ROWS = np.array([[1.0, -2.0, -3.0], [4.0, 5.0, -6.0], [-1.0, -1.0, 2.0]])


def positive(row):
    return tf.boolean_mask(row, row > 0.0)


def collected(row):
    """The elements that come before the first one under 0, in an array of as many elements."""
    size = tf.reduce_sum(tf.cast(row > 0.0, tf.int32))
    array = tf.TensorArray(tf.float64, size)
    loop = tf.while_loop(
        lambda i, a: i < size, lambda i, a: (i + 1, a.write(i, row[i] * row[2])), (0, array)
    )
    return tf.reduce_sum(loop[1].stack() ** 2)


def joined(row):
    row = tf.reshape(row, [-1])
    start = (0, row[:0])
    shapes = (tf.TensorShape([]), tf.TensorShape([None]))
    size = tf.cast(tf.round(tf.abs(row[1])), tf.int32)
    found = tf.while_loop(
        lambda i, a: i < size,
        lambda i, a: (i + 1, tf.concat([a, row[:1]], 0)),
        start,
        shape_invariants=shapes,
    )
    return tf.reduce_sum(found[1] ** 3)


def partitioned(row):
    parts = tf.dynamic_partition(row, tf.cast(row > 0.0, tf.int32), 2)
    return tf.reduce_sum(parts[0] ** 2) - tf.reduce_prod(parts[1])


def by_hand(row):
    return sum(row[row <= 0] ** 2) - np.prod(row[row > 0])


def gathered(row):
    return tf.reduce_sum(tf.gather(row, tf.where(row > 0.0)[:, 0]) ** 2)


def chosen(row):
    return row[0] * row[0] if row[1] > 0.0 else -row[0]


FUNCTIONS = {
    "mask": (lambda row: tf.reduce_sum(positive(row) ** 2), lambda r: sum(r[r > 0] ** 2)),
    "partition": (partitioned, by_hand),
    "where": (gathered, lambda r: sum(r[r > 0] ** 2)),
    "array": (collected, lambda r: sum((r[: (r > 0).sum()] * r[2]) ** 2)),
    "growing": (joined, lambda r: round(abs(r[1])) * r[0] ** 3),
    "python if": (chosen, lambda r: r[0] ** 2 if r[1] > 0 else -r[0]),
    "call": (tf.function(partitioned), by_hand),
    "branch": (
        lambda row: tf.cond(row[0] > 0.0, lambda: partitioned(row), lambda: 2.0 * row[2]),
        lambda r: by_hand(r) if r[0] > 0 else 2 * r[2],
    ),
}
WAYS = {
    "eager": lambda f: f,
    "function": tf.function,
    "unknown": lambda f: tf.function(f, input_signature=[tf.TensorSpec([None, None], tf.float64)]),
    "unknown rank": lambda f: tf.function(f, input_signature=[tf.TensorSpec(None, tf.float64)]),
}


def slopes(f, at):
    """The derivative of `f` at each row, by differences."""
    ways = np.eye(len(at[0])) * 1e-6
    return np.array([[(f(r + d) - f(r - d)) / 2e-6 for d in ways] for r in at])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("way", WAYS)
def test_values_and_gradients(name, way):
    f, by_numpy = FUNCTIONS[name]

    def run(rows):
        with tf.GradientTape() as tape:
            tape.watch(rows)
            found = tf.vectorized_map(f, rows)
        return found, tape.gradient(found, rows)

    found, slope = WAYS[way](run)(tf.constant(ROWS))
    np.testing.assert_allclose(found, [by_numpy(row) for row in ROWS])
    np.testing.assert_allclose(slope, slopes(by_numpy, ROWS), 1e-6, 1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("way", ["eager", "function"])
def test_gradients_inside(name, way):
    f, by_numpy = FUNCTIONS[name]

    def slope(row):
        with tf.GradientTape() as tape:
            tape.watch(row)
            y = f(row)
        return tape.gradient(y, row)

    found = WAYS[way](lambda rows: tf.vectorized_map(slope, rows))(tf.constant(ROWS))
    np.testing.assert_allclose(found, slopes(by_numpy, ROWS), 1e-6, 1e-6)


@pytest.mark.parametrize("way", ["eager", "function", "unknown"])
def test_slices_of_a_gradient_are_made_dense(way):
    """As TensorFlow does."""

    def slope(row):
        with tf.GradientTape() as tape:
            tape.watch(row)
            y = tf.reduce_sum(tf.gather(row, [0, 2, 2]) ** 2)
        return tape.gradient(y, row)

    found = WAYS[way](lambda rows: tf.vectorized_map(slope, rows))(tf.constant(ROWS))
    np.testing.assert_allclose(tf.convert_to_tensor(found), 2.0 * ROWS * [1, 0, 2])


@pytest.mark.parametrize("way", ["eager", "function", "unknown"])
def test_batch_jacobian(way):
    def run(rows):
        with tf.GradientTape() as tape:
            tape.watch(rows)
            y = tf.vectorized_map(lambda r: tf.stack([partitioned(r), r[0] * r[1]]), rows)
        return tape.batch_jacobian(y, rows)

    found = WAYS[way](run)(tf.constant(ROWS))
    np.testing.assert_allclose(found[:, 0], slopes(by_hand, ROWS), 1e-6, 1e-6)
    np.testing.assert_allclose(found[:, 1], slopes(lambda r: r[0] * r[1], ROWS), 1e-6, 1e-6)


@pytest.mark.parametrize("way", ["eager", "function"])
def test_forward_mode(way):
    def run(rows):
        with tf.autodiff.ForwardAccumulator(rows, tf.ones_like(rows)) as accumulator:
            y = tf.vectorized_map(partitioned, rows)
        return accumulator.jvp(y)

    found = WAYS[way](run)(tf.constant(ROWS))
    np.testing.assert_allclose(found, slopes(by_hand, ROWS).sum(-1), 1e-6, 1e-6)


@pytest.mark.parametrize("way", ["eager", "function", "unknown"])
def test_a_map_in_a_map(way):
    def inner(row):
        return tf.vectorized_map(lambda x: x * tf.reduce_sum(tf.boolean_mask(row, row > x)), row)

    found = WAYS[way](lambda rows: tf.vectorized_map(inner, rows))(tf.constant(ROWS))
    wanted = [[x * row[row > x].sum() for x in row] for row in ROWS]
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("way", ["eager", "function", "unknown"])
def test_results_of_different_length(way):
    mapped = WAYS[way](lambda rows: tf.vectorized_map(positive, rows))
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        mapped(tf.constant(ROWS))
    even = np.abs(ROWS) * [1, -1, 1]
    np.testing.assert_allclose(mapped(tf.constant(even)), np.abs(ROWS)[:, [0, 2]])
    ragged = WAYS[way](
        lambda rows: tf.vectorized_map(lambda r: tf.RaggedTensor.from_tensor([positive(r)]), rows)
    )
    assert ragged(tf.constant(ROWS)).to_list() == [[[1.0]], [[4.0, 5.0]], [[2.0]]]
    sparse = WAYS[way](
        lambda rows: tf.vectorized_map(lambda r: tf.sparse.from_dense(tf.nn.relu(r)), rows)
    )
    np.testing.assert_allclose(tf.sparse.to_dense(sparse(tf.constant(ROWS))), np.maximum(ROWS, 0.0))


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_composite_elements(wrap):
    ragged = tf.ragged.constant([[1.0, 2.0], [], [3.0]])
    weights = tf.constant([1.0, 10.0, 100.0])

    def weighted(pair):
        row, weight = pair
        return weight + tf.reduce_sum(row * row)

    found = wrap(lambda r: tf.vectorized_map(weighted, (r, weights)))(ragged)
    np.testing.assert_allclose(found, [6.0, 10.0, 109.0])
    deep = tf.ragged.constant([[[1.0], [2.0, 3.0]], [], [[4.0]]])
    assert wrap(lambda r: tf.vectorized_map(lambda x: x * 2.0, r))(deep).to_list() == [
        [[2.0], [4.0, 6.0]],
        [],
        [[8.0]],
    ]
    sparse = tf.sparse.from_dense([[1.0, 0.0], [2.0, 3.0]])
    found = wrap(lambda s: tf.vectorized_map(tf.sparse.reduce_sum, s))(sparse)
    np.testing.assert_allclose(found, [1.0, 5.0])


def test_without_fallback():
    with pytest.raises(ValueError, match="fallback_to_while_loop"):
        tf.vectorized_map(positive, tf.constant(ROWS), fallback_to_while_loop=False)
    with pytest.raises(ValueError, match="fallback_to_while_loop"):
        elements = tf.ragged.constant([[1.0], []])
        tf.vectorized_map(tf.reduce_sum, elements, fallback_to_while_loop=False)


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_effects_happen_once_for_each_slice(wrap):
    total = tf.Variable(0.0, dtype=tf.float64)

    def add(row):
        total.assign_add(tf.reduce_sum(positive(row)))
        return total.read_value()

    found = wrap(lambda rows: tf.vectorized_map(add, rows))(tf.constant(ROWS))
    np.testing.assert_allclose(found, [1.0, 10.0, 12.0])
    assert total.numpy() == 12.0


def test_a_variable_is_not_written_twice():
    total = tf.Variable(0.0)

    def add(row):
        total.assign_add(1.0)
        return tf.reduce_sum(positive(row))

    with pytest.raises(tf.errors.InvalidArgumentError, match="written a variable"):
        tf.vectorized_map(add, tf.constant(ROWS))
    assert total.numpy() == 1.0
    traced = tf.function(lambda rows: tf.vectorized_map(add, rows))
    np.testing.assert_allclose(traced(tf.constant(ROWS)), [1.0, 9.0, 2.0])
    assert total.numpy() == 4.0


@pytest.mark.parametrize("kind", ["uniform", "normal", "truncated_normal"])
def test_random_numbers_are_drawn_together(kind):
    """As TensorFlow does: the numbers are those of one call for all slices."""
    draw = getattr(tf.random, kind)
    tf.random.set_seed(5)
    found = tf.vectorized_map(lambda _: draw([2], seed=3), tf.zeros([3]))
    tf.random.set_seed(5)
    np.testing.assert_array_equal(found, draw([3, 2], seed=3))


def test_random_numbers_for_any_number_of_slices():
    signature = [tf.TensorSpec([None], tf.float32)]

    def mapped(draw):
        return tf.function(lambda x: tf.vectorized_map(draw, x), input_signature=signature)

    generator = tf.random.Generator.from_seed(1)
    for draw in (
        lambda _: tf.random.normal([2]),
        lambda _: tf.random.uniform([2], 0, 1 << 30, tf.int32),
        lambda _: tf.random.shuffle(tf.range(1000)),
        lambda _: generator.uniform([2]),
    ):
        found = mapped(draw)(tf.zeros([3])).numpy()
        assert len({tuple(row) for row in found.tolist()}) == 3


def test_a_generator_draws_for_each_slice():
    generator = tf.random.Generator.from_seed(1)
    found = tf.vectorized_map(lambda _: generator.normal([2]), tf.zeros([3]))
    again = tf.random.Generator.from_seed(1)
    np.testing.assert_array_equal(found, [again.normal([2]) for _ in range(3)])
    np.testing.assert_array_equal(generator.state, again.state)
