"""The convolutional training step of `cnn.py`, compiled by everybody."""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

from benchmarks.declare import Ratio, benchmark
from benchmarks.topics import cnn


@benchmark("compiled.cnn", aims=[Ratio(0.65)], settle=1.0)
class Step:
    """A CNN training step (batch 64, SGD); NumPy: its matrix products alone."""

    def numpy(np):
        return cnn.matrix_products(np)

    def tf(tf, np):
        return cnn.tensorflow_step(tf, np, tf.function)

    def tensorflow_xla(tf, np):
        return cnn.tensorflow_step(tf, np, cnn.xla(tf))

    def jax_jit(jax, jnp, np):
        return cnn.jax_step(jax, jnp, np, cnn.window_pool)

    def jax_reshape_pool(jax, jnp, np):
        return cnn.jax_step(jax, jnp, np, cnn.reshape_pool)

    def torch(torch, np):
        return cnn.torch_step(torch, np, torch.contiguous_format)

    def torch_channels_last(torch, np):
        return cnn.torch_step(torch, np, torch.channels_last)

    def torch_compiled(torch, np):
        return cnn.torch_step(torch, np, torch.contiguous_format, torch.compile)
