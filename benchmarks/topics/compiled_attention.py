"""Attention over long sequences, compiled: 8 heads of 64, one sequence, causal or not.

PyTorch and JAX have an operation for it (`scaled_dot_product_attention`, `dot_product_attention`);
TensorFlow's programs write two products and a softmax.  In a gradient the result goes through one
more product, so that the cotangent of each row depends on all heads, as in a layer.
"""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

from benchmarks.declare import Ratio, benchmark
from benchmarks.models import scaled
from benchmarks.topics.cnn import xla

HEADS, DEPTH = 8, 64
WIDTH = HEADS * DEPTH
SWEEP = {"length": [512, 1024, 2048, 4096]}


@benchmark("compiled.attention", aims=[Ratio(1.0)], sweep=SWEEP, settle=1.0)
class Attention:
    """softmax(q kᵀ) v of 8 heads of 64 numbers."""

    def tf(tf, np, length):
        return _tensorflow(tf, np, length, tf.function)

    def tensorflow_xla(tf, np, length):
        return _tensorflow(tf, np, length, xla(tf))

    def jax_jit(jax, jnp, np, length):
        q, k, v, _ = map(jnp.asarray, _operands(np, length))
        attention = jax.jit(lambda q, k, v: _jax_attention(jax, q, k, v))
        return lambda: attention(q, k, v).block_until_ready()

    def torch(torch, np, length):
        q, k, v, _ = map(torch.from_numpy, _operands(np, length))
        attention = torch.nn.functional.scaled_dot_product_attention
        return lambda: attention(q, k, v)


@benchmark("compiled.attention_gradient", aims=[Ratio(1.0)], sweep=SWEEP, settle=1.0)
class Gradient:
    """Derivatives by q, k and v of the squares of attention times a matrix, over all heads."""

    def tf(tf, np, length):
        return _tensorflow_gradient(tf, np, length, tf.function)

    def tensorflow_xla(tf, np, length):
        return _tensorflow_gradient(tf, np, length, xla(tf))

    def jax_jit(jax, jnp, np, length):
        *operands, joined = map(jnp.asarray, _operands(np, length))

        def loss(q, k, v):
            mixed = _jax_attention(jax, q, k, v).transpose(0, 2, 1, 3)
            return jnp.square(mixed.reshape(length, WIDTH) @ joined).mean()

        gradient = jax.jit(jax.grad(loss, (0, 1, 2)))
        return lambda: jax.block_until_ready(gradient(*operands))

    def torch(torch, np, length):
        *operands, joined = map(torch.from_numpy, _operands(np, length))
        leaves = [x.requires_grad_() for x in operands]

        def gradient():
            mixed = torch.nn.functional.scaled_dot_product_attention(*leaves).transpose(1, 2)
            loss = (mixed.reshape(length, WIDTH) @ joined).square().mean()
            return torch.autograd.grad(loss, leaves)

        return gradient


def _operands(np, length):
    """Queries, keys, values [1, heads, length, depth], and a matrix."""
    random = np.random.default_rng(0)
    arrays = random.standard_normal((3, 1, HEADS, length, DEPTH), dtype="float32")
    return *arrays, scaled(random, (WIDTH, WIDTH))


def _attention(tf, q, k, v):
    scores = tf.matmul(q, k, transpose_b=True) * DEPTH**-0.5
    return tf.matmul(tf.nn.softmax(scores), v)


def _tensorflow(tf, np, length, compiled):
    q, k, v, _ = map(tf.constant, _operands(np, length))
    attention = compiled(lambda q, k, v: _attention(tf, q, k, v))
    return lambda: attention(q, k, v)


def _tensorflow_gradient(tf, np, length, compiled):
    *operands, joined = map(tf.constant, _operands(np, length))

    @compiled
    def gradient(*operands):
        with tf.GradientTape() as tape:
            tape.watch(operands)
            mixed = tf.transpose(_attention(tf, *operands), [0, 2, 1, 3])
            loss = tf.reduce_mean(tf.square(tf.reshape(mixed, [length, WIDTH]) @ joined))
        return tape.gradient(loss, operands)

    return lambda: gradient(*operands)


def _jax_attention(jax, q, k, v):
    q, k, v = [x.transpose(0, 2, 1, 3) for x in (q, k, v)]
    return jax.nn.dot_product_attention(q, k, v).transpose(0, 2, 1, 3)
