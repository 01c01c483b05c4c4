"""tf.__internal__.CompositeTensor: values of libraries that are made of several tensors.

A library's class has `_type_spec`, and its spec `_component_specs`, `_to_components` and
`_from_components`, TensorFlow's private protocol; here they serve talweg's own: `_flat_components`
of values, `part_specs` and `with_parts` of specs.
"""

from __future__ import annotations

import abc
from typing import Any

from talweg.api.export import export, implement_hook
from talweg.core.value import IndexedSlices
from talweg.eager.composite import SparseTensor
from talweg.eager.extension import ExtensionType
from talweg.eager.ragged import RaggedTensor
from talweg.eager.replicated import Several
from talweg.eager.variable import Variable
from talweg.graph import structure


@export("__internal__.CompositeTensor")
class CompositeTensor(metaclass=abc.ABCMeta):
    """Base of values made of several tensors: sparse, ragged, slices; and variables."""

    @property
    @abc.abstractmethod
    def _type_spec(self) -> Any:
        """The spec of the value."""

    def _flat_components(self) -> list:
        """Return the tensors that it is made of."""
        return structure.flatten(self._type_spec._to_components(self), composites=True)

    def _with_components(self, parts: list) -> Any:
        """Return a value like this one of other tensors."""
        return value_of_components(self._type_spec, parts)

    def _shape_invariant_to_type_spec(self, shape: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._shape_invariant_to_type_spec")

    def _consumers(self) -> list:
        return []

    def __tf_tracing_type__(self, context: Any) -> Any:
        return self._type_spec


for _kind in (SparseTensor, RaggedTensor, IndexedSlices, Variable, ExtensionType, Several):
    CompositeTensor.register(_kind)


@implement_hook("parts_of_components")
def parts_of_components(spec: Any) -> list:
    """Return the specs of the tensors, of a spec that has `_component_specs`."""
    found = []
    for leaf in structure.flatten(spec._component_specs):
        found += leaf.part_specs() if hasattr(leaf, "part_specs") else [leaf]
    return found


@implement_hook("value_of_components")
def value_of_components(spec: Any, parts: Any) -> Any:
    """Return the value made of its tensors, of a spec that has `_from_components`."""
    remaining = iter(parts)
    leaves = []
    for leaf in structure.flatten(spec._component_specs):
        composite = hasattr(leaf, "part_specs")
        own = [next(remaining) for _ in range(len(leaf.part_specs()) if composite else 1)]
        leaves.append(leaf.with_parts(own) if composite else own[0])
    return spec._from_components(structure.pack(spec._component_specs, leaves))
