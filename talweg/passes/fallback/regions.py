"""Host regions: groups of steps that a compiled program runs by one call into Python.

A `Region` takes arrays, those of its operands that compiled steps make, and gives arrays, those of
its results that compiled steps use.  What else it needs or gives is kept aside
(`passes/specialize/side_outputs.py`) while the program runs.  Its steps lie in chunks, one for each
program they are of and for each time that it changes: a call put in place has slots of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from talweg.core.dim_walks import atoms_of
from talweg.core.provenance import describe
from talweg.kernels.random.philox import MASK64, stream_of_state
from talweg.kernels.variable_updates import IN_PLACE, UpdateRule
from talweg.kernels.variants import History, List
from talweg.passes.fallback.host_steps import (
    Draft,
    HostFallback,
    Hosts,
    HostStep,
    StreamAt,
    parts_of,
)
from talweg.passes.functionalize import Program, let_go
from talweg.passes.specialize.program import DeclinedError, Equation, StaticProgram, Value
from talweg.passes.specialize.side_outputs import SideOutputs, exports_of, numbers_of, rows_of
from talweg.passes.specialize.stack_primitives import is_endless
from talweg.passes.specialize.trees import ListRange, Stack, UniformList
from talweg.prims import arithmetic, reduce

UNSAID = frozenset(("item", "with_rule", "group", "size_value", "shape_of", "identity", "reshape"))
MOST_NAMES = 6


class RegionInterpreter:
    """The interpreter that runs the chunks of regions; the executor sets it."""

    run: Any = None


class Chunk:
    """A sequence of steps of one program within a region.

    `sources`: for each input of `program`, what gives it; `results`: what stands for each output.
    """

    __slots__ = ("program", "results", "sources")

    def __init__(self) -> None:
        self.program = Program()
        self.program.heavy = True
        self.sources: list[Any] = []
        self.results: list[HostFallback] = []


class Region:
    """A host region: one call into Python; see this module's docstring.

    `name`: its operations, for people.

    `guarded`: whether the first operand says if all went well so far.  `exact`: whether what goes
    wrong here would go wrong in the interpreter as well; within loops, what was computed before may
    be wrong already.
    """

    __slots__ = (
        "chunks",
        "copies",
        "drops",
        "exact",
        "exports",
        "guarded",
        "name",
        "results",
        "streams",
    )

    def __init__(self, name: str, exports: SideOutputs, exact: bool):
        self.name, self.exports, self.exact = name, exports, exact
        self.chunks: list[Chunk] = []
        self.results: list[HostFallback] = []
        self.streams: dict[HostFallback, int] = {}  # results -> which operand has where they began
        self.drops: list[HostFallback] = []  # what nobody needs afterwards
        self.guarded = False
        self.copies = False  # whether something may keep a part of what it is given

    def __call__(self, *arrays: object) -> tuple:
        """Run all steps and return the results that are wanted as arrays."""
        if self.guarded:
            if not arrays[0]:
                raise DeclinedError
            arrays = arrays[1:]
        if self.copies:
            arrays = tuple([np.array(array) for array in arrays])
        side_storage = self.exports.now()
        try:
            for chunk in self.chunks:
                given = [source(arrays, side_storage) for source in chunk.sources]
                chunk_results = RegionInterpreter.run(chunk.program, given, {})
                for host_value, value in zip(chunk.results, chunk_results):
                    side_storage[host_value] = value if self.copies else _apart(value, arrays)
        except Exception as error:
            error.talweg_exact = self.exact  # type: ignore[attr-defined]
            raise
        results = tuple(
            [
                self._result(host_value, side_storage[host_value], arrays)
                for host_value in self.results
            ]
        )
        for host_value in self.drops:
            side_storage.pop(host_value, None)
        return results

    def _result(self, host_value: HostFallback, value: Any, arrays: tuple) -> Any:
        """Convert a result for compiled steps: an array of the shape that was inferred."""
        if host_value in self.streams:
            start = stream_of_state(arrays[self.streams[host_value]])
            return np.uint64(value.counter - start.counter & MASK64)
        if np.shape(value) != host_value.aval.dims:
            raise DeclinedError
        return value

    def lines(self) -> list[str]:
        """Print the region's steps as text."""
        found = []
        for chunk in self.chunks:
            for step in chunk.program.steps:
                origin = getattr(step.node, "origin", None)
                place = f"  # {describe(origin)}" if origin is not None else ""
                found.append(f"${step.out} = {step.prim.name}{step.inputs}{place}")
        return found


