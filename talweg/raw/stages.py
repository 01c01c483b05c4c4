"""Resources that threads share besides queues, among tf.raw_ops; `table.txt` calls them `stages.*`.

Staging areas, maps of staged values, barriers (which join the parts of an element by its key),
accumulators of gradients, mutexes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.joining import stack
from talweg.core.dtypes import int32, int64
from talweg.core.errors import CancelledError, OutOfRangeError, compose, invalid
from talweg.raw.operands import (
    get_shared_handle,
    handle_of,
    integers_of,
    numbers_of,
    of_array,
    scalar_of,
    thing_of,
)

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike
    from talweg.core.value import Tensor
    from talweg.graph.handle import Handle


class StagingArea:
    """Values in the order in which they came, between threads."""

    def __init__(self, capacity: int):
        self.capacity = capacity or 2**31
        self.changed = threading.Condition()
        self.values: deque = deque()

    def put(self, value: list) -> None:
        """Put one in, waiting for room."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.values) < self.capacity)
            self.values.append(value)
            self.changed.notify_all()

    def take(self, place: int | None = None) -> list:
        """Take the first one out, or look at one, waiting for it."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.values) > (place or 0))
            found = self.values.popleft() if place is None else self.values[place]
            self.changed.notify_all()
            return found


class StagingMap:
    """Values by keys, each of some components, which may come apart."""

    def __init__(self, count: int, capacity: int, ordered: bool):
        self.count, self.capacity, self.ordered = count, capacity or 2**31, ordered
        self.changed = threading.Condition()
        self.complete: OrderedDict[int, list] = OrderedDict()
        self.incomplete: dict[int, list] = {}

    def put(self, key: int, indices: list[int], values: list) -> None:
        """Put components in; InvalidArgumentError if they are there already."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.complete) < self.capacity)
            row = self.incomplete.setdefault(key, [None] * self.count)
            for place, value in zip(indices, values):
                if row[place] is not None:
                    raise invalid("TW206", f"The tensor for index '{place}' for key '{key}' exists")
                row[place] = value
            if all(part is not None for part in row):
                self.complete[key] = self.incomplete.pop(key)
            self.changed.notify_all()

    def take(self, key: int | None, indices: list[int], remove: bool) -> tuple[int, list]:
        """Take the components of a key, or of some key, waiting for it."""
        with self.changed:
            self.changed.wait_for(
                lambda: key in self.complete if key is not None else self.complete
            )
            if key is None:
                key = min(self.complete) if self.ordered else next(iter(self.complete))
            row = self.complete[key]
            components = [row[slot] for slot in indices]
            if remove:
                for slot in indices:
                    row[slot] = None
                if all(part is None for part in row):
                    del self.complete[key]
            self.changed.notify_all()
            return key, components


def _area(capacity: int, container: str, name: str) -> StagingArea:
    found = get_shared_handle(
        "stage", container, name or "default", lambda: handle_of(StagingArea(capacity))
    )
    return thing_of(found, StagingArea, "Stage")


def stage(values: list, capacity: int, memory_limit: int, container: str, shared_name: str) -> None:
    """Put values into a staging area."""
    _area(capacity, container, shared_name).put(values)


def unstage(
    dtypes: list, capacity: int, memory_limit: int, container: str, shared_name: str
) -> list:
    """Take the first values out of a staging area."""
    return _area(capacity, container, shared_name).take()


def stage_peek(
    index: int, dtypes: list, capacity: int, memory_limit: int, container: str, shared_name: str
) -> list:
    """Return values of a staging area, which stay."""
    return _area(capacity, container, shared_name).take(int(scalar_of(index)))


def stage_size(
    dtypes: list, capacity: int, memory_limit: int, container: str, shared_name: str
) -> Any:
    """Return the number of staged elements."""
    return of_array(len(_area(capacity, container, shared_name).values), int32)


def stage_clear(
    dtypes: list, capacity: int, memory_limit: int, container: str, shared_name: str
) -> None:
    """Forget all."""
    _area(capacity, container, shared_name).values.clear()


def _map(ordered: bool, dtypes: list, capacity: int, container: str, name: str) -> StagingMap:
    make = lambda: handle_of(StagingMap(len(dtypes), capacity, ordered))  # noqa: E731
    return thing_of(
        get_shared_handle("map", container, name or f"default{ordered}", make), StagingMap, "Map"
    )


def map_stage(
    ordered: bool,
    key: int,
    indices: np.ndarray,
    values: list,
    dtypes: list,
    capacity: int,
    memory_limit: int,
    container: str,
    shared_name: str,
) -> None:
    """Put components under a key."""
    area = _map(ordered, dtypes, capacity, container, shared_name)
    area.put(int(scalar_of(key)), integers_of(indices), values)


