"""Work between products: normalisation, activation, cross entropy.  Limited by memory, not sums.

What a compiler can win here is reading and writing the large array as few times as possible.
"""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

import importlib
import math

from benchmarks.declare import Ratio, benchmark
from benchmarks.topics.cnn import xla

ROWS, WIDTH = 4096, 1024
CLASSES = 10_000
EPSILON = 1e-5


@benchmark("compiled.norm_gelu", aims=[Ratio(0.5)], sweep={"form": ["tanh", "erf"]}, settle=1.0)
class NormGelu:
    """Layer norm, then GELU (by tanh or by erf), of 4096x1024 float32."""

    def numpy(np, form):
        return _numpy_norm_gelu(np, form)

    def tf(tf, np, form):
        return _tensorflow_norm_gelu(tf, np, form, tf.function)

    def tensorflow_xla(tf, np, form):
        return _tensorflow_norm_gelu(tf, np, form, xla(tf))

    def jax_jit(jax, jnp, np, form):
        x, gain, shift = map(jnp.asarray, _rows(np))

        @jax.jit
        def normal_gelu(x, gain, shift):
            mean = x.mean(axis=1, keepdims=True)
            variance = x.var(axis=1, keepdims=True)
            y = (x - mean) * jax.lax.rsqrt(variance + EPSILON) * gain + shift
            return jax.nn.gelu(y, approximate=form == "tanh")

        return _with_tails(np, lambda: normal_gelu(x, gain, shift).block_until_ready())

    def torch(torch, np, form):
        return _torch_norm_gelu(torch, np, form, lambda function: function)

    def torch_compiled(torch, np, form):
        return _torch_norm_gelu(torch, np, form, torch.compile)


def _rows(np):
    """x, gain, shift."""
    random = np.random.default_rng(0)
    x = random.standard_normal((ROWS, WIDTH), dtype="float32") * 2 + 1
    gain = 1 + 0.1 * random.standard_normal(WIDTH, dtype="float32")
    return x, gain, 0.1 * random.standard_normal(WIDTH, dtype="float32")


def _with_tails(np, call):
    """`call`, and as evidence its result, whole and where it is near 0: there the forms differ."""
    is_low = _rows(np)[0] < 1 - 2 * 2.5

    def evidence():
        result = np.asarray(call())
        return result, 1000 * result[is_low]

    return call, evidence


def _numpy_norm_gelu(np, form):
    x, gain, shift = _rows(np)
    erf = importlib.import_module("scipy.special").erf if form == "erf" else None

    def gate(y):
        if erf:
            return erf(y * np.float32(math.sqrt(0.5)))
        return np.tanh(np.float32(math.sqrt(2 / math.pi)) * (y + np.float32(0.044715) * y * y * y))

    def normal_gelu():
        centred = x - x.mean(axis=1, keepdims=True)
        variance = np.square(centred).mean(axis=1, keepdims=True)
        y = centred / np.sqrt(variance + EPSILON) * gain + shift
        return 0.5 * y * (1 + gate(y))

    return _with_tails(np, normal_gelu)


def _tensorflow_norm_gelu(tf, np, form, compiled):
    x, gain, shift = map(tf.constant, _rows(np))

    @compiled
    def normal_gelu(x, gain, shift):
        mean, variance = tf.nn.moments(x, axes=[1], keepdims=True)
        y = (x - mean) * tf.math.rsqrt(variance + EPSILON) * gain + shift
        return tf.nn.gelu(y, approximate=form == "tanh")

    return _with_tails(np, lambda: normal_gelu(x, gain, shift))


def _torch_norm_gelu(torch, np, form, compiled):
    x, gain, shift = map(torch.from_numpy, _rows(np))
    functional = torch.nn.functional
    approximate = {"tanh": "tanh", "erf": "none"}[form]

    @compiled
    def normal_gelu(x, gain, shift):
        y = functional.layer_norm(x, (WIDTH,), gain, shift, EPSILON)
        return functional.gelu(y, approximate=approximate)

    return _with_tails(np, lambda: normal_gelu(x, gain, shift))


