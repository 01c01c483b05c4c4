"""An LSTM over 100 steps, forward and backward: a loop over time, and its gradient.

Batch 32, 128 inputs, 128 hidden; gates in PyTorch's order (input, forget, cell, output).  The loss
is the sum of all outputs times fixed weights; returned are the loss and the gradients of the
inputs, both kernels and the bias.  All project the inputs of all steps in one product first.
"""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

from benchmarks.declare import Ratio, benchmark
from benchmarks.topics.cnn import xla

STEPS, BATCH, INPUTS, HIDDEN = 100, 32, 128, 128


@benchmark("compiled.lstm", aims=[Ratio(0.75)], settle=1.0)
class Gradient:
    """LSTM, 100 steps, batch 32, hidden 128, with all gradients; NumPy: the products alone."""

    def numpy(np):
        return _matrix_products(np)

    def tf(tf, np):
        return _tensorflow_gradient(tf, np, _by_while_loop, tf.function)

    def tf_scan(tf, np):
        return _tensorflow_gradient(tf, np, _by_scan, tf.function)

    def tensorflow_xla(tf, np):
        return _tensorflow_gradient(tf, np, _by_while_loop, xla(tf))

    def jax_jit(jax, jnp, np):
        return _jax_gradient(jax, jnp, np)

    def torch(torch, np):
        return _torch_gradient(torch, np)


def _model(np):
    """inputs, kernel, recurrent kernel, bias; and the weights of the outputs in the loss."""
    random = np.random.default_rng(0)

    def normal(scale, *shape):
        return np.float32(scale) * random.standard_normal(shape, dtype="float32")

    operands = [
        normal(1, STEPS, BATCH, INPUTS),
        normal(INPUTS**-0.5, INPUTS, 4 * HIDDEN),
        normal(HIDDEN**-0.5, HIDDEN, 4 * HIDDEN),
        normal(0.1, 4 * HIDDEN),
    ]
    return operands, 1 + normal(1, STEPS, BATCH, HIDDEN)


def _matrix_products(np):
    (inputs, kernel, recurrent, _), _ = _model(np)
    inputs = inputs.reshape(-1, INPUTS)
    hidden = np.ones((BATCH, HIDDEN), "float32")
    gates = np.ones((BATCH, 4 * HIDDEN), "float32")
    all_gates = np.ones((STEPS * BATCH, 4 * HIDDEN), "float32")

    def products():
        inputs @ kernel
        for _ in range(STEPS):
            hidden @ recurrent
        for _ in range(STEPS):
            gates @ recurrent.T
        inputs.T @ all_gates  # of the kernel
        inputs.T @ all_gates  # of the recurrent kernel: outputs have the shape of inputs
        all_gates @ kernel.T

    return products


def _tensorflow_gradient(tf, np, loop, compiled):
    operands, weights = _model(np)
    operands, weights = [tf.constant(value) for value in operands], tf.constant(weights)

    @compiled
    def gradient(operands, weights):
        with tf.GradientTape() as tape:
            tape.watch(operands)
            inputs, kernel, recurrent, bias = operands
            projected = tf.matmul(tf.reshape(inputs, [-1, INPUTS]), kernel) + bias
            projected = tf.reshape(projected, [STEPS, BATCH, 4 * HIDDEN])
            loss = tf.reduce_sum(loop(tf, projected, recurrent) * weights)
        return loss, *tape.gradient(loss, operands)

    return lambda: gradient(operands, weights)


def _tensorflow_cell(tf, gates, cell):
    """The next hidden state and cell."""
    taken, kept, new, shown = tf.split(gates, 4, axis=1)
    cell = tf.sigmoid(kept) * cell + tf.sigmoid(taken) * tf.tanh(new)
    return tf.sigmoid(shown) * tf.tanh(cell), cell


def _by_while_loop(tf, projected, recurrent):
    """All hidden states, by tf.while_loop and TensorArrays."""
    read = tf.TensorArray(tf.float32, STEPS, element_shape=[BATCH, 4 * HIDDEN]).unstack(projected)
    written = tf.TensorArray(tf.float32, STEPS, element_shape=[BATCH, HIDDEN])

    def body(time, hidden, cell, written):
        gates = read.read(time) + tf.matmul(hidden, recurrent)
        hidden, cell = _tensorflow_cell(tf, gates, cell)
        return time + 1, hidden, cell, written.write(time, hidden)

    zeros = tf.zeros([BATCH, HIDDEN])
    state = tf.constant(0), zeros, zeros, written
    *_, written = tf.while_loop(
        lambda time, *_: time < STEPS, body, state, maximum_iterations=STEPS
    )
    return written.stack()


def _by_scan(tf, projected, recurrent):
    """All hidden states, by tf.scan."""

    def body(state, gates):
        hidden, cell = state
        return _tensorflow_cell(tf, gates + tf.matmul(hidden, recurrent), cell)

    zeros = tf.zeros([BATCH, HIDDEN])
    return tf.scan(body, projected, (zeros, zeros))[0]


def _jax_gradient(jax, jnp, np):
    operands, weights = _model(np)
    operands, weights = [jnp.asarray(value) for value in operands], jnp.asarray(weights)

    def loss(operands, weights):
        inputs, kernel, recurrent, bias = operands

        def body(state, gates):
            hidden, cell = state
            taken, kept, new, shown = jnp.split(gates + hidden @ recurrent, 4, axis=1)
            sigmoid = jax.nn.sigmoid
            cell = sigmoid(kept) * cell + sigmoid(taken) * jnp.tanh(new)
            hidden = sigmoid(shown) * jnp.tanh(cell)
            return (hidden, cell), hidden

        zeros = jnp.zeros([BATCH, HIDDEN])
        _, outputs = jax.lax.scan(body, (zeros, zeros), inputs @ kernel + bias)
        return (outputs * weights).sum()

    gradient = jax.jit(jax.value_and_grad(loss))
    return lambda: jax.block_until_ready(gradient(operands, weights))


def _torch_gradient(torch, np):
    (inputs, kernel, recurrent, bias), weights = _model(np)
    layer = torch.nn.LSTM(INPUTS, HIDDEN)
    with torch.no_grad():
        layer.weight_ih_l0.copy_(torch.from_numpy(kernel.T))
        layer.weight_hh_l0.copy_(torch.from_numpy(recurrent.T))
        layer.bias_ih_l0.copy_(torch.from_numpy(bias))
        layer.bias_hh_l0.zero_()
    inputs, weights = torch.from_numpy(inputs).requires_grad_(), torch.from_numpy(weights)
    leaves = [inputs, layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0]

    def gradient():
        loss = (layer(inputs)[0] * weights).sum()
        return loss, *torch.autograd.grad(loss, leaves)

    return gradient
