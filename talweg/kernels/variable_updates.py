"""New values of variables: the present array and operands in, a new array out, none changed.

Scattered updates check their indices first, so that one that is wrong changes nothing.  With `own`
they write into the present array, which the caller has to itself (`IN_PLACE`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from talweg.core.errors import OutOfRangeError, compose, invalid
from talweg.kernels.random.philox import RESERVED, skip_blocks
from talweg.kernels.scatter import combine_rows, scatter_rows

KINDS = ("update", "add", "sub", "mul", "div", "min", "max")
ND_KINDS = ("update", "add", "sub", "min", "max")


def frozen_key(key: list) -> tuple:
    """Return a NumPy key of ints, slices and None in a form that can be hashed."""
    return tuple([(k.start, k.stop, k.step) if isinstance(k, slice) else k for k in key])


def _scatter(kind: str) -> Callable[..., Any]:
    """Return updates [*indices.shape, ...], or one number for all, combined into rows."""

    def update(
        present: np.ndarray, indices: np.ndarray, values: np.ndarray, own: bool = False
    ) -> Any:
        _check_rows(kind, present.shape, indices, values)
        result = present if own else np.array(present, order="C")  # rows are views of it
        scatter_rows(kind, result, indices, values)
        return result

    return update


def _check_rows(kind: str, dims: tuple, indices: np.ndarray, values: np.ndarray) -> None:
    if values.shape not in (indices.shape + dims[1:], ()):
        raise invalid(
            "TW204",
            f"scatter_{kind}: Must have updates.shape = indices.shape + params.shape[1:] or "
            f"updates.shape = [], got updates.shape {list(values.shape)}, indices.shape "
            f"{list(indices.shape)}, params.shape {list(dims)}",
        )
    _check_range(f"scatter_{kind}", indices, dims[:1])


def _check_range(name: str, indices: np.ndarray, sizes: tuple) -> None:
    """Raise InvalidArgumentError unless the last axis
    of `indices` [..., n] is within `sizes` [n].
    """
    limits = np.array(sizes, np.int64)
    wrong = (indices < 0) | (indices >= (limits[0] if len(sizes) == 1 else limits))
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        raise invalid(
            "TW206",
            f"{name}: indices[{', '.join(map(str, place))}] = {indices[place]} is not in "
            f"[0, {limits[place[-1] if len(limits) > 1 else 0]})",
        )


def _make_scatter_nd(kind: str) -> Callable[..., Any]:
    """Return updates [...,
    *rest] combined into the places that rows of indices [..., depth] name.
    """

    def update(
        present: np.ndarray, indices: np.ndarray, values: np.ndarray, own: bool = False
    ) -> Any:
        _check_elements(kind, present.shape, indices, values)
        result = present if own else np.array(present, order="C")  # rows are views of it
        if not indices.size:
            return result
        depth = indices.shape[-1]
        sizes = present.shape[:depth]
        rows = np.ravel_multi_index(tuple(indices.reshape(-1, depth).T), sizes)
        table = result.reshape(int(np.prod(sizes)), -1)
        parts = values.reshape(rows.size, -1)
        if kind == "sub":
            np.subtract.at(table, rows, parts)
        else:
            combine_rows(kind, table, rows, parts)
        return result

    return update


def _check_elements(kind: str, dims: tuple, indices: np.ndarray, values: np.ndarray) -> None:
    depth = indices.shape[-1] if indices.ndim else 0
    wanted = indices.shape[:-1] + dims[depth:]
    if not indices.ndim or depth > len(dims) or values.shape != wanted:
        raise invalid(
            "TW204",
            f"scatter_nd_{kind}: updates of shape {list(values.shape)} and indices of shape "
            f"{list(indices.shape)} for a variable of shape {list(dims)}",
            f"updates of shape {list(wanted)}",
        )
    if indices.size:
        _check_range(f"scatter_nd_{kind}", indices.reshape(-1, depth), dims[:depth])


def _batch_update(present: np.ndarray, indices: np.ndarray, values: np.ndarray) -> Any:
    """Return rows within each batch: indices [b..., n], values [b..., n, ...]."""
    axis = indices.ndim - 1
    wanted = indices.shape + present.shape[axis + 1 :]
    if axis < 0 or axis >= present.ndim or indices.shape[:-1] != present.shape[:axis]:
        raise invalid(
            "TW204",
            f"batch_scatter_update: indices of shape {list(indices.shape)} for a variable of shape "
            f"{list(present.shape)}",
            "the variable's batch dimensions, and one more",
        )
    if values.shape != wanted:
        raise invalid(
            "TW204",
            f"batch_scatter_update: updates of shape {list(values.shape)} and indices of shape "
            f"{list(indices.shape)} for a variable of shape {list(present.shape)}",
            f"updates of shape {list(wanted)}",
        )
    if indices.size:
        _check_range("batch_scatter_update", indices[..., None], present.shape[axis : axis + 1])
    result = np.array(present)
    lead = np.indices(indices.shape, sparse=True)[:-1]
    result[(*lead, indices)] = values
    return result


def write_slice(present: np.ndarray, value: np.ndarray, frozen: tuple) -> Any:
    """Return `value`, broadcast, at the place of a key frozen by `frozen_key`."""
    key = tuple([slice(*k) if isinstance(k, tuple) else k for k in frozen])
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


def _count(present: np.ndarray, limit: int) -> Any:
    if present >= limit:
        text = compose("TW206", f"Reached limit of {limit}")
        raise OutOfRangeError(None, None, text)
    return present + present.dtype.type(1)


def _skip(present: np.ndarray, count: int) -> np.ndarray:
    return skip_blocks(present, int(count) * RESERVED)


UPDATES: dict[str, Callable[..., Any]] = {
    "assign": lambda present, value: value,
    "add": np.add,
    "sub": np.subtract,
    "count_up_to": _count,
    "skip": _skip,
    "batch_update": _batch_update,
    **{f"scatter_{kind}": _scatter(kind) for kind in KINDS},
    **{f"scatter_nd_{kind}": _make_scatter_nd(kind) for kind in ND_KINDS},
}

FETCHING = frozenset(("skip",))  # rules whose result is the value before, not the new one

IN_PLACE: dict[str, Callable[..., None]] = {  # rule -> the check of (dims, indices, values)
    **{f"scatter_{kind}": partial(_check_rows, kind) for kind in KINDS},
    **{f"scatter_nd_{kind}": partial(_check_elements, kind) for kind in ND_KINDS},
}


class UpdateRule:
    """A change of some rows of a variable, checked but not written yet."""

    __slots__ = ("operands", "rule")

    def __init__(self, rule: str, dims: tuple, *operands: np.ndarray):
        IN_PLACE[rule](dims, *operands)
        self.rule, self.operands = rule, operands

    def write(self, array: np.ndarray) -> Any:
        """Write it into the variable's array, which nobody else refers to."""
        return UPDATES[self.rule](array, *self.operands, own=True)
