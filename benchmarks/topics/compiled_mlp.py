"""A dense network trained by Adam, compiled: many small elementwise updates beside a few products.

Batch 128, 784-256-128-10, relu, cross entropy.  Adam (Kingma and Ba 2015, algorithm 1) is written
out by hand with variables for both moments; what is compared is what two steps do to all of them.
"""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

from benchmarks.declare import Ratio, benchmark
from benchmarks.models import moved, scaled
from benchmarks.topics.cnn import xla

BATCH = 128
WIDTHS = (784, 256, 128, 10)
RATE, FIRST, SECOND, EPSILON = 1e-6, 0.9, 0.999, 1e-8  # slow, so that it never converges


@benchmark("compiled.mlp", aims=[Ratio(0.8)], settle=1.0)
class Step:
    """A training step of 784-256-128-10 (batch 128, Adam by hand); NumPy: the same by hand."""

    def numpy(np):
        return _numpy_step(np)

    def tf(tf, np):
        return _tensorflow_step(tf, np, tf.function)

    def tensorflow_xla(tf, np):
        return _tensorflow_step(tf, np, xla(tf))

    def jax_jit(jax, jnp, np):
        return _jax_step(jax, jnp, np)

    def torch(torch, np):
        return _torch_step(torch, np, lambda function: function)

    def torch_fused(torch, np):
        return _torch_fused_step(torch, np)

    def torch_compiled(torch, np):
        return _torch_step(torch, np, torch.compile)


def _model(np):
    """[weights, bias] of each layer in one list, images, labels."""
    random = np.random.default_rng(0)
    parameters = []
    for shape in zip(WIDTHS, WIDTHS[1:], strict=False):
        parameters += [scaled(random, shape), np.zeros(shape[1], "float32")]
    images = random.normal(size=(BATCH, WIDTHS[0])).astype("float32")
    return parameters, images, random.integers(0, WIDTHS[-1], BATCH)


def _evidence(np, step, before, state):
    """The loss, how far parameters moved, and the moments, after a further step."""

    def evidence():
        value = step()
        parameters, firsts, seconds, _ = state()
        none = [np.zeros_like(value) for value in before]
        deviations = [np.sqrt(np.asarray(second)) for second in seconds]
        return [
            value,
            *moved(np, before, parameters, RATE),
            *moved(np, none, firsts, 1),
            *moved(np, none, deviations, 1),
        ]

    return evidence


def _numpy_step(np):
    before, images, labels = _model(np)
    parameters = [value.copy() for value in before]
    firsts, seconds = ([np.zeros_like(p) for p in before] for _ in range(2))
    count, rows = 0, np.arange(BATCH)

    def step():
        nonlocal count
        count += 1
        value, gradients = _numpy_gradients(np, parameters, images, labels, rows)
        scale1, scale2 = 1 / (1 - FIRST**count), 1 / (1 - SECOND**count)
        for p, m, v, g in zip(parameters, firsts, seconds, gradients, strict=True):
            m += (1 - FIRST) * (g - m)
            v += (1 - SECOND) * (g * g - v)
            p -= RATE * scale1 * m / (np.sqrt(scale2 * v) + EPSILON)
        return value

    return step, _evidence(np, step, before, lambda: (parameters, firsts, seconds, count))


def _numpy_gradients(np, parameters, images, labels, rows):
    w1, b1, w2, b2, w3, b3 = parameters
    one = np.maximum(images @ w1 + b1, 0)
    two = np.maximum(one @ w2 + b2, 0)
    logits = two @ w3 + b3
    logits -= logits.max(axis=1, keepdims=True)
    exponentials = np.exp(logits)
    sums = exponentials.sum(axis=1, keepdims=True)
    value = (np.log(sums[:, 0]) - logits[rows, labels]).mean()
    delta3 = exponentials / sums
    delta3[rows, labels] -= 1
    delta3 /= BATCH
    delta2 = (delta3 @ w3.T) * (two > 0)
    delta1 = (delta2 @ w2.T) * (one > 0)
    pairs = (images, delta1), (one, delta2), (two, delta3)
    return value, [part for x, d in pairs for part in (x.T @ d, d.sum(axis=0))]


