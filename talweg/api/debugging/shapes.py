"""tf.debugging: assertions about ranks, shapes, dtypes and Python values."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array import shapes as sizes
from talweg.api.debugging.assertions import prefix, sentence, values_of
from talweg.api.export import export
from talweg.api.math import comparison, reductions
from talweg.core import dtypes
from talweg.core.dtypes import DType, as_dtype
from talweg.core.errors import NeedsStaticError, type_error, value_error
from talweg.core.shapes import TensorShape
from talweg.core.value import Tensor
from talweg.eager.convert import is_tensor_like
from talweg.graph.symbol import Symbol
from talweg.trace.host import asserting, of_shapes, requirements

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike
    from talweg.trace.host import RequirementGraph

_as_tensor = tensor  # under a name that arguments called `tensor` do not hide


def _shape_of(x: object) -> TensorShape:
    shape = x.shape if hasattr(x, "shape") and not isinstance(x, np.ndarray) else tensor(x).shape
    if shape.rank is None:
        raise NeedsStaticError(f"the rank of {x!r} is not known in the graph")
    return shape


def _rank_argument(function: str, rank: object) -> int:
    found = _as_tensor(rank)
    if found.dtype not in dtypes.INTEGER:
        raise type_error("TW102", f"{function}: a rank has dtype {found.dtype.name}", "an integer")
    if found.ndim:
        raise value_error("TW203", f"{function}: a rank has shape {found.shape}", "a scalar")
    return int(values_of(found))


def _tell_rank(
    graph: RequirementGraph, x: object, condition: Tensor, text: str, ranks: list, message: Any
) -> None:
    """Tell that the rank of x fulfils a condition."""
    x = _as_tensor(x)
    data = [sentence(message), f"Tensor {graph.name_of(x)} must have rank{text}", *ranks]
    graph.add(condition, [*data, "Received shape: ", sizes.shape(x)])


def _wrong_rank(function: str, shape: TensorShape, expected: str, message: str | None) -> Exception:
    text = f"{function}: x has rank {len(shape)}, shape {shape}"
    return value_error("TW203", prefix(message, text), expected)


@export("debugging.assert_rank", "assert_rank")
@asserting
@of_shapes
def assert_rank(
    x: TensorLike, rank: TensorLike, message: str | None = None, name: str | None = None
) -> None:
    """Raise ValueError unless x has this rank.  rank: a scalar integer; TypeError for other
    numbers.

    >>> import talweg as tf
    >>> tf.debugging.assert_rank(tf.zeros([2, 3]), 2)
    """
    graph = requirements()
    if graph is not None:
        condition = comparison.equal(sizes.rank(x), rank)
        return _tell_rank(graph, x, condition, "", [rank], message)
    wanted, shape = _rank_argument("assert_rank", rank), _shape_of(x)
    if len(shape) != wanted:
        raise _wrong_rank("assert_rank", shape, f"rank {wanted}", message)


@export("debugging.assert_rank_at_least")
@asserting
@of_shapes
def assert_rank_at_least(
    x: TensorLike, rank: TensorLike, message: str | None = None, name: str | None = None
) -> None:
    """Raise ValueError unless x has this rank or a higher one.  rank: a scalar integer.

    >>> import talweg as tf
    >>> tf.debugging.assert_rank_at_least(tf.zeros([2, 3]), 1)
    """
    graph = requirements()
    if graph is not None:
        condition = comparison.greater_equal(sizes.rank(x), rank)
        return _tell_rank(graph, x, condition, " at least", [rank], message)
    wanted, shape = _rank_argument("assert_rank_at_least", rank), _shape_of(x)
    if len(shape) < wanted:
        raise _wrong_rank("assert_rank_at_least", shape, f"rank {wanted} or more", message)


@export("debugging.assert_rank_in")
@asserting
@of_shapes
def assert_rank_in(
    x: TensorLike, ranks: TensorLike, message: str | None = None, name: str | None = None
) -> None:
    """Raise ValueError unless x has one of these ranks.  ranks: a list of scalar integers.

    >>> import talweg as tf
    >>> tf.debugging.assert_rank_in(tf.zeros([2, 3]), [1, 2])
    """
    if not isinstance(ranks, Iterable):
        raise type_error("TW104", f"assert_rank_in: ranks={ranks!r}", "a list of integers")
    graph = requirements()
    if graph is not None:
        equal = [comparison.equal(sizes.rank(x), rank) for rank in ranks]
        condition = functools.reduce(comparison.logical_or, equal)
        return _tell_rank(graph, x, condition, " in", list(ranks), message)
    wanted = [_rank_argument("assert_rank_in", rank) for rank in ranks]
    shape = _shape_of(x)
    if len(shape) not in wanted:
        raise _wrong_rank("assert_rank_in", shape, f"one of the ranks {wanted}", message)


@export("debugging.assert_scalar")
@asserting
@of_shapes
def assert_scalar(tensor: TensorLike, message: str | None = None, name: str | None = None) -> None:
    """Raise ValueError unless `tensor` has rank 0.

    >>> import talweg as tf
    >>> tf.debugging.assert_scalar(3)
    """
    tensor = _as_tensor(tensor)
    graph = requirements()
    if graph is not None:
        condition = comparison.equal(sizes.rank(tensor), 0)
        return _tell_rank(graph, tensor, condition, "", [0], message)
    if tensor.ndim:
        text = f"assert_scalar: tensor has shape {tensor.shape}"
        raise value_error("TW203", prefix(message, text), "a scalar, shape ()")


@export("debugging.assert_type")
@asserting
@of_shapes
def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> None:
    """Raise TypeError unless `tensor` has the dtype `tf_type`.

    >>> import talweg as tf
    >>> tf.debugging.assert_type(tf.constant([1.0]), tf.float32)
    """
    wanted = as_dtype(tf_type)
    found = tensor.dtype if hasattr(tensor, "_flat_components") else _as_tensor(tensor).dtype
    if found is not wanted:
        text = f"assert_type: tensor has dtype {found.name}"
        raise type_error("TW102", prefix(message, text), wanted.name)


@export("debugging.assert_integer")
@asserting
@of_shapes
def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> None:
    """Raise TypeError unless x has an integer dtype.

    >>> import talweg as tf
    >>> tf.debugging.assert_integer(tf.constant([1, 2]))
    """
    found = _as_tensor(x).dtype
    if not found.is_integer:
        text = f"assert_integer: x has dtype {found.name}"
        raise type_error("TW102", prefix(message, text), "an integer dtype")


@export("debugging.assert_same_float_dtype")
def assert_same_float_dtype(
    tensors: TensorLike | None = None, dtype: DTypeLike | None = None
) -> DType:
    """Return the one floating-point dtype of all `tensors`, and of `dtype` if that is given.

    float32 if there is nothing to go by.  ValueError if they differ or are no floats.

    >>> import talweg as tf
    >>> tf.debugging.assert_same_float_dtype([tf.constant(1.0), tf.constant([2.0])])
    tf.float32
    """
    function = "assert_same_float_dtype"
    wanted = None if dtype is None else as_dtype(dtype)
    if tensors is not None and not isinstance(tensors, (list, tuple)):
        raise type_error("TW104", f"{function}: tensors={tensors!r}", "a list of tensors")
    for item in tensors or ():
        if item is None:
            continue
        item_dtype = as_dtype(item.dtype) if hasattr(item, "dtype") else _as_tensor(item).dtype
        wanted = wanted or item_dtype
        if item_dtype is not wanted:
            raise value_error(
                "TW102", f"{function}: {item!r} has dtype {item_dtype.name}", wanted.name
            )
    wanted = wanted or dtypes.float32
    if not wanted.is_floating:
        raise value_error("TW102", f"{function}: the dtype is {wanted.name}", "floats")
    return wanted


@export("debugging.assert_proper_iterable")
def assert_proper_iterable(values: TensorLike) -> None:
    """Raise TypeError unless `values` can be iterated and is no tensor, array or string.

    >>> import talweg as tf
    >>> tf.debugging.assert_proper_iterable([tf.constant(1)])
    """
    improper = isinstance(values, (str, bytes, np.ndarray)) or is_tensor_like(values)
    if improper or hasattr(values, "_flat_components") or not hasattr(values, "__iter__"):
        raise type_error(
            "TW104",
            f"assert_proper_iterable: values has type {type(values)}",
            "an iterable that is no tensor, array or string",
        )


@export("debugging.is_numeric_tensor")
def is_numeric_tensor(tensor: TensorLike) -> bool:
    """Return whether `tensor` is a tensor (no variable, no list) of numbers.

    >>> import talweg as tf
    >>> tf.debugging.is_numeric_tensor(tf.constant([1])), tf.debugging.is_numeric_tensor("a")
    (True, False)
    """
    return isinstance(tensor, Tensor) and tensor.dtype in dtypes.NUMERIC


# -- assert_shapes

_MANY = (..., "*")  # any number of leading dimensions
_ANY = (None, ".")  # one dimension of any size


@export("debugging.assert_shapes")
@asserting
@of_shapes
def assert_shapes(
    shapes: Any,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raise ValueError unless each tensor has its shape, where equal symbols stand for equal sizes.

    shapes: a list of pairs (tensor, shape) or a dict.  A shape is a list whose entries are sizes,
    symbols (any other value, such as "N"), None or "." for one dimension of any size, and, only in
    front, ... or "*" for any number of dimensions; a string such as "NHWC" is read letter by
    letter.  The shape () allows scalars and vectors of one element, as in TensorFlow.

    >>> import talweg as tf
    >>> x, y = tf.zeros([8, 3]), tf.zeros([8])
    >>> tf.debugging.assert_shapes([(x, ("N", 3)), (y, ("N",))])
    """
    pairs = list(shapes.items()) if isinstance(shapes, dict) else list(shapes or ())
    known: dict[Any, tuple[Any, str]] = {}
    for position, (x, spec) in enumerate(pairs):
        if spec is None:
            continue
        entries = _entries(spec)
        if x is not None and hasattr(x, "deref"):
            x = x.deref()
        many = bool(entries) and any(entries[0] is mark or entries[0] == mark for mark in _MANY)
        graph = requirements()
        if graph is not None:
            told = _ToldShape(graph, _as_tensor(x), entries[many:], many)
            told.tell(known, data, summarize, message)
            continue
        shape = _shape_of(x).as_tuple()
        label = f"tensor {position}, of shape {shape},"
        if type(x) is Symbol:  # sizes that are not known are compared as such
            shape = x.dims
        if shape == () and len(entries) - many == 1:
            shape = (1,)  # as TensorFlow, which takes a scalar for a vector of one element
        _check_rank(label, shape, entries, many, message)
        dims = shape[len(shape) - len(entries) + 1 :] if many else shape
        for axis, (entry, size) in enumerate(zip(entries[many:], dims)):
            _check_size(label, axis - len(dims), entry, size, known, message)


