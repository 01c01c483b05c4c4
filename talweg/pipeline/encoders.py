"""Extension types whose values can be batched: rows of their tensors, or of an encoding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core.spec import TypeSpec
from talweg.eager.extension import ExtensionType
from talweg.eager.extension_spec import leaves_of, map_specs
from talweg.pipeline.slices import batch_spec, row_spec

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


class ExtensionTypeBatchEncoder:
    """The batching rules of an extension type (`tf.experimental.ExtensionTypeBatchEncoder`).

    As it is: a batch has batches of the tensors.  A type whose tensors do not share a first
    axis gives an encoder of its own as `__batch_encoder__`.
    """

    def batch(self, spec: TypeSpec, batch_size: int | None) -> Any:
        """Return the spec of a batch of values."""
        return map_specs(lambda leaf: batch_spec(leaf, batch_size), spec)

    def unbatch(self, spec: TypeSpec) -> Any:
        """Return the spec of a row of a value."""
        return map_specs(row_spec, spec)

    def encode(self, spec: TypeSpec, value: TensorLike, minimum_rank: int = 0) -> list:
        """Return the tensors and composites that stand for a value."""
        return leaves_of(value)

    def decode(self, spec: TypeSpec, encoded_value: list) -> Any:
        """Return the value of a spec that is encoded so."""
        return spec.with_leaves(list(encoded_value))

    def encoding_specs(self, spec: TypeSpec) -> list[TypeSpec]:
        """Return the specs of the result of `encode`."""
        return leaves_of(spec)


class BatchableExtensionType(ExtensionType):
    """An extension type that can be batched (`tf.experimental.BatchableExtensionType`).

    Datasets slice, batch and unbatch its values, and `tf.map_fn` goes through their rows.

    >>> import talweg as tf
    >>> class Weighted(tf.experimental.BatchableExtensionType):
    ...     values: tf.Tensor
    ...     weight: tf.Tensor
    >>> rows = Weighted([[1.0, 2.0], [3.0, 4.0]], [0.5, 2.0])
    >>> [row.weight.numpy() for row in tf.data.Dataset.from_tensor_slices(rows)]
    [np.float32(0.5), np.float32(2.0)]
    """

    _is_base = True
    __batch_encoder__ = ExtensionTypeBatchEncoder()
