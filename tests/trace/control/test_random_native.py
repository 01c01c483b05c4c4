"""Random numbers as machine code: the interpreter's, drawn where they are used."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import talweg as tf
from talweg.core import settings
from talweg.lower.ir.loops import Host, Kernel
from talweg.passes.functionalize import program_of
from talweg.prims.random import streams as prims
from tests.trace.control.compiling import refusals

FLOATS = ["float16", "bfloat16", "float32", "float64"]
SHAPES = [
    [],
    [1],
    [2],
    [3],
    [4],
    [5],
    [7],
    [8],
    [9],
    [15],
    [16],
    [17],
    [31],
    [33],
    [255],
    [1001],
    [20001],
    [3, 5],
    [3, 1, 7],
    [0],
    [2, 0, 3],
    [1] * 9,
    [2, 1, 3, 1, 1, 5],
]
ULPS = 4  # of normal numbers: logarithms, sines and cosines are the compiler's own
INTEGERS = {2: np.int16, 4: np.int32, 8: np.int64}


def called(function, calls: int, executor: str, *args) -> tuple[list, list]:
    """What a function gives, call after call, and the blocks of its loop programs."""
    tf.random.set_seed(11)
    made = tf.function(function)
    with settings.executor(executor):
        results = [[np.array(x) for x in tf.nest.flatten(made(*args))] for _ in range(calls)]
    if executor == "interpret":
        return results, []
    body = made.get_concrete_function(*args).body
    (version,) = program_of(body).tier.versions.values()
    return results, version.lowered.program.blocks


def assert_same(found: np.ndarray, wanted: np.ndarray, ulps: int = 0) -> None:
    """Equal bits, or floats so many units of the last place apart."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    if not ulps:
        np.testing.assert_array_equal(found, wanted)
        return
    kind = INTEGERS[found.dtype.itemsize]
    one, other = [x.reshape(-1).view(kind).astype(np.int64) for x in (found, wanted)]
    assert np.abs(one - other).max(initial=0) <= ulps


def agree(function, *args, ulps: int = 0, calls: int = 3, hosts: int = 0) -> list:
    """A function does compiled what it does interpreted, with so many NumPy kernels; the blocks."""
    wanted, _ = called(function, calls, "interpret", *args)
    with refusals() as refused:
        found, blocks = called(function, calls, "llvm", *args)
    assert not refused
    assert len([block for block in blocks if type(block) is Host]) == hosts
    for one, other in zip(found, wanted, strict=True):
        for x, y in zip(one, other, strict=True):
            assert_same(x, y, ulps if x.dtype.kind == "f" or x.dtype.name == "bfloat16" else 0)
    return blocks


