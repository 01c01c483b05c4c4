"""The fields of extension types: what an annotation allows, and values made to fit it.

A field's annotation is read once, into a `Kind`; a kind converts values for the type itself, and
specs for the type's `Spec`.  Python values (numbers, text, shapes, dtypes) are the same in both.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from talweg.core.dtypes import DType, as_dtype
from talweg.core.errors import type_error
from talweg.core.shapes import TensorShape
from talweg.core.spec import IndexedSlicesSpec, TensorSpec, TypeSpec
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.composite import SparseTensor, SparseTensorSpec
from talweg.eager.convert import convert_to_tensor
from talweg.eager.ragged import RaggedTensor, RaggedTensorSpec

NOTHING = inspect.Parameter.empty
PLAIN = (int, float, str, bytes, bool, type(None))
COMPOSITES: dict[type, type] = {
    RaggedTensor: RaggedTensorSpec,
    SparseTensor: SparseTensorSpec,
    IndexedSlices: IndexedSlicesSpec,
}


class ImmutableDict(Mapping):
    """A mapping that does not change, as fields keep them."""

    __slots__ = ("_items",)

    def __init__(self, *args: object, **kwargs: object):
        self._items = dict(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"ImmutableDict({self._items})"


class ExtensionField:
    """A field of an extension type: its name, annotation and default."""

    __slots__ = ("annotation", "default", "name")

    def __init__(self, name: str, annotation: Any, default: object = NOTHING):
        self.name, self.annotation, self.default = name, annotation, default

    def value(self, value: object, where: str = "") -> Any:
        """Return a value as this field keeps it; TypeError for one it does not take."""
        return _fit(value, self.annotation, where or self.name, False)

    def spec(self, value: SparseTensor) -> Any:
        """Return the field's entry in the type's spec; TypeError for a value it does not take."""
        return _fit(value, self.annotation, self.name, True)


def check_annotation(annotation: object, name: str) -> None:
    """Raise TypeError unless values of a field can be checked against its annotation."""
    if isinstance(annotation, (str, typing.ForwardRef)) or _is_kept(annotation):
        return
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple and parts:
        wanted = parts[:1] if len(parts) == 2 and parts[1] is Ellipsis else parts
    elif origin in (typing.Union, types.UnionType) or _is_mapping(origin) and len(parts) == 2:
        wanted = parts
    else:
        shown = repr(annotation.__name__) if isinstance(annotation, type) else str(annotation)
        raise type_error(
            "TW104",
            f"In field {name!r}: Unsupported type annotation {shown}",
            "tf.Tensor, a kind of composite or extension type, tf.TensorShape, tf.DType, int, "
            "float, str, bytes, bool, None, or Tuple, Mapping and Union of these",
        )
    for part in wanted:
        check_annotation(part, name)


def _is_mapping(origin: object) -> bool:
    return isinstance(origin, type) and issubclass(origin, Mapping) and origin is not dict


def _is_kept(annotation: object) -> bool:
    """Return whether an annotation is a class that fields keep."""
    if annotation is None or annotation in (Tensor, TensorShape, DType, *PLAIN, *COMPOSITES):
        return True
    return isinstance(annotation, type) and hasattr(annotation, "extension_fields")


def _fit(value: object, annotation: Any, path: str, spec: bool) -> Any:
    """Return `value` (in a spec:
    what describes it) as an annotation has it; TypeError if it is none.
    """
    if annotation is Tensor:
        return _tensor_spec(value, path) if spec else _tensor(value, path)
    if annotation is None or annotation in PLAIN:
        kind = type(None) if annotation is None else annotation
        return _check_fields(value, kind, path, kind.__name__)
    if annotation is TensorShape:
        return _convert(value, TensorShape, (list, tuple, int, TensorShape), path, "TensorShape")
    if annotation is DType:
        return _dtype(value, path)
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple:
        return _fit_tuple(value, parts, path, spec)
    if origin in (typing.Union, types.UnionType):
        return _fit_union(value, annotation, parts, path, spec)
    if _is_mapping(origin):
        return _fit_mapping(value, parts, path, spec)
    if annotation in COMPOSITES:
        kind = COMPOSITES[annotation] if spec else annotation
        return _check_fields(value, kind, path, kind.__name__)
    if hasattr(annotation, "extension_fields"):
        kind = annotation.Spec if spec else annotation
        return _check_fields(value, kind, path, kind.__name__)
    named = getattr(annotation, "__forward_arg__", annotation)
    raise type_error("TW104", f"{path}: Unsupported type annotation {named!r}")


def _mismatch(path: str, wanted: str, value: object) -> TypeError:
    return type_error("TW104", f"{path}: expected {wanted}, got {type(value).__name__!r}")


def _check_fields(value: object, kind: type, path: str, name: str) -> Any:
    if not isinstance(value, kind):
        raise _mismatch(path, repr(name), value)
    return value


def _convert(value: object, make: Callable, kinds: tuple, path: str, name: str) -> Any:
    if value is None or isinstance(value, kinds):
        try:
            return make(value)
        except (TypeError, ValueError):
            pass
    raise _mismatch(path, f"'tf.{name}'", value)


def _dtype(value: object, path: str) -> DType:
    try:
        return as_dtype(value)
    except (TypeError, ValueError):
        raise _mismatch(path, "'tf.DType'", value) from None


def _tensor(value: object, path: str) -> Any:
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, (*COMPOSITES, TypeSpec)) and not hasattr(value, "extension_fields"):
        try:
            return convert_to_tensor(value)
        except (TypeError, ValueError):
            pass
    raise _mismatch(path, "a Tensor", value)


def _tensor_spec(value: object, path: str) -> Any:
    if not isinstance(value, TensorSpec):
        raise _mismatch(path, "a TensorSpec", value)
    return value


def _fit_tuple(value: object, parts: tuple, path: str, spec: bool) -> tuple:
    if not isinstance(value, (list, tuple)):
        raise _mismatch(path, "tuple", value)
    if len(parts) == 2 and parts[1] is Ellipsis:
        wanted = (parts[0],) * len(value)
    else:
        wanted = () if parts == ((),) else parts
        if len(value) != len(wanted):
            raise type_error(
                "TW104", f"{path}: expected tuple with length {len(wanted)}, got {len(value)}"
            )
    pairs = enumerate(zip(value, wanted))
    return tuple([_fit(item, part, f"{path}[{n}]", spec) for n, (item, part) in pairs])


def _fit_mapping(value: object, parts: tuple, path: str, spec: bool) -> ImmutableDict:
    if not isinstance(value, Mapping):
        raise _mismatch(path, "mapping", value)
    return ImmutableDict(
        {
            _fit(key, parts[0], f"{path}[<key>]", spec): _fit(
                item, parts[1], f"{path}[{key!r}]", spec
            )
            for key, item in value.items()
        }
    )


def _fit_union(value: object, annotation: object, parts: tuple, path: str, spec: bool) -> Any:
    """Return the first kind that the value fits."""
    for part in parts:
        try:
            return _fit(value, part, path, spec)
        except TypeError:
            pass
    raise _mismatch(path, str(annotation), value)
