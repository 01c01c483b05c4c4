"""Writes opaque calls of API functions as the operations of tf.raw_ops that do the same."""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import EXPORTS
from talweg.compat_v1.summary.operations import SummaryCall
from talweg.core.dtypes import DType, as_dtype
from talweg.interop.graph_def.summary_calls import summary_node
from talweg.interop.graph_def.writing import Literal, Writer, WrittenNode
from talweg.raw import operations
from talweg.raw.ops import RawOp, rows
from talweg.trace.opaque_calls import Hole

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.raw.operations import OpSignature

MISSING: Any = object()


@cache
def _rows_by_target() -> dict[str, list[RawOp]]:
    found: dict[str, list[RawOp]] = {}
    for row in rows():
        if operations.find(row.name) is not None:
            found.setdefault(row.target, []).append(row)
    return found


def _names_of(function: Callable[..., Any]) -> list[str]:
    return [
        name
        for name, value in EXPORTS.items()
        if getattr(value, "in_eager_mode", value) is function
    ]


def raw_form(writer: Writer, call: Any, operands: list) -> WrittenNode | None:
    """Write an opaque call as one raw operation; None if there is none."""
    if type(call) is SummaryCall:
        return summary_node(call, operands)
    function = getattr(call, "function", None)
    if function is None:
        return None
    if hasattr(call, "op"):  # kept by an import
        raw_operation = operations.find(call.op)
        return (
            None if raw_operation is None else _write_node(raw_operation, call.attributes, operands)
        )
    name = getattr(function, "__name__", "")
    operation = operations.find(name)
    if operation is not None and not call.args:  # an operation of tf.raw_ops, kept by an import
        return _make_operation(writer, operation, call.kwargs, operands)
    try:
        given = inspect.signature(function).bind(*call.args, **call.kwargs)
    except (TypeError, ValueError):
        return None
    given.apply_defaults()
    for public in _names_of(function):
        for row in _rows_by_target().get(public, ()):
            values = _match_row(row, function, given.arguments)
            raw_operation = operations.find(row.name)
            if values is not None and raw_operation is not None:
                return _make_operation(writer, raw_operation, values, operands)
    return None


def _match_row(row: RawOp, function: Callable[..., Any], given: dict) -> dict | None:
    """Match a call with a row of the table: the operation's arguments, or None."""
    names = list(inspect.signature(function).parameters)
    values: dict[str, Any] = dict(row.defaults)
    told: dict[str, tuple[bool, Any]] = dict(zip(names, row.positional))
    told.update({key: (True, which) for key, which in row.keywords.items()})
    for name in names:
        if name == "name":
            continue
        if name not in told:
            default = inspect.signature(function).parameters[name].default
            if not _same(given[name], default):
                return None
            continue
        named, what = told[name]
        if named:
            values[what] = given[name]
        elif not _same(given[name], what):
            return None
    return values


def _same(a: object, b: object) -> bool:
    return type(a) is not Hole and (a is b or (type(a) is type(b) and bool(a == b)))


def _make_operation(
    writer: Writer, operation: OpSignature, values: dict, operands: list
) -> WrittenNode | None:
    """Make the operation with the tensors among `values` as inputs and the rest as attributes."""
    values = dict(values)
    for own, renamed in operation.renamed.items():
        if renamed in values:
            values[own] = values.pop(renamed)
    rest = [name for name in values if name not in operation.attributes]
    inputs = []
    for position, part in enumerate(operation.inputs):
        name = (
            part.keyword if part.keyword in values else (rest[position : position + 1] or [None])[0]
        )
        if name is None:
            return None
        value = values.pop(name)
        inputs.append(
            [_tensor(x, operands) for x in value] if part.is_list else _tensor(value, operands)
        )
        if inputs[-1] is None:
            return None
    given = {}
    for name, (kind, _) in operation.attributes.items():
        if name in values and values[name] is not None:
            value = values[name]
            given[name] = as_dtype(value) if kind == "type" else value
    return WrittenNode(operation.name, tuple(inputs), given)


def _write_node(operation: Any, given: dict, operands: list) -> WrittenNode:
    inputs, start = [], 0
    for part in operation.inputs:
        count = part.count(given)
        taken = operands[start : start + count]
        inputs.append(taken if part.is_list else taken[0])
        start += count
    return WrittenNode(operation.name, tuple(inputs), given)


def _tensor(value: Hole, operands: list) -> Any:
    if type(value) is Hole:
        return operands[value.number]
    if isinstance(value, DType) or value is None:
        return None
    array = value._array if hasattr(value, "_array") else np.asarray(value)
    if array.dtype == np.int64 and not hasattr(value, "_array"):
        array = array.astype(np.int32)
    if array.dtype == np.float64 and not hasattr(value, "_array"):
        array = array.astype(np.float32)
    return Literal(array)
