"""Printer of static programs, one line an equation."""

from __future__ import annotations

from typing import Any

from talweg.passes.fallback.regions import Region
from talweg.passes.specialize.program import StaticProgram, Value


def to_text(static: StaticProgram) -> str:
    """Print inputs, variables, equations and results."""
    names: dict[Any, str] = {}

    def name(value: Value) -> str:
        if type(value) is not Value:
            return repr(value)
        if value.content is not None and value.content.size == 1:
            return f"{value.content.reshape(-1)[0].item()!r}:{value!r}".replace("constant ", "")
        return names.setdefault(value, f"%{len(names)}")

    lines = [f"input {name(value)}: {value!r}" for value in static.inputs]
    for variable, before, _ in static.states:
        lines.append(f"variable {name(before)}: {before!r}  # {variable!r}")
    for equation in static.equations:
        operands = ", ".join(map(name, equation.inputs))
        params = ", ".join(f"{key}={_short(value)}" for key, value in equation.params.items())
        made = ", ".join(f"{name(x)}: {x!r}" for x in equation.outputs)
        prim = getattr(equation.prim, "name", str(equation.prim))
        lines.append(f"{made} = {prim}({operands})" + (f" {{{params}}}" if params else ""))
        kernel = getattr(equation.prim, "numpy", None)
        if type(kernel) is Region:
            lines += [f"    host {line}" for line in kernel.lines()]
    for guard in static.guards:
        lines.append(f"require {name(guard)}")
    for variable, before, after in static.states:
        if after is not before:
            lines.append(f"write {name(after)}  # {variable!r}")
    lines.append("return " + ", ".join(map(name, static.outputs)))
    return "\n".join(lines) + "\n"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
