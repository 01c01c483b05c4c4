"""Rows of leaves, and leaves of rows: what slicing, batching and unbatching do to each kind.

Tensors are arrays here.  A batch of sparse tensors is a sparse tensor with one more dimension, a
batch of ragged ones a ragged tensor with one more divided dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from talweg.core.errors import InvalidArgumentError, compose, value_error
from talweg.core.shapes import TensorShape
from talweg.core.spec import NoneTensorSpec, TensorSpec, TypeSpec
from talweg.eager.composite import SparseTensor, SparseTensorSpec
from talweg.eager.extension import ExtensionType
from talweg.eager.extension_spec import ExtensionTypeSpec, not_batchable
from talweg.eager.ragged import RaggedTensor, RaggedTensorSpec
from talweg.eager.tensor import EagerTensor, wrap
from talweg.graph import structure


def row_spec(spec: TypeSpec) -> TypeSpec:
    """Return the spec of a row; ValueError for scalars."""
    if isinstance(spec, NoneTensorSpec):
        return spec
    if isinstance(spec, ExtensionTypeSpec):
        return encoder_of(spec).unbatch(spec)
    if not hasattr(spec, "shape"):
        raise value_error("TW104", f"elements of {spec!r} have no rows")
    shape: TensorShape = spec.shape  # type: ignore[attr-defined]
    if shape.rank == 0:
        raise value_error(
            "TW203", "Unbatching a tensor is only supported for rank >= 1", "tensors with rows"
        )
    inner = TensorShape(None) if shape.rank is None else shape[1:]
    if isinstance(spec, SparseTensorSpec):
        return SparseTensorSpec(inner, spec.dtype)
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(inner, spec.dtype, spec.ragged_rank - 1, spec.row_splits_dtype)
    return TensorSpec(inner, spec.dtype)  # type: ignore[attr-defined]


def batch_spec(spec: TypeSpec, size: int | None) -> TypeSpec:
    """Return the spec of a batch of leaves."""
    if isinstance(spec, NoneTensorSpec):
        return spec
    if isinstance(spec, ExtensionTypeSpec):
        return encoder_of(spec).batch(spec, size)
    if not hasattr(spec, "shape"):
        raise value_error("TW104", f"elements of {spec!r} cannot be batched")
    shape = TensorShape([size]).concatenate(spec.shape)  # type: ignore[attr-defined]
    if isinstance(spec, SparseTensorSpec):
        return SparseTensorSpec(shape, spec.dtype)
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank + 1, spec.row_splits_dtype)
    return TensorSpec(shape, spec.dtype)  # type: ignore[attr-defined]


def count_rows(content: Any) -> int:
    """Count the rows of a content."""
    if isinstance(content, ExtensionType):
        return count_rows(_encoding(content)[0])
    return int(content.shape[0])


def static_count(leaf: object) -> int | None:
    """Count the rows of a leaf, as far as a graph knows."""
    if isinstance(leaf, ExtensionType):
        return static_count(_encoding(leaf)[0])
    return None if leaf is None or leaf.shape.rank is None else leaf.shape[0]


def row_of(content: Any) -> Callable[[int], Any]:
    """Make the function that gives the rows of a content by number."""
    if content is None:
        return lambda place: None
    if isinstance(content, RaggedTensor):
        return lambda place: _take_ragged_row(content, place)
    if isinstance(content, SparseTensor):
        return _sparse_rows(content)
    if isinstance(content, ExtensionType):
        return _extension_rows(content)
    if content.dtype == object and content.ndim == 1:
        return lambda place: content[place : place + 1].reshape(())
    return content.__getitem__


def _take_ragged_row(content: RaggedTensor, place: int) -> Any:
    row: Any = content[place]  # type: ignore[index]
    return row if isinstance(row, RaggedTensor) else row._array


def _sparse_rows(content: SparseTensor) -> Callable[[int], Any]:
    indices, values, shape = [part._array for part in content._flat_components()]
    order = np.argsort(indices[:, 0], kind="stable")
    indices, values = indices[order], values[order]
    limits = np.searchsorted(indices[:, 0], np.arange(int(shape[0]) + 1))

    def row(place: int) -> SparseTensor:
        inside = slice(limits[place], limits[place + 1])
        return SparseTensor(wrap(indices[inside, 1:]), wrap(values[inside]), wrap(shape[1:]))

    return row


# -- batches


def stack_contents(items: list, spec: TypeSpec, component: int) -> Any:
    """Return the batch of some contents of one spec; InvalidArgumentError where shapes differ."""
    if type(spec) is TensorSpec:
        return stack_arrays(items, component)
    if isinstance(spec, NoneTensorSpec):
        return None
    if isinstance(spec, SparseTensorSpec):
        return _stack_sparse(items)
    if isinstance(spec, ExtensionTypeSpec):
        return _stack_extensions(items, spec)
    if spec.ragged_rank < 0:  # the rows of vectors
        return stack_arrays(items, component)
    return _stack_ragged(items, spec)


def stack_arrays(items: list, component: int) -> np.ndarray:
    """Return arrays of one shape as one array."""
    first = items[0]
    shape = first.shape
    out = np.empty((len(items), *shape), first.dtype)
    if not shape and first.dtype != object:
        out[:] = items
        return out
    for number, item in enumerate(items):
        if item.shape != shape:
            raise InvalidArgumentError(
                None,
                None,
                compose(
                    "TW204",
                    "Cannot batch tensors with different shapes in component "
                    f"{component}. First element had shape {list(shape)} and element {number} had "
                    f"shape {list(item.shape)}.",
                    hint="padded_batch, ragged_batch",
                ),
            )
        out[number] = item if item.ndim else item[()]
    return out


def _stack_sparse(items: list) -> SparseTensor:
    parts = [[part._array for part in item._flat_components()] for item in items]
    indices = [
        np.concatenate([np.full((len(where), 1), place, np.int64), where], axis=1)
        for place, (where, _, _) in enumerate(parts)
    ]
    shape = np.max([shape for _, _, shape in parts], axis=0)
    return SparseTensor(
        wrap(np.concatenate(indices)),
        wrap(np.concatenate([values for _, values, _ in parts])),
        wrap(np.concatenate([[len(items)], shape]).astype(np.int64)),
    )


def _stack_ragged(items: list, spec: TypeSpec) -> RaggedTensor:
    """Return ragged tensors (or, of ragged rank 0, tensors) as one of the next ragged rank."""
    dtype = spec.row_splits_dtype.numpy_dtype
    tensors = [_plain(item) for item in items]
    depth = max(0, spec.ragged_rank)
    columns = [
        tensor._flat_components() if isinstance(tensor, RaggedTensor) else [tensor]
        for tensor in tensors
    ]
    arrays = [[part._array for part in parts] for parts in columns]
    flat = np.concatenate([parts[0] for parts in arrays])
    splits = []
    for level in range(depth):
        lengths = np.concatenate([np.diff(parts[1 + level]) for parts in arrays])
        splits.append(_splits(lengths, dtype))
    outer = [len(parts[1]) - 1 if len(parts) > 1 else len(parts[0]) for parts in arrays]
    pieces = [flat, _splits(np.array(outer), dtype), *splits]
    return RaggedTensor._with_components(cast(Any, None), [wrap(piece) for piece in pieces])


# -- the user's own types


def encoder_of(spec: Any) -> Any:
    """Return the encoder that batches values of an extension type; ValueError if it has none."""
    encoder = getattr(spec.value_type, "__batch_encoder__", None)
    if encoder is None:
        raise not_batchable(spec)
    return encoder


def _as_content(part: object) -> Any:
    return part._array if isinstance(part, EagerTensor) else part


def _encoding(value: object) -> list:
    """Return the tensors and composites that stand for a value with rows."""
    spec = value._type_spec
    return structure.flatten(encoder_of(spec).encode(spec, value, 1))


def _decode(encoder: Any, spec: Any, parts: list) -> Any:
    """Decode a value of a spec from its encoder's result, which may be any nest."""
    return encoder.decode(spec, structure.pack(encoder.encoding_specs(spec), parts))


def _extension_rows(content: Any) -> Callable[[int], Any]:
    spec = content._type_spec
    encoder = encoder_of(spec)
    inner = encoder.unbatch(spec)
    parts = [row_of(_as_content(part)) for part in _encoding(content)]
    return lambda place: _decode(encoder, inner, [_plain(part(place)) for part in parts])


def _stack_extensions(items: list, spec: object) -> Any:
    encoder = encoder_of(spec)
    columns = zip(*[structure.flatten(encoder.encode(spec, item)) for item in items])
    specs = structure.flatten(encoder.encoding_specs(spec))
    stacks = [
        _plain(stack_contents([_as_content(part) for part in column], own, place))
        for place, (column, own) in enumerate(zip(columns, specs))
    ]
    return _decode(encoder, encoder.batch(spec, len(items)), stacks)


def _splits(lengths: np.ndarray, dtype: Any) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(dtype)


def _plain(item: np.generic | np.ndarray) -> Any:
    return item if hasattr(item, "_flat_components") or hasattr(item, "_array") else wrap(item)
