"""Equations with a way of their own, by the name their declaration gives as `call`.

A way gets the builder and the equation, and gives the blocks that compute it, or None where it does
not apply: the NumPy kernel is called then.
"""

from __future__ import annotations

from collections.abc import Callable

from talweg.lower.blocks_control import choose, repeat
from talweg.lower.blocks_convolution import convolution
from talweg.lower.blocks_pooling import pooling
from talweg.lower.blocks_redraw import redraw
from talweg.lower.blocks_scan import scan
from talweg.lower.blocks_scatter import scatter
from talweg.lower.blocks_stacks import (
    appended,
    beginning,
    exported,
    fetched,
    stack_put,
    stack_row,
    widened,
)
from talweg.lower.products import matmul

BLOCKS: dict[str, Callable[..., list | None]] = {
    "matmul": matmul,
    "repeat": repeat,
    "choose": choose,
    "scan": scan,
    "redraw": redraw,
    "scatter": scatter,
    "stack_row": stack_row,
    "append": appended,
    "export": exported,
    "fetch": fetched,
    "stack_put": stack_put,
    "widen": widened,
    "head": beginning,
    "convolution": convolution,
    "pooling": pooling,
    "max_pool_scatter": pooling,
}
