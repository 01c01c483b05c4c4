"""Rewriting of statements: substitution of axes, and loop coalescing."""

from __future__ import annotations

from typing import Any

from talweg.lower.ir.index import ZERO, Axis, Index, axes_of
from talweg.lower.ir.loops import (
    Call,
    Expr,
    For,
    Pointer,
    Store,
    Tile,
    Update,
    When,
    substitute_axes,
    walk,
)
from talweg.lower.ir.visitors import all_statements, bodies, indices, roots


def all_indices(statements: list) -> list[Index]:
    """Return the indices in statements, in their expressions, and within other indices."""
    inner = list(all_statements(statements))
    found = [index for statement in inner for index in indices(statement)]
    for expr in walk([root for statement in inner for root in roots(statement)]):
        found += expr.indices()
    return list(dict.fromkeys(found))


def substitute(statements: list, values: dict, done: dict | None = None) -> list:
    """Substitute indices for axes in statements; shared expressions stay shared."""
    done = {} if done is None else done
    result: list[Any] = []
    for statement in statements:
        if isinstance(statement, For):
            body = substitute(statement.body, values, done)
            result.append(For(statement.axis, body, statement.kind))
        elif isinstance(statement, Store):
            value = substitute_axes(statement.value, values, done)
            store_index = statement.index.replace(values)
            result.append(Store(statement.buffer, store_index, value, statement.op))
        elif isinstance(statement, Update):
            value = substitute_axes(statement.value, values, done)
            places = [index.replace(values) for index in statement.indices]
            result.append(Update(statement.tile, places, value, statement.op))
        elif isinstance(statement, Tile):
            statement.start = substitute_axes(statement.start, values, done)
            result.append(statement)
        elif isinstance(statement, When):
            condition = substitute_axes(statement.condition, values, done)
            inner = [substitute(body, values, done) for body in bodies(statement)]
            result.append(When(condition, *inner))
        else:
            arguments = [_argument(x, values, done) for x in statement.arguments]
            result.append(Call(statement.routine, arguments, statement.reads, statement.writes))
    return result


def _argument(argument: str, values: dict, done: dict) -> Any:
    """Substitute in an argument of a routine."""
    if type(argument) is Expr:
        return substitute_axes(argument, values, done)
    if type(argument) is Pointer:
        return Pointer(argument.buffer, argument.index.replace(values))
    return Index.of(argument).replace(values)


def merge_axes(axes: list[Axis], statements: list) -> tuple[list[Axis], dict]:
    """Merge adjacent axes that every index strides through at once (loop coalescing).

    Gives the axes left and what to substitute for the old ones.
    """
    places = all_indices(statements)
    chains: list[list[Axis]] = []
    for axis in [axis for axis in axes if axis.extent != 1]:
        if chains and _one_stride(chains[-1][-1], axis, places):
            chains[-1].append(axis)
        else:
            chains.append([axis])
    merged, values = [], {}
    for chain in chains:
        if len(chain) == 1:
            merged += chain
            continue
        size = 1
        for axis in chain:
            size *= axis.extent
        joined = Axis(chain[-1].name, size)
        values.update(dict.fromkeys(chain[:-1], ZERO))
        values[chain[-1]] = Index.of(joined)
        merged.append(joined)
    return merged, values


def _one_stride(outer: Axis, inner: Axis, places: list[Index]) -> bool:
    for index in places:
        first, second = _stride(index, outer), _stride(index, inner)
        if first is None or second is None or first != second * inner.extent:
            return False
    return True


def _stride(index: Index, axis: Axis) -> int | None:
    """Return the coefficient of an axis; None where it stands in a quotient or remainder.

    What is computed from data has indices of its own, which are looked at, too.
    """
    found = 0
    for atom, factor in index.terms:
        if atom is axis:
            found = factor
        elif type(atom) is not Axis and hasattr(atom, "index") and axis in axes_of(atom):
            return None
    return found