def _entries(spec: tuple[Any, ...]) -> tuple:
    if isinstance(spec, TensorShape):
        return tuple(spec.as_list())
    if not hasattr(spec, "__iter__") and not hasattr(spec, "__getitem__"):
        raise value_error("TW205", f"assert_shapes: the shape {spec!r} is no iterable", "a list")
    entries = tuple(int(e) if isinstance(e, str) and e.isdigit() else e for e in spec)
    for entry in entries[1:]:
        if entry is ... or entry == "*":
            raise value_error(
                "TW205", f"assert_shapes: the shape {spec!r} has {entry!r} behind its first entry"
            )
    return entries


def _check_rank(label: str, shape: tuple, entries: tuple, many: bool, message: str | None) -> None:
    rank = len(entries) - many
    # TensorFlow takes a vector of one element for a scalar, too.
    allowed = {0, 1} if rank in (0, 1) and not many else {rank}
    several = len(shape) == 1 and rank == 0 and not many and shape[0] != 1
    if several or (len(shape) < rank if many else len(shape) not in allowed):
        text = f"assert_shapes: {label} has the wrong rank"
        raise value_error(
            "TW203", prefix(message, text), f"rank {rank}{' or more' if many else ''}"
        )


def _check_size(
    label: str, axis: int, entry: int | str | None, size: int, known: dict, message: str | None
) -> None:
    if entry in _ANY:
        return
    if isinstance(entry, (int, float, np.number)):
        wanted, reason = int(entry), "as given"
    else:
        wanted, reason = known.setdefault(entry, (size, f"{entry!r}, the size in {label}"))
    if wanted != size:
        text = f"assert_shapes: {label} has size {size} on axis {axis}"
        raise value_error("TW204", prefix(message, text), f"size {wanted}, {reason}")


