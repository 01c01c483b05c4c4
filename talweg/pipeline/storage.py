"""Stages that keep elements: prefetch, and cache in memory."""

from __future__ import annotations

from typing import Any

from talweg.core.errors import InvalidArgumentError, compose
from talweg.pipeline.parallel import in_background
from talweg.pipeline.run import End, IterationRun, Next
from talweg.pipeline.stage import PassOn, Rows, Stage


class Prefetch(PassOn):
    """The elements, computed ahead by a thread of its own, where that pays."""

    name = "_PrefetchDataset"

    def __init__(self, source: object, size: int):
        super().__init__(source)
        self.ahead = size

    def leaves(self) -> list:
        """Return the number of elements."""
        return [self.ahead]

    def start(self, run: IterationRun) -> Next:
        """Write in the background; at once for a size of 0."""
        size = run.number(self.ahead)
        if size < -1:
            raise InvalidArgumentError(
                None, None, compose("TW207", "buffer_size must be >= 0 or set to tf.data.AUTOTUNE")
            )
        source = self.inputs[0].start(run)
        return in_background(source, size, waits(self)) if size else source


def waits(stage: Stage) -> bool:
    """Return whether a stage, or one that it gets elements from,
    calls what may wait for the world.
    """
    return stage.waits or any([waits(source) for source in stage.inputs])


class Cache(PassOn):
    """The elements, computed in the first pass and remembered for the others.

    A pass that stops early leaves nothing; a second one beside it computes for itself.
    """

    name = "CacheDataset"
    remembers = True
    moves_rows = False

    def rows(self, run: IterationRun) -> Rows | None:
        """Return None: an order that was drawn before must stay."""
        return None

    def start(self, run: IterationRun) -> Next:
        """Read from memory if everything is there."""
        memory: dict = run.keep(self, dict)
        source: Any = None
        elements: list = []
        position = 0

        def step() -> tuple:
            nonlocal source, elements, position
            if source is None:
                if "elements" in memory:
                    elements = memory["elements"]
                    source = _nothing
                else:
                    source = self.inputs[0].start(run)
            if source is _nothing:
                if position >= len(elements):
                    raise End
                position += 1
                return elements[position - 1]
            try:
                flat = source()
            except End:
                memory.setdefault("elements", elements)
                source, position = _nothing, len(elements)
                raise
            elements.append(flat)
            return flat

        return step


def _nothing() -> tuple:
    raise End
