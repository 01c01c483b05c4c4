"""tf.io.serialize_tensor and parse_tensor: TensorFlow's bytes, and what is refused."""

import numpy as np
import pytest

import talweg as tf

RECORDED = [  # made by TensorFlow 2.21
    (np.float32(3), b'\x08\x01\x12\x00"\x04\x00\x00@@'),
    (np.int32([1, 2]), b'\x08\x03\x12\x04\x12\x02\x08\x02"\x08\x01\x00\x00\x00\x02\x00\x00\x00'),
    (np.array([b"a", b"bc"], object), b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x02bc"),
    (np.array([[True]]), b'\x08\n\x12\x08\x12\x02\x08\x01\x12\x02\x08\x01"\x01\x01'),
    (np.zeros((0, 2), np.float32), b"\x08\x01\x12\x06\x12\x00\x12\x02\x08\x02"),
]


@pytest.mark.parametrize(("array", "data"), RECORDED)
def test_bytes(array, data):
    x = tf.constant(array)
    assert tf.io.serialize_tensor(x).numpy() == data
    assert tf.function(tf.io.serialize_tensor)(x).numpy() == data
    found = tf.function(lambda text: tf.io.parse_tensor(text, x.dtype))(tf.constant(data))
    assert found.dtype is x.dtype and found.shape == x.shape
    assert np.array_equal(found.numpy(), x.numpy())


def test_numbers_one_by_one():
    pytest.importorskip("tensorboard")
    data = tf.make_tensor_proto(5).SerializeToString()
    assert int(tf.io.parse_tensor(data, tf.int32)) == 5


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        (RECORDED[1][1], tf.float32),
        ([RECORDED[1][1]], tf.int32),
        (b"abc", tf.int32),
        (b"", tf.float32),
        (RECORDED[1][1][:-1], tf.int32),
    ],
)
def test_refused(text, dtype):
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.parse_tensor(text, dtype)
