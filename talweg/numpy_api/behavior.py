"""`experimental_enable_numpy_behavior`: NumPy's promotion, methods and indexing for tensors.

Operators are hooks (`core/hooks.py`), so enabling puts other functions there and nothing is paid
before.  Operands of one dtype still go the short way (`eager/tensor.py`): for them both
promotions agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.api.export import export, look_up
from talweg.api.tensors import cast
from talweg.core.errors import value_error
from talweg.core.hooks import hooks
from talweg.core.value import Tensor
from talweg.eager.tensor import EagerTensor
from talweg.numpy_api import arranging, elementwise, reductions
from talweg.numpy_api.advanced_indexing import index
from talweg.numpy_api.lattice import lattice_operators
from talweg.numpy_api.promotion import (
    ALL,
    LEGACY,
    OFF,
    SAFE,
    preferences,
    promote,
    to_dtype,
)

_before: dict[tuple[Any, str], Any] = {}  # (who, attribute): what it was


def _arithmetic(operation: str) -> Callable[[Any, Any], Any]:
    plain = getattr(hooks, operation)
    return lambda x, y: plain(*promote(x, y))


def _divide(x: object, y: object) -> Any:
    return look_up("experimental.numpy.true_divide")(x, y)


def _compare(operation: str, otherwise: bool) -> Callable[[Any, Any], Any]:
    plain = getattr(hooks, operation)
    return lambda x, y: otherwise if y is None else plain(*promote(x, y))


def _multiply(x: object, y: object) -> Any:
    return look_up("experimental.numpy.matmul")(x, y)


def _legacy_operators() -> dict[str, Callable[..., Any]]:
    names = ("add", "subtract", "multiply", "floordiv", "mod", "pow")
    names += ("less", "less_equal", "greater", "greater_equal")
    names += ("bitwise_and", "bitwise_or", "bitwise_xor")
    found: dict[str, Callable[..., Any]] = {name: _arithmetic(name) for name in names}
    found["truediv"], found["matmul"] = _divide, _multiply
    found["equal_operator"] = _compare("equal_operator", False)
    found["not_equal_operator"] = _compare("not_equal_operator", True)
    return found


def _reshape(self: Tensor, *shape: object, **kwargs: Any) -> Tensor:
    sizes = shape[0] if len(shape) == 1 else shape
    return arranging.reshape(self, sizes, **kwargs)


def _astype(self: Tensor, dtype: str | type[Any]) -> Tensor:
    return cast(self, to_dtype(dtype) if dtype is int else dtype)


def _tolist(self: Any) -> Any:
    return self.numpy().tolist()


def _clip(self: Tensor, a_min: float | None = None, a_max: float | None = None) -> Tensor:
    return elementwise.clip(self, a_min, a_max)


METHODS: dict[str, Any] = {
    "astype": _astype,
    "ravel": arranging.ravel,
    "transpose": arranging.transpose,
    "flatten": arranging.flatten,
    "reshape": _reshape,
    "clip": _clip,
    "max": reductions.amax,
    "min": reductions.amin,
    "mean": reductions.mean,
    "tolist": _tolist,
    "__round__": elementwise.around,
    "T": property(lambda self: arranging.transpose(self)),
    "size": property(lambda self: reductions.size(self)),
    "data": property(lambda self: self),
}


@export("experimental.numpy.experimental_enable_numpy_behavior")
def experimental_enable_numpy_behavior(
    prefer_float32: bool = False, dtype_conversion_mode: str = "legacy"
) -> None:
    """Let tensors behave as NumPy's arrays, from now on and everywhere.

    Operators promote, tensors have `T`, `reshape`, `astype`, `ravel`, `clip`, `max` and others, and
    may be indexed by arrays and masks.

    dtype_conversion_mode: "legacy" promotes as NumPy does; "all" in a lattice where Python numbers
    are weak; "safe" in the same, with TypeError where bits could be lost; "off" does not promote.
    prefer_float32: Python floats count as float32 ("legacy" only).  ValueError for other modes, or
    for both.

    >>> import talweg as tf
    >>> tf.experimental.numpy.experimental_enable_numpy_behavior(dtype_conversion_mode="none")
    Traceback (most recent call last):
    ValueError: dtype_conversion_mode is 'none'...
    """
    if dtype_conversion_mode not in (LEGACY, ALL, SAFE, OFF):
        raise value_error(
            "TW207",
            f"dtype_conversion_mode is {dtype_conversion_mode!r}",
            "'legacy', 'all', 'safe' or 'off'",
        )
    if prefer_float32 and dtype_conversion_mode in (ALL, SAFE):
        raise value_error(
            "TW207", f"prefer_float32 in the mode {dtype_conversion_mode!r}", "the mode 'legacy'"
        )
    restore_tensorflow_behavior()
    preferences.mode, preferences.prefer_float32 = dtype_conversion_mode, prefer_float32
    operators: dict[str, Callable[..., Any]] = {}
    if dtype_conversion_mode == LEGACY:
        operators = _legacy_operators()
    elif dtype_conversion_mode != OFF:
        operators = lattice_operators()
    operators["getitem"] = index
    for name, function in operators.items():
        _before[hooks, name] = getattr(hooks, name)
        setattr(hooks, name, function)
    for name, method in METHODS.items():
        for kind in (Tensor, EagerTensor):
            if kind is Tensor or name in kind.__dict__:
                _before[kind, name] = kind.__dict__.get(name)
                setattr(kind, name, method)


def restore_tensorflow_behavior() -> None:
    """Undo `experimental_enable_numpy_behavior`, which TensorFlow cannot; for tests."""
    for (owner, name), value in _before.items():
        if value is None:
            delattr(owner, name)
        else:
            setattr(owner, name, value)
    _before.clear()
    preferences.mode, preferences.prefer_float32 = None, False
