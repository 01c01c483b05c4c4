"""The result of lowering: a loop program, and the roles of its buffers."""

from __future__ import annotations

from typing import Any

from talweg.lower.ir.loops import Buffer, LoopProgram


class Lowered:
    """A loop program with its input, output and variable buffers, in order.

    `guard`: whether the last output is a number that is 1 if all went well; if not, no variable has
    been changed, and the other outputs mean nothing.
    """

    __slots__ = ("guard", "inputs", "outputs", "program", "reasons", "states")

    def __init__(self, program: LoopProgram):
        self.program = program
        self.inputs: list[Buffer] = []
        self.outputs: list[Buffer] = []
        self.states: list[tuple[Any, Buffer, bool]] = []  # variable, buffer, whether written
        self.reasons: list[tuple[str, str]] = []
        self.guard = False