class _ToldShape:
    """The shape that `assert_shapes` requires of one tensor, told to a graph that is written."""

    def __init__(self, graph: RequirementGraph, x: Tensor, entries: tuple, many: bool):
        self.graph, self.x, self.entries, self.many = graph, x, entries, many
        self.label = f"Tensor {graph.name_of(x)}"

    def tell(self, known: dict, data: Any, summarize: int | None, message: str | None) -> None:
        """Tell the conditions; `known`: symbol -> (size, where it comes from)."""

        def add(condition: Tensor, *text: object) -> None:
            shown = [sentence(message), *text, "Received shape: ", sizes.shape(self.x)]
            self.graph.add(condition, shown if data is None else list(data), summarize)

        add(*self._rank())
        first = -len(self.entries) if self.many else 0
        for axis, entry in enumerate(self.entries, first):
            if entry in _ANY:
                continue
            size = self._size(axis)
            if isinstance(entry, (int, float, np.number)):
                wanted, reason = int(entry), "Specified explicitly"
            else:
                reason = f"Specified by t{self.label[1:]} dimension {axis}"
                wanted, reason = known.setdefault(entry, (size, reason))
            if wanted is not size:
                text = f"{self.label} dimension"
                add(comparison.equal(size, wanted), reason, text, axis, "must have size", wanted)

    def _rank(self) -> tuple:
        """Return the condition on the rank, and the text; a scalar counts as a vector."""
        rank, wanted = sizes.rank(self.x), len(self.entries)
        text = f"{self.label} must have rank"
        if self.many:
            return comparison.greater_equal(rank, wanted), f"{text} at least", wanted
        if wanted > 1:
            return comparison.equal(rank, wanted), text, wanted
        condition = comparison.less_equal(rank, 1)
        if wanted:
            return condition, f"{text} in", 0, 1
        return comparison.logical_and(condition, comparison.equal(sizes.size(self.x), 1)), text, 0

    def _size(self, axis: int) -> Tensor:
        """Return a size; any number where the rank is wrong, which is told before."""
        if len(self.entries) == 1 and not self.many:
            return sizes.size(self.x)
        shape = sizes.shape(self.x)
        if self.x.shape.rank is not None:
            size = self.x.dims[axis]
            return _as_tensor(size) if type(size) is int else shape[axis]
        return reductions.reduce_prod(shape[axis : None if axis == -1 else axis + 1])
