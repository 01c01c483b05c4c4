"""Random streams, and the numbers that are independent of other tensors.

A stream is a tensor of three 64-bit integers: the number of the next block (low, high) and the key.
All distributions are *pure functions of a stream*, so they can be traced, merged and tested like
any other primitive; the one primitive with an effect is `reserve_stream`, which takes the next part
of a hidden generator.  What the numbers are stands in `kernels/random*.py`: TensorFlow's own.
"""

from __future__ import annotations

import math

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, check_dtype, primitive
from talweg.core.dims import below, differ, dims_differ, same
from talweg.core.dtypes import (
    FLOATING,
    float32,
    float64,
    int32,
    int64,
    uint32,
    uint64,
)
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.core.roles import Trait
from talweg.kernels.random import normal, threefry, uniform
from talweg.kernels.random.permutation import PADDING, permutation
from talweg.kernels.random.permutation import index_shuffle as shuffle_index
from talweg.kernels.random.philox import (
    PHILOX,
    THREEFRY,
    scramble,
    skip_blocks,
    state_of_stream,
    stream_of_state,
)
from talweg.kernels.random.streams import reserve
from talweg.prims.random import loop_rules

BITS = NoGradient("random bits have no derivative")
DRAWN = NoGradient("random numbers do not depend on anything", "mean + stddev * noise")
CHOICE = NoGradient(
    "a random choice is piecewise constant",
    "a relaxation such as Gumbel-softmax (Jang et al. 2017)",
)
_STATE = np.array([3, 4, 5], np.uint64)
_SEED_DTYPES = frozenset((int32, int64))
RANDOM_TYPES = {"normal": "RandomStandardNormal", "truncated_normal": "TruncatedNormal"}
_KINDS = {
    "uniform": (uniform.uniform, threefry.uniform, FLOATING),
    "normal": (normal.normal, threefry.normal, FLOATING),
    "truncated_normal": (
        normal.truncated_normal,
        threefry.truncated_normal,
        FLOATING,
    ),
    "bits": (
        uniform.full_int,
        threefry.full_int,
        frozenset((int32, int64, uint32, uint64)),
    ),
}


def check_stream(name: str, stream):
    """Raise InvalidArgumentError unless `stream` is three uint64."""
    check_dtype(name, "stream", stream.dtype, {uint64})
    if stream.dims is not None and dims_differ(stream.dims, (3,)):
        raise invalid("TW205", f"{name}: stream must have shape [3], not {list(stream.dims)}")


# -- streams


@primitive
class seed_stream:
    """z = the stream of two seeds.   seed [2] -> z [3]."""

    operands = "seed"

    def infer(seed, *, algorithm):
        check_dtype("stateless random function", "seed", seed.dtype, _SEED_DTYPES)
        if seed.dims is not None and dims_differ(seed.dims, (2,)):
            raise invalid(
                "TW205", f"seed must have shape [2], not {list(seed.dims)}", "two integers"
            )
        return Aval((3,), uint64)

    def numpy(seed, *, algorithm):
        first, second = seed.tolist()
        start = threefry.stream_of_seed if algorithm == THREEFRY else scramble
        return state_of_stream(start(first, second))

    loops = loop_rules.seed_element
    no_gradient = BITS
    batch = LOOP
    memory = "none"
    traits = {Trait.RANDOM_STREAM}
    samples = (
        Sample(np.array([1, -2]), algorithm=PHILOX),
        Sample(np.array([1, 2], np.int32), algorithm=THREEFRY),
    )
    rejects = (
        Reject(np.array([1, 2, 3]), algorithm=PHILOX, code="TW205"),
        Reject([2], algorithm=PHILOX, code="TW102"),
    )


@primitive
class reserve_stream:
    """z = the next `blocks` blocks of the hidden stream that `operation` and `seeds` name."""

    operands = ""

    def infer(*, operation, seeds, blocks):
        return Aval((3,), uint64)

    def numpy(*, operation, seeds, blocks):
        return state_of_stream(reserve(operation, seeds, blocks))

    no_gradient = BITS
    effect = "random"
    batch = LOOP
    memory = "host"
    traits = {Trait.RANDOM_STREAM}


STATE_SIZE = {PHILOX: 3, THREEFRY: 2}  # words of a generator's state: counter, then a key of one


