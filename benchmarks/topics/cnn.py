"""A convolutional training step, design.md section 4: eager by tape, and compiled by the peers.

Batch 64, 28x28x1; conv 32 3x3, pool, conv 64 3x3, pool, dense 128, dense 10; cross entropy; SGD.
About 1.0 GFLOP.  The callable makes one step and returns the loss before it; what is compared is
how far two steps move the parameters.  `compiled_cnn.py` compiles the same programs.
"""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

from benchmarks.declare import Ratio, benchmark
from benchmarks.models import RATE, channels_first, convolutional, moved


@benchmark("cnn.step", aims=[Ratio(1.0, of="torch")])
class Step:
    """A CNN training step (batch 64, SGD); NumPy: its matrix products alone."""

    def numpy(np):
        return matrix_products(np)

    def tf(tf, np):
        return tensorflow_step(tf, np, lambda step: step)

    def tensorflow_function(tf, np):
        return tensorflow_step(tf, np, tf.function)

    def tensorflow_xla(tf, np):
        return tensorflow_step(tf, np, xla(tf))

    def torch(torch, np):
        return torch_step(torch, np, torch.contiguous_format)

    def torch_channels_last(torch, np):
        return torch_step(torch, np, torch.channels_last)

    def jax_jit(jax, jnp, np):
        return jax_step(jax, jnp, np, window_pool)


def matrix_products(np):
    """The matrix products of a step and nothing else."""
    random = np.random.default_rng(0)
    made = [
        [random.normal(size=size).astype("float32") for size in ((m, k), (k, n))]
        for m, k, n in _products()
    ]

    def products():
        for x, y in made:
            np.matmul(x, y)

    return products


def _products():
    """(m, k, n) of the products in a step: im2col forward, kernel gradient, input gradient."""
    forward = [(64 * 676, 9, 32), (64 * 121, 288, 64), (64, 1600, 128), (64, 128, 10)]
    kernel = [(k, m, n) for m, k, n in forward]
    inputs = [(m, n, k) for m, k, n in forward[1:]]
    return forward + kernel + inputs


def tensorflow_step(tf, np, compiled, mask=None):
    """The step, compiled by the function given, and its evidence; of the images in a mask only."""
    parameters, images, labels = convolutional(np)
    chosen = None if mask is None else tf.Variable(mask)  # no constant: its number is not known
    variables = [tf.Variable(value) for value in parameters]
    images, labels = tf.constant(images), tf.constant(labels)

    def loss():
        conv1, bias1, conv2, bias2, dense1, bias3, dense2, bias4 = variables
        x = tf.nn.relu(tf.nn.conv2d(images, conv1, strides=1, padding="VALID") + bias1)
        x = tf.nn.max_pool2d(x, ksize=2, strides=2, padding="VALID")
        x = tf.nn.relu(tf.nn.conv2d(x, conv2, strides=1, padding="VALID") + bias2)
        x = tf.nn.max_pool2d(x, ksize=2, strides=2, padding="VALID")
        x = tf.nn.relu(tf.matmul(tf.reshape(x, [-1, 1600]), dense1) + bias3)
        logits = tf.matmul(x, dense2) + bias4
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return tf.reduce_mean(losses if chosen is None else tf.boolean_mask(losses, chosen))

    def descend():
        with tf.GradientTape() as tape:
            value = loss()
        for variable, gradient in zip(variables, tape.gradient(value, variables), strict=True):
            variable.assign_sub(RATE * gradient)
        return value

    step = compiled(descend)
    return step, lambda: [step(), *moved(np, parameters, variables, RATE)]


def xla(tf):
    """What has TensorFlow compile a function with XLA."""
    return lambda function: tf.function(function, jit_compile=True)


def torch_step(torch, np, layout, compiled=lambda loss: loss, mask=None):
    """The step in a memory format, its loss compiled by the function given, and its evidence.

    With a mask, of the images in it only.
    """
    chosen = None if mask is None else torch.from_numpy(mask)
    parameters, images, labels = convolutional(np)
    parameters = channels_first(parameters)
    leaves = [_laid_out(torch.tensor(value), layout).requires_grad_() for value in parameters]
    images = _laid_out(torch.from_numpy(images.transpose(0, 3, 1, 2).copy()), layout)
    labels = torch.from_numpy(labels)
    functional = torch.nn.functional

    def loss(conv1, bias1, conv2, bias2, dense1, bias3, dense2, bias4):
        x = functional.max_pool2d(torch.relu(functional.conv2d(images, conv1, bias1)), 2)
        x = functional.max_pool2d(torch.relu(functional.conv2d(x, conv2, bias2)), 2)
        x = torch.relu(x.reshape(64, 1600) @ dense1 + bias3)
        logits = x @ dense2 + bias4
        if chosen is None:
            return functional.cross_entropy(logits, labels)
        return functional.cross_entropy(logits, labels, reduction="none")[chosen].mean()

    loss = compiled(loss)

    def step():
        value = loss(*leaves)
        gradients = torch.autograd.grad(value, leaves)
        with torch.no_grad():
            for leaf, gradient in zip(leaves, gradients, strict=True):
                leaf.sub_(gradient, alpha=RATE)
        return value

    return step, lambda: [step(), *moved(np, parameters, leaves, RATE)]


def _laid_out(tensor, layout):
    return tensor.contiguous(memory_format=layout) if tensor.ndim == 4 else tensor.contiguous()


def jax_step(jax, jnp, np, pool):
    """The step, compiled by `jit`, with one of the poolings below, and its evidence."""
    before, images, labels = convolutional(np)
    parameters, images = [jnp.asarray(value) for value in before], jnp.asarray(images)
    labels, rows = jnp.asarray(labels), jnp.arange(64)

    def convolve(x, kernel):
        numbers = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=numbers)

    def loss(parameters):
        conv1, bias1, conv2, bias2, dense1, bias3, dense2, bias4 = parameters
        x = pool(jax, jax.nn.relu(convolve(images, conv1) + bias1))
        x = pool(jax, jax.nn.relu(convolve(x, conv2) + bias2))
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

    return step, lambda: [step(), *moved(np, before, parameters, RATE)]


def window_pool(jax, x):
    """Max pooling, 2 by 2, as JAX has it."""
    window = (1, 2, 2, 1)
    return jax.lax.reduce_window(x, -float("inf"), jax.lax.max, window, window, "VALID")


def reshape_pool(jax, x):
    """The same as a reshape and a maximum, which XLA differentiates without scattering."""
    batch, height, width, channels = x.shape
    height, width = height // 2, width // 2
    x = x[:, : 2 * height, : 2 * width]
    return x.reshape(batch, height, 2, width, 2, channels).max(axis=(2, 4))
