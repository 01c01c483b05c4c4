"""Structures of results of traces, without their tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from talweg.graph import structure


def of_spec(spec: Any, tensors: Any) -> Any:
    """Build the value of a spec from the next tensors; None stays None."""
    if hasattr(spec, "part_specs"):
        return spec.with_parts([next(tensors) for _ in spec.part_specs()])
    return next(tensors) if hasattr(spec, "dtype") else spec


def pack_results(
    single: bool,
    absent: list[bool] | None,
    put_together: Callable[[Iterator], Any],
    results: Sequence[Any],
) -> Any:
    """Build the nest of a function's results; None where `absent` says so, a `single` one as it
    is.
    """
    if single:
        return results[0]
    found = iter(results)
    if absent is not None:
        found = iter([None if is_absent else next(found) for is_absent in absent])
    return put_together(found)


def is_plain_nest(template: object) -> bool:
    """Return whether a structure has no composite tensors in it."""
    return not any(structure.is_nested(x, composites=True) for x in structure.flatten(template))


def without_values(template: object) -> Any:
    """Return the structure of a result, without the tensors in it."""
    if is_plain_nest(template):
        return structure.map_leaves(lambda leaf: None, template)
    return template