def _check_state(name: str, state, algorithm: int):
    check_dtype(name, "state", state.dtype, {int64})
    size = STATE_SIZE[algorithm]
    if state.dims is not None and dims_differ(state.dims, (size,)):
        raise invalid("TW205", f"{name}: state must have shape [{size}], not {list(state.dims)}")


@primitive
class generator_stream:
    """z = the stream of a generator's state.   state [3], or [2] for ThreeFry -> z [3]."""

    operands = "state"

    def infer(state, *, algorithm):
        _check_state("generator_stream", state, algorithm)
        return Aval((3,), uint64)

    def numpy(state, *, algorithm):
        words = state.view(np.uint64)
        return np.concatenate([words[:-1], np.zeros(3 - len(words), np.uint64), words[-1:]])

    loops = loop_rules.of_state
    no_gradient = BITS
    batch = LOOP
    memory = "none"
    traits = {Trait.RANDOM_STREAM}
    samples = (
        Sample(np.array([1, -2, 3]), algorithm=PHILOX),
        Sample(np.array([1, -2]), algorithm=THREEFRY),
    )
    rejects = (
        Reject(np.array([1, 2]), algorithm=PHILOX, code="TW205"),
        Reject([3], algorithm=PHILOX, code="TW102"),
    )


@primitive
class skip_state:
    """z = a generator's state `blocks` blocks further on."""

    operands = "state"

    def infer(state, *, blocks, algorithm):
        _check_state("skip_state", state, algorithm)
        return state

    def numpy(state: np.ndarray, *, blocks, algorithm):
        return skip_blocks(state, blocks)

    loops = loop_rules.skip_element
    no_gradient = BITS
    batch = LOOP
    memory = "none"
    samples = (
        Sample(np.array([-3, 0, 5]), blocks=512, algorithm=PHILOX),
        Sample(np.array([1, -2]), blocks=-512, algorithm=THREEFRY),
    )
    rejects = (Reject(np.array([1, 2]), blocks=1, algorithm=PHILOX, code="TW205"),)


# -- numbers


@primitive
class random_numbers:
    """z = numbers of `kind`: uniform on [0, 1), normal, truncated_normal (within 2), bits."""

    operands = "stream"

    def tf_type(stream, *, kind, shape, dtype, algorithm):
        return RANDOM_TYPES.get(kind, "RandomUniform")

    def infer(stream, *, kind, shape, dtype, algorithm):
        check_stream("random_numbers", stream)
        check_dtype(
            f"random {kind.replace('_', ' ')} numbers", "the result", dtype, _KINDS[kind][2]
        )
        return Aval(shape, dtype)

    def numpy(stream, *, kind, shape, dtype, algorithm):
        start, target = stream_of_state(stream), dtype.numpy_dtype
        if algorithm == THREEFRY:
            return _KINDS[kind][1](start, shape, target)
        return _KINDS[kind][0](start, math.prod(shape), target).reshape(shape)

    loops, cost = loop_rules.numbers, loop_rules.cost
    call, redraw = "redraw", loop_rules.redraw
    no_gradient = DRAWN
    batch = LOOP
    memory = "map"
    samples = (
        Sample(_STATE, kind="uniform", shape=(2, 3), dtype_=float32, algorithm=PHILOX),
        Sample(_STATE, kind="normal", shape=(), dtype_=float32, algorithm=PHILOX),
        Sample(_STATE, kind="truncated_normal", shape=(0, 2), dtype_=float64, algorithm=PHILOX),
        Sample(_STATE, kind="normal", shape=(3, 3), dtype_=float32, algorithm=THREEFRY),
        Sample(_STATE, kind="bits", shape=(5,), dtype_=int32, algorithm=PHILOX),
    )
    rejects = (
        Reject(_STATE, kind="normal", shape=(2,), dtype_=int32, algorithm=PHILOX, code="TW102"),
        Reject(_STATE, kind="bits", shape=(2,), dtype_=float32, algorithm=PHILOX, code="TW102"),
        Reject(
            np.ones(2, np.uint64),
            kind="bits",
            shape=(2,),
            dtype_=int32,
            algorithm=PHILOX,
            code="TW205",
        ),
    )


