"""tf.raw_ops: TensorFlow's operations under their own names, made from `table.txt`.

They take keyword arguments only.  Operations on windows are written out in `api/nn/raw.py`.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import namedtuple
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from talweg.api.export import export_value, look_up
from talweg.core import dispatch
from talweg.core.dtypes import BY_NAME, resource
from talweg.core.errors import NeedsStaticError, type_error, value_error
from talweg.core.provenance import note_wrapper
from talweg.graph.subgraph import items_of
from talweg.raw import operations
from talweg.raw.operands import OBJECTS, attributes_of, convert, dtypes_of_results
from talweg.raw.operations import REQUIRED
from talweg.trace.kept_operations import keep, keep_effect

HOMES = {
    "own": "adapters",
    "grad": "gradients",
    "parts": "sparse",
    "images": "images",
    "chance": "chance",
    "variables": "variables",
    "optimizers": "optimizers",
    "flow": "flow",
    "lists": "lists",
    "arrays": "arrays",
    "maps": "maps",
    "queues": "queues",
    "stages": "stages",
    "readers": "readers",
    "datasets": "datasets",
    "sources": "dataset_sources",
    "iterators": "iterators",
    "texts": "strings",
    "segments": "segments",
    "cells": "cells",
    "quantized": "quantized",
}
# homes of operations that act on the world
_EFFECTS = "queues stages readers datasets sources iterators arrays maps"
EFFECTS = frozenset(HOMES[part] for part in _EFFECTS.split())
# homes of what each run of a graph makes anew
EVERY_RUN = frozenset(("arrays", "maps"))
TABLE = Path(__file__).with_name("table.txt")
state, context = dispatch.state, dispatch.context
_LINE = re.compile(r"(\w+) = ([\w.]+)(?:\((.*)\))?")


class RawOp:
    """One row of the table, taken apart."""

    def __init__(self, line: str):
        match = _LINE.fullmatch(line)
        if match is None:
            raise AssertionError(f"table.txt: cannot read {line!r}")
        self.name, self.target, call = match.groups()
        signature = operations.find(self.name)
        if signature is None:
            raise AssertionError(f"table.txt: {self.name} is no operation of TensorFlow")
        self.operation = signature
        parameters = self.operation.parameters()
        self.arguments = list(parameters)
        self.required = [name for name, value in parameters.items() if value is REQUIRED]
        self.defaults = {
            name: list(value) if isinstance(value, list) else value
            for name, value in parameters.items()
            if value is not REQUIRED and name != "name"
        }
        outputs = [part.name for part in self.operation.outputs]
        self.results = outputs if len(outputs) > 1 else None
        self.positional: list[tuple[bool, Any]] = []  # (whether it names an argument, which)
        self.keywords: dict[str, str] = {}
        if call is None:
            self.keywords = {name: name for name in self.arguments if name != "name"}
        for part in filter(None, (call or "").split(", ")):
            key, equals, value = part.partition("=")
            if part == "**":
                self.keywords.update({name: name for name in self.arguments if name != "name"})
            elif equals:
                self.keywords[key] = value
            elif part in self.arguments:
                self.positional.append((True, part))
            else:
                self.positional.append((False, _literal(part)))

    @property
    def home(self) -> str:
        """The module of `HOMES` that does it; '' for a public function."""
        return HOMES.get(self.target.rpartition(".")[0], "")

    @property
    def makes_handle(self) -> bool:
        """Whether it makes a resource, which exists before a graph runs."""
        outputs = self.operation.outputs
        if len(outputs) != 1 or any(
            x.dtype in OBJECTS or x.reference for x in self.operation.inputs
        ):
            return False
        return outputs[0].dtype is resource or outputs[0].reference

    def signature(self) -> inspect.Signature:
        """Return the signature for `inspect.signature`."""
        only = inspect.Parameter.KEYWORD_ONLY
        given = [inspect.Parameter(name, only) for name in self.required]
        rest = {**self.defaults, "name": None}.items()
        return inspect.Signature(given + [inspect.Parameter(n, only, default=v) for n, v in rest])

    def bind(self, args: tuple, kwargs: dict) -> dict[str, Any]:
        """Bind all arguments to their values; TypeError for positional, unknown or missing
        ones.
        """
        if args:
            raise type_error(
                "TW104",
                f"raw_ops.{self.name}: {len(args)} arguments were given without their names",
                f"keyword arguments only: {', '.join(self.arguments)}",
            )
        unknown = [name for name in kwargs if name not in self.arguments]
        missing = [name for name in self.required if name not in kwargs]
        if unknown or missing:
            text = f"unknown arguments {unknown}" if unknown else f"arguments {missing} are missing"
            raise type_error(
                "TW104", f"raw_ops.{self.name}: {text}", f"of {', '.join(self.arguments)}"
            )
        return {**self.defaults, **kwargs}

    def apply(self, values: dict) -> Any:
        """Return the results for these arguments."""
        found = _find(self.target)(
            *[values[what] if named else what for named, what in self.positional],
            **{key: values[what] for key, what in self.keywords.items()},
        )
        return found if self.results is None else self.result_type(*found)

    def pack_results(self, found: list, values: dict) -> Any:
        """Return a flat list of results as the operation gives them: lists where it has lists."""
        attributes = attributes_of(self.operation, values) or {}
        parts: list = []
        for part in self.operation.outputs:
            count = part.count(attributes)
            parts.append(found[:count] if part.is_list else found[0])
            found = found[count:]
        return parts[0] if self.results is None else self.result_type(*parts)

    @property
    def result_type(self) -> Any:
        """The namedtuple of several results."""
        return _result_type(self.name, tuple(self.results or ()))


@cache
def _result_type(name: str, fields: tuple) -> Any:
    return namedtuple(name, fields)


def _literal(text: str) -> Any:
    return BY_NAME[text] if text in BY_NAME else ast.literal_eval(text)


@cache
def _find(target: str) -> Callable[..., Any]:
    home, _, name = target.rpartition(".")
    if home not in HOMES:
        return look_up(target)
    return getattr(import_module(f"talweg.raw.{HOMES[home]}"), name)


def _document(row: RawOp) -> str:
    arguments = ", ".join(row.required) or "nothing"
    public = not row.home and not row.target.startswith("raw_ops.")
    lines = [f"Run TensorFlow's operation {row.name}; keyword arguments only.", ""]
    lines.append(
        f"It takes {arguments}"
        + (f", and optionally {', '.join(row.defaults)}." if row.defaults else ".")
    )
    if row.results:
        lines.append(f"It returns a namedtuple of {', '.join(row.results)}.")
    if public:
        lines.append(f"Shapes, dtypes and errors are those of `tf.{row.target}`.")
    return "\n".join([*lines, "TypeError for positional, unknown or missing arguments.", ""])


def _operation(row: RawOp) -> Callable[..., Any]:
    def call(*args: object, **kwargs: object) -> Any:
        values = row.bind(args, kwargs)
        if row.home:
            values = convert(row.operation, values)
        return row.apply(values)

    def call_anywhere(*args: object, **kwargs: object) -> Any:
        return _in_graph(row, call, args, kwargs) if state.busy else call(*args, **kwargs)

    for function in (call, call_anywhere):
        function.__name__ = function.__qualname__ = row.name
        function.__doc__ = _document(row)
        function.__signature__ = row.signature()  # type: ignore[attr-defined]
    call_anywhere.in_eager_mode = call  # type: ignore[attr-defined]
    note_wrapper(call_anywhere.__code__)
    return call_anywhere


def _in_graph(row: RawOp, call: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Compute the results in a graph; operations with effects, or that need values, wait for the
    run.
    """
    if state.in_graph is None or context.base is None:
        return (
            call(*args, **kwargs) if state.in_graph is None else state.in_graph(call, args, kwargs)
        )
    effect = row.home in EFFECTS
    if effect and row.makes_handle and row.home not in EVERY_RUN:
        return call(*args, **kwargs)
    if not effect:
        before = getattr(context.base, "met", 0)
        try:
            results = state.in_graph(call, args, kwargs)
            is_operation = results is None and not row.operation.outputs
            return _operation_since(before) if is_operation else results
        except NeedsStaticError:
            pass
    values = convert(row.operation, row.bind(args, kwargs))
    dtypes = dtypes_of_results(row.operation, values)
    if dtypes is None:
        raise value_error(
            "TW104", f"raw_ops.{row.name}: the dtypes of its results are not known in a graph"
        )
    if not dtypes:
        return keep_effect(call, values, dtypes)
    results = keep_effect(call, values, dtypes) if effect else keep(call, values, dtypes)
    return row.pack_results(results, values)


def _operation_since(before: int) -> Any:
    """Return an operation that waits for the effects a function has had since it had `before`.

    None in graphs of the first generation, whose functions return their operations themselves.
    """
    graph: Any = context.base
    if not hasattr(graph, "met"):
        return None
    made = graph.effects[before : graph.met]
    first = [items_of(node)[0] if node.prim.multiple else node for node in made]
    return look_up("group")(*[graph.symbol(node) for node in first])


@cache
def rows() -> list[RawOp]:
    """Return the rows of the table; an indented line continues the one above."""
    lines = TABLE.read_text("utf-8").replace("\n    ", " ").splitlines()
    return [RawOp(line) for line in lines if line and not line.startswith("#")]


for _row in rows():
    export_value(_operation(_row), f"raw_ops.{_row.name}")
