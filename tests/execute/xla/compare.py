"""One declaration as a program through XLA, beside its own kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.execute.stage_dump import Stages
from talweg.execute.xla.parts import PartsExecutable
from talweg.passes.specialize.program import StaticProgram
from tests.lower import declared


def executable_of(static: StaticProgram) -> PartsExecutable:
    return PartsExecutable(static, Stages("sample"))


def results(prim: Any, arrays: list, params: dict) -> tuple[list[np.ndarray], PartsExecutable]:
    """What XLA gives, and what it was compiled to."""
    executable = executable_of(declared.static_of(prim, arrays, params))
    ok, found, _ = executable([np.asarray(array) for array in arrays], [])
    assert ok, f"{prim.name}: its guard refuses {arrays}, {params}"
    return [np.asarray(x) for x in found], executable
