"""Signatures of calls of a traced function: the key of its trace, and reasons of a retrace.

The arguments are taken apart into tensors, which become inputs of the trace, variables, for which
others may stand in other calls, and everything else, which is part of the key: Python values by
value, objects by identity (weakly).
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dims import Dim
from talweg.core.shapes import TensorShape
from talweg.core.spec import TensorSpec, TypeSpec
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.tensor import EagerTensor
from talweg.eager.variable import Variable
from talweg.eager.variable_spec import VariableSpec
from talweg.graph import structure
from talweg.graph.symbol import Symbol
from talweg.trace.trace_type import TraceTypeKey, TypedPlace, type_of

if TYPE_CHECKING:
    from collections.abc import Sequence


class IdentityKey:
    """A key of an object that equals only itself, weakly referenced if possible."""

    __slots__ = ("_reference", "number", "text")

    def __init__(self, value: Any):
        self.number = id(value)
        self.text = f"{type(value).__name__} object"
        try:
            self._reference: Any = weakref.ref(value)
        except TypeError:
            self._reference = lambda: value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IdentityKey) or self.number != other.number:
            return False
        return self._reference() is other._reference() is not None

    def __hash__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        return self.text


class Taken:
    """Flattened arguments: `key`, tensors, variables, and the template to rebuild them.

    apart: whether each variable has a key of its own; else only shape, dtype and the like count,
    and which of the variables are the same.
    """

    __slots__ = ("_apart", "_numbers", "key", "tensors", "tree", "variables")

    def __init__(self, value: Any, apart: bool = False):
        self.tensors: list = []
        self.variables: list = []
        self._numbers: dict[int, int] = {}
        self._apart = apart
        self.key, self.tree = self._take(value)

    def _take(self, value: object) -> tuple[Any, Any]:
        """Return the part of the key for `value`, and the template with numbered tensors."""
        kind = type(value)
        if kind is EagerTensor or kind is Symbol or isinstance(value, Tensor):
            return self._tensor(value)
        if kind in _PLAIN:
            return (kind, value if value == value else "nan"), value
        if hasattr(kind, "__tf_tracing_type__") and kind not in _OWN_TYPES:
            return self._take_typed(value)
        if isinstance(value, Variable):
            return self._variable(value)
        if isinstance(value, (np.ndarray, np.generic)):
            return self._tensor(convert_to_tensor(value))
        if isinstance(value, TensorSpec):
            return self._tensor(value)
        if hasattr(value, "part_specs"):
            parts = [self._tensor(spec) for spec in value.part_specs()]
            keys = tuple([key for key, _ in parts])
            tree = Container(value, [tree for _, tree in parts])
            extra = getattr(value, "trace_key", None) or getattr(value, "shape", None)
            return (value.value_type, extra, keys), tree
        if isinstance(value, TypeSpec):
            return ("spec", value), value
        if structure.is_nested(value, composites=True):
            return self._container(value)
        if kind in (str, bytes, type) or isinstance(value, (np.dtype, frozenset)):
            return (kind, value), value
        try:
            if type(value).__eq__ is not object.__eq__:
                hash(value)
                return (kind, value), value
        except TypeError:
            pass
        return ("object", IdentityKey(value)), value

    def _tensor(self, value: object) -> tuple:
        self.tensors.append(value)
        return (value.dtype, dims_of(value)), ArgumentPlace(len(self.tensors) - 1)

    def _take_typed(self, value: object) -> tuple:
        """Flatten a value whose class defines its trace type."""
        if structure.kind_of(value) == structure.COMPOSITE:
            return self._container(value)
        found = type_of(value)
        if isinstance(found, TypeSpec) and not isinstance(found, TensorSpec):
            raise TypeError(
                f"the trace type of {value!r} is {found!r}: give a TraceType of your own"
            )
        parts = [self._tensor(convert_to_tensor(tensor)) for tensor in found.to_tensors(value)]
        key = (type(value), TraceTypeKey(found), tuple([key for key, _ in parts]))
        return key, TypedPlace(found, [tree for _, tree in parts])

    def _variable(self, value: Variable) -> tuple:
        number = self._numbers.setdefault(id(value), len(self.variables))
        if number == len(self.variables):
            self.variables.append(value)
        spec = VariableSpec(value.shape, value.dtype, value.trainable, number)
        if self._apart:
            return ("variable", IdentityKey(value.handle)), VariablePlace(number, spec)
        return ("variable", type(value), spec.key), VariablePlace(number, spec)

    def _container(self, value: Any) -> tuple:
        before = len(self.variables)
        parts = [self._take(child) for child in structure.children(value)]
        extra: Any = None
        if structure.kind_of(value) == structure.MAPPING:
            extra = tuple(structure.sort_keys(value))
        elif structure.kind_of(value) == structure.COMPOSITE:
            extra = getattr(value, "trace_key", None) or getattr(value, "shape", None)
        keys = tuple([key for key, _ in parts])
        kind = structure.kind_of(value)
        if len(self.variables) > before and kind in _EMPTIED:  # not kept alive, traced or not
            value = structure.rebuild(value, [None] * len(parts))
        return (type(value), extra, keys), Container(value, [tree for _, tree in parts])


_EMPTIED = (structure.SEQUENCE, structure.MAPPING, structure.NAMEDTUPLE)
_OWN_TYPES = frozenset((TensorShape,))  # whose values are their own types
_PLAIN = frozenset((bool, int, float, complex, type(None)))


class ArgumentPlace:
    """The position of tensor `number` in the arguments."""

    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number


class VariablePlace:
    """The position of variable `number` in the arguments."""

    __slots__ = ("number", "spec")

    def __init__(self, number: int, spec: VariableSpec):
        self.number, self.spec = number, spec


class Container:
    """A container of the arguments, or the spec of one, with its children flattened."""

    __slots__ = ("children", "like")

    def __init__(self, like: Any, children: list):
        self.like, self.children = like, children


def release_values(tree: object) -> None:
    """Release the arguments that a template refers to: a trace outlives them."""
    if type(tree) is not Container:
        return
    kind = structure.kind_of(tree.like)
    if kind in _EMPTIED:
        tree.like = structure.rebuild(tree.like, [None] * len(tree.children))
    elif kind == structure.COMPOSITE:
        spec = getattr(tree.like, "_type_spec", None)
        if hasattr(spec, "part_specs") and len(spec.part_specs()) == len(tree.children):
            tree.like = spec
    for child in tree.children:
        release_values(child)


def put_together(tree: Any, tensors: list, variables: Sequence[Any] = ()) -> Any:
    """Rebuild the arguments with other tensors and variables."""
    if type(tree) is ArgumentPlace:
        return tensors[tree.number]
    if type(tree) is VariablePlace:
        return variables[tree.number]
    if type(tree) is TypedPlace:
        return tree.value_of([tensors[leaf.number] for leaf in tree.places])
    if type(tree) is Container:
        parts = [put_together(child, tensors, variables) for child in tree.children]
        if hasattr(tree.like, "part_specs"):
            return tree.like.with_parts(parts)
        value = structure.rebuild(tree.like, parts)
        if structure.kind_of(value) == structure.COMPOSITE and hasattr(value, "set_shape"):
            value.set_shape(tree.like.shape)  # a trace serves this shape only: it is in the key
        return value
    return tree


def specs_together(tree: Any, specs: list) -> Any:
    """Rebuild the arguments with specs in place of tensors; a composite is a tuple."""
    if type(tree) is ArgumentPlace:
        return specs[tree.number]
    if type(tree) is VariablePlace:
        return tree.spec
    if type(tree) is TypedPlace:
        return tree.type
    if type(tree) is Container:
        parts = [specs_together(child, specs) for child in tree.children]
        if hasattr(tree.like, "trace_key"):  # an extension type, or its spec
            spec = tree.like if hasattr(tree.like, "part_specs") else tree.like._type_spec
            if hasattr(spec, "with_part_specs"):
                return spec.with_part_specs(parts)
        if structure.kind_of(tree.like) == structure.COMPOSITE or hasattr(tree.like, "part_specs"):
            return tuple(parts)
        return structure.rebuild(tree.like, parts)
    return tree


def places_of(tree: object) -> list:
    """Return the positions of tensors and variables in order."""
    if type(tree) is TypedPlace:
        return list(tree.places)
    if type(tree) is Container:
        return [place for child in tree.children for place in places_of(child)]
    return [tree] if type(tree) in (ArgumentPlace, VariablePlace) else []


def dims_of(value: object) -> tuple | None:
    """Return the static dimensions of a tensor or spec: None where unknown."""
    if type(value) is EagerTensor:
        return value.dims
    if type(value) is Symbol:
        dims = value.node.aval.dims
        if dims is None:
            return None
        return tuple([None if type(size) is Dim else size for size in dims])
    shape = value.shape
    return None if shape.rank is None else shape.as_tuple()


def is_tensor_key(key: tuple[Any, ...]) -> bool:
    """Return whether a part of a key is that of a tensor."""
    return (
        type(key) is tuple
        and len(key) == 2
        and hasattr(key[0], "is_differentiable")
        and (key[1] is None or type(key[1]) is tuple)  # else it is a dtype among the arguments
    )


def tensor_keys(key: tuple[Any, ...]) -> list:
    """Return the (dtype, dims) of the tensors in a key, in order."""
    if is_tensor_key(key):
        return [key]
    if type(key) is tuple and len(key) == 3 and type(key[2]) is tuple:
        return [found for part in key[2] for found in tensor_keys(part)]
    return []


def relax_key(old: object, new: object) -> Any:
    """Return the key that covers both: dimensions that differ become unknown; else None."""
    if old == new:
        return old
    if type(old) is not tuple or type(new) is not tuple or len(old) != len(new):
        return None
    if is_tensor_key(old):
        if not is_tensor_key(new) or old[0] is not new[0]:
            return None
        a, b = old[1], new[1]
        if a is None or b is None or len(a) != len(b):
            return (old[0], None)
        return (old[0], tuple([x if x == y else None for x, y in zip(a, b)]))
    parts = [relax_key(a, b) for a, b in zip(old, new)]
    if any(part is None and a is not None for part, a in zip(parts, old)):
        return None
    return tuple(parts)


def covers(general: object, key: object) -> bool:
    """Return whether a trace for the key `general` serves a call with `key`."""
    if general is key or general == key:
        return True
    if type(general) is TraceTypeKey:
        return general.serves(key)
    if type(general) is not tuple or type(key) is not tuple or len(general) != len(key):
        return False
    if is_tensor_key(general):
        if not is_tensor_key(key) or general[0] is not key[0]:
            return False
        a, b = general[1], key[1]
        if a is None:
            return True
        return b is not None and len(a) == len(b) and all(x is None or x == y for x, y in zip(a, b))
    return all(covers(a, b) for a, b in zip(general, key))


def difference(old: tuple[Any, ...], new: tuple[Any, ...], name: str) -> str | None:
    """Describe the first difference of two keys; None if there is none."""
    if old == new:
        return None
    if is_tensor_key(old) and is_tensor_key(new):
        if old[0] is not new[0]:
            return f"{name}: dtype {new[0].name}, was {old[0].name}"
        return f"{name}: shape {_shape(new[1])}, was {_shape(old[1])}"
    if type(old) is not tuple or type(new) is not tuple:
        return f"{name}: {new!r}, was {old!r}"
    if is_tensor_key(old) or is_tensor_key(new):
        return f"{name}: {_describe(new)}, was {_describe(old)}"
    if len(old) == 3 and len(new) == 3 and old[0] is new[0] and old[1] == new[1]:
        labels = old[1] if isinstance(old[1], tuple) else range(len(old[2]))
        if len(old[2]) == len(new[2]):
            for label, a, b in zip(labels, old[2], new[2]):
                inner = difference(a, b, f"{name}[{label!r}]")
                if inner is not None:
                    return inner
        return f"{name}: {len(new[2])} elements, was {len(old[2])}"
    return f"{name}: {_describe(new)}, was {_describe(old)}"


def _shape(dims: tuple | None) -> str:
    return "unknown" if dims is None else str(list(dims))


def _describe(key: tuple[Any, ...]) -> str:
    if is_tensor_key(key):
        return f"a tensor of dtype {key[0].name} and shape {_shape(key[1])}"
    if len(key) == 2:
        if isinstance(key[0], type):
            return f"the Python value {key[1]!r}"
        return f"{key[0]} {key[1]!r}"
    return f"a {getattr(key[0], '__name__', key[0])}"
