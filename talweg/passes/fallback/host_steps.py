"""Selection of host steps: operations of a compiled program that the interpreter runs.

A step whose result has no size that is known beforehand, or a dtype without numbers, is *hosted*,
and so is whatever else cannot be specialized.  Hosted steps are gathered into regions; each is
one equation, a call of Python (`regions.py`).  What comes out of a region with a known shape is a
value like others as soon as something compiled asks for it; all else is kept aside for later
regions, under the `HostFallback` that stands for it.

Regions are numbered by how often a path changes from compiled to hosted steps and back: a value has
the level of the last region that it depends on, plus one; a step belongs to the first region that
follows all its operands.  So a program with one mask has one region, however many steps work on
what the mask has left, and no region waits for itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.dtypes import of_numpy
from talweg.kernels.variants import History, List, Tree
from talweg.passes.functionalize import Step, bodies_of, program_of
from talweg.passes.reasons import Reason
from talweg.passes.specialize.program import (
    KINDS,
    Equation,
    SpecializationError,
    StaticProgram,
    Value,
)
from talweg.passes.specialize.stack_primitives import Construct
from talweg.passes.specialize.trees import ListRange, Sparse, Stack, array_of, arrays_of

ACTING = frozenset(("host", "random"))  # effects of steps that stay in their order
ACTS = frozenset(("host", "random", "graph"))  # effects of equations that stay in their order


class HostRequiredError(Exception):
    """A step must run on the host because a host step needs its result uncompiled."""

    def __init__(self, step: Step):
        super().__init__(step.prim.name)
        self.step = step


class HostFallback:
    """A value in the interpreter's form: the result of a host step, or an uncompiled argument.

    `maker` and `slot`: where it is while the step's program runs.  `aval`: shape and dtype, or a
    tuple where there are several results; sizes may be unknown.  `value`: what stands for it among
    equations, if anything there needs it.
    `stream`: of a random stream, where that is before the program runs; `value` is the number of
    blocks taken since then.
    """

    __slots__ = ("aval", "maker", "region", "slot", "stream", "value")
    content = None  # as of values that are no constants

    def __init__(self, maker: Any, slot: int, aval: Any, region: int = 0):
        self.maker, self.slot, self.aval, self.region = maker, slot, aval, region
        self.value: Value | None = None
        self.stream: Value | None = None

    @property
    def plain(self) -> bool:
        """Whether the value is a dense array as compiled programs have them."""
        return is_plain(self.aval)

    def __repr__(self) -> str:
        return f"<hosted {self.aval!r}>"


class StreamAt:
    """The state of a random stream in the interpreter's form, advanced by `blocks` from `state`.

    `state`: where it is before the whole program runs; `blocks`: a value, or the stream itself, if
    a hosted step gives it.
    """

    __slots__ = ("blocks", "state")

    def __init__(self, state: Value, blocks: Value):
        self.state, self.blocks = state, blocks


class HostStep:
    """A step of a region, with the parameters that are known by now filled in.

    `operands`: what each slot it reads holds; `results`: what stands for what it gives.
    """

    __slots__ = ("acts", "maker", "operands", "params", "results", "step", "waits")

    def __init__(self, maker: Any, step: Step, params: dict, operands: dict, acts: bool):
        self.maker, self.step, self.params = maker, step, params
        self.operands, self.acts = operands, acts
        self.waits = False  # whether it changes a variable when the whole program has succeeded
        self.results: list[HostFallback] = []


class Draft:
    """A region under construction; `equation` represents it in the program from the start."""

    __slots__ = ("equation", "results", "steps")

    def __init__(self, number: int):
        prim = Construct(f"region{number}", {}, multiple=True, effect="host")
        self.equation = Equation(prim, (), {})  # type: ignore[arg-type]
        self.steps: list[HostStep] = []
        self.results: list[HostFallback] = []  # those that equations need


class Hosts:
    """The host regions of one static program."""

    def __init__(self, static: StaticProgram, forced: set[Step], outer: Hosts | None = None):
        self.static, self.forced, self.outer = static, forced, outer
        self.drafts: dict[int, Draft] = {}
        self.levels: dict[Equation, int] = {}
        self.least: dict[Equation, int] = {}  # levels of what acts, because of what acted before
        self.acted = (0, 0)  # from which region, and level, on the next thing that acts may be
        self.made: dict[Value, HostFallback] = {}
        self.makers: dict[int, tuple] = {}  # by id: (what is no array, the step that gave it)
        self.reasons: dict[str, str] = {} if outer is None else outer.reasons
        self.arguments: list[tuple[int, HostFallback]] = []  # (place, what stands for it)
        self.starts: dict[Any, HostFallback] = {}  # variables that are not compiled
        self.bodies: list[Hosts] = []
        self.constants: list[tuple[HostFallback, Any]] = []
        self.writes: list[tuple[Any, HostFallback]] = []  # variables that get what is kept aside
        self.updated: list[Any] = []  # those of them of which some rows change
        self.results_aside: list[
            tuple[int, HostFallback]
        ] = []  # (place, a result that is kept aside)

    @property
    def whole(self) -> Hosts:
        """The host steps of the outermost program."""
        return self if self.outer is None else self.outer.whole

    def constant(self, slot: int, array: np.ndarray) -> HostFallback:
        """Return the placeholder of a constant that has no compiled form."""
        array = np.asarray(array)
        found = HostFallback(None, slot, Aval(array.shape, of_numpy(array.dtype)))
        self.whole.constants.append((found, array))
        return found

    def inside(self, static: StaticProgram) -> Hosts:
        """Return the regions of a body in this program."""
        found = Hosts(static, self.forced, self)
        self.whole.bodies.append(found)
        return found

    def forget(self) -> None:
        """Break the reference cycles, except those that a run needs."""
        for hosts in (*self.bodies, self):
            for draft in hosts.drafts.values():
                for host_value in [x for each in draft.steps for x in each.results]:
                    host_value.maker = host_value.value = host_value.stream = None
            for held in (hosts.drafts, hosts.levels, hosts.least, hosts.made, hosts.makers):
                held.clear()
            hosts.static = hosts.outer = None  # type: ignore[assignment]
        self.bodies = []

    def __len__(self) -> int:
        return len(self.drafts)

    def has_bodies(self) -> bool:
        """Return whether a host step is a whole loop, branch or call."""
        steps = [each for draft in self.drafts.values() for each in draft.steps]
        return any(each.step.kind == "body" for each in steps)

    # -- levels

    def level(self, value: Value) -> int:
        """Return the number of the first region that may use a value."""
        maker = value.maker
        if maker is None:
            return 0
        levels, pending = self.levels, [maker]
        while pending:
            equation = pending[-1]
            if equation in levels:
                pending.pop()
                continue
            before = [x.maker for x in equation.inputs if x.maker is not None]
            missing = [x for x in before if x not in levels]
            if missing:
                pending += missing
                continue
            pending.pop()
            below = [levels[x] for x in before]
            levels[equation] = max(below, default=0)
            levels[equation] = max(levels[equation], self.least.get(equation, 0))
        return levels[maker]

    def region_of(self, tree: object) -> int:
        """Return the number of the first region that may use this operand."""
        found = 0
        for part in parts_of(tree):
            if type(part) is HostFallback:
                found = max(found, part.region)
            elif part in self.made:
                found = max(found, self.made[part].region)
            else:
                found = max(found, self.level(part))
        return found

    def note_acting(self, equations: Iterable[Equation]) -> None:
        """Order new equations with effects behind earlier effects."""
        for equation in equations:
            if equation.prim.effect in ACTS and equation not in self.levels:
                self.least[equation] = self.acted[1]
                level = max([self.level(x) for x in equation.inputs], default=0)
                level = self.levels[equation] = max(level, self.acted[1])
                self.acted = (level, level)

    # -- values

    def value_of(self, host_value: HostFallback) -> Value:
        """Return the value that represents a result of a region."""
        if host_value.value is None:
            if not host_value.plain or host_value.region not in self.drafts:
                raise SpecializationError(Reason.SIZE_OF_VALUE)
            draft = self.drafts[host_value.region]
            value = host_value.value = Value(host_value.aval.dims, host_value.aval.dtype)
            value.maker = draft.equation
            draft.results.append(host_value)
            self.made[value] = host_value
        return host_value.value

    def add(self, maker: Any, step: Step, params: dict, operands: dict) -> Draft:
        """Add a step to a region and return that region."""
        for tree in operands.values():
            self._check(tree)
        acts = acts_on_world(step)
        number = max([self.region_of(tree) for tree in operands.values()], default=0)
        if acts:
            number = max(number, self.acted[0])
            self.acted = (number, number + 1)
        draft = self.drafts.get(number)
        if draft is None:
            draft = self.drafts[number] = Draft(number)
            self.levels[draft.equation] = number + 1
        draft.steps.append(HostStep(maker, step, params, operands, acts))
        return draft

    def number_of(self, draft: Draft) -> int:
        """Return the number of a region."""
        return self.levels[draft.equation] - 1

    def _check(self, tree: object) -> None:
        """Check that the operand can be given to a region in the interpreter's form."""
        if can_be_given(tree, self.static):
            return
        _, step = self.makers.get(id(tree), (None, None))
        if step is None or step in self.forced:
            raise SpecializationError(Reason.HOST_LIST)
        raise HostRequiredError(step)

    # -- taking back

    def mark(self) -> list:
        """Return a mark for `restore`, which undoes additions after it."""
        found: list[Any] = []
        hosts: Hosts | None = self
        while hosts is not None:
            found += _containers(hosts.static)
            found += [(hosts.drafts, len(hosts.drafts)), (hosts.least, len(hosts.least))]
            found += [(each.steps, len(each.steps)) for each in hosts.drafts.values()]
            found += [(each.results, len(each.results)) for each in hosts.drafts.values()]
            found += [(hosts.made, len(hosts.made)), (hosts, hosts.acted)]
            hosts = hosts.outer
        return found

    def restore(self, mark: list) -> None:
        """Undo all additions after the mark."""
        for container, count in mark:
            if type(container) is Hosts:
                container.acted = count
            elif type(container) is list:
                for each in container[count:]:
                    if type(each) is HostFallback:
                        each.value = None
                del container[count:]
            else:
                while len(container) > count:
                    container.popitem()


