"""Random streams of compiled programs: concurrent runs draw from disjoint parts.

How many blocks a loop takes is known when it is over.  Until then it has `AHEAD` of them, and those
that are left are given back if nobody has drawn meanwhile; so one thread draws what it always does.
"""

from __future__ import annotations

from typing import Any

from talweg.execute.donation import OwnedValues
from talweg.execute.interpret import MISSING
from talweg.kernels.random import streams as random_streams
from talweg.kernels.random.philox import state_of_stream

AHEAD = 1 << 48  # blocks that no run uses up


class Drawing:
    """The random numbers that one run of a program draws from its streams."""

    __slots__ = ("_after", "_drawn", "_reserved", "_shared", "_state", "_streams")

    def __init__(self, streams: list, drawn: list, state: Any):
        self._streams, self._drawn, self._state = streams, drawn, state
        self._shared = streams_of(state)
        self._after: dict[Any, Any] = {}
        self._reserved: list[tuple] = []

    def begin(self) -> list:
        """Return the initial states of the random operations."""
        if self._shared is None:
            arrays, self._after = reserve_states(self._streams, self._state)
            return arrays
        for operation, seeds, blocks in self._streams:
            count = AHEAD if operation in self._drawn else blocks
            start = self._shared.reserve(operation, seeds, count)
            self._reserved.append((operation, start, count))
        return [state_of_stream(start) for _, start, _ in self._reserved]

    def end(self, blocks: list) -> None:
        """Advance the streams by the blocks used, counted for draws in loops."""
        used = dict(zip(self._drawn, map(int, blocks)))
        for operation, start, count in self._reserved:
            if operation in used:
                self._shared.settle(operation, start, count, used[operation])
        for operation, stream in self._after.items():
            self._state[operation] = stream.skip(used.get(operation, 0))

    def undo(self) -> None:
        """Restore the streams, since the interpreter draws again."""
        for reserved_blocks in self._reserved[::-1]:
            self._shared.settle(*reserved_blocks, 0)


def streams_of(state: object) -> Any:
    """Return the random streams that the bodies in a program draw from.

    None if they are passed as values.
    """
    while type(state) is OwnedValues:
        state = state.outer
    return None if getattr(state, "reserve", None) is None else state


def reserve_states(streams: list, state: dict) -> tuple[list, dict]:
    """Return the initial states of random operations, and their streams after that."""
    arrays, after = [], {}
    for operation, seeds, blocks in streams:
        stream = after.get(operation) or state.get(operation, MISSING)
        if stream is MISSING:
            stream = random_streams.start(seeds)
        arrays.append(state_of_stream(stream))
        after[operation] = stream.skip(blocks)
    return arrays, after
