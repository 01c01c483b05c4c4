"""Conversion of Python and NumPy values to tensors: the accepted values, and the dtype of each."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Set
from typing import Any

import numpy as np

from talweg.core import dispatch
from talweg.core.dtypes import (
    NARROW,
    DType,
    as_dtype,
    bool_,
    complex128,
    float16,
    float32,
    int32,
    int64,
    is_known,
    of_numpy,
    string,
)
from talweg.core.errors import type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.shapes import TensorShape
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.tensor import EagerTensor, wrap
from talweg.execute.call import quiet

CONVERTERS: list[tuple[type, Any]] = []  # (type, function(value, dtype) -> Tensor), by later layers

_FLOAT32_MAX = float(np.finfo(np.float32).max)
_LEAVES = {bool: bool_, int: int32, float: float32, complex: complex128, str: string, bytes: string}


def convert_to_tensor(
    value: Any, dtype: DType | None = None, dtype_hint: DType | None = None, name: str | None = None
) -> Tensor:
    """Return `value` as a tensor.

    A tensor is returned as it is (ValueError if `dtype` says otherwise), a variable is read, arrays
    keep their dtype, Python floats become float32, ints int32 (int64 when they need it), lists are
    stacked.  `dtype` is demanded, `dtype_hint` tried.  TypeError or ValueError for what cannot be
    converted.
    """
    kind = type(value)
    if kind is EagerTensor and dtype is None:
        return value
    if dtype is not None:
        dtype = as_dtype(dtype)
    if isinstance(value, Tensor):
        if dtype is not None and value.dtype is not dtype:
            raise value_error(
                "TW102",
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}",
                hint=f"tf.cast(x, tf.{dtype.name})",
            )
        return value
    if dtype is None and dtype_hint is not None:
        try:
            return _convert(value, as_dtype(dtype_hint))
        except (TypeError, ValueError):
            pass
    tensor = _convert(value, dtype)
    if dispatch.context.device is not None and not isinstance(value, dispatch.state.variable):
        dispatch.put_on_device(tensor)
    return tensor


def _convert(value: object, dtype: DType | None) -> Tensor:
    for kind, converter in CONVERTERS:
        if isinstance(value, kind):
            return converter(value, dtype)
    if isinstance(value, IndexedSlices):
        if dtype not in (None, value.dtype):
            raise value_error(
                "TW102",
                f"Incompatible tensor conversion requested to dtype {dtype!r} for IndexedSlices of "
                f"dtype {value.dtype!r}",
            )
        return hooks.dense(value)
    if hasattr(value, "__tf_tensor__"):
        return value.__tf_tensor__(dtype, None)
    if isinstance(value, (list, tuple)) and _holds_tensor(value):
        return _pack(value, dtype)
    base = dispatch.context.base
    array = to_array(value, dtype)
    if dispatch.state.observer is not None:
        dispatch.state.observer.entered(value, array, dtype)
    return wrap(array) if base is None else base.constant(array)


def _holds_tensor(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_tensor, value))
    return is_tensor_like(value)


def is_tensor_like(value: object) -> bool:
    """Return whether `value` is a tensor, a variable,
    or something that says how to become a tensor.
    """
    return isinstance(value, (Tensor, IndexedSlices)) or hasattr(type(value), "__tf_tensor__")


def _pack(values: Any, dtype: DType | None) -> Tensor:
    """Return a (nested) list with tensors in it as one tensor, keeping track of gradients.

    A dtype that is asked for is that of all, whatever the tensors have.
    """
    cast = hooks.cast if dtype is not None else None
    if dtype is None:
        dtype = _first_dtype(values)
    parts = []
    for item in values:
        if isinstance(item, (list, tuple)):
            part = _pack(item, dtype)
        elif is_tensor_like(item):
            part = convert_to_tensor(item)
        else:
            part = convert_to_tensor(item, dtype)
        parts.append(part if cast is None or part.dtype is dtype else cast(part, dtype))
    return hooks.stack(parts)


def _first_dtype(values: Any) -> DType | None:
    for item in values:
        if isinstance(item, (list, tuple)):
            found = _first_dtype(item)
            if found is not None:
                return found
        elif is_tensor_like(item):
            return item.dtype
    return None


def to_array(value: Any, dtype: DType | None = None) -> Any:
    """Return a Python or NumPy value as an array of its own (never shared with the caller)."""
    kind = type(value)
    if kind in _LEAVES:
        return _scalar_array(value, dtype or _default_dtype(value))
    if isinstance(value, (np.ndarray, np.generic)):
        return _from_numpy(value, dtype)
    if isinstance(value, (list, tuple, range)):
        return _from_list(value, dtype)
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise value_error(
                "TW205", f"Cannot convert a partially known TensorShape {value} to a Tensor."
            )
        return _from_list(value.as_list(), dtype or int32)
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        return _from_numpy(np.asarray(value), dtype)
    if isinstance(value, (bool, int, float, complex, str, bytes)):
        base: Any = next(k for k in (bool, int, float, complex, str, bytes) if isinstance(value, k))
        return to_array(base(value), dtype)
    if _is_sequence(value):
        return _from_list(_as_lists(value), dtype)
    if hasattr(value, "__index__"):  # a size that stands for a number
        return to_array(operator.index(value), dtype)
    raise _make_unsupported_error(value)


class _NestedSequenceError(Exception):
    """A list holds a sequence that is no list."""


def _is_sequence(value: object) -> bool:
    """Return whether `value` can be read like a list, by places from 0 on."""
    kind = type(value)
    return (
        hasattr(kind, "__getitem__")
        and hasattr(kind, "__len__")
        and not isinstance(value, (str, bytes, Mapping, Set))
    )


def _as_lists(value: Any) -> list:
    """Return a sequence, and those in it, as lists; what stands for an integer as that."""
    if isinstance(value, memoryview):
        return value.tolist()
    return [_convert_item(value[place]) for place in range(len(value))]


def _convert_item(item: Any) -> Any:
    if isinstance(item, (np.ndarray, np.generic, bool, int)):
        return item
    if _is_sequence(item):
        return _as_lists(item)
    return operator.index(item) if hasattr(item, "__index__") else item


def _make_unsupported_error(value: object, alone: bool = True) -> Exception:
    """Return the error for a value, or an item of a list, that is no tensor."""
    if value is None:
        return (value_error if alone else unsupported_error_maker())(
            "TW101",
            f"Attempt to convert a value (None) with an unsupported type ({type(value)}) to a "
            "Tensor.",
            "a number, a string, an array, a tensor, or nested lists of these",
            "float('nan') in its place if a value is missing; tape.explain(target, source) "
            "if it is a gradient: it says why there is none",
        )
    return unsupported_error_maker()(
        "TW101",
        f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a "
        "Tensor.",
        "a number, a string, an array, a tensor, or nested lists of these",
    )


def _default_dtype(value: object) -> DType:
    if type(value) is int and not -(2**31) <= value < 2**31:
        if not -(2**63) <= value < 2**63:
            raise value_error(
                "TW103",
                f"Can't convert Python sequence with out-of-range integer to Tensor: {value}",
            )
        return int64
    if type(value) is float and abs(value) > _FLOAT32_MAX:
        _check_finite(value, float32)
    return _LEAVES[type(value)]


def _check_finite(values: Any, dtype: DType) -> None:
    """Raise ValueError for finite Python floats that float32 or float16 cannot hold."""
    if dtype in (float32, float16):
        kind = dtype.numpy_dtype
        with np.errstate(all="ignore"):
            lost = np.isfinite(values) & ~np.isfinite(np.asarray(values, np.float64).astype(kind))
        if np.any(lost):
            raise value_error(
                "TW103",
                f"Can't convert Python sequence with a value out of range for a {dtype.name}.",
                hint="dtype=tf.float64",
            )


def _cannot(value: object, dtype: DType) -> Exception:
    text = f"Cannot convert {value!r} to EagerTensor of dtype {dtype.name}"
    numbers, hint = np.asarray(value).dtype.kind not in "OSU", ""
    if dtype.is_integer and numbers:
        hint = "floats on both sides: 1.0 for 1, tf.cast(x, tf.float32) for a tensor; or round it: "
        hint += f"tf.cast(value, tf.{dtype.name})"
    elif dtype.is_bool and numbers:
        hint = "a comparison, such as value > 0, or tf.cast(value, tf.bool)"
    elif dtype is string and numbers:
        hint = "tf.strings.as_string(value)"
    return type_error("TW101", text, hint=hint)


def _scalar_array(value: Any, dtype: DType) -> Any:
    kind = type(value)
    if kind in (str, bytes):
        if dtype is not string:
            raise _cannot(value, dtype)
        result = np.empty((), object)
        result[()] = value.encode() if kind is str else value
        return result
    if not _fits(kind, dtype):
        raise _cannot(value, dtype)
    if dtype.is_quantized and kind is bool:
        value, kind = int(value), int
    if kind is int and (dtype.is_integer or dtype.is_quantized):
        return _wrap_int(np.asarray(value), dtype)
    try:
        return quiet(dtype.numpy_dtype.type, value)
    except OverflowError:  # an integer that no float can hold
        raise _out_of_range() from None


def _fits(kind: type, dtype: DType) -> bool:
    """Return whether a Python value of `kind` may become an element of `dtype`."""
    if kind is bool:
        return dtype.is_bool or dtype.is_numeric
    if kind is int:
        return dtype.is_numeric or dtype.name in NARROW
    if kind is float:
        return dtype.is_floating or dtype.is_complex
    return kind is complex and dtype.is_complex


def _wrap_int(array: np.ndarray, dtype: DType) -> Any:
    """Return Python integers as `dtype`, wrapping as C does."""
    if array.dtype == object:
        raise _out_of_range()
    return array.astype(dtype.numpy_dtype)[()]


def _from_numpy(value: np.generic | np.ndarray, dtype: DType | None) -> Any:
    if value.dtype.kind in "OSU":
        return _strings(value, dtype)
    kind = value.dtype.kind
    if kind in "mM" or kind == "V" and not is_known(value.dtype):
        raise value_error(
            "TW101",
            f"Failed to convert a NumPy array to a Tensor (Unsupported numpy type: {value.dtype}).",
        )
    if dtype is None or of_numpy(value.dtype) is dtype:
        own = of_numpy(value.dtype).numpy_dtype  # native byte order
        return np.array(value, dtype=own)[()] if value.ndim == 0 else np.array(value, dtype=own)
    if dtype is string:
        raise _cannot(value, dtype)
    return quiet(value.astype, dtype.numpy_dtype)


def _strings(value: object, dtype: DType | None) -> Any:
    flat = [
        item.item() if isinstance(item, (np.generic, np.ndarray)) and item.size == 1 else item
        for item in value.reshape(-1).tolist()
    ]
    text = all(type(item) in (str, bytes) for item in flat)
    if dtype not in (None, string) or not text:
        if value.dtype.kind == "O" and not text:
            return _from_list(value.tolist(), dtype)
        raise _cannot(value, dtype or string)
    result = np.empty(value.shape, object)
    result.reshape(-1)[:] = [item.encode() if type(item) is str else item for item in flat]
    return result


_KINDS = {
    "b": bool,
    "i": int,
    "u": int,
    "f": float,
    "c": complex,
    "O": object,
    "S": bytes,
    "U": str,
}


def _leaf_kinds(value: Any, kinds: set) -> None:
    """Collect the Python types that the leaves of nested lists stand for."""
    for item in value:
        kind = type(item)
        if kind in _LEAVES:
            kinds.add(kind)
        elif isinstance(item, (list, tuple, range)):
            _leaf_kinds(item, kinds)
        elif isinstance(item, (np.ndarray, np.generic)):
            if item.dtype.kind in "mM":
                raise _make_unsupported_error(item)
            if item.size:
                kinds.add(_KINDS.get(item.dtype.kind, float))
        elif hasattr(item, "__array__") or hasattr(item, "__array_interface__"):
            kinds.add(_KINDS.get(np.asarray(item).dtype.kind, float))
        elif isinstance(item, (bool, int, float, complex, str, bytes)):
            kinds.add(next(base for base in _LEAVES if isinstance(item, base)))
        elif _is_sequence(item) or hasattr(item, "__index__"):
            raise _NestedSequenceError
        else:
            raise _make_unsupported_error(item, alone=False)


def _from_list(value: object, dtype: DType | None) -> Any:
    kinds: set = set()
    try:
        _leaf_kinds(value, kinds)
    except _NestedSequenceError:
        value = _as_lists(value)
        kinds = set()
        _leaf_kinds(value, kinds)
    texts = kinds & {str, bytes, object}
    try:
        array = np.array(value, dtype=object if texts else None)
    except ValueError:
        raise value_error(
            "TW101",
            "Can't convert non-rectangular Python sequence to Tensor.",
            "lists of equal lengths",
            "tf.ragged.constant for rows of different lengths, or pad them",
        ) from None
    except OverflowError:
        raise _out_of_range() from None
    if not kinds:
        return array.astype((dtype or float32).numpy_dtype)
    if texts:
        if kinds - texts:
            raise _mix()
        return _strings(array, dtype)
    first = _first_leaf(value)
    if len(kinds) > 1 and _clash(kinds, first, dtype):
        raise _mix()
    if dtype is None and getattr(first, "dtype", None) in (np.float16, np.float64):
        dtype = of_numpy(first.dtype)  # those keep it when they come first, as in TensorFlow
        if complex not in kinds:
            _check_finite(array, dtype)
    widest = next(kind for kind in (complex, float, int, bool) if kind in kinds)
    return _cast_list(array, widest, dtype)


def _clash(kinds: set, first: Any, dtype: DType | None) -> bool:
    """Return whether numbers of several kinds cannot form a list: the first one names the kind."""
    if isinstance(first, (bool, np.bool_)):
        return dtype is None or not (dtype.is_floating or dtype in (int32, int64))
    complex_wanted = dtype is not None and dtype.is_complex
    return complex in kinds and not np.iscomplexobj(first) and not complex_wanted


def _first_leaf(value: object) -> Any:
    """Return the first element of a nested list; an array counts as one."""
    while isinstance(value, (list, tuple, range)) and len(value):
        value = value[0]
    return value


def unsupported_error_maker() -> Callable[..., Exception]:
    """Return the error maker for values without a dtype: another one in graphs."""
    return value_error if dispatch.context.base is None else type_error


def _mix() -> Exception:
    text = "Can't convert Python sequence with mixed types to Tensor."
    return unsupported_error_maker()("TW101", text)


def _out_of_range() -> Exception:
    text = "Can't convert Python sequence with out-of-range integer to Tensor."
    return value_error("TW103", text)


def _cast_list(array: np.ndarray, widest: type, dtype: DType | None) -> Any:
    if dtype is None:
        if widest is int:
            if array.dtype == object or array.max(initial=0) >= 2**63:
                raise _out_of_range()
            small = not array.size or (array.min() >= -(2**31) and array.max() < 2**31)
            return array.astype(np.int32 if small else np.int64)
        dtype = _LEAVES[widest]
        if widest is float:
            _check_finite(array, dtype)
    elif not _fits(widest, dtype):
        raise _cannot(array.tolist(), dtype)
    if widest is int and dtype.is_integer:
        return _wrap_int(array, dtype)
    try:
        return quiet(array.astype, dtype.numpy_dtype)
    except OverflowError:
        raise _out_of_range() from None


hooks.convert_to_tensor = convert_to_tensor
