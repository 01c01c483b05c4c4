"""A frozen function's graph is written whole: that is what it is frozen for."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.interop.graph_def.freezing import convert_variables_to_constants_v2


def test_a_frozen_graph_is_written_with_its_large_arrays():
    v = tf.Variable(np.ones((100, 5), np.float32), name="v")
    fn = tf.function(lambda x: x @ v)
    concrete = fn.get_concrete_function(tf.TensorSpec([None, 100]))
    assert [(x.dtype, x.shape.rank) for x in concrete.inputs] == [(tf.float32, 2), (tf.resource, 0)]
    frozen = convert_variables_to_constants_v2(concrete)
    nodes = {node.name: node.op for node in frozen.graph.as_graph_def().node}
    assert nodes["v"] == "Const"
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(frozen.graph.as_graph_def(), name="")
    assert {n.name: n.op for n in graph.as_graph_def().node}["v"] == "Const"
    left_out = graph.as_graph_def(include_captured=False)
    assert {n.name: n.op for n in left_out.node}["v"] == "Placeholder"


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: tf.reshape(x, [-1, 1]),
        lambda x, n: tf.zeros([tf.shape(x)[0], 2]) + 1.0,
        lambda x, n: tf.reshape(x, [n, -1]),
        lambda x, n: x[:, : tf.shape(x)[0]],
        lambda x, n: tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y + x), [0, x])[1],
    ],
)
def test_a_frozen_function_is_called_with_any_sizes(function):
    fn = tf.function(function)
    specs = [tf.TensorSpec([None, 3], name="x"), tf.TensorSpec([], tf.int32, name="n")]
    frozen = convert_variables_to_constants_v2(fn.get_concrete_function(*specs))
    for rows in (2, 3):
        x = np.arange(3.0 * rows, dtype=np.float32).reshape(rows, 3)
        (got,) = frozen(x, rows)
        np.testing.assert_array_equal(got, fn(x, rows))
