"""tf.function: the cost of tracing, of a call, and of gradients of loops."""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

from benchmarks.declare import AtMost, Flat, Ratio, benchmark


@benchmark("function.call", aims=[AtMost(15e-6), Ratio(0.08, of="tensorflow")])
class Call:
    """The call of a traced tf.function of one small operation."""

    def tf(tf):
        x = tf.constant(1.0)
        traced = tf.function(lambda x: tf.tanh(x))
        traced(x)
        return lambda: traced(x)

    def jax(jax, jnp):
        x = jnp.asarray(1.0)
        traced = jax.jit(jnp.tanh)
        return lambda: traced(x).block_until_ready()


@benchmark("function.trace", aims=[AtMost(10e-3), Ratio(0.1, of="tensorflow")])
class Trace:
    """Tracing a function of 1,000 operations."""

    def tf(tf):
        x = tf.constant(1.0)

        def steps(x):
            for _ in range(500):
                x = x * 1.01 + 0.5
            return x

        def trace():
            tf.function(steps, autograph=False).get_concrete_function(x)

        return trace

    def jax(jax, jnp):
        x = jnp.asarray(1.0)

        def steps(x):
            for _ in range(500):
                x = x * 1.01 + 0.5
            return x

        def trace():
            jax.make_jaxpr(steps)(x)

        return trace


@benchmark(
    "function.loop",
    aims=[Flat(1.5), Ratio(1.0, of="tensorflow")],
    sweep={"iterations": [10, 100, 1_000, 10_000]},
    per="iterations",
)
class Loop:
    """The gradient of a tf.while_loop in a function, per iteration."""

    def tf(tf, iterations):
        x = tf.constant(0.5)

        @tf.function
        def repeated(x):
            _, y = tf.while_loop(
                lambda i, y: i < iterations, lambda i, y: (i + 1, tf.sin(y) * x), (0, x)
            )
            return y

        def gradient():
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = repeated(x)
            return tape.gradient(y, x)

        gradient()
        return gradient
