"""Queues of tensors between threads: the buffer of elements, and the threads that wait for it.

An element is a tuple of arrays.  Who enqueues waits for room, who dequeues for elements; a closed
queue takes nothing more, and once it is empty (or has fewer elements than were asked for) who
dequeues gets OutOfRangeError.
"""

from __future__ import annotations

import heapq
import itertools
import random
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core import dispatch
from talweg.core.errors import CancelledError, OutOfRangeError, compose, invalid

Element = tuple


class QueueBuffer:
    """The elements of a queue, first in, first out."""

    def __init__(self, capacity: int, name: str):
        self.capacity = capacity if capacity >= 0 else 2**31 - 1
        self.name = name
        self.closed = False
        self._cancelled = False
        self._changed = threading.Condition()
        self._takers = threading.Lock()  # who takes several elements does it alone
        self._givers = threading.Lock()
        self.clear()

    # -- what kinds of queues differ in

    def clear(self) -> None:
        """Forget all elements."""
        self._elements: Any = deque()

    def _put(self, element: Element) -> None:
        self._elements.append(element)

    def _take(self) -> Element:
        return self._elements.popleft()

    def _put_back(self, elements: list[Element]) -> None:
        self._elements.extendleft(reversed(elements))

    def _available(self) -> int:
        """Return the number of elements that may be taken now."""
        return len(self._elements)

    # -- for threads

    def size(self) -> int:
        """Return the number of elements."""
        with self._changed:
            return len(self._elements)

    def enqueue(self, elements: list[Element]) -> None:
        """Put elements in, waiting for room; CancelledError if the queue is closed."""
        with self._changed:
            if self.closed:
                raise self._make_cancelled_error("is closed.")
        with self._givers:
            for element in elements:
                with self._changed:
                    while len(self._elements) >= self.capacity and not self._cancelled:
                        self._changed.wait()
                    if self._cancelled:
                        raise self._make_cancelled_error(
                            "was closed, and enqueues that waited were cancelled."
                        )
                    self._put(element)
                    self._changed.notify_all()

    def _make_cancelled_error(self, text: str) -> CancelledError:
        return CancelledError(None, None, compose("TW209", f"Queue '{self.name}' {text}"))

    def dequeue(self, count: int, fewer: bool = False) -> list[Element]:
        """Take elements out, waiting for them; with `fewer`, take the rest of a closed queue.

        OutOfRangeError if the queue is closed and has too few.
        """
        taken: list[Element] = []
        with self._takers:
            while len(taken) < count:
                with self._changed:
                    while not self._available() and not self.closed:
                        self._changed.wait()
                    if not self._available():
                        if fewer and taken:
                            return taken
                        self._put_back(taken)
                        raise self._make_exhausted_error(count, len(taken))
                    taken.append(self._take())
                    self._changed.notify_all()
        return taken

    def _make_exhausted_error(self, count: int, there: int) -> OutOfRangeError:
        text = (
            f"Queue '{self.name}' is closed and has insufficient elements "
            f"(requested {count}, current size {there})"
        )
        return OutOfRangeError(None, None, compose("TW206", text))

    def close(self, cancel: bool = False) -> None:
        """Take nothing more; with `cancel`, refuse what waits to be put in."""
        with self._changed:
            self.closed = True
            self._cancelled = self._cancelled or cancel
            self._changed.notify_all()


class ShuffleBuffer(QueueBuffer):
    """Elements in random order; some stay, so that the order is a good one, until it is closed."""

    def __init__(self, capacity: int, name: str, keep: int, seed: int | None):
        self.keep = keep
        self._random = random.Random(seed)
        super().__init__(capacity, name)

    def clear(self) -> None:
        """Forget all elements."""
        self._elements = []

    def _take(self) -> Element:
        place = self._random.randrange(len(self._elements))
        elements = self._elements
        elements[place], elements[-1] = elements[-1], elements[place]
        return elements.pop()

    def _put_back(self, elements: list[Element]) -> None:
        self._elements.extend(elements)

    def _available(self) -> int:
        return max(len(self._elements) - (0 if self.closed else self.keep), 0)


class PriorityBuffer(QueueBuffer):
    """Elements by their first component, the smallest first."""

    def clear(self) -> None:
        """Forget all elements."""
        self._elements = []
        self._numbers = itertools.count()

    def _put(self, element: Element) -> None:
        heapq.heappush(self._elements, (int(element[0]), next(self._numbers), element))

    def _take(self) -> Element:
        return heapq.heappop(self._elements)[2]

    def _put_back(self, elements: list[Element]) -> None:
        for element in elements:
            self._put(element)


class QueueResource:
    """A queue: its dtypes and shapes, and the elements that each session has of it."""

    def __init__(self, make: Callable[[], QueueBuffer], dtypes: list, shapes: list | None):
        self.make, self.dtypes, self.shapes = make, dtypes, shapes
        self.padded = False
        self.of_graph = dispatch.context.base is not None
        self._own = make()

    @property
    def buffer(self) -> QueueBuffer:
        """The elements; for a queue of a graph, those of the session that runs."""
        running = dispatch.context.running
        if running is None or not self.of_graph:
            return self._own
        queues = running.setdefault("queues", {})
        return queues.get(self) or queues.setdefault(self, self.make())

    def element(self, arrays: list) -> Element:
        """Return arrays as an element; InvalidArgumentError unless they have the queue's shapes."""
        for number, array in enumerate(arrays):
            shape = None if self.shapes is None else self.shapes[number]
            if shape is not None and not shape.is_compatible_with(np.shape(array)):
                raise invalid(
                    "TW204",
                    f"Shape mismatch in tuple component {number}. Got {list(np.shape(array))}",
                    f"{shape}",
                )
        return tuple([np.asarray(array) for array in arrays])

    def rows(self, arrays: list) -> list[Element]:
        """Return elements from the rows of arrays; InvalidArgumentError unless all have as many."""
        counts = {len(array) if np.ndim(array) else -1 for array in arrays}
        if len(counts) != 1 or -1 in counts:
            raise invalid("TW204", f"components have {sorted(counts)} rows", "as many rows of all")
        return [self.element([a[row] for a in arrays]) for row in range(counts.pop())]

    def stack_components(self, elements: list[Element]) -> list:
        """Return elements as one array for each component, perhaps filled up to one shape."""
        if not elements:
            return [
                np.zeros(
                    (0, *(() if self.shapes is None else self.shapes[n].as_list())), d.numpy_dtype
                )
                for n, d in enumerate(self.dtypes)
            ]
        return [self._together(list(parts)) for parts in zip(*elements)]

    def _together(self, parts: list) -> np.ndarray:
        if not self.padded or len({part.shape for part in parts}) == 1:
            return np.stack(parts)
        shape = np.max([part.shape for part in parts], axis=0)
        fill = b"" if parts[0].dtype == object else 0
        found = np.full((len(parts), *shape), fill, parts[0].dtype)
        for place, part in enumerate(parts):
            found[(place, *map(slice, part.shape))] = part
        return found
