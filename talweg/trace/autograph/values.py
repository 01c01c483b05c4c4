"""Undefined names, and the tests for tensors in converted code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.eager.convert import is_tensor_like
from talweg.graph.symbol import Symbol

NUMBERS = (bool, int, float, complex)
PLAIN = (*NUMBERS, str, bytes)


class Undefined:
    """A marker for a local name without an assignment."""

    __slots__ = ("symbol_name",)

    def __init__(self, symbol_name: str):
        self.symbol_name = symbol_name

    def read(self) -> Any:
        """Raise UnboundLocalError, as Python does."""
        raise UnboundLocalError(
            f"cannot access local variable '{self.symbol_name}' where it is not associated with "
            "a value"
        )

    def __repr__(self) -> str:
        return f"<undefined {self.symbol_name}>"


class HalfDefined(Undefined):
    """A marker for a name that only one branch of an `if` on a tensor assigned."""

    __slots__ = ()

    def read(self) -> Any:
        """Raise ValueError: while tracing it is unknown whether the name is defined."""
        name = self.symbol_name
        raise value_error(
            "TW208",
            f"'{name}' must also be initialized in the other branch: it gets a value in one "
            "branch of an `if` on a tensor, and is used after",
            "a value in both branches",
            f"{name} = ... before the `if`",
        )


def mark_undefined(get_state: Callable[[], tuple]) -> None:
    """Mark the names without an assignment that the getter of a state reads.

    A name that each iteration assigns anew is a local one of the loop's body; where the body has no
    value of it yet, the getter of an `if` there would raise NameError (in TensorFlow it does).
    """
    for name, cell in zip(get_state.__code__.co_freevars, get_state.__closure__ or ()):
        try:
            _ = cell.cell_contents
        except ValueError:  # it is empty
            cell.cell_contents = Undefined(name)


class UndefinedReturnValue:
    """A marker for the result of a function that has not returned yet."""


def ld(value: object) -> Any:
    """Return the value of a name that is read."""
    if isinstance(value, Undefined):
        return value.read()
    return value


def ldu(load: Any, name: str) -> Any:
    """Return the value of `x.name` or `x[key]`, which may be absent."""
    try:
        return load()
    except (KeyError, AttributeError, NameError, IndexError, TypeError):
        return Undefined(name)


def is_missing(value: object) -> bool:
    """Return whether a value is one of the undefined markers."""
    return isinstance(value, (Undefined, UndefinedReturnValue))


def condition_of(value: object) -> Any:
    """Return the condition of an `if` or `while`: variables are read."""
    if isinstance(value, Tensor) or not hasattr(type(value), "handle_read"):
        return value
    return value.value()


def is_symbolic(value: object) -> bool:
    """Return whether a value is a tensor without a value while tracing."""
    return type(value) is Symbol


def can_be_tensor(value: object) -> bool:
    """Return whether a value can be a result of a branch or a loop variable."""
    return isinstance(value, (Tensor, *PLAIN, np.ndarray, np.generic)) or is_tensor_like(value)
