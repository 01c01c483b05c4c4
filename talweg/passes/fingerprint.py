"""Fingerprint of a program: text that is the same in every process, the key of the cache.

Under it what a program was made into is kept on disk.  Whatever has no such text (functions of the
user, objects) raises `UnprintableError`: such programs are made anew in each process.  Variables,
random streams, inner nodes and sizes that the graph does not know are told by their place in the
text.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dim_walks import functions_in
from talweg.core.dims import Atom, Dim
from talweg.core.dtypes import DType
from talweg.core.primitive import REGISTRY
from talweg.core.shapes import TensorShape
from talweg.graph.handle import Handle
from talweg.graph.node import Content, Node
from talweg.graph.subgraph import Body
from talweg.passes.functionalize import Program, Step

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


class UnprintableError(ValueError):
    """A program holds an object that has no text, so that it has no fingerprint."""


def text_of(program: Program) -> str:
    """Print the fingerprint of a program; UnprintableError if it has none."""
    teller = _FingerprintWriter(program)
    teller.program(program)
    return "\n".join(teller.lines)


class _FingerprintWriter:
    """The printer of a fingerprint; it numbers the objects it has printed."""

    def __init__(self, program: Program):
        self.lines: list[str] = []
        self.places = program.places
        self.starts = {variable: place for place, variable in enumerate(program.starts)}
        self.bodies: dict[Body, int] = {}
        self.nodes: dict[Node, str] = {}
        self.atoms: dict[Atom, int] = {}

    def program(self, program: Program) -> None:
        """Print the steps of a program, with its inputs and outputs."""
        for variable, slot in program.starts.items():
            self.lines.append(f"{slot} = start {self.start(variable)}")
        for slot, content in program.constants:
            self.lines.append(f"{slot} = {self.array(np.asarray(content))}")
        for step in program.steps:
            self.lines.append(self.step(step))
        writes = [(self.starts[variable], slot) for variable, slot in program.writes.items()]
        self.lines.append(f"{program.inputs} -> {program.outputs}, writes {writes}")

    def start(self, variable: Handle | Node) -> str:
        """Print the initial slots: variables and random streams."""
        if isinstance(variable, Handle):
            return f"{variable.dtype.name} {variable.shape}"
        if isinstance(variable, Node):
            return "stream"
        raise UnprintableError(f"{variable!r}")

    def step(self, step: Step) -> str:
        """Print the line of a step, after the lines of its bodies."""
        params = self.params(step.prim, step.params.items())
        states = [(self.starts[variable], *slots) for variable, *slots in step.states]
        flags = (step.kind, step.dynamic, step.remembers, step.everything)
        return f"{step.out} = {step.prim.name}{step.inputs} {params} {states} {flags}"

    def params(self, prim: Primitive, items: Any) -> str:
        """Print the parameters of an operation."""
        if REGISTRY.get(prim.name) is not prim:
            raise UnprintableError(f"the operation {prim.name}")
        return ", ".join([f"{name}={self.value(value)}" for name, value in items])

    def value(self, value: Any) -> str:
        """Print a parameter, or a part of one."""
        kind = type(value)
        if kind in _PLAIN:
            return f"{kind.__name__} {value!r}"
        if kind is tuple:
            return f"({', '.join(map(self.value, value))})"
        if kind is Dim:
            terms = [" * ".join([str(f), *map(self.atom, atoms)]) for atoms, f in value.terms]
            return f"size {' + '.join(terms)} + {value.constant}"
        if isinstance(value, DType):
            return f"dtype {value.name}"
        if isinstance(value, (np.ndarray, np.generic)):
            return self.array(np.asarray(value))
        if kind is Content:
            return self.array(value.array)
        if kind is Body:
            return self.body(value)
        if isinstance(value, Handle) and value in self.starts:
            return f"variable {self.starts[value]}"
        if isinstance(value, Node) and value in self.nodes:
            return f"node {self.nodes[value]}"
        if isinstance(value, TensorShape):
            return f"shape {value}"
        raise UnprintableError(f"a parameter {value!r}")

    def array(self, array: np.ndarray) -> str:
        """Print a constant by its bits."""
        if array.dtype.hasobject:
            raise UnprintableError("an array of objects")
        bits = hashlib.sha256(array.tobytes()).hexdigest()
        return f"array {array.dtype.str} {array.shape} {bits}"

    def atom(self, atom: Atom) -> str:
        """Return the number of an unknown size, after a line that defines it at its first use.

        It is known by its place in the program, or in the order of the text.
        """
        number = self.atoms.get(atom)
        if number is not None:
            return f"atom {number}"
        if atom.arguments:
            for function in functions_in(atom.arguments):
                self._atom_line(function)
        return self._atom_line(atom)

    def _atom_line(self, atom: Atom) -> str:
        if atom in self.atoms:
            return f"atom {self.atoms[atom]}"
        place = self.places.get(atom)
        if place is None:
            place = (self.nodes.get(atom.source), atom.place)  # type: ignore[arg-type]
        arguments = ", ".join([self.value(argument) for argument in atom.arguments])
        self.atoms[atom] = number = len(self.atoms)
        self.lines.append(f"atom {number} = {atom.kind} {place} ({arguments})")
        return f"atom {number}"

    def body(self, body: Body) -> str:
        """Return the number of a body, whose lines precede its first use."""
        number = self.bodies.get(body)
        if number is not None and all(node in self.nodes for node in body.nodes):
            return f"body {number}"
        self.bodies[body] = number = len(self.bodies)
        asked = body.find_requested()
        ordered = body.nodes_with((*body.asked, *asked))
        for position, node in enumerate(ordered):
            self.nodes[node] = f"{number}.{position}"
        serials = sorted([node.serial for node in ordered if node.serial is not None])
        lines = [self.node(node, serials) for node in ordered]
        parts = (body.inputs, body.outputs, body.effects, body.asked, asked)
        ends = [[self.nodes[node] for node in part] for part in parts]
        self.lines += [*lines, f"body {number} {ends}"]
        return f"body {number}"

    def node(self, node: Node, serials: list[int]) -> str:
        """Print the line of an operation of a body."""
        order = None if node.serial is None else serials.index(node.serial)
        avals = node.aval if isinstance(node.aval, tuple) else (node.aval,)
        kinds = [f"{aval.dtype.name} {self.value(aval.dims)}" for aval in avals]
        inputs = [self.nodes[source] for source in node.inputs]
        controls = [self.nodes.get(source) for source in node.table.controls.get(node, ())]
        head = f"{self.nodes[node]} = {node.prim.name}{inputs} {len(node.operands)} {controls}"
        return f"{head} {order} {kinds} {self.params(node.prim, node.key[1])}"
