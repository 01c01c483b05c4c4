"""Functions of TensorFlow that take a `DynamicRaggedShape` in the place of a shape.

They are asked from the first such shape on.  Broadcasting goes through the axes from the outside
in; for each element of the target it knows which element of the operand is repeated there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.asked import ask_first
from talweg.api.export import look_up
from talweg.core.dtypes import int64
from talweg.core.errors import value_error
from talweg.eager.tensor import array_of

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike


class AxisLengths:
    """The sizes of the axes of a shape: of all its rows, for each axis."""

    def __init__(self, shape: Any):
        inner = shape.inner_shape
        self.rank = shape.rank
        self.lengths: list[Any] = []
        self.uniform: list[bool] = []
        for part in shape.row_partitions:
            if not self.lengths:
                self._add(look_up("reshape")(part.nrows(), [1]), True)
            self._add(part.row_lengths(), part.is_uniform())
        for axis in range(1 if self.lengths else 0, shape.inner_rank):
            self._add(look_up("fill")([self.count], inner[axis]), True)

    def _add(self, lengths: Any, uniform: bool) -> None:
        self.lengths.append(look_up("cast")(lengths, int64))
        self.uniform.append(uniform)

    @property
    def count(self) -> Any:
        """The number of elements so far."""
        return look_up("reduce_sum")(self.lengths[-1]) if self.lengths else 1

    def with_rank(self, rank: int) -> AxisLengths:
        """Return the same with axes of size 1 in front."""
        missing = [look_up("ones")([1], int64)] * (rank - self.rank)
        self.lengths = missing + self.lengths
        self.uniform = [True] * len(missing) + self.uniform
        self.rank = max(rank, self.rank)
        return self


def _repeat(own: Any, lengths: Any, wanted: Any) -> Any:
    """Return the elements of an axis that rows `own` have,
    each for the `wanted` elements of a row.
    """
    gather, repeat, equal = look_up("gather"), look_up("repeat"), look_up("equal")
    before = look_up("cumsum")(lengths, exclusive=True)
    there = gather(lengths, own)
    fitting = look_up("debugging.Assert")(
        look_up("reduce_all")(equal(there, wanted) | equal(there, 1)),
        ["rows of these lengths do not broadcast to rows of those:", there, wanted],
    )
    with look_up("control_dependencies")([] if fitting is None else [fitting]):
        there = look_up("identity")(there)
    first = repeat(look_up("cumsum")(wanted, exclusive=True), wanted)
    places = look_up("range")(look_up("shape")(first, int64)[0]) - first
    once = equal(repeat(there, wanted), 1)
    return repeat(gather(before, own), wanted) + look_up("where")(once, 0, places)


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Any:
    """Return a tensor, ragged or dense, repeated along axes of size 1 to a ragged shape."""
    target = AxisLengths(shape)
    source = AxisLengths(type(shape).from_tensor(input))
    if source.rank > target.rank:
        raise value_error(
            "TW203", f"broadcast_to: rank {source.rank} to rank {target.rank}", "a greater rank"
        )
    own = look_up("zeros")([1], int64)
    for lengths, wanted in zip(source.with_rank(target.rank).lengths, target.lengths):
        own = _repeat(own, lengths, wanted)
    flat = getattr(input, "flat_values", input)
    return shape.over(look_up("gather")(look_up("reshape")(flat, [-1]), own))


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Any:
    """Compute the ragged shape that two shapes broadcast to."""
    kind = type(shape_x if hasattr(shape_x, "row_partitions") else shape_y)
    shapes = [x if isinstance(x, kind) else kind([], x) for x in (shape_x, shape_y)]
    x, y = [AxisLengths(shape) for shape in shapes]
    rank = max(x.rank, y.rank)
    x, y = x.with_rank(rank), y.with_rank(rank)
    places = [look_up("zeros")([1], int64)] * 2
    sizes: list[Any] = []
    for one, two, uniform in zip(x.lengths, y.lengths, zip(x.uniform, y.uniform)):
        first, second = look_up("gather")(one, places[0]), look_up("gather")(two, places[1])
        wanted = look_up("where")(look_up("equal")(first, 1), second, first)
        places = [_repeat(p, lengths, wanted) for p, lengths in zip(places, (one, two))]
        known = array_of(wanted).tolist()
        sizes.append(known[0] if all(uniform) and len(set(known)) == 1 else tuple(known))
    parts = max(shape.num_row_partitions for shape in shapes)
    parts = max([parts, *[axis for axis, size in enumerate(sizes) if isinstance(size, tuple)]])
    return kind.from_lengths(sizes, min(parts, max(rank - 1, 0)), shapes[0].dtype)


def reshape(tensor: Any, shape: ShapeLike, name: str | None = None) -> Any:
    """Return the flat values of a tensor in another shape."""
    return shape.over(getattr(tensor, "flat_values", tensor))


def _fill(function: str) -> Callable[..., Any]:
    """Call `tf.zeros` or `tf.ones` with a ragged shape."""

    def fill(shape: ShapeLike, *args: object, **kwargs: object) -> Any:
        return shape.over(look_up(function)(shape.inner_shape, *args, **kwargs))

    return fill


def fill(dims: Any, value: Any, name: str | None = None, layout: Any = None) -> Any:
    """Fill a ragged shape with one value."""
    return dims.over(look_up("fill")(dims.inner_shape, value))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "broadcast_to": broadcast_to,
    "broadcast_dynamic_shape": broadcast_dynamic_shape,
    "reshape": reshape,
    "zeros": _fill("zeros"),
    "ones": _fill("ones"),
    "fill": fill,
}


@functools.cache
def teach(kind: type) -> None:
    """Have the functions look for such shapes among their arguments."""
    for name, function in FUNCTIONS.items():
        ask_first(look_up(name), functools.partial(_question, kind, function))


def _question(
    kind: type, function: Callable[..., Any], original: Callable[..., Any]
) -> Callable[..., Any]:
    def asking(*args: object, **kwargs: object) -> Any:
        for value in (*args, *kwargs.values()):
            if isinstance(value, kind):
                return function(*args, **kwargs)
        return original(*args, **kwargs)

    return asking
