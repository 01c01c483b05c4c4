"""The pass pipeline over static programs: order and names.

A pass may leave a program as it is, never refuse it: an error in one is a fault of the compiler.
"""

from __future__ import annotations

from collections.abc import Callable

from talweg.core import settings
from talweg.passes.faults import part
from talweg.passes.optimize.contractions import find_products
from talweg.passes.optimize.loop_invariants import improve_loops
from talweg.passes.optimize.matrix_chains import order_products
from talweg.passes.optimize.simplify import simplify
from talweg.passes.optimize.split_reductions import split
from talweg.passes.optimize.strip_mining import strip_mine
from talweg.passes.optimize.verifier import check
from talweg.passes.specialize.program import StaticProgram

PASSES: dict[str, Callable[[StaticProgram], None]] = {
    "improve_loops": improve_loops,
    "simplify": simplify,
    "find_products": find_products,
    "order_products": order_products,
    "strip_mine": strip_mine,
    "split": split,  # for threads of a CPU
}


def optimize(
    static: StaticProgram,
    after: Callable[[str], None] | None = None,
    without: tuple[str, ...] = (),
) -> None:
    """Run all passes but those `without`, in order; `after` is told the name of each.

    With the setting `check`, the program is checked before the first and after each of them.
    """
    checked = settings.check.get()
    if checked:
        with part("specialize"):
            check(static)
    for name, run in PASSES.items():
        if name in without:
            continue
        with part(name):
            run(static)
            if checked:
                check(static, name)
        if after is not None:
            after(name)
