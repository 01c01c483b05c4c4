"""A program as machine code, for arguments of one kind: lowered, compiled, called.

Variables that it writes are written in place where nobody else can see the old value; an array that
somebody else refers to (a tensor, a view) is copied first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.dtypes import of_numpy
from talweg.execute import interpret
from talweg.execute.llvm.executable import Executable
from talweg.graph.node import Node
from talweg.lower.build import Lowered, build
from talweg.passes.functionalize import Program
from talweg.passes.pipeline import optimize
from talweg.passes.straight import NotStraightError, Straight, specialize


class Compiled:
    """A program compiled for arguments of the shapes `avals`; called like an executor.

    `lowered` is the stage before machine code, for those who want to look.
    """

    def __init__(self, program: Program, avals: list[Aval], state: Any):
        straight = straightened(program, avals, state)
        self.lowered: Lowered = build(straight)
        straight.forget()
        self.executable = Executable(self.lowered.program)
        states = self.lowered.states
        self._read = [variable for variable, _, written in states if not written]
        self._written = [variable for variable, _, written in states if written]
        self._shapes = [(variable, buffer.shape) for variable, buffer, _ in states]
        self._guard = self.lowered.guard
        self._stateless = not states

    def __call__(self, program: Program, arguments: list, state: Any) -> list:
        """The outputs; `state` is changed by what is written."""
        if self._stateless:
            outputs = self.executable(arguments, ())
        else:
            inputs = arguments + [state[variable] for variable in self._read]
            arrays = [exclusive(state, variable) for variable in self._written]
            outputs = self.executable(inputs, arrays)
        if self._guard and not outputs.pop():
            return interpret.run(program, arguments, state)
        if not self._stateless:
            for variable, array in zip(self._written, arrays):
                state[variable] = array
        return outputs


def straightened(program: Program, avals: list[Aval], state: Any) -> Straight:
    """The optimized straight program, for what variables are now."""
    states = {}
    for variable in program.starts:
        if type(variable) is Node:
            raise NotStraightError("it draws random numbers from a stream")
        array = state.get(variable, interpret.MISSING)
        if array is interpret.MISSING:
            raise NotStraightError(f"the variable {variable.name} has no value")
        states[variable] = Aval(array.shape, of_numpy(array.dtype))
    straight = specialize(program, avals, states)
    optimize(straight)
    return straight


def exclusive(state: Any, variable: Any) -> np.ndarray:
    """A variable's array, which may be written in place: its own if nobody else refers to it."""
    own = getattr(state, "exclusive", None)
    if own is not None:
        return own(variable)
    return np.array(state[variable])
