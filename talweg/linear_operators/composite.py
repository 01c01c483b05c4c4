"""Operators as nests: their tensors go through functions, branches, datasets and `tf.nest`.

`tensors` names the attributes that hold tensors (or variables), with the number of axes that are no
batch axes; `operators` those that hold operators or lists of them.  All else is static.
"""

from __future__ import annotations

import copy
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.passing import get_static_value
from talweg.api.array.slicing import getitem
from talweg.api.export import graph_aware, look_up
from talweg.api.tensors import convert_to_tensor
from talweg.core.shapes import TensorShape
from talweg.core.spec import TensorSpec, TypeSpec
from talweg.linear_operators.hints import same
from talweg.linear_operators.operator import LinearOperator

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


class CompositeOperator(LinearOperator):
    """A linear operator that consists of the tensors of its attributes."""

    tensors: dict[str, int] = {}
    operators_in: tuple[str, ...] = ()
    sequences_in: tuple[str, ...] = ()  # attributes that are lists of operators
    static_in: tuple[str, ...] = ()  # other arguments, which are never tensors
    sizes_in: tuple[str, ...] = ()  # of `tensors`, those that are static where they are known

    def _parts(self) -> list[str]:
        """Return the attributes that hold tensors or operators, by name:
        the order of the components.
        """
        return sorted([*self._present(), *self.operators_in, *self.sequences_in])

    def _flat_components(self) -> list:
        found: list[Any] = []
        for name in self._parts():
            held = getattr(self, name)
            if name in self.tensors:
                found.append(convert_to_tensor(held) if hasattr(held, "value") else held)
            else:
                inner = _operators_in(held)
                found += [part for operator in inner for part in operator._flat_components()]
        return found

    def _present(self) -> list[str]:
        return [
            name
            for name in self.tensors
            if getattr(self, name) is not None and self._size_in(name) is None
        ]

    def _size_in(self, name: str) -> Any:
        """Return the static value of a size; None for other values, or unknown ones."""
        if name not in self.sizes_in or isinstance(getattr(self, name), TensorSpec):
            return None
        found = get_static_value(getattr(self, name))
        return None if found is None else tuple(np.ravel(found).tolist())

    def _inner(self) -> list[Any]:
        held = [getattr(self, name) for name in (*self.operators_in, *self.sequences_in)]
        return [operator for item in held for operator in _operators_in(item)]

    def _with_components(self, parts: list) -> Any:
        made = copy.copy(self)
        made._parameters = dict(self._parameters)
        rest = list(parts)
        for name in self._parts():
            held = getattr(self, name)
            made._replace(
                name, rest.pop(0) if name in self.tensors else _take_operators(held, rest)
            )
        return made

    def _replace(self, name: str, value: TensorLike) -> None:
        object.__setattr__(self, f"_{name}", value)
        if name in self._parameters:
            self._parameters[name] = value

    def _static(self) -> tuple:
        """Return the parts that a trace depends on besides the operator's tensors."""
        numbers = tuple(self._static_argument(name) for name in self.static_in)
        sizes = tuple(
            (name, self._size_in(name)) for name in self.sizes_in if getattr(self, name) is not None
        )
        return (
            type(self),
            tuple(same(self).values()),
            numbers,
            sizes,
            tuple(self._present()),
            self._dtype,
        )

    def _static_argument(self, name: str) -> Any:
        return self.dtype if name.endswith("dtype") else self._parameters[name]

    @property
    def trace_key(self) -> Any:
        """Return the key of a trace: classes, hints, and the arguments that are no tensors."""
        own = [getattr(self, name) for name in self._present()]
        return (
            self._static(),
            tuple([(x.dtype, x.shape) for x in own]),
            tuple([operator.trace_key for operator in self._inner()]),
        )

    @property
    def _type_spec(self) -> LinearOperatorSpec:
        return LinearOperatorSpec(self)

    def _slice(self, key: tuple) -> Any:
        made = copy.copy(self)
        made._parameters = dict(self._parameters)
        for name in self._present():
            made._replace(name, slice_batch(getattr(self, name), key, self.tensors[name], self))
        for name in self.operators_in:
            made._replace(name, getattr(self, name)[key])
        for name in self.sequences_in:
            made._replace(name, [operator[key] for operator in getattr(self, name)])
        return made


def slice_batch(value: TensorLike, key: tuple, own: int, operator: Any) -> Any:
    """Return a part of the batch of a tensor whose last axes are an operator's own."""
    rank = operator.batch_shape.rank
    batch = operator.batch_shape_tensor() if rank is None else rank
    return _part(convert_to_tensor(value), key, own, batch)


def _part(x: TensorLike, key: tuple, own: int, batch: Any) -> Any:
    """Return `slice_batch`, of a batch of so many axes,
    or of these sizes; kept whole if unknown.
    """
    axes = batch if isinstance(batch, int) else index(batch.dims[0])
    missing = axes - (x.ndim - own)
    if missing:  # axes along which the batch is broadcast: they are taken as size 1
        wide = [slice(None) if isinstance(part, slice) else part for part in key]
        while missing and wide:
            wide, missing = wide[1:], missing - 1
        key = tuple(wide)
    if Ellipsis not in key:
        key = (*key, Ellipsis)
    return getitem(x, (*key, *[slice(None)] * own)) if own else getitem(x, key)