def _containers(static: StaticProgram) -> list:
    """Return the lists and dictionaries of a program with their lengths."""
    names = [name for kind in type(static).__mro__ for name in getattr(kind, "__slots__", ())]
    held: list[Any] = [getattr(static, name, None) for name in names]
    return [(each, len(each)) for each in held if type(each) in (list, dict)]


def acts_on_world(step: Step) -> bool:
    """Return whether a step, or one in its bodies, has effects beside its results."""
    if step.kind != "body":
        return step.prim.effect in ACTING and step.kind != "stream"
    inner = [each for body in bodies_of(step.node) for each in program_of(body).steps]
    return any(map(acts_on_world, inner))


def is_plain(aval: object) -> bool:
    """Return whether shape and dtype are those of a compiled value."""
    if type(aval) is not Aval or aval.dims is None or aval.dtype.name not in KINDS:
        return False
    return all(type(size) is int for size in aval.dims)


def parts_of(tree: object) -> list:
    """Return the values and host results in any content of a slot."""
    if type(tree) in (Value, HostFallback):
        return [tree]
    if type(tree) is tuple:
        return [part for each in tree for part in parts_of(each)]
    if type(tree) is StreamAt:
        return [tree.state, tree.blocks]
    if type(tree) is Sparse:
        return [part for entry in tree.entries for part in parts_of(entry)]
    return arrays_of(tree) if isinstance(tree, Tree) else []


def can_be_given(tree: object, static: StaticProgram) -> bool:
    """Return whether the interpreter's form of a value can be made on demand."""
    if tree is None or type(tree) in (HostFallback, ListRange, StreamAt):
        return True
    if type(tree) is Value:
        return not tree.dims or tree.dims[0] < 1 << 40 or tree in static.lengths
    if type(tree) is tuple:
        return all(can_be_given(each, static) for each in tree)
    if type(tree) is List:
        return all(can_be_given(each, static) for each in tree.values())
    if type(tree) is Stack:
        if tree.growing or tree.loose or tree.rows is None:
            return False
        known = tree.length is not None or tree.size < 1 << 40
        return type(array_of(tree.rows)) is Value and known
    if type(tree) is History:
        return all(can_be_given(each, static) for each in tree.values.values())
    return False


def is_small(trees: Iterable, most: int) -> bool:
    """Return whether all values are arrays of a few elements."""
    for tree in trees:
        aval = tree.aval if type(tree) is HostFallback and tree.plain else tree
        dims = getattr(aval, "dims", None)
        if dims is None or math.prod(dims) > most:
            return False
    return True
