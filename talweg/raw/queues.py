"""The queues among tf.raw_ops; `table.txt` calls them `queues.*`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import int32, int64
from talweg.core.errors import invalid
from talweg.core.shapes import TensorShape, as_shape
from talweg.pipeline.queues import PriorityBuffer, QueueBuffer, QueueResource, ShuffleBuffer
from talweg.raw.operands import (
    get_shared_handle,
    handle_of,
    numbers_of,
    of_array,
    scalar_of,
    thing_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talweg.core.value import Tensor


def _shapes(shapes: Any, count: int) -> list | None:
    found = [as_shape(shape) for shape in shapes]
    if found and len(found) != count:
        raise invalid("TW204", f"{len(found)} shapes for {count} components", "as many")
    return found or None


def queue_of(
    make: Callable[..., Any], dtypes: list, shapes: list[Any], container: str, shared_name: str
) -> Any:
    """Return the handle of a queue; queues of one name are one queue."""
    own = _shapes(shapes, len(dtypes))
    create = lambda: handle_of(QueueResource(make, dtypes, own))  # noqa: E731
    return get_shared_handle("queue", container, shared_name, create)


def fifo(
    component_types: list, shapes: list[Any], capacity: int, container: str, shared_name: str
) -> Any:
    """Return a queue, first in, first out."""
    make = lambda: QueueBuffer(capacity, shared_name)  # noqa: E731
    return queue_of(make, component_types, shapes, container, shared_name)


def padding(
    component_types: list,
    shapes: list[TensorShape],
    capacity: int,
    container: str,
    shared_name: str,
) -> Any:
    """Return a queue whose elements are filled up to one shape where they are taken together."""
    found = fifo(component_types, shapes, capacity, container, shared_name)
    thing_of(found, QueueResource, "PaddingFIFOQueue").padded = True
    return found


def shuffle(
    component_types: list,
    shapes: list[TensorShape],
    capacity: int,
    min_after_dequeue: int,
    seed: int,
    seed2: int,
    container: str,
    shared_name: str,
) -> Any:
    """Return a queue that gives its elements in random order."""
    own = hash((seed, seed2)) if seed or seed2 else None
    make = lambda: ShuffleBuffer(capacity, shared_name, min_after_dequeue, own)  # noqa: E731
    return queue_of(make, component_types, shapes, container, shared_name)


def priority(
    shapes: list[Any], component_types: list, capacity: int, container: str, shared_name: str
) -> Any:
    """Return a queue that gives the element with the smallest number first."""
    make = lambda: PriorityBuffer(capacity, shared_name)  # noqa: E731
    own = [TensorShape([]), *map(as_shape, shapes)]
    return queue_of(make, [int64, *component_types], own, container, shared_name)


def _queue(handle: object) -> QueueResource:
    return thing_of(handle, QueueResource, "Queue")


def _arrays(queue: QueueResource, components: list) -> list:
    if [x.dtype for x in components] != list(queue.dtypes):
        got = [x.dtype.name for x in components]
        raise invalid("TW102", f"components of {got}", f"{[dtype.name for dtype in queue.dtypes]}")
    return [numbers_of(x) for x in components]


def enqueue(handle: object, components: list, timeout_ms: int) -> None:
    """Put an element in."""
    queue = _queue(handle)
    queue.buffer.enqueue([queue.element(_arrays(queue, components))])


def enqueue_many(handle: object, components: list, timeout_ms: int) -> None:
    """Put the rows of tensors in."""
    queue = _queue(handle)
    queue.buffer.enqueue(queue.rows(_arrays(queue, components)))


def _tensors(queue: QueueResource, arrays: Sequence[Any]) -> list:
    return [of_array(array, dtype) for array, dtype in zip(arrays, queue.dtypes)]


def dequeue(handle: object, component_types: list, timeout_ms: int) -> list:
    """Take an element out."""
    queue = _queue(handle)
    return _tensors(queue, queue.buffer.dequeue(1)[0])


def _require_fixed_shapes(queue: QueueResource, operation: str) -> None:
    known = queue.padded or (
        queue.shapes is not None and all(s.is_fully_defined() for s in queue.shapes)
    )
    if not known:
        raise invalid("TW205", f"{operation}: the shapes of the components are not known")


def dequeue_many(handle: object, n: object, component_types: list, timeout_ms: int) -> list:
    """Take elements out, together."""
    queue, count = _queue(handle), int(scalar_of(n))
    _require_fixed_shapes(queue, "QueueDequeueMany")
    if count < 0:
        raise invalid("TW207", f"QueueDequeueMany: n is {count}", "at least 0")
    return _tensors(queue, queue.stack_components(queue.buffer.dequeue(count)))


def dequeue_up_to(handle: object, n: object, component_types: list, timeout_ms: int) -> list:
    """Take elements out, fewer if the queue is closed."""
    queue = _queue(handle)
    _require_fixed_shapes(queue, "QueueDequeueUpTo")
    return _tensors(
        queue, queue.stack_components(queue.buffer.dequeue(int(scalar_of(n)), fewer=True))
    )


def close(handle: object, cancel_pending_enqueues: bool) -> None:
    """Close a queue."""
    _queue(handle).buffer.close(cancel_pending_enqueues)


def is_closed(handle: object) -> Any:
    """Return whether a queue is closed."""
    return of_array(np.bool_(_queue(handle).buffer.closed))


def size(handle: Tensor) -> Any:
    """Return the number of elements of a queue."""
    return of_array(_queue(handle).buffer.size(), int32)
