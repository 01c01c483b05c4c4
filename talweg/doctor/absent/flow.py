"""Reachability analysis: how far dependence and differentiability reach from a gradient's sources.

A value is reached *smoothly* (2) if a gradient comes back from it, *plainly* (1) if it merely
depends on a source.  A break is an operation with an operand that is reached smoothly and a result
that is not.  The walk goes over records of a tape or graph, and into the bodies of branches, loops
and calls; it is linear in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talweg.core.roles import Role
from talweg.prims import arithmetic

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive
    from talweg.graph.node import Node
    from talweg.graph.subgraph import Body

PLAIN, SMOOTH = 1, 2
Operation = tuple  # (primitive, keys of operands, keys of results, parameters, origin, results)


@dataclass
class Break:
    """A point where a path stops being differentiable.

    kind: "rule" (no derivative by these operands: `reason`), "dtype" (the result is no float),
    "stopped" (taken as a constant on request), "custom" (a user's gradient function gave None).
    inside: for an operation with a body, where the path breaks in there.
    """

    number: int
    operation: Operation
    operand: Any  # key of the first operand reached smoothly
    result: Any  # key of the result
    kind: str
    reason: Any = None
    whole: bool = True  # no operand at all has a derivative
    inside: tuple[Any, ...] = ()  # (flow of a body, its break, key of its output), or nothing


@dataclass
class Write:
    """A variable that is given a reached value, inside a function."""

    variable: Any
    operation: Operation


@dataclass
class Flow:
    """The keys that a list of operations reaches from some first keys, with a level for each."""

    operations: list[Operation]
    level: dict[Any, int]
    parent: dict[Any, tuple[int, Any]] = field(default_factory=dict)
    breaks: list[Break] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    partly: list[Operation] = field(default_factory=list)  # branches of which not all lead on
    sources: frozenset = frozenset()

    def path_to(self, key: int) -> list[int]:
        """Return the operations from a source to the value `key`, by number, in order."""
        numbers: list[int] = []
        while key in self.parent and key not in self.sources:
            number, key = self.parent[key]
            numbers.append(number)
        return numbers[::-1]

    def best_of(self, operation: Operation) -> int:
        """Return which result of an operation is reached best."""
        levels = [self.level.get(key, 0) for key in operation[2]]
        return levels.index(max(levels)) if levels else 0


class Walker:
    """Walks records and bodies, and remembers the answer for each body."""

    def __init__(self, cuts: Iterable[int] = ()):
        self._bodies: dict[tuple, tuple[list[int], Flow]] = {}
        self._alive: list = []  # bodies, so that their ids stay theirs
        self._cuts = frozenset(cuts)
        self._made: tuple[list, list[Operation], bytearray] | None = None

    # -- lists of operations

    def over_records(self, records: list, sources: Iterable[Any]) -> Flow:
        """Return the flow from recorded values over the records of a tape or graph.

        Most operations of a long tape have one result and a derivative by every operand; they are
        dealt with here, the others in `_step`.  Those that are not reached are left out.
        """
        level = {id(source): SMOOTH for source in sources}
        flow = Flow([], level, sources=frozenset(level))
        parent, operations, cuts = flow.parent, flow.operations, self._cuts
        for operation, easy in zip(*self._operations(records)):
            keys = operation[1]
            best = feeder = 0
            for key in keys:
                reached = level.get(key)
                if reached is not None and reached > best:
                    best, feeder = reached, key
            if not best:
                continue
            operations.append(operation)
            number = len(operations) - 1
            if easy:
                (key,) = operation[2]
                if key not in cuts and key not in level:
                    level[key] = best
                    parent[key] = number, feeder
                    continue
            self._step(flow, number, operation, [level.get(key, 0) for key in keys])
        return flow

    def _operations(self, records: list) -> tuple[list[Operation], bytearray]:
        """Return the records as operations, and for each whether it is an easy one; made once."""
        if self._made is not None and self._made[0] is records:
            return self._made[1:]
        plain: dict[int, bool] = {}
        made: list[Operation] = []
        easily = bytearray()
        for prim, operands, results, params, origin in records:
            keys = tuple(map(id, operands))
            if type(results) is tuple:
                made.append((prim, keys, tuple(map(id, results)), params, origin, results))
                easily.append(False)
                continue
            easy = plain.get(id(prim))
            if easy is None:
                easy = plain[id(prim)] = is_easy(prim)
            made.append((prim, keys, (id(results),), params, origin, (results,)))
            easily.append(easy and (prim.keeps_dtype or results.dtype.is_differentiable))
        self._made = records, made, easily
        return made, easily

    def over(self, operations: list[Operation], start: dict[Any, int]) -> Flow:
        """Return the flow from the keys of `start` over operations in order."""
        flow = Flow(operations, dict(start), sources=frozenset(start))
        level = flow.level
        for key in self._cuts.intersection(level):
            level[key] = SMOOTH  # a source may itself be taken as a constant
        for number, operation in enumerate(operations):
            own = [level.get(key, 0) for key in operation[1]]
            if any(own):
                self._step(flow, number, operation, own)
        return flow

    def _step(self, flow: Flow, number: int, operation: Operation, own: list[int]) -> None:
        prim, operands, keys, params, origin, results = operation
        levels, breaks = self._transfer(operation, own, flow)
        first = next(key for key, reached in zip(operands, own) if reached == max(own))
        for operand, (key, reached) in enumerate(zip(keys, levels)):
            if key in self._cuts and reached == SMOOTH:
                flow.breaks.append(Break(number, operation, first, key, "stopped"))
                reached = PLAIN
            if reached > flow.level.get(key, 0):
                flow.level[key] = reached
                if key not in flow.sources and key not in operands:
                    flow.parent[key] = number, self._feeder(operation, own, reached)
            if reached == PLAIN and max(own) == SMOOTH and breaks.get(operand) is not None:
                kind, reason, whole, inside = breaks[operand]
                flow.breaks.append(
                    Break(number, operation, first, key, kind, reason, whole, inside)
                )

    def _feeder(self, operation: Operation, own: list[int], reached: int) -> Any:
        """Return the operand that a result of this level comes from."""
        prim, operands = operation[0], operation[1]
        names = prim.operands
        best = None
        for place, (key, level) in enumerate(zip(operands, own)):
            if not level:
                continue
            if best is None:
                best = key
            if level >= reached and names[min(place, len(names) - 1)] not in prim.no_gradient:
                return key
        return best

    # -- one operation

    def _transfer(self, operation: Operation, own: list[int], flow: Flow) -> tuple[list, dict]:
        """Return the levels of the results, and by place why a result is not reached smoothly."""
        prim, _, keys, params, _, results = operation
        name = prim.name
        if name == "update_variable":
            flow.writes.append(Write(params["variable"], operation))
        if name == "call":
            return self._into(operation, [params["body"]], own, flow)
        if name == "branch":
            levels, found = self._into(operation, params["bodies"], own[1:], flow)
            return ([max(level, PLAIN if own[0] else 0) for level in levels], found)
        if name == "loop":
            return self._around(operation, own, flow)
        return self._by_rule(operation, own)

    def _by_rule(self, operation: Operation, own: list[int]) -> tuple[list, dict]:
        prim, _, keys, params, _, results = operation
        none_at = getattr(params.get("rule", prim), "returned_none", None)
        if none_at is not None:
            skipped = params.get("count", 0)
            through = [
                level
                for position, level in enumerate(own)
                if position >= skipped and position - skipped not in none_at
            ]
            if max(through, default=0) < max(own) == SMOOTH:
                inside = "custom", None, True, ()
                return [PLAIN] * len(keys), dict.fromkeys(range(len(keys)), inside)
        names, refusals = prim.operands, prim.no_gradient
        through, reason = 0, None
        for position, level in enumerate(own):
            refusal = refusals.get(names[min(position, len(names) - 1)]) if refusals else None
            if refusal is None:
                through = max(through, level)
            elif level == SMOOTH and reason is None:
                reason = refusal
        if through < SMOOTH:
            whole = len(refusals) >= len(names)
            kind = "stopped" if prim is arithmetic.stop_gradient else "rule"
            why = None if reason is None else (kind, reason, whole, ())
            return [PLAIN] * len(keys), dict.fromkeys(range(len(keys)), why)
        levels, found_at = [], {}
        for position, result in enumerate(results):
            if result.dtype.is_differentiable:
                levels.append(SMOOTH)
            else:
                levels.append(PLAIN)
                found_at[position] = "dtype", result.dtype, True, ()
        return levels, found_at

    # -- bodies

    def _into(
        self, operation: Operation, bodies: list, own: list[int], flow: Flow
    ) -> tuple[list, dict]:
        """Propagate levels through the bodies of a call or branch;
        a result has the best level of any body.
        """
        count = len(operation[2])
        levels, breaks = [0] * count, {}
        ways = []
        for body in bodies:
            outputs, inner = self.through(body, own)
            flow.writes += inner.writes
            flow.partly += inner.partly
            ways.append([reached == SMOOTH for reached in outputs])
            for output, reached in enumerate(outputs[:count]):
                levels[output] = max(levels[output], reached)
                if reached == PLAIN:
                    why = self._break_for(inner, key_of(body.outputs[output]))
                    if why is not None:
                        before = breaks[output][3] if output in breaks else ()
                        way_in = inner, why, key_of(body.outputs[output])
                        breaks[output] = "inside", None, True, (*before, way_in)
        if any(len(set(way)) > 1 for way in zip(*ways)):
            flow.partly.append(operation)
        levels[count - 1] = max(levels[count - 1], max(own, default=0) and SMOOTH)  # the history
        return levels, {output: why for output, why in breaks.items() if levels[output] == PLAIN}

    def _around(self, operation: Operation, own: list[int], flow: Flow) -> tuple[list, dict]:
        """Propagate levels through a loop: what one turn reaches is where the next begins."""
        params, count = operation[3], len(operation[2])
        body, own = params["body"], list(own)
        inner = None
        for _ in range(2 * len(own) + 1):
            outputs, inner = self.through(body, own)
            grown = [max(before, after) for before, after in zip(own, outputs)]
            if grown == own[: len(grown)]:
                break
            own[: len(grown)] = grown
        levels, breaks = [*own[: count - 1], SMOOTH], {}
        for output, reached in enumerate(levels[:-1]):
            if reached == PLAIN and inner is not None:
                why = self._break_for(inner, key_of(body.outputs[output]))
                if why is not None:
                    breaks[output] = (
                        "inside",
                        None,
                        True,
                        ((inner, why, key_of(body.outputs[output])),),
                    )
        if inner is not None:
            flow.writes += inner.writes
            flow.partly += inner.partly
        return levels, breaks

    def _break_for(self, inner: Flow, output: int | tuple) -> Break | None:
        """Return the break inside a body that keeps a gradient from coming back from an output."""
        found = breaks_before(inner, [output])
        return found[0] if found else None

    def through(self, body: Body, own: list[int]) -> tuple[list[int], Flow]:
        """Return the levels of a body's outputs for those of its inputs, and the flow inside."""
        own = [
            level if node.aval.dtype.is_differentiable or level < SMOOTH else PLAIN
            for node, level in zip(body.inputs, own)
        ]
        key = (id(body), *own)
        known = self._bodies.get(key)
        if known is None:
            self._alive.append(body)
            start = {key_of(node): level for node, level in zip(body.inputs, own) if level}
            flow = self.over(operations_of(body.nodes), start)
            known = [flow.level.get(key_of(node), 0) for node in body.outputs], flow
            self._bodies[key] = known
        return known


def is_easy(prim: Primitive) -> bool:
    """Return whether a result of the primitive is reached as well as its best operand."""
    special = prim.role in (Role.WRITE, Role.CUSTOM_RULE)
    return not (special or prim.no_gradient or getattr(prim, "returned_none", None) is not None)


def key_of(node: Node) -> Any:
    """Return the key of a node: the result of the operation it is."""
    if node.prim.role is Role.PROJECTION:
        return id(node.operands[0]), node.params["index"]
    return id(node)


def operations_of(nodes: Iterable[Any]) -> list[Operation]:
    """Return the nodes of a graph, in order, as operations."""
    found = []
    for node in nodes:
        if node.prim.role is Role.PROJECTION:
            continue
        operands = [key_of(operand) for operand in node.operands]
        if node.prim.multiple:
            keys: list = [(id(node), place) for place in range(len(node.aval))]
            results = tuple(node.aval)
        else:
            keys, results = [id(node)], (node.aval,)
        found.append((node.prim, operands, keys, node.params, node.origin, results))
    return found


def find_needed(flow: Flow, targets: Iterable[Any]) -> dict[Any, tuple[int, Any] | None]:
    """Return the reached keys that the targets depend on,
    with the operation and result that lead on.
    """
    level = flow.level
    onward: dict[Any, tuple[int, Any] | None] = {key: None for key in targets if key in level}
    number = len(flow.operations)
    for operation in reversed(flow.operations):
        number -= 1
        for through in operation[2]:
            if through in onward:
                for key in operation[1]:
                    if key in level and key not in onward:
                        onward[key] = number, through
                break
    return onward


def way_on(onward: dict, key: int | tuple) -> list[int]:
    """Return the operations from the value `key` to the target."""
    numbers = []
    step = onward.get(key)
    while step is not None:
        numbers.append(step[0])
        step = onward.get(step[1])
    return numbers


def breaks_before(flow: Flow, targets: list[Any], onward: dict | None = None) -> list[Break]:
    """Return the breaks on the way to the targets:
    those from which a gradient would come back first.
    """
    if onward is None:
        onward = find_needed(flow, targets)
    breaks = [found for found in flow.breaks if found.result in onward]
    if len(breaks) < 2:
        return breaks
    smooth = smoothly_before(flow, targets)
    rules = [found for found in breaks if found.kind == "custom"]
    ordered = [found for found in breaks if found.result in smooth and found not in rules]
    rest = [found for found in breaks if found not in ordered and found not in rules]
    return rules + ordered + rest


def smoothly_before(flow: Flow, targets: Iterable[Any]) -> set:
    """Return the keys from
    which the targets can be reached along derivatives, bodies taken as smooth.
    """
    found = set(targets)
    for prim, operands, keys, _, _, results in reversed(flow.operations):
        if not any(key in found and z.dtype.is_differentiable for key, z in zip(keys, results)):
            continue
        names = prim.operands
        for place, key in enumerate(operands):
            if names[min(place, len(names) - 1)] not in prim.no_gradient:
                found.add(key)
    return found
