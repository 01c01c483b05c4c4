"""Batching: running a function once for all slices along a leading axis.

A `BatchTensor` looks like one slice and holds all of them.  A primitive applied to one goes to
`BatchInterpreter`, which applies the primitive's batch rule to the values inside, one level lower;
so batchings nest, and tapes see the operations inside.  Jacobians batch the reverse sweep over all
unit cotangents at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from talweg.core import dispatch
from talweg.core.declare import ELEMENTWISE, LEADING, LOOP
from talweg.core.dtypes import DType, variant
from talweg.core.errors import type_error
from talweg.core.primitive import later
from talweg.core.value import Tensor
from talweg.prims.layout import (
    batch_to_front,
    broadcast_to,
    concat,
    reshape,
    strided_slice,
    transpose,
)


class BatchTensor(Tensor):
    """One slice of many: `inner` has the batch axis in front of the dimensions seen here."""

    __slots__ = ("inner", "interpreter", "level")

    def __init__(self, inner: Tensor, interpreter: BatchInterpreter):
        self.inner, self.interpreter, self.level = inner, interpreter, interpreter.level

    @property
    def dims(self) -> tuple:
        return self.inner.dims[1:]

    @property
    def dtype(self) -> DType:
        return self.inner.dtype

    def __repr__(self) -> str:
        size, dtype = self.interpreter.size, self.dtype.name
        return f"<BatchTensor: {size} times shape={self.dims}, dtype={dtype}>"

    def __bool__(self) -> bool:
        raise type_error(
            "TW104",
            "A tensor inside a batched function has many values; it cannot be a Python bool.",
            hint="tf.where(condition, a, b), or tf.map_fn instead of tf.vectorized_map",
        )

    def numpy(self) -> Any:
        """TypeError: there is no single value."""
        raise type_error("TW104", "A tensor inside a batched function has no single NumPy value.")


class BatchInterpreter:
    """Applies batch rules for the batch tensors of one level."""

    def __init__(self, level: int, size: int):
        self.level, self.size = level, size

    def bind(self, prim: Any, operands: tuple, params: dict) -> Any:
        """Apply `prim` to all slices at once."""
        batched = tuple(self.owns(operand) for operand in operands)
        inner = [x.inner if own else x for x, own in zip(operands, batched)]
        results = apply_rule(prim, self.size, batched, inner, params)
        if prim.multiple:
            return tuple(BatchTensor(part, self) for part in results)
        return BatchTensor(results, self)

    def owns(self, value: Any) -> bool:
        """Whether `value` is a batch tensor of this level."""
        return type(value) is BatchTensor and value.level == self.level


def apply_rule(prim: Any, size: int, batched: tuple, operands: list, params: dict) -> Any:
    """The result of `prim` for `size` slices; operands with a true flag have the axis in front."""
    rule = prim.batch
    if rule == ELEMENTWISE:
        return prim(*_aligned(batched, operands, size), **params)
    if rule == LEADING:
        fronted = [batch_to_front(size, x, own) for x, own in zip(operands, batched)]
        return prim(*fronted, **params)
    if rule != LOOP:
        result = rule(size, batched, *operands, **params)
        if result is not NotImplemented:
            return result
    return _loop(prim, size, batched, operands, params)


def _aligned(batched: tuple, operands: list, size: int) -> list:
    """Operands whose ranks leave the batch axis in front when they broadcast."""
    ranks = [len(x.dims) - own if isinstance(x, Tensor) else 0 for x, own in zip(operands, batched)]
    rank = max(ranks)
    return [
        reshape(x, shape=(size, *(1,) * (rank - own_rank), *x.dims[1:]))
        if own and own_rank < rank
        else x
        for x, own, own_rank in zip(operands, batched, ranks)
    ]


def slice_of(x: Any, position: int) -> Any:
    """x[position] along the first axis, by primitives."""
    dims = x.dims
    rest = dims[1:]
    part = strided_slice(
        x, begin=(position, *(0,) * len(rest)), end=(position + 1, *rest), strides=(1,) * len(dims)
    )
    return reshape(part, shape=rest)


def stack(parts: list) -> Any:
    """Tensors of one shape along a new first axis, by primitives."""
    return concat(*[reshape(part, shape=(1, *part.dims)) for part in parts], axis=0)


def _loop(prim: Any, size: int, batched: tuple, operands: list, params: dict) -> Any:
    if size == 0:
        raise type_error("TW402", f"{prim.name} cannot act on a batch of no elements.")
    runs = [
        prim(*(slice_of(x, i) if own else x for x, own in zip(operands, batched)), **params)
        for i in range(size)
    ]
    if prim.multiple:
        return tuple(_joined(list(parts)) for parts in zip(*runs))
    return _joined(runs)


def _joined(parts: list) -> Any:
    """The results of all slices; nothing for what an operation kept for its derivatives."""
    return later("variant_zero")() if parts[0].dtype is variant else stack(parts)


@contextmanager
def batching(size: int) -> Iterator[BatchInterpreter]:
    """A new level of batching for the block."""
    context = dispatch.context
    before = context.batch_level
    context.batch_level = 1 + max(before, 0 if context.base is None else context.base.level)
    dispatch.enter()
    try:
        yield BatchInterpreter(context.batch_level, size)
    finally:
        dispatch.leave()
        context.batch_level = before


def unwrap(value: Any, interpreter: BatchInterpreter) -> Any:
    """What a batched function gave, with the batch axis in front."""
    if interpreter.owns(value):
        return value.inner
    return broadcast_to(value, shape=(interpreter.size, *value.dims))


def over_rows(function: Callable[[Any], list], rows: Any, at_once: bool) -> list:
    """`function` of each slice of `rows`: a list of results (or None), with the axis in front."""
    size = rows.dims[0]
    if not at_once and size:
        runs = [function(slice_of(rows, i)) for i in range(size)]
        return [None if parts[0] is None else stack(list(parts)) for parts in zip(*runs)]
    with batching(size) as interpreter:
        parts = function(BatchTensor(rows, interpreter))
        return [None if part is None else unwrap(part, interpreter) for part in parts]


def jacobian_rows(
    sweep: Callable[[Any], list], y: Any, unit_rows: Callable[[int], Any], at_once: bool
) -> list:
    """d y / d x for each x of `sweep`, of shape y.dims + x.dims.

    `sweep` maps a cotangent of y to those of all x; `unit_rows(n)` is an n x n identity.
    """
    size = math.prod(y.dims)
    seeds = reshape(unit_rows(size), shape=(size, *y.dims))
    rows = over_rows(sweep, seeds, at_once)
    return [None if row is None else reshape(row, shape=y.dims + row.dims[1:]) for row in rows]


def batch_jacobian_rows(
    sweep: Callable[[Any], list], y: Any, unit_rows: Callable[[int], Any], at_once: bool
) -> Any:
    """d y[b] / d x[b], of shape [b, ...y, ...x], for the one x of `sweep`; None if unconnected."""
    batch, inner = y.dims[0], y.dims[1:]
    size = math.prod(inner)
    seeds = reshape(unit_rows(size), shape=(size, 1, *inner))
    seeds = broadcast_to(seeds, shape=(size, batch, *inner))
    row = over_rows(sweep, seeds, at_once)[0]
    if row is None:
        return None
    perm = (1, 0, *range(2, len(row.dims)))
    rest = row.dims[2:]
    return reshape(transpose(row, perm=perm), shape=(batch, *inner, *rest))


def vectorize(function: Callable[..., Any], slices: list, size: int) -> tuple[list, Any]:
    """Run `function` once on batch tensors around `slices`; leaves, and how to put them together.

    `function` takes the list of slices and returns (leaves, rebuild).
    """
    context = dispatch.context
    before = context.mapped
    with batching(size) as interpreter:
        context.mapped = (*before, interpreter)
        try:
            leaves, rebuild = function([BatchTensor(part, interpreter) for part in slices])
        finally:
            context.mapped = before
        return [unwrap(leaf, interpreter) for leaf in leaves], rebuild


def for_each_slice(make: Callable[[], Any]) -> Any:
    """`make()`, called anew for each slice of the `vectorized_map`s in force (random streams)."""
    return _for_each(make, dispatch.context.mapped)


def _for_each(make: Callable[[], Any], interpreters: tuple) -> Any:
    """Not a function inside the other: one that calls itself by its cell is a cycle."""
    if not interpreters:
        return make()
    inner = interpreters[-1]
    parts = [_for_each(make, interpreters[:-1]) for _ in range(inner.size)]
    return BatchTensor(stack(parts), inner) if parts else make()
