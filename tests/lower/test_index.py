"""Indices: bounds and simplification against all values of their axes."""

from __future__ import annotations

import itertools
import random

import pytest

from talweg.lower.ir.index import Axis, Element, Index, Quotient, Remainder
from talweg.lower.ir.loops import const
from talweg.lower.ir.ranges import distinct, evaluate, grid, leaves


def random_index(choices: random.Random, axes: list[Axis], depth: int) -> Index:
    found = Index(choices.randint(-6, 6))
    for _ in range(choices.randint(1, 3)):
        found = found + Index.of(choices.choice(axes)) * choices.randint(-4, 6)
        if depth and choices.random() < 0.6:
            inner = random_index(choices, axes, depth - 1)
            divisor = choices.randint(1, 6)
            part = inner // divisor if choices.random() < 0.5 else inner % divisor
            found = found + part * choices.randint(-3, 4)
    return found


def value(index: Index, values: dict) -> int:
    total = index.constant
    for atom, factor in index.terms:
        if type(atom) is Quotient:
            total += factor * (value(atom.index, values) // atom.divisor)
        elif type(atom) is Remainder:
            total += factor * (value(atom.index, values) % atom.divisor)
        else:
            total += factor * values[atom]
    return total


def combinations(axes):
    for values in itertools.product(*[range(axis.extent) for axis in axes]):
        yield dict(zip(axes, values))


@pytest.mark.parametrize("seed", range(8))
def test_bounds_quotients_and_remainders(seed):
    choices = random.Random(seed)
    for _ in range(100):
        axes = [Axis(name, choices.randint(1, 5)) for name in "ijk"]
        index = random_index(choices, axes, 2)
        divisor = choices.randint(1, 7)
        whole, rest = index // divisor, index % divisor
        for values in combinations(axes):
            wanted = value(index, values)
            assert index.smallest <= wanted <= index.largest, index
            assert value(whole, values) == wanted // divisor, (index, divisor)
            assert value(rest, values) == wanted % divisor, (index, divisor)
            assert value(whole * divisor + rest, values) == wanted, (index, divisor)


@pytest.mark.parametrize("seed", range(8))
def test_distinct_places(seed):
    choices = random.Random(seed)
    for _ in range(100):
        axes = [Axis(name, choices.randint(1, 5)) for name in "ijk"]
        index = random_index(choices, axes, choices.randint(0, 1))
        values = grid(index.axes())
        count = len(next(iter(values.values()))) if values else 1
        reached = set(evaluate(index, values, count).tolist())
        assert reached == {value(index, v) for v in combinations(axes)}
        assert distinct(index, 10**6) >= len(reached), index


@pytest.mark.parametrize(
    "steps, extents, wanted",
    [
        ((40, 1), (5, 8), 40),
        ((8, 1), (5, 8), 40),
        ((1, 1), (10, 3), 12),
        ((2, 1), (10, 3), 21),
        ((4, 1, 1), (3, 3, 2), 12),
        ((0, 1), (9, 4), 4),
        ((-8, 1), (5, 8), 40),
    ],
)
def test_distinct_places_of_rows_and_windows(steps, extents, wanted):
    index = Index(100)
    for step, extent in zip(steps, extents):
        index = index + Index.of(Axis("i", extent)) * step
    assert distinct(index, 10**6) == wanted
    assert distinct(index, wanted - 1) == wanted - 1


def test_leaving_a_buffer():
    i, j = Axis("i", 4), Axis("j", 6)
    row = Index.of(i) * 6 + j
    assert leaves(row, 24) is None
    assert leaves(row, 23) == 23
    assert leaves(row - 1, 24) == -1
    assert leaves(Index(0, ((Element(const(9, None)), 1),)), 2) is None  # nobody knows
    down = Index.of(i) * 6 + j - Index(0, ((Quotient(row, 6), 6),))  # 6 i + j - 6 i
    assert down.largest > 5
    assert leaves(down, 6) is None
    long = Index.of(Axis("k", 10**6)) * 10**6 + Axis("l", 10**6)
    assert leaves(long, 10**12) is None
    assert leaves(long, 10**12 - 1) == 10**12 - 1
