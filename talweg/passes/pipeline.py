"""The passes over straight programs, in order, each by name."""

from __future__ import annotations

from collections.abc import Callable

from talweg.passes.repeats import improve_loops
from talweg.passes.simplify import simplify
from talweg.passes.split import split
from talweg.passes.straight import Straight

PASSES: dict[str, Callable[[Straight], None]] = {
    "improve_loops": improve_loops,
    "simplify": simplify,
    "split": split,
}


def optimize(straight: Straight) -> None:
    """All passes, one after the other."""
    for run in PASSES.values():
        run(straight)
