"""Static shapes: fully known, partly known, or of unknown rank; and broadcasting of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from talweg.core.dims import Dim, broadcast, is_symbolic
from talweg.core.errors import invalid, invalid_value, type_error, value_error
from talweg.core.tracebacks import pass_out

if TYPE_CHECKING:
    from talweg.core.dims import Size

Dims = tuple  # a tuple of ints, None where a dimension is not known


def dimension_of(value: object) -> int | None:
    """Return one dimension as an int, or None where it is unknown; ValueError if negative."""
    if value is None:
        return None
    value = getattr(value, "value", value)
    if value is None:
        return None
    try:
        number = value.__index__()
    except AttributeError:
        raise type_error(
            "TW205",
            f"Dimension value must be integer or None or have an __index__ method, got value "
            f"'{value!r}' with type '{type(value)!r}'",
        ) from None
    if number < 0:
        raise value_error("TW205", f"Dimension {number} must be >= 0")
    return number


class TensorShape:
    """The shape of a tensor: a list of dimensions, some of which may be unknown, or no list at all.

    >>> import talweg as tf
    >>> tf.TensorShape([None, 3]).is_compatible_with([2, 3])
    True
    """

    __slots__ = ("_dims",)

    def __init__(self, dims: Any):
        try:
            if dims is None:
                self._dims: tuple | None = None
            elif isinstance(dims, TensorShape):
                self._dims = dims._dims
            elif isinstance(dims, (tuple, list)):
                self._dims = tuple(dimension_of(size) for size in dims)
            elif hasattr(dims, "dim") and hasattr(dims, "unknown_rank"):  # a TensorShapeProto
                known = None if dims.unknown_rank else dims.dim
                self._dims = known and tuple(None if d.size == -1 else d.size for d in known)
            elif isinstance(dims, Iterable) and not isinstance(dims, str):
                self._dims = tuple(dimension_of(size) for size in dims)
            else:
                self._dims = (dimension_of(dims),)
        except Exception as error:
            pass_out(error)
            raise

    @property
    def rank(self) -> int | None:
        """The number of dimensions; None if unknown."""
        return None if self._dims is None else len(self._dims)

    ndims = rank

    @property
    def dims(self) -> list | None:
        """The sizes as a list of `tf.compat.v1.Dimension`s; None if the rank is unknown."""
        if self._dims is None:
            return None
        kind = import_module("talweg.core.dimension").Dimension
        return [kind(size) for size in self._dims]

    def as_list(self) -> list:
        """Return the dimensions as a list of ints and None; ValueError if the rank is unknown."""
        if self._dims is None:
            raise value_error("TW203", "as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def as_proto(self) -> Any:
        """Return the shape as a TensorShapeProto, -1 for unknown dimensions; it needs
        tensorboard."""
        try:
            from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
        except ImportError as error:
            text = "shapes as messages need the package tensorboard: pip install talweg[graphdef]"
            raise ImportError(text) from error
        message = TensorShapeProto(unknown_rank=self._dims is None)
        for size in self._dims or ():
            message.dim.add().size = -1 if size is None else size
        return message

    def as_tuple(self) -> tuple:
        """Return the dimensions as a tuple; ValueError if the rank is unknown."""
        return tuple(self.as_list())

    def num_elements(self) -> int | None:
        """Return the product of the dimensions; None if one is unknown."""
        if self._dims is None or None in self._dims:
            return None
        product = 1
        for size in self._dims:
            product *= size
        return product

    def is_fully_defined(self) -> bool:
        """Return whether every dimension is known."""
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError unless every dimension is known."""
        if not self.is_fully_defined():
            raise value_error("TW205", f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: TensorShape | tuple) -> bool:
        """Return whether one concrete shape could fit both."""
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return True
        if len(self._dims) != len(other._dims):
            return False
        return all(a is None or b is None or a == b for a, b in zip(self._dims, other._dims))

    def assert_is_compatible_with(self, other: TensorShape) -> None:
        """Raise ValueError unless one concrete shape could fit both."""
        if not self.is_compatible_with(other):
            raise value_error("TW204", f"Shapes {self} and {other} are incompatible")

    def assert_same_rank(self, other: Size) -> None:
        """Raise ValueError if both ranks are known and differ."""
        other = as_shape(other)
        if None not in (self.rank, other.rank) and self.rank != other.rank:
            raise value_error("TW203", f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank: int) -> None:
        """Raise ValueError if the rank is known and is not `rank`."""
        if self.rank not in (None, rank):
            raise value_error("TW203", f"Shape {self} must have rank {rank}")

    def has_rank(self, rank: int) -> bool:
        """Return whether the rank is, or could be, `rank`."""
        return self.rank in (None, rank)

    def with_rank(self, rank: int) -> TensorShape:
        """Return this shape, or one of unknown dimensions if the rank is unknown; ValueError
        otherwise."""
        return self.merge_with(unknown_shape(rank)) if self._check_rank(rank) else self

    def _check_rank(self, rank: int) -> bool:
        if not self.has_rank(rank):
            raise value_error("TW203", f"Shape {self} must have rank {rank}")
        return True

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Return this shape; ValueError if its rank is known and smaller than `rank`."""
        if self.rank is not None and self.rank < rank:
            raise value_error("TW203", f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Return this shape; ValueError if its rank is known and larger than `rank`."""
        if self.rank is not None and self.rank > rank:
            raise value_error("TW203", f"Shape {self} must have rank at most {rank}")
        return self

    def merge_with(self, other: TensorShape) -> TensorShape:
        """Return the shape that holds what both know; ValueError if they contradict each other."""
        other = as_shape(other)
        if self._dims is None:
            return other
        if other._dims is None:
            return self
        self.assert_is_compatible_with(other)
        return shape_of_dims(tuple(b if a is None else a for a, b in zip(self._dims, other._dims)))

    def concatenate(self, other: object) -> TensorShape:
        """Return these dimensions, then those of `other`."""
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return shape_of_dims(self._dims + other._dims)

    def most_specific_compatible_shape(self, other: TensorShape) -> TensorShape:
        """Return the most specific shape that both are instances of."""
        other = as_shape(other)
        if self._dims is None or other._dims is None or self.rank != other.rank:
            return TensorShape(None)
        return shape_of_dims(tuple(a if a == b else None for a, b in zip(self._dims, other._dims)))

    def is_subtype_of(self, other: TensorShape) -> bool:
        """Return whether every concrete shape of this one is one of `other`."""
        if other._dims is None:
            return True
        if self._dims is None or self.rank != other.rank:
            return False
        return all(b is None or a == b for a, b in zip(self._dims, other._dims))

    def most_specific_common_supertype(self, others) -> TensorShape | None:
        """Return the most specific shape all of these are subtypes of."""
        result = self
        for other in others:
            if not isinstance(other, TensorShape):
                return None
            result = result.most_specific_compatible_shape(other)
        return result

    def __iter__(self) -> Iterator[int | None]:
        if self._dims is None:
            raise value_error("TW203", "Cannot iterate over a shape with unknown rank.")
        return iter(self._dims)

    def __len__(self) -> int:
        if self._dims is None:
            raise value_error("TW203", "Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __getitem__(self, key: Any) -> Any:
        if self._dims is None:
            if not isinstance(key, slice):
                return None
            start, stop = key.start or 0, key.stop
            if key.step is not None or stop is None or start < 0 or stop < 0:
                return TensorShape(None)
            return unknown_shape(max(stop - start, 0))
        if isinstance(key, slice):
            return shape_of_dims(self._dims[key])
        return self._dims[key]

    def __add__(self, other: object) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: object) -> TensorShape:
        return as_shape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TensorShape):
            return self._dims == other._dims
        try:
            return self._dims == TensorShape(other)._dims
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        return f"TensorShape({'None' if self._dims is None else list(self._dims)})"

    def __str__(self) -> str:
        return "<unknown>" if self._dims is None else str(self._dims)

    def __reduce__(self):
        return TensorShape, (self._dims,)

    def __tf_tracing_type__(self, context: object):
        return self


