"""RaggedTensor: indexing, functions of the flat values, and Python's operators."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.dtypes import int32, int64
from talweg.core.errors import (
    InvalidArgumentError,
    NeedsStaticError,
    invalid,
    type_error,
    value_error,
)
from talweg.core.hooks import hooks
from talweg.core.tracebacks import boundary
from talweg.core.value import BINARY, COMPARISON, UNARY
from talweg.eager import partition
from talweg.eager.convert import convert_to_tensor
from talweg.eager.ragged import RaggedTensor
from talweg.eager.tensor import array_of, wrap
from talweg.graph.symbol import Symbol, constant_of
from talweg.prims import arithmetic, checking, indexing, layout, scan, sequences

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor

# -- indexing


def take(values: object, places: np.ndarray) -> Any:
    """Return the rows `places` of a tensor or ragged tensor."""
    if isinstance(values, RaggedTensor):
        splits = values._splits
        lengths = np.diff(splits)[places]
        rows = take(values.values, partition.ranges(splits[:-1][places], lengths))
        new = partition.splits_of_lengths(lengths)
        return RaggedTensor._of(rows, values._integers(new), values._uniform)
    return indexing.gather(values, wrap(np.asarray(places, np.int64)), axis=0, batch_dims=0)


def gather(x: RaggedTensor, indices: object) -> Any:
    """Return the rows of a ragged tensor that `indices` names, in its shape."""
    places = convert_to_tensor(indices)
    if places.dtype not in (int32, int64):
        raise type_error("TW102", f"gather: indices have dtype {places.dtype.name}", "integers")
    dims = places.dims
    if not dims:
        begin, end = (
            indexing.gather(x.row_splits, places + i, axis=0, batch_dims=0) for i in (0, 1)
        )
        return x.values[begin:end]
    flat = layout.reshape(places, shape=(math.prod(dims),)) if len(dims) > 1 else places
    if any(type(part) is Symbol for part in (flat, *x._flat_components())):
        gathered = _gather_rows(x, flat)
    else:
        array = array_of(flat)
        rows = x._splits.shape[0] - 1
        outside = array[(array < 0) | (array >= rows)]
        if len(outside):
            raise invalid("TW206", f"gather: index {outside[0]} is not in [0, {rows})")
        gathered = take(x, array)
    for size in reversed(dims[1:]):
        gathered = RaggedTensor.from_uniform_row_length(gathered, size)
    return gathered


def _gather_rows(values: TensorLike, places: Tensor) -> Any:
    """Gather by indices that are known only when the graph runs; known sizes stay known."""
    if not isinstance(values, RaggedTensor):
        return indexing.gather(values, places, axis=0, batch_dims=0)
    splits = values.row_splits
    starts = indexing.gather(splits, places, axis=0, batch_dims=0)
    one = wrap(np.ones((), places.dtype.numpy_dtype))
    lengths = indexing.gather(splits, places + one, axis=0, batch_dims=0) - starts
    zero = wrap(np.zeros(1, splits.dtype.numpy_dtype))
    ends = scan.cumsum(lengths, axis=0, exclusive=False, reverse=False)
    row = sequences.repeated(lengths, size=lengths.dims[0])
    here = sequences.counting(size=row.dims[0], dtype=splits.dtype)
    moved = indexing.gather(starts - ends + lengths, row, axis=0, batch_dims=0)
    rows = _gather_rows(values.values, here + moved)
    return RaggedTensor._of(rows, layout.concat(zero, ends, axis=0), values._uniform)


def get(x: RaggedTensor, keys: tuple) -> Any:
    """Return x[keys]: integers, slices, one ellipsis, and new axes in front."""
    if not isinstance(x, RaggedTensor):
        return x[keys] if keys else x
    keys = _without_ellipsis(keys, x.shape.rank or 0)
    if not keys:
        return x
    first, rest = keys[0], keys[1:]
    rows = len(x._splits) - 1
    if first is None:
        return RaggedTensor._of(get(x, rest), x._integers([0, rows]), rows)
    if isinstance(first, slice):
        chosen = take(x, np.arange(rows)[_plain_slice(first)])
        return _inner(chosen, rest) if rest else chosen
    if type(first) is Symbol:  # a row that only a run knows, of rows that are known
        begin, end = x.row_splits[:-1][first], x.row_splits[1:][first]
        return get(x.values[begin:end], rest)
    row = _plain_index(first)
    if not -rows <= row < rows:
        raise IndexError(f"Row key {row} out of bounds for {rows} rows  [TW206]")
    begin, end = x._splits[row % rows], x._splits[row % rows + 1]
    return get(x.values[int(begin) : int(end)], rest)


def _inner(x: Any, keys: tuple) -> Any:
    """Return `keys` applied to the dimensions after the first of a ragged tensor."""
    first, rest = keys[0], keys[1:]
    if first is None:
        ones = np.arange(len(x._splits))
        return RaggedTensor._of(_inner(x, rest) if rest else x, x._integers(ones), 1)
    if isinstance(first, slice):
        cut = _plain_slice(first)
        lengths = np.diff(x._splits)
        places = [np.arange(n)[cut] + a for n, a in zip(lengths, x._splits)]
        flat = np.concatenate([np.zeros(0, np.int64), *places])
        values = take(x.values, flat)
        splits = partition.splits_of_lengths([len(row) for row in places])
        if rest:
            whole = isinstance(values, RaggedTensor)
            values = _inner(values, rest) if whole else values[(slice(None), *rest)]
        return RaggedTensor._of(values, x._integers(splits))
    if x._uniform is None:
        raise value_error("TW206", "Cannot index into an inner ragged dimension.")
    inner_row = _plain_index(first)
    if not -x._uniform <= inner_row < x._uniform:
        raise IndexError(f"key {inner_row} out of bounds for rows of {x._uniform}  [TW206]")
    values = take(x.values, x._splits[:-1] + inner_row % x._uniform)
    if not rest:
        return values
    return (
        _inner(values, rest) if isinstance(values, RaggedTensor) else values[(slice(None), *rest)]
    )


def _without_ellipsis(keys: tuple, rank: int) -> tuple:
    places = [i for i, key in enumerate(keys) if key is Ellipsis]
    if not places:
        return keys
    used = sum(key is not None and key is not Ellipsis for key in keys)
    place = places[0]
    filled = (slice(None),) * max(0, rank - used)
    return tuple(k for k in (*keys[:place], *filled, *keys[place + 1 :]) if k is not Ellipsis)


def _plain_index(key: int) -> int:
    try:
        return int(key.__index__())
    except (AttributeError, TypeError):
        raise type_error(
            "TW206", f"{key!r} cannot index a RaggedTensor", "an int or a slice"
        ) from None


def _plain_slice(key: slice) -> slice:
    parts = [None if k is None else _plain_index(k) for k in (key.start, key.stop, key.step)]
    return slice(*parts)


# -- element by element


def map_flat(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return `function` of the flat values of ragged arguments, which must have equal splits."""
    ragged = [x for x in (*arguments, *options.values()) if isinstance(x, RaggedTensor)]
    if not ragged:
        return function(*arguments, **options)
    first = ragged[0]
    compared = [pair for other in ragged[1:] for pair in _unlike_splits(first, other)]

    def flat(x: RaggedTensor) -> Any:
        if not isinstance(x, RaggedTensor):
            return x
        values = x.flat_values
        for one, other in compared if x is first else ():
            values = checking.check_same_splits(values, one, other)
        return values

    values = function(*map(flat, arguments), **{name: flat(x) for name, x in options.items()})
    return first.with_flat_values(values)


