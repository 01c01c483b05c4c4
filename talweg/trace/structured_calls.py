"""Calls of a trace in its structure: Python's parameters are bound first.

Each parameter takes what it was traced for: a nest of tensors of the same structure, or the same
Python value, which may also be left out.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.spec import TensorSpec
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.graph import structure
from talweg.trace.exchange import fits
from talweg.trace.signature import ArgumentPlace, Container, VariablePlace, places_of

if TYPE_CHECKING:
    from talweg.trace.concrete import ConcreteFunction

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class _MismatchError(Exception):
    """An argument does not match the trace."""


def match_tensors(
    concrete: ConcreteFunction, args: tuple, kwargs: dict
) -> tuple[list, list] | None:
    """Return (tensors, variables) of a call in the trace's order, or None on mismatch."""
    given = _by_parameter(concrete.parameters, args, kwargs)
    if given is None:
        return None
    tensors: list = [None] * len(concrete.specs)
    variables: list = [None] * len(concrete.formals)
    try:
        for name, tree in zip([name for name, *_ in concrete.parameters], _trees(concrete._tree)):
            if name in given:
                _match(tree, given[name], concrete.specs, tensors, variables)
            elif places_of(tree):
                return None
    except _MismatchError:
        return None
    return tensors, variables


def _by_parameter(parameters: list, args: tuple, kwargs: dict) -> dict | None:
    """Bind arguments to parameters; None for too many, and unknown names."""
    places = [name for name, kind, _ in parameters if kind in _POSITIONAL]
    if len(args) > len(places):
        return None
    given = dict(zip(places, args))
    named = {name for name, kind, _ in parameters if kind is not inspect.Parameter.POSITIONAL_ONLY}
    if any(name in given or name not in named for name in kwargs):
        return None
    return {**given, **kwargs}


def _trees(tree: Container) -> list:
    """Return the template of each parameter: positional arguments, then those with names."""
    positional, named = tree.children
    keys = structure.sort_keys(named.like)
    by_name = dict(zip(keys, named.children))
    return [*positional.children, *[by_name[key] for key in named.like]]


def _match(
    tree: ArgumentPlace | VariablePlace, given: object, specs: list, tensors: list, variables: list
) -> None:
    """Match an argument with its template; _MismatchError where it does not fit."""
    if type(tree) is ArgumentPlace:
        tensors[tree.number] = _tensor(given, specs[tree.number])
    elif type(tree) is VariablePlace:
        before = variables[tree.number]
        if not fits(given, tree.spec) or (before is not None and before is not given):
            raise _MismatchError
        variables[tree.number] = given
    elif type(tree) is Container:
        for child, part in zip(tree.children, _parts(tree, given)):
            _match(child, part, specs, tensors, variables)
    elif not _same(tree, given):
        raise _MismatchError


def _tensor(given: object, spec: TensorSpec) -> Tensor:
    """Return a tensor of a spec's dtype; its shape is compared later."""
    try:
        found = convert_to_tensor(given, None if is_tensor_like(given) else spec.dtype)
    except (TypeError, ValueError):
        raise _MismatchError from None
    if found.dtype is not spec.dtype:
        raise _MismatchError
    return found


def _parts(tree: Container, given: Any) -> list:
    """Return the parts of a value that has the structure of a container."""
    like = tree.like
    if hasattr(like, "part_specs"):  # the spec of a composite tensor
        if not like.is_compatible_with(given):
            raise _MismatchError
        return given._flat_components()
    kind = structure.kind_of(like)
    if kind != structure.kind_of(given) or not (
        isinstance(given, type(like)) or kind == structure.MAPPING
    ):
        raise _MismatchError
    if kind == structure.MAPPING and set(like) != set(given):
        raise _MismatchError
    parts = structure.children(given)
    if len(parts) != len(tree.children):
        raise _MismatchError
    return parts


def _same(value: object, given: object) -> bool:
    """Return whether a Python value is the one of the trace."""
    if value is given:
        return True
    if is_tensor_like(given) or isinstance(given, np.ndarray) or type(value) is not type(given):
        return False
    try:
        return bool(value == given)
    except (TypeError, ValueError):
        return False
