"""Operators as nests: their tensors go through functions, branches, datasets and `tf.nest`.

`tensors` names the attributes that hold tensors (or variables), with the number of axes that are no
batch axes; `operators` those that hold operators or lists of them.  All else is static.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from talweg.api.array.passing import get_static_value
from talweg.api.array.slicing import getitem
from talweg.api.linalg.operators.operator import LinearOperator
from talweg.api.tensors import convert_to_tensor
from talweg.core.spec import TensorSpec, TypeSpec


class CompositeOperator(LinearOperator):
    """A linear operator that consists of the tensors of its attributes."""

    tensors: dict[str, int] = {}
    operators_in: tuple[str, ...] = ()
    sequences_in: tuple[str, ...] = ()  # attributes that are lists of operators
    sizes_in: tuple[str, ...] = ()  # of `tensors`, those that are static where they are known

    def _flat_components(self) -> list:
        found = [getattr(self, name) for name in self._present()]
        return [
            value if not hasattr(value, "value") else convert_to_tensor(value) for value in found
        ] + [part for operator in self._inner() for part in operator._flat_components()]

    def _present(self) -> list[str]:
        return [
            name
            for name in self.tensors
            if getattr(self, name) is not None and self._size_in(name) is None
        ]

    def _size_in(self, name: str) -> Any:
        """The static value of a size; None for what is no size, or not known."""
        if name not in self.sizes_in or isinstance(getattr(self, name), TensorSpec):
            return None
        found = get_static_value(getattr(self, name))
        return None if found is None else tuple(np.ravel(found).tolist())

    def _inner(self) -> list[Any]:
        found = [getattr(self, name) for name in self.operators_in]
        for name in self.sequences_in:
            for item in getattr(self, name):
                found += item if isinstance(item, (list, tuple)) else [item]
        return found

    def _with_components(self, parts: list) -> Any:
        made = copy.copy(self)
        made._parameters = dict(self._parameters)
        names = self._present()
        rest = list(parts[len(names) :])
        for name, part in zip(names, parts):
            made._replace(name, part)
        for name in self.operators_in:
            made._replace(name, _taken(getattr(self, name), rest))
        for name in self.sequences_in:
            made._replace(name, _sequence_taken(getattr(self, name), rest))
        return made

    def _replace(self, name: str, value: Any) -> None:
        object.__setattr__(self, f"_{name}", value)
        if name in self._parameters:
            self._parameters[name] = value

    def _static(self) -> tuple:
        """What a trace of a function of this operator depends on, besides its tensors."""
        numbers = tuple(
            (name, value)
            for name, value in self._parameters.items()
            if name not in self.tensors
            and name not in self.operators_in
            and name not in self.sequences_in
            and name != "name"
            and isinstance(value, (bool, int, float, str, type(None)))
        )
        sizes = tuple(
            (name, self._size_in(name)) for name in self.sizes_in if getattr(self, name) is not None
        )
        return type(self), self._hints, numbers, sizes, tuple(self._present()), self._dtype

    @property
    def trace_key(self) -> Any:
        """What determines a trace: classes, hints, and what is no tensor."""
        own = [getattr(self, name) for name in self._present()]
        return (
            self._static(),
            tuple([(x.dtype, x.shape) for x in own]),
            tuple([operator.trace_key for operator in self._inner()]),
        )

    @property
    def _type_spec(self) -> LinearOperatorSpec:
        return LinearOperatorSpec(self)

    def _sliced(self, key: tuple) -> Any:
        made = copy.copy(self)
        made._parameters = dict(self._parameters)
        for name in self._present():
            made._replace(name, sliced(getattr(self, name), key, self.tensors[name], self))
        for name in self.operators_in:
            made._replace(name, getattr(self, name)[key])
        for name in self.sequences_in:
            made._replace(name, [operator[key] for operator in getattr(self, name)])
        return made


def sliced(value: Any, key: tuple, own: int, operator: Any) -> Any:
    """A part of the batch of a tensor whose last axes are an operator's own."""
    x = convert_to_tensor(value)
    missing = len(operator.batch_shape.as_list()) - (x.ndim - own)
    if missing:  # axes along which the batch is broadcast: they are taken as size 1
        wide = [slice(None) if isinstance(part, slice) else part for part in key]
        while missing and wide:
            wide, missing = wide[1:], missing - 1
        key = tuple(wide)
    if Ellipsis not in key:
        key = (*key, Ellipsis)
    return getitem(x, (*key, *[slice(None)] * own)) if own else getitem(x, key)


def _taken(operator: Any, rest: list) -> Any:
    count = len(operator._flat_components())
    parts, rest[:count] = rest[:count], []
    return operator._with_components(parts)


def _sequence_taken(items: Any, rest: list) -> Any:
    return [
        _sequence_taken(item, rest) if isinstance(item, (list, tuple)) else _taken(item, rest)
        for item in items
    ]


class LinearOperatorSpec(TypeSpec):
    """What is known of an operator: its class, hints, and the specs of its tensors."""

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
        """What determines a trace, besides the tensors."""
        return self._like.trace_key

    def part_specs(self) -> list[TensorSpec]:
        """The specs of the tensors."""
        return list(self._specs)

    def with_parts(self, parts: list) -> Any:
        """The operator that consists of these tensors."""
        return self._like._with_components(parts)

    def with_part_specs(self, specs: list) -> LinearOperatorSpec:
        """The same kind of operator, of tensors with these specs."""
        return LinearOperatorSpec(self._like, specs)

    def _serialize(self) -> tuple:
        return self._like.trace_key, self._specs

    def _of(self, value: Any) -> TypeSpec | None:
        return LinearOperatorSpec(value) if isinstance(value, CompositeOperator) else None

    def __repr__(self) -> str:
        return f"{type(self._like).__name__}Spec{self._specs}"
