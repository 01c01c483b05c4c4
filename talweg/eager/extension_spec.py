"""Specs of extension types: a spec for each tensor, and the Python values as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.core.spec import IndexedSlicesSpec, TensorSpec, TypeSpec
from talweg.core.value import Tensor
from talweg.eager.extension_fields import ImmutableDict

if TYPE_CHECKING:
    from talweg.eager.composite import SparseTensor

BUILDING = "_being_built"


class FieldsOnly:
    """The base of classes with declared fields, which only constructors set; printed in order."""

    extension_fields: Any = ()

    def __setattr__(self, name: str, value: SparseTensor) -> None:
        if not self._may_set(name):
            raise self._make_mutation_error(name)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if not self._may_set(name):
            raise self._make_mutation_error(name)
        object.__delattr__(self, name)

    def _may_set(self, name: str) -> bool:
        if name.startswith("_keras_"):  # Keras notes on a value where it came from
            return True
        return BUILDING in self.__dict__ and name in self.extension_fields

    def _make_mutation_error(self, name: str) -> AttributeError:
        kind = "ExtensionTypeSpec" if isinstance(self, TypeSpec) else "ExtensionType"
        return AttributeError(
            f"Cannot mutate attribute `{name}` outside the custom constructor of {kind}."
        )

    def __repr__(self) -> str:
        fields = [f"{name}={_show(self.__dict__[name])}" for name in self.extension_fields]
        return f"{type(self).__qualname__.split('<locals>.')[-1]}({', '.join(fields)})"


def _show(value: SparseTensor) -> str:
    return repr(dict(value)) if isinstance(value, SpecDict) else repr(value)


class SpecDict(ImmutableDict):
    """A mapping field in a spec; shown as a plain dictionary."""


def make_instance(cls: Any, fields: Mapping[str, Any]) -> Any:
    """Return an object of a type with these fields, made without its constructor."""
    made = object.__new__(cls)
    made.__dict__.update(fields)
    return made


class ExtensionTypeSpec(FieldsOnly, TypeSpec):
    """The spec of an extension type (`tf.experimental.ExtensionTypeSpec`).

    Each extension type has its own as `.Spec`, with a field for each of its fields.
    """

    value_type: Any = None  # each type sets its own

    def _serialize(self) -> tuple:
        return tuple([(name, self.__dict__[name]) for name in self.extension_fields])

    @classmethod
    def _deserialize(cls, parts: Iterable) -> Any:
        pairs = {name: value for name, value in parts}
        return make_instance(
            cls,
            {
                name: field.spec(_from_plain(pairs[name]))
                for name, field in cls.extension_fields.items()
            },
        )

    @classmethod
    def from_value(cls, value: Any) -> Any:
        """Return the spec of a value."""
        return make_instance(
            cls, {name: _describe(value.__dict__[name]) for name in cls.extension_fields}
        )

    def _of(self, value: object) -> TypeSpec | None:
        return value._type_spec if isinstance(value, self.value_type) else None

    # -- relations

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Return whether some value could have this spec and the other, or is of this spec."""
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else self._of(spec_or_value)
        return _relate(self, other, lambda one, two: one.is_compatible_with(two))

    def is_subtype_of(self, other: object) -> bool:
        """Return whether every value of this spec is one of `other`."""
        return _relate(self, other, lambda one, two: one.is_subtype_of(two))

    def most_specific_common_supertype(self, others: Any) -> Any:
        """Return the most specific spec that this one and all others are subtypes of; None if none
        is."""
        found: Any = self
        for other in others:
            found = None if found is None else _merge(found, other)
        return found

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._serialize() == other._serialize()

    def __hash__(self) -> int:
        return hash((type(self), freeze(self)))

    # -- the tensors

    @property
    def _component_specs(self) -> Any:
        return tuple([value for _, value in self._serialize() if isinstance(value, TypeSpec)])

    @property
    def trace_key(self) -> tuple:
        """Return the key that calls of traced functions with values of this spec share."""
        return freeze(self, tensors=False)

    def part_specs(self) -> list[TensorSpec]:
        """Return the specs of all tensors of a value, in order."""
        return [part for leaf in leaves_of(self) for part in _parts_of(leaf)]

    def with_parts(self, parts: list) -> Any:
        """Return the value that consists of these tensors; its constructor and checks do not
        run."""
        remaining = iter(parts)
        return self.with_leaves([_make(leaf, remaining) for leaf in leaves_of(self)])

    def with_part_specs(self, parts: list) -> Any:
        """Return the spec with other specs of its tensors; composites keep theirs."""
        remaining = iter(parts)

        def replace_leaf(leaf: TypeSpec) -> TypeSpec:
            own = [next(remaining) for _ in _parts_of(leaf)]
            return TensorSpec(own[0].shape, own[0].dtype) if isinstance(leaf, TensorSpec) else leaf

        return map_specs(replace_leaf, self)

    def with_leaves(self, leaves: list) -> Any:
        """Return the value that consists of these tensors and composites."""
        return with_leaves(self, iter(leaves))

    def __reduce__(self) -> tuple:
        plain = tuple([(name, _plain(value)) for name, value in self._serialize()])
        return _restore, (self.value_type, plain)


def _restore(cls: Any, parts: tuple) -> Any:
    return cls.Spec._deserialize(parts)


def _plain(value: SparseTensor) -> Any:
    return dict(value) if isinstance(value, ImmutableDict) else value


