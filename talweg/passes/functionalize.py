"""Functionalization of graph nodes to a pure program: (inputs, state) -> (results, new state).

A `Program` is a list of steps over numbered slots.  Every variable that the nodes read or write
has a slot for the value it starts with; a write makes a new slot, and a read takes the slot of the
value it must see: the one at the start, unless it waits for something (`control_dependencies`, a
write before it in a function), then the one in force at its place.  The hidden stream of a random
operation is state like a variable's.  Executors see programs only.

Slots are let go after their last use.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dim_walks import atoms_of
from talweg.core.dims import Atom, Dim, same_dims
from talweg.core.dtypes import variant
from talweg.core.errors import invalid
from talweg.core.provenance import describe
from talweg.core.roles import Role
from talweg.graph.node import BODY, GRAPH, READ, WRITE, Node
from talweg.graph.subgraph import Body
from talweg.graph.walk import postorder, sources_of
from talweg.kernels.variable_updates import FETCHING
from talweg.kernels.variants import on_elements
from talweg.passes.optimize.factor_products import Factored, factor_additions
from talweg.prims.random import streams

if TYPE_CHECKING:
    from talweg.graph.handle import Handle


IN_PLACE = (Role.CALL, Role.AGAIN)  # of primitives whose body runs once, as if it stood there


class Step:
    """One kernel call: arguments from slots, the result (or results) into a slot."""

    __slots__ = (
        "dynamic",
        "everything",
        "free",
        "inputs",
        "kernel",
        "kind",
        "node",
        "out",
        "params",
        "prim",
        "remembers",
        "states",
    )

    def __init__(self, node: Node, inputs: tuple, out: int, kind: str, params: dict):
        self.node, self.prim, self.inputs, self.out = node, node.prim, inputs, out
        self.kind, self.params = kind, params  # kind: plain, checked, state, stream, body
        self.dynamic = False  # whether a parameter holds sizes to be filled in
        self.free: tuple = ()
        self.states: tuple = ()  # ((variable, slot before, slot after), ...)
        self.kernel: Any = None  # a function of the inputs alone, for steps that are no more
        self.remembers = False  # whether the history of its bodies is used
        self.everything = False  # whether that history is of everything


class Program:
    """A functionalized program, which executors run; see this module's docstring."""

    __slots__ = (
        "calls",
        "calls_python",
        "carried",
        "changes",
        "constants",
        "device",
        "gives_way",
        "heavy",
        "inlined",
        "inputs",
        "name",
        "needs",
        "notes",
        "outputs",
        "places",
        "size",
        "starts",
        "steps",
        "tier",
        "writes",
    )

    def __init__(self) -> None:
        self.name = "program"
        self.device: str | None = None  # where it runs, if it says so (`tf.device` inside)
        self.inputs: list[int] = []
        self.constants: list[tuple[int, Any]] = []
        self.starts: dict[Any, int] = {}  # variable -> slot of its value at the start
        self.needs: dict[Any, bool] = {}  # variables that must have a value -> if it is read
        self.steps: list[Step] = []
        self.outputs: list[int] = []
        self.writes: dict[Any, int] = {}  # variable -> slot of its value at the end
        self.places: dict[Atom, tuple[int, str, int]] = {}  # sizes: slot, kind, axis or element
        self.size = 0
        self.tier: Any = None  # how it is run; `execute/executor.py` knows
        self.calls: Any = False  # which calls of Python can wait for others; sessions know
        self.notes: list[str] = []  # what runs otherwise than it was written
        self.calls_python = False  # whether it may call functions of the user, or wait for threads
        self.gives_way = False  # whether others waited in vain for what it held while in Python
        self.heavy = False  # whether steps may be machine code one by one: it is never compiled
        self.carried: Any = None  # slots that only calls use; `execute/interpret.py` knows
        self.changes: tuple = ()  # the variables among what it writes
        self.inlined: int | None = None  # how many steps it is with its calls put in place


class UnfedError(Exception):
    """A required placeholder is fed no value."""

    def __init__(self, node: Node):
        super().__init__(node)
        self.node = node


def functionalize(
    outputs: Iterable[Node], inputs: Iterable[Node] = (), effects: Iterable[Node] = ()
) -> Program:
    """Build the program that computes `outputs` and runs `effects` from values of `inputs`."""
    return _ProgramBuilder(tuple(inputs)).build(tuple(outputs), tuple(effects))


