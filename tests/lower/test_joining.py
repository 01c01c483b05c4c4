"""Stacks of many small tensors: made by loops, not by a call of the host."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.lower.ir.loops import Host
from tests.lower.controlled import agree, blocks_of


@pytest.mark.parametrize("machine", [False, True])
@pytest.mark.parametrize("dims, axis", [((), 0), ((3,), 0), ((3,), 1), ((2, 3), 1), ((2, 3), -1)])
@pytest.mark.parametrize("count", [8, 9, 65, 130])
def test_small_tensors(count, dims, axis, machine):
    x = np.random.default_rng(0).standard_normal((count, *dims)).astype("float32")
    lowered = agree(
        lambda x: tf.stack([x[i] * 2.0 for i in range(count)], axis), x, machine=machine
    )
    assert not blocks_of(lowered, Host)


def test_whether_all_gradients_are_finite():
    """Keras asks so in each step with a scaled loss."""
    parts = [np.ones(size, "float16") for size in range(1, 70)]
    parts[40][3] = np.inf

    def finite(*parts):
        return tf.reduce_all(tf.stack([tf.reduce_all(tf.math.is_finite(x)) for x in parts]))

    assert not blocks_of(agree(finite, *parts), Host)
