"""A training step of one transformer block, compiled: products, normalisation and softmax mixed.

Batch 8, 128 positions, width 256, 4 heads; layer norm before attention and before a dense network
of 4 times the width with GELU (tanh form).  The loss is the mean squared distance from a target;
SGD on all twelve parameters; what is compared is how far two steps move them.
"""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

from benchmarks.declare import Ratio, benchmark
from benchmarks.models import moved, scaled
from benchmarks.topics.cnn import xla

BATCH, LENGTH, WIDTH, HEADS = 8, 128, 256, 4
TOKENS, DEPTH = BATCH * LENGTH, WIDTH // HEADS
RATE, EPSILON = 0.1, 1e-5


@benchmark("compiled.transformer", aims=[Ratio(0.75)], settle=1.0)
class Step:
    """A training step of a transformer block (8x128x256, 4 heads); NumPy: the products alone."""

    def numpy(np):
        return _matrix_products(np)

    def tf(tf, np):
        return _tensorflow_step(tf, np, tf.function)

    def tensorflow_xla(tf, np):
        return _tensorflow_step(tf, np, xla(tf))

    def jax_jit(jax, jnp, np):
        return _jax_step(jax, jnp, np)

    def torch(torch, np):
        return _torch_step(torch, np, lambda function: function)

    def torch_compiled(torch, np):
        return _torch_step(torch, np, torch.compile)


def _model(np):
    """Parameters in the order of use (gain, shift, weights, bias, ...), tokens, targets."""
    random = np.random.default_rng(0)

    def dense(*shape):
        return [scaled(random, shape), 0.1 * random.standard_normal(shape[1], dtype="float32")]

    def norm():
        noise = random.standard_normal((2, WIDTH), dtype="float32") * np.float32(0.1)
        return [1 + noise[0], noise[1]]

    attention = [*norm(), *dense(WIDTH, 3 * WIDTH), *dense(WIDTH, WIDTH)]
    network = [*norm(), *dense(WIDTH, 4 * WIDTH), *dense(4 * WIDTH, WIDTH)]
    tokens, targets = random.standard_normal((2, TOKENS, WIDTH), dtype="float32")
    return attention + network, tokens, targets


def _matrix_products(np):
    """Forward, kernel gradient and input gradient of each product of the step."""
    random = np.random.default_rng(0)
    shapes = [((TOKENS, WIDTH), (WIDTH, n * WIDTH)) for n in (3, 1, 4)]
    shapes.append(((TOKENS, 4 * WIDTH), (4 * WIDTH, WIDTH)))
    heads = BATCH, HEADS
    shapes.append(((*heads, LENGTH, DEPTH), (*heads, DEPTH, LENGTH)))
    shapes.append(((*heads, LENGTH, LENGTH), (*heads, LENGTH, DEPTH)))
    pairs = [[random.standard_normal(s, dtype="float32") for s in pair] for pair in shapes]
    triples = [(x, y, np.matmul(x, y)) for x, y in pairs]

    def products():
        for x, y, z in triples:
            np.matmul(x, y)
            np.matmul(z, y.swapaxes(-1, -2))
            np.matmul(x.swapaxes(-1, -2), z)

    return products


