"""Names without a value, and what counts as a tensor in converted code."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.eager.convert import is_tensor_like
from talweg.graph.symbol import Symbol

NUMBERS = (bool, int, float, complex)
PLAIN = (*NUMBERS, str, bytes)


class Undefined:
    """Stands for a local name that nothing was assigned to."""

    __slots__ = ("symbol_name",)

    def __init__(self, symbol_name: str):
        self.symbol_name = symbol_name

    def read(self) -> Any:
        """UnboundLocalError, as Python raises it."""
        raise UnboundLocalError(
            f"cannot access local variable '{self.symbol_name}' where it is not associated with "
            "a value"
        )

    def __repr__(self) -> str:
        return f"<undefined {self.symbol_name}>"


class HalfDefined(Undefined):
    """Stands for a name that only one branch of an `if` on a tensor assigned."""

    __slots__ = ()

    def read(self) -> Any:
        """ValueError: nobody knows while tracing whether the name has a value."""
        name = self.symbol_name
        raise value_error(
            "TW208",
            f"'{name}' must also be initialized in the other branch: it gets a value in one "
            "branch of an `if` on a tensor, and is used after",
            "a value in both branches",
            f"{name} = ... before the `if`",
        )


class UndefinedReturnValue:
    """What a function returns before it has returned."""


def ld(value: object) -> Any:
    """The value of a name that is read."""
    if isinstance(value, Undefined):
        return value.read()
    return value


def ldu(load: Any, name: str) -> Any:
    """The value of `x.name` or `x[key]`, which may not be there."""
    try:
        return load()
    except (KeyError, AttributeError, NameError, IndexError, TypeError):
        return Undefined(name)


def is_missing(value: object) -> bool:
    """Whether it stands for no value."""
    return isinstance(value, (Undefined, UndefinedReturnValue))


def condition_of(value: object) -> Any:
    """What an `if` or `while` asks for: variables are read."""
    if isinstance(value, Tensor) or not hasattr(type(value), "handle_read"):
        return value
    return value.value()


def is_symbolic(value: object) -> bool:
    """Whether it is a tensor that has no value while tracing."""
    return type(value) is Symbol


def can_be_tensor(value: object) -> bool:
    """Whether a value can go through the results of a branch or the variables of a loop."""
    return isinstance(value, (Tensor, *PLAIN, np.ndarray, np.generic)) or is_tensor_like(value)
