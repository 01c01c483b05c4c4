"""Python's operators on variables: those of the value that was read."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from talweg.core.value import add_operators


def _no_augmented(self: Any, other: Any) -> Any:
    raise RuntimeError(
        "`variable += value` with `tf.Variable`s is not supported. Use `variable.assign_add(value)`"
        " to modify the variable, or `out = variable + value` to get a new tensor.  [TW401]"
    )


def add_variable_operators(cls: Any) -> None:
    """Python's operators: those of the value that was read."""
    own = {name: cls.__dict__[name] for name in ("__getitem__", "__eq__", "__ne__", "__hash__")}
    add_operators(cls)
    for stem in ("add", "sub", "mul", "truediv", "pow", "matmul", "floordiv", "mod"):
        apply = getattr(operator, stem)
        setattr(cls, f"__{stem}__", _forward(apply))
        setattr(cls, f"__r{stem}__", _reflected(apply))
        setattr(cls, f"__i{stem}__", _no_augmented)
    for name, method in own.items():
        setattr(cls, name, method)


def _forward(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: apply(self.value(), other)


def _reflected(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: apply(other, self.value())
