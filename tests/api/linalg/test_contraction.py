"""einsum and tensordot against NumPy on random equations, and their derivatives."""

from __future__ import annotations

import random

import numpy as np
import pytest

import talweg as tf


def random_equation(seed):
    """An equation over six labels, repeated ones included, with fitting arrays."""
    choose = random.Random(seed)
    numbers = np.random.default_rng(seed)
    sizes = {label: choose.choice([1, 2, 3]) for label in "abcdef"}
    count = choose.choice([1, 2, 2, 2, 3, 4])
    inputs = ["".join(choose.choices("abcdef", k=choose.randint(0, 4))) for _ in range(count)]
    labels = sorted(set("".join(inputs)))
    output = "".join(choose.sample(labels, choose.randint(0, min(4, len(labels)))))
    arrays = [numbers.standard_normal([sizes[label] for label in part]) for part in inputs]
    return ",".join(inputs) + "->" + output, arrays


@pytest.mark.parametrize("optimize", ["greedy", "optimal", False])
@pytest.mark.parametrize("seed", range(40))
def test_einsum_is_numpys(seed, optimize):
    equation, arrays = random_equation(seed)
    got = tf.einsum(equation, *map(tf.constant, arrays), optimize=optimize).numpy()
    np.testing.assert_allclose(got, np.einsum(equation, *arrays), atol=1e-10, err_msg=equation)


@pytest.mark.parametrize("seed", range(20))
def test_einsum_gradient_is_the_adjoint(seed):
    equation, arrays = random_equation(seed)
    tangents = [np.cos(3 * a + 1) for a in arrays]
    operands = [tf.constant(a) for a in arrays]
    accumulator = tf.autodiff.ForwardAccumulator(operands, [tf.constant(t) for t in tangents])
    with accumulator as forward, tf.GradientTape() as tape:
        tape.watch(operands)
        z = tf.einsum(equation, *operands)
    g = np.sin(np.arange(z.numpy().size) + 1.0).reshape(z.shape)
    pulled = tape.gradient(z, operands, tf.constant(g))
    left = np.sum(g * forward.jvp(z).numpy())
    right = sum(np.sum(p.numpy() * t) for p, t in zip(pulled, tangents))
    assert left == pytest.approx(right, abs=1e-9), equation


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("...ij,...jk->...ik", [(5, 1, 2, 3), (4, 3, 2)]),
        ("b...i,b...j->b...ij", [(2, 3, 2), (2, 1, 4)]),
        ("i...,...i->...", [(3, 2, 1), (4, 3)]),
        ("...i->i...", [(2, 3, 4)]),
        ("ii...->...i", [(3, 3, 2)]),
        ("...,...->...", [(2, 3), ()]),
        ("bqdh,bkdh->bhqk", [(2, 3, 4, 2), (2, 5, 4, 2)]),
        ("ji,kj->ik", [(3, 2), (4, 3)]),
        ("abc,cba->", [(2, 3, 4), (4, 3, 2)]),
    ],
)
def test_einsum_forms(equation, shapes):
    numbers = np.random.default_rng(0)
    arrays = [numbers.standard_normal(shape) for shape in shapes]
    wanted = np.einsum(equation, *arrays)
    for _ in range(2):  # the second call takes the kept program
        np.testing.assert_allclose(tf.einsum(equation, *map(tf.constant, arrays)), wanted)


@pytest.mark.parametrize("axes", [0, 1, 2, ([0, 2], [2, 1]), [[-1], [-2]]])
def test_tensordot_is_numpys(axes):
    numbers = np.random.default_rng(0)
    a, b = numbers.standard_normal((3, 2, 4)), numbers.standard_normal((2, 4, 3))
    if axes == 1:
        b = np.swapaxes(b, 0, 1)
    np.testing.assert_allclose(tf.tensordot(a, b, axes), np.tensordot(a, b, axes))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
@pytest.mark.parametrize("size", [3, 40])
@pytest.mark.parametrize("large", [False, True])
def test_integer_products_wrap_as_numpys(dtype, size, large):
    top = np.iinfo(dtype).max if large else 9
    numbers = np.random.default_rng(0)
    a, b = (numbers.integers(0, top, (size, size)).astype(dtype) for _ in range(2))
    np.testing.assert_array_equal(tf.matmul(a, b).numpy(), a @ b)


def test_many_matrices_times_one():
    numbers = np.random.default_rng(0)
    a, b = numbers.standard_normal((5, 2, 3, 4)), numbers.standard_normal((4, 2))
    x, w = tf.constant(a), tf.constant(b)
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        z = tf.matmul(x, w)
    gx, gw = tape.gradient(z, [x, w])
    np.testing.assert_allclose(z, a @ b)
    np.testing.assert_allclose(gx, np.broadcast_to(b.sum(1), a.shape))
    np.testing.assert_allclose(gw, np.broadcast_to(a.sum((0, 1, 2))[:, None], b.shape))