def _apart(value: UpdateRule | np.generic | np.ndarray, arrays: tuple) -> Any:
    """Copy a value if it lies in memory that will be written to."""
    if type(value) is UpdateRule:
        value.operands = tuple([_apart(x, arrays) for x in value.operands])
    if isinstance(value, np.ndarray) and any(np.may_share_memory(value, x) for x in arrays):
        return value.copy()
    return value


# -- making them


def add_regions(static: StaticProgram, exact: bool) -> None:
    """Insert the regions of a program as equations, each at its position."""
    hosts = static.hosts
    if not hosts:
        return
    maker = _RegionMaker(static, hosts, exports_of(hosts.whole.static), exact)
    for number, draft in sorted(hosts.drafts.items()):
        maker.make(number, draft)
    maker.note_last_uses()
    keys = {equation: 2 * _level_of(hosts, equation) for equation in static.equations}
    for number, draft in hosts.drafts.items():
        keys[draft.equation] = 2 * number + 1
        static.equations.append(draft.equation)
    static.equations.sort(key=lambda equation: keys[equation])


def _level_of(hosts: Hosts, equation: Equation) -> int:
    if equation in hosts.levels:
        return hosts.levels[equation]
    return max([hosts.level(x) for x in equation.inputs], default=0)


class _RegionMaker:
    """The builder of regions from drafts."""

    def __init__(self, static: StaticProgram, hosts: Hosts, exports: SideOutputs, exact: bool):
        self.static, self.hosts, self.exports, self.exact = static, hosts, exports, exact
        self.guards: set[Value] = set()  # those which an earlier region has looked at
        self.uses: dict[HostFallback, Region] = {}  # the last region that uses what is kept aside
        self.aside: set[HostFallback] = set()  # what regions keep aside
        self.users: dict[HostFallback, set[int]] = {}  # by id, the steps that use it
        self.kept = {
            host_value for _, host_value in hosts.writes
        }  # what is needed after the last region
        self.kept.update(host_value for _, host_value in hosts.results_aside)
        for draft in hosts.drafts.values():
            for each in draft.steps:
                for host_value in self.find_host_operands(each):
                    self.users.setdefault(host_value, set()).add(id(each))
        for draft in hosts.drafts.values():
            for each in draft.steps:
                each.waits = self._waits(each)

    def find_host_operands(self, each: HostStep) -> list[HostFallback]:
        """Return the operands of a step that are results of regions."""
        parts = [part for tree in each.operands.values() for part in parts_of(tree)]
        found = [self.hosts.made.get(x, x) if type(x) is Value else x for x in parts]
        return [x for x in found if type(x) is HostFallback]

    def _waits(self, each: HostStep) -> bool:
        """Return whether a step updates rows of a variable that nothing reads before the end.

        It is checked in its region, and written when the whole program has succeeded: in place,
        whoever else reads what the variable was.
        """
        step, hosts = each.step, self.hosts
        if step.kind != "state" or each.params.get("rule") not in IN_PLACE:
            return False
        (result,) = each.results
        starts = [
            before
            for variable, before, after in self.static.states
            if before is after and (variable, result) in hosts.writes
        ]
        before = each.operands[step.inputs[0]]
        if before not in starts or result in self.users or result.value is not None:
            return False
        hosts.updated.append(each.params["variable"])
        return True

    def make(self, number: int, draft: Draft) -> None:
        """Build the region of a draft, as the kernel of its equation."""
        region = Region(name_of(draft.steps), self.exports, self.exact)
        equation = draft.equation
        guard = self._guard(number) if self.exact else None
        region.guarded = guard is not None
        places: dict[Value, int] = {}
        self._chunks(region, draft, places)
        region.results = draft.results
        streams = [(x, x.stream) for x in draft.results if x.stream is not None]
        region.streams = {x: places.setdefault(state, len(places)) for x, state in streams}
        equation.inputs = (*([] if guard is None else [guard]), *places)
        equation.outputs = tuple([x.value for x in draft.results if x.value is not None])
        equation.node = draft.steps[0].step.node if draft.steps else None
        equation.prim.numpy = region  # its name stays: rules go by the names of primitives

    def _guard(self, number: int) -> Value | None:
        """Return the conjunction of the guards that are known before a region."""
        found = None
        for guard in self.static.guards:
            if guard.content is not None or guard in self.guards:
                continue
            if self.hosts.level(guard) <= number:
                self.guards.add(guard)
                params = {"axes": tuple(range(len(guard.dims))), "keepdims": False}
                total = self.static.apply(reduce.reduce_all, [guard], params)
                if found is not None:
                    total = self.static.apply(arithmetic.logical_and, [found, total], {})
                found = total
        return found

    def _chunks(self, region: Region, draft: Draft, places: dict) -> None:
        """Build the chunks of a region in order; `places` collects the arrays that it takes."""
        runs: list[list[HostStep]] = []
        given: set[HostFallback] = set()
        for each in draft.steps:
            compound = [x for x in each.operands.values() if type(x) not in (HostFallback, Value)]
            made = {
                self.hosts.made.get(part, part) if type(part) is Value else part
                for tree in compound
                for part in parts_of(tree)
            }
            if not runs or runs[-1][-1].maker is not each.maker or made & given:
                runs.append([])
                given = set()
            runs[-1].append(each)
            given.update(each.results)
        for run in runs:
            maker = _ChunkMaker(self, region, places)
            region.chunks.append(maker.make(run))
        for each in draft.steps:
            self.uses.update(dict.fromkeys(self.find_host_operands(each), region))
        chunk_results = [host_value for chunk in region.chunks for host_value in chunk.results]
        acts = any(each.acts or each.step.kind == "body" for each in draft.steps)
        region.copies = acts or any(map(_is_compound, chunk_results))
        self.aside.update(chunk_results)
        for host_value in chunk_results:
            self.uses.setdefault(host_value, region)

    def note_last_uses(self) -> None:
        """Mark the results that each region uses last, so that it releases them."""
        for host_value, region in self.uses.items():
            if host_value in self.aside and host_value not in self.kept:
                region.drops.append(host_value)


