"""Gradients of loops that run until what they compute says so: nobody knows how often beforehand.

JAX takes no part: reverse-mode derivatives of its `while_loop` are refused.  XLA neither: it must
know the largest number of iterations.
"""

# pyright: reportSelfClsParameterName=false

from __future__ import annotations

from benchmarks.declare import Ratio, benchmark

NEAR = 1e-4


def _data(np, batch, width):
    random = np.random.default_rng(0)
    weights = (random.standard_normal((width, width)) * 0.6 / width**0.5).astype("float32")
    return random.standard_normal((batch, width)).astype("float32"), weights


@benchmark(
    "compiled.fixed_point", sweep={"size": ["1x16", "32x128"]}, aims=[Ratio(0.5)], settle=1.0
)
class FixedPoint:
    """z = tanh(z @ w + x) until z moves by less than 1e-4, and the gradient by w of its squares."""

    def numpy(np, size):
        x, w = _data(np, *map(int, size.split("x")))

        def gradient():
            z, values, change = np.zeros_like(x), [], 1.0
            while change > NEAR:
                values.append(z)
                z = np.tanh(z @ w + x)
                change = np.abs(z - values[-1]).max()
            g, total = 2 * z, np.zeros_like(w)
            after = z
            for before in values[::-1]:
                g = g * (1 - after * after)
                total += before.T @ g
                g, after = g @ w.T, before
            return total

        return gradient

    def tf(tf, np, size):
        x, w = map(tf.constant, _data(np, *map(int, size.split("x"))))

        @tf.function
        def gradient(x, w):
            with tf.GradientTape() as tape:
                tape.watch(w)
                z, change = tf.zeros_like(x), tf.constant(1.0)
                while change > NEAR:
                    before = z
                    z = tf.tanh(z @ w + x)
                    change = tf.reduce_max(tf.abs(z - before))
                loss = tf.reduce_sum(z * z)
            return tape.gradient(loss, w)

        return lambda: gradient(x, w)

    def torch(torch, np, size):
        x, w = map(torch.from_numpy, _data(np, *map(int, size.split("x"))))
        w.requires_grad_()

        def gradient():
            z, change = torch.zeros_like(x), 1.0
            while change > NEAR:
                before = z
                z = torch.tanh(z @ w + x)
                change = (z - before).detach().abs().max()
            return torch.autograd.grad((z * z).sum(), w)[0]

        return gradient