def _from_plain(value: SparseTensor) -> Any:
    """Restore tuples from the lists that JSON has in their place."""
    return tuple(value) if isinstance(value, list) else value


def _children(value: object) -> list | None:
    """Return the contents of a container in a field; None for leaves."""
    if isinstance(value, FieldsOnly):
        return [value.__dict__[name] for name in value.extension_fields]
    if isinstance(value, tuple):
        return list(value)
    return list(value.values()) if isinstance(value, ImmutableDict) else None


def _with_children(value: Any, children: list) -> Any:
    if isinstance(value, FieldsOnly):
        return make_instance(type(value), dict(zip(value.extension_fields, children)))
    if isinstance(value, tuple):
        return tuple(children)
    return type(value)(zip(value, children))


def leaves_of(value: object) -> list:
    """Return the tensors and composites of a value, or their specs, in order; no Python values."""
    parts = _children(value)
    if parts is not None:
        return [leaf for part in parts for leaf in leaves_of(part)]
    return [value] if _is_leaf(value) else []


def _is_leaf(value: object) -> bool:
    return isinstance(value, (TypeSpec, Tensor)) or hasattr(value, "_flat_components")


def with_leaves(value: object, leaves: Iterator) -> Any:
    """Return a value (or, of a spec, the value it describes) with these tensors and composites."""
    parts = _children(value)
    if parts is None:
        return next(leaves) if _is_leaf(value) else value
    made = [with_leaves(part, leaves) for part in parts]
    if isinstance(value, ExtensionTypeSpec):
        return make_instance(value.value_type, dict(zip(value.extension_fields, made)))
    if isinstance(value, SpecDict):
        return ImmutableDict(zip(value, made))
    return _with_children(value, made)


def _describe(value: Any) -> Any:
    """Return a value of a field as its spec has it."""
    if hasattr(value, "_type_spec") and not hasattr(value, "handle_read"):
        return value._type_spec
    if isinstance(value, ImmutableDict):
        return SpecDict({key: _describe(item) for key, item in value.items()})
    if isinstance(value, tuple):
        return tuple([_describe(item) for item in value])
    if hasattr(value, "dense_shape"):
        return IndexedSlicesSpec.from_value(value)
    return TensorSpec(value.shape, value.dtype) if isinstance(value, Tensor) else value


def _parts_of(leaf: TypeSpec) -> list:
    if isinstance(leaf, TensorSpec):
        return [leaf]
    if isinstance(leaf, IndexedSlicesSpec):
        shape, dtype, indices, dense, rows = leaf._serialize()
        inner = None if shape.rank is None else [*rows, *shape[1:]]
        found = [TensorSpec(inner, dtype), TensorSpec(rows, indices)]
        return found if dense is None else [*found, TensorSpec([shape.rank], dense)]
    return leaf.part_specs()  # type: ignore[attr-defined]


def _make(leaf: Any, remaining: Any) -> Any:
    """Return the tensor or composite of a spec, from the next tensors."""
    parts = [next(remaining) for _ in _parts_of(leaf)]
    if isinstance(leaf, TensorSpec):
        return parts[0]
    return leaf.with_parts(parts) if hasattr(leaf, "with_parts") else leaf.value_type(*parts)


# -- relations, field by field


def _relate(one: Any, other: Any, rule: Callable[[Any, Any], bool]) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, TypeSpec) and not isinstance(one, ExtensionTypeSpec):
        return rule(one, other)
    parts, others = _children(one), _children(other)
    if parts is None or others is None:
        return one == other
    if len(parts) != len(others) or (isinstance(one, Mapping) and list(one) != list(other)):
        return False
    return all(_relate(a, b, rule) for a, b in zip(parts, others))


def _merge(one: object, other: object) -> Any:
    """Return the most specific type that covers both, None if nothing does."""
    if not _relate(one, other, lambda a, b: True):
        return None
    if isinstance(one, TypeSpec) and not isinstance(one, ExtensionTypeSpec):
        return one.most_specific_common_supertype([other])
    parts = _children(one)
    if parts is None:
        return one
    merged = [_merge(a, b) for a, b in zip(parts, _children(other) or ())]
    lost = any(found is None and part is not None for found, part in zip(merged, parts))
    return None if lost else _with_children(one, merged)


def freeze(value: object, tensors: bool = True) -> Any:
    """Return a hashable form of a spec; without its tensors' facts if they are keyed apart."""
    parts = _children(value)
    if parts is not None:
        keys = tuple(value) if isinstance(value, Mapping) else ()
        return (type(value), keys, *[freeze(part, tensors) for part in parts])
    if isinstance(value, TypeSpec):
        return value if tensors else type(value)
    return (type(value), str(value) if isinstance(value, TensorShape) else value)


def map_specs(function: Callable[[Any], Any], spec: Any) -> Any:
    """Return the spec with `function` of the spec of each of its tensors and composites."""
    parts = _children(spec)
    if parts is None:
        return function(spec) if isinstance(spec, TypeSpec) else spec
    return _with_children(spec, [map_specs(function, part) for part in parts])


def not_batchable(spec: bool) -> Exception:
    """Return the error for values that have no rows."""
    return value_error(
        "TW104",
        f"values of {spec!r} cannot be batched or unbatched",
        "a subclass of tf.experimental.BatchableExtensionType",
    )