def _is_compound(host_value: HostFallback) -> bool:
    """Return whether a tree may be more than one array."""
    return type(host_value.aval) is tuple or host_value.aval.dtype.name == "variant"


class _ChunkMaker:
    """The builder of a chunk's program."""

    def __init__(self, parent: _RegionMaker, region: Region, places: dict):
        self.parent, self.region, self.places = parent, region, places
        self.chunk = Chunk()
        self.here: dict[int, Any] = {}  # slots that have something -> what
        self.made: set[HostFallback] = set()

    def make(self, run: list[HostStep]) -> Chunk:
        """Build the chunk of these steps, which are of one program."""
        self.maker = run[0].maker
        program = self.chunk.program
        program.size, program.name = self.maker.program.size, "region"
        for each in run:
            self._step(each)
        wanted = [x for x in self.made if self._is_wanted(x, run)]
        self.chunk.results = wanted
        program.outputs = [host_value.slot for host_value in wanted]
        let_go(program)
        return self.chunk

    def _is_wanted(self, host_value: HostFallback, run: list[HostStep]) -> bool:
        """Return whether a consumer outside these steps needs the result."""
        if host_value.value is not None or host_value in self.parent.kept:
            return True
        return not self.parent.users.get(host_value, set()) <= set(map(id, run))

    def _step(self, each: HostStep) -> None:
        step, operands = copy(each.step), each.operands
        if each.waits:
            first, *step.inputs = step.inputs
            dims = operands[first].dims
            step.kind, step.states = "plain", ()
            step.kernel = partial(UpdateRule, each.params["rule"], dims)
            operands = {slot: x for slot, x in operands.items() if slot in step.inputs}
        moved = {slot: self._slot(slot, tree) for slot, tree in operands.items()}
        step.inputs = tuple([moved.get(slot, slot) for slot in step.inputs])
        step.states = tuple([(v, moved.get(b, b), a) for v, b, a in step.states])
        if step.dynamic:
            step.params = each.params
            step.dynamic = False
            for value in each.params.values():
                for atom in atoms_of(value):
                    step.dynamic = True
                    slot, kind, position = self.maker.program.places[atom]
                    self.chunk.program.places[atom] = (moved[slot], kind, position)
        for host_value in each.results:
            self.here[host_value.slot] = host_value
            self.made.add(host_value)
        self.chunk.program.steps.append(step)

    def _slot(self, slot: int, tree: Any) -> int:
        """Return the slot in which the chunk has an operand."""
        made_by = self.parent.hosts.made
        host_value = made_by.get(tree, tree) if type(tree) is Value else tree
        if type(tree) is StreamAt:
            host_value = made_by.get(tree.blocks, tree.blocks)
            host_value = host_value if type(host_value) is HostFallback else tree
        if type(host_value) is HostFallback:
            if host_value.maker is self.maker:
                slot = host_value.slot
            tree = host_value
        if slot in self.here:
            return slot
        self.here[slot] = tree
        program = self.chunk.program
        if type(tree) is Value and tree.content is not None:
            array = np.broadcast_to(tree.content, tree.dims)
            program.constants.append((slot, array if tree.dims else tree.content.reshape(())))
            return slot
        program.inputs.append(slot)
        self.chunk.sources.append(self._source(tree))
        return slot

    def _source(self, tree: object) -> Callable[[tuple, dict], Any]:
        """Make a function that converts arrays and side outputs to an operand."""
        if tree is None:
            return lambda arrays, kept: None
        if type(tree) is HostFallback:
            return lambda arrays, kept: kept[tree]
        if type(tree) is Value:
            return self._array(tree)
        if type(tree) is tuple:
            parts = [self._source(part) for part in tree]
            return lambda arrays, kept: tuple([part(arrays, kept) for part in parts])
        if type(tree) is List:
            parts = [self._source(part) for part in tree.values()]
            return lambda arrays, kept: List.of([part(arrays, kept) for part in parts])
        if type(tree) is History:
            return self._history(tree)
        if type(tree) is StreamAt:
            state, blocks = map(self._source, (tree.state, tree.blocks))
            return lambda arrays, kept: stream_of_state(state(arrays, kept)).skip(
                int(blocks(arrays, kept))
            )
        if type(tree) is ListRange:
            start, step, count = map(self._source, (tree.start, tree.step, tree.count))
            return lambda arrays, kept: numbers_of(*[x(arrays, kept) for x in (start, step, count)])
        assert type(tree) is Stack
        return self._stack(tree)

    def _array(self, value: Value) -> Callable[[tuple, dict], Any]:
        host_value = self.parent.hosts.made.get(value)
        if host_value is not None:
            return lambda arrays, kept: kept[host_value]
        if value.content is not None:
            array = np.broadcast_to(value.content, value.dims)
            return lambda arrays, kept: array
        place = self._place(value)
        if not is_endless(value):
            return lambda arrays, kept: arrays[place]
        length = self._source(self.parent.static.lengths[value])
        return lambda arrays, kept: rows_of(arrays[place], length(arrays, kept))

    def _place(self, value: Value) -> int:
        return self.places.setdefault(value, len(self.places))

    def _stack(self, tree: Stack) -> Callable[[tuple, dict], Any]:
        if type(tree.rows) is UniformList:
            row = self._source(tree.rows.value)
            return lambda arrays, kept: List.of([row(arrays, kept)] * tree.size)
        if tree.length is not None:
            place, length = self._place(tree.rows), self._source(tree.length)
            return lambda arrays, kept: List.of(list(rows_of(arrays[place], length(arrays, kept))))
        rows = self._source(tree.rows)
        return lambda arrays, kept: List.of(list(rows(arrays, kept)))

    def _history(self, tree: History) -> Callable[[tuple, dict], Any]:
        parts = {node: self._source(part) for node, part in tree.values.items()}
        trips: Any = tree.trips if type(tree.trips) is int else self._source(tree.trips)

        def rebuild(arrays: tuple, kept: dict) -> History:
            count = trips if type(trips) is int else int(trips(arrays, kept))
            return History(count, {node: part(arrays, kept) for node, part in parts.items()})

        return rebuild


def name_of(steps: list[HostStep]) -> str:
    """Name a region after its operations."""
    names = list(dict.fromkeys([each.step.prim.name for each in steps]))
    said = [name for name in names if name not in UNSAID] or names or ["result"]
    more = f" and {len(said) - MOST_NAMES} more" if len(said) > MOST_NAMES else ""
    return ", ".join(said[:MOST_NAMES]) + more
