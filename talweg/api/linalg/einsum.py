"""tf.einsum: from the equation to a contraction."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Any

from talweg.api.arguments import require_sizes, tensor
from talweg.api.export import export
from talweg.api.linalg.contraction import MOST_PROGRAMS, ContractionProgram, program_of
from talweg.core.dims import Dim, differ, same
from talweg.core.dtypes import NUMERIC, int8, int16
from talweg.core.errors import NotFoundError, compose, invalid, type_error, value_error
from talweg.core.value import Tensor
from talweg.eager.convert import is_tensor_like
from talweg.eager.tensor import EagerTensor

FORM = re.compile(r"([a-zA-Z0,]*)(?:->([a-zA-Z0]*))?")  # 0 stands for an ellipsis
ELLIPSIS = "0"
_PROGRAMS: dict[
    tuple, ContractionProgram
] = {}  # by equation, shapes and dtypes that are known to be right
MULTIPLIED = NUMERIC - {int8, int16}


@export("einsum", "linalg.einsum")
def einsum(equation: str, *inputs: object, **kwargs: object) -> Tensor:
    r"""Compute the sum of products that the equation says, over every label its output does not
    name.

    equation: labels of the axes of each operand, separated by commas, then `->` and those of the
    result.  A label twice in one operand means the diagonal.  `...` stands for axes that broadcast.
    Without `->` the result has the labels that occur once, in alphabetical order.
    inputs: as many tensors, of one numeric dtype.
    optimize: how to order more than two operands: "greedy" (the default), "optimal", True or False.

    ValueError for an equation that is not well formed or does not fit the number of operands;
    InvalidArgumentError for ranks, sizes and dtypes that do not fit it.

    >>> import talweg as tf
    >>> a, b = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[1.0, 0.0], [1.0, 1.0]])
    >>> tf.einsum("ij,jk->ik", a, b).numpy().tolist()
    [[3.0, 2.0], [7.0, 4.0]]
    >>> tf.einsum("ii->i", a).numpy().tolist()
    [1.0, 4.0]
    """
    key = None
    if not kwargs and all(type(x) is EagerTensor for x in inputs):
        key = (equation, *[(x._array.shape, x._array.dtype) for x in inputs])
        known = _PROGRAMS.get(key)
        if known is not None:
            return known.run(list(inputs))
    optimize = _options(kwargs)
    if not isinstance(equation, str):
        raise type_error("TW104", f"einsum: equation must be a string, got {equation!r}")
    labels, output = parse(equation, len(inputs))
    values = _tensors(inputs)
    if any(ELLIPSIS in label for label in labels) or ELLIPSIS in output:
        labels, output = _expand(equation, labels, output, values)
    sizes = _check_sizes(equation, labels, values)
    values = [
        require_sizes(value, value.dims, dims, f"einsum: operand {position} of {equation!r}")
        for position, (value, dims) in enumerate(zip(values, sizes))
    ]
    program = program_of(labels, sizes, output, optimize)
    if key is not None and len(_PROGRAMS) < MOST_PROGRAMS:
        _PROGRAMS[key] = program
    return program.run(values)


def _options(kwargs: dict) -> Any:
    unknown = sorted(set(kwargs) - {"name", "optimize", "greedy"})
    if unknown:
        raise type_error(
            "TW104",
            f"Invalid keyword arguments for einsum: {', '.join(unknown)}.",
            "name, optimize or greedy",
        )
    optimize = kwargs.get("optimize", "greedy")
    known = ("greedy", "optimal", "auto", "branch-2", "branch-all", "dp", "branch-1", "eager")
    if isinstance(optimize, bool):
        return "greedy" if optimize else False
    if optimize not in known:
        raise value_error("TW207", f"einsum: optimize={optimize!r}", f"one of {', '.join(known)}")
    return "optimal" if optimize not in ("greedy", "eager", "auto") else "greedy"


def _tensors(inputs: tuple) -> list:
    hint = next((x.dtype for x in inputs if is_tensor_like(x)), None)
    values: list = []
    for position, value in enumerate(inputs):
        value = value if isinstance(value, Tensor) else tensor(value, hint=hint)
        hint = hint or value.dtype
        if value.dtype not in MULTIPLIED:
            text = compose(
                "TW102",
                f"einsum: operand {position} has dtype {value.dtype.name}",
                "a numeric dtype",
            )
            raise NotFoundError(None, None, text)
        if values and value.dtype is not values[0].dtype:
            raise invalid(
                "TW102",
                f"einsum: operand {position} has dtype {value.dtype.name} and operand 0 has dtype "
                f"{values[0].dtype.name}",
                "operands of one dtype",
                f"tf.cast(operand, tf.{values[0].dtype.name})",
            )
        values.append(value)
    return values


@lru_cache(maxsize=512)
def parse(equation: str, count: int) -> tuple[tuple, tuple]:
    """Parse the labels of each of `count` operands and of the result; an ellipsis is the label
    "0".
    """
    text = equation.replace(" ", "").replace("...", ELLIPSIS)
    match = None if "0" in equation else FORM.fullmatch(text)
    if match is None:
        raise value_error(
            "TW207",
            f"einsum: Subscripts have incorrect format: {equation!r}",
            "letters and '...', separated by commas, and at most one '->'",
        )
    inputs = [tuple(part) for part in match[1].split(",")]
    if any(part.count(ELLIPSIS) > 1 for part in inputs):
        raise value_error("TW207", f"einsum: an operand with two ellipses in {equation!r}")
    output = _implicit(inputs) if match[2] is None else tuple(match[2])
    if len(set(output)) < len(output):
        raise value_error(
            "TW207", f"einsum: the output of {equation!r} contains a label more than once"
        )
    named = {label for part in inputs for label in part} | {ELLIPSIS}
    missing = [label for label in output if label not in named]
    if missing:
        raise value_error(
            "TW207", f"einsum: label {missing[0]!r} of the output of {equation!r} is in no input"
        )
    if count != len(inputs):
        raise value_error(
            "TW208",
            f'einsum: got {count} inputs for equation "{equation}", expecting {len(inputs)}',
        )
    return tuple(inputs), output


def _implicit(inputs: list) -> tuple:
    counts = Counter(label for part in inputs for label in part if label != ELLIPSIS)
    letters = sorted(label for label, n in counts.items() if n == 1)
    has_ellipsis = any(ELLIPSIS in part for part in inputs)
    return (ELLIPSIS, *letters) if has_ellipsis else tuple(letters)


def _expand(equation: str, labels: tuple, output: tuple, values: list) -> tuple[tuple, tuple]:
    """Replace the ellipses in labels by ints, -1 for the last axis of each."""
    expanded, longest = [], 0
    for position, (part, value) in enumerate(zip(labels, values)):
        if ELLIPSIS not in part:
            expanded.append(part)
            continue
        count = value.ndim - len(part) + 1
        if count < 0:
            raise _wrong_rank(equation, position, len(part) - 1, value, "at least ")
        at = part.index(ELLIPSIS)
        expanded.append((*part[:at], *range(-count, 0), *part[at + 1 :]))
        longest = max(longest, count)
    if ELLIPSIS in output:
        at = output.index(ELLIPSIS)
        return tuple(expanded), (*output[:at], *range(-longest, 0), *output[at + 1 :])
    if longest:
        raise invalid(
            "TW204",
            f"einsum: the operands of {equation!r} have {longest} axes for '...', but its output "
            "has no '...'",
        )
    return tuple(expanded), output


def _wrong_rank(
    equation: str, position: int, rank: int, value: Tensor, least: str = ""
) -> Exception:
    return invalid(
        "TW203",
        f"einsum: operand {position} of {equation!r} has shape {value.dims}",
        f"rank {least}{rank}",
    )


def _check_sizes(equation: str, labels: tuple, values: list) -> tuple:
    """Check the operands' shapes; a label's number elsewhere replaces a symbolic size."""
    sizes: dict = {}
    for position, (part, value) in enumerate(zip(labels, values)):
        dims = value.dims
        if len(part) != len(dims):
            raise _wrong_rank(equation, position, len(part), value)
        for axis, (label, size) in enumerate(zip(part, dims)):
            other = sizes.setdefault(label, size)
            if isinstance(label, int):
                wrong = differ(other, size) and differ(size, 1) and differ(other, 1)
                sizes[label] = size if same(other, 1) else other
            else:
                wrong = differ(other, size)
                sizes[label] = size if type(other) is Dim else other
            if not wrong:
                continue
            raise invalid(
                "TW204",
                f"einsum: axis {axis} of operand {position}, of shape {dims}, has size {size}",
                f"size {other}, which label {label!r} has elsewhere in {equation!r}",
            )
    return tuple(
        tuple(n if isinstance(label, int) else sizes[label] for label, n in zip(part, value.dims))
        for part, value in zip(labels, values)
    )
