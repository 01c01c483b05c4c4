"""One small operation at a time: what the library adds to the array call underneath.

An absolute aim was set on a machine where NumPy needs 0.6 µs for `x + 1.0` and PyTorch 62 µs for
the polynomial of `tape`; the ratio beside it says the same on any other.
"""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

from benchmarks.declare import AtMost, Ratio, benchmark


def _matrices(np):
    random = np.random.default_rng(0)
    return [random.normal(size=(32, 32)).astype("float32") for _ in range(2)]


@benchmark("eager.multiply", aims=[Ratio(2.0, of="numpy")])
class Multiply:
    """x * y of two 32x32 float32 tensors."""

    def numpy(np):
        x, y = _matrices(np)
        return lambda: x * y

    def tf(tf, np):
        x, y = map(tf.constant, _matrices(np))
        return lambda: x * y

    def torch(torch, np):
        x, y = map(torch.from_numpy, _matrices(np))
        return lambda: x * y

    def jax(jnp, np):
        x, y = map(jnp.asarray, _matrices(np))
        return lambda: (x * y).block_until_ready()


@benchmark("eager.scalar", aims=[AtMost(1.5e-6), Ratio(2.5, of="numpy")])
class Scalar:
    """x + 1.0 of a float32 scalar tensor."""

    def numpy(np):
        x = np.array(2.0, "float32")
        return lambda: x + 1.0

    def tf(tf):
        x = tf.constant(2.0)
        return lambda: x + 1.0

    def torch(torch):
        x = torch.tensor(2.0)
        return lambda: x + 1.0

    def jax(jnp):
        x = jnp.asarray(2.0)
        return lambda: (x + 1.0).block_until_ready()


@benchmark("eager.matmul", aims=[Ratio(2.0, of="numpy")])
class MatrixProduct:
    """matmul(x, y) of two 32x32 float32 tensors."""

    def numpy(np):
        x, y = _matrices(np)
        return lambda: np.matmul(x, y)

    def tf(tf, np):
        x, y = map(tf.constant, _matrices(np))
        return lambda: tf.matmul(x, y)

    def torch(torch, np):
        x, y = map(torch.from_numpy, _matrices(np))
        return lambda: torch.matmul(x, y)

    def jax(jnp, np):
        x, y = map(jnp.asarray, _matrices(np))
        return lambda: jnp.matmul(x, y).block_until_ready()


@benchmark("eager.reduce_sum", aims=[Ratio(2.0, of="numpy")])
class ReduceSum:
    """The sum of a 32x32 float32 tensor over its last axis."""

    def numpy(np):
        x, _ = _matrices(np)
        return lambda: np.sum(x, axis=-1)

    def tf(tf, np):
        x = tf.constant(_matrices(np)[0])
        return lambda: tf.reduce_sum(x, axis=-1)

    def torch(torch, np):
        x = torch.from_numpy(_matrices(np)[0])
        return lambda: torch.sum(x, -1)

    def jax(jnp, np):
        x = jnp.asarray(_matrices(np)[0])
        return lambda: jnp.sum(x, axis=-1).block_until_ready()
