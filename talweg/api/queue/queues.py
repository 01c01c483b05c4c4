"""The classes of tf.queue, over the operations of tf.raw_ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.export import export, look_up
from talweg.core import dispatch
from talweg.core.dtypes import as_dtype, int64
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import TensorShape, as_shape
from talweg.eager.randomness import get_seed
from talweg.graph.symbol import Symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor


def _operation(op: str, /, **arguments: object) -> Any:
    return look_up(f"raw_ops.{op}")(**arguments)


def _dtypes(dtypes: object) -> list:
    return [as_dtype(d) for d in (dtypes if isinstance(dtypes, (list, tuple)) else [dtypes])]


def _shapes(shapes: Any, count: int, partial: bool = False) -> list | None:
    """Return a shape for each component, fully defined or `partial`; None if they are not known."""
    if shapes is None:
        return None
    if not isinstance(shapes, (list, tuple)) or (shapes and isinstance(shapes[0], int)):
        shapes = [shapes] * (count if count == 1 else 1)
    found = [as_shape(shape) for shape in (shapes or [()] * (count == 1))]
    if len(found) != count:
        raise value_error(
            "TW204", f"Queue shapes must have the same length as dtypes, received {shapes!r}"
        )
    if not partial and not all(shape.is_fully_defined() for shape in found):
        text = f"All shapes must be fully defined: {found}"
        raise value_error("TW204", text, hint="tf.queue.PaddingFIFOQueue, which fills up")
    return found


@export("queue.QueueBase")
class QueueBase:
    """A queue of elements, each a tuple of tensors, for threads that make and that use them.

    `enqueue` waits for room, `dequeue` for elements.  In a graph these are operations, which wait
    when they run, and each session has elements of its own.

    >>> import talweg as tf
    >>> queue = tf.queue.FIFOQueue(10, [tf.int32, tf.string])
    >>> queue.enqueue([1, "a"])
    >>> int(queue.dequeue()[0]), int(queue.size())
    (1, 0)
    """

    def __init__(self, dtypes: Any, shapes: Any, names: Sequence[str], queue_ref: Tensor):
        self._dtypes = _dtypes(dtypes)
        if shapes is not None and len(shapes) != len(self._dtypes):
            raise value_error(
                "TW204", f"{len(shapes)} shapes, {len(self._dtypes)} dtypes", "as many"
            )
        self._shapes = shapes or [TensorShape(None)] * len(self._dtypes)
        if names is not None and len(names) != len(self._dtypes):
            text = f"{len(names)} names for {len(self._dtypes)} dtypes"
            raise value_error("TW204", text, "as many")
        self._names, self._queue_ref = names, queue_ref
        self._name = ""

    @staticmethod
    def from_list(index: TensorLike, queues: list) -> Any:
        """Return the queue of a number; TypeError unless all are queues of equal dtypes and
        names."""
        if not queues or not all(isinstance(q, QueueBase) for q in queues):
            raise type_error("TW104", "A list of queues expected")
        first = queues[0]
        if any(q.dtypes != first.dtypes for q in queues):
            raise type_error("TW102", "Queues do not have matching component dtypes.")
        if any(q.names != first.names for q in queues):
            raise type_error("TW104", "Queues do not have matching component names.")
        return queues[int(tensor(index))]

    @property
    def queue_ref(self) -> Any:
        """The handle."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def dtypes(self) -> list:
        """The dtypes of the components."""
        return self._dtypes

    @property
    def shapes(self) -> list:
        """The shapes of the components."""
        return self._shapes

    @property
    def names(self) -> Any:
        """The names of the components, or None."""
        return self._names

    def _components(self, vals: Any, rows: bool) -> list:
        """Convert the tensors of an element, or of several; ValueError where they do not fit."""
        if isinstance(vals, dict):
            if not self._names:
                raise value_error("TW104", "Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals, key=str):
                raise value_error(
                    "TW104", f"keys {sorted(vals)} of a dictionary", f"{sorted(self._names)}"
                )
            vals = [vals[name] for name in self._names]
        else:
            if self._names:
                raise value_error("TW104", "You must enqueue a dictionary in a Queue with names")
            vals = list(vals) if isinstance(vals, (list, tuple)) else [vals]
        if len(vals) != len(self._dtypes) and len(self._dtypes) == 1:
            vals = [vals]
        if len(vals) != len(self._dtypes):
            raise value_error("TW204", f"{len(vals)} components", f"{len(self._dtypes)}")
        components = [tensor(value, dtype) for value, dtype in zip(vals, self._dtypes)]
        for x, shape in zip(components, self._shapes):
            x.shape[1 if rows else 0 :].assert_is_compatible_with(shape)
        return components

    def enqueue(self, vals: TensorLike, name: str | None = None) -> Any:
        """Put in one element: a tensor, a list of tensors, or a dictionary where there are names.

        It waits for room.  CancelledError if the queue is closed, or is closed with
        `cancel_pending_enqueues` while it waits.
        """
        components = self._components(vals, rows=False)
        return _operation(
            "QueueEnqueueV2", handle=self._queue_ref, components=components, name=name
        )

    def enqueue_many(self, vals: TensorLike, name: str | None = None) -> Any:
        """Put in the rows of tensors, each as an element; see `enqueue`."""
        components = self._components(vals, rows=True)
        return _operation(
            "QueueEnqueueManyV2", handle=self._queue_ref, components=components, name=name
        )

    def _result(self, tensors: list, shapes: list) -> Any:
        for x, shape in zip(tensors, shapes):
            if type(x) is Symbol:
                x.set_shape(shape)
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else tensors

    def dequeue(self, name: str | None = None) -> Any:
        """Take one element out, waiting for it; OutOfRangeError if the queue is closed and empty.

        A tensor, a list of tensors, or a dictionary where there are names.
        """
        found = _operation(
            "QueueDequeueV2", handle=self._queue_ref, component_types=self._dtypes, name=name
        )
        return self._result(found, self._shapes)

    def _several(self, operation: str, n: Any, name: str | None, known: bool) -> Any:
        found = _operation(
            operation, handle=self._queue_ref, n=n, component_types=self._dtypes, name=name
        )
        count = int(n) if known and not isinstance(n, Symbol) else None
        return self._result(found, [TensorShape([count]).concatenate(s) for s in self._shapes])

    def dequeue_many(self, n: TensorLike, name: str | None = None) -> Any:
        """Take `n` elements out, stacked; OutOfRangeError if the queue is closed and has fewer."""
        return self._several("QueueDequeueManyV2", n, name, True)

    def dequeue_up_to(self, n: TensorLike, name: str | None = None) -> Any:
        """Take `n` elements out, or the rest of a closed queue, stacked."""
        return self._several("QueueDequeueUpToV2", n, name, False)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """Let nothing more be put in; what is in it can still be taken out."""
        return _operation(
            "QueueCloseV2",
            handle=self._queue_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name,
        )

    def is_closed(self, name: str | None = None) -> Any:
        """Return whether it is closed."""
        return _operation("QueueIsClosedV2", handle=self._queue_ref, name=name)

    def size(self, name: str | None = None) -> Any:
        """Return the number of elements, int32."""
        return _operation("QueueSizeV2", handle=self._queue_ref, name=name)

    def _set_name(self, name: str | None, shared_name: str | None) -> None:
        graph = dispatch.context.base
        self._name = (
            (shared_name or name or "queue")
            if graph is None
            else graph.unique_name(name or "queue")
        )


@export("queue.FIFOQueue")
class FIFOQueue(QueueBase):
    """A queue that gives its elements in the order in which they were put in.

    capacity: the most elements it has at a time.  shapes: those of the components, which
    `dequeue_many` needs.  Queues of one `shared_name` are one queue.

    >>> import talweg as tf
    >>> queue = tf.queue.FIFOQueue(3, tf.float32, shapes=[[]])
    >>> queue.enqueue_many([[1.0, 2.0, 3.0]])
    >>> queue.dequeue_many(2).numpy().tolist()
    [1.0, 2.0]
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ):
        dtypes = _dtypes(dtypes)
        shapes = _shapes(shapes, len(dtypes))
        handle = _operation(
            "FIFOQueueV2",
            component_types=dtypes,
            shapes=shapes or [],
            capacity=capacity,
            shared_name=shared_name or "",
        )
        super().__init__(dtypes, shapes, _names(names), handle)
        self._set_name(name, shared_name)


def _names(names: object) -> Any:
    return [names] if isinstance(names, str) else names


@export("queue.PaddingFIFOQueue")
class PaddingFIFOQueue(QueueBase):
    """A queue whose elements may differ in size: taken together, they are filled up with zeros.

    shapes: with None for sizes that differ.

    >>> import talweg as tf
    >>> queue = tf.queue.PaddingFIFOQueue(3, tf.int32, shapes=[[None]])
    >>> queue.enqueue([[1]])
    >>> queue.enqueue([[2, 3]])
    >>> queue.dequeue_many(2).numpy().tolist()
    [[1, 0], [2, 3]]
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ):
        dtypes = _dtypes(dtypes)
        shapes = _shapes(shapes, len(dtypes), partial=True) or []
        if len(dtypes) != len(shapes):
            raise value_error("TW204", f"{len(shapes)} shapes for {len(dtypes)} dtypes", "as many")
        handle = _operation(
            "PaddingFIFOQueueV2",
            component_types=dtypes,
            shapes=shapes,
            capacity=capacity,
            shared_name=shared_name or "",
        )
        super().__init__(dtypes, shapes, _names(names), handle)
        self._set_name(name, shared_name)


