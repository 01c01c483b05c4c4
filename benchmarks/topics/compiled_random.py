"""Random numbers in compiled programs: many at once, masks and noise, a few in each trip of a loop.

JAX draws from a key that is handed on, as its users write it.  Numbers are compared by what is
certain of them: moments to two digits, and that proposals are mostly accepted.
"""

# pyright: reportSelfClsParameterName=false

from __future__ import annotations

from benchmarks.declare import Ratio, benchmark
from benchmarks.topics.cnn import xla

COUNT = 1_000_000
RATE = 0.3
TRIPS = 1000


def _moments(np, draw):
    """`draw`, and the mean and deviation of what it gives, to two digits."""

    def evidence():
        x = np.asarray(draw(), np.float64)
        return [abs(round(float(x.mean()), 2)), round(float(x.std()), 2)]

    return draw, evidence


@benchmark("compiled.random", sweep={"kind": ["uniform", "normal"]}, aims=[Ratio(0.7)], settle=1.0)
class Random:
    """1,000,000 float32 numbers."""

    def numpy(np, kind):
        random = np.random.default_rng(0)
        draw = random.random if kind == "uniform" else random.standard_normal
        return _moments(np, lambda: draw(COUNT, np.float32))

    def tf(tf, np, kind):
        draw = getattr(tf.random, kind)
        return _moments(np, tf.function(lambda: draw([COUNT])))

    def tensorflow_xla(tf, np, kind):
        draw = getattr(tf.random, kind)
        return _moments(np, xla(tf)(lambda: draw([COUNT])))

    def jax_jit(jax, jnp, np, kind):
        @jax.jit
        def numbers(key):
            key, own = jax.random.split(key)
            return key, getattr(jax.random, kind)(own, (COUNT,))

        key = jax.random.key(0)

        def draw():
            nonlocal key
            key, found = numbers(key)
            return found.block_until_ready()

        return _moments(np, draw)

    def torch(torch, np, kind):
        draw = torch.rand if kind == "uniform" else torch.randn
        return _moments(np, lambda: draw(COUNT))


@benchmark("compiled.dropout", aims=[Ratio(0.5)], settle=1.0)
class Dropout:
    """The sum of squares of a dropout (0.3) of 4096x1024, and its gradient."""

    def tf(tf, np):
        return _tensorflow_dropout(tf, np, tf.function)

    def tensorflow_xla(tf, np):
        return _tensorflow_dropout(tf, np, xla(tf))

    def jax_jit(jax, jnp, np):
        def loss(x, key):
            kept = jax.random.bernoulli(key, 1 - RATE, x.shape)
            return jnp.square(jnp.where(kept, x / (1 - RATE), 0)).sum()

        @jax.jit
        def gradient(x, key):
            key, own = jax.random.split(key)
            return key, jax.grad(loss)(x, own)

        key, x = jax.random.key(0), jnp.asarray(_images(np))

        def step():
            nonlocal key
            key, found = gradient(x, key)
            return found.block_until_ready()

        return _moments(np, step)

    def torch(torch, np):
        return _torch_dropout(torch, np, lambda function: function)

    def torch_compiled(torch, np):
        return _torch_dropout(torch, np, torch.compile)


def _images(np):
    return np.random.default_rng(0).standard_normal((4096, 1024), dtype="float32")


def _tensorflow_dropout(tf, np, compiled):
    x = tf.constant(_images(np))

    @compiled
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.square(tf.nn.dropout(x, RATE)))
        return tape.gradient(loss, x)

    return _moments(np, lambda: gradient(x))


def _torch_dropout(torch, np, compiled):
    x = torch.from_numpy(_images(np)).requires_grad_()

    @compiled
    def loss(x):
        return torch.nn.functional.dropout(x, RATE).square().sum()

    return _moments(np, lambda: torch.autograd.grad(loss(x), x)[0])


@benchmark("compiled.metropolis", aims=[Ratio(0.5)], settle=1.0)
class Metropolis:
    """1000 trips of a Markov chain in the plane: three random numbers each, and a choice."""

    def numpy(np):
        random = np.random.default_rng(0)

        def walk():
            x, moved = np.full(2, 0.5, np.float32), 0
            for _ in range(TRIPS):
                to = x + np.float32(0.5) * random.standard_normal(2, np.float32)
                if np.log(random.random(dtype=np.float32)) < 0.5 * (x @ x - to @ to):
                    x, moved = to, moved + 1
            return x, moved

        return _walked(walk)

    def tf(tf):
        return _tensorflow_walk(tf, tf.function)

    def tensorflow_xla(tf):
        return _tensorflow_walk(tf, xla(tf))

    def jax_jit(jax, jnp):
        def trip(_, carried):
            key, x, moved = carried
            key, first, second = jax.random.split(key, 3)
            to = x + 0.5 * jax.random.normal(first, (2,))
            gain = 0.5 * (jnp.sum(x**2) - jnp.sum(to**2))
            accepted = jnp.log(jax.random.uniform(second)) < gain
            return key, jnp.where(accepted, to, x), moved + accepted

        @jax.jit
        def chain(key):
            return jax.lax.fori_loop(0, TRIPS, trip, (key, jnp.full(2, 0.5), 0))

        key = jax.random.key(0)

        def walk():
            nonlocal key
            key, x, moved = chain(key)
            return x.block_until_ready(), moved

        return _walked(walk)

    def torch(torch):
        def walk():
            x, moved = torch.full((2,), 0.5), 0
            for _ in range(TRIPS):
                to = x + 0.5 * torch.randn(2)
                if torch.rand(()).log() < 0.5 * (x.square().sum() - to.square().sum()):
                    x, moved = to, moved + 1
            return x, moved

        return _walked(walk)


def _tensorflow_walk(tf, compiled):
    @compiled
    def chain():
        x, moved = tf.constant([0.5, 0.5]), 0
        for _ in tf.range(TRIPS):
            to = x + 0.5 * tf.random.normal([2])
            gain = 0.5 * (tf.reduce_sum(x**2) - tf.reduce_sum(to**2))
            if tf.math.log(tf.random.uniform([])) < gain:
                x, moved = to, moved + 1
        return x, moved

    return _walked(chain)


def _walked(walk):
    """`walk`, and whether it moves in most of its trips, but not in all."""
    return walk, lambda: [float(TRIPS / 2 < float(walk()[1]) < TRIPS)]
