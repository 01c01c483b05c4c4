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


def optimize(straight: Straight, after: Callable[[str], None] | None = None) -> None:
    """All passes, one after the other; `after` is told the name of each when it is done."""
    for name, run in PASSES.items():
        run(straight)
        if after is not None:
            after(name)
