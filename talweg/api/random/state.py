"""The states of generators: from seeds, from keys and counters, from the operating system."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.api.array.joining import concat
from talweg.api.array.shapes import reshape
from talweg.api.export import export
from talweg.api.tensors import cast
from talweg.core import dispatch
from talweg.core.dtypes import int64, string
from talweg.core.errors import UnimplementedError, compose, value_error
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.randomness import algorithm_number
from talweg.eager.tensor import wrap
from talweg.eager.variable import Variable
from talweg.kernels.random import streams
from talweg.kernels.random.philox import MASK64, state_of_stream
from talweg.prims.joining import bitcast
from talweg.prims.random.streams import STATE_SIZE, reserve_stream


@export(
    "random.create_rng_state",
    "random.experimental.create_rng_state",
    "compat.v1.random.create_rng_state",
    "compat.v1.random.experimental.create_rng_state",
)
def create_rng_state(seed: Any, alg: Any) -> Tensor:
    """Return the state of a generator for a seed: int64, [3] for Philox, [2] for ThreeFry.

    An integer of any size fills the words from the first; a vector is cut or padded in front.

    >>> import talweg as tf
    >>> tf.random.create_rng_state(1, "philox")
    <tf.Tensor: shape=(3,), dtype=int64, numpy=array([1, 0, 0])>
    """
    return state_of_seed(seed, algorithm_number(alg))


def state_of_seed(seed: object, algorithm: int) -> Tensor:
    """Make the state a seed stands for, int64: three words for Philox, two for ThreeFry.

    A Python integer fills the words from the first; a list or tensor is cut, or has zeros put in
    front, to the right length.
    """
    size = STATE_SIZE[algorithm]
    if isinstance(seed, int):
        return wrap(np.array(_words_of_integer(seed, size), np.int64))
    seeds = convert_to_tensor(seed)
    if seeds.dtype is string:
        text = "Cast string to int64 is not supported: a seed must be numbers"
        raise UnimplementedError(None, None, compose("TW102", text))
    words = reshape(cast(seeds, int64), [-1])[:size]
    missing = size - words.dims[0]
    return concat([np.zeros(missing, np.int64), words], 0) if missing else words


def _words_of_integer(seed: int, size: int) -> list[int]:
    """Split a Python integer into `size` 64-bit words, lowest first, as signed integers."""
    words = [seed >> 64 * n & MASK64 for n in range(size)]
    return [word - (1 << 64) if word >> 63 else word for word in words]


def state_of_key(key: object, counter: object, algorithm: int) -> Tensor:
    """Return a state from a key [] and a counter [n]; ValueError for other shapes."""
    parts = []
    for value, dims in ((counter, (STATE_SIZE[algorithm] - 1,)), (key, ())):
        part = convert_to_tensor(value)
        if part.dims != dims:
            raise value_error("TW205", f"Shapes {part.shape} and {list(dims)} are incompatible")
        parts.append(reshape(cast(part, int64), [-1]))
    return concat(parts, 0)


def unforeseeable_state(algorithm: int) -> Tensor:
    """Return a state from the operating system's randomness;
    in a graph, another one for each run.
    """
    size = STATE_SIZE[algorithm]
    graph = dispatch.context.base
    if graph is None or hasattr(graph, "outer"):
        words = state_of_stream(streams.unforeseeable()).view(np.int64)
        return wrap(words[:size])
    operation = ("unforeseeable", algorithm)
    return bitcast(reserve_stream(operation=operation, seeds=(0, 0), blocks=1), dtype=int64)[:size]


def check_state(state: object, algorithm: int) -> Tensor:
    """Check `state`: a tensor of the algorithm's length; ValueError for another length."""
    found = convert_to_tensor(state, None if isinstance(state, (Tensor, Variable)) else int64)
    size = STATE_SIZE[algorithm]
    if found.dims != (size,):
        raise value_error("TW205", f"Shapes {found.dims} and [{size}] are incompatible")
    return found
