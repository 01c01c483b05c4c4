"""XLA's dynamic_update_slice: a block written into a tensor at offsets that are tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.array.joining import meshgrid, stack
from talweg.api.array.operands import size_tensor
from talweg.api.array.scattering import tensor_scatter_nd_update
from talweg.api.array.sequences import range_ as sequence
from talweg.api.export import export
from talweg.core.errors import invalid
from talweg.core.value import Tensor
from talweg.prims import arithmetic

if TYPE_CHECKING:
    import numpy as np

    from talweg.core.annotations import TensorLike


@export("raw_ops.XlaDynamicUpdateSlice")
def dynamic_update_slice(
    input: TensorLike,
    update: Any,
    indices: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Replace the block of `input` that begins at `indices` by `update`.

    input [...], update of the same rank and nowhere larger, indices [rank].  A block that would
    reach over an edge begins as far before it as it must.

    >>> import talweg as tf
    >>> tf.raw_ops.XlaDynamicUpdateSlice(
    ...     input=tf.zeros([4]), update=tf.ones([2]), indices=[3]).numpy()
    array([0., 0., 1., 1.], dtype=float32)
    """
    x, u, start = tensor(input), tensor(update), tensor(indices)
    if len(x.dims) != len(u.dims):
        raise invalid(
            "TW203",
            f"dynamic_update_slice: input of shape {x.dims}, update of shape {u.dims}",
            "tensors of one rank",
        )
    if not x.dims:
        return u
    places = []
    for axis, (size, whole) in enumerate(zip(u.dims, x.dims)):
        last = size_tensor(whole - size, start.dtype)
        first = arithmetic.minimum(arithmetic.maximum(start[axis], 0), last)
        places.append(sequence(size_tensor(size, start.dtype)) + first)
    grid = stack(meshgrid(*places, indexing="ij"), axis=-1)
    return tensor_scatter_nd_update(x, grid, u)


def xla_dynamic_update_slice(x: Tensor, updates: np.ndarray, starts: tuple[Any, ...]) -> Any:
    """Call `dynamic_update_slice` with the arguments of TensorFlow's private function of that
    name.
    """
    return dynamic_update_slice(input=x, update=updates, indices=starts)