def several(*functions):
    """A function of the results of all."""
    return lambda *args: [function(*args) for function in functions]


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform(dtype):
    agree(several(*[lambda n=n: tf.random.uniform(n, dtype=dtype) for n in SHAPES]), calls=2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal(dtype):
    draws = [lambda n=n: tf.random.normal(n, dtype=dtype) for n in SHAPES]
    agree(several(*draws), ulps=ULPS, calls=2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_truncated_normal(dtype):
    shapes = [*SHAPES[:14], [1023], [1024], [1025], [4099], [0], [1] * 9]
    draws = [lambda n=n: tf.random.truncated_normal(n, dtype=dtype) for n in shapes]
    agree(several(*draws), ulps=ULPS, calls=2)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_bits(dtype):
    seed = tf.constant([3, -4])

    def bits(n):
        return tf.random.stateless_uniform(n, seed, None, None, dtype)

    agree(several(*[lambda n=n: bits(n) for n in SHAPES]), calls=1)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers(dtype):
    low, high = tf.as_dtype(dtype).min, tf.as_dtype(dtype).max
    bounds = [(0, 1), (0, 7), (-5, 12), (low, high), (low, 0), (-1, high), (3, 3 + 2**30)]
    draws = [lambda a=a, b=b: tf.random.uniform([101], a, b, dtype) for a, b in bounds]
    agree(several(*draws, *[lambda n=n: tf.random.uniform(n, 2, 9, dtype) for n in SHAPES]))


def test_integers_between_values():
    def drawn(low, high):
        return tf.random.uniform([3, 7], low, high, tf.int32)

    agree(drawn, tf.constant(-20), tf.constant(31))
    with settings.executor("llvm"), pytest.raises(tf.errors.InvalidArgumentError, match="minval"):
        tf.function(drawn)(tf.constant(4), tf.constant(4))


@pytest.mark.parametrize("shape, size", [((1, 5), 1), ((3, 1), 4), ((7, 33), 50), ((2, 5000), 3)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_classes(shape, size, dtype):
    """Draws of classes are compared with running sums; no class is drawn that cannot be."""
    logits = np.random.default_rng(0).standard_normal(shape) * 3
    logits[..., shape[1] // 2 :: 3] = -np.inf
    logits = tf.constant(np.stack([logits, logits + 700]).reshape(-1, shape[1]), dtype)
    agree(lambda x: tf.random.categorical(x, size), logits)
    nothing = tf.fill(shape, tf.cast(-np.inf, dtype))
    agree(lambda x: tf.random.categorical(x, size, tf.int32), nothing)


def test_many_classes():
    """What would take too many comparisons is searched for by the kernel."""
    logits = tf.zeros([20, 1000])
    agree(lambda x: tf.random.categorical(x, 2000), logits, hosts=1)
    agree(lambda x: tf.random.categorical(x, 0), logits, hosts=1)


def test_tokens_in_a_loop():
    """A text that is drawn word by word is one native call."""
    table = tf.constant(np.random.default_rng(0).standard_normal((11, 11)).astype(np.float32))

    def written(n):
        found, token = tf.TensorArray(tf.int64, size=n), tf.constant(0, tf.int64)
        for i in tf.range(n):
            token = tf.random.categorical(table[token][None], 1)[0, 0]
            found = found.write(i, token)
        return found.stack()

    wanted, _ = called(written, 2, "interpret", tf.constant(20))
    found, blocks = called(written, 2, "llvm", tf.constant(20))
    np.testing.assert_array_equal(found, wanted)
    hosts = [block.name for block in everything(blocks) if type(block) is Host]
    assert hosts == ["export"]  # of the list


@pytest.mark.parametrize("seed", [[1, 2], [0, 0], [-1, 2**31 - 1], [-(2**31), 5]])
def test_seeds(seed):
    def drawn(seed):
        return (
            tf.random.stateless_uniform([5], seed),
            tf.random.stateless_uniform([2, 3], seed + 1, -2, 5, tf.int32),
            tf.random.stateless_uniform([4], seed, dtype=tf.float64),
        )

    agree(drawn, tf.constant(seed))
    agree(drawn, tf.constant(seed, tf.int64))


def test_threefry():
    """It has no loops, but its streams have."""
    seed = tf.constant([3, 4])
    agree(lambda s: tf.random.stateless_uniform([5], s, alg="threefry"), seed, hosts=1)


@pytest.mark.parametrize("alg", ["philox", "threefry"])
def test_generators(alg):
    """State goes on as it does interpreted, over 2^64, too."""

    def numbers(executor):
        state = [2**63 - 1, -1, 5] if alg == "philox" else [-2, 5]
        generator = tf.random.Generator.from_state(state, alg)

        @tf.function
        def drawn():
            return generator.uniform([3]), generator.uniform([5], 0, 9, tf.int32)

        with settings.executor(executor):
            found = [np.array(x) for _ in range(3) for x in drawn()]
            generator.skip(2**64 - 5)
            found += [np.array(x) for x in drawn()]
        return [*found, np.array(generator.state)]

    for one, other in zip(numbers("llvm"), numbers("interpret"), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads(threads):
    """Shares of loops begin anywhere."""
    with settings.threads(threads):
        agree(lambda: tf.random.uniform([3, 40001]))
        agree(lambda: tf.random.normal([123457]), ulps=ULPS, calls=2)
        agree(lambda: tf.random.truncated_normal([30001]), ulps=ULPS, calls=2)


def test_dropout_is_one_kernel():
    """The mask is made where it is used, and kept for the gradient, a byte a number."""
    x = tf.constant(np.random.default_rng(0).standard_normal((64, 48)).astype(np.float32))

    def dropped(x):
        return tf.nn.dropout(x, 0.4)

    (kernel,) = agree(dropped, x, ulps=1)
    assert isinstance(kernel, Kernel)

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.dropout(x, 0.4)
        return y, tape.gradient(y, x)

    agree(slope, x, ulps=1)


def test_rows_of_odd_length():
    """Rows begin within blocks; so do columns that are summed."""
    x = tf.constant(np.random.default_rng(0).standard_normal((37, 23)).astype(np.float32))

    def rows(x):
        noisy = x * tf.cast(tf.random.uniform([37, 23]) < 0.5, tf.float32)
        return tf.argmax(noisy, 1), tf.reduce_max(noisy, 0), tf.random.uniform([37, 23])[5:, ::3]

    agree(rows, x)
    agree(lambda x: tf.transpose(tf.random.uniform([23, 37])) + tf.reverse(x, [1]), x)


def test_two_draws_and_one_stream():
    """Each operation has a stream of its own; a seed names one that is shared."""

    def drawn():
        first = tf.random.uniform([5], seed=4)
        return first, tf.random.uniform([5], seed=4), tf.random.uniform([5]), first + 1

    agree(drawn, calls=4)


def test_interpreter_and_compiler_by_turns():
    """Whoever runs a function, its numbers go on."""
    tf.random.set_seed(5)
    made = tf.function(lambda: tf.random.uniform([6]))
    found = []
    for executor in ("interpret", "llvm", "llvm", "interpret", "llvm"):
        with settings.executor(executor):
            found.append(np.array(made()))
    tf.random.set_seed(5)
    again = tf.function(lambda: tf.random.uniform([6]))
    with settings.executor("interpret"):
        np.testing.assert_array_equal(found, [np.array(again()) for _ in range(5)])


def test_draws_in_loops_are_no_calls():
    def walked(n):
        place, tried = tf.zeros([2]), tf.constant(0)
        while tf.reduce_sum(place**2) < 30.0 and tried < n:
            step = tf.random.uniform([2], -1, 1)
            if tf.random.uniform([]) < 0.3:
                step *= tf.cast(tf.random.uniform([], 0, 3, tf.int32), tf.float32)
            place, tried = place + step, tried + 1
        return place, tried

    wanted, _ = called(walked, 3, "interpret", tf.constant(200))
    found, blocks = called(walked, 3, "llvm", tf.constant(200))
    np.testing.assert_array_equal(np.hstack(found[-1]), np.hstack(wanted[-1]))
    assert not [block.name for block in everything(blocks) if type(block) is Host]


def everything(blocks: list) -> list:
    """Blocks, and those within them."""
    found = []
    for block in blocks:
        found.append(block)
        for name in ("body", "test"):
            inner = getattr(block, name, [])
            found += everything(inner) if type(block) is not Kernel else []
        for inner in getattr(block, "bodies", []):
            found += everything(inner)
    return found


def test_normals_of_whole_streams():
    """How far normal numbers are from the kernel's: 4 units of the last place at most."""
    tf.random.set_seed(1)
    with settings.executor("llvm"):
        made = np.array(tf.function(lambda: tf.random.stateless_normal([300_000], [7, 8]))())
    wanted = np.array(tf.random.stateless_normal([300_000], [7, 8]))
    assert_same(made, wanted, ULPS)
    assert np.mean(made == wanted) > 0.9


KINDS = [
    ("uniform", "float32"),
    ("uniform", "float64"),
    ("uniform", "bfloat16"),
    ("bits", "uint32"),
    ("bits", "int64"),
    ("normal", "float32"),
    ("normal", "float64"),
    ("truncated_normal", "float32"),
]


@hypothesis_settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.lists(st.integers(0, 9), max_size=4),
    st.lists(st.integers(0, 2**64 - 1), min_size=3, max_size=3),
)
def test_any_stream(kind, shape, state):
    name, dtype = kind
    params = {"kind": name, "shape": tuple(shape), "dtype": tf.as_dtype(dtype), "algorithm": 1}

    def drawn(state):
        return prims.random_numbers(state, **params)

    stream = np.array(state, np.uint64)
    with settings.executor("llvm"):
        found = np.array(tf.function(drawn)(tf.constant(stream)))
    wanted = np.asarray(prims.random_numbers.numpy(stream, **params))
    assert_same(found, wanted, ULPS if "normal" in name else 0)