@benchmark("compiled.cross_entropy", aims=[Ratio(0.5)], settle=1.0)
class CrossEntropy:
    """Softmax cross entropy with integer labels, 4096 rows of 10,000 logits, loss of each row."""

    def numpy(np):
        logits, labels = _logits(np)
        rows = np.arange(ROWS)

        def losses():
            largest = logits.max(axis=1, keepdims=True)
            sums = np.exp(logits - largest).sum(axis=1)
            return np.log(sums) + largest[:, 0] - logits[rows, labels]

        return losses

    def tf(tf, np):
        return _tensorflow_losses(tf, np, tf.function)

    def tensorflow_xla(tf, np):
        return _tensorflow_losses(tf, np, xla(tf))

    def jax_jit(jax, jnp, np):
        logits, labels = map(jnp.asarray, _logits(np))
        losses = jax.jit(_jax_losses(jax, jnp))
        return lambda: losses(logits, labels).block_until_ready()

    def torch(torch, np):
        return _torch_losses(torch, np, lambda function: function)

    def torch_compiled(torch, np):
        return _torch_losses(torch, np, torch.compile)


@benchmark("compiled.cross_entropy_gradient", aims=[Ratio(0.35)], settle=1.0)
class CrossEntropyGradient:
    """The same losses and the gradient of their sum, 4096x10,000."""

    def numpy(np):
        logits, labels = _logits(np)
        rows = np.arange(ROWS)

        def losses():
            largest = logits.max(axis=1, keepdims=True)
            gradient = np.exp(logits - largest)
            sums = gradient.sum(axis=1, keepdims=True)
            gradient /= sums
            gradient[rows, labels] -= 1
            return np.log(sums[:, 0]) + largest[:, 0] - logits[rows, labels], gradient

        return losses

    def tf(tf, np):
        return _tensorflow_gradient(tf, np, tf.function)

    def tensorflow_xla(tf, np):
        return _tensorflow_gradient(tf, np, xla(tf))

    def jax_jit(jax, jnp, np):
        logits, labels = map(jnp.asarray, _logits(np))
        losses = _jax_losses(jax, jnp)

        def total(logits, labels):
            each = losses(logits, labels)
            return each.sum(), each

        gradient = jax.jit(jax.grad(total, has_aux=True))
        return lambda: jax.block_until_ready(gradient(logits, labels))[::-1]

    def torch(torch, np):
        return _torch_gradient(torch, np, lambda function: function)

    def torch_compiled(torch, np):
        return _torch_gradient(torch, np, torch.compile)


def _logits(np):
    random = np.random.default_rng(0)
    logits = 2 * random.standard_normal((ROWS, CLASSES), dtype="float32")
    return logits, random.integers(0, CLASSES, ROWS)


def _tensorflow_losses(tf, np, compiled):
    logits, labels = map(tf.constant, _logits(np))

    @compiled
    def losses(logits, labels):
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    return lambda: losses(logits, labels)


def _tensorflow_gradient(tf, np, compiled):
    logits, labels = map(tf.constant, _logits(np))

    @compiled
    def gradient(logits, labels):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return losses, tape.gradient(losses, logits)

    return lambda: gradient(logits, labels)


def _jax_losses(jax, jnp):
    def losses(logits, labels):
        picked = jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
        return jax.nn.logsumexp(logits, axis=1) - picked

    return losses


def _torch_losses(torch, np, compiled):
    logits, labels = map(torch.from_numpy, _logits(np))

    @compiled
    def losses(logits, labels):
        return torch.nn.functional.cross_entropy(logits, labels, reduction="none")

    return lambda: losses(logits, labels)


def _torch_gradient(torch, np, compiled):
    logits, labels = map(torch.from_numpy, _logits(np))
    logits.requires_grad_()

    @compiled
    def losses(logits, labels):
        return torch.nn.functional.cross_entropy(logits, labels, reduction="none")

    def gradient():
        each = losses(logits, labels)
        return each, *torch.autograd.grad(each.sum(), logits)

    return gradient
