"""Broadcasting of two operands, of which at least one is ragged, by NumPy's rule.

Shapes are aligned at their last dimensions; along each the operands have rows of equal lengths, or
one of them has size 1 throughout: a dense dimension, or rows of one uniform length.  Ragged rows
that happen to have one element each are not repeated, as in TensorFlow.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.errors import invalid
from talweg.eager import partition
from talweg.eager.ragged import RaggedTensor
from talweg.eager.tensor import array_of, wrap
from talweg.prims import indexing, layout

if TYPE_CHECKING:
    from talweg.core.value import Tensor


def broadcast_rows(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands as ragged tensors with equal rows; inner dimensions are left as they are.

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
    return first.divided(nested, like), second.divided(nested, like)


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
        """The lengths of the rows that the result's rows are made of."""
        size = self.levels[level]
        if type(size) is int:
            return np.full(len(self.places), size, np.int64)
        return np.diff(size)[self.places]

    def is_one(self, level: int) -> bool:
        """Whether rows have one element each by their shape."""
        size = self.levels[level]
        return type(size) is int and size == 1

    def enter(self, level: int, row: np.ndarray, within: Any) -> None:
        """Go on to the elements of rows."""
        size = self.levels[level]
        starts = self.places * size if type(size) is int else size[:-1][self.places]
        self.places = starts[row] + within

    def divided(self, nested: list, like: RaggedTensor) -> Any:
        """The values at the places found, in rows."""
        if self.inner_only:
            return self.flat
        values: Any = self.flat
        if not np.array_equal(self.places, np.arange(values.dims[0])):
            values = indexing.gather(values, wrap(self.places), axis=0, batch_dims=0)
        for splits, uniform in reversed(nested):
            values = RaggedTensor._of(values, like._integers(splits), uniform)
        return values
