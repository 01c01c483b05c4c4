"""Training programs there and back: what talweg exports trains on with TensorFlow's numbers.

`tools/check_exports.py` has TensorFlow itself train what is written here.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graph import exported, exported_training
from programs.v1 import meta_graphs

import talweg

tf = talweg.compat.v1
BUILDS = {build.__name__: build for build in meta_graphs.BUILDS}


@pytest.mark.parametrize("name", BUILDS)
def test_training_goes_on_after_export(name):
    """Only TensorFlow's operations are written; imported again, they give its numbers."""
    build = BUILDS[name]
    message = meta_graphs.written(tf, np, build)
    types = {node.op for node in exported.nodes(message.graph_def)}
    assert [op for op in types if op.startswith("Talweg")] == []
    fetched, _ = meta_graphs.trained(tf, np, message)
    assert exported_training.difference(build, fetched, tf) is None


def test_gradients_of_arrays_are_refused():
    """What a loop's gradient of the first generation keeps in a TensorArray cannot be imported."""
    message = tf.GraphDef()
    size = message.node.add(name="size", op="Const")
    size.attr["dtype"].type = 3
    size.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(2))
    array = message.node.add(name="array", op="TensorArrayV3", input=["size"])
    array.attr["dtype"].type = 1
    gradient = message.node.add(name="gradient", op="TensorArrayGradV3")
    gradient.input.extend(["array", "array:1"])
    gradient.attr["source"].s = b"gradients"
    refused = pytest.raises(talweg.errors.UnimplementedError, match="take tf.gradients of it")
    with tf.Graph().as_default(), refused:
        tf.import_graph_def(message, name="")