@export("queue.PriorityQueue")
class PriorityQueue(QueueBase):
    """A queue that gives the element of the smallest number first.

    The first component of each element is its number, an int64 scalar.  types, shapes: those of
    the others.

    >>> import talweg as tf
    >>> queue = tf.queue.PriorityQueue(3, [tf.string], [[]])
    >>> queue.enqueue([tf.constant(2, tf.int64), "later"])
    >>> queue.enqueue([tf.constant(1, tf.int64), "sooner"])
    >>> queue.dequeue()[1].numpy()
    b'sooner'
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ):
        dtypes = _dtypes(types)
        shapes = _shapes(shapes, len(dtypes))
        handle = _operation(
            "PriorityQueueV2",
            component_types=dtypes,
            shapes=shapes or [TensorShape(None)] * len(dtypes),
            capacity=capacity,
            shared_name=shared_name or "",
        )
        shapes = [TensorShape([]), *(shapes or [TensorShape(None)] * len(dtypes))]
        super().__init__([int64, *dtypes], shapes, _names(names), handle)
        self._set_name(name, shared_name)


@export("queue.RandomShuffleQueue")
class RandomShuffleQueue(QueueBase):
    """A queue that gives its elements in random order.

    min_after_dequeue: so many elements stay in it, until it is closed.

    >>> import talweg as tf
    >>> queue = tf.queue.RandomShuffleQueue(5, 0, tf.int32, shapes=[[]], seed=1)
    >>> queue.enqueue_many([[1, 2, 3]])
    >>> sorted(queue.dequeue_many(3).numpy().tolist())
    [1, 2, 3]
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Sequence[str] | None = None,
        seed: Any = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ):
        dtypes = _dtypes(dtypes)
        shapes = _shapes(shapes, len(dtypes))
        first, second = get_seed(seed)
        handle = _operation(
            "RandomShuffleQueueV2",
            component_types=dtypes,
            shapes=shapes or [],
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=first,
            seed2=second,
            shared_name=shared_name or "",
        )
        super().__init__(dtypes, shapes, _names(names), handle)
        self._set_name(name, shared_name)
