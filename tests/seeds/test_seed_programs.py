"""The eager programs of the five seed documents, as they stand, with what TensorFlow gives.

Layers of Keras are written as functions here; Keras itself is another issue.  Where a seed's text
or printed output is wrong, the program decides.
"""

from __future__ import annotations

import numpy as np

import talweg as tf


def test_linear_regression_with_tape():
    """Seed 0, example 1; the optimizer is plain descent."""
    W = tf.Variable(tf.random.normal([1]), name="weights")
    b = tf.Variable(tf.zeros([1]), name="bias")

    def model(x):
        return W * x + b

    def loss(y_true, y_pred):
        return tf.reduce_mean(tf.square(y_true - y_pred))

    x_train = tf.constant([1.0, 2.0, 3.0])
    y_train = tf.constant([2.0, 4.0, 6.0])
    w = float(W.numpy()[0])
    with tf.GradientTape() as tape:
        y_pred = model(x_train)
        value = loss(y_train, y_pred)
    gradients = tape.gradient(value, [W, b])
    x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])
    np.testing.assert_allclose(gradients[0], [np.mean(2 * (w * x - y) * x)], rtol=1e-5)
    np.testing.assert_allclose(gradients[1], [np.mean(2 * (w * x - y))], rtol=1e-5)
    for gradient, variable in zip(gradients, [W, b]):
        variable.assign_sub(0.01 * gradient)


def test_convolution_layer():
    """Seed 0, example 2: the model as functions."""
    filters = tf.Variable(tf.random.normal([3, 3, 1, 32], stddev=0.1))
    bias, dense = tf.Variable(tf.zeros([32])), tf.Variable(tf.random.normal([26 * 26 * 32, 10]))
    dense_bias = tf.Variable(tf.zeros([10]))
    x = tf.random.normal((1, 28, 28, 1))
    with tf.GradientTape() as tape:
        h = tf.nn.relu(tf.nn.conv2d(x, filters, strides=1, padding="VALID") + bias)
        y = tf.matmul(tf.reshape(h, [1, -1]), dense) + dense_bias
        loss = tf.reduce_mean(y)
    gradients = tape.gradient(loss, [filters, bias, dense, dense_bias])
    assert [g.shape.as_list() for g in gradients] == [[3, 3, 1, 32], [32], [26 * 26 * 32, 10], [10]]
    np.testing.assert_allclose(gradients[3], np.full(10, 0.1), rtol=1e-6)


def test_custom_loss():
    """Seed 0, example 3."""

    def custom_loss(y_true, y_pred):
        diff = y_true - y_pred
        return tf.reduce_sum(tf.abs(diff)) + tf.reduce_mean(tf.square(diff))

    prediction = tf.Variable([1.0, -2.0])
    with tf.GradientTape() as tape:
        loss = custom_loss(tf.constant([0.0, 0.0]), prediction)
    np.testing.assert_allclose(tape.gradient(loss, prediction), [1 + 1, -1 - 2])


def unconnected(mode):
    x = tf.constant([[1.0, 2.0]])
    w = tf.Variable([[1.0, 0.0], [0.0, 1.0]])
    b = tf.Variable([[0.0, 0.0]])
    with tf.GradientTape() as tape:
        tape.watch(w)
        # y does not depend on w
        y = tf.add(x, b)
        loss = tf.reduce_mean(y)
    return tape.gradient(loss, [w], unconnected_gradients=mode)


def test_unconnected_none():
    """Seed 1, example 1."""
    assert unconnected(tf.UnconnectedGradients.NONE) == [None]


def test_unconnected_zero():
    """Seed 1, example 2: the seed prints [], the program gives a zero matrix."""
    (zeros,) = unconnected(tf.UnconnectedGradients.ZERO)
    np.testing.assert_array_equal(zeros, np.zeros((2, 2), np.float32))


def test_unconnected_error_explains():
    try:
        unconnected(tf.UnconnectedGradients.ERROR)
    except ValueError as error:
        assert "TW301" in str(error)
    else:
        raise AssertionError("no error")


def test_polynomial(capsys):
    """Seed 3, program 1."""
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x**2 + 2 * x + 1
    grad_x = tape.gradient(y, x)
    print(f"Value of x: {x.numpy()}")
    print(f"Gradient of y with respect to x: {grad_x.numpy()}")
    assert capsys.readouterr().out == "Value of x: 3.0\nGradient of y with respect to x: 8.0\n"


def test_computed_before_the_tape(capsys):
    """Seed 3, program 2: y was made outside."""
    x = tf.Variable(3.0)
    y = x**2 + 2 * x + 1
    with tf.GradientTape() as tape:
        z = y
    grad_x = tape.gradient(z, x)
    print(f"Value of x: {x.numpy()}")
    print(f"Gradient of z with respect to x: {grad_x}")
    assert capsys.readouterr().out == "Value of x: 3.0\nGradient of z with respect to x: None\n"


def test_matrices():
    """Seed 3, program 3."""
    W = tf.Variable(tf.random.normal((3, 2)))
    b = tf.Variable(tf.zeros((2,)))
    x = tf.constant([[1.0, 2.0, 3.0]], dtype=tf.float32)
    with tf.GradientTape() as tape:
        output = tf.matmul(x, W) + b
        loss = tf.reduce_sum(output**2)
    gradients = tape.gradient(loss, [W, b])
    out = x.numpy() @ W.numpy()
    np.testing.assert_allclose(gradients[0].numpy(), x.numpy().T @ (2 * out), rtol=1e-5)
    np.testing.assert_allclose(gradients[1].numpy(), (2 * out)[0], rtol=1e-5)


def test_custom_loss_with_a_branch():
    """Seed 2, example 1, in eager mode: the branch taken is differentiated."""

    def custom_loss(y_true, y_pred):
        error = tf.abs(y_true - y_pred)
        if tf.reduce_mean(error) > 0.5:
            return tf.square(error)
        else:
            return error

    for prediction, expected in (([3.0, 1.0], [6.0, 2.0]), ([0.25, -0.5], [1.0, -1.0])):
        y = tf.Variable(prediction)
        with tf.GradientTape() as tape:
            loss = custom_loss(tf.constant([0.0, 0.0]), y)
        np.testing.assert_allclose(tape.gradient(loss, y), expected)
