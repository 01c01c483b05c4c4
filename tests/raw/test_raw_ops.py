"""tf.raw_ops: the table can be read, its targets exist, its gradients are right."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import talweg as tf
from talweg.raw import ops

ROWS = ops.rows()
NAMES = Path(__file__).parent.parent / "recorded" / "names.txt"


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_the_target_takes_what_the_row_passes(row):
    function = ops._find(row.target)
    signature = inspect.signature(function)
    signature.bind(*[None for _ in row.positional], **dict.fromkeys(row.keywords))
    used = {what for named, what in row.positional if named} | set(row.keywords.values())
    assert used <= set(row.arguments)


def test_every_name_is_one_of_tensorflow():
    known = {line.strip() for line in NAMES.read_text().splitlines()}
    assert [row.name for row in ROWS if f"raw_ops.{row.name}" not in known] == []


def test_keyword_arguments_only():
    with pytest.raises(TypeError, match="AddV2.*without their names"):
        tf.raw_ops.AddV2(1.0, 2.0)
    with pytest.raises(TypeError, match="missing"):
        tf.raw_ops.AddV2(x=1.0)
    with pytest.raises(TypeError, match="unknown"):
        tf.raw_ops.AddV2(x=1.0, y=2.0, z=3.0)
    assert float(tf.raw_ops.AddV2(x=1.0, y=2.0, name="sum")) == 3.0


def test_signature_and_docstring():
    signature = inspect.signature(tf.raw_ops.TopKV2)
    assert str(signature).startswith("(*, input, k, sorted=True, index_type=")
    assert "tf.math.top_k" in tf.raw_ops.TopKV2.__doc__
    assert tf.raw_ops.TopKV2.__name__ == "TopKV2"


def test_several_results_have_names():
    found = tf.raw_ops.TopKV2(input=[1.0, 3.0, 2.0], k=2)
    assert type(found).__name__ == "TopKV2" and found._fields == ("values", "indices")


X = tf.constant([-1.5, -0.2, 0.3, 2.0, 7.0])
G = tf.constant([1.0, 2.0, -3.0, 0.5, 4.0])


@pytest.mark.parametrize(
    ("function", "gradient", "by_output"),
    [
        (tf.tanh, lambda g, y: tf.raw_ops.TanhGrad(y=y, dy=g), True),
        (tf.sigmoid, lambda g, y: tf.raw_ops.SigmoidGrad(y=y, dy=g), True),
        (tf.math.reciprocal, lambda g, y: tf.raw_ops.ReciprocalGrad(y=y, dy=g), True),
        (tf.nn.elu, lambda g, y: tf.raw_ops.EluGrad(gradients=g, outputs=y), True),
        (tf.nn.selu, lambda g, y: tf.raw_ops.SeluGrad(gradients=g, outputs=y), True),
        (tf.nn.relu, lambda g, x: tf.raw_ops.ReluGrad(gradients=g, features=x), False),
        (tf.nn.relu6, lambda g, x: tf.raw_ops.Relu6Grad(gradients=g, features=x), False),
        (tf.nn.leaky_relu, lambda g, x: tf.raw_ops.LeakyReluGrad(gradients=g, features=x), False),
        (tf.nn.softplus, lambda g, x: tf.raw_ops.SoftplusGrad(gradients=g, features=x), False),
        (tf.nn.softsign, lambda g, x: tf.raw_ops.SoftsignGrad(gradients=g, features=x), False),
    ],
)
def test_gradient_operations_agree_with_the_tape(function, gradient, by_output):
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = function(X)
    wanted = tape.gradient(y, X, output_gradients=G)
    np.testing.assert_allclose(gradient(G, y if by_output else X), wanted, rtol=1e-5)


def test_pullbacks_can_be_differentiated():
    image = tf.reshape(tf.range(8.0), [1, 2, 2, 2]) / 4

    def squares(x):
        y = tf.raw_ops.LRN(input=x, depth_radius=1)
        g = tf.raw_ops.LRNGrad(input_grads=x, input_image=x, output_image=y, depth_radius=1)
        return tf.reduce_sum(g * g)

    exact, estimated = tf.test.compute_gradient(squares, [tf.cast(image, tf.float64)], delta=1e-5)
    np.testing.assert_allclose(exact[0], estimated[0], atol=1e-7)


def test_prevent_gradient():
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = tf.raw_ops.PreventGradient(input=X, message="not here")
    with pytest.raises(LookupError, match="not here"):
        tape.gradient(y, X)


def test_sparse_operations_take_parts():
    parts = {"a_indices": [[0, 1], [1, 0]], "a_values": [1.0, 2.0], "a_shape": [2, 3]}
    product = tf.raw_ops.SparseTensorDenseMatMul(**parts, b=tf.ones([3, 1]))
    assert product.numpy().tolist() == [[1.0], [2.0]]
    dense = tf.raw_ops.SparseToDense(
        sparse_indices=[1, 3], output_shape=[4], sparse_values=7, default_value=0
    )
    assert dense.numpy().tolist() == [0, 7, 0, 7]


def test_batch_norm_in_training_and_after():
    x = tf.reshape(tf.range(8.0), [2, 2, 2, 1])
    training = tf.raw_ops.FusedBatchNormV3(x=x, scale=[2.0], offset=[1.0], mean=[], variance=[])
    np.testing.assert_allclose(training.batch_mean, [3.5])
    np.testing.assert_allclose(training.batch_variance, [6.0])  # n / (n - 1) times that of x
    np.testing.assert_allclose(tf.reduce_mean(training.y), 1.0, atol=1e-6)
    after = tf.raw_ops.FusedBatchNormV3(
        x=x, scale=[2.0], offset=[1.0], mean=[3.5], variance=[5.25], is_training=False
    )
    np.testing.assert_allclose(after.y, training.y, rtol=1e-5)


@pytest.mark.parametrize(
    "axis, shapes",
    [
        (4, [[1, 2], [3, 2]]),
        (-4, [[1, 2], [3, 2]]),
        (0, [[1, 2], [1, 3]]),
        (0, [[1, 2], [1, 3, 2]]),
        (0, [3, 4]),
    ],
)
def test_concat_offset_refuses(axis, shapes):
    with pytest.raises(tf.errors.InvalidArgumentError, match="ConcatOffset"):
        tf.raw_ops.ConcatOffset(concat_dim=axis, shape=shapes)


def test_data_format_dim_map_refuses_axes_that_are_not_there():
    with pytest.raises(tf.errors.InvalidArgumentError, match="4 axes"):
        tf.raw_ops.DataFormatDimMap(x=[1, 4])
