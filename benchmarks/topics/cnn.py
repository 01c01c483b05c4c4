"""A convolutional training step, design.md section 4: eager by tape, and compiled by the peers.

Batch 64, 28x28x1; conv 32 3x3, pool, conv 64 3x3, pool, dense 128, dense 10; cross entropy; SGD.
About 1.0 GFLOP.  The callable makes one step and returns the loss before it.
"""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

from benchmarks.declare import Ratio, benchmark
from benchmarks.models import RATE, channels_first, convolutional


@benchmark("cnn.step", aims=[Ratio(1.0, of="tensorflow")])
class Step:
    """A CNN training step (batch 64, SGD); NumPy: its matrix products alone."""

    def numpy(np):
        random = np.random.default_rng(0)
        made = [
            [random.normal(size=size).astype("float32") for size in ((m, k), (k, n))]
            for m, k, n in _products()
        ]

        def products():
            for x, y in made:
                np.matmul(x, y)

        return products

    def tf(tf, np):
        return _tensorflow_step(tf, np)[0]

    def tensorflow_function(tf, np):
        step, _ = _tensorflow_step(tf, np)
        return tf.function(step)

    def tensorflow_xla(tf, np):
        step, _ = _tensorflow_step(tf, np)
        return tf.function(step, jit_compile=True)

    def torch(torch, np):
        return _torch_step(torch, np, torch.contiguous_format)

    def torch_channels_last(torch, np):
        return _torch_step(torch, np, torch.channels_last)

    def jax_jit(jax, jnp, np):
        return _jax_step(jax, jnp, np)


def _products():
    """(m, k, n) of the products in a step: im2col forward, kernel gradient, input gradient."""
    forward = [(64 * 676, 9, 32), (64 * 121, 288, 64), (64, 1600, 128), (64, 128, 10)]
    kernel = [(k, m, n) for m, k, n in forward]
    inputs = [(m, n, k) for m, k, n in forward[1:]]
    return forward + kernel + inputs


def _tensorflow_step(tf, np):
    parameters, images, labels = convolutional(np)
    variables = [tf.Variable(value) for value in parameters]
    conv1, bias1, conv2, bias2, dense1, bias3, dense2, bias4 = variables
    images, labels = tf.constant(images), tf.constant(labels)

    def loss():
        x = tf.nn.relu(tf.nn.conv2d(images, conv1, strides=1, padding="VALID") + bias1)
        x = tf.nn.max_pool2d(x, ksize=2, strides=2, padding="VALID")
        x = tf.nn.relu(tf.nn.conv2d(x, conv2, strides=1, padding="VALID") + bias2)
        x = tf.nn.max_pool2d(x, ksize=2, strides=2, padding="VALID")
        x = tf.nn.relu(tf.matmul(tf.reshape(x, [-1, 1600]), dense1) + bias3)
        logits = tf.matmul(x, dense2) + bias4
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return tf.reduce_mean(losses)

    def step():
        with tf.GradientTape() as tape:
            value = loss()
        for variable, gradient in zip(variables, tape.gradient(value, variables), strict=True):
            variable.assign_sub(RATE * gradient)
        return value

    return step, variables


def _torch_step(torch, np, layout):
    parameters, images, labels = convolutional(np)
    leaves = [torch.from_numpy(value) for value in channels_first(parameters)]
    leaves = [_laid_out(leaf, layout).requires_grad_() for leaf in leaves]
    conv1, bias1, conv2, bias2, dense1, bias3, dense2, bias4 = leaves
    images = _laid_out(torch.from_numpy(images.transpose(0, 3, 1, 2).copy()), layout)
    labels = torch.from_numpy(labels)
    functional = torch.nn.functional

    def step():
        x = functional.max_pool2d(torch.relu(functional.conv2d(images, conv1, bias1)), 2)
        x = functional.max_pool2d(torch.relu(functional.conv2d(x, conv2, bias2)), 2)
        x = torch.relu(x.reshape(64, 1600) @ dense1 + bias3)
        loss = functional.cross_entropy(x @ dense2 + bias4, labels)
        gradients = torch.autograd.grad(loss, leaves)
        with torch.no_grad():
            for leaf, gradient in zip(leaves, gradients, strict=True):
                leaf.sub_(gradient, alpha=RATE)
        return loss

    return step


def _laid_out(tensor, layout):
    return tensor.contiguous(memory_format=layout) if tensor.ndim == 4 else tensor.contiguous()


def _jax_step(jax, jnp, np):
    parameters, images, labels = convolutional(np)
    parameters, images = [jnp.asarray(value) for value in parameters], jnp.asarray(images)
    labels, rows = jnp.asarray(labels), jnp.arange(64)

    def convolve(x, kernel):
        numbers = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=numbers)

    def pool(x):
        window = (1, 2, 2, 1)
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")

    def loss(parameters):
        conv1, bias1, conv2, bias2, dense1, bias3, dense2, bias4 = parameters
        x = pool(jax.nn.relu(convolve(images, conv1) + bias1))
        x = pool(jax.nn.relu(convolve(x, conv2) + bias2))
        x = jax.nn.relu(x.reshape(64, 1600) @ dense1 + bias3)
        return -jax.nn.log_softmax(x @ dense2 + bias4)[rows, labels].mean()

    @jax.jit
    def update(parameters):
        value, gradients = jax.value_and_grad(loss)(parameters)
        return value, [p - RATE * g for p, g in zip(parameters, gradients, strict=True)]

    def step():
        nonlocal parameters
        value, parameters = update(parameters)
        return value.block_until_ready()

    return step
