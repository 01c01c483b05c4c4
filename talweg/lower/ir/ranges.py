"""Range analysis of indices: the elements that they reach, sampled exactly or by formula."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from talweg.lower.ir.index import Axis, Index, Quotient, Remainder
from talweg.lower.ir.loops import elements

POINTS = 4096  # of a sample, at most


def grid(axes: Iterable[Axis], points: int = POINTS) -> dict[Axis, NDArray]:
    """Return all combinations of values of axes, in flat arrays of equal length.

    Where that would be more than `points`, long axes are given their first and last values only.
    """
    axes = list(axes)
    counts = [axis.extent for axis in axes]
    while math.prod(counts) > points:
        largest = max(range(len(axes)), key=counts.__getitem__)
        counts[largest] = max(2, counts[largest] // 2)
        if max(counts) <= 2:
            break
    chosen = [_some(axis.extent, count) for axis, count in zip(axes, counts)]
    found = np.meshgrid(*chosen, indexing="ij") if chosen else []
    return {axis: values.ravel() for axis, values in zip(axes, found)}


def _some(extent: int, count: int) -> NDArray:
    """Return `count` of the numbers below `extent`: from the start, and the last one."""
    found = np.arange(min(extent, count))
    if count < extent:
        found[-1] = extent - 1
    return found


def evaluate(index: Index, values: dict[Axis, NDArray], count: int) -> NDArray:
    """Evaluate an index without elements, for `count` combinations of its axes' values."""
    total = np.full(count, index.constant, np.int64)
    for atom, factor in index.terms:
        if type(atom) is Axis:
            part = values[atom]
        else:
            inner = evaluate(atom.index, values, count)
            part = inner // atom.divisor if type(atom) is Quotient else inner % atom.divisor
        total += part * factor
    return total


def leaves(index: Index, size: int) -> int | None:
    """Return a value of the index outside 0, ..., size - 1; None if none is known."""
    low, top = index.smallest, index.largest
    if low is None or top is None or (low >= 0 and top < size) or elements(index):
        return None
    values = grid(index.axes())
    found = evaluate(index, values, len(next(iter(values.values()))) if values else 1)
    if not found.size:
        return None
    if found.min() < 0:
        return int(found.min())
    return int(found.max()) if found.max() >= size else None


def is_affine(index: Index) -> bool:
    """Return whether an index is a constant and multiples of axes."""
    return all(type(atom) is Axis for atom, _ in index.terms)


def distinct(index: Index, size: int, fixed: Collection[Axis] = ()) -> int:
    """Count the elements of a buffer of `size` that an index reaches over all its axes' values.

    Axes that are `fixed` keep one value.  Exact where the terms are multiples of axes that do not
    overlap, or that leave no holes; an upper bound otherwise.
    """
    if fixed:
        index = Index(0, tuple([term for term in index.terms if term[0] not in fixed]))
    most = math.prod([axis.extent for axis in index.axes() if axis not in fixed])
    if is_affine(index):
        count, span = 1, 1  # elements, and from the first to the last of them
        terms: list[tuple[int, Any]] = [(abs(f), atom) for atom, f in index.terms if f]
        for factor, axis in sorted(terms, key=lambda term: term[0]):
            whole = factor * (axis.extent - 1) + span
            dense = count == span and factor <= span
            count, span = whole if dense else min(count * axis.extent, whole), whole
        most = count
    elif index.smallest is not None and index.largest is not None:
        most = min(most, index.largest - index.smallest + 1)
    return min(most, size)


def inner_axes(index: Index) -> set[Axis]:
    """Return the axes of an index, those within elements left out."""
    found: set[Axis] = set()
    for atom, _ in index.terms:
        if type(atom) is Axis:
            found.add(atom)
        elif type(atom) in (Quotient, Remainder):
            found |= inner_axes(atom.index)
    return found
