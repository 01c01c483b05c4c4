"""Selection of the steps that the host runs while a program is specialized.

Everything is tried as equations first; what cannot be is left to the interpreter, alone: a loop or
branch as a whole, if its body has no region that would do; a call of what has no known size as a
whole, since it may be compiled by itself when the size is there.  Scalars that follow from what is
hosted stay there as long as nothing else is in them, so that a region is not cut in two for a
division.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core.aval import Aval
from talweg.core.dim_walks import substitute
from talweg.core.dims import Atom, Dim, of_atom
from talweg.core.errors import NeedsStaticError, OpError
from talweg.core.roles import Role, Trait
from talweg.graph.node import Node
from talweg.passes.fallback.host_steps import (
    HostFallback,
    Hosts,
    StreamAt,
    acts_on_world,
    is_plain,
    is_small,
    parts_of,
)
from talweg.passes.functionalize import Step
from talweg.passes.reasons import Reason
from talweg.passes.specialize.program import SpecializationError, Value
from talweg.passes.specialize.side_outputs import exports_of
from talweg.passes.specialize.stack_primitives import is_endless
from talweg.passes.specialize.trees import map_tree

if TYPE_CHECKING:
    from talweg.core.dims import Size
    from talweg.core.dtypes import DType

FEW = 64  # elements of what may stay with the interpreter where it need not
# Of what passes values on: what looks into its first operand
OPENING = frozenset((Role.PROJECTION, Role.INNER_VALUE))


def run_step(maker: Any, step: Step) -> None:
    """Specialize one step to equations if that is possible, or put it in a host region."""
    hosts: Hosts = maker.static.hosts
    if maker.static.within("early"):  # too little is known yet
        maker.compile_step(step)
        return
    trees = [maker.values.get(slot) for slot in _slots_read(maker, step)]
    parts = [part for tree in trees for part in parts_of(tree) if type(part) is HostFallback]
    if step in hosts.forced or (step.kind != "body" and acts_on_world(step)):
        forced = step in hosts.forced
        host(maker, step, "another step needs its history" if forced else "it acts on the world")
        return
    if step.kind == "state" and step.params.get("variable") in hosts.starts:
        host(maker, step, "a variable of unknown shape")
        return
    if Trait.PASSES_ON in step.prim.traits:
        if step.prim.role in OPENING and type(trees[0]) is HostFallback:
            host(maker, step)
            return
    elif parts:
        if not all(part.plain for part in parts) or _stays(hosts, step, trees):
            host(maker, step, _why(parts))
            return
        for slot in _slots_read(maker, step):
            maker.values[slot] = substitute_results(hosts, maker.values.get(slot))
    mark = hosts.mark() if _may_fail_late(step) else None
    before = len(maker.static.equations)
    try:
        maker.compile_step(step)
    except SpecializationError as error:
        if mark is not None:
            hosts.restore(mark)
        host(maker, step, str(error))
        return
    hosts.note_acting(maker.static.equations[before:])
    _learn(maker, step)


def _why(parts: list[HostFallback]) -> str:
    """Return the reason for which the host runs a step with such operands."""
    given = [part.aval.dtype.name for part in parts if part.maker is None]
    return f"values of dtype {given[0]} are not compiled" if given else ""


def _slots_read(maker: object, step: Step) -> list[int]:
    found = [slot for slot in step.inputs if slot >= 0]
    if step.kind == "body":
        found += [before for _, before, _ in step.states]
    return found


def _may_fail_late(step: Step) -> bool:
    """Return whether a step's specialization may fail after some of its equations were made."""
    lowering = step.prim.lowering
    plain = step.kind == "plain" and not step.dynamic and step.prim.elementwise
    return not plain or "expand" in lowering or "requires" in lowering


def _stays(hosts: Hosts, step: Step, trees: list) -> bool:
    """Return whether a step is so small that it runs where its operands are."""
    if step.kind not in ("plain", "checked") or step.prim.effect is not None:
        return False
    aval = step.node.aval
    if not is_small(trees, FEW) or not is_plain(aval) or not is_small([aval], FEW):
        return False
    own = max([tree.region for tree in trees if type(tree) is HostFallback])
    return max(map(hosts.region_of, trees)) == own


def substitute_results(hosts: Hosts, tree: object) -> Any:
    """Replace results of host steps in a tree by values; SpecializationError if there are none."""
    if type(tree) is tuple:
        return tuple([substitute_results(hosts, part) for part in tree])
    if not any(type(part) is HostFallback for part in parts_of(tree)):
        return tree
    return map_tree(lambda leaf: hosts.value_of(leaf) if type(leaf) is HostFallback else leaf, tree)


def places_kept_aside(maker: Any) -> set[int]:
    """Return the positions of a program's results that have no compiled value."""
    hosts, found = maker.static.hosts, set()
    if hosts is None:
        return found
    for place, slot in enumerate(maker.program.outputs):
        tree = maker.values[slot]
        if type(tree) is HostFallback and not (tree.plain and tree.region in hosts.drafts):
            exports_of(maker.static).places.append((place, tree))
            hosts.results_aside.append((place, tree))
            found.add(place)
    return found


def is_kept_as_state(maker: Any, variable: Any, slot: int) -> bool:
    """Return whether a variable's new value is one
    that only regions hold: it becomes that array.
    """
    hosts, tree = maker.static.hosts, maker.values[slot]
    if type(tree) is not HostFallback or tree.value is not None or tree.region not in hosts.drafts:
        return False
    if not tree.plain or tree.aval.dims != variable.shape.as_tuple():
        return False
    hosts.writes.append((variable, tree))
    return True


