"""`ag__`, the namespace of functions that converted code calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from talweg.trace.autograph import (
    branches,
    builtins,
    calls,
    errors,
    items,
    logic,
    loops,
    values,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.value import Tensor

OVERLOADED = builtins  # imported for the functions it registers


class FunctionScope:
    """The scope around the body of each converted function."""

    __slots__ = ("name",)

    def __init__(self, function_name: str, scope_name: str, options: object):
        self.name = scope_name

    def __enter__(self) -> FunctionScope:
        return self

    def __exit__(self, *exception: object) -> None:
        return None

    def ret(self, value: Tensor, did_return: bool) -> Any:
        """Return the function's result."""
        if isinstance(value, values.UndefinedReturnValue):
            return None
        return branches.check_return(value, did_return)


def with_function_scope(body: Callable[..., Any], scope_name: str, options: object) -> Any:
    """Evaluate a lambda's body in a function scope."""
    return body(FunctionScope("lambda_", scope_name, options))


_OPERATORS = {
    "FunctionScope": FunctionScope,
    "with_function_scope": with_function_scope,
    "STD": None,
    "autograph_artifact": calls.autograph_artifact,
    "if_stmt": branches.if_stmt,
    "if_exp": branches.if_exp,
    "while_stmt": loops.while_stmt,
    "for_stmt": loops.for_stmt,
    "and_": logic.and_,
    "or_": logic.or_,
    "not_": logic.not_,
    "eq": logic.eq,
    "not_eq": logic.not_eq,
    "assert_stmt": errors.assert_stmt,
    "call_print": calls.call_print,
    "own": items.own,
    "place": items.place,
    "written": items.item_targets,
    "set_item": items.set_item,
    "update_item": items.update_item,
    "list_append": items.list_append,
    "slice": slice,
    "ld": values.ld,
    "ldu": values.ldu,
    "Undefined": values.Undefined,
    "UndefinedReturnValue": values.UndefinedReturnValue,
}
RECURSIVE = SimpleNamespace(converted_call=calls.converted_call, **_OPERATORS)
ONE_LEVEL = SimpleNamespace(converted_call=calls.call_as_it_is, **_OPERATORS)
calls.OPERATORS.append(RECURSIVE)