_part = graph_aware(_part)


def _operators_in(held: Any) -> list[Any]:
    """Return the operators of an attribute: one, or those of (nested) lists."""
    if isinstance(held, (list, tuple)):
        return [operator for item in held for operator in _operators_in(item)]
    return [held]


def _take_operators(held: Any, rest: list) -> Any:
    """Return operators like those of an attribute, of the first of the tensors that are left."""
    if isinstance(held, (list, tuple)):
        return [_take_operators(item, rest) for item in held]
    count = len(held._flat_components())
    parts, rest[:count] = rest[:count], []
    return held._with_components(parts)


class LinearOperatorSpec(TypeSpec):
    """The spec of an operator: its class, hints, and the specs of its tensors."""

    __slots__ = ("_like", "_specs")

    def __init__(self, like: Any, specs: Any = None):
        if specs is None:
            specs = [TensorSpec(part.shape, part.dtype) for part in like._flat_components()]
        self._specs = tuple(specs)
        self._like = like._with_components(list(self._specs))

    @property
    def value_type(self) -> type:
        """The operator's class."""
        return type(self._like)

    @property
    def trace_key(self) -> Any:
        """Return the key of a trace, besides the tensors."""
        return self._like.trace_key

    def _like_with_values(self) -> Any:
        return self._like._with_components([_stand_in(spec, "") for spec in self._specs])

    def part_specs(self) -> list[TensorSpec]:
        """Return the specs of the tensors."""
        return list(self._specs)

    def with_parts(self, parts: list) -> Any:
        """Return the operator that consists of these tensors."""
        return self._like._with_components(parts)

    def with_part_specs(self, specs: list) -> LinearOperatorSpec:
        """Return a spec of the same kind of operator, of tensors with these specs."""
        return LinearOperatorSpec(self._like, specs)

    def _serialize(self) -> tuple:
        return self._like.trace_key, self._specs

    # -- in a saved model

    @property
    def registered_name(self) -> str:
        """The name of this kind of spec in files."""
        return f"tf.linalg.{type(self._like).__name__}Spec"

    def collect_state(self) -> tuple:
        """Return (specs of tensors and operators, static arguments, names that may be static)."""
        like = self._like
        rest = list(self._specs)
        parts: dict[str, Any] = {}
        for name in like._parts():
            held = getattr(like, name)
            parts[name] = rest.pop(0) if name in like.tensors else _take_specs(held, rest)
        static: dict[str, Any] = same(like)
        static.update({name: like._static_argument(name) for name in like.static_in})
        prefer = [name.removesuffix("_arg") for name in like.sizes_in]
        for name, shown in zip(like.sizes_in, prefer):
            size = like._size_in(name) if getattr(like, name) is not None else ()
            if shown == "batch_shape":
                static[shown] = TensorShape(list(size or ()))
            elif size is not None:
                static[shown] = size[0] if size else static["num_rows"]
        if prefer:
            static["assert_proper_shapes"] = False
        return parts, static, tuple(prefer)

    @staticmethod
    def from_registered(name: str, state: tuple) -> LinearOperatorSpec:
        """Return the spec that a file describes."""
        parts, static, _ = state
        operator = look_up(name.removeprefix("tf.").removesuffix("Spec"))
        given = {key: _stand_in(part, key) for key, part in parts.items()}
        shape = static.get("batch_shape")
        if isinstance(shape, TensorShape):
            static = {**static, "batch_shape": shape.as_list() if shape.rank else None}
        static = {key: value for key, value in static.items() if key != "assert_proper_shapes"}
        specs = [spec for key in sorted(parts) for spec in _flat_specs(parts[key])]
        return LinearOperatorSpec(operator(**given, **static), specs)

    def _of(self, value: TensorLike) -> TypeSpec | None:
        return LinearOperatorSpec(value) if isinstance(value, CompositeOperator) else None

    def __repr__(self) -> str:
        return f"{type(self._like).__name__}Spec{self._specs}"


def _take_specs(held: Any, rest: list) -> Any:
    """Return the specs of an attribute's operators,
    of the first of the tensors' specs that are left.
    """
    if isinstance(held, (list, tuple)):
        return [_take_specs(item, rest) for item in held]
    count = len(held._flat_components())
    specs, rest[:count] = rest[:count], []
    return LinearOperatorSpec(held, specs)


def _flat_specs(part: Any) -> list[Any]:
    if isinstance(part, (list, tuple)):
        return [spec for item in part for spec in _flat_specs(item)]
    return part.part_specs() if isinstance(part, LinearOperatorSpec) else [part]


def _stand_in(part: Any, name: str) -> Any:
    """Return a value for a constructor, in place of one that only a call will bring."""
    if isinstance(part, (list, tuple)):
        return [_stand_in(item, name) for item in part]
    if isinstance(part, LinearOperatorSpec):
        return part._like_with_values()
    sizes = [1 if size is None else size for size in part.shape.as_list()]
    if name == "perm":
        return convert_to_tensor(np.broadcast_to(np.arange(sizes[-1]), sizes).copy(), part.dtype)
    return convert_to_tensor(np.zeros(sizes, part.dtype.numpy_dtype))
