"""The structure of a dataset's elements, and their flat form inside pipelines.

An element is a nest of tuples, namedtuples, dictionaries and attrs classes; a *list* is no nest
here but a tensor to be.  Inside a pipeline it is a tuple with one item for each leaf: the array of
a tensor, a sparse or ragged tensor as it is, a `Bound` dataset, an `Optional`, None.  A `Layout`
knows the specs of the leaves and how elements are put together and taken apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.errors import type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.spec import NoneTensorSpec, TensorSpec, TypeSpec
from talweg.core.value import Tensor
from talweg.eager.composite import SparseTensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.extension import ExtensionType
from talweg.eager.ragged import RaggedTensor, RaggedTensorSpec
from talweg.eager.replicated import PerReplica, PerReplicaSpec, Several
from talweg.eager.resident import resident
from talweg.eager.structured import Variant
from talweg.eager.tensor import EagerTensor, wrap
from talweg.graph import structure
from talweg.graph.symbol import Symbol

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

OfElement = (  # a function of an element; type checkers know the parameters of a lambda by these
    Callable[[Any], Any]
    | Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any, Any], Any]
)
NESTS = frozenset(
    (structure.SEQUENCE, structure.NAMEDTUPLE, structure.MAPPING, structure.ATTRS, structure.CUSTOM)
)


def is_nested(value: object) -> bool:
    """Return whether `value` is a container of an element: lists are not."""
    if isinstance(value, tuple):
        return True
    return structure.kind_of(value) in NESTS and not isinstance(value, list) and not _leaf(value)


def _leaf(value: object) -> bool:
    return structure.kind_of(value) == structure.SEQUENCE  # ranges, deques, shapes


def flatten(value: object) -> list:
    """Return all leaves, in the order of `tf.nest`."""
    if not is_nested(value):
        return [value]
    return [leaf for child in structure.children(value) for leaf in flatten(child)]


def pack(template: object, leaves: list) -> Any:
    """Return the nest `template` with other leaves."""
    return _pack(template, iter(leaves))


def _pack(template: object, remaining: Iterator) -> Any:
    if not is_nested(template):
        return next(remaining)
    parts = [_pack(child, remaining) for child in structure.children(template)]
    return structure.rebuild(template, parts)


def map_leaves(function: Callable[..., Any], *nests: object) -> Any:
    """Return `function` of the leaves of nests that have the structure of the first."""
    columns = zip(*[flatten(nest) for nest in nests])
    return pack(nests[0], [function(*leaves) for leaves in columns])


def text_of(value: Any) -> str:
    """Return a nest as text in which every container shows its kind:
    equal texts, equal structures.
    """
    if not is_nested(value):
        return repr(value)
    inside = ", ".join(text_of(child) for child in structure.children(value))
    keys = ""
    if structure.kind_of(value) == structure.MAPPING:
        keys = repr(structure.sort_keys(value))
    return f"{type(value).__name__}{keys}({inside})"


# -- leaves


def as_leaf(value: object) -> Any:
    """Return a leaf as it is kept: a tensor, a composite, a dataset, None."""
    if value is None or isinstance(value, (Tensor, SparseTensor, RaggedTensor)):
        return value
    if hasattr(type(value), "handle_read"):
        return value.value()
    if hasattr(value, "element_spec") or hasattr(value, "_type_spec"):
        return value
    if hasattr(value, "dense_shape") and hasattr(value, "indices"):
        if isinstance(value, tuple):  # a SparseTensorValue
            return SparseTensor.from_value(value)
        raise type_error(
            "TW104",
            "an IndexedSlices cannot be an element of a dataset",
            hint="tf.convert_to_tensor",
        )
    try:
        with dispatch.eagerly():
            return convert_to_tensor(value)
    except (TypeError, ValueError):
        if any([type(leaf) is Symbol for leaf in structure.flatten(value)]):
            return convert_to_tensor(value)
        raise


def convert_element(value: object) -> Any:
    """Return a nest with every leaf as it is kept."""
    if isinstance(value, tuple) and hasattr(value, "dense_shape"):
        return as_leaf(value)
    if not is_nested(value):
        return as_leaf(value)
    parts = [convert_element(child) for child in structure.children(value)]
    return structure.rebuild(value, parts)


def spec_of(leaf: object) -> TypeSpec:
    """Return the spec of a leaf."""
    if leaf is None:
        return NoneTensorSpec()
    if isinstance(leaf, TypeSpec):
        return leaf
    if isinstance(leaf, Tensor):
        return TensorSpec(leaf.shape, leaf.dtype)
    return leaf._type_spec


def specs_of(value: object) -> Any:
    """Return a nest with specs in place of its leaves."""
    return map_leaves(spec_of, value)


def content_of(leaf: object) -> Any:
    """Return the flat content of an eager leaf."""
    if type(leaf) is EagerTensor:
        array = leaf._array
        return array.value if type(array) is Variant else array
    if isinstance(leaf, (RaggedTensor, SparseTensor)):
        return leaf
    if isinstance(leaf, Several):
        return tuple([content_of(value) for value in leaf.values])
    if hasattr(leaf, "bound"):
        return leaf.bind()
    return leaf


class ElementLayout:
    """The structure of the elements of a dataset, with a spec for each leaf."""

    __slots__ = ("_key", "_kind", "_pack", "flat", "plain", "spec", "wraps")

    def __init__(self, spec: Any):
        self.spec = spec
        self.flat: list[TypeSpec] = flatten(spec)
        for leaf in self.flat:
            if not isinstance(leaf, TypeSpec):
                raise type_error("TW104", f"{leaf!r} is no tf.TypeSpec", "a nest of specs")
        self.plain = all([type(leaf) is TensorSpec for leaf in self.flat])
        self._key: str | None = None
        self._kind = 0
        if self.plain and not is_nested(spec):
            self._kind = 1
        elif self.plain and type(spec) is tuple and not any([is_nested(part) for part in spec]):
            self._kind = 2
        self.wraps = [None if type(leaf) is TensorSpec else leaf_maker(leaf) for leaf in self.flat]
        self._pack = structure.packer(spec, is_nested)

    @property
    def key(self) -> str:
        """Text that is equal for equal layouts."""
        if self._key is None:
            self._key = text_of(self.spec)
        return self._key

    def value(self, flat: tuple) -> Any:
        """Return the element that users get: a nest of eager tensors."""
        kind = self._kind
        if kind == 1:
            return wrap(flat[0])
        if kind == 2:
            return tuple([wrap(array) for array in flat])
        if self.plain:
            return self._pack(map(wrap, flat))
        leaves = [
            wrap(item) if make is None else make(item) for item, make in zip(flat, self.wraps)
        ]
        return self._pack(iter(leaves))

    def value_near(self, flat: tuple) -> Any:
        """Return the element like `value`, of tensors of which a device may have the elements."""
        return self._pack(map(resident, flat))

    def numpy(self, flat: tuple) -> Any:
        """Return the element as a nest of arrays, which are the user's own."""
        return self._pack(map(_as_numpy, flat))

    def flatten_value(self, value: TensorLike, what: str = "element") -> tuple:
        """Return the flat form of an eager element of this structure; TypeError for another."""
        leaves = flatten(convert_element(value))
        if len(leaves) != len(self.flat):
            raise type_error(
                "TW208", f"{what}: the structure of {value!r} is not that of {self.spec!r}"
            )
        return tuple([content_of(leaf) for leaf in leaves])

    # -- the tensors of elements, as functions take them

    def parts(self, flat: tuple) -> list:
        """Return the arrays of an element, composites taken apart."""
        if self.plain:
            return list(flat)
        arrays: list = []
        for item, spec in zip(flat, self.flat):
            if type(spec) is TensorSpec:
                arrays.append(item)
            elif isinstance(item, (np.ndarray, np.generic)):
                arrays.append(item)  # a row of a ragged tensor
            elif isinstance(item, (SparseTensor, RaggedTensor, ExtensionType)):
                arrays += [part._array for part in item._flat_components()]
            elif isinstance(spec, PerReplicaSpec):
                arrays += _of_replicas(spec).parts(item)
            elif item is not None:
                arrays.append(Variant(item))
        return arrays

    def whole(self, arrays: list) -> tuple:
        """Return the flat element of the arrays of its tensors."""
        if self.plain:
            return tuple(arrays)
        remaining, items = iter(arrays), []
        for spec in self.flat:
            if type(spec) is TensorSpec:
                items.append(next(remaining))
            elif isinstance(spec, NoneTensorSpec):
                items.append(None)
            elif hasattr(spec, "part_specs"):
                count = len(part_specs(spec))
                whole = composite(spec, [wrap(next(remaining)) for _ in range(count)])
                items.append(content_of(whole))
            else:
                array = next(remaining)
                items.append(array.value if type(array) is Variant else array)
        return tuple(items)


