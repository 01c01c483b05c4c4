"""Elementwise kernels of a few numbers along the last axes run in long inner loops."""

import ml_dtypes
import numpy as np
import pytest

from talweg.kernels.broadcasting import SHORT, apply_in_long_loops, spread

LONG = [  # shapes of x and y, of which NumPy's inner loop would be y's last axis
    ((30, 40, 3), (3,)),
    ((30, 40, 3), (1, 1, 3)),
    ((7, 300, 16), (16,)),
    ((4096, 5), (5,)),
    ((3, 700, 2, 3), (2, 3)),
]
OTHERS = [  # where NumPy is left alone: shapes that are not joined, or loops that are long
    ((30, 40, 3), (30, 40, 3)),
    ((30, 40, 3), (40, 1)),
    ((30, 40, 3), (30, 1, 3)),
    ((30, 40, 3), ()),
    ((30, 40, 3), (1,)),
    ((30, 200), (200,)),
    ((3,), (30, 40, 3)),
    ((1, 40, 3), (30, 1, 3)),
    ((2, 3), (3,)),
    ((20011, 3), (3,)),  # a prime number of rows
]


def run(shape, other):
    """What the function gives, what NumPy gives, and the shapes that the kernel was called with."""
    random = np.random.default_rng(0)
    x, y = random.normal(size=shape).astype("f"), random.normal(size=other).astype("f")
    seen = []

    def kernel(x, y):
        seen.append((x.shape, y.shape))
        return np.subtract(x, y)

    return apply_in_long_loops(kernel, x, y), x - y, seen


@pytest.mark.parametrize("shape, other", LONG)
def test_short_operands_are_repeated(shape, other):
    found, wanted, seen = run(shape, other)
    np.testing.assert_array_equal(found, wanted)
    ((rows, length), repeated) = seen[0]
    assert repeated == (length,) and length >= SHORT and rows * length == wanted.size


@pytest.mark.parametrize("shape, other", OTHERS)
def test_others_are_left_to_numpy(shape, other):
    found, wanted, seen = run(shape, other)
    np.testing.assert_array_equal(found, wanted)
    assert seen == [(shape, other)]


def test_strided_operands_are_left_to_numpy():
    x = np.zeros((30, 40, 6), "f")[:, :, ::2]
    assert apply_in_long_loops(np.add, x, np.ones(3, "f")).sum() == x.size


@pytest.mark.parametrize("dtype", ("float32", "bool", "complex64", "object", ml_dtypes.bfloat16))
@pytest.mark.parametrize(
    "lead, shape", (((3, 1, 2), (5, 3, 4, 2)), ((), (70, 90)), ((1,), (0, 4)), ((2, 0), (3, 2, 0)))
)
@pytest.mark.parametrize("turned", (False, True))
def test_spread_is_a_view_that_nobody_writes(lead, shape, dtype, turned):
    x = np.arange(np.prod(lead, dtype=int)).reshape(lead).astype(dtype)
    if turned:
        x, shape = x.T, (9, *x.T.shape)
    found, wanted = spread(x, shape), np.broadcast_to(x, shape)
    assert found.dtype == wanted.dtype and not found.flags.writeable
    np.testing.assert_array_equal(found, wanted)
    assert not found.size or np.shares_memory(found, x)
