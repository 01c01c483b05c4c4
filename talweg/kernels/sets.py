"""Sets in the rows of sparse tensors, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def rows_of(indices: np.ndarray, values: np.ndarray) -> dict[tuple, set]:
    """The set of values of each row; a row is all of an index but its last number."""
    found: dict[tuple, set] = {}
    for place, value in zip(indices.tolist(), values.tolist()):
        found.setdefault(tuple(place[:-1]), set()).add(value)
    return found


def combine(operation: Callable[[set, set], set]) -> Callable[..., tuple]:
    """A kernel: indices and values of two sparse tensors -> indices, values, size of last axis."""

    def kernel(a: np.ndarray, x: np.ndarray, b: np.ndarray, y: np.ndarray) -> tuple:
        first, second = rows_of(a, x), rows_of(b, y)
        indices, values, longest = [], [], 0
        for row in sorted({*first, *second}):
            members = sorted(operation(first.get(row, set()), second.get(row, set())))
            longest = max(longest, len(members))
            indices += [(*row, place) for place in range(len(members))]
            values += members
        shape = (len(values), a.shape[1])
        found = np.array(values, x.dtype) if values else np.zeros(0, x.dtype)
        return np.array(indices, np.int64).reshape(shape), found, np.int64(longest)

    return kernel
