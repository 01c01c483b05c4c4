"""The hidden generators of the functions that take no stream: one for each kernel TensorFlow keeps.

TensorFlow caches a kernel for each operation with its attributes; a random kernel starts from its
two seeds and goes on from call to call.  So `tf.random.uniform([2], seed=1)` called twice gives two
results, and an equal `normal` has numbers of its own.  Here each (operation, seeds, dtypes) has a
stream, and `forget` (called by `tf.random.set_seed`) starts all of them anew.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from typing import Any

from talweg.kernels.random.philox import Stream

_streams: dict[Hashable, Stream] = {}
_kept: dict[Hashable, Any] = {}
_lock = threading.Lock()


def reserve(operation: Hashable, seeds: tuple[int, int], blocks: int) -> Stream:
    """Return the next `blocks` blocks of an operation's stream.

    It starts with the first seed as its key and the second as the upper half of its counter; seeds
    (0, 0) stand for seeds nobody can foretell.
    """
    key = (operation, seeds)
    with _lock:
        stream = _streams.get(key)
        if stream is None:
            stream = start(seeds)
        _streams[key] = stream.skip(blocks)
    return stream


def start(seeds: tuple[int, int]) -> Stream:
    """Return the start of a stream of two seeds; (0, 0) stand for seeds nobody can foretell."""
    return unforeseeable() if seeds == (0, 0) else Stream(seeds[0], seeds[1] << 64)


def unforeseeable() -> Stream:
    """Return a stream from the operating system's randomness."""
    bits = os.urandom(24)
    return Stream(int.from_bytes(bits[:8], "little"), int.from_bytes(bits[8:], "little"))


def kernel_state(key: Hashable, make: Callable[[], Any]) -> Any:
    """Return the state that a hidden kernel keeps from call to call; made on first use."""
    with _lock:
        if key not in _kept:
            _kept[key] = make()
        return _kept[key]


def forget() -> None:
    """Start every hidden stream anew."""
    with _lock:
        _streams.clear()
        _kept.clear()
