"""The picture of operations that ran at once, for programs without functions and graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.command.drawing.model import SMALL, DrawnItem, Group, Picture, group_by_lines
from talweg.core.aval import Aval
from talweg.core.dtypes import of_numpy
from talweg.core.provenance import Derived, describe
from talweg.graph.text import type_text


def of_applications(applications: list[tuple], variables: dict[int, str], title: str) -> Picture:
    """Return the picture of (primitive, operands, results, parameters, origin), in the order they
    ran.

    `variables` gives the names of variables by the identity of the tensors read from them.
    """
    root = Group(title, "function")
    picture = Picture(title, root)
    made: dict[int, DrawnItem] = {}
    for prim, operands, results, params, origin in applications:
        texts = [_literal(operand, made, variables) for operand in operands]
        label = prim.type_of([_aval(operand) for operand in operands], params)
        if any(texts) and len(texts) <= 4:
            label += f"({', '.join(text or '·' for text in texts)})"
        outputs = results if type(results) is tuple else (results,)
        item = DrawnItem(
            label,
            "gradient" if type(origin) is Derived else "operation",
            ", ".join(_shape(output) for output in outputs[:3]),
            prim.name,
            describe(origin),
            _details(params),
        )
        picture.add(item, root)
        for operand, text in zip(operands, texts):
            if not text:
                source = made.get(id(operand))
                if source is None:
                    source = made[id(operand)] = _draw_input(picture, operand, variables)
                picture.join(source, item, _shape(operand))
        made.update(dict.fromkeys(map(id, outputs), item))
    used = {source for source, _ in picture.edges}
    for item in picture.items:
        item.is_result = item not in used and item.kind in ("operation", "gradient")
    group_by_lines(picture)
    return picture


def _draw_input(picture: Picture, operand: object, variables: dict[int, str]) -> DrawnItem:
    """Return the box of a value that no operation of the picture made."""
    name = variables.get(id(operand))
    if name is not None:
        item = DrawnItem(name, "variable", _shape(operand), name)
    else:
        item = DrawnItem("tensor", "constant", _shape(operand), "", "", repr(_array(operand))[:200])
    return picture.add(item, picture.root)


def _array(operand: object) -> Any:
    return getattr(operand, "_array", operand)


def _literal(operand: object, made: dict, variables: dict) -> str:
    """Return a small value that nothing made, as text; "" for others."""
    if id(operand) in made or id(operand) in variables:
        return ""
    array = np.asarray(_array(operand))
    if array.size > SMALL or array.dtype == object:
        return ""
    value = array.tolist()
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace(" ", "")


def _aval(operand: object) -> Aval:
    array = _array(operand)
    if not hasattr(array, "dtype"):
        array = np.asarray(array)
    return Aval(array.shape, of_numpy(array.dtype))


def _shape(operand: object) -> str:
    try:
        return type_text(_aval(operand))
    except (TypeError, AttributeError, KeyError):
        return ""


def _details(params: dict) -> str:
    return "\n".join(f"{key} = {str(value)[:60]}" for key, value in params.items())
