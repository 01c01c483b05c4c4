"""tf.compat.v1.train: input pipelines of queues: producers of names and slices, batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.compat_v1.local_variables import get_local_variable
from talweg.compat_v1.train.queue_runner import QueueRunner, add_queue_runner
from talweg.core import dispatch
from talweg.core.dtypes import int64, string
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.eager.convert import convert_to_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talweg.core.annotations import ShapeLike, TensorLike
    from talweg.core.value import Tensor


def _queues() -> None:
    if dispatch.context.base is None:
        raise RuntimeError(
            "Input pipelines based on Queues are not supported when eager execution is enabled. "
            "Please use tf.data to ingest data into your model instead.  [TW503]"
        )


@export("compat.v1.train.limit_epochs")
def limit_epochs(tensor: TensorLike, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Return `tensor`, so many times; then OutOfRangeError.  A local variable counts.

    ValueError unless num_epochs is positive.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise value_error("TW207", f"num_epochs must be > 0 not {num_epochs}.")
    graph = dispatch.context.base
    label = graph.unique_name("limit_epochs/epochs")
    epochs = get_local_variable(
        label, initializer=look_up("zeros")([], int64), trainable=False, dtype=int64
    )
    counter = look_up("compat.v1.count_up_to")(epochs, num_epochs)
    with graph.control_dependencies([counter]):
        return look_up("identity")(tensor)


@export("compat.v1.train.input_producer")
def input_producer(
    input_tensor: TensorLike,
    element_shape: ShapeLike | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> Any:
    """Return a queue of the rows of a tensor, again and again, which threads keep full.

    shuffle: in another order each time.  num_epochs: how often; then the queue is closed.
    ValueError for a scalar.
    """
    _queues()
    x = convert_to_tensor(input_tensor)
    shape = x.shape[1:].merge_with(TensorShape(element_shape))
    if shuffle:
        x = look_up("compat.v1.random_shuffle")(x, seed=seed)
    x = limit_epochs(x, num_epochs)
    queue = look_up("queue.FIFOQueue")(
        capacity, [x.dtype], [shape], shared_name=shared_name, name=name or "input_producer"
    )
    add_queue_runner(QueueRunner(queue, [queue.enqueue_many([x])], cancel_op=cancel_op))
    return queue


@export("compat.v1.train.string_input_producer")
def string_input_producer(
    string_tensor: TensorLike,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> Any:
    """Return a queue of strings (names of files), for a reader; ValueError for an empty list."""
    if isinstance(string_tensor, (list, tuple)) and not string_tensor:
        raise value_error("TW207", "string_input_producer requires a non-null input tensor")
    x = convert_to_tensor(string_tensor, string)
    return input_producer(
        x, [], num_epochs, shuffle, seed, capacity, shared_name, None, name, cancel_op
    )


@export("compat.v1.train.range_input_producer")
def range_input_producer(
    limit: TensorLike,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return a queue of the numbers 0, 1, ..., limit - 1."""
    numbers = look_up("range")(limit)
    return input_producer(numbers, [], num_epochs, shuffle, seed, capacity, shared_name, None, name)


@export("compat.v1.train.slice_input_producer")
def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list:
    """Return a slice of each tensor, of the same row; ValueError for an empty list."""
    _queues()
    tensors = [convert_to_tensor(x) for x in tensor_list]
    if not tensors:
        raise value_error("TW207", "Expected at least one tensor in slice_input_producer().")
    count = look_up("shape")(tensors[0])[0]
    queue = range_input_producer(count, num_epochs, shuffle, seed, capacity, shared_name)
    index = queue.dequeue()
    return [look_up("gather")(x, index) for x in tensors]


def _flat(tensors: list[Tensor] | dict[Any, Any]) -> tuple[list, Any]:
    """Flatten a list, a dictionary or one tensor: (the tensors, the keys to pack them again)."""
    if isinstance(tensors, dict):
        return [convert_to_tensor(tensors[key]) for key in sorted(tensors)], sorted(tensors)
    if isinstance(tensors, (list, tuple)):
        return [convert_to_tensor(x) for x in tensors], None
    return [convert_to_tensor(tensors)], 1


def _pack(found: object, kind: list[str] | None) -> Any:
    found = found if isinstance(found, list) else [found]
    if isinstance(kind, list):
        return dict(zip(kind, found))
    return found[0] if kind == 1 or len(found) == 1 else found


def _batch(
    lists: list, options: dict, make_queue: Callable[..., Any], keep_input: object = True
) -> Any:
    """Batch the elements of several lists of tensors, through a queue."""
    _queues()
    parts = [_flat(tensors) for tensors in lists]
    kind = parts[0][1]
    many = options["enqueue_many"]
    shapes = options["shapes"]
    if shapes is None:
        shapes = [x.shape[1:] if many else x.shape for x in parts[0][0]]
        for tensors, _ in parts[1:]:
            own = [x.shape[1:] if many else x.shape for x in tensors]
            shapes = [_common(a, b) for a, b in zip(shapes, own)]
    queue = make_queue([x.dtype for x in parts[0][0]], shapes)
    enqueue = queue.enqueue_many if many else queue.enqueue
    operations = [_keep(enqueue, tensors, keep_input, many) for tensors, _ in parts]
    add_queue_runner(QueueRunner(queue, operations))
    take = queue.dequeue_up_to if options["allow_smaller_final_batch"] else queue.dequeue_many
    return _pack(take(options["batch_size"]), kind)


