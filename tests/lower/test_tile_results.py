"""What is computed from the tiles of products and convolutions, long and short, in either order."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

SHAPES = [(64, 32, 96), (29, 65, 33), (130, 40, 200), (17, 5, 8), (300, 64, 640), (12, 600, 640)]


def drawn(*shapes):
    random = np.random.default_rng(0)
    return [tf.constant(random.normal(size=shape).astype("float32")) for shape in shapes]


def loops(function, *arguments):
    return function.experimental_get_compiler_ir(*arguments)("optimized_hlo")


def agree(function, *arguments, threads=(1, 2)):
    with settings.executor("interpret"):
        wanted = np.asarray(function(*arguments))
    for count in threads:
        with settings.executor("llvm"), settings.threads(count):
            found = np.asarray(function(*arguments))
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("long", [False, True])
def test_products(shape, long):
    rows, k, n = shape
    x, y, z = drawn((rows, k), (k, n), (rows, n))

    @tf.function
    def f(x, y, z):
        return (x @ y) * (tf.exp(-z * z) + tf.math.erf(z) if long else z) + 1.0

    agree(f, x, y, z)


@pytest.mark.parametrize("long", [False, True])
def test_many_products(long):
    x, y, z = drawn((6, 40, 16), (6, 16, 72), (72,))

    @tf.function
    def f(x, y, z):
        found = x @ y + z
        return tf.nn.gelu(found, approximate=False) if long else found

    agree(f, x, y, z)


@pytest.mark.parametrize("size", [1, 3])
def test_convolutions(size):
    x, filters, bias = drawn((2, 9, 11, 5), (size, size, 5, 40), (40,))

    @tf.function
    def f(x, filters, bias):
        return tf.nn.gelu(tf.nn.conv2d(x, filters, 2, "SAME") + bias)

    agree(f, x, filters, bias)


def test_a_long_result_is_put_aside():
    """A chain of instructions is not written out for each of 24 vectors."""
    x, y = drawn((64, 32), (32, 96))
    short = tf.function(lambda x, y: tf.nn.relu(x @ y))
    long = tf.function(lambda x, y: tf.math.erf(tf.exp(x @ y)))
    assert "scratch" not in loops(short, x, y)
    text = loops(long, x, y)
    assert "tile" in text and "scratch" in text


def test_the_sum_of_several_parts():
    """A long k goes in parts, whose sums lie in memory between."""
    x, y = drawn((33, 2100), (2100, 70))
    agree(tf.function(lambda x, y: tf.math.erf(tf.exp(-tf.square(x @ y / 40.0)))), x, y)


@pytest.mark.parametrize("rows", [12, 13, 24, 97])
def test_one_tile_beside_shared_ones(rows):
    """What one thread puts aside, no other thread reads: such a tile is in a shared loop, too."""
    x, y = drawn((rows, 512), (512, 40))
    agree(tf.function(lambda x, y: tf.math.erf(tf.exp((x @ y) / 20.0))), x, y)
