"""Hints: promised properties of an operator's matrix, and what follows for operators made of it.

A hint is True, False, or None for "not said".  Nothing is checked but that hints of one operator do
not contradict each other; `assert_*` check the numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from talweg.core.errors import value_error

Hint = bool | None


class Hints(NamedTuple):
    """The four hints of an operator."""

    is_non_singular: Hint
    is_self_adjoint: Hint
    is_positive_definite: Hint
    is_square: Hint


def consistent(given: Hints) -> Hints:
    """Return the hints with their implications; ValueError where they contradict each other."""
    non_singular, self_adjoint, positive, square = given
    if positive:
        if non_singular is False:
            raise value_error("TW207", "is_non_singular=False with is_positive_definite=True")
        non_singular = True
    if non_singular or self_adjoint or positive:
        if square is False:
            raise value_error(
                "TW207", "is_square=False with a hint that only square operators have"
            )
        square = True
    return Hints(non_singular, self_adjoint, positive, square)


def require_hint(name: str, given: Hint, value: bool, why: str) -> bool:
    """Return `value`, which a class always has; ValueError if the opposite was said."""
    if given is not None and given is not value:
        raise value_error("TW207", f"{name}={given}", f"{name}={value}: {why}")
    return value


def all_true(operators: Any, name: str) -> Hint:
    """Return True if the hint is True for all, None otherwise."""
    return True if all(getattr(operator, name) for operator in operators) else None


def of_all(operators: list[Any], name: str) -> Hint:
    """Return True if the hint is True for all, False if it is False for one, else None."""
    found = [getattr(operator, name) for operator in operators]
    if False in found:
        return False
    return True if all(found) else None


def of_product(first: object, second: object) -> dict[str, Any]:
    """Return hints of a matrix product."""
    square: Hint = True if first.is_square and second.is_square else None
    if {first.is_square, second.is_square} == {True, False}:
        square = False
    non_singular: Hint = None
    if first.is_non_singular is False or second.is_non_singular is False:
        non_singular = False
    elif first.is_non_singular and second.is_non_singular:
        non_singular = True
    return {"is_non_singular": non_singular, "is_square": square}


def of_commuting_product(first: object, second: object) -> dict[str, Any]:
    """Return hints of a product of two diagonal operators: what both are, the product is."""
    found = of_product(first, second)
    found["is_self_adjoint"] = all_true((first, second), "is_self_adjoint")
    found["is_positive_definite"] = all_true((first, second), "is_positive_definite")
    return found


def same(operator: object) -> dict[str, Any]:
    """Return the hints of an operator, for one that has the same: its adjoint, its inverse."""
    return {name: getattr(operator, name) for name in Hints._fields}
