"""Padding as loops: rows of few channels are padded as rows of numbers."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.lower.ir.loops import For, Kernel
from talweg.lower.ir.visitors import all_statements
from tests.lower.controlled import agree, blocks_of

PADDINGS = {
    "around": [[0, 0], [2, 1], [3, 2], [0, 0]],
    "rows": [[0, 0], [2, 0], [0, 0], [0, 0]],
    "images": [[1, 2], [0, 0], [0, 0], [0, 0]],
    "nothing": [[0, 0]] * 4,
    "channels": [[0, 0], [1, 1], [0, 0], [0, 2]],
}


@pytest.mark.parametrize("channels", [0, 1, 3, 16])
@pytest.mark.parametrize("name", PADDINGS)
def test_all_paddings(name, channels):
    x = np.random.default_rng(0).standard_normal((2, 5, 7, channels)).astype("float32")
    agree(lambda x: tf.pad(2.0 * x, PADDINGS[name], constant_values=1.5), x)


def test_vectors_are_filled():
    """A vector had the three channels of one pixel."""
    lowered = agree(lambda x: tf.pad(x, PADDINGS["around"]), np.ones((2, 20, 30, 3), "float32"))
    (kernel,) = blocks_of(lowered, Kernel)
    loops = [s for s in all_statements(kernel.body) if type(s) is For and s.kind == "vector"]
    assert [loop.axis.extent for loop in loops] == [35 * 3]
