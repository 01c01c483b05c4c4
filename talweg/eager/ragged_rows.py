"""RaggedTensor: indexing, functions of the flat values, and Python's operators."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import int32, int64
from talweg.core.errors import InvalidArgumentError, invalid, type_error, value_error
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
    """The rows `places` of a tensor or ragged tensor."""
    if isinstance(values, RaggedTensor):
        splits = values._splits
        lengths = np.diff(splits)[places]
        rows = take(values.values, partition.ranges(splits[:-1][places], lengths))
        new = partition.splits_of_lengths(lengths)
        return RaggedTensor._of(rows, values._integers(new), values._uniform)
    return indexing.gather(values, wrap(np.asarray(places, np.int64)), axis=0, batch_dims=0)


def gather(x: RaggedTensor, indices: object) -> Any:
    """The rows of a ragged tensor that `indices` names, in its shape."""
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
    """`take` of what is known only when the graph runs; sizes that are known stay so."""
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
    """x[keys]: integers, slices, one ellipsis, and new axes in front."""
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
    """`keys` applied to the dimensions after the first of a ragged tensor."""
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
    """`function` of the flat values of ragged arguments, which must have equal splits."""
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
    """The row splits of two ragged tensors that only a run can compare, as pairs.

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


def pair_operands(x: TensorLike, y: Any) -> tuple:
    """Two operands, of which a dense one is repeated along the rows of the ragged one."""
    if isinstance(x, RaggedTensor) and isinstance(y, RaggedTensor):
        return x, y
    if isinstance(x, RaggedTensor):
        return x, repeat_rows(y, x)
    return repeat_rows(x, y), y


def repeat_rows(dense: object, like: RaggedTensor) -> Any:
    """A tensor such that it fits the flat values of a ragged one; it must not have its own rows.

    InvalidArgumentError where a size is neither 1 nor that of all rows.
    """
    x = convert_to_tensor(dense, dtype_hint=like.dtype)
    flat = like.flat_values
    rank = like.ragged_rank + flat.ndim
    if x.ndim < flat.ndim:  # uniform inner dimensions only
        return x
    dims = (*(1,) * (rank - x.ndim), *x.dims)
    within = dims[1 : like.ragged_rank + 1]
    if any(size != 1 for size in within) or len(dims) > rank:
        raise invalid(
            "TW204",
            f"a tensor of shape {x.dims} does not broadcast to a ragged one of shape {like.shape}",
            "size 1 along ragged dimensions",
        )
    rows = layout.reshape(x, shape=(dims[0], *dims[like.ragged_rank + 1 :]))
    if dims[0] == 1:
        return rows
    count = len(array_of(like.row_splits)) - 1
    if dims[0] != count:
        raise invalid(
            "TW204", f"a tensor of shape {x.dims} beside a ragged one of {count} rows", "as many"
        )
    return indexing.gather(rows, wrap(outer_rows(like)), axis=0, batch_dims=0)


def outer_rows(x: RaggedTensor) -> np.ndarray:
    """The outermost row that each flat value is in."""
    rows = partition.row_of_each(array_of(x.row_splits))
    inner = x.values
    while isinstance(inner, RaggedTensor):
        rows = rows[partition.row_of_each(array_of(inner.row_splits))]
        inner = inner.values
    return rows


def _operator(name: str, reflected: bool = False) -> Callable[..., Any]:
    @boundary
    def operate(self: RaggedTensor, *others: object) -> Any:
        operands = [self, *(pair_operands(self, other)[1] for other in others)]
        return map_flat(getattr(hooks, name), *(operands[::-1] if reflected else operands))

    return operate


def _comparing(operate: Callable[..., Any], unlike: bool) -> Callable[..., Any]:
    """A comparison by == or !=, which has an answer where shapes do not fit, too: `unlike`."""

    def compare(self: RaggedTensor, other: object) -> Any:
        try:
            return operate(self, other)
        except InvalidArgumentError:
            return unlike

    return compare


def _getitem(self: RaggedTensor, key: slice) -> Any:
    return get(self, key if isinstance(key, tuple) else (key,))


def _install() -> None:
    """Indexing and Python's operators, as methods."""
    for method, operation in (*UNARY.items(), *COMPARISON.items()):
        setattr(RaggedTensor, method, _operator(operation))
    for stem, operation in BINARY.items():
        setattr(RaggedTensor, f"__{stem}__", _operator(operation))
        setattr(RaggedTensor, f"__r{stem}__", _operator(operation, reflected=True))
    for method, unlike in (("__eq__", False), ("__ne__", True)):
        setattr(RaggedTensor, method, _comparing(getattr(RaggedTensor, method), unlike))
    RaggedTensor.__getitem__ = _getitem  # type: ignore[attr-defined]


_install()