def _common(a: TensorShape, b: TensorShape) -> TensorShape:
    if a.rank is None or a.rank != b.rank:
        return TensorShape(None)
    return TensorShape([x if x == y else None for x, y in zip(a.as_list(), b.as_list())])


def _keep(enqueue: Callable[..., Any], tensors: list, keep_input: object, many: bool) -> Any:
    if keep_input is True:
        return enqueue(tensors)
    keep = convert_to_tensor(keep_input)
    if many:
        rows = keep if keep.shape.rank else look_up("fill")(look_up("shape")(tensors[0])[:1], keep)
        return enqueue([look_up("boolean_mask")(x, rows) for x in tensors])
    none = lambda: look_up("no_op")()  # noqa: E731
    return look_up("compat.v1.cond")(keep, lambda: enqueue(tensors), none)


def _plain_queue(
    capacity: int, dynamic_pad: bool, shared_name: str | None, name: str | None
) -> Any:
    kind = look_up("queue.PaddingFIFOQueue" if dynamic_pad else "queue.FIFOQueue")
    label = name or "batch"
    return lambda dtypes, shapes: kind(
        capacity, dtypes, shapes, shared_name=shared_name, name=label
    )


def _shuffling_queue(
    capacity: int, min_after_dequeue: int, seed: object, shared_name: str | None, name: str | None
) -> Any:
    kind = look_up("queue.RandomShuffleQueue")
    label = name or "shuffle_batch"
    return lambda dtypes, shapes: kind(
        capacity,
        min_after_dequeue,
        dtypes,
        shapes,
        seed=seed,
        shared_name=shared_name,
        name=label,
    )


def _options(
    batch_size: object, enqueue_many: bool, shapes: list[Any] | None, smaller: bool
) -> dict:
    return {
        "batch_size": batch_size,
        "enqueue_many": enqueue_many,
        "shapes": shapes,
        "allow_smaller_final_batch": smaller,
    }


@export("compat.v1.train.batch")
def batch(
    tensors: TensorLike,
    batch_size: TensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return elements, each a list (or dictionary) of tensors, put together by threads and a queue.

    enqueue_many: `tensors` are several elements already.  dynamic_pad: elements may differ in size,
    and are filled up with zeros.  With `allow_smaller_final_batch` the last batch may be smaller.
    """
    options = _options(batch_size, enqueue_many, shapes, allow_smaller_final_batch)
    queue = _plain_queue(capacity, dynamic_pad, shared_name, name)
    return _batch([tensors] * num_threads, options, queue)


@export("compat.v1.train.maybe_batch")
def maybe_batch(
    tensors: dict[Any, Any],
    keep_input: TensorLike,
    batch_size: TensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Call `batch` for the elements for which `keep_input` is true."""
    options = _options(batch_size, enqueue_many, shapes, allow_smaller_final_batch)
    queue = _plain_queue(capacity, dynamic_pad, shared_name, name)
    return _batch([tensors] * num_threads, options, queue, keep_input)


@export("compat.v1.train.batch_join")
def batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Call `batch` for the elements of several lists of tensors, a thread for each."""
    options = _options(batch_size, enqueue_many, shapes, allow_smaller_final_batch)
    return _batch(
        list(tensors_list), options, _plain_queue(capacity, dynamic_pad, shared_name, name)
    )


@export("compat.v1.train.maybe_batch_join")
def maybe_batch_join(
    tensors_list: Any,
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Call `batch_join` for the elements for which `keep_input` is true."""
    options = _options(batch_size, enqueue_many, shapes, allow_smaller_final_batch)
    queue = _plain_queue(capacity, dynamic_pad, shared_name, name)
    return _batch(list(tensors_list), options, queue, keep_input)


@export("compat.v1.train.shuffle_batch")
def shuffle_batch(
    tensors: TensorLike,
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Call `batch` for elements in random order; some always stay in the queue."""
    options = _options(batch_size, enqueue_many, shapes, allow_smaller_final_batch)
    queue = _shuffling_queue(capacity, min_after_dequeue, seed, shared_name, name)
    return _batch([tensors] * num_threads, options, queue)


@export("compat.v1.train.maybe_shuffle_batch")
def maybe_shuffle_batch(
    tensors: TensorLike,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Call `shuffle_batch` for the elements for which `keep_input` is true."""
    options = _options(batch_size, enqueue_many, shapes, allow_smaller_final_batch)
    queue = _shuffling_queue(capacity, min_after_dequeue, seed, shared_name, name)
    return _batch([tensors] * num_threads, options, queue, keep_input)


@export("compat.v1.train.shuffle_batch_join")
def shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Call `shuffle_batch` for the elements of several lists of tensors, a thread for each."""
    options = _options(batch_size, enqueue_many, shapes, allow_smaller_final_batch)
    queue = _shuffling_queue(capacity, min_after_dequeue, seed, shared_name, name)
    return _batch(list(tensors_list), options, queue)


@export("compat.v1.train.maybe_shuffle_batch_join")
def maybe_shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Call `shuffle_batch_join` for the elements for which `keep_input` is true."""
    options = _options(batch_size, enqueue_many, shapes, allow_smaller_final_batch)
    queue = _shuffling_queue(capacity, min_after_dequeue, seed, shared_name, name)
    return _batch(list(tensors_list), options, queue, keep_input)
