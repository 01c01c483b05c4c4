"""Python's operators on variables: those of the value that was read."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core.habits import add_tensor_habits, refuse_variable_items, without_habits
from talweg.core.hooks import hooks
from talweg.core.tracebacks import pass_out
from talweg.core.value import add_operators

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


def _no_augmented(self: Any, other: object) -> Any:
    raise RuntimeError(
        "`variable += value` with `tf.Variable`s is not supported. Use `variable.assign_add(value)`"
        " to modify the variable, or `out = variable + value` to get a new tensor.  [TW401]"
    )


def add_variable_operators(cls: Any) -> None:
    """Add Python's operators: those of the value that was read."""
    own = {name: cls.__dict__[name] for name in ("__getitem__", "__eq__", "__ne__", "__hash__")}
    add_operators(cls)
    for stem in ("add", "sub", "mul", "truediv", "pow", "matmul", "floordiv", "mod"):
        apply = getattr(operator, stem)
        setattr(cls, f"__{stem}__", _forward(apply))
        setattr(cls, f"__r{stem}__", _make_reflected_operator(apply))
        setattr(cls, f"__i{stem}__", _no_augmented)
    for name, method in own.items():
        setattr(cls, name, method)
    add_tensor_habits(cls, refuse_variable_items)
    cls.__dlpack__ = lambda self, **options: self.value().__dlpack__(**options)
    cls.__dlpack_device__ = lambda self: self.value().__dlpack_device__()
    cls._repr_html_ = lambda self: hooks.html_view(self)
    cls.__dir__ = lambda self: without_habits(list(object.__dir__(self)), type(self))


def _forward(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: TensorLike) -> Any:
        try:
            return apply(self.value(), other)
        except Exception as error:
            pass_out(error)
            raise

    return operate


def _make_reflected_operator(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: float) -> Any:
        try:
            return apply(other, self.value())
        except Exception as error:
            pass_out(error)
            raise

    return operate
