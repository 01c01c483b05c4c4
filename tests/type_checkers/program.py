"""A user's program, as an editor sees it: checked by type checkers in strict mode, and run."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import talweg as tf


class Layer(tf.Module):
    """A layer with weights."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.w = tf.Variable(tf.random.normal([inputs, outputs], stddev=0.1), name="w")
        self.b = tf.Variable(tf.zeros([outputs]), name="b")

    @tf.function
    def apply(self, x: tf.Tensor, scale: float = 1.0) -> tf.Tensor:
        """The outputs for a batch."""
        return tf.nn.relu(tf.matmul(x, self.w) + self.b) * scale


layer = Layer(3, 2)
x = tf.constant(np.ones([4, 3]), tf.float32)
assert_type(x, tf.Tensor)
assert_type(x + 1, tf.Tensor)
assert_type(1.0 - x, tf.Tensor)
assert_type(x @ layer.w, tf.Tensor)
assert_type(-x[0], tf.Tensor)
assert_type(tf.matmul(x, layer.w), tf.Tensor)
assert_type(tf.reduce_sum(x, axis=1), tf.Tensor)
assert_type(tf.math.log(tf.abs(x)), tf.Tensor)
assert_type(tf.range(3), tf.Tensor)
assert_type(x.shape, tf.TensorShape)
assert_type(x.device, str)
assert_type(layer.w, tf.Variable)
assert_type(layer.w.shape, tf.TensorShape)
assert_type(layer.w * 2, tf.Tensor)
assert_type(layer.apply(x), tf.Tensor)
assert_type(layer.apply(x, scale=2.0), tf.Tensor)


@tf.function(jit_compile=True)
def loss_of(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """The mean squared error."""
    return tf.reduce_mean(tf.square(layer.apply(x) - y))


def watched(path: str) -> str:
    """The gradients of the layer over a few steps, as a picture; why one is as it is."""
    with tf.watch_gradients(layer.trainable_variables) as watch, tf.GradientTape() as tape:
        loss = loss_of(x, tf.ones([4, 2]))
        tape.gradient(loss, layer.trainable_variables)
    assert_type(layer.trainable_variables, tuple[tf.Variable, ...])
    return watch.plot(path)


callback = tf.doctor.watch_fit(every=5)
assert_type(tf.doctor.page("TW324"), str)


def train(rate: float = 0.1) -> float:
    """A few steps; the last loss."""
    data = tf.data.Dataset.from_tensor_slices((np.ones([8, 3], "f4"), np.ones([8, 2], "f4")))
    loss = tf.constant(0.0)
    for features, labels in data.shuffle(8).batch(4).map(lambda x, y: (x * 2, y)):
        with tf.GradientTape() as tape:
            loss = loss_of(features, labels)
        gradients = tape.gradient(loss, [layer.w, layer.b])
        for variable, gradient in zip([layer.w, layer.b], gradients):
            variable.assign_sub(rate * gradient)
    return float(loss)


assert_type(loss_of(x, tf.ones([4, 2])), tf.Tensor)
assert loss_of.experimental_get_tracing_count() == 1
assert np.isfinite(train())

ragged = tf.ragged.constant([[1], [2, 3]])
assert_type(ragged, tf.RaggedTensor)
assert ragged.values.shape == (3,) and ragged.to_tensor().shape == (2, 2)
words = tf.strings.split(["a b", "c"])
assert words.to_list() == [[b"a", b"b"], [b"c"]]
distinct, places = tf.unique([1, 1, 2])
assert_type(distinct, tf.Tensor)
best, where = tf.math.top_k([1.0, 2.0], 1)
assert_type(best + 1.0, tf.Tensor)
q, r = tf.linalg.qr(tf.ones([2, 2]))
assert_type(q @ r, tf.Tensor)
strategy = tf.distribute.MirroredStrategy()
replicas = strategy.run(loss_of, args=(x, tf.ones([4, 2])))
losses = strategy.experimental_local_results(replicas)
assert [each.shape for each in losses] == [()]


class Masked(tf.experimental.ExtensionType):
    """Values, some of which count."""

    values: tf.Tensor
    mask: tf.Tensor


@tf.experimental.dispatch_for_api(tf.math.add)
def add_masked(x: Masked, y: Masked, name: str | None = None) -> Masked:
    """The sums of what counts in both."""
    return Masked(x.values + y.values, x.mask & y.mask)


masked = Masked(tf.ones([2]), tf.constant([True, False]))
masked_sum: Any = tf.math.add(masked, masked)  # for checkers, functions give tensors
assert np.array_equal(masked_sum.values, [2.0, 2.0])

with tf.compat.v1.Graph().as_default(), tf.compat.v1.Session() as session:
    p = tf.compat.v1.placeholder(tf.float32, [None])
    assert_type(tf.compat.v1.square(p), tf.Tensor)
    assert list(session.run(tf.compat.v1.square(p), {p: [2.0]})) == [4.0]

sign, log_size = tf.linalg.slogdet(tf.ones([2, 2]))
assert_type(sign * log_size, tf.Tensor)
count, total = tf.while_loop(
    lambda i, s: i < 4, lambda i, s: (i + 1, s + i), (0, tf.constant(0)), maximum_iterations=9
)
assert (int(count), int(total)) == (4, 6)
assert_type(tf.vectorized_map(lambda row: row * 2.0, x), tf.Tensor)
doubled: Any = tf.nest.map_structure(lambda a, b: a + b, [x], [x])
assert_type(tf.unstack(tf.stop_gradient(x)), list[tf.Tensor])
assert_type(tf.shape(x), tf.Tensor)
names: list[str] = [device.name for device in tf.config.list_physical_devices("CPU")]
assert names
