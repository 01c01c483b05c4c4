"""Labels of axes: how the axes of an equation's operands go along with those of its result.

A label is the number of a loop; an axis with a label is cut into one slice for each trip of it, and
`None` is an axis that stays whole.  Axes of size 1 have no label, they broadcast.
"""

from __future__ import annotations

from typing import Any

from talweg.passes.specialize.program import Equation
from talweg.passes.specialize.stack_primitives import by_element
from talweg.prims import contract, layout
from talweg.prims.random import streams

Labels = tuple[int | None, ...]


class UnlabelledError(Exception):
    """No slices of the operands of an equation make a slice of its result."""


def is_supported(equation: Equation) -> bool:
    """Return whether slices of an equation's result follow from slices of its operands."""
    prim = equation.prim
    if prim.effect is not None or prim.multiple:
        return False
    views = (layout.transpose, layout.reshape, layout.broadcast_to)
    return by_element(prim) or prim in views or is_fold(equation)


def is_fold(equation: Equation) -> bool:
    """Return whether an equation reduces whole axes by a fold."""
    return "fold" in equation.prim.lowering and equation.params.get("axes") is not None


def aligned(dims: tuple, target: tuple, labels: Labels) -> Labels:
    """Return the labels of an operand that is broadcast to `target`, which has `labels`."""
    own = labels[len(target) - len(dims) :]
    return tuple([None if size == 1 else label for size, label in zip(dims, own)])


def regrouped(source: tuple, labels: Labels, target: tuple) -> Labels:
    """Return the labels of a reshaped array: an axis that is neither cut nor merged keeps its."""
    kept: list[int | None] = [None] * len(target)
    first = [i for i, size in enumerate(source) if size != 1]
    second = [i for i, size in enumerate(target) if size != 1]
    at = to = 0
    while at < len(first) and to < len(second):
        begin, start = at, to
        x, y = source[first[at]], target[second[to]]
        while x != y:
            if x < y:
                at += 1
                x *= source[first[at]]
            else:
                to += 1
                y *= target[second[to]]
        at, to = at + 1, to + 1
        if at - begin == to - start == 1:
            kept[second[start]] = labels[first[begin]]
        elif any(labels[i] is not None for i in first[begin:at]):
            raise UnlabelledError
    return tuple(kept)


def operand_labels(equation: Equation, labels: Labels, contracted: int | None = None) -> list:
    """Return the labels that operands need, so that the result has these.

    contracted: the label of the axes over which a product sums.
    """
    prim, inputs = equation.prim, equation.inputs
    dims = equation.output.dims
    if prim is contract.matmul:
        *batch, row, column = labels
        rest = (*batch, None, None)
        x, y = [list(aligned(value.dims, dims, rest)) for value in inputs]
        x[-2:], y[-2:] = (row, contracted), (contracted, column)
        return [tuple(x), tuple(y)]
    if prim is layout.transpose:
        moved: list[Any] = [None] * len(dims)
        for label, axis in zip(labels, equation.params["perm"]):
            moved[axis] = label
        return [tuple(moved)]
    if prim is layout.reshape:
        return [regrouped(dims, labels, inputs[0].dims)]
    if is_fold(equation):
        rest, axes = iter(labels), equation.params["axes"]
        rank = len(inputs[0].dims)
        return [tuple([None if axis in axes else next(rest) for axis in range(rank)])]
    if prim is streams.random_numbers:
        return [(None,)]
    if not is_supported(equation):
        raise UnlabelledError
    return [aligned(x.dims, dims, labels) for x in inputs]


def result_labels(equation: Equation, position: int, labels: Labels) -> Labels:
    """Return the labels of a result of which one operand has these."""
    prim, dims = equation.prim, equation.output.dims
    if prim is contract.matmul:
        batch = [None] * (len(dims) - len(labels)) + list(labels[:-2])
        kept = (labels[-2], None) if position == 0 else (None, labels[-1])
        return (*batch, *kept)
    if prim is layout.transpose:
        return tuple([labels[axis] for axis in equation.params["perm"]])
    if prim is layout.reshape:
        return regrouped(equation.inputs[0].dims, labels, dims)
    if is_fold(equation):
        axes = equation.params["axes"]
        if any(labels[axis] is not None for axis in axes):
            raise UnlabelledError
        return tuple([label for axis, label in enumerate(labels) if axis not in axes])
    if not is_supported(equation):
        raise UnlabelledError
    return (None,) * (len(dims) - len(labels)) + labels
