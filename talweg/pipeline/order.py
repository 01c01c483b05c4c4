"""Stages that choose and order elements: take, skip, shard, repeat, shuffle, concatenate.

`shuffle` gives TensorFlow's order for the same seeds: a buffer of `size` places, filled from the
front; each element is drawn from the occupied places by a 32-bit number of a Philox stream modulo
their number, and its place is taken by the first.  Every pass has seeds of its own, the next two
numbers of the stream that the two given seeds start; with `reshuffle_each_iteration=False` the
given seeds themselves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.errors import invalid
from talweg.kernels.random.philox import MASK64, blocks
from talweg.kernels.random.streams import Stream, unforeseeable
from talweg.pipeline.run import End, IterationRun, Next
from talweg.pipeline.stage import (
    INFINITE,
    UNKNOWN,
    PassOn,
    Rows,
    Stage,
    as_numbers,
    nothing_to_begin,
    start_rows,
    times,
    total,
)

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

NOTHING = range(0)


class Take(PassOn):
    """The first elements; all of them for a negative count."""

    name = "_TakeDataset"

    def __init__(self, source: object, count: int | None):
        super().__init__(source)
        self.count = count

    def leaves(self) -> list:
        """Return the count."""
        return [self.count]

    def size(self, run: IterationRun) -> int:
        """Return the size: at most the count."""
        size, count = self.inputs[0].size(run), run.number(self.count)
        if count < 0 or size == 0 or count == 0:
            return size if count < 0 else 0
        return count if size == INFINITE else size if size == UNKNOWN else min(size, count)

    def rows(self, run: IterationRun) -> Rows | None:
        """Return the rows with the first numbers."""
        rows = self.inputs[0].rows(run)
        left = run.number(self.count)
        if rows is None or left < 0:
            return rows
        if not left:
            return rows.reorder(_nothing, nothing_to_begin)
        order = rows.order

        def first(count: int) -> Any:
            nonlocal left
            if not left:
                return NOTHING
            chunk = order(min(count, left))
            left = left - len(chunk) if len(chunk) else 0
            return chunk

        return rows.reorder(first)

    def start(self, run: IterationRun) -> Next:
        """Count down."""
        rows = self.rows(run)
        if rows is not None:
            return start_rows(rows)
        left = run.number(self.count)
        if not left:
            return _end
        step = self.inputs[0].start(run)
        if left < 0:
            return step

        def first() -> tuple:
            nonlocal left
            if not left:
                raise End
            left -= 1
            return step()

        return first


class Skip(PassOn):
    """All but the first elements; none for a negative count."""

    name = "_SkipDataset"

    def __init__(self, source: object, count: int | None):
        super().__init__(source)
        self.count = count

    def leaves(self) -> list:
        """Return the count."""
        return [self.count]

    def size(self, run: IterationRun) -> int:
        """Return the number of elements that are left."""
        size, count = self.inputs[0].size(run), run.number(self.count)
        if count < 0:
            return 0
        return size if size < 0 else max(0, size - count)

    def rows(self, run: IterationRun) -> Rows | None:
        """Return the rows without the first numbers."""
        rows = self.inputs[0].rows(run)
        if rows is None:
            return None
        order, left = rows.order, run.number(self.count)
        if left < 0:
            return rows.reorder(_nothing, nothing_to_begin)

        def last(count: int) -> Any:
            nonlocal left
            while left:
                chunk = order(min(left, 1 << 16))
                left = left - len(chunk) if len(chunk) else 0
            return order(count)

        return rows.reorder(last)

    def start(self, run: IterationRun) -> Next:
        """Pass over the first ones."""
        rows = self.rows(run)
        if rows is not None:
            return start_rows(rows)
        left = run.number(self.count)
        if left < 0:
            return _end
        step = self.inputs[0].start(run)

        def last() -> tuple:
            nonlocal left
            while left:
                left -= 1
                step()
            return step()

        return last


def _end() -> tuple:
    raise End


def _nothing(count: int) -> range:
    return NOTHING


class Shard(PassOn):
    """Every n-th element, from one of the first n on."""

    name = "_ShardDataset"

    def __init__(self, source: object, count: int | None, index: int):
        super().__init__(source)
        self.count, self.index = count, index

    def leaves(self) -> list:
        """Return number of shards and which one."""
        return [self.count, self.index]

    def _numbers(self, run: IterationRun) -> tuple[int, int]:
        count, index = run.number(self.count), run.number(self.index)
        if count < 1:
            raise invalid(
                "TW207",
                f"num_shards must be >= 1, got {count}",
                hint="SHARD_HINT is for datasets that a strategy distributes",
            )
        return count, index

    def size(self, run: IterationRun) -> int:
        """Return the size of the part."""
        size = self.inputs[0].size(run)
        count, index = run.number(self.count), run.number(self.index)
        if count < 1:
            return UNKNOWN
        return size if size < 0 else max(0, (size - index + count - 1) // count)

    def rows(self, run: IterationRun) -> Rows | None:
        """Return every n-th row."""
        rows = self.inputs[0].rows(run)
        if rows is None:
            return None
        order = rows.order
        parts, wait = self._numbers(run)

        def every(count: int) -> Any:
            nonlocal wait
            while True:
                chunk = as_numbers(order(count * parts))
                if not len(chunk):
                    return NOTHING
                kept = chunk[wait::parts]
                wait = (wait - len(chunk)) % parts
                if len(kept):
                    return kept

        return rows.reorder(every)

    def start(self, run: IterationRun) -> Next:
        """Pass over the others."""
        rows = self.rows(run)
        if rows is not None:
            return start_rows(rows)
        step = self.inputs[0].start(run)
        parts, wait = self._numbers(run)
        others = wait

        def every() -> tuple:
            nonlocal others
            while others:
                step()
                others -= 1
            flat = step()
            others = parts - 1
            return flat

        return every


class Repeat(PassOn):
    """The elements again and again; for ever for a negative count."""

    name = "_RepeatDataset"

    def __init__(self, source: object, count: int | None):
        super().__init__(source)
        self.count = count

    def leaves(self) -> list:
        """Return the count."""
        return [self.count]

    def size(self, run: IterationRun) -> int:
        """Return that many times as many."""
        count = run.number(self.count)
        return times(self.inputs[0].size(run), INFINITE if count < 0 else count)

    def _begins_once_more(self, count: int) -> bool:
        """Return whether the source begins again, for nothing, after the last time.

        TensorFlow's does, so that seeds are drawn; it has shuffle and repeat in one, and no
        repeat at all for once.
        """
        return count > 1 and not isinstance(self.inputs[0], Shuffle)

    def rows(self, run: IterationRun) -> Rows | None:
        """Return all rows, begun anew each time."""
        source = self.inputs[0]
        first = source.rows(run)
        if first is None:
            return None
        left, order = run.number(self.count), first.order

        def begun() -> Any:
            rows = source.rows(run)
            rows.begin()
            return rows.order

        if not left:
            return first.reorder(_nothing, nothing_to_begin)
        found_any, once_more = False, self._begins_once_more(left)

        def again(count: int) -> Any:
            nonlocal left, order, found_any, once_more
            while True:
                chunk = order(count)
                if len(chunk):
                    found_any = True
                    return chunk
                if left == 1 or not found_any:
                    if once_more:
                        once_more = begun() is None
                    return NOTHING
                left -= 1
                found_any = False
                order = begun()

        return first.reorder(again)

    def start(self, run: IterationRun) -> Next:
        """Begin anew at the end."""
        rows = self.rows(run)
        if rows is not None:
            return start_rows(rows)
        source, left = self.inputs[0], run.number(self.count)
        if not left:
            return _end
        step, found_any, once_more = source.start(run), False, self._begins_once_more(left)

        def again() -> tuple:
            nonlocal step, left, found_any, once_more
            while True:
                try:
                    flat = step()
                except End:
                    if left == 1 or (not found_any and left < 0):
                        if once_more:
                            step, once_more = _end, source.start(run) is None
                        raise
                    left -= 1
                    found_any = False
                    step = source.start(run)
                    continue
                found_any = True
                return flat

        return again


class Concatenate(Stage):
    """The elements of one dataset, then those of another."""

    name = "_ConcatenateDataset"

    def size(self, run: IterationRun) -> int:
        """Return both together."""
        return total([source.size(run) for source in self.inputs])

    def start(self, run: IterationRun) -> Next:
        """Return one after the other."""
        waiting = list(self.inputs)
        step = waiting.pop(0).start(run)

        def after() -> tuple:
            nonlocal step
            while True:
                try:
                    return step()
                except End:
                    if not waiting:
                        raise
                step = waiting.pop(0).start(run)

        return after


# -- shuffling


def draws(first: int, second: int) -> Iterator[int]:
    """Yield the 32-bit numbers of the Philox stream of two seeds."""
    stream = Stream(first & MASK64, (second & MASK64) << 64)
    if first == 0 and second == 0:
        stream = unforeseeable()
    place, count = 0, 2
    while True:
        yield from blocks(stream, place, count).reshape(-1).tolist()
        place, count = place + count, min(2 * count, 4096)


class Seeds:
    """The seeds of one pass after the other: pairs from the stream of two seeds, for any thread."""

    def __init__(self, first: int, second: int):
        self._numbers, self._lock = draws(first, second), threading.Lock()

    def next(self) -> tuple[int, int]:
        """Return the seeds of the next pass."""
        with self._lock:
            return next(self._numbers), next(self._numbers)


class Shuffle(PassOn):
    """The elements in random order, drawn from a buffer."""

    name = "_ShuffleDataset"
    remembers = True

    def __init__(self, source: object, buffer_size: TensorLike, seeds: tuple, reshuffle: bool):
        super().__init__(source)
        self.buffer_size, self.seeds, self.reshuffle = buffer_size, seeds, reshuffle

    def leaves(self) -> list:
        """Return the size of the buffer."""
        return [self.buffer_size]

    def _draws(self, run: IterationRun) -> Iterator[int]:
        """Return the random numbers of one pass,
        whose seeds are drawn when its iterator is made.
        """
        first, second = self.seeds
        if self.reshuffle:
            return draws(*run.keep(self, lambda: Seeds(first, second)).next())
        if (first, second) == (0, 0):
            first, second = run.keep(self, lambda: Seeds(0, 0).next())
        return draws(first, second)

    def rows(self, run: IterationRun) -> Rows | None:
        """Return the numbers of rows, shuffled."""
        rows = self.inputs[0].rows(run)
        if rows is None:
            return None
        numbered, step = rows, _end

        def numbers() -> Callable[[], int]:
            numbered.begin()
            order, waiting = numbered.order, iter(())

            def pull() -> int:
                nonlocal waiting
                for number in waiting:
                    return number
                chunk = as_numbers(order(4096))
                if not len(chunk):
                    raise End
                waiting = iter(chunk.tolist())
                return next(waiting)

            return pull

        def begin() -> None:
            nonlocal step
            step = shuffle(numbers, run.number(self.buffer_size), self._draws(run))

        def draw_order(count: int) -> np.ndarray:
            drawn = []
            try:
                for _ in range(count):
                    drawn.append(step())
            except End:
                pass
            return np.array(drawn, np.int64)

        return rows.reorder(draw_order, begin)

    def start(self, run: IterationRun) -> Next:
        """Iterate over the buffer."""
        rows = self.rows(run)
        if rows is not None:
            return start_rows(rows)
        source = self.inputs[0]
        return shuffle(lambda: source.start(run), run.number(self.buffer_size), self._draws(run))


def shuffle(
    begin: Callable[[], Callable[[], Any]], size: int, numbers: Iterator[int]
) -> Callable[[], Any]:
    """Give a source's elements at random from a buffer of `size` places (any number, if negative).

    The source begins with the first element that is asked for, as TensorFlow's does.
    """
    buffer: list = []
    pull: Any = None
    start = end = 0  # the occupied places, modulo the size of the buffer
    ended = False

    def step() -> Any:
        nonlocal pull, start, end, ended
        if pull is None:
            pull = begin()
        while not ended and (size < 0 or end - start < size):
            try:
                item = pull()
            except End:
                ended = True
                break
            if size < 0 or end < size:
                buffer.append(item)
            else:
                buffer[end % size] = item
            end += 1
        if start == end:
            raise End
        ring = len(buffer)
        slot = (start + next(numbers) % (end - start)) % ring
        first = start % ring
        flat = buffer[slot]
        buffer[slot] = buffer[first]
        buffer[first] = None
        start += 1
        return flat

    return step