def _tensorflow_step(tf, np, compiled):
    before, images, labels = _model(np)
    parameters = [tf.Variable(value) for value in before]
    firsts, seconds = ([tf.Variable(tf.zeros(p.shape)) for p in before] for _ in range(2))
    count = tf.Variable(0.0)
    images, labels = tf.constant(images), tf.constant(labels)

    def loss():
        w1, b1, w2, b2, w3, b3 = parameters
        x = tf.nn.relu(tf.matmul(images, w1) + b1)
        x = tf.nn.relu(tf.matmul(x, w2) + b2)
        logits = tf.matmul(x, w3) + b3
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return tf.reduce_mean(losses)

    def adam():
        with tf.GradientTape() as tape:
            value = loss()
        gradients = tape.gradient(value, parameters)
        count.assign_add(1.0)
        scale1, scale2 = 1 / (1 - FIRST**count), 1 / (1 - SECOND**count)
        for p, m, v, g in zip(parameters, firsts, seconds, gradients, strict=True):
            m.assign(FIRST * m + (1 - FIRST) * g)
            v.assign(SECOND * v + (1 - SECOND) * g * g)
            p.assign_sub(RATE * scale1 * m / (tf.sqrt(scale2 * v) + EPSILON))
        return value

    step = compiled(adam)
    return step, _evidence(np, step, before, lambda: (parameters, firsts, seconds, count))


def _jax_step(jax, jnp, np):
    before, images, labels = _model(np)
    images, labels, rows = jnp.asarray(images), jnp.asarray(labels), jnp.arange(BATCH)
    zeros = [jnp.zeros(value.shape) for value in before]
    copies = [jnp.array(value) for value in before]  # donated to the first step
    state = copies, zeros, [jnp.array(zero) for zero in zeros], jnp.array(0.0)

    def loss(parameters, images, labels):
        w1, b1, w2, b2, w3, b3 = parameters
        x = jax.nn.relu(images @ w1 + b1)
        x = jax.nn.relu(x @ w2 + b2)
        return -jax.nn.log_softmax(x @ w3 + b3)[rows, labels].mean()

    def adam(state, images, labels):
        parameters, firsts, seconds, count = state
        value, gradients = jax.value_and_grad(loss)(parameters, images, labels)
        count = count + 1
        scale1, scale2 = 1 / (1 - FIRST**count), 1 / (1 - SECOND**count)

        def moved_by(p, m, v):
            return p - RATE * scale1 * m / (jnp.sqrt(scale2 * v) + EPSILON)

        firsts = [FIRST * m + (1 - FIRST) * g for m, g in zip(firsts, gradients, strict=True)]
        seconds = [SECOND * v + (1 - SECOND) * g * g for v, g in zip(seconds, gradients)]
        parameters = [moved_by(*each) for each in zip(parameters, firsts, seconds, strict=True)]
        return value, (parameters, firsts, seconds, count)

    update = jax.jit(adam, donate_argnums=0)

    def step():
        nonlocal state
        value, state = update(state, images, labels)
        return value.block_until_ready()

    return step, _evidence(np, step, before, lambda: state)


def _torch_loss(torch, images, labels, compiled):
    def loss(w1, b1, w2, b2, w3, b3):
        x = torch.relu(images @ w1 + b1)
        x = torch.relu(x @ w2 + b2)
        return torch.nn.functional.cross_entropy(x @ w3 + b3, labels)

    return compiled(loss)


def _torch_step(torch, np, compiled):
    before, images, labels = _model(np)
    leaves = [torch.tensor(value).requires_grad_() for value in before]
    firsts, seconds = ([torch.zeros(p.shape) for p in before] for _ in range(2))
    count = torch.tensor(0.0)
    loss = _torch_loss(torch, torch.from_numpy(images), torch.from_numpy(labels), compiled)

    @compiled
    def adam(leaves, firsts, seconds, gradients):
        count.add_(1)
        scale1, scale2 = 1 / (1 - FIRST**count), 1 / (1 - SECOND**count)
        for p, m, v, g in zip(leaves, firsts, seconds, gradients, strict=True):
            m.mul_(FIRST).add_(g, alpha=1 - FIRST)
            v.mul_(SECOND).addcmul_(g, g, value=1 - SECOND)
            p.sub_(RATE * scale1 * m / (v * scale2).sqrt_().add_(EPSILON))

    def step():
        value = loss(*leaves)
        gradients = torch.autograd.grad(value, leaves)
        with torch.no_grad():
            adam(leaves, firsts, seconds, gradients)
        return value

    return step, _evidence(np, step, before, lambda: (leaves, firsts, seconds, count))


def _torch_fused_step(torch, np):
    """The same with PyTorch's own fused kernel for the update."""
    before, images, labels = _model(np)
    leaves = [torch.tensor(value).requires_grad_() for value in before]
    chosen = {"lr": RATE, "betas": (FIRST, SECOND), "eps": EPSILON, "fused": True}
    adam = torch.optim.Adam(leaves, **chosen)
    images, labels = torch.from_numpy(images), torch.from_numpy(labels)
    loss = _torch_loss(torch, images, labels, lambda function: function)

    def step():
        adam.zero_grad()
        value = loss(*leaves)
        value.backward()
        adam.step()
        return value

    def state():
        kept = [adam.state[leaf] for leaf in leaves]
        return leaves, [k["exp_avg"] for k in kept], [k["exp_avg_sq"] for k in kept], None

    return step, _evidence(np, step, before, state)
