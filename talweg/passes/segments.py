"""Segmentation of a program: steps on opaque values are separated from the rest.

An iterator is no array.  A step that takes one, as `IteratorGetNext` does, acts on the world, and
how large its results are is known only when they are there.  So a program that is given an iterator
is cut in front of such steps and behind them: they are left to the interpreter, and each stretch
between is a program of its own, which is compiled for the shapes of what it is given.

Slots keep their numbers.  A variable's value goes from segment to segment in the state; where a
later one uses an older value, that is an input like others.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from talweg.core.dim_walks import atoms_of
from talweg.graph.node import GRAPH, Node
from talweg.passes.functionalize import Program, Step, let_go

PURE = (None, GRAPH)  # effects of steps that may run earlier than they stand
FEW = 4  # steps that stay with the interpreter, which is at work before or after them


class Segment:
    """A stretch of a program, as a program; `opaque`: whether the interpreter runs it."""

    __slots__ = ("opaque", "program")

    def __init__(self, opaque: bool, program: Program):
        self.opaque, self.program = opaque, program


class Segments:
    """A segmented program, whose segments run one after the other.

    `fetched`: variables whose value at the start is an input of some segment, or a result, and the
    slot it has.  `last`: for each segment the slots that no later one needs.  `constants`: those
    among the results.  `opaque`: the slots that segments with opaque values take.
    """

    __slots__ = ("constants", "fetched", "last", "opaque", "parts", "updates")

    def __init__(
        self, parts: list[Segment], fetched: list[tuple], last: list[tuple], constants: list[tuple]
    ):
        self.parts, self.fetched, self.last, self.constants = parts, fetched, last, constants
        self.opaque = {slot for part in parts if part.opaque for slot in part.program.inputs}
        writing = [part for part in parts if part.program.changes]
        self.updates = len(writing)  # how many segments change variables


def split_segments(program: Program, positions: Iterable[int]) -> Segments | None:
    """Segment a program whose inputs at `positions` are opaque.

    None where nothing is left beside what the interpreter has to run.
    """
    stretches = _stretches(program, {program.inputs[position] for position in positions})
    if all(opaque for opaque, _ in stretches):
        return None
    return _Cut(program, stretches).segments()


def _stretches(program: Program, opaque: set[int]) -> list[tuple[bool, list[Step]]]:
    """Group the steps by whether they take opaque values.

    What only takes such a result apart follows it at once.
    """
    stretches: list[tuple[bool, list[Step]]] = []
    earliest_of = dict.fromkeys(opaque, 0)  # slot -> the first stretch that may use it
    for step in program.steps:
        used = slots_used(program, step)
        is_opaque = not opaque.isdisjoint(used) or _makes_opaque(step)
        earliest = max([earliest_of.get(slot, 0) for slot in used], default=0)
        if is_opaque and step.kind == "plain" and step.prim.effect in PURE and stretches[earliest:]:
            number = earliest if stretches[earliest][0] else len(stretches)
        else:
            number = (
                len(stretches) - 1
                if stretches and stretches[-1][0] is is_opaque
                else len(stretches)
            )
        if number == len(stretches):
            stretches.append((is_opaque, []))
        stretches[number][1].append(step)
        earliest_of.update(dict.fromkeys(slots_made(step), number))
        if is_opaque and _is_opaque(step):
            opaque.add(step.out)
    return _join_stretches(stretches)


def _join_stretches(stretches: list[tuple[bool, list[Step]]]) -> list[tuple[bool, list[Step]]]:
    """Merge short stretches into those that the interpreter runs."""
    found: list[tuple[bool, list[Step]]] = []
    for opaque, steps in stretches:
        short = len(steps) <= FEW and all(step.kind != "body" for step in steps)
        if found and found[-1][0] is (opaque or short):
            found[-1][1].extend(steps)
        else:
            found.append((opaque or short, list(steps)))
    return found


def _is_opaque(step: Step) -> bool:
    """Return whether a step on opaque values may give an opaque result."""
    aval = step.node.aval
    return type(aval) is tuple or aval.dtype.name == "variant"


def _makes_opaque(step: Step) -> bool:
    """Return whether a step makes an opaque value of plain ones: an `Optional`, an iterator."""
    aval = step.node.aval
    avals = aval if type(aval) is tuple else (aval,)
    return step.prim.effect == "host" and any([each.dtype.name == "variant" for each in avals])


def slots_used(program: Program, step: Step) -> set[int]:
    """Return the slots from which a step takes operands, variables and sizes."""
    found = {slot for slot in step.inputs if slot >= 0}
    found.update(before for _, before, _ in step.states)
    if step.dynamic:
        sizes = atoms_of(tuple(step.params.values()))
        found.update(program.places[atom][0] for atom in sizes)
    return found


def slots_made(step: Step) -> list[int]:
    """Return the slots that a step fills: of its result, and of variables that it changes."""
    return [step.out, *[after for _, before, after in step.states if after != before]]


class _Cut:
    """The builder of the segments' programs."""

    def __init__(self, program: Program, stretches: list[tuple[bool, list[Step]]]):
        self.whole, self.stretches = program, stretches
        self.used = [
            set().union(*[slots_used(program, step) for step in steps]) for _, steps in stretches
        ]
        self.constants = dict(program.constants)
        self.now = dict(program.starts)  # variable -> slot of its value so far
        self.versions = {slot: variable for variable, slot in program.starts.items()}
        for step in program.steps:
            self.versions.update({after: variable for variable, _, after in step.states})
        self.wanted = {*program.outputs}  # slots that a segment has to give

    def segments(self) -> Segments:
        """Build all segments."""
        given = [self._find_inputs(number) for number in range(len(self.stretches))]
        self.wanted.update(*[inputs for inputs, _ in given])
        parts = [self._part(number, *given[number]) for number in range(len(given))]
        starts = self.whole.starts.items()
        fetched = [(variable, slot) for variable, slot in starts if slot in self.wanted]
        results = [(s, self.constants[s]) for s in self.whole.outputs if s in self.constants]
        return Segments(parts, fetched, self._last(parts), results)

    def _find_inputs(self, number: int) -> tuple[list[int], dict]:
        """Return the inputs of a segment, and the variables that it takes from the state."""
        _, steps = self.stretches[number]
        made = {slot for step in steps for slot in slots_made(step)}
        inputs, starts = [], {}
        for slot in sorted(self.used[number] - made):
            variable = self.versions.get(slot)
            if variable is not None and self.now[variable] == slot:
                starts[variable] = slot
            elif slot not in self.constants:
                inputs.append(slot)
        for step in steps:
            self.now.update({variable: after for variable, _, after in step.states})
        return inputs, starts

    def _part(self, number: int, inputs: list[int], starts: dict) -> Segment:
        """Build one segment."""
        whole_program, (opaque, steps) = self.whole, self.stretches[number]
        program = Program()
        program.name, program.size = whole_program.name, whole_program.size
        program.inputs, program.starts = inputs, starts
        program.steps = [copy(step) for step in steps]
        used = self.used[number]
        program.constants = [(slot, self.constants[slot]) for slot in used & self.constants.keys()]
        for step in program.steps:
            for variable, before, after in step.states:
                if after != before:
                    program.writes[variable] = after
            if step.dynamic:
                sizes = atoms_of(tuple(step.params.values()))
                program.places.update({atom: whole_program.places[atom] for atom in sizes})
        program.changes = tuple([key for key in program.writes if type(key) is not Node])
        made_slots = [slot for step in steps for slot in slots_made(step)]
        program.outputs = [slot for slot in dict.fromkeys(made_slots) if slot in self.wanted]
        program.calls_python = opaque and whole_program.calls_python
        let_go(program)
        return Segment(opaque, program)

    def _last(self, parts: list[Segment]) -> list[tuple]:
        """Return the slots that each segment uses last."""
        later = {*self.whole.outputs}
        found = []
        for part in reversed(parts):
            known = {*part.program.inputs, *part.program.outputs}
            found.append(tuple(known - later))
            later |= known
        return found[::-1]