def map_take(
    ordered: bool,
    remove: bool,
    key: int,
    indices: np.ndarray,
    dtypes: list,
    capacity: int,
    memory_limit: int,
    container: str,
    shared_name: str,
) -> list:
    """Take the components of a key."""
    area = _map(ordered, dtypes, capacity, container, shared_name)
    return area.take(int(scalar_of(key)), integers_of(indices), remove)[1]


def map_take_any(
    ordered: bool,
    indices: np.ndarray,
    dtypes: list,
    capacity: int,
    memory_limit: int,
    container: str,
    shared_name: str,
) -> tuple:
    """Take (a key, its components)."""
    area = _map(ordered, dtypes, capacity, container, shared_name)
    key, values = area.take(None, integers_of(indices), True)
    return of_array(key, int64), values


def map_size(
    ordered: bool,
    complete: bool,
    dtypes: list,
    capacity: int,
    memory_limit: int,
    container: str,
    shared_name: str,
) -> Any:
    """Return the number of keys."""
    area = _map(ordered, dtypes, capacity, container, shared_name)
    return of_array(len(area.complete if complete else area.incomplete), int32)


def map_clear(
    ordered: bool, dtypes: list, capacity: int, memory_limit: int, container: str, shared_name: str
) -> None:
    """Forget all."""
    area = _map(ordered, dtypes, capacity, container, shared_name)
    area.complete.clear()
    area.incomplete.clear()


# -- barriers


class BarrierCell:
    """Elements whose components come apart, by keys; the oldest complete ones are taken first."""

    def __init__(self, count: int):
        self.count = count
        self.changed = threading.Condition()
        self.rows: OrderedDict[bytes, list] = OrderedDict()
        self.born: dict[bytes, int] = {}
        self.ready: deque = deque()
        self.closed = False


def barrier(
    component_types: list, shapes: list[Any], capacity: int, container: str, shared_name: str
) -> Any:
    """Return the handle of a barrier."""
    make = lambda: handle_of(BarrierCell(len(component_types)))  # noqa: E731
    return get_shared_handle("barrier", container, shared_name, make)


def _barrier(handle: Handle) -> BarrierCell:
    return thing_of(handle, BarrierCell, "Barrier")


def barrier_insert(
    handle: Handle, keys: np.ndarray, values: list[Any], component_index: int
) -> None:
    """Put a component of some keys in."""
    cell = _barrier(handle)
    with cell.changed:
        for number, key in enumerate(numbers_of(keys).reshape(-1)):
            if cell.closed and key not in cell.rows:
                text = "Barrier is closed and takes no new keys"
                raise CancelledError(None, None, compose("TW209", text))
            row = cell.rows.setdefault(key, [None] * cell.count)
            cell.born.setdefault(key, len(cell.born) - 2**63)
            if row[component_index] is not None:
                raise invalid("TW206", f"Key {key} already has a value for component.")
            row[component_index] = values[number]
            if all(part is not None for part in row):
                cell.ready.append((key, cell.rows.pop(key)))
        cell.changed.notify_all()


def barrier_take(
    handle: Handle,
    num_elements: object,
    component_types: list,
    allow_small_batch: bool,
    wait_for_incomplete: bool,
    timeout_ms: int,
) -> tuple:
    """Take complete elements: (the times they were made, the keys, the components)."""
    cell, count = _barrier(handle), int(scalar_of(num_elements))
    with cell.changed:
        enough = lambda: len(cell.ready) >= count or cell.closed  # noqa: E731
        cell.changed.wait_for(enough, None if timeout_ms < 0 else timeout_ms / 1000)
        if len(cell.ready) < count and not (allow_small_batch and cell.ready):
            text = f"Barrier is closed and has insufficient elements (requested {count})"
            raise OutOfRangeError(None, None, compose("TW206", text))
        taken = [cell.ready.popleft() for _ in range(min(count, len(cell.ready)))]
        births = of_array(np.array([cell.born.pop(key) for key, _ in taken], np.int64))
    keys = of_array(np.array([key for key, _ in taken], object))
    return births, keys, [stack(list(parts)) for parts in zip(*[row for _, row in taken])]


def barrier_close(handle: Handle, cancel_pending_enqueues: bool) -> None:
    """Take no new keys."""
    cell = _barrier(handle)
    with cell.changed:
        cell.closed = True
        if cancel_pending_enqueues:
            cell.rows.clear()
        cell.changed.notify_all()


