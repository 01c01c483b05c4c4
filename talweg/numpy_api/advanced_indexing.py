"""Advanced indexing by arrays and masks, as NumPy's: `tensor[...]` once its behaviour is enabled.

Basic indices (integers, slices, None, ...) are applied first, with a full slice where an array
stands.  The arrays, broadcast, then choose along their axes; the axes of their common shape stand
where they stood if they are next to each other, else in front.  As in TensorFlow,
integers count as basic indices, and a list of lists as a tuple of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.api.export import look_up
from talweg.api.tensors import cast
from talweg.core.errors import value_error
from talweg.core.hooks import hooks
from talweg.core.value import Tensor
from talweg.eager.convert import is_tensor_like
from talweg.numpy_api.promotion import as_array

_plain = hooks.getitem


def index(x: Any, key: object) -> Any:
    """Index x[key], as NumPy does."""
    if isinstance(key, list) and any(isinstance(part, (list, slice)) for part in key):
        key = tuple(key)
    parts = key if type(key) is tuple else (key,)
    if not any(map(_is_array, parts)):
        return _plain(x, key)
    return _gather_elements(x, *_separate_indices(x, parts))


def _is_array(part: Any) -> bool:
    """Return whether an index is an array, a list or a truth value."""
    if isinstance(part, (list, bool, np.bool_)):
        return True
    if isinstance(part, np.ndarray):
        return part.ndim > 0 or part.dtype == bool
    if is_tensor_like(part):
        return part.shape.rank != 0 or part.dtype.is_bool
    return False


def _separate_indices(x: Tensor, parts: tuple) -> tuple[list, list]:
    """Separate indices: (basic ones with full slices for arrays, (axis of their result,
    array)).
    """
    spelled: list[Any] = [_as_index(part) if _is_array(part) else part for part in parts]
    basic: list[Any] = []
    arrays: list[tuple[int, Tensor]] = []
    axis = 0
    for part in _expand_parts(spelled, x.ndim):
        if isinstance(part, Tensor) and part.ndim:
            arrays.append((axis, part))
            basic.append(slice(None))
            axis += 1
        else:
            basic.append(part)
            axis += part is None or isinstance(part, slice)
    return basic, arrays


def _expand_parts(parts: list, rank: int) -> list:
    """Expand masks to one array for each of their axes, and `...` to slices."""
    parts_out: list[Any] = []
    for part in parts:
        if isinstance(part, Tensor) and part.dtype.is_bool:
            places = look_up("where")(part)
            parts_out += look_up("unstack")(places, num=part.ndim, axis=1)
        else:
            parts_out.append(part)
    taken = sum(part is not None and part is not Ellipsis for part in parts_out)
    if taken > rank:
        raise value_error("TW203", f"{taken} indices for a tensor of {rank} axes")
    if any(part is Ellipsis for part in parts_out):
        ellipsis = next(n for n, part in enumerate(parts_out) if part is Ellipsis)
        parts_out[ellipsis : ellipsis + 1] = [slice(None)] * (rank - taken)
    return parts_out


def _as_index(part: object) -> Tensor:
    if isinstance(part, list) and not part:
        return as_array(np.zeros(0, np.int64))
    return as_array(part)


def _gather_elements(x: Tensor, basic: list, arrays: list[tuple[int, Tensor]]) -> Tensor:
    """Gather the elements that arrays index in the result of the basic indices."""
    rest = _plain(x, tuple(basic))
    axes = [axis for axis, _ in arrays]
    first = axes[0] if axes == list(range(axes[0], axes[0] + len(axes))) else 0
    sizes = look_up("shape")(rest, out_type="int64")
    wide = [_count_from_front(array, sizes[axis]) for axis, array in arrays]
    if len(wide) == 1 and first:
        return look_up("gather")(rest, wide[0], axis=first)
    places = look_up("experimental.numpy.broadcast_arrays")(*wide)
    order = [*axes, *[n for n in range(rest.ndim) if n not in axes]]
    front = look_up("transpose")(rest, order)
    elements = look_up("gather_nd")(front, look_up("stack")(places, axis=-1))
    if not first:
        return elements
    moved = list(range(places[0].ndim))
    return look_up("experimental.numpy.moveaxis")(elements, moved, [first + n for n in moved])


def _count_from_front(array: Tensor, size: Tensor) -> Tensor:
    """Count negative indices from the end."""
    array = cast(array, "int64")
    return look_up("where")(array < as_array(0, array.dtype), array + size, array)
