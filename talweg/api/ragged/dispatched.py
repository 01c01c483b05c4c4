"""Ragged dispatch: public functions take ragged tensors, from the first ragged tensor on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from talweg.api.asked import WAITING, ask_first
from talweg.api.export import EXPORTS, implement_hook
from talweg.api.ragged import elementwise
from talweg.api.ragged.arranging import ARRANGING
from talweg.api.ragged.combining import COMBINING, SEGMENTS, make_segment_reduction
from talweg.api.ragged.reducing import reducer
from talweg.core.hooks import hooks
from talweg.core.value import BINARY as BINARY_OPERATORS
from talweg.eager import ragged_rows
from talweg.eager.ragged import RaggedTensor

REDUCTIONS = (
    "reduce_sum",
    "reduce_prod",
    "reduce_max",
    "reduce_min",
    "reduce_mean",
    "reduce_any",
    "reduce_all",
    "math.reduce_variance",
    "math.reduce_std",
)

OF_ALL_VALUES = ("math.is_non_decreasing", "math.is_strictly_increasing")

Maker = Callable[[Callable[..., Any]], Callable[..., Any]]


def _makers() -> dict[str, Maker]:
    """Map each public name to the maker of its function for ragged tensors."""
    found: dict[str, Maker] = dict.fromkeys(elementwise.UNARY, elementwise.of_values)
    found.update(dict.fromkeys(elementwise.BINARY, elementwise.of_pairs))
    found.update({name: reducer(name) for name in REDUCTIONS})
    found.update(dict.fromkeys(OF_ALL_VALUES, _of_all_values))
    found.update(dict.fromkeys(SEGMENTS, make_segment_reduction))
    for name, function in {**ARRANGING, **COMBINING}.items():
        found[name] = functools.partial(_always, function)
    return found


def _of_all_values(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a question about a ragged tensor's values, whatever their rows."""

    def ask(x: RaggedTensor, name: str | None = None) -> Any:
        return original(x.flat_values, name=name)

    return ask


def _always(function: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    return function


@implement_hook("enable_ragged_dispatch")
def enable_ragged_dispatch() -> None:
    """Have functions look for ragged tensors among their arguments."""
    for name, maker in _makers().items():
        step = functools.partial(_teach, maker)
        if name in EXPORTS:
            step(EXPORTS[name])
        else:
            WAITING[name] = step

    for operator in BINARY_OPERATORS.values():
        setattr(hooks, operator, _beside_ragged(getattr(hooks, operator)))


def _beside_ragged(usual: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an operator of tensors for a ragged tensor on its right."""

    def compute(x: Any, y: Any) -> Any:
        return ragged_rows.map_flat(usual, *ragged_rows.pair_operands(x, y))

    def operate(x: Any, y: Any) -> Any:
        if type(y) is RaggedTensor and type(x) is not RaggedTensor:
            return ragged_rows.in_graph(compute, x, y)
        return usual(x, y)

    return operate


_taught: set[int] = set()


def _teach(maker: Maker, api: Callable[..., Any]) -> None:
    if id(api) in _taught or not hasattr(api, "in_eager_mode"):  # known by another name
        return
    _taught.add(id(api))
    ask_first(api, functools.partial(_question, maker))


def _question(maker: Maker, original: Callable[..., Any]) -> Callable[..., Any]:
    ragged = maker(original)

    def asking(*args: object, **kwargs: object) -> Any:
        for value in (*args, *kwargs.values()):
            kind = type(value)
            if kind is RaggedTensor or ((kind is list or kind is tuple) and _holds(value)):
                return ragged(*args, **kwargs)
        return original(*args, **kwargs)

    return asking


def _holds(values: Any) -> bool:
    return any([type(value) is RaggedTensor for value in values])
