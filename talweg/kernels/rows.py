"""Batches of variants: lists and histories that stand for one list or history for each slice.

A batch of variants is a tree like that of one slice, whose arrays have the batch axis in front;
`Rows`, one variant for each slice, stands anywhere in it where the slices differ in structure: in
the number of iterations, in the elements that were written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.kernels.variants import History, List, Rows, total

if TYPE_CHECKING:
    from collections.abc import Callable


def map_rows(function: Callable, batch: Any) -> Any:
    """Return `batch` with `function` of every array and every `Rows` in it; None stays None."""
    if batch is None:
        return None
    if type(batch) is List:
        return List.of([map_rows(function, value) for value in batch.values()])
    if type(batch) is History:
        values = {node: map_rows(function, value) for node, value in batch.values.items()}
        return History(batch.trips, values)
    return function(batch)


def row_of(batch: object, place: int) -> Any:
    """Return the variant (or array) of one slice."""

    def take(value: np.ndarray) -> Any:
        return value.rows[place] if type(value) is Rows else value[place]

    return map_rows(take, batch)


def join_slices(rows: list) -> Any:
    """Return the batch of cotangents of these slices: a tree, in which what slices lack is zero."""
    present = [row for row in rows if row is not None]
    if not present:
        return None
    kind = type(present[0])
    if kind is List:
        columns: dict[int, list] = {}
        for number, row in enumerate(rows):
            for index, value in () if row is None else row.present():
                columns.setdefault(index, [None] * len(rows))[number] = value
        batch = List(max(map(len, present)), {})
        for index, values in columns.items():
            batch = batch.put(index, join_slices(values))
        return batch
    if kind is History:
        nodes = {node: None for row in present for node in row.values}
        values = {
            node: join_slices([None if row is None else row.values.get(node) for row in rows])
            for node in nodes
        }
        return History(0, values)
    if kind is Rows or len({np.shape(row) for row in present}) > 1:
        return Rows(rows)
    return np.stack([np.zeros_like(present[0]) if row is None else row for row in rows])


def repeat_value(value: object, size: int) -> Any:
    """Return the batch in which every slice has this value."""

    def repeat(part: np.generic | np.ndarray) -> Any:
        if type(part) is Rows:  # of a batch around this one
            return Rows([part] * size)
        part = np.asarray(part)
        return np.broadcast_to(part, (size, *part.shape))

    return map_rows(repeat, value)


def add_slices(batch: object) -> Any:
    """Return the sum of the variants (or arrays) of all slices."""

    def add(value: np.ndarray) -> Any:
        if type(value) is not Rows:
            return np.add.reduce(value, axis=0, dtype=value.dtype)
        found = None
        for row in value.rows:
            found = total(found, row)
        return found

    return map_rows(add, batch)


def nodes_of_values(history: History) -> dict:
    """Return the inner nodes that a history, or a batch of them, has values of, in order."""
    if type(history) is Rows:
        return {node: None for row in history.rows for node in nodes_of_values(row)}
    return {} if history is None else dict.fromkeys(history.near or history.values)
