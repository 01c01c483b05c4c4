"""TypeSpecs: the kind, dtype and shape of a value that is not there yet."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import as_dtype, float32, int64
from talweg.core.errors import type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.shapes import TensorShape
from talweg.core.tracebacks import pass_out
from talweg.core.value import IndexedSlices, Tensor

if TYPE_CHECKING:
    from talweg.core.dims import Size


class TypeSpec:
    """The base of all specs (`tf.TypeSpec`): a kind of value, with its known attributes.

    A subclass gives `_serialize()`, a tuple that determines it.
    """

    __slots__ = ("__weakref__",)

    def __init_subclass__(cls, **options: object) -> None:
        """Let specs that libraries define by TensorFlow's private protocol be as ours are."""
        super().__init_subclass__(**options)
        if hasattr(cls, "_component_specs") and not hasattr(cls, "part_specs"):
            named: Any = cls
            named.part_specs, named.with_parts = _component_parts, _of_components

    def __init__(self) -> None:
        if type(self) is TypeSpec:
            raise type_error("TW104", "TypeSpec is abstract", "a subclass, such as tf.TensorSpec")

    @property
    def value_type(self) -> type:
        """The class of the values."""
        raise NotImplementedError(f"{type(self).__name__}.value_type")

    def _serialize(self) -> tuple:
        raise NotImplementedError(f"{type(self).__name__}._serialize")

    def _of(self, value: object) -> TypeSpec | None:
        """Return the spec of a value of the kind, None for other values."""
        return getattr(value, "_type_spec", None)

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Return whether some value could have this spec and the other, or is of this spec."""
        other = spec_or_value
        if not isinstance(other, TypeSpec):
            other = self._of(other)
        if type(other) is not type(self):
            return False
        return _agree(self._serialize(), other._serialize(), compatible=True)

    # TensorFlow Probability's specs call these two, as the class TypeSpec alone can see them.

    @staticmethod
    def __is_compatible(parts: Any, others: Any) -> bool:
        return _agree(parts, others, compatible=True)

    @staticmethod
    def __make_cmp_key(value: Any) -> Any:
        return _comparable(value)

    def is_subtype_of(self, other: Size) -> bool:
        """Return whether every value of this spec is one of `other`."""
        if type(other) is not type(self):
            return False
        return _agree(self._serialize(), other._serialize(), compatible=False)

    def most_specific_common_supertype(self, others: Any) -> TypeSpec | None:
        """Return the most specific spec that this one and all others are subtypes of; None if none
        is."""
        result = self
        for other in others:
            if type(other) is not type(self):
                return None
            merged = _merge(result._serialize(), other._serialize())
            if merged is None:
                return None
            result = type(self)._deserialize(merged)
        return result

    def most_specific_compatible_type(self, other: Size) -> TypeSpec:
        """Return the most specific spec compatible with both; ValueError if there is none."""
        found = self.most_specific_common_supertype([other])
        if found is None:
            raise value_error("TW208", f"No TypeSpec is compatible with both {self} and {other}")
        return found

    def _without_tensor_names(self) -> TypeSpec:
        """Return this spec without the names of tensors."""
        return TensorSpec(self.shape, self.dtype) if type(self) is TensorSpec else self

    def _with_tensor_ranks_only(self) -> TypeSpec:
        """Return this spec with only the ranks of tensors."""
        if type(self) is not TensorSpec or self.shape.rank is None:
            return self
        return TensorSpec([None] * self.shape.rank, self.dtype)

    # -- as a trace type

    def placeholder_value(self, placeholder_context: Any) -> Any:
        """Return the value that a trace sees: the next inputs that a context hands out."""
        specs = self.flatten()
        return self.from_tensors(placeholder_context.next_tensor(spec) for spec in specs)

    def flatten(self) -> list:
        """Return the specs of the tensors."""
        return list(getattr(self, "part_specs", lambda: [self])())

    def to_tensors(self, value: object) -> list:
        """Return the tensors of a value."""
        return list(value._flat_components()) if hasattr(self, "part_specs") else [value]

    def from_tensors(self, tensors: Any) -> Any:
        """Return the value made of as many tensors as it needs."""
        parts = list(islice(tensors, len(self.flatten())))
        return self.with_parts(parts) if hasattr(self, "with_parts") else parts[0]

    def cast(self, value: list[float], cast_context: Any = None) -> Any:
        """Return `value`, in this spec's dtype if it is a tensor's; TypeError if it does not
        fit."""
        if not hasattr(self, "part_specs") and hasattr(self, "dtype"):
            value = hooks.convert_to_tensor(value, self.dtype)
        if not self.is_compatible_with(value):
            raise type_error("TW208", f"Can not cast {value!r} to type {self!r}")
        return value

    @classmethod
    def _deserialize(cls, parts: tuple) -> TypeSpec:
        return cls(*parts)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _plain(self) == _plain(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), _plain(self)))

    def __reduce__(self) -> tuple:
        return type(self)._deserialize, (self._serialize(),)

    def __repr__(self) -> str:
        parts = ", ".join(map(repr, self._serialize()))
        return f"{type(self).__name__}({parts})"


def _component_parts(self: Any) -> list:
    """Return the specs of the tensors, of a spec that has `_component_specs`."""
    return hooks.parts_of_components(self)


def _of_components(self: Any, parts: Any) -> Any:
    """Return the value made of its tensors, of a spec that has `_from_components`."""
    return hooks.value_of_components(self, parts)


def _plain(spec: TypeSpec) -> tuple:
    """Return the parts of a spec, comparable:
    shapes as tuples, unknown sizes equal to each other.
    """
    return tuple(
        ("shape", part._dims) if isinstance(part, TensorShape) else part
        for part in spec._serialize()
    )


def _agree(part: Any, other: Any, compatible: bool) -> bool:
    """Return whether a part of a spec fits another's, in nests of tuples, lists and dicts."""
    if isinstance(part, (TensorShape, TypeSpec)):
        fits: Any = part.is_compatible_with if compatible else part.is_subtype_of
        return isinstance(other, (TensorShape, TypeSpec)) and bool(fits(other))
    if isinstance(part, Name) or isinstance(other, Name):
        return True
    if isinstance(part, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(part) == len(other) and all(
            [_agree(own, given, compatible) for own, given in zip(part, other)]
        )
    if isinstance(part, dict) and isinstance(other, dict):
        return part.keys() == other.keys() and all(
            [_agree(own, other[key], compatible) for key, own in part.items()]
        )
    return bool(np.all(part == other))


def _comparable(value: Any) -> Any:
    """Return a part of a spec as a value that can be hashed."""
    if isinstance(value, dict):
        return tuple([(key, _comparable(value[key])) for key in sorted(value)])
    if isinstance(value, (tuple, list)):
        return tuple(map(_comparable, value))
    if isinstance(value, np.ndarray):
        return np.ndarray, value.shape, _comparable(value.tolist())
    return value


def _merge(parts: tuple, others: tuple) -> tuple | None:
    merged: list = []
    for part, other in zip(parts, others):
        if isinstance(part, TensorShape):
            merged.append(part.most_specific_compatible_shape(other))
        elif isinstance(part, Name) or isinstance(other, Name):
            merged.append(part if part == other else None)
        elif part != other:
            return None
        else:
            merged.append(part)
    return tuple(merged)


class Name(str):
    """A part of a spec that equality looks at and compatibility does not."""


class TensorSpec(TypeSpec):
    """The dtype, shape and perhaps name of a tensor (`tf.TensorSpec`).

    shape: a list of sizes, None where unknown; None for a shape of unknown rank.

    >>> import talweg as tf
    >>> tf.TensorSpec([None, 2], tf.int32)
    TensorSpec(shape=(None, 2), dtype=tf.int32, name=None)
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: Any, dtype: Any = float32, name: str | None = None):
        try:
            self._shape, self._dtype = TensorShape(shape), as_dtype(dtype)
        except Exception as error:
            pass_out(error)
            raise
        self._name = None if name is None else str(name)

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known."""
        return self._shape

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    @property
    def value_type(self) -> type:
        """`tf.Tensor`."""
        return Tensor

    def _serialize(self) -> tuple:
        return self._shape, self._dtype, Name(self._name) if self._name is not None else None

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Return whether a tensor or spec has this dtype and a shape compatible with this one."""
        other = spec_or_value
        if not isinstance(other, (Tensor, TensorSpec)):
            return False
        return self._dtype is other.dtype and self._shape.is_compatible_with(other.shape)

    def is_subtype_of(self, other: Size) -> bool:
        """Return whether every tensor of this spec is one of `other`."""
        return (
            isinstance(other, TensorSpec)
            and (other.name is None or other.name == self.name)
            and self._dtype is other.dtype
            and self._shape.is_subtype_of(other.shape)
        )

    def _batch(self, batch_size: int | None) -> TensorSpec:
        """Return the spec of a batch of such tensors, as libraries ask for it."""
        return TensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self) -> TensorSpec:
        """Return the spec of an element of a batch; ValueError for a scalar."""
        if self._shape.rank == 0:
            raise value_error("TW203", f"{self} is a scalar, not a batch", "a rank of 1 or more")
        return TensorSpec(self._shape[1:], self._dtype)

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """Return the spec with the shape and dtype of another, and a name."""
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    @classmethod
    def from_tensor(cls, tensor: object, name: str | None = None) -> TensorSpec:
        """Return the spec of a tensor; ValueError for other values."""
        if not isinstance(tensor, Tensor):
            raise value_error(
                "TW104", f"`tensor` should be a tf.Tensor, but got type {type(tensor)}."
            )
        return cls(tensor.shape, tensor.dtype, name)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


class NoneTensorSpec(TypeSpec):
    """The spec of None (`tf.NoneTensorSpec`).

    >>> import talweg as tf
    >>> tf.NoneTensorSpec()
    NoneTensorSpec()
    """

    __slots__ = ()

    @property
    def value_type(self) -> type:
        """The class of None."""
        return type(None)

    def _serialize(self) -> tuple:
        return ()

    def _of(self, value: object) -> NoneTensorSpec | None:
        return self if value is None else None


class IndexedSlicesSpec(TypeSpec):
    """The spec of a `tf.IndexedSlices` (`tf.IndexedSlicesSpec`)."""

    __slots__ = ("_parts",)

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = float32,
        indices_dtype: object = int64,
        dense_shape_dtype: object = None,
        indices_shape: object = None,
    ):
        dense = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        rows = TensorShape([None]) if indices_shape is None else TensorShape(indices_shape)
        self._parts = (TensorShape(shape), as_dtype(dtype), as_dtype(indices_dtype), dense, rows)

    @property
    def value_type(self) -> type:
        """`tf.IndexedSlices`."""
        return IndexedSlices

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return self._parts[0]

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self._parts[1]

    def _serialize(self) -> tuple:
        return self._parts

    def _of(self, value: object) -> IndexedSlicesSpec | None:
        return self.from_value(value) if isinstance(value, IndexedSlices) else None

    @classmethod
    def from_value(cls, value: IndexedSlices) -> IndexedSlicesSpec:
        """Return the spec of a value."""
        dense = getattr(value.dense_shape, "dtype", None)
        return cls(value.shape, value.dtype, value.indices.dtype, dense, value.indices.shape)
