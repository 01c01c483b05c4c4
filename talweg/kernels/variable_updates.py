"""New values of variables: the present array and operands in, a new array out, none changed.

Scattered updates check their indices first, so that one that is wrong changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core.errors import OutOfRangeError, compose, invalid
from talweg.kernels.scatter import combine_rows, scatter_rows

KINDS = ("update", "add", "sub", "mul", "div", "min", "max")
ND_KINDS = ("update", "add", "sub", "min", "max")


def frozen_key(key: list) -> tuple:
    """A NumPy key of ints, slices and None in a form that can be hashed."""
    return tuple(
        [(k.start, k.stop, k.step) if isinstance(k, slice) else k for k in key]
    )  # fmt: skip


def _scattered(kind: str) -> Callable[..., Any]:
    """Updates [*indices.shape, ...], or one number for all, combined into rows."""

    def update(present: np.ndarray, indices: np.ndarray, values: np.ndarray) -> Any:
        wanted = indices.shape + present.shape[1:]
        if values.shape not in (wanted, ()):
            raise invalid(
                "TW204",
                f"scatter_{kind}: Must have updates.shape = indices.shape + params.shape[1:] or "
                f"updates.shape = [], got updates.shape {list(values.shape)}, indices.shape "
                f"{list(indices.shape)}, params.shape {list(present.shape)}",
            )
        _check_range(f"scatter_{kind}", indices, present.shape[:1])
        result = np.array(present)
        scatter_rows(kind, result, indices, values)
        return result

    return update


def _check_range(name: str, indices: np.ndarray, sizes: tuple) -> None:
    """InvalidArgumentError unless the last axis of `indices` [..., n] is within `sizes` [n]."""
    limits = np.array(sizes, np.int64)
    wrong = (indices < 0) | (indices >= (limits[0] if len(sizes) == 1 else limits))
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        raise invalid(
            "TW206",
            f"{name}: indices[{', '.join(map(str, place))}] = {indices[place]} is not in "
            f"[0, {limits[place[-1] if len(limits) > 1 else 0]})",
        )


def _scattered_nd(kind: str) -> Callable[..., Any]:
    """Updates [..., *rest] combined into the places that rows of indices [..., depth] name."""

    def update(present: np.ndarray, indices: np.ndarray, values: np.ndarray) -> Any:
        depth = indices.shape[-1] if indices.ndim else 0
        wanted = indices.shape[:-1] + present.shape[depth:]
        if not indices.ndim or depth > present.ndim or values.shape != wanted:
            raise invalid(
                "TW204",
                f"scatter_nd_{kind}: updates of shape {list(values.shape)} and indices of shape "
                f"{list(indices.shape)} for a variable of shape {list(present.shape)}",
                f"updates of shape {list(wanted)}",
            )
        sizes = present.shape[:depth]
        result = np.array(present)
        if not indices.size:
            return result
        _check_range(f"scatter_nd_{kind}", indices.reshape(-1, depth), sizes)
        rows = np.ravel_multi_index(tuple(indices.reshape(-1, depth).T), sizes)
        table = result.reshape(int(np.prod(sizes)), -1)
        parts = values.reshape(rows.size, -1)
        if kind == "sub":
            np.subtract.at(table, rows, parts)
        else:
            combine_rows(kind, table, rows, parts)
        return table.reshape(present.shape)

    return update


def _batch_update(present: np.ndarray, indices: np.ndarray, values: np.ndarray) -> Any:
    """Rows within each batch: indices [b..., n], values [b..., n, ...]."""
    result = np.array(present)
    lead = np.indices(indices.shape, sparse=True)[:-1]
    result[(*lead, indices)] = values
    return result


def write_slice(present: np.ndarray, value: np.ndarray, place: tuple) -> Any:
    """`value`, broadcast, at the place of a key frozen by `frozen_key`."""
    key = tuple([slice(*k) if isinstance(k, tuple) else k for k in place])
    result = np.array(present)
    region = result[(*key, ...)]
    while value.ndim > region.ndim and value.shape[0] == 1:
        value = value[0, ...]
    try:
        region[...] = value
    except ValueError:
        raise invalid(
            "TW201",
            f"assign: value of shape {list(value.shape)} does not broadcast to the slice of shape "
            f"{list(region.shape)}",
        ) from None
    return result[()]


def _count(present: Any, limit: Any) -> Any:
    if present >= limit:
        text = compose("TW206", f"Reached limit of {limit}")
        raise OutOfRangeError(None, None, text)
    return present + present.dtype.type(1)


UPDATES: dict[str, Callable[..., Any]] = {
    "assign": lambda present, value: value,
    "add": np.add,
    "sub": np.subtract,
    "count_up_to": _count,
    "batch_update": _batch_update,
    **{f"scatter_{kind}": _scattered(kind) for kind in KINDS},
    **{f"scatter_nd_{kind}": _scattered_nd(kind) for kind in ND_KINDS},
}
