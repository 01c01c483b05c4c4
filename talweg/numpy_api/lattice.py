"""Promotion in a lattice of weak and strong dtypes: the modes "all" and "safe".

Python numbers are weak: an int is i32*, a float f32*, a complex number c128*; so are results of
operators between weak operands.  A strong dtype wins over a weak one whose kind it holds.  "safe"
refuses pairs whose values a common dtype could not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.api.tensors import cast
from talweg.core.dtypes import (
    DType,
    as_dtype,
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int32,
    of_numpy,
)
from talweg.core.errors import type_error
from talweg.core.hooks import hooks
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.numpy_api.promotion import SAFE, leaf, preferences

BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}  # of integers they hold


def operand(value: Any) -> tuple[Any, DType, bool]:
    """Return (a value as a tensor or Python value, its dtype, whether that is weak)."""
    if is_tensor_like(value):
        return value, value.dtype, getattr(value, "_weak", False)
    first = leaf(value)
    if is_tensor_like(first):
        return value, first.dtype, getattr(first, "_weak", False)
    if isinstance(first, (np.ndarray, np.generic)):
        return value, of_numpy(first.dtype), False
    for kind, dtype in ((bool, bool_), (int, int32), (float, float32), (complex, complex128)):
        if isinstance(first, kind):
            return value, dtype, kind is not bool
    return value, convert_to_tensor(value).dtype, False


def meet(a: DType, weak_a: bool, b: DType, weak_b: bool) -> tuple[DType, bool]:
    """Join dtypes: (the common dtype, whether it is weak); TypeError in the mode "safe" if bits
    may be lost.
    """
    if weak_a != weak_b:
        strong, weak = (b, a) if weak_a else (a, b)
        return _with_weak(strong, weak)
    found = _join(a, b)
    if preferences.mode == SAFE and not weak_a:
        narrow = b if found is a else a
        if found not in (a, b) or not _holds(found, narrow):
            raise _unsafe(a, b)
    return found, weak_a


def _with_weak(strong: DType, weak: DType) -> tuple[DType, bool]:
    safe = preferences.mode == SAFE
    if strong.is_bool:
        return weak, True
    if weak.is_integer:
        return strong, False
    if weak.is_floating:
        if strong.is_integer:
            if safe:
                raise _unsafe(strong, weak)
            return float64, True
        return strong, False
    if strong.is_complex:
        return strong, False
    if safe and strong is not float64 and (strong.is_floating or strong.size == 8):
        raise _unsafe(strong, weak)
    narrow = strong.is_floating and strong is not float64
    return (complex64 if narrow else complex128), strong.is_integer


def _join(a: DType, b: DType) -> DType:
    if a is b or b.is_bool:
        return a
    if a.is_bool:
        return b
    if a.is_integer and b.is_integer:
        return as_dtype(np.promote_types(a.numpy_dtype, b.numpy_dtype))
    for x, y in ((a, b), (b, a)):
        if x.is_integer:
            return y
    if a.is_complex or b.is_complex:
        wide = complex128 in (a, b) or float64 in (a, b)
        return complex128 if wide else complex64
    return float64 if float64 in (a, b) else float32


def _holds(wide: DType, narrow: DType) -> bool:
    """Return whether every value of a dtype is one of another."""
    if wide is narrow or narrow.is_bool:
        return True
    if wide.is_integer:
        return int(wide.min) <= int(narrow.min) and int(narrow.max) <= int(wide.max)
    real = wide.real_dtype
    if narrow.is_integer:
        return narrow.size * 8 - (not narrow.is_unsigned) <= BITS[real.name]
    own = narrow.real_dtype
    if {real.name, own.name} == {"float16", "bfloat16"}:
        return False
    return own.size <= real.size


def _unsafe(a: DType, b: DType) -> TypeError:
    return type_error(
        "TW102",
        f"In promotion mode SAFE, {a.name} and {b.name} have no common dtype.",
        hint="tf.cast one of them, or dtype_conversion_mode='all'",
    )


def meet_operands(x: object, y: object) -> tuple[Tensor, Tensor, bool]:
    """Convert two operands to their common dtype, and says whether that is weak."""
    (x, a, weak_a), (y, b, weak_b) = operand(x), operand(y)
    dtype, weak = meet(a, weak_a, b, weak_b)
    return _as(x, dtype), _as(y, dtype), weak


def _as(value: Any, dtype: DType) -> Tensor:
    if is_tensor_like(value):
        return cast(value, dtype)
    return cast(convert_to_tensor(np.asarray(value)), dtype)


def mark_weak(result: object, weak: bool) -> Any:
    """Return a result, marked where it is weak."""
    if weak and isinstance(result, Tensor):
        result._weak = True  # type: ignore[attr-defined]
    return result


def _operator(name: str) -> Callable[[Any, Any], Any]:
    plain = getattr(hooks, name)

    def operate(x: object, y: object) -> Any:
        x, y, weak = meet_operands(x, y)
        return mark_weak(plain(x, y), weak)

    return operate


def lattice_operators() -> dict[str, Callable[..., Any]]:
    """Return the operators, as those two modes have them."""
    return {
        name: _operator(name)
        for name in ("add", "subtract", "multiply", "truediv", "floordiv", "mod", "pow")
    }
