"""Constants made under `control_dependencies` of a TensorFlow 1 graph wait, as TensorFlow's do."""

import numpy as np
import pytest

import talweg
import talweg.compat.v1 as tf

MAKERS = {
    "constant": lambda x: tf.constant(5.0),
    "string": lambda x: tf.constant("a"),
    "zeros": lambda x: tf.zeros([2]),
    "fill": lambda x: tf.fill([2], 1.0),
    "range": lambda x: tf.range(3),
    "eye": lambda x: tf.eye(2),
    "array": lambda x: tf.convert_to_tensor(np.ones(2)),
    "ones_like": tf.ones_like,
    "shape": tf.shape,
    "size": tf.size,
    "rank": tf.rank,
    "one_hot": lambda x: tf.one_hot([1], 3),
    "ragged": lambda x: tf.ragged.constant([[1], [2, 3]]).values,
    "product": lambda x: x * 2.0,
    "same shape": lambda x: tf.reshape(x, []),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_is_made_in_the_block_runs_behind_the_update(make):
    with tf.Graph().as_default(), tf.Session() as session:
        v, x = tf.Variable(1.0), tf.constant(3.0)
        session.run(v.initializer)
        with tf.control_dependencies([v.assign_add(1.0)]):
            made = make(x)
        session.run(made)
        assert session.run(v) == 2.0


def test_an_ordered_constant_is_still_a_constant():
    graph = tf.Graph()
    with graph.as_default(), tf.Session() as session:
        v = tf.Variable(1.0)
        session.run(v.initializer)
        update = v.assign_add(1.0)
        with tf.control_dependencies([update]):
            sizes = tf.constant([2, 3], name="sizes")
            x = tf.reshape(tf.range(6), sizes)
        assert x.shape == (2, 3) and talweg.get_static_value(sizes).tolist() == [2, 3]
        assert sizes.name == "sizes:0"
        assert sizes.op.control_inputs == [update.op]
        assert {node.name: list(node.input) for node in graph.as_graph_def().node}["sizes"] == [
            f"^{update.op.name}"
        ]
        assert session.run(sizes, {sizes: [4, 5]}).tolist() == [4, 5]
        assert session.run(v) == 1.0
