"""Branches, loops and lists as `passes/straight.py` knows them: by the name of the primitive."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from talweg.passes.straight import MOVING, WAYS
from talweg.passes.straight_branches import branch
from talweg.passes.straight_lists import LISTS, Lists
from talweg.passes.straight_loops import loop
from talweg.passes.straight_slices import RANGES, SLICES


def _on_lists(way: Callable[..., Any], maker: Any, step: Any, params: dict) -> Any:
    inputs = [maker.values.get(slot) for slot in step.inputs]
    return way(Lists(maker.straight, step.node), inputs, params)


WAYS.update(branch=branch, loop=loop, **RANGES)
WAYS.update({name: partial(_on_lists, way) for name, way in LISTS.items()})
MOVING.update(SLICES)