def barrier_size(handle: Handle, complete: bool) -> Any:
    """Return the number of elements that are complete, or are not."""
    cell = _barrier(handle)
    return of_array(len(cell.ready if complete else cell.rows), int32)


# -- accumulators


class AccumulatorCell:
    """Gradients, summed until they are taken; those of older steps are left out."""

    def __init__(self, dtype: Any, shape: Any, mean: bool):
        self.dtype, self.shape, self.mean = dtype, shape, mean
        self.changed = threading.Condition()
        self.step, self.count = 0, 0
        self.total: Any = None
        self.rows: dict[int, list] = {}  # of sparse gradients: the sum and how many there were

    def take(self, required: int) -> None:
        """Wait for so many gradients."""
        self.changed.wait_for(lambda: self.count >= required)


def accumulator(
    dtype: DTypeLike, shape: ShapeLike, container: str, shared_name: str, reduction_type: str
) -> Any:
    """Return the handle of an accumulator."""
    make = lambda: handle_of(AccumulatorCell(dtype, shape, reduction_type == "MEAN"))  # noqa: E731
    return get_shared_handle("accumulator", container, shared_name, make)


def _accumulator(handle: object) -> AccumulatorCell:
    return thing_of(handle, AccumulatorCell, "Accumulator")


def add_gradient(handle: Tensor, local_step: Any, gradient: Any) -> None:
    """Add a gradient, unless it is of an older step."""
    cell, value = _accumulator(handle), numbers_of(gradient)
    if not cell.shape.is_compatible_with(value.shape):
        raise invalid("TW204", f"a gradient of shape {value.shape}", f"{cell.shape}")
    with cell.changed:
        if int(scalar_of(local_step)) >= cell.step:
            cell.total = value if cell.total is None else cell.total + value
            cell.count += 1
            cell.changed.notify_all()


def take_gradient(handle: object, num_required: Any, dtype: Any) -> Any:
    """Return the mean (or sum) of the gradients, waiting for enough; the step goes on."""
    cell = _accumulator(handle)
    with cell.changed:
        cell.take(int(scalar_of(num_required)))
        found = cell.total / cell.count if cell.mean else cell.total
        cell.total, cell.count, cell.step = None, 0, cell.step + 1
    return of_array(found, cell.dtype)


def gradient_count(handle: Handle) -> Any:
    """Return the number of gradients added."""
    return of_array(_accumulator(handle).count, int32)


def set_step(handle: Handle, new_global_step: object) -> None:
    """Say which step it is."""
    _accumulator(handle).step = int(scalar_of(new_global_step))


def add_sparse_gradient(
    handle: Handle,
    local_step: object,
    gradient_indices: object,
    gradient_values: object,
    gradient_shape: ShapeLike,
    has_known_shape: bool,
) -> None:
    """Add rows of a gradient, unless they are of an older step."""
    cell = _accumulator(handle)
    with cell.changed:
        if int(scalar_of(local_step)) < cell.step:
            return
        for row_number, row in zip(integers_of(gradient_indices), numbers_of(gradient_values)):
            known = cell.rows.setdefault(row_number, [0, 0])
            known[0], known[1] = known[0] + row, known[1] + 1
        if has_known_shape and numbers_of(gradient_shape).size:
            cell.total = numbers_of(gradient_shape)
        cell.count += 1
        cell.changed.notify_all()


def take_sparse_gradient(handle: Tensor, num_required: Any, dtype: Any) -> tuple:
    """Take (the rows, their means or sums, the shape)."""
    cell = _accumulator(handle)
    with cell.changed:
        cell.take(int(scalar_of(num_required)))
        places = sorted(cell.rows)
        rows = [cell.rows[p][0] / (cell.count if cell.mean else 1) for p in places]
        shape = cell.total if cell.total is not None else np.array(cell.shape.as_list() or [])
        cell.rows, cell.count, cell.total, cell.step = {}, 0, None, cell.step + 1
    return (
        of_array(np.array(places, np.int64)),
        of_array(np.array(rows), cell.dtype),
        of_array(shape, int64),
    )


# -- mutexes


class MutexCell:
    """A lock that tensors stand for."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


def mutex(container: str, shared_name: str) -> Any:
    """Return the handle of a mutex."""
    return get_shared_handle("mutex", container, shared_name, lambda: handle_of(MutexCell()))


def lock(mutex: object) -> Any:
    """Return the lock, held until it is consumed."""
    cell = thing_of(mutex, MutexCell, "MutexLock")
    cell.lock.acquire()
    return handle_of(cell)


def unlock(mutex_lock: object) -> None:
    """Give a lock back."""
    thing_of(mutex_lock, MutexCell, "ConsumeMutexLock").lock.release()
