"""A program through XLA, for arguments of one kind; called like an executor.

What stands around the compiled parts is `execute/compiled.py`'s: which arguments are variables'
values, random streams, results of unknown length, what regions keep aside.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from talweg.execute import compilation, interpret
from talweg.execute.compiled import Compiled
from talweg.execute.drawing import Drawing
from talweg.execute.stage_dump import Stages
from talweg.execute.xla.parts import PartsExecutable
from talweg.passes.faults import part
from talweg.passes.functionalize import Program


class XlaLowered(NamedTuple):
    """What of a lowered program its caller looks at; `states`: (variable, None, written)."""

    states: list
    guard: bool


class XlaManifest(NamedTuple):
    """What a program has been made into; see `execute/manifest.py`."""

    lowered: XlaLowered
    executable: PartsExecutable
    streams: list
    drawn: list
    exports: Any
    hosts: Any


class XlaProgram(Compiled):
    """A program compiled by XLA."""

    def _made(
        self, program: Program, avals: list, state: Any, stages: Stages, anew: bool
    ) -> XlaManifest:
        with compilation.collector_at_rest(), stages.to_be_sent():
            straight = compilation.straightened(
                program, avals, state, self._same, stages, without=("split",)
            )
            with part("XLA"):
                executable = PartsExecutable(straight, stages)
        states = [
            (variable, None, after is not before) for variable, before, after in straight.states
        ]
        guard = True  # that the interpreter runs what failed in a region, to say so, unless exact
        return XlaManifest(
            XlaLowered(states, guard),
            executable,
            straight.streams,
            straight.drawn,
            straight.exports,
            straight.hosts,
        )

    def _call_directly(self, program: Program, arguments: list, state: Any) -> list | None:
        return self._call(program, arguments, state)

    def _call(self, program: Program, arguments: list, state: Any) -> list | None:
        copies = self._copies(state) if self._updates else {}
        if self._is_for_others(arguments, state):
            return None
        for place, variable in self._same.items():
            if arguments[place] is not state.get(variable):
                return None
        inputs = self._inputs(arguments)
        drawing = Drawing(self._streams, self._drawn, state) if self._streams else None
        if drawing is not None:
            inputs += drawing.begin()
        states = [state[variable] for variable, _, _ in self.lowered.states]
        try:
            ok, outputs, after = self.executable(inputs, states)
        except BaseException:
            if drawing is not None:
                drawing.undo()
            raise
        if not ok:
            if drawing is not None:
                drawing.undo()
            return interpret.run(program, arguments, state)
        outputs = [np.array(x) for x in outputs]
        blocks = [outputs.pop() for _ in self._drawn]
        if self._exports is not None:
            outputs = self._exports.joined(outputs)
        for variable, value in zip(self._written, after):
            state[variable] = np.array(value)
        if drawing is not None:
            drawing.end(blocks[::-1])
        if self.hosted is not None and self.hosted.writes:
            del inputs, states
            self._write_aside(state, copies)
        return outputs
