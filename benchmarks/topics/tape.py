"""Gradients without a compiler: the cost of recording and of the sweep back."""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

from benchmarks.declare import AtMost, Flat, Ratio, Unfit, benchmark
from benchmarks.models import two_layers


@benchmark("tape.polynomial", aims=[AtMost(25e-6), Ratio(0.4, of="torch")])
class Polynomial:
    """Gradient of x**2 + 2*x + 1 at a float32 scalar, recorded and swept."""

    def numpy(np):
        x = np.array(3.0, "float32")
        return lambda: (x**2 + 2 * x + 1, 2 * x + 2)[1]

    def tf(tf):
        x = tf.Variable(3.0)

        def gradient():
            with tf.GradientTape() as tape:
                y = x**2 + 2 * x + 1
            return tape.gradient(y, x)

        return gradient

    def torch(torch):
        x = torch.tensor(3.0, requires_grad=True)
        return lambda: torch.autograd.grad(x**2 + 2 * x + 1, x)

    def jax(jax):
        gradient = jax.grad(lambda x: x**2 + 2 * x + 1)
        return lambda: gradient(3.0).block_until_ready()


@benchmark(
    "tape.chain",
    sweep={"length": [10, 100, 1_000, 10_000, 100_000]},
    per="length",
    aims=[Flat(1.5)],
)
class Chain:
    """Gradient of a chain of N eager multiplications of 8 numbers: the cost of one link."""

    def numpy(np, length):
        start, factor = _chain_values(np)

        def gradient():
            y = start
            for _ in range(length):
                y = y * factor
            cotangent = np.ones_like(y)
            for _ in range(length):
                cotangent = cotangent * factor
            return cotangent

        return gradient

    def tf(tf, np, peer, length):
        if peer == "tensorflow" and length > 10_000:
            raise Unfit("takes many seconds a call")
        start, factor = map(tf.constant, _chain_values(np))

        def gradient():
            with tf.GradientTape() as tape:
                tape.watch(start)
                y = start
                for _ in range(length):
                    y = y * factor
            return tape.gradient(y, start)

        return gradient

    def torch(torch, np, length):
        start, factor = map(torch.from_numpy, _chain_values(np))
        start.requires_grad_()

        def gradient():
            y = start
            for _ in range(length):
                y = y * factor
            return torch.autograd.grad(y.sum(), start)

        return gradient

    def jax(jax, jnp, np, length):
        if length > 1_000:
            raise Unfit("takes many seconds a call")
        start, factor = map(jnp.asarray, _chain_values(np))

        def chain(y):
            for _ in range(length):
                y = y * factor
            return y.sum()

        gradient = jax.grad(chain)
        return lambda: gradient(start).block_until_ready()


def _chain_values(np):
    return np.linspace(1, 2, 8, dtype="float32"), np.full(8, 1 + 2**-20, "float32")


@benchmark("tape.network", aims=[Ratio(1.0, of="torch")])
class Network:
    """Gradient of a 100-64-10 network (relu, cross entropy, batch 32), eager, no update."""

    def numpy(np):
        parameters, features, labels = two_layers(np)
        rows = np.arange(32)

        def gradient():
            w1, b1, w2, b2 = parameters
            before = features @ w1 + b1
            hidden = np.maximum(before, 0)
            logits = hidden @ w2 + b2
            exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
            delta = exponentials / exponentials.sum(axis=1, keepdims=True)
            delta[rows, labels] -= 1
            delta /= len(labels)
            back = (delta @ w2.T) * (before > 0)
            return [features.T @ back, back.sum(axis=0), hidden.T @ delta, delta.sum(axis=0)]

        return gradient

    def tf(tf, np):
        parameters, features, labels = two_layers(np)
        w1, b1, w2, b2 = variables = [tf.Variable(value) for value in parameters]
        features, labels = tf.constant(features), tf.constant(labels)

        def gradient():
            with tf.GradientTape() as tape:
                hidden = tf.nn.relu(tf.matmul(features, w1) + b1)
                logits = tf.matmul(hidden, w2) + b2
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
                loss = tf.reduce_mean(losses)
            return tape.gradient(loss, variables)

        return gradient

    def torch(torch, np):
        parameters, features, labels = two_layers(np)
        w1, b1, w2, b2 = leaves = [torch.from_numpy(p).requires_grad_() for p in parameters]
        features, labels = torch.from_numpy(features), torch.from_numpy(labels)

        def gradient():
            hidden = torch.relu(features @ w1 + b1)
            loss = torch.nn.functional.cross_entropy(hidden @ w2 + b2, labels)
            return torch.autograd.grad(loss, leaves)

        return gradient

    def jax(jax, jnp, np):
        parameters, features, labels = two_layers(np)
        parameters, features = [jnp.asarray(p) for p in parameters], jnp.asarray(features)
        rows, labels = jnp.arange(32), jnp.asarray(labels)

        def loss(parameters):
            w1, b1, w2, b2 = parameters
            logits = jax.nn.relu(features @ w1 + b1) @ w2 + b2
            return -jax.nn.log_softmax(logits)[rows, labels].mean()

        gradient = jax.grad(loss)
        return lambda: jax.block_until_ready(gradient(parameters))
