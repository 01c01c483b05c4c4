"""Lowering of pooling and patches: the choice by primitive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.lower.fusion.inline import is_plain
from talweg.lower.pooling import gradients
from talweg.lower.pooling.windows import reduction
from talweg.passes.specialize.program import Equation

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


def pooling(builder: LoweringBuilder, equation: Equation, name: str) -> list | None:
    """Lower a primitive of pooling to blocks; None for the NumPy kernel's part."""
    values = (*equation.inputs, *equation.outputs)
    if not all(x.size and is_plain(x.dtype) for x in values):
        return None
    return _WAYS[equation.prim.name](builder, equation, name)


_WAYS = {
    "max_pool": reduction,
    "avg_pool": reduction,
    "max_pool_gather": gradients.gather,
    "max_pool_scatter": gradients.scatter,
    "avg_pool_transpose": gradients.avg_pool_transpose,
    "patches_transpose": gradients.patches_transpose,
}
