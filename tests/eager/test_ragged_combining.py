"""Products, coordinates, segments and broadcasting of ragged tensors in graphs, and gradients.

Eager values are recorded cases (`tests/recorded/cases/sparse_ragged.txt`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

ROWS: Any = tf.ragged.constant([[1.0, 2.0], [3.0]])
DEEP = tf.ragged.constant([[[1.0, 2.0], [3.0]], [[4.0]]])
SQUARE: Any = tf.ragged.constant([[[1.0, 2.0], [3.0]], [[4.0, 5.0], [6.0]]])
MATRICES = tf.ragged.constant([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]], ragged_rank=1)
CALLS = [
    (lambda r, i: tf.math.unsorted_segment_sum(r, i, 2), (ROWS, tf.ragged.constant([[0, 1], [1]]))),
    (lambda r, i: tf.math.unsorted_segment_max(r, i, 3), (DEEP, tf.constant([0, 0]))),
    (tf.gather_nd, (DEEP, tf.constant([[0, 0], [1, 0]]))),
    (tf.gather_nd, (DEEP, tf.constant([[0, 0, 1], [1, 0, 0]]))),
    (tf.gather_nd, (DEEP, tf.constant([0, 1]))),
    (tf.matmul, (MATRICES, tf.ones([2, 2, 3]))),
    (lambda a, b: tf.matmul(a, b, transpose_b=True), (MATRICES, MATRICES)),
    (lambda a, b: tf.matmul(a, b, transpose_a=True), (MATRICES, MATRICES)),
    (lambda a, b: a + b, (ROWS, tf.constant([[1.0], [2.0]]))),
    (lambda a, b: b - a, (ROWS, tf.constant([[1.0], [2.0]]))),
    (lambda a, b: a * b, (ROWS, tf.constant([[2.0]]))),
    (lambda a, b: a + b, (SQUARE, tf.constant([[1.0], [2.0]]))),
    (lambda a, b: a + b, (SQUARE, tf.constant([[[1.0]], [[2.0]]]))),
    (lambda a, b: a < b, (ROWS, tf.constant([[2.0], [2.0]]))),
    (tf.add, (ROWS, tf.constant([[1.0], [2.0]]))),
]
REFUSED = [
    (tf.gather_nd, (DEEP, tf.constant([[0, 0], [1, 1]]))),
    (tf.matmul, (MATRICES, tf.ones([2, 3, 3]))),
    (tf.matmul, (DEEP, DEEP)),
    (lambda a, b: a + b, (ROWS, tf.constant([[1.0], [2.0], [3.0]]))),
    (lambda a, b: a + b, (ROWS, tf.ragged.constant([[1.0], [2.0, 3.0]]))),
]


def unknown(value: Any) -> Any:
    """The spec of a value whose sizes are not known, but for the length of coordinates."""
    if isinstance(value, tf.RaggedTensor):
        inner = value.flat_values.shape[1:].as_list()
        dims = [None] * (value.ragged_rank + 1) + inner
        return tf.RaggedTensorSpec(dims, value.dtype, value.ragged_rank)
    dims = [None] * value.ndim
    if value.dtype.is_integer and value.ndim:
        dims[-1] = value.shape[-1]
    return tf.TensorSpec(dims, value.dtype)


def in_graph(call: Any, operands: tuple) -> Any:
    """What a graph gives that knows no sizes."""
    signature = [unknown(x) for x in operands]
    return tf.function(call, input_signature=signature, autograph=False)(*operands)


def as_lists(value: Any) -> list:
    """A tensor, ragged or not, as nested lists."""
    return value.to_list() if isinstance(value, tf.RaggedTensor) else value.numpy().tolist()


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_graphs_agree(number: int, executor: str) -> None:
    call, operands = CALLS[number]
    with settings.executor(executor):
        assert as_lists(in_graph(call, operands)) == as_lists(call(*operands))


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_graphs_refuse_what_does_not_fit(number: int) -> None:
    call, operands = REFUSED[number]
    for run in (lambda: call(*operands), lambda: in_graph(call, operands)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            run()


def test_fewer_rows_are_repeated() -> None:
    """TensorFlow gives [[[2, 4], [6]]], without the second half."""
    wanted = [[[2.0, 4.0], [6.0]], [[5.0, 7.0], [9.0]]]
    assert as_lists(SQUARE + ROWS) == as_lists(ROWS + SQUARE) == wanted
    assert as_lists(tf.maximum(SQUARE, ROWS)) == SQUARE.to_list()


FUNCTIONS = {
    "matmul": lambda v: tf.matmul(matrices(v), matrices(v), transpose_b=True).flat_values,
    "gather_nd": lambda v: tf.gather_nd(rows(v), [[0, 1], [2, 0], [0, 1]]),
    "segments": lambda v: tf.math.unsorted_segment_sum(rows(v), [1, 0, 1], 3).flat_values,
    "dense beside": lambda v: (rows(v) * tf.reshape(v[:3], [3, 1])).flat_values,
    "ragged beside": lambda v: (
        (tf.RaggedTensor.from_row_lengths(rows(v), [3]) + rows(v)).flat_values
    ),
}


def rows(v: Any) -> Any:
    """Six values in three rows."""
    return tf.RaggedTensor.from_row_lengths(v, [3, 1, 2])


def matrices(v: Any) -> Any:
    """Six values as matrices of two columns."""
    return tf.RaggedTensor.from_row_lengths(tf.reshape(v, [3, 2]), [2, 1])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name: str) -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])

    def loss(v: Any) -> Any:
        return tf.reduce_sum(FUNCTIONS[name](v) ** 2)

    (theory,), (numbers,) = tf.test.compute_gradient(loss, [x])
    np.testing.assert_allclose(theory, numbers, rtol=1e-5)
    spec = [tf.TensorSpec([None], tf.float64)]
    graph = tf.function(lambda v: tf.gradients(loss(v), v)[0], input_signature=spec)
    np.testing.assert_allclose(graph(x)[None], theory, rtol=1e-12)


@pytest.mark.parametrize("longest", [9, 300])
@pytest.mark.parametrize("shape", [None, [None, 5], [3, 400], [12, None]])
def test_dense_tensors_of_short_and_of_long_rows(longest, shape):
    """Long rows are copied one by one."""
    rng = np.random.default_rng(longest)
    rows = [rng.standard_normal(length).tolist() for length in (longest, 0, 1, longest - 1, 200, 2)]
    ragged = tf.ragged.constant(rows[:4] if longest == 9 else rows, dtype=tf.float64)
    dense = ragged.to_tensor(-7.0, shape=shape).numpy()
    for row, kept in zip(ragged.to_list(), dense):
        row = row[: len(kept)]
        assert kept.tolist() == row + [-7.0] * (len(kept) - len(row))
    assert (dense[ragged.shape[0] :] == -7.0).all()