def _tensorflow_step(tf, np, compiled):
    before, tokens, targets = _model(np)
    variables = [tf.Variable(value) for value in before]
    tokens, targets = tf.constant(tokens), tf.constant(targets)

    def normal(x, gain, shift):
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + EPSILON) * gain + shift

    def attention(x, weights, bias):
        split = tf.reshape(tf.matmul(x, weights) + bias, [BATCH, LENGTH, 3, HEADS, DEPTH])
        query, key, value = tf.unstack(tf.transpose(split, [2, 0, 3, 1, 4]))
        scores = tf.matmul(query, key, transpose_b=True) * DEPTH**-0.5
        mixed = tf.matmul(tf.nn.softmax(scores), value)
        return tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [TOKENS, WIDTH])

    def loss():
        gain1, shift1, split, bias1, joined, bias2, gain2, shift2, w1, b1, w2, b2 = variables
        mixed = attention(normal(tokens, gain1, shift1), split, bias1)
        x = tokens + tf.matmul(mixed, joined) + bias2
        hidden = tf.nn.gelu(tf.matmul(normal(x, gain2, shift2), w1) + b1, approximate=True)
        x = x + tf.matmul(hidden, w2) + b2
        return tf.reduce_mean(tf.math.squared_difference(x, targets))

    def descend():
        with tf.GradientTape() as tape:
            value = loss()
        for variable, gradient in zip(variables, tape.gradient(value, variables), strict=True):
            variable.assign_sub(RATE * gradient)
        return value

    step = compiled(descend)
    return step, lambda: [step(), *moved(np, before, variables, RATE)]


def _jax_step(jax, jnp, np):
    before, tokens, targets = _model(np)
    parameters = [jnp.array(value) for value in before]  # donated to the first step
    tokens, targets = jnp.asarray(tokens), jnp.asarray(targets)

    def normal(x, gain, shift):
        mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + EPSILON) * gain + shift

    def attention(x, weights, bias):
        split = (x @ weights + bias).reshape(BATCH, LENGTH, 3, HEADS, DEPTH)
        query, key, value = split.transpose(2, 0, 3, 1, 4)
        scores = query @ key.swapaxes(-1, -2) * DEPTH**-0.5
        mixed = jax.nn.softmax(scores) @ value
        return mixed.transpose(0, 2, 1, 3).reshape(TOKENS, WIDTH)

    def loss(parameters, tokens, targets):
        gain1, shift1, split, bias1, joined, bias2, gain2, shift2, w1, b1, w2, b2 = parameters
        mixed = attention(normal(tokens, gain1, shift1), split, bias1)
        x = tokens + mixed @ joined + bias2
        hidden = jax.nn.gelu(normal(x, gain2, shift2) @ w1 + b1, approximate=True)
        x = x + hidden @ w2 + b2
        return jnp.square(x - targets).mean()

    def descend(parameters, tokens, targets):
        value, gradients = jax.value_and_grad(loss)(parameters, tokens, targets)
        return value, [p - RATE * g for p, g in zip(parameters, gradients, strict=True)]

    update = jax.jit(descend, donate_argnums=0)

    def step():
        nonlocal parameters
        value, parameters = update(parameters, tokens, targets)
        return value.block_until_ready()

    return step, lambda: [step(), *moved(np, before, parameters, RATE)]


def _torch_step(torch, np, compiled):
    before, tokens, targets = _model(np)
    leaves = [torch.tensor(value).requires_grad_() for value in before]
    tokens, targets = torch.from_numpy(tokens), torch.from_numpy(targets)
    functional = torch.nn.functional

    def attention(x, weights, bias):
        split = (x @ weights + bias).reshape(BATCH, LENGTH, 3, HEADS, DEPTH)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return mixed.transpose(1, 2).reshape(TOKENS, WIDTH)

    @compiled
    def loss(gain1, shift1, split, bias1, joined, bias2, gain2, shift2, w1, b1, w2, b2):
        mixed = attention(_torch_normal(functional, tokens, gain1, shift1), split, bias1)
        x = tokens + mixed @ joined + bias2
        hidden = _torch_normal(functional, x, gain2, shift2) @ w1 + b1
        x = x + functional.gelu(hidden, approximate="tanh") @ w2 + b2
        return functional.mse_loss(x, targets)

    def step():
        value = loss(*leaves)
        gradients = torch.autograd.grad(value, leaves)
        with torch.no_grad():
            for leaf, gradient in zip(leaves, gradients, strict=True):
                leaf.sub_(gradient, alpha=RATE)
        return value

    return step, lambda: [step(), *moved(np, before, leaves, RATE)]


def _torch_normal(functional, x, gain, shift):
    return functional.layer_norm(x, (WIDTH,), gain, shift, EPSILON)
