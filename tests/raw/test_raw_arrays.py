"""Arrays of gradients among tf.raw_ops; what they give was compared with TensorFlow 2.21."""

import numpy as np
import pytest

import talweg as tf

RAW = tf.raw_ops


@pytest.fixture
def array():
    handle, flow = RAW.TensorArrayV3(size=3, dtype=tf.float32, clear_after_read=False)
    flow = RAW.TensorArrayWriteV3(handle=handle, index=0, value=[1.0, 2.0], flow_in=flow)
    return handle, flow


def read(handle, flow, index):
    return RAW.TensorArrayReadV3(handle=handle, index=index, flow_in=flow, dtype=tf.float32).numpy()


def test_gradients_that_are_written_twice_are_added(array):
    handle, flow = RAW.TensorArrayGradV3(handle=array[0], flow_in=array[1], source="a")
    for value in ([1.0, 1.0], [1.0, 3.0]):
        RAW.TensorArrayWriteV3(handle=handle, index=0, value=value, flow_in=flow)
    again, flow = RAW.TensorArrayGradV3(handle=array[0], flow_in=array[1], source="a")
    np.testing.assert_array_equal(read(again, flow, 0), [2.0, 4.0])


def test_gradients_that_were_not_written_are_zero(array):
    handle, flow = RAW.TensorArrayGradV3(handle=array[0], flow_in=array[1], source="b")
    np.testing.assert_array_equal(read(handle, flow, 0), [0.0, 0.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="index 1"):
        read(handle, flow, 1)  # whose shape nobody knows


def test_gradients_have_no_gradients(array):
    handle, flow = RAW.TensorArrayGradV3(handle=array[0], flow_in=array[1], source="c")
    with pytest.raises(tf.errors.InvalidArgumentError, match="gradients"):
        RAW.TensorArrayGradV3(handle=handle, flow_in=flow, source="d")


def test_handles_are_printed(array):
    assert repr(array[0]).startswith("<tf.Tensor: shape=(), dtype=variant, value=<variant ")
    assert str(array[0]).startswith("tf.Tensor(<variant ")
    with pytest.raises(tf.errors.InvalidArgumentError, match="to a NumPy array"):
        array[0].numpy()
