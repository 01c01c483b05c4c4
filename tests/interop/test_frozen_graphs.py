"""A frozen function's graph is written whole: that is what it is frozen for."""

from __future__ import annotations

import numpy as np

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
