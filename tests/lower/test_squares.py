"""Transposed matrices whose rows conflict in cache are read in squares."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

SHAPES = [(512, 64), (1024, 128), (512, 512), (3, 512, 64), (1024, 96), (512, 100)]


def transposed(x):
    return tf.linalg.matrix_transpose(x) * 2.0 + 1.0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_agreement(shape, dtype):
    x = np.random.default_rng(0).normal(size=(*shape[:-2], shape[-1], shape[-2])).astype(dtype)
    function = tf.function(
        lambda x: (transposed(x), tf.linalg.matrix_transpose(x) + x[..., :1, :1])
    )
    for given in (x, np.swapaxes(x, -1, -2).copy()):
        for threads in (1, 2):
            with settings.executor("llvm"), settings.threads(threads):
                first, second = function(tf.constant(given))
            turned = np.swapaxes(given, -1, -2)
            np.testing.assert_array_equal(first, turned * 2 + np.asarray(1, dtype))
            np.testing.assert_array_equal(second, turned + given[..., :1, :1])


def test_squares_where_rows_conflict_only():
    loops = [
        tf.function(transposed).experimental_get_compiler_ir(tf.ones(shape))("optimized_hlo")
        for shape in ((64, 512), (64, 500))
    ]
    assert ["16 vector" in text for text in loops] == [True, False]
