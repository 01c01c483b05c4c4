"""Seeds: the global seed, the seeds that single calls derive from it, and the names of algorithms.

`tf.random.set_seed(s)` starts Python's own `random.Random(s)`; each call of a random function
without a seed of its own takes the next number of it.  The two numbers, global and own, name a
hidden stream (`kernels/random/streams.py`), which goes on when the same call is made again.  These
are TensorFlow's rules for eager programs, and its numbers.

    global seed  own seed
    none         none      not reproducible
    none         given     (87654321, own)
    given        none      (global, next of Random(global))
    given        given     (global, own)

A graph has a seed of its own (`compat.v1.set_random_seed`), which stands for the global one, and
its operations without an own seed take the numbers 0, 1, 2, ...; there every operation has a stream
of its own in each session.
"""

from __future__ import annotations

import enum
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.errors import type_error, value_error
from talweg.core.value import Tensor
from talweg.eager.structured import STATE
from talweg.eager.tensor import DEVICE
from talweg.eager.variable import Variable
from talweg.kernels.random import streams
from talweg.prims.random.streams import PHILOX, reserve_stream
from talweg.transform.batch import for_each_slice

if TYPE_CHECKING:
    from talweg.graph.function_graph import FunctionGraph
    from talweg.graph.graph import Graph

_LARGEST = 2**31 - 1
_DEFAULT_GRAPH_SEED = 87654321


class Algorithm(enum.Enum):
    """The algorithms that make random bits (`tf.random.Algorithm`)."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def algorithm_number(alg: str) -> int:
    """Return PHILOX or THREEFRY from an `Algorithm`, its name or its number; ValueError for
    another.

    "auto_select" is Philox, as it is on TensorFlow's CPUs.
    """
    found = algorithm_kind(alg)
    return PHILOX if found is Algorithm.AUTO_SELECT else found.value


def algorithm_kind(alg: str) -> Algorithm:
    """Return an `Algorithm` from itself, its name or its number; ValueError for another."""
    if isinstance(alg, str):
        match = {kind.name.lower(): kind for kind in Algorithm}.get(alg)
    elif isinstance(alg, Algorithm):
        match = alg
    else:
        try:
            number = int(alg.numpy() if isinstance(alg, (Tensor, Variable)) else alg)
        except (TypeError, ValueError):
            text = f"Can't convert argument `alg` (of value {alg!r}) to an algorithm."
            raise type_error("TW104", text) from None
        match = next((kind for kind in Algorithm if kind.value == number), None)
    if match is None:
        raise value_error(
            "TW207",
            f"Argument `alg` got unsupported value {alg!r}.",
            '"philox" or 1, "threefry" or 2, "auto_select" or 3',
        )
    return match


# -- the global seed


class _Global:
    """The numbers made of the global seed, which is `dispatch.state.seed`."""

    numbers: Any = None


_global = _Global()
_first = threading.local()  # what stands for the global seed in a thread


def set_seed(seed: int) -> None:
    """Set the global seed; None makes calls irreproducible.

    Every hidden stream begins anew, those of operations in traced functions, too: with the seeds
    that they were traced with, whatever the seed is now.
    """
    if isinstance(seed, (Tensor, Variable)):
        seed = seed.numpy()
    if isinstance(seed, (np.generic, np.ndarray)):
        seed = np.asarray(seed).item()
    if seed is not None and not isinstance(seed, (int, float)):
        raise type_error("TW104", f"set_seed: seed must be an integer, got {seed!r}")
    dispatch.state.seed = seed
    _global.numbers = random.Random(seed)
    streams.forget()
    STATE.streams.clear()


def global_seed() -> Any:
    """Return the global seed; None without one."""
    return dispatch.state.seed


@contextmanager
def first_seed(seed: int) -> Iterator[None]:
    """Give eager calls of this thread this seed in place of the global one, in the block."""
    before = getattr(_first, "seed", None)
    _first.seed = seed
    try:
        yield
    finally:
        _first.seed = before


def get_seed(own: int | None) -> tuple[int, int]:
    """Return the two seeds of a call, whose own seed is given or None;
    (0, 0) if nothing was seeded.
    """
    if own is not None:
        own = _integer_seed(own)
    graph = dispatch.context.base
    seed = graph.seed if graph is not None else getattr(_first, "seed", None)
    seed = dispatch.state.seed if seed is None and graph is None else seed
    if seed is not None:
        if own is None:
            own = _next_number(graph)
        seeds = int(seed % _LARGEST), own % _LARGEST
    elif own is not None:
        seeds = _DEFAULT_GRAPH_SEED, own % _LARGEST
    else:
        return 0, 0
    return (0, _LARGEST) if seeds == (0, 0) else seeds


def _next_number(graph: FunctionGraph | None) -> int:
    """Return the number that replaces the seed of a call without one."""
    if graph is None:
        return _global.numbers.randint(0, _LARGEST)
    number = graph.extras.get("random_operations", 0)
    graph.extras["random_operations"] = number + 1
    return number


def set_seed_of_graph(graph: Graph, seed: int) -> None:
    """Give a graph a seed, or None."""
    graph.seed = None if seed is None else _integer_seed(seed)


def _integer_seed(seed: int) -> int:
    if isinstance(seed, (Tensor, Variable)):
        seed = seed.numpy()
    try:
        return int(seed)
    except (TypeError, ValueError):
        raise type_error("TW104", f"seed must be an integer, got {seed!r}") from None


def reserve(operation: tuple, seed: int | None, blocks: int) -> Tensor:
    """Return a stream of `blocks` blocks for one call of an operation with an own seed or None.

    Inside `vectorized_map` each slice gets a stream of its own, and so does each device.
    """
    seeds = get_seed(seed)
    device = dispatch.context.device
    if device not in (None, DEVICE):
        operation = (*operation, device)
    return for_each_slice(lambda: reserve_stream(operation=operation, seeds=seeds, blocks=blocks))