def _unlike_splits(x: RaggedTensor, y: RaggedTensor) -> list[tuple[Tensor, Tensor]]:
    """Return the row splits of two ragged tensors that only a run can compare, as pairs.

    InvalidArgumentError where some are known, and not equal.
    """
    pairs = list(zip(x.nested_row_splits, y.nested_row_splits))
    if x.ragged_rank != y.ragged_rank:
        refuse_rows(x, y)
    deferred = []
    for a, b in pairs:
        if a is b or (type(a) is type(b) is Symbol and a.node is b.node):
            continue
        if any(type(part) is Symbol and constant_of(part.node) is None for part in (a, b)):
            deferred.append((a, arithmetic.cast(b, dtype=a.dtype)))
        elif not np.array_equal(array_of(a), array_of(b)):
            refuse_rows(x, y)
    return deferred


def refuse_rows(x: RaggedTensor, y: RaggedTensor) -> None:
    """Raise InvalidArgumentError: two ragged tensors have rows of other lengths."""
    raise invalid(
        "TW204",
        f"The rows of the arguments have different lengths: {x!r} and {y!r}",
        "equal row splits",
    )


def pair_operands(x: Any, y: Any) -> tuple:
    """Return two operands, at least one ragged, such that functions of their flat values fit.

    InvalidArgumentError where they do not broadcast.
    """
    if not isinstance(x, RaggedTensor):
        x = convert_to_tensor(x, dtype_hint=y.dtype)
    elif not isinstance(y, RaggedTensor):
        y = convert_to_tensor(y, dtype_hint=x.dtype)
    ragged = [v for v in (x, y) if isinstance(v, RaggedTensor)]
    if not any(map(_rows_unknown, ragged)):
        return broadcast_rows(x, y) if not _fit(x, y) else (x, y)
    if len(ragged) == 2:
        if x.ragged_rank != y.ragged_rank:
            raise NeedsStaticError("the rows are only known when the graph runs")
        return x, y
    return (x, _repeat_rows(y, x)) if ragged[0] is x else (_repeat_rows(x, y), y)


