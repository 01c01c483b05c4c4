"""tf.raw_ops: TensorFlow's operations under their own names, made from `table.py`.

They take keyword arguments only.  Operations on windows are written out in `api/nn/raw.py`.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from talweg.api.export import export_value, look_up
from talweg.api.raw import adapters, gradients, sparse
from talweg.api.raw.table import TABLE
from talweg.core.dtypes import BY_NAME
from talweg.core.errors import type_error

_LINE = re.compile(r"(\w+)\((.*?)\)(?: -> ([\w, ]+))? = ([\w.]+)\((.*)\)")


class RawOp:
    """One line of the table, taken apart."""

    def __init__(self, line: str):
        found = _LINE.fullmatch(line)
        if found is None:
            raise AssertionError(f"raw_table: cannot read {line!r}")
        self.name, arguments, results, self.target, call = found.groups()
        self.line = line
        self.required: list[str] = []
        self.defaults: dict[str, Any] = {}
        for argument in filter(None, arguments.split(", ")):
            name, equals, default = argument.partition("=")
            if equals:
                self.defaults[name] = _literal(default)
            else:
                self.required.append(name)
        self.arguments = [*self.required, *self.defaults, "name"]
        self.results = results.split(", ") if results else None
        self.positional: list[
            tuple[bool, Any]
        ] = []  # (whether it names an argument, which or what)
        self.keywords: dict[str, str] = {}
        for part in filter(None, call.split(", ")):
            key, equals, value = part.partition("=")
            if equals:
                self.keywords[key] = value
            elif part in self.arguments:
                self.positional.append((True, part))
            else:
                self.positional.append((False, _literal(part)))

    def signature(self) -> inspect.Signature:
        """What `inspect.signature` says."""
        only = inspect.Parameter.KEYWORD_ONLY
        given = [inspect.Parameter(name, only) for name in self.required]
        rest = {**self.defaults, "name": None}.items()
        return inspect.Signature(given + [inspect.Parameter(n, only, default=v) for n, v in rest])

    def bind(self, args: tuple, kwargs: dict) -> dict[str, Any]:
        """The values of all arguments; TypeError for positional, unknown or missing ones."""
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


def _literal(text: str) -> Any:
    return BY_NAME[text] if text in BY_NAME else ast.literal_eval(text)


def _find(target: str) -> Callable[..., Any]:
    home, _, name = target.rpartition(".")
    module = {"own": adapters, "grad": gradients, "parts": sparse}.get(home)
    return look_up(target) if module is None else getattr(module, name)


def _document(row: RawOp) -> str:
    arguments = ", ".join(row.required) or "nothing"
    public = not row.target.startswith(("own.", "grad.", "parts.", "raw_ops."))
    lines = [f"TensorFlow's operation {row.name}, with keyword arguments only.", ""]
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
    result = namedtuple(row.name, row.results) if row.results else None  # type: ignore[misc]
    function: Any = None

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal function
        values = row.bind(args, kwargs)
        if function is None:
            function = _find(row.target)
        found = function(
            *[values[what] if named else what for named, what in row.positional],
            **{key: values[what] for key, what in row.keywords.items()},
        )
        return found if result is None else result(*found)

    call.__name__ = call.__qualname__ = row.name
    call.__doc__ = _document(row)
    call.__signature__ = row.signature()  # type: ignore[attr-defined]
    return call


def rows() -> list[RawOp]:
    """The lines of the table; an indented line continues the one above."""
    lines = TABLE.replace("\n    ", " ").splitlines()
    return [RawOp(line) for line in lines if line and not line.startswith("#")]


for _row in rows():
    export_value(_operation(_row), f"raw_ops.{_row.name}")
