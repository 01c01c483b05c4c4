"""Statements with other axes: neighbouring loops that can be one become one."""

from __future__ import annotations

from typing import Any

from talweg.lower.index import ZERO, Axis, Index, axes_of
from talweg.lower.loops import Expr, For, Store, Tile, Update, elements, replaced, walk


def expressions(statements: list) -> list[Expr]:
    """All expressions that stand directly in statements, at any depth."""
    found = []
    for statement in statements:
        if isinstance(statement, For):
            found += expressions(statement.body)
        elif isinstance(statement, (Store, Update)):
            found.append(statement.value)
        elif isinstance(statement, Tile):
            found.append(statement.start)
    return found


def indices(statements: list) -> list[Index]:
    """All indices in statements and their expressions."""
    found = []
    for statement in statements:
        if isinstance(statement, For):
            found += indices(statement.body)
        elif isinstance(statement, Store):
            found.append(statement.index)
        elif isinstance(statement, Update):
            found += statement.indices
    return found


def all_indices(statements: list) -> list[Index]:
    """The indices in statements, in their expressions, and within other indices."""
    found = indices(statements)
    computed = [atom.value for index in found for atom in elements(index)]
    for expr in walk(expressions(statements) + computed):
        found += expr.indices()
    return list(dict.fromkeys(found))


def substitute(statements: list, values: dict, done: dict | None = None) -> list:
    """Statements with indices in place of axes; shared expressions stay shared."""
    done = {} if done is None else done
    result: list[Any] = []
    for statement in statements:
        if isinstance(statement, For):
            body = substitute(statement.body, values, done)
            result.append(For(statement.axis, body, statement.kind))
        elif isinstance(statement, Store):
            value = replaced(statement.value, values, done)
            place = statement.index.replace(values)
            result.append(Store(statement.buffer, place, value, statement.op))
        elif isinstance(statement, Update):
            value = replaced(statement.value, values, done)
            places = [index.replace(values) for index in statement.indices]
            result.append(Update(statement.tile, places, value, statement.op))
        elif isinstance(statement, Tile):
            statement.start = replaced(statement.start, values, done)
            result.append(statement)
        else:
            result.append(statement)
    return result


def merged_axes(axes: list[Axis], statements: list) -> tuple[list[Axis], dict]:
    """Neighbours that every index passes through in one stride become one axis.

    Gives the axes left and what to substitute for the old ones.
    """
    places = all_indices(statements)
    chains: list[list[Axis]] = []
    for axis in [axis for axis in axes if axis.extent != 1]:
        if chains and _one_stride(chains[-1][-1], axis, places):
            chains[-1].append(axis)
        else:
            chains.append([axis])
    found, values = [], {}
    for chain in chains:
        if len(chain) == 1:
            found += chain
            continue
        size = 1
        for axis in chain:
            size *= axis.extent
        joined = Axis(chain[-1].name, size)
        values.update(dict.fromkeys(chain[:-1], ZERO))
        values[chain[-1]] = Index.of(joined)
        found.append(joined)
    return found, values


def _one_stride(outer: Axis, inner: Axis, places: list[Index]) -> bool:
    for index in places:
        first, second = _stride(index, outer), _stride(index, inner)
        if first is None or second is None or first != second * inner.extent:
            return False
    return True


def _stride(index: Index, axis: Axis) -> int | None:
    """The coefficient of an axis; None where it stands inside a quotient or remainder.

    What is computed from data has indices of its own, which are looked at, too.
    """
    found = 0
    for atom, factor in index.terms:
        if atom is axis:
            found = factor
        elif type(atom) is not Axis and hasattr(atom, "index") and axis in axes_of(atom):
            return None
    return found