def program_of(body: Body, kept: tuple = (), everything: bool = False) -> Program:
    """Return the program of a body, cached, which also gives the inner nodes `kept`.

    With `everything`, operations with bodies inside keep everything, too.
    """
    key = (kept, everything)
    found = body.programs.get(key)
    if found is None:
        found = functionalize((*body.outputs, *kept), body.inputs, body.effects)
        if everything:
            for step in found.steps:
                step.everything = step.remembers
        found.name, found.device = body.name or "body", body.device
        found = body.programs.setdefault(key, found)  # another thread may have made it, too
    return found


def find_called_program(step: Step) -> tuple[Program, tuple]:
    """Return the program of the body that a step is inlined to (`IN_PLACE`).

    That of a call gives what is asked for of its inner values, too, which are the second result.
    """
    body, inner = step.params["body"], ()
    if step.prim.role is Role.CALL and (step.remembers or step.everything):
        inner = body.everything() if step.everything else body.find_requested()
    return program_of(body, inner, step.everything), inner


def count_inlined_steps(program: Program) -> int:
    """Count the steps of a program with its calls inlined.

    A function that calls another twice, which calls another twice, ..., is exponentially many.
    """
    pending = [program]
    while pending:
        top = pending[-1]
        called = [find_called_program(step)[0] for step in top.steps if step.prim.role in IN_PLACE]
        missing = [each for each in called if each.inlined is None]
        if missing and top.inlined is None:
            pending += missing
            continue
        pending.pop()
        top.inlined = len(top.steps) + sum([each.inlined or 0 for each in called])
    return program.inlined or 0


