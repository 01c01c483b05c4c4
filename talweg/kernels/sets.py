"""Sets in the rows of sparse tensors, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from talweg.core.errors import invalid

if TYPE_CHECKING:
    from talweg.core.shapes import TensorShape


def rows_of(indices: np.ndarray, values: np.ndarray) -> dict[tuple, set]:
    """Return the set of values of each row; a row is all of an index but its last number."""
    found: dict[tuple, set] = {}
    for place, value in zip(indices.tolist(), values.tolist()):
        found.setdefault(tuple(place[:-1]), set()).add(value)
    return found


def combine(operation: Callable[[set, set], set]) -> Callable[..., tuple]:
    """Return a kernel: indices, values and shapes of two sparse tensors -> indices, values, last
    size.

    InvalidArgumentError for other rows: only the run of a graph may know the ranks.
    """

    def kernel(
        a: np.ndarray, x: np.ndarray, m: np.ndarray, b: np.ndarray, y: np.ndarray, n: np.ndarray
    ) -> tuple:
        if m.tolist()[:-1] != n.tolist()[:-1] or len(m) < 2:
            shapes = f"{tuple(m.tolist())} and {tuple(n.tolist())}"
            raise invalid("TW204", f"sets in rows of shapes {shapes}", "as many rows")
        first, second = rows_of(a, x), rows_of(b, y)
        indices, values, longest = [], [], 0
        for row in sorted({*first, *second}):
            members = sorted(operation(first.get(row, set()), second.get(row, set())))
            longest = max(longest, len(members))
            indices += [(*row, column) for column in range(len(members))]
            values += members
        shape = (len(values), a.shape[1])
        members_out = np.array(values, x.dtype) if values else np.zeros(0, x.dtype)
        return np.array(indices, np.int64).reshape(shape), members_out, np.int64(longest)

    return kernel


def sizes(indices: np.ndarray, values: np.ndarray, shape: TensorShape, check: bool) -> np.ndarray:
    """Count the different values in each row of a sparse tensor; rows are all axes but the last."""
    if len(shape) < 2:
        raise invalid("TW203", f"sets.size: a SparseTensor of shape {shape}", "a rank above 1")
    if check and len(indices) > 1:
        steps = np.diff(indices, axis=0)
        first = steps[np.arange(len(steps)), np.argmax(steps != 0, axis=1)]
        if (first <= 0).any():
            raise invalid("TW207", "sets.size: indices are out of order or repeated", "sorted ones")
    found = np.zeros(tuple(shape[:-1]), np.int32)
    for row in {(*place[:-1], value) for place, value in zip(indices.tolist(), values.tolist())}:
        found[row[:-1]] += 1
    return found
