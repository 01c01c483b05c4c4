"""Large arrays of awkward sizes, compiled: long reductions, primes, nothing, one element, 2 GB.

The other generated programs are small, so that there are many of them; what passes and loops do
with long arrays (parts for threads, blocks, rests) is reached here.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import settings as examples
from hypothesis import strategies as st

import talweg as tf
from talweg.core import settings
from talweg.core.dtypes import int64, of_numpy
from talweg.core.primitive import later
from talweg.execute.compilation import alone
from talweg.execute.llvm.runtime.executable import Executable
from talweg.lower.build import build
from talweg.passes.specialize.program import StaticProgram, Value

SIZES = (
    0,
    1,
    2,
    3,
    5,
    7,
    13,
    16,
    17,
    31,
    61,
    64,
    127,
    131,
    251,
    257,
    509,
    1021,
    4099,
    7919,
    32768,
    32771,
    65536,
    65537,
)
MOST = 200_000  # elements
FOLDS = {
    "sum": tf.reduce_sum,
    "mean": tf.reduce_mean,
    "max": tf.reduce_max,
    "min": tf.reduce_min,
    "logsumexp": tf.reduce_logsumexp,
    "variance": tf.math.reduce_variance,
    "any": lambda x, axis, keepdims: tf.reduce_any(x > 0.9, axis, keepdims),
    "norm": lambda x, axis, keepdims: tf.norm(x, axis=axis[0] if axis else None, keepdims=keepdims),
    "argmax": lambda x, axis, keepdims: tf.argmax(x, axis[0] if axis else 0),
    "softmax": lambda x, axis, keepdims: tf.nn.softmax(x, axis[0] if axis else -1),
    "cumsum": lambda x, axis, keepdims: tf.cumsum(x, axis[0] if axis else 0),
    "both": lambda x, axis, keepdims: x / (1 + tf.reduce_sum(tf.abs(x), axis, keepdims=True)),
}
BEFORE = {
    "nothing": lambda x: x,
    "squares": tf.square,
    "sines": lambda x: tf.sin(3 * x),
    "turned": tf.transpose,
    "reversed": lambda x: tf.reverse(x, [0]),
    "rest": lambda x: x[1:],
}
CLOSE = {"float32": 2e-4, "float64": 1e-9}


@st.composite
def shapes(draw):
    dims: list[int] = []
    for _ in range(draw(st.integers(1, 3))):
        dims.append(draw(st.sampled_from([n for n in SIZES if n * math.prod(dims) <= MOST])))
    return tuple(draw(st.permutations(dims)))


@examples(max_examples=16)
@example(dims=(65537,), chosen=[True], fold="sum", before="nothing", keep=False, dtype="float32")
@example(dims=(65537,), chosen=[True], fold="mean", before="rest", keep=True, dtype="float64")
@example(
    dims=(32771, 3), chosen=[True, False], fold="sum", before="squares", keep=False, dtype="float32"
)
@example(
    dims=(3, 65537), chosen=[False, True], fold="max", before="sines", keep=False, dtype="float64"
)
@example(
    dims=(65537, 0), chosen=[True, False], fold="sum", before="nothing", keep=False, dtype="float32"
)
@example(
    dims=(7919, 17),
    chosen=[True, True],
    fold="logsumexp",
    before="turned",
    keep=False,
    dtype="float64",
)
@given(
    dims=shapes(),
    chosen=st.lists(st.booleans(), min_size=3, max_size=3),
    fold=st.sampled_from(sorted(FOLDS)),
    before=st.sampled_from(sorted(BEFORE)),
    keep=st.booleans(),
    dtype=st.sampled_from(sorted(CLOSE)),
)
def test_reductions(dims, chosen, fold, before, keep, dtype):
    """Values and gradients are those of the interpreter."""
    axes = [axis for axis in range(len(dims)) if chosen[axis]]
    x = np.random.default_rng(sum(dims)).uniform(-1, 1, dims)
    x = tf.constant(x.astype(dtype))

    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            made = BEFORE[before](x)
            y = FOLDS[fold](made, axes, keep)
            z = tf.reduce_sum(tf.tanh(y)) if y.dtype.is_floating else 0 * tf.reduce_sum(x)
        return y, tape.gradient(z, x)

    found = []
    for executor in ("interpret", "llvm"):
        with settings.executor(executor):
            try:
                found.append([part.numpy() for part in tf.function(run)(x)])
            except (tf.errors.InvalidArgumentError, ValueError) as error:  # argmax of nothing
                found.append(type(error))
    wanted, given = found
    if isinstance(wanted, type):
        assert given is wanted
        return
    for one, other in zip(wanted, given, strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype
        if one.dtype.kind in "ib":
            np.testing.assert_array_equal(other, one)
        else:
            np.testing.assert_allclose(other, one, rtol=CLOSE[dtype], atol=CLOSE[dtype])


WHOLE = ("int8", "int32", "int64", "uint8", "bool")


@pytest.mark.parametrize("size", [32771, 65536, 65537, 99991])
@pytest.mark.parametrize("dtype", WHOLE)
def test_sums_of_whole_numbers_are_exact(size, dtype):
    """In all the parts that threads take, also where they wrap."""
    x = np.random.default_rng(size).integers(-100, 100, size).astype(dtype)
    with settings.executor("llvm"):
        if dtype == "bool":
            count = tf.function(lambda x: tf.math.count_nonzero(x))(tf.constant(x))
            assert int(count) == np.count_nonzero(x)
            return
        total = tf.function(lambda x: tf.reduce_sum(x))(tf.constant(x)).numpy()
    assert total == np.sum(x, dtype=dtype)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_more_rows_than_threads(threads):
    x = np.random.default_rng(0).uniform(-1, 1, (1021, 67)).astype(np.float32)
    with settings.executor("llvm"), settings.threads(threads):
        rows = tf.function(lambda x: (tf.nn.softmax(x), tf.reduce_sum(x, 1), tf.reduce_sum(x, 0)))
        softmax, across, down = rows(tf.constant(x))
    wanted = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(softmax, wanted, rtol=1e-4)
    np.testing.assert_allclose(across, x.sum(1, dtype=np.float64), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(down, x.sum(0, dtype=np.float64), rtol=1e-4, atol=1e-4)


SPOT = (1 << 31) + 5  # an element that 32 bits do not reach


@pytest.fixture(scope="module")
def long():
    """More than 2^31 bytes, of which the system gives hardly any memory: they are zero."""
    x = np.zeros((1 << 31) + 11, np.uint8)
    x[3], x[SPOT] = 2, 7
    return x


@pytest.mark.parametrize(
    ("name", "params", "wanted"),
    [
        ("reduce_max", {"axes": (0,), "keepdims": False}, 7),
        ("reduce_sum", {"axes": (0,), "keepdims": False}, 9),
        ("argmax", {"axis": 0, "dtype": int64}, SPOT),
        (
            "strided_slice",
            {"begin": (SPOT - 2,), "end": (SPOT + 3,), "strides": (1,)},
            [0, 0, 7, 0, 0],
        ),
        ("strided_slice", {"begin": (3,), "end": (SPOT + 1,), "strides": (SPOT - 3,)}, [2, 7]),
    ],
)
def test_arrays_of_more_than_two_gigabytes(long, name, params, wanted):
    (found,) = alone(later(name), [long], params)([long], [])
    np.testing.assert_array_equal(found, wanted)


def test_places_in_arrays_of_more_than_two_gigabytes(long):
    places = np.array([SPOT, 3, 0, SPOT - 1], np.int64)
    gather = later("gather")
    params = {"axis": 0, "batch_dims": 0}
    static = StaticProgram()
    static.inputs = [Value(x.shape, of_numpy(x.dtype)) for x in (long, places)]
    static.outputs = [static.apply(gather, static.inputs, params)]
    lowered = build(static, "gather", 2)
    run = Executable(lowered.program, lowered.inputs, [], lowered.outputs, 2)
    found, fine = run([long, places], [])
    assert fine
    np.testing.assert_array_equal(found, [7, 2, 0, 0])