class _ProgramBuilder:
    def __init__(self, inputs: tuple):
        self.program = Program()
        self.slots: dict[Node, int] = {}
        self.now: dict[Any, int] = {}  # variable -> slot of its value at this place
        self.fed_sizes: set[Atom] = set()
        self.factored: dict[Node, Factored] = {}
        self.read: dict[Any, int] = {}  # variable -> slot of its value at the start
        self.same: dict[tuple, Any] = {}  # what was computed already, and where it is
        self.remembered: set[Node] = set()  # operations with bodies whose history is used
        for node in inputs:
            slot = self.new_slot()
            self.slots[node] = slot
            self.program.inputs.append(slot)
            self._learn_sizes(node, slot)

    def new_slot(self) -> int:
        self.program.size += 1
        return self.program.size - 1

    def _learn_sizes(self, node: Node, slot: int) -> None:
        """Bind the symbolic sizes that the value of a fed node determines."""
        dims: Any = getattr(node.aval, "dims", None) or ()
        for axis, size in enumerate(dims):
            if type(size) is Dim and not size.constant and len(size.terms) == 1:
                atoms, factor = size.terms[0]
                if factor == 1 and len(atoms) == 1 and not atoms[0].arguments:
                    self.fed_sizes.add(atoms[0])
                    self.program.places.setdefault(atoms[0], (slot, "size", axis))

    def before(self, node: Node) -> tuple:
        """Return the nodes that must precede `node`: none for a fed one."""
        if node in self.slots:
            return ()
        sources = sources_of(node)
        if not self.fed_sizes or not node.table.extra.get(node):
            return sources
        operands = node.operands
        missing = {
            atom.source
            for _, value in node.key[1]
            for atom in atoms_of(value)
            if atom not in self.fed_sizes
        }
        return tuple([s for s in sources if s in operands or s in missing])

    def build(self, outputs: tuple, effects: tuple) -> Program:
        needed: dict[Node, None] = {}
        postorder((*effects, *outputs), needed, self.before)
        ordered = [node for node in needed if node.serial is not None and node not in self.slots]
        ordered.sort(key=lambda node: node.serial)  # type: ignore[arg-type, return-value]
        order: dict[Node, None] = {}
        if len(ordered) > 1:
            postorder(ordered, order, self.before)
            postorder((*effects, *outputs), order, self.before)
        else:
            order = needed
        for node in order:
            if (
                node.prim.role is Role.PROJECTION
                and node.params["index"] == len(node.inputs[0].aval) - 1
            ):
                self.remembered.add(node.inputs[0])
        self.factored = factor_additions(list(order), {*outputs, *effects, *self.slots})
        skipped = {part for match in self.factored.values() for part in match.total.operands}
        for node in order:
            if node not in self.slots and node not in skipped:
                self.add(node)
        program = self.program
        program.notes = [str(match) for match in self.factored.values()]
        program.outputs = [self.slots[node] for node in outputs]
        self._note_needs({self.slots[node] for node in effects if node in self.slots})
        program.writes = {v: s for v, s in self.now.items() if s != program.starts.get(v)}
        program.changes = tuple([key for key in program.writes if type(key) is not Node])
        let_go(program)
        for step in program.steps:
            step.kernel, step.inputs = _direct(step)
        return program

    def start_of(self, variable: Handle | Node) -> int:
        """Return the slot of a variable's initial value."""
        slot = self.program.starts.get(variable)
        if slot is None:
            slot = self.program.starts[variable] = self.new_slot()
            self.now.setdefault(variable, slot)
        return slot

    def add(self, node: Node) -> None:
        """Emit the step(s) of one node."""
        prim, effect = node.prim, node.prim.effect
        if node in self.factored:
            self._emit_factored(self.factored[node])
        elif effect == READ:
            self._read(node)
        elif effect == WRITE:
            self._write(node)
        elif prim.role is Role.CONSTANT:
            self._constant(node)
        elif prim.role is Role.PLACEHOLDER:
            raise UnfedError(node)
        elif prim.role is Role.ORDER:
            self.slots[node] = self.slots[node.inputs[0]]
        elif prim.role is Role.GROUP:
            self._step(node, (), "plain")
        elif effect == BODY:
            self._bodies(node)
        elif prim is streams.reserve_stream:
            self._stream(node)
        else:
            checked = prim.checked and effect != GRAPH and _has_unknown(node)
            inputs = tuple([self.slots[x] for x in node.operands])
            key = (prim, node.key[1], inputs)
            same = self.same.get(key) if effect is None else None
            if same is not None:  # equal but for constants that are two variables of the function
                self.slots[node] = same
                return
            self._step(node, inputs, "checked" if checked else "plain")
            if effect is None:
                self.same[key] = self.slots[node]

    def _constant(self, node: Node) -> None:
        """Assign a slot to a constant, one for equal constants."""
        content = node.params["value"]
        for other, slot in self.same.setdefault(("constant", content.digest), []):
            if other.has_array(content):
                self.slots[node] = slot
                return
        slot = self.slots[node] = self.new_slot()
        self.same["constant", content.digest].append((content, slot))
        self.program.constants.append((slot, content.array))

    def _emit_factored(self, match: Factored) -> None:
        """Emit a sum of two products as one product of a sum."""
        total = self._step(match.total, tuple([self.slots[part] for part in match.parts]), "plain")
        shared = self.slots[match.shared]
        inputs = (shared, total.out) if match.left else (total.out, shared)
        product = self._step(match.product, inputs, "plain")
        self.slots[match.total] = product.out

    def _step(self, node: Node, inputs: tuple, kind: str) -> Step:
        out = self.new_slot()
        self.program.calls_python |= node.prim.effect == "host"
        step = Step(node, inputs, out, kind, node.params)
        self.slots[node] = out
        for _, value in node.key[1]:
            for atom in atoms_of(value):
                step.dynamic = True
                self._place(atom, node)
        if step.dynamic and kind == "plain" and node.prim.checked and node.prim.effect is None:
            step.kind = "checked"  # sizes that were not known are checked when they are
        self.program.steps.append(step)
        return step

    def _place(self, atom: Atom, node: Node) -> None:
        """Record the slot that holds a size's number when the program runs."""
        if atom in self.program.places:
            return
        source = atom.source
        if source is None or source not in self.slots:
            raise invalid(
                "TW205",
                f"{node.prim.name}: the size {atom!r} is not known here; the operation "
                f"was made at {describe(node.origin)}",
            )
        self.program.places[atom] = (self.slots[source], atom.kind, atom.place)

    def _read(self, node: Node) -> None:
        variable = node.params["variable"]
        start = self.start_of(variable)
        if node.prim.role is Role.INITIALIZED:
            slot = self.now[variable] if node.inputs else start
            self._step(node, (slot,), "state")
            return
        if node.prim.role is Role.READ_OR_INITIAL:
            first, *controls = node.operands
            slot = self.now[variable] if controls else start
            self._step(node, (slot, self.slots[first]), "state")
            return
        slot = self.now[variable] if node.inputs else start
        if slot == start:
            self.read[variable] = start
        self.slots[node] = slot

    def _note_needs(self, effects: set) -> None:
        """Require a value of a variable that is read, unless only branches read it.

        A branch reads what its body uses, once it is known which body runs.
        """
        program = self.program
        used = find_demanded_slots(program) | effects
        taken = {slot for step in program.steps for slot in step.inputs}
        for variable, start in self.read.items():
            if start in used or start not in taken:
                program.needs[variable] = True

    def _write(self, node: Node) -> None:
        variable = node.params["variable"]
        if node.params["rule"] == "assign":
            self.start_of(variable)
            present: int = -1
        else:
            start = self.start_of(variable)
            present = self.now[variable]
            if present == start:
                self.program.needs.setdefault(variable, False)
        operands = tuple([self.slots[x] for x in node.operands])
        before = self.now[variable]
        step = self._step(node, (present, *operands), "state")
        self.now[variable] = step.out
        step.states = ((variable, before, step.out),)
        if node.params["rule"] in FETCHING:
            self.slots[node] = before

    def _stream(self, node: Node) -> None:
        """Thread a hidden random stream through the program as state of its operation."""
        self.start_of(node)
        before = self.now[node]
        step = self._step(node, (), "stream")
        self.now[node] = self.new_slot()
        step.states = ((node, before, self.now[node]),)

    def _bodies(self, node: Node) -> None:
        """Emit an operation with bodies: their variables go in, and come out changed."""
        used: dict[Any, bool] = {}
        is_call = node.prim.role is Role.CALL
        selected = node.params["body"].implementation if is_call else None
        for body in (selected,) if selected is not None else bodies_of(node):
            inner = program_of(body)
            self.program.calls_python |= inner.calls_python
            for variable in inner.starts:
                used[variable] = used.get(variable, False) or variable in inner.writes
            for variable in inner.writes:
                used[variable] = True
        for variable in used:
            self.start_of(variable)
        before = {variable: self.now[variable] for variable in used}
        step = self._step(node, tuple([self.slots[x] for x in node.operands]), "body")
        states = []
        for variable, written in used.items():
            after = self.new_slot() if written else before[variable]
            states.append((variable, before[variable], after))
            self.now[variable] = after
        step.states = tuple(states)
        step.remembers = node in self.remembered
        if selected is not None:
            step.params = {"body": selected}


