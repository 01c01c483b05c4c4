"""Indexing inside a batch by keys whose bounds are tensors, another one for each slice."""

from __future__ import annotations

from typing import Any

from talweg.transform.batch import BatchTensor


def has_batched_bound(key: Any) -> bool:
    """Return whether a slice begins or ends elsewhere in each slice of a batch."""
    items = key if type(key) in (tuple, list) else (key,)
    bounds = [
        b for item in items if isinstance(item, slice) for b in (item.start, item.stop, item.step)
    ]
    return any([type(bound) is BatchTensor for bound in bounds])


def as_vectors(key: Any) -> dict:
    """Convert a key to the arguments of `strided_slice`, for each slice of a batch."""
    columns: list = [[], [], []]
    masks = dict.fromkeys(("begin", "end", "ellipsis", "new_axis", "shrink_axis"), 0)
    for bit_number, item in enumerate(key if type(key) in (tuple, list) else (key,)):
        bit, bounds = 1 << bit_number, [0, 0, 1]
        if item is Ellipsis or item is None:
            masks["new_axis" if item is None else "ellipsis"] |= bit
        elif isinstance(item, slice):
            bounds = [item.start, item.stop, 1 if item.step is None else item.step]
            masks["begin"] |= bit if bounds[0] is None else 0
            masks["end"] |= bit if bounds[1] is None else 0
        else:
            masks["shrink_axis"] |= bit
            bounds = [item, item + 1, 1]
        for column, bound in zip(columns, bounds):
            column.append(0 if bound is None else bound)
    arguments: dict[str, Any] = dict(zip(("begin", "end", "strides"), columns))
    return {**arguments, **{f"{name}_mask": bits for name, bits in masks.items()}}