def _scalar(name: str, operand: str, value):
    if value.dims not in (None, ()):
        shape = list(value.dims)
        raise invalid("TW203", f"{name}: {operand} must be a scalar, got shape {shape}")


@primitive
class random_integers:
    """z = integers of [low, high).   low [], high [] of one dtype, int32 or int64."""

    operands = "stream low high"
    tf_type = "RandomUniformInt"

    def infer(stream, low, high, *, shape, algorithm):
        check_stream("random_integers", stream)
        check_dtype("random integers", "minval", low.dtype, _SEED_DTYPES)
        check_dtype("random integers", "maxval", high.dtype, {low.dtype})
        _scalar("random integers", "minval", low)
        _scalar("random integers", "maxval", high)
        return Aval(shape, low.dtype)

    def numpy(stream, low, high, *, shape, algorithm):
        start, target, low, high = stream_of_state(stream), low.dtype, int(low), int(high)
        if low >= high:
            raise invalid("TW207", f"Need minval < maxval, got {low} >= {high}")
        if algorithm == THREEFRY:
            return threefry.uniform_int(start, shape, low, high, target)
        return uniform.uniform_int(start, math.prod(shape), low, high, target).reshape(shape)

    def requires(t, stream, low, high, *, shape, algorithm):
        t.require(t.less(low, high))

    loops, cost = loop_rules.integers, loop_rules.cost_of_integers
    no_gradient = DRAWN
    batch = LOOP
    memory = "map"
    samples = (
        Sample(_STATE, np.array(-3), np.array(9), shape=(2, 3), algorithm=PHILOX),
        Sample(_STATE, np.int32(0), np.int32(5), shape=(), algorithm=PHILOX),
        Sample(_STATE, np.int32(0), np.int32(5), shape=(3,), algorithm=THREEFRY),
    )
    rejects = (
        Reject(_STATE, np.int32(5), np.int32(5), shape=(3,), algorithm=PHILOX, code="TW207"),
        Reject(_STATE, [], [], shape=(3,), algorithm=PHILOX, code="TW102"),
        Reject(_STATE, np.int32(5), np.array(6), shape=(3,), algorithm=PHILOX, code="TW102"),
        Reject(_STATE, np.array([1]), np.array(6), shape=(3,), algorithm=PHILOX, code="TW203"),
    )


# -- choices and orders


@primitive
class random_classes:
    """z = `size` classes a row, drawn with softmax(logits).   logits [m, k] -> z [m, size]."""

    operands = "stream logits"
    tf_type = "Multinomial"

    def infer(stream: Aval, logits, *, size, dtype):
        check_stream("random_classes", stream)
        check_dtype("categorical", "logits", logits.dtype, FLOATING)
        check_dtype("categorical", "the result", dtype, _SEED_DTYPES)
        if logits.dims is not None and logits.ndim != 2:
            raise invalid(
                "TW203",
                f"categorical: logits should be a matrix, got shape {list(logits.dims)}",
                "shape [batch, classes]",
                "tf.expand_dims(logits, 0)",
            )
        if below(size, 0):
            raise invalid("TW207", f"num_samples should be nonnegative, got {size}")
        if logits.dims is None:
            return Aval((None, size), dtype)
        rows, classes = logits.dims
        if same(classes, 0) and differ(rows * size, 0):
            raise invalid("TW207", "num_classes should be positive, got 0")
        return Aval((rows, size), dtype)

    def numpy(stream, logits, *, size, dtype):
        return uniform.categorical(stream_of_state(stream), logits, size, dtype.numpy_dtype)

    expand = loop_rules.classes
    no_gradient = {"stream": BITS, "logits": CHOICE}
    batch = LOOP
    memory = "library"
    samples = (
        Sample(_STATE, [2, 3], size=4, dtype_=int64),
        Sample(_STATE, [0, 3], size=4, dtype_=int32),
        Sample(_STATE, [20, 3], size=0, dtype_=int32),
    )
    rejects = (
        Reject(_STATE, [3], size=4, dtype_=int64, code="TW203"),
        Reject(_STATE, [2, 3], size=-1, dtype_=int64, code="TW207"),
        Reject(_STATE, [2, 0], size=1, dtype_=int64, code="TW207"),
        Reject(_STATE, [2, 3], size=1, dtype_=float32, code="TW102"),
    )