def find_demanded_slots(program: Program) -> set[int]:
    """Return the slots that a program uses whichever branches it takes."""
    used = {*program.outputs, *[slot for slot, _, _ in program.places.values()]}
    for step in program.steps:
        if step.kind == "state":  # the variable itself is asked for by `_write`
            used.update(step.inputs[1:])
        else:
            used.update(step.inputs[:1] if step.prim.role is Role.BRANCH else step.inputs)
    return used


def let_go(program: Program) -> None:
    """Mark each slot for release after its last use (liveness)."""
    last: dict[int, int] = {}
    sized = {slot for slot, _, _ in program.places.values()}
    keep = {*program.outputs, *program.writes.values(), *sized}
    keep.update(slot for slot, _ in program.constants)
    for number, step in enumerate(program.steps):
        for slot in (*step.inputs, *[before for _, before, _ in step.states], step.out):
            last[slot] = number
    free: dict[int, list] = {}
    for slot, number in last.items():
        if slot not in keep and slot >= 0:
            free.setdefault(number, []).append(slot)
    for number, step in enumerate(program.steps):
        step.free = tuple(free.get(number, ()))


def _direct(step: Step) -> tuple[Any, tuple]:
    """Return the function that computes a step from its inputs alone, if any, and the inputs."""
    if step.dynamic or step.kind not in ("plain", "state"):
        return None, step.inputs
    if step.kind == "plain":
        kernel = step.prim.numpy
        if getattr(step.node.aval, "dtype", None) is variant and step.prim.effect is None:
            kernel = on_elements(kernel)
        return (partial(kernel, **step.params) if step.params else kernel), step.inputs
    rule = step.params.get("rule")
    shape = step.params["variable"].shape if "variable" in step.params else None
    if rule not in _SIMPLE or shape is None or not shape.is_fully_defined():
        return None, step.inputs
    operand = step.node.operands[0].aval
    if operand.dims is None or not same_dims(operand.dims, shape.as_tuple()):
        return None, step.inputs  # sizes are compared when they are known
    return _SIMPLE[rule], (step.inputs[1:] if rule == "assign" else step.inputs)


def _take(value: np.generic | np.ndarray) -> Any:
    return value


_SIMPLE = {"assign": _take, "add": np.add, "sub": np.subtract}  # rules without a check left


def bodies_of(node: Node) -> list[Body]:
    """Return the bodies among a node's parameters."""
    found = []
    for _, value in node.key[1]:
        for item in value if type(value) is tuple else (value,):
            if isinstance(item, Body):
                found.append(item)
    return found


def _has_unknown(node: Node) -> bool:
    """Return whether an operand's shape was not fully known when the node was checked."""
    for operand in node.operands:
        dims = getattr(operand.aval, "dims", ())
        if dims is None or any(type(size) is Dim for size in dims):
            return True
    return False
