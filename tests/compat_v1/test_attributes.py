"""Operation.get_attr: declarations name a way for the attributes of their operations."""

from __future__ import annotations

import pytest

import talweg as tf
from talweg.compat_v1.attributes import WAYS
from talweg.core.primitive import REGISTRY

# An operation on x, float32 [2, 3], and attributes that TensorFlow 2.21 gives it.
ATTRIBUTES = {
    "v1.reduce_max(x, 1, keepdims=True)": {"keep_dims": True, "T": "float32"},
    "v1.argmax(x, 1, output_type=v1.int32)": {"output_type": "int32", "T": "float32"},
    "v1.cumsum(x, 0, exclusive=True)": {"exclusive": True, "reverse": False, "T": "float32"},
    "v1.cast(x, v1.int32)": {"SrcT": "float32", "DstT": "int32", "Truncate": False},
    "v1.placeholder(v1.int32)": {"dtype": "int32"},
    "v1.constant([1, 2])": {"dtype": "int32"},
    "v1.matmul(x, v1.ones([3, 1]))": {"transpose_a": False, "T": "float32"},
    "v1.stack([x, x, x], axis=1)": {"axis": 1, "N": 3, "T": "float32"},
    "v1.concat([x, x], 0)": {"N": 2, "T": "float32", "Tidx": "int32"},
    "v1.unstack(x, axis=1)[0]": {"axis": 1, "num": 3, "T": "float32"},
    "v1.split(x, [1, 2], 1)[0]": {"num_split": 2, "T": "float32"},
    "v1.reshape(x, [6])": {"T": "float32", "Tshape": "int32"},
    "v1.transpose(x)": {"T": "float32", "Tperm": "int32"},
    "v1.one_hot(v1.argmax(x, 1), 3, axis=0)": {"axis": 0, "TI": "int64"},
    "v1.check_numerics(x, 'wrong')": {"message": b"wrong", "T": "float32"},
    "v1.gather(x, [1], axis=1)": {"batch_dims": 0, "Tparams": "float32", "Tindices": "int32"},
    "v1.shape(v1.placeholder(v1.int32))": {"out_type": "int32", "T": "int32"},
    "v1.nn.top_k(x, 2).values": {"sorted": True, "index_type": "int32", "T": "float32"},
    "v1.nn.avg_pool(image, [1, 2, 2, 1], [1, 1, 1, 1], 'SAME')": {
        "ksize": [1, 2, 2, 1],
        "strides": [1, 1, 1, 1],
        "padding": b"SAME",
        "T": "float32",
    },
    "v1.nn.conv2d(image, v1.ones([2, 2, 1, 1]), [1, 2, 2, 1], 'VALID')": {
        "strides": [1, 2, 2, 1],
        "dilations": [1, 1, 1, 1],
        "data_format": b"NHWC",
        "T": "float32",
    },
}


@pytest.mark.parametrize("expression", ATTRIBUTES)
def test_attributes_of_operations(expression):
    v1 = tf.compat.v1
    with v1.Graph().as_default():
        names = {
            "v1": v1,
            "x": v1.placeholder(v1.float32, [2, 3]),
            "image": v1.placeholder(v1.float32, [1, 4, 4, 1]),
        }
        op = eval(expression, names).op
        for name, value in ATTRIBUTES[expression].items():
            given = op.get_attr(name)
            assert getattr(given, "name", given) == value, name


def test_ways_are_those_of_declarations():
    assert set(WAYS) == {prim.tf_attributes for prim in REGISTRY.values()} - {""}