def _as_numpy(item: np.generic | np.ndarray) -> Any:
    if isinstance(item, np.ndarray):
        return item[()] if item.ndim == 0 else item
    if isinstance(item, RaggedTensor):
        return item.numpy()
    if isinstance(item, SparseTensor):
        return hooks.look_up_export("sparse.to_dense")(item).numpy()
    if hasattr(item, "numpy_elements"):
        return item.numpy_elements()
    return item


def leaf_maker(spec: TypeSpec) -> Callable[[Any], Any]:
    """Make the function from the content of a leaf to the user's value."""
    if isinstance(spec, RaggedTensorSpec) and spec.ragged_rank <= 0:
        return wrap
    if isinstance(spec, PerReplicaSpec):
        return lambda item: PerReplica(_of_replicas(spec).value(item))
    make = getattr(spec, "from_content", None)
    return (lambda item: item) if make is None else make


def _of_replicas(spec: PerReplicaSpec) -> ElementLayout:
    """Return the layout of the values of all replicas."""
    if spec.layout is None:
        spec.layout = ElementLayout(spec.specs)
    return spec.layout


def part_specs(spec: TypeSpec) -> list[TensorSpec]:
    """Return the specs of the tensors that a leaf consists of."""
    if type(spec) is TensorSpec:
        return [spec]
    if isinstance(spec, NoneTensorSpec):
        return []
    if hasattr(spec, "part_specs"):
        return spec.part_specs()
    if hasattr(spec, "variant_spec"):
        return [spec.variant_spec]
    raise value_error("TW104", f"{spec!r} cannot describe a part of an element")


def composite(spec: TypeSpec, parts: list) -> Any:
    """Return the leaf that consists of these tensors."""
    if type(spec) is TensorSpec:
        return parts[0]
    if isinstance(spec, NoneTensorSpec):
        return None
    if hasattr(spec, "with_parts"):
        return spec.with_parts(parts)
    return spec.from_variant(parts[0])  # type: ignore[attr-defined]
