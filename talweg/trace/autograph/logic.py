"""Conversion of `and`, `or`, `not` and equality."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core.hooks import hooks
from talweg.prims import arithmetic
from talweg.trace import control
from talweg.trace.autograph.branches import join_branches, merging_one, trace
from talweg.trace.autograph.merging import Merging
from talweg.trace.autograph.values import condition_of, is_symbolic

if TYPE_CHECKING:
    from talweg.graph.symbol import Symbol

Thunk = Callable[[], Any]


def not_(value: object) -> Any:
    """Compute `not value`."""
    value = condition_of(value)
    if not is_symbolic(value):
        return not value
    if value.node.prim is arithmetic.logical_not:
        return value.graph.symbol(value.node.operands[0])
    return arithmetic.logical_not(_as_bool(value))


def and_(left: Thunk, right: Thunk) -> Any:
    """Compute `left and right`; the right side runs only if the left one is true."""
    value = condition_of(left())
    if not is_symbolic(value):
        return value and right()
    traced = trace(lambda: [right()], "right_side")
    other = traced[1][0]
    if type(other) is bool:
        return value if other else False
    return _join(value, [traced, trace(lambda: [False], "false")], "`and`")


def or_(left: Thunk, right: Thunk) -> Any:
    """Compute `left or right`; the right side runs only if the left one is false."""
    value = condition_of(left())
    if not is_symbolic(value):
        return value or right()
    traced = trace(lambda: [right()], "right_side")
    other = traced[1][0]
    if type(other) is bool:
        return True if other else value
    return _join(value, [trace(lambda: [True], "true"), traced], "`or`")


def _join(value: Symbol, traced: list, statement: str) -> Any:
    pred = control.truth(value, statement)
    return join_branches(pred, traced, Merging(statement), merging_one("the right side"))[0]


def _as_bool(value: object) -> Any:
    return value if value.dtype.name == "bool" else hooks.cast(value, "bool")


def eq(left: object, right: object) -> Any:
    """Compute `left == right`."""
    return left == right


def not_eq(left: object, right: object) -> Any:
    """Compute `left != right`."""
    return left != right
