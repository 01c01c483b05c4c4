"""Sizes that are made of values cost what was written, however many values there are.

What is counted: the atoms of all sizes in a graph, written out as trees, and the length of the text
of the program.  Counts are the same on every machine, which times are not.
"""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.core.dim_walks import atoms_of, evaluate, functions_in, substitute
from talweg.core.dims import HEAVY, Dim, largest, of_atom, weight
from talweg.graph.contents import element
from talweg.passes.fingerprint import UnprintableError, text_of
from talweg.passes.functionalize import program_of

MANY = 100_000


def _ids(count):
    return np.sort(np.arange(count) * 5 // count).astype(np.int32)


OF_VALUES = {
    "sequence_mask": lambda i: tf.sequence_mask(i),
    "zeros": lambda i: tf.zeros([tf.reduce_max(i) + 1]),
    "fill": lambda i: tf.fill([tf.reduce_max(i) + 1, 2], 3.0),
    "eye": lambda i: tf.eye(tf.reduce_max(i) + 1),
    "range": lambda i: tf.range(tf.reduce_max(i)),
    "range_of_least": lambda i: tf.range(tf.reduce_min(i), tf.reduce_max(i) + 1),
    "linspace": lambda i: tf.linspace(0.0, 1.0, tf.reduce_max(i) + 1),
    "one_hot": lambda i: tf.one_hot(i, tf.reduce_max(i) + 1),
    "repeat": lambda i: tf.repeat(tf.range(i.shape[0]), i),
    "segment_sum": lambda i: tf.math.segment_sum(tf.ones([i.shape[0], 3]), tf.sort(i)),
    "segment_mean": lambda i: tf.math.segment_mean(tf.ones([i.shape[0], 3]), i),
    "unsorted": lambda i: tf.math.unsorted_segment_sum(
        tf.ones([i.shape[0]]), i, tf.reduce_max(i) + 1
    ),
    "bincount": lambda i: tf.math.bincount(i, minlength=tf.reduce_max(i) + 3),
    "tile": lambda i: tf.tile([[1, 2]], [tf.reduce_max(i), tf.reduce_min(i) + 1]),
    "pad": lambda i: tf.pad([1.0], [[tf.reduce_max(i), tf.argmax(i, output_type=tf.int32) * 0]]),
    "reshape": lambda i: tf.reshape(tf.range(12), [tf.reduce_max(i), -1]),
    "slice": lambda i: tf.range(9)[tf.reduce_min(i) : tf.reduce_max(i)],
    "sum": lambda i: tf.zeros([tf.reduce_sum(i) // i.shape[0] + 1]),
    "running_sum": lambda i: tf.zeros([tf.cumsum(i)[-1] // i.shape[0] + 1]),
    "product": lambda i: tf.zeros([tf.reduce_prod(tf.minimum(i, 1)) + 2]),
    "scatter_nd": lambda i: tf.scatter_nd(
        i[:, None], tf.ones([i.shape[0]]), [tf.reduce_max(i) + 1]
    ),
    "masked": lambda i: tf.boolean_mask(i, i > 2),
    "where": lambda i: tf.where(i > 2),
    "unique": lambda i: tf.unique(i)[0],
    "partition": lambda i: tf.dynamic_partition(i, tf.minimum(i, 1), 2)[1],
    "ragged": lambda i: tf.RaggedTensor.from_value_rowids(tf.range(i.shape[0]), i).row_lengths(),
    "dense": lambda i: tf.sparse.to_dense(
        tf.SparseTensor(
            tf.cast(i[-1:, None], tf.int64), [1.0], tf.cast([tf.reduce_max(i) + 1], tf.int64)
        )
    ),
    "gathered": lambda i: tf.zeros(tf.gather(i, [0, i.shape[0] - 1]) + 1),
    "concatenated": lambda i: tf.zeros([tf.reduce_max(tf.concat([i, i + 1, [7]], 0))]),
    "stacked": lambda i: tf.zeros([tf.reduce_max(tf.stack([i, 2 * i]))]),
    "chosen": lambda i: tf.zeros([tf.reduce_max(tf.where(i > 1, i, 1 - i))]),
}


def _measure(function, *arguments):
    """The weight of all sizes in a trace, and the length of its text."""
    body = tf.function(function).get_concrete_function(*arguments).body
    avals = [node.aval for node in body.nodes if type(node.aval) is not tuple]
    sizes = [size for aval in avals for size in aval.dims or ()]
    try:
        length = len(text_of(program_of(body)))
    except UnprintableError:  # a call kept whole
        length = 0
    return sum(map(weight, sizes)), length


@pytest.mark.parametrize("name", OF_VALUES)
def test_sizes_of_values_do_not_grow_with_the_number_of_values(name):
    function = OF_VALUES[name]
    few, text = _measure(function, tf.constant(_ids(10)))
    for count in (14, 40, 1000, MANY):
        weights, length = _measure(function, tf.constant(_ids(count)))
        assert weights <= few + 8, count
        assert length <= 1.2 * text + 200, count  # numbers with more digits, arrays in other words


@pytest.mark.parametrize("executor", ["interpreter", "llvm", "auto"])
@pytest.mark.parametrize("name", OF_VALUES)
def test_sizes_of_values_are_those_of_eager_code(name, executor):
    function = OF_VALUES[name]
    traced = tf.function(function)
    with settings.executor(executor):
        for count in (30, 1000) if executor == "llvm" else (130,):
            ids = tf.constant(_ids(count))
            np.testing.assert_array_equal(traced(ids), function(ids))


def _distinct(count):
    """Sizes that are all different, of a graph."""
    graph = tf.Graph()
    with graph.as_default():
        held = [tf.compat.v1.placeholder(tf.int32, [None]) for _ in range(count)]
    return graph, held


def test_functions_of_functions_are_walked_once_each():
    _, (x,) = _distinct(1)
    n = x.dims[0]
    size = n
    for _ in range(600):
        size = largest(size // 2, size // 3 + 5)
    assert len(functions_in((size,))) == 1800
    assert len(list(atoms_of(size))) <= 4
    number = 77
    for _ in range(600):
        number = max(number // 2, number // 3 + 5)
    assert evaluate(size, lambda atom: 77) == number
    assert substitute(size, lambda atom: 77) == number
    assert type(substitute(size, of_atom)) is Dim


def test_long_sums_and_products_stay_short():
    _, held = _distinct(300)
    sizes = [x.dims[0] for x in held]
    total, product = 0, 1
    for size in sizes:
        total = total + size
        product = product * (size + 1)
    assert len(total.terms) <= 64 and len(product.terms) <= 64
    assert evaluate(total, lambda atom: 2) == 600
    assert evaluate(product, lambda atom: 1) >= 2**64  # no size is as large


def test_equal_functions_are_one_atom():
    _, (x,) = _distinct(1)
    n = x.dims[0]
    assert n // 2 * 3 == 3 * (n // 2)
    assert (n // 2 + 1) % 5 - (1 + n // 2) % 5 == 0


CHAINS = {
    "sum": lambda s, x: s + tf.shape(x)[0],
    "halves": lambda s, x: s // 2 + tf.shape(x)[0],
    "extremes": lambda s, x: tf.maximum(s - 1, tf.minimum(s // 2, 9)),
    "squares": lambda s, x: s * s % 1000 + s,
}


@pytest.mark.parametrize("executor", ["interpreter", "llvm"])
@pytest.mark.parametrize("name", CHAINS)
def test_a_size_may_be_computed_in_a_thousand_steps(name, executor):
    def function(x):
        size = tf.shape(x)[0]
        for _ in range(1000):
            size = CHAINS[name](size, x)
        return tf.shape(tf.zeros([size % 1000, 2]))

    with settings.executor(executor):
        traced = tf.function(function, input_signature=[tf.TensorSpec([None])])
        for count in (3, 5):
            np.testing.assert_array_equal(traced(tf.ones([count])), function(tf.ones([count])))


def test_sums_of_many_different_sizes():
    signature = [tf.TensorSpec([None]) for _ in range(200)]

    @tf.function(input_signature=signature)
    def joined(*parts):
        x = tf.concat(parts, 0)
        y = tf.concat([x, x[1:]], 0)
        return tf.reduce_sum(y), tf.zeros([tf.add_n([tf.size(part) for part in parts])])

    total, zeros = joined(*[tf.ones([1 + k % 3]) for k in range(200)])
    assert float(total) == 2 * 399 - 1 and zeros.shape == (399,)


def test_sizes_that_meet_again_and_again_stay_light():
    def function(x):
        for _ in range(40):
            x = x[1::2] + x[: tf.size(x) // 2] if x.dtype == tf.int32 else x
            x = tf.concat([x, x[::3], x[1:]], 0)
        return x

    graph = tf.function(function).get_concrete_function(tf.TensorSpec([None], tf.int32))
    avals = [node.aval for node in graph.body.nodes if type(node.aval) is not tuple]
    assert max([weight(size) for aval in avals for size in aval.dims or ()]) <= HEAVY
    x = tf.range(50)
    np.testing.assert_array_equal(graph(x), function(x))


def test_integers_that_wrap_round_are_not_followed():
    def function(x):
        return tf.zeros([(tf.shape(x)[0] * 1103515245 * 12345 + 1) % 7])

    traced = tf.function(function, input_signature=[tf.TensorSpec([None])])
    for count in range(1, 9):
        assert traced(tf.ones([count])).shape == function(tf.ones([count])).shape


def test_elements_of_shapes_are_still_known():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, None, 3])
        shape = tf.shape(x)
        n, m, _ = x.dims
        known = {
            n * m * 3: tf.reduce_prod(shape),
            n + m + 3: tf.reduce_sum(shape),
            largest(largest(n, m), 3): tf.reduce_max(shape),
            m + 1: tf.stack([shape[0], shape[1] + 1])[1],
            n: tf.unstack(tf.concat([shape[:1], [4]], 0))[0],
        }
        for size, tensor in known.items():
            assert element(tensor.node, 0) == size


def test_sizes_of_values_in_loops_and_branches():
    def function(i):
        total = tf.zeros([])
        for k in tf.range(3):
            if k > 0:
                total += tf.reduce_sum(tf.ones([tf.reduce_max(i) + k]))
            else:
                total += tf.reduce_sum(tf.cast(tf.sequence_mask(i), tf.float32))
        return total

    for executor in ("interpreter", "llvm", "auto"):
        with settings.executor(executor):
            traced = tf.function(function)
            for count in (130, 1000):
                ids = tf.constant(_ids(count))
                assert float(traced(ids)) == float(function(ids))


def test_gradients_past_sizes_of_values():
    def function(x, i):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.math.unsorted_segment_sum(x, i, tf.reduce_max(i) + 1) ** 2
            y = tf.reduce_sum(y) + tf.reduce_sum(tf.math.segment_mean(x, i) ** 2)
            y += tf.reduce_sum(tf.pad(x, [[0, tf.reduce_max(i)]])[: tf.reduce_max(i)])
        return tape.gradient(y, x)

    for count in (30, 1000):
        ids, x = tf.constant(_ids(count)), tf.cos(tf.range(count, dtype=tf.float32))
        expected = function(x, ids)
        for executor in ("interpreter", "llvm"):
            with settings.executor(executor):
                traced = tf.function(function)
                np.testing.assert_allclose(traced(x, ids), expected, rtol=1e-5)
