"""Tensors among Python, NumPy, matplotlib and pickle; nothing of the user's is changed."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import talweg as tf


def test_the_users_array_is_not_shared():
    a = np.ones(3, np.float32)
    t = tf.constant(a)
    a[0] = 7
    assert t.numpy().tolist() == [1, 1, 1]
    b = t.numpy()
    b[0] = 7
    assert t.numpy().tolist() == [1, 1, 1]


def test_no_numpy_warnings_and_no_numpy_settings():
    before = np.geterr()
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        zero = tf.constant([0.0])
        assert np.isnan((zero / zero).numpy()[0])
        assert np.isinf((1.0 / zero).numpy()[0])
        assert np.isinf(float(tf.constant(1.0) / 0.0))
        assert np.isinf(tf.exp(tf.constant(1e4)).numpy())
    assert np.geterr() == before
    with pytest.warns(RuntimeWarning):
        np.ones(1) / np.zeros(1)


def test_pickle_and_copies():
    for value in (tf.constant([1.0, 2.0]), tf.constant("text"), tf.constant(3)):
        again = pickle.loads(pickle.dumps(value))
        assert again.dtype is value.dtype and np.all(again.numpy() == value.numpy())
        assert np.all(copy.deepcopy(value).numpy() == value.numpy())
    v = tf.Variable([1.0, 2.0], name="w", trainable=False)
    w = copy.deepcopy(v)
    w.assign([3.0, 4.0])
    assert v.numpy().tolist() == [1, 2] and not w.trainable and w.name == "w:0"
    assert pickle.loads(pickle.dumps(v)).numpy().tolist() == [1, 2]


def test_dlpack_both_ways():
    t = tf.constant([[1.0, 2.0]])
    np.testing.assert_array_equal(np.from_dlpack(t), [[1.0, 2.0]])
    capsule = tf.experimental.dlpack.to_dlpack(t)
    assert tf.experimental.dlpack.from_dlpack(capsule).numpy().tolist() == [[1.0, 2.0]]


def test_numpy_functions_and_left_operands():
    t = tf.constant([1.0, 4.0])
    assert isinstance(np.array([1.0, 1.0]) + t, tf.Tensor)
    assert isinstance(np.float32(2) * t, tf.Tensor)
    np.testing.assert_array_equal(np.sqrt(t), [1, 2])
    assert np.mean(t) == 2.5


def test_matplotlib_takes_tensors():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    (line,) = axes.plot(tf.range(3.0), tf.constant([1.0, 4.0, 9.0]))
    image = axes.imshow(tf.reshape(tf.range(4.0), [2, 2]))
    assert np.asarray(line.get_ydata()).tolist() == [1, 4, 9]
    assert image.get_array().shape == (2, 2)
    plt.close(figure)


def test_a_failed_write_leaves_the_variable():
    v = tf.Variable([1.0, 2.0])
    for wrong in (
        lambda: v.assign([1.0, 2.0, 3.0]),
        lambda: v.assign_add([1.0]),
        lambda: v.assign("text"),
        lambda: v[5].assign(1.0),
        lambda: v.scatter_add(tf.IndexedSlices(tf.constant([1.0]), tf.constant([9]))),
        lambda: v.scatter_nd_update([[9]], [1.0]),
    ):
        with pytest.raises(Exception, match=r"\[TW\d+\]"):
            wrong()
        assert v.numpy().tolist() == [1, 2]


def test_a_tensor_that_was_read_keeps_its_value():
    v = tf.Variable([1.0, 2.0])
    before = v.value()
    v.assign([3.0, 4.0])
    v[0].assign(9.0)
    v.scatter_update(tf.IndexedSlices(tf.constant([7.0]), tf.constant([1])))
    assert before.numpy().tolist() == [1, 2]
    assert v.numpy().tolist() == [9, 7]


def test_missing_names_say_so():
    with pytest.raises(AttributeError, match="is no name of TensorFlow"):
        tf.no_such_thing
    with pytest.raises(AttributeError, match="is no name of TensorFlow"):
        tf.math.no_such_thing
    assert not hasattr(tf, "no_such_thing")


def test_variables_are_given_to_others_by_dlpack():
    v = tf.Variable([1.0, 2.0])
    np.testing.assert_array_equal(np.from_dlpack(v), [1.0, 2.0])
    assert v.__dlpack_device__()[0] == 1  # kDLCPU
