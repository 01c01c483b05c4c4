"""The registry of lowerings of single equations, by the declaration's field `call`.

A way gets the builder and the equation, and gives the blocks that compute it, or None where it does
not apply: the NumPy kernel is called then.
"""

from __future__ import annotations

from collections.abc import Callable

from talweg.lower.blocks.control_flow import choose, repeat
from talweg.lower.blocks.rejection import redraw
from talweg.lower.blocks.scan import scan
from talweg.lower.blocks.scatter import scatter
from talweg.lower.blocks.small_matrices import factor, find_determinants, invert
from talweg.lower.blocks.stacks import (
    append_rows,
    beginning,
    export_rows,
    fetch_rows,
    stack_of_array,
    stack_put,
    stack_row,
)
from talweg.lower.convolution.convolution import convolution
from talweg.lower.matmul.products import matmul
from talweg.lower.pooling.pooling import pooling

BLOCKS: dict[str, Callable[..., list | None]] = {
    "matmul": matmul,
    "repeat": repeat,
    "choose": choose,
    "scan": scan,
    "redraw": redraw,
    "scatter": scatter,
    "invert": invert,
    "factor": factor,
    "determinants": find_determinants,
    "stack_row": stack_row,
    "append": append_rows,
    "export": export_rows,
    "fetch": fetch_rows,
    "stack_put": stack_put,
    "widen": stack_of_array,
    "head": beginning,
    "convolution": convolution,
    "pooling": pooling,
    "max_pool_scatter": pooling,
}