def _rows_unknown(x: RaggedTensor) -> bool:
    """Return whether only a run knows where rows begin."""
    return any(
        type(splits) is Symbol and constant_of(splits.node) is None
        for splits in x.nested_row_splits
    )


def _fit(x: Any, y: Any) -> bool:
    """Return whether operands need no repetition:
    equal rows, or a dense one of inner dimensions.
    """
    if isinstance(x, RaggedTensor) and isinstance(y, RaggedTensor):
        pairs = zip(x.nested_row_splits, y.nested_row_splits)
        return x.ragged_rank == y.ragged_rank and all(
            a is b or np.array_equal(array_of(a), array_of(b)) for a, b in pairs
        )
    dense, flat = (y, x.flat_values) if isinstance(x, RaggedTensor) else (x, y.flat_values)
    return dense.ndim < flat.ndim


def _repeat_rows(x: Any, like: RaggedTensor) -> Any:
    """Return a dense operand beside a ragged one whose rows a run knows: each row's own value
    repeated.

    NeedsStaticError where it has rows of its own, or may have them.
    """
    flat = like.flat_values
    rank = like.ragged_rank + flat.ndim
    if x.ndim < flat.ndim:  # uniform inner dimensions only
        return x
    dims = (*(1,) * (rank - x.ndim), *x.dims)
    if any(size != 1 for size in dims[1 : like.ragged_rank + 1]) or len(dims) > rank:
        raise NeedsStaticError("the rows are only known when the graph runs")
    rows = layout.reshape(x, shape=(dims[0], *dims[like.ragged_rank + 1 :]))
    if dims[0] == 1:
        return rows
    count = (like.row_splits.dims[0] - 1,)
    rows = checking.check_sizes(rows, given=dims[:1], wanted=count, message="rows of a tensor")
    return indexing.gather(rows, outer_rows(like), axis=0, batch_dims=0)


def outer_rows(x: RaggedTensor) -> Tensor:
    """Return the outermost row that each flat value is in."""
    rows, inner = x.value_rowids(), x.values
    while isinstance(inner, RaggedTensor):
        rows = indexing.gather(rows, inner.value_rowids(), axis=0, batch_dims=0)
        inner = inner.values
    return rows


# -- broadcasting: along each dimension rows have equal lengths, or one operand has size 1 by its
# shape; ragged rows that happen to have one element each are not repeated, as in TensorFlow


