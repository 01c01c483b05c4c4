"""The convolutional training step of `cnn.py` with a loss of some of the images only, compiled.

How many they are only a run tells, which XLA and JAX refuse.  (Those who know that can multiply by
the mask instead; this is the program as it is mostly written.)
"""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

from benchmarks.declare import Ratio, benchmark
from benchmarks.topics import cnn


def _mask(np):
    """Which of the 64 images count: about four of five."""
    return np.random.default_rng(1).random(64) < 0.8


@benchmark("compiled.masked_loss", aims=[Ratio(0.5)], settle=1.0)
class Step:
    """A CNN training step (batch 64, SGD), loss of masked labels; NumPy: its products alone."""

    def numpy(np):
        return cnn.matrix_products(np)

    def tf(tf, np):
        return cnn.tensorflow_step(tf, np, tf.function, _mask(np))

    def torch(torch, np):
        return cnn.torch_step(torch, np, torch.contiguous_format, mask=_mask(np))

    def torch_channels_last(torch, np):
        return cnn.torch_step(torch, np, torch.channels_last, mask=_mask(np))