@primitive
class random_order:
    """z = 0, 1, ..., size - 1 in a random order, int64."""

    operands = "stream"
    tf_type = "RandomShuffle"

    def infer(stream, *, size):
        check_stream("random_order", stream)
        return Aval((size,), int64)

    def numpy(stream, *, size):
        return permutation(stream_of_state(stream), size)

    no_gradient = BITS
    batch = LOOP
    memory = "library"
    samples = (Sample(_STATE, size=7), Sample(_STATE, size=0))
    rejects = (Reject(np.ones(2, np.uint64), size=3, code="TW205"),)


_INTEGERS = frozenset((int32, int64, uint32, uint64))


def _shuffle(index, seed: np.ndarray, limit, *, rounds: int):
    if np.any(index > limit):
        worst = index[index > limit].reshape(-1)[0] if np.ndim(index) else index
        raise invalid("TW206", f"index_shuffle: max_index must be >= index, but {limit} < {worst}")
    if np.any(index < 0):
        raise invalid("TW206", f"index_shuffle: index must be >= 0, got {np.min(index)}")
    key = seed.astype(np.uint32)
    if key.shape[-1] == 2:
        key = np.insert(key, 0, PADDING, axis=-1)
    dims = np.broadcast_shapes(np.shape(index), np.shape(limit), key.shape[:-1])
    numbers = [np.broadcast_to(v, dims).reshape(-1) for v in (index, limit)]
    keys = np.broadcast_to(key, (*dims, 3)).reshape(-1, 3)
    found = shuffle_index(numbers[0], keys, numbers[1], rounds)
    return found.astype(index.dtype).reshape(dims)


@primitive
class index_shuffle:
    """z = the image of each index under a random permutation of 0 ... limit.

    index [] or [n], seed [2] or [n, 2], limit [] or [n] -> z [] or [n].  A seed may have three
    words; `rounds` of the cipher are even, at least 4.
    """

    operands = "index seed limit"
    tf_type = "RandomIndexShuffle"

    def infer(index, seed, limit, *, rounds):
        check_dtype("index_shuffle", "index", index.dtype, _INTEGERS)
        check_dtype("index_shuffle", "seed", seed.dtype, _INTEGERS)
        check_dtype("index_shuffle", "max_index", limit.dtype, {index.dtype})
        if not seed.dims or len(seed.dims) > 2 or seed.dims[-1] not in (2, 3):
            raise invalid(
                "TW205", f"index_shuffle: seed must have shape [2] or [n, 2], got {list(seed.dims)}"
            )
        if rounds < 4 or rounds % 2:
            raise invalid("TW207", f"index_shuffle: rounds={rounds}", "an even number, at least 4")
        sizes = {dims for dims in (index.dims, limit.dims, seed.dims[:-1]) if dims != ()}
        if any(len(dims) > 1 for dims in sizes):
            raise invalid("TW203", "index_shuffle: index and max_index must be scalars or vectors")
        if len(sizes) > 1:
            raise invalid("TW204", f"index_shuffle: sizes {sorted(sizes)} differ", "one size n")
        return Aval(next(iter(sizes), ()), index.dtype)

    numpy = _shuffle
    no_gradient = BITS
    batch = LOOP
    memory = "map"
    samples = (
        Sample(np.arange(5), np.array([1, 2]), np.array(60000), rounds=4),
        Sample(np.int32(3), np.array([1, 2], np.int32), np.int32(9), rounds=4),
        Sample(np.arange(2), np.array([[1, 2], [3, 4]]), np.array([60000, 50000]), rounds=6),
        Sample(np.arange(2), np.array([1, 2, 3]), np.array(50000), rounds=4),
    )
    rejects = (
        Reject(np.arange(5), np.array([1, 2]), np.array(3), rounds=4, code="TW206"),
        Reject(np.arange(5), np.array([1]), np.array(9), rounds=4, code="TW205"),
        Reject(np.arange(5), np.array([1, 2]), np.array(9), rounds=5, code="TW207"),
        Reject(np.arange(5), np.array([[1, 2]]), np.array([9, 9]), rounds=4, code="TW204"),
        Reject([2], np.array([1, 2]), np.array(9), rounds=4, code="TW102"),
    )