def leaving(maker: Any, results: list) -> list:
    """Return the results of a body; those of an equation's body must be values."""
    hosts = maker.static.hosts
    if hosts is None or hosts.outer is None:
        return results
    return [substitute_results(hosts, tree) for tree in results]


def host(maker: Any, step: Step, reason: str = "") -> None:
    """Add a step to a host region."""
    hosts: Hosts = maker.static.hosts
    if step.kind == "stream":
        raise SpecializationError(Reason.HOST_RANDOM)
    operands, params, streams = {}, step.params, {}
    for slot in _slots_read(maker, step):
        operands[slot] = maker.values.get(slot)
    if step.dynamic:
        sizes = _Sizes(maker)
        params = {key: sizes.substitute(value) for key, value in params.items()}
        for atom in sizes.missing:
            slot = maker.program.places[atom][0]
            operands[slot] = maker.values.get(slot)
    for variable, before, after in step.states:
        if type(variable) is Node:
            state = maker.static.stream(variable, variable.params["seeds"])
            operands[before] = StreamAt(state, maker.values[before])
            streams[after] = state
    draft = hosts.add(maker, step, params, operands)
    number = hosts.number_of(draft)
    if reason:
        hosts.reasons.setdefault(step.prim.name, reason)
    avals = {step.out: _aval(maker, step, params)}
    for _, before, after in step.states:
        if after not in (before, step.out):
            avals[after] = _aval_of(maker.values[before])
    for slot, aval in avals.items():
        host_value = maker.values[slot] = HostFallback(maker, slot, aval, number)
        host_value.stream = streams.get(slot)
        draft.steps[-1].results.append(host_value)


def _aval_of(tree: Any) -> Any:
    return Aval(tree.dims, tree.dtype) if type(tree) is Value else tree.aval


def _aval(maker: Any, step: Step, params: dict) -> Any:
    """Return the abstract values of the results of a host step."""
    sizes = _Sizes(maker)
    known = step.node.aval
    if type(known) is tuple:
        return tuple([sizes.aval(each) for each in known])
    aval = sizes.aval(known)
    if is_plain(aval) or step.kind not in ("plain", "checked"):
        return aval
    trees = [maker.values.get(slot) for slot in step.inputs]
    if not all(type(tree) in (Value, HostFallback) for tree in trees) or any(map(_is_stack, trees)):
        return aval
    try:
        inferred = step.prim.infer(*map(_aval_of, trees), **params)
    except (OpError, NeedsStaticError, SpecializationError, AttributeError, TypeError, ValueError):
        return aval  # the graph knew no more
    return inferred if is_plain(inferred) else aval


def _is_stack(tree: HostFallback | Value | None) -> bool:
    return type(tree) is Value and is_endless(tree)


class _Sizes:
    """A substitution of numbers for known sizes; `missing`: the unknown ones."""

    def __init__(self, maker: Any):
        self.maker = maker
        self.missing: set[Atom] = set()

    def substitute(self, value: Size | DType | tuple | None) -> Any:
        """Return a parameter with its known sizes substituted."""
        if type(value) is Dim:
            try:
                return substitute(value, self._atom)
            except OpError as error:
                raise SpecializationError(Reason.SIZE_REFUSED, error) from error
        if type(value) is tuple:
            return tuple([self.substitute(item) for item in value])
        return value

    def aval(self, aval: Any) -> Any:
        """Return an abstract value with its known sizes substituted."""
        if type(aval) is not Aval or aval.dims is None:
            return aval
        return Aval(self.substitute(aval.dims), aval.dtype)

    def _atom(self, atom: Atom) -> Any:
        number = self.maker.sizes.get(atom)
        if number is None:
            number = self._find(atom)
        if number is not None:
            return number
        self.missing.add(atom)
        return of_atom(atom)

    def _find(self, atom: Atom) -> int | None:
        slot, kind, place = self.maker.program.places.get(atom, (-1, "", 0))
        tree = self.maker.values.get(slot)
        if _is_stack(tree):
            return None
        if type(tree) is Value and (kind == "size" or tree.content is not None):
            return self.maker.size(atom)
        if type(tree) is HostFallback and kind == "size" and type(tree.aval) is Aval:
            size = tree.aval.dims[place] if tree.aval.dims is not None else None
            return size if type(size) is int else None
        return None


def _learn(maker: Any, step: Step) -> None:
    """Record sizes that a compiled step reveals and the graph did not know."""
    aval, value = step.node.aval, maker.values.get(step.out)
    if type(aval) is not Aval or aval.dims is None or type(value) is not Value or _is_stack(value):
        if value is not None and type(value) is not Value:
            note_maker(maker, value, step)
        return
    for size, number in zip(aval.dims, value.dims):
        if type(size) is Dim and not size.constant and len(size.terms) == 1:
            atoms, factor = size.terms[0]
            if factor == 1 and len(atoms) == 1 and not atoms[0].arguments:
                maker.sizes.setdefault(atoms[0], number)


def note_maker(maker: Any, tree: object, step: Step) -> None:
    """Record which step made a list or residuals."""
    makers = maker.static.hosts.makers
    for each in (tree, *(tree if type(tree) is tuple else ())):
        if type(each) not in (Value, HostFallback):
            makers.setdefault(id(each), (each, step))
