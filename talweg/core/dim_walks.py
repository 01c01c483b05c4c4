"""Walks over symbolic sizes: evaluation, substitution, and the list of their atoms.

Sizes are DAGs (`core/dims.py`): functions are met after those among their arguments, in a loop,
each once, so the work is linear in the number of different atoms.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

from talweg.core.dims import FAR, Atom, Dim, Size, broadcast, largest, resolve_size, smallest
from talweg.core.errors import invalid


def _resolve(n: int, total: int, others: int, *sizes: int) -> int:
    """Return the size that `dims.resolve_size` asks for; InvalidArgumentError without one."""
    if n >= 0:
        return n
    if not others and not total:  # what the dimensions other than 0 leave
        rank = sizes[0] if sizes else 0
        total = math.prod([size for size in sizes[1 : rank + 1] if size])
        others = math.prod([size for size in sizes[rank + 1 :] if size])
    if n < -1 or others <= 0 or total % others:
        text = f"reshape: {total} values cannot be given a size of {n} beside others of {others}"
        raise invalid("TW205", text, "sizes >= 0, and at most one -1, for what is left")
    return total // others


def _divide(apply: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def divide_checked(a: int, b: int) -> int:
        if not b:
            raise invalid("TW205", f"a size is {a} divided by 0: Integer division by zero")
        return apply(a, b)

    return divide_checked


NUMBERS: dict[str, Callable[..., int]] = {
    "floordiv": _divide(operator.floordiv),
    "mod": _divide(operator.mod),
    "add": operator.add,
    "mul": operator.mul,
    "max": max,
    "min": min,
    "broadcast": lambda a, b: b if a == 1 else a,
    "resolved": _resolve,
}


def functions_in(sizes: tuple) -> list[Atom]:
    """Return every atom in some sizes that is a function, once, after those among its arguments."""
    functions: dict[Atom, None] = {}
    pending = [atom for size in sizes for atom in _functions_of(size)]
    while pending:
        atom = pending[-1]
        missing = (
            []
            if atom in functions
            else [
                below
                for argument in atom.arguments
                for below in _functions_of(argument)
                if below not in functions
            ]
        )
        if missing:
            pending += missing
        else:
            functions[atom] = None
            pending.pop()
    return list(functions)


def _functions_of(size: Size) -> list[Atom]:
    if type(size) is not Dim:
        return []
    return [atom for atoms, _ in size.terms for atom in atoms if atom.arguments]


def evaluate(size: Size, value_of: Callable[[Atom], int]) -> int:
    """Return the number a size stands for, given the numbers of its atoms."""
    if type(size) is not Dim:
        return size
    numbers: dict[Atom, int] = {}
    for atom in functions_in((size,)):
        parts = [_evaluate(argument, numbers, value_of) for argument in atom.arguments]
        numbers[atom] = min(max(NUMBERS[atom.kind](*parts), -FAR), FAR)
    return _evaluate(size, numbers, value_of)


def _evaluate(size: Size, numbers: dict, value_of: Callable[[Atom], int]) -> int:
    """Return the number of a size whose functions are known."""
    if type(size) is not Dim:
        return size
    total = size.constant
    for atoms, factor in size.terms:
        for atom in atoms:
            factor *= numbers[atom] if atom.arguments else value_of(atom)
        total += factor
    return total


def substitute(size: Size, replace: Callable[[Atom], Size | None]) -> Size | None:
    """Return `size` with every atom replaced; None if one has no replacement."""
    if type(size) is not Dim:
        return size
    made: dict[Atom, Size] = {}
    for atom in functions_in((size,)):
        parts = [_substitute(argument, made, replace) for argument in atom.arguments]
        if any(part is None for part in parts):
            return None
        known = all([type(part) is not Dim for part in parts])
        made[atom] = (NUMBERS if known else APPLIED)[atom.kind](*parts)
    return _substitute(size, made, replace)


def _substitute(size: Size, made: dict, replace: Callable[[Atom], Size | None]) -> Size | None:
    """Return `size` with its functions replaced by other sizes."""
    if type(size) is not Dim:
        return size
    total: Any = size.constant
    for atoms, factor in size.terms:
        product: Any = factor
        for atom in atoms:
            by = made[atom] if atom.arguments else replace(atom)
            if by is None:
                return None
            product = by * product
        total = product + total
    return total


APPLIED: dict[str, Callable[..., Size]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "add": operator.add,
    "mul": operator.mul,
    "max": largest,
    "min": smallest,
    "broadcast": broadcast,
    "resolved": lambda n, total, others, rank=0, *sizes: resolve_size(
        n, total, others, sizes[:rank], sizes[rank:]
    ),
}


def atoms_of(value: Any) -> Iterator[Atom]:
    """Yield the sizes and values that a size, or a nest of tuples with sizes in it, depends on."""
    if type(value) is Dim:
        yield from _leaves(value)
        for atom in functions_in((value,)):
            for argument in atom.arguments:
                yield from _leaves(argument)
    elif type(value) in (tuple, list):
        for item in value:
            yield from atoms_of(item)


def _leaves(size: Size) -> Iterator[Atom]:
    """Yield the atoms of a polynomial that are no functions."""
    if type(size) is Dim:
        for atoms, _ in size.terms:
            for atom in atoms:
                if not atom.arguments:
                    yield atom