def broadcast_rows(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two operands as ragged tensors with equal rows; inner dimensions are left as they are.

    InvalidArgumentError where the rows do not broadcast, NeedsStaticError where a graph does not
    know them.
    """
    rank = max(_rank(x), _rank(y))
    depth = max(rank - _rank(v) + v.ragged_rank for v in (x, y) if isinstance(v, RaggedTensor))
    first, second = _Partitioned(x, rank, depth), _Partitioned(y, rank, depth)
    rows = _joint_size(first.rows, second.rows, x, y)
    for operand in (first, second):
        operand.places = np.arange(rows) if operand.rows == rows else np.zeros(rows, np.int64)
    nested = []
    for level in range(1, depth + 1):
        own, other = first.row_lengths(level), second.row_lengths(level)
        lone, other_lone = first.is_one(level), second.is_one(level)
        if not lone and not other_lone and not np.array_equal(own, other):
            raise _refusal(x, y)
        splits = partition.splits_of_lengths(other if lone else own)
        sizes = [operand.levels[level] for operand in (first, second)]
        uniform = (sizes[1] if lone else sizes[0]) if all(type(n) is int for n in sizes) else None
        nested.append((splits, uniform))
        row = partition.row_of_each(splits)
        within = np.arange(len(row)) - splits[row]
        for operand, repeated in ((first, lone), (second, other_lone)):
            operand.enter(level, row, 0 if repeated else within)
    like = x if isinstance(x, RaggedTensor) else y
    return first.divide_rows(nested, like), second.divide_rows(nested, like)


def _rank(x: Any) -> int:
    return x.ragged_rank + x.flat_values.ndim if isinstance(x, RaggedTensor) else x.ndim


def _joint_size(a: int, b: int, x: object, y: object) -> int:
    if a != b and 1 not in (a, b):
        raise _refusal(x, y)
    return b if a == 1 else a


def _refusal(x: object, y: object) -> Exception:
    return invalid(
        "TW204",
        f"The rows of the arguments have different lengths: {x!r} and {y!r}",
        "equal row splits, or size 1",
    )


class _Partitioned:
    """An operand with its first `depth` + 1 dimensions as divisions into rows."""

    def __init__(self, x: Any, rank: int, depth: int):
        self.inner_only = rank - _rank(x) > depth  # it broadcasts against values alone
        levels: list[Any] = [1] * (rank - _rank(x))  # a size, or row splits
        if isinstance(x, RaggedTensor):
            levels.append(len(array_of(x.row_splits)) - 1)
        flat, ragged = x, x
        while isinstance(ragged, RaggedTensor):
            uniform = ragged._uniform
            levels.append(array_of(ragged.row_splits) if uniform is None else uniform)
            flat = ragged = ragged.values
        dense = [operator.index(n) for n in flat.dims[1 if flat is not x else 0 :]]
        levels += dense
        inner = min(len(dense), rank - depth - 1)  # dimensions that are no rows
        kept = flat.dims[len(flat.dims) - inner :]
        count = math.prod(flat.dims[: len(flat.dims) - inner])
        self.flat: Tensor = flat if self.inner_only else layout.reshape(flat, shape=(count, *kept))
        self.levels, self.rows = levels, levels[0]
        self.places = np.zeros(0, np.int64)

    def row_lengths(self, level: int) -> np.ndarray:
        """Return the lengths of the rows that the result's rows are made of."""
        size = self.levels[level]
        if type(size) is int:
            return np.full(len(self.places), size, np.int64)
        return np.diff(size)[self.places]

    def is_one(self, level: int) -> bool:
        """Return whether rows have one element each by their shape."""
        size = self.levels[level]
        return type(size) is int and size == 1

    def enter(self, level: int, row: np.ndarray, within: Any) -> None:
        """Go on to the elements of rows."""
        size = self.levels[level]
        starts = self.places * size if type(size) is int else size[:-1][self.places]
        self.places = starts[row] + within

    def divide_rows(self, nested: list, like: RaggedTensor) -> Any:
        """Return the values at the places found, in rows."""
        if self.inner_only:
            return self.flat
        values: Any = self.flat
        if not np.array_equal(self.places, np.arange(values.dims[0])):
            values = indexing.gather(values, wrap(self.places), axis=0, batch_dims=0)
        for splits, uniform in reversed(nested):
            values = RaggedTensor._of(values, like._integers(splits), uniform)
        return values


# -- operators


def in_graph(function: Callable[..., Any], *args: object) -> Any:
    """Return `function` of operands; in a graph it may be left to the run as a whole."""
    if dispatch.context.base is None:
        return function(*args)
    return dispatch.state.in_graph(function, args, {})


def _operator(name: str, reflected: bool = False) -> Callable[..., Any]:
    def compute(self: RaggedTensor, *others: object) -> Any:
        operands = [self, *others][:: -1 if reflected else 1]
        operands = pair_operands(*operands) if others else operands
        return map_flat(getattr(hooks, name), *operands)

    @boundary
    def operate(self: RaggedTensor, *others: object) -> Any:
        return in_graph(compute, self, *others)

    return operate


def _comparing(operate: Callable[..., Any], unlike: bool) -> Callable[..., Any]:
    """Return a comparison by == or !=,
    which has an answer where shapes do not fit, too: `unlike`.
    """

    def compare(self: RaggedTensor, other: object) -> Any:
        try:
            return operate(self, other)
        except InvalidArgumentError:
            return unlike

    return compare


def _getitem(self: RaggedTensor, key: slice) -> Any:
    return get(self, key if isinstance(key, tuple) else (key,))


def _install() -> None:
    """Install indexing and Python's operators as methods."""
    for method, operation in (*UNARY.items(), *COMPARISON.items()):
        setattr(RaggedTensor, method, _operator(operation))
    for stem, operation in BINARY.items():
        setattr(RaggedTensor, f"__{stem}__", _operator(operation))
        setattr(RaggedTensor, f"__r{stem}__", _operator(operation, reflected=True))
    for method, unlike in (("__eq__", False), ("__ne__", True)):
        setattr(RaggedTensor, method, _comparing(getattr(RaggedTensor, method), unlike))
    RaggedTensor.__getitem__ = _getitem  # type: ignore[attr-defined]


_install()