def shape_of_dims(dims: tuple) -> TensorShape:
    """Return a TensorShape of dimensions that need no checking."""
    shape = TensorShape.__new__(TensorShape)
    shape._dims = dims
    return shape


def static(dims: tuple | None) -> TensorShape:
    """Return the shape of dimensions of which some may be symbolic: None in their place."""
    if dims is None:
        return TensorShape(None)
    return shape_of_dims(tuple([None if type(size) is Dim else size for size in dims]))


def unknown_shape(rank: int | None = None) -> TensorShape:
    """Return a shape of unknown dimensions, of unknown rank too if `rank` is None."""
    return TensorShape(None if rank is None else [None] * rank)


def as_shape(value: object) -> TensorShape:
    """Return `value` as a TensorShape."""
    return value if isinstance(value, TensorShape) else TensorShape(value)


def broadcast_dims(name: str, *shapes: tuple | None) -> Any:
    """Return the common dimensions of `shapes` under NumPy's broadcasting rule; None if a rank is
    unknown.

    Raises InvalidArgumentError, naming `name`, the two shapes and the dimension that differs.
    """
    if any(dims is None for dims in shapes):
        return None
    result: tuple = ()
    for dims in shapes:
        assert dims is not None
        rank = max(len(result), len(dims))
        left, right = (1,) * (rank - len(result)) + result, (1,) * (rank - len(dims)) + dims
        merged = []
        for position, (a, b) in enumerate(zip(left, right)):
            if type(a) is Dim or type(b) is Dim:
                merged.append(broadcast(a, b))
            elif a == 1 or a == b:
                merged.append(b)
            elif b == 1:
                merged.append(a)
            elif a is None or b is None:
                merged.append(b if a is None else a)
            else:
                raise invalid(
                    "TW201",
                    f"{name}: required broadcastable shapes, got {' and '.join(map(str, shapes))}; "
                    f"dimension {position - rank} is {a} in one and {b} in another",
                    "dimensions that are equal, or 1 in one of the operands",
                )
        result = tuple(merged)
    return result


def merge_equal_shapes(*shapes: tuple) -> tuple:
    """Return shapes that must be equal as one, with a plain number wherever one of them has it."""
    first, *rest = shapes
    if not rest or not is_symbolic(first):
        return first
    return tuple(
        [next((n for n in sizes if type(n) is not Dim), sizes[0]) for sizes in zip(*shapes)]
    )


def normalize_axis(
    name: str, axis: int, rank: int, argument: str = "axis", by_value: bool = False
) -> int:
    """Return `axis` counted from the front; InvalidArgumentError unless -rank <= axis < rank.

    by_value: TensorFlow looks at the axis when it runs (`errors.invalid_value`).
    """
    if not -rank <= axis < rank:
        raise (invalid_value if by_value else invalid)(
            "TW202",
            f"{name}: {argument}={axis} is out of range for a tensor of rank {rank}",
            f"{argument} in [{-rank}, {rank})" if rank else "no axis: the tensor is a scalar",
        )
    return axis + rank if axis < 0 else axis
