"""Branches and loops of TensorFlow's first generation: which nodes lie in which.

`Switch`, `Merge`, `Enter`, `Exit` and `NextIteration` do not say what belongs together.  Each
tensor gets a *path*: the branches ("branch", predicate, side) and loops ("loop", frame) it lies in,
outermost first.  A `Switch` adds a branch, the `Merge` of both sides of one predicate takes it off;
`Enter` adds a loop, `Exit` takes it off; any other node lies as deep as its deepest input.
Then every `Merge` is a result of a tf.cond, and every frame a tf.while_loop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from talweg.core.errors import OpError, UnimplementedError, compose, value_error
from talweg.interop.graph_def.reading import NodeRecord, Reference

if TYPE_CHECKING:
    from collections.abc import Callable

Path = tuple
SWITCH = frozenset(("Switch", "RefSwitch"))
MERGE = frozenset(("Merge", "RefMerge"))
ENTER = frozenset(("Enter", "RefEnter"))
EXIT = frozenset(("Exit", "RefExit"))
NEXT = frozenset(("NextIteration", "RefNextIteration"))
STRUCTURE = SWITCH | MERGE | ENTER | EXIT | NEXT
PASSING = frozenset(("Identity", "RefIdentity"))
TRIGGER = "ControlTrigger"
DEEPEST = 100  # branches and loops inside one another
COUNTED = 256  # merges up to which those of one predicate may depend on each other


def _common(paths: list[Path]) -> Path:
    """Return the innermost loop that all paths lie in;
    what waits for dead nodes, too, is in no branch.
    """
    first, last = min(paths, default=(), key=repr), max(paths, default=(), key=repr)
    differing = [place for place, (a, b) in enumerate(zip(first, last)) if a != b]
    found = first[: min([*differing, len(first), len(last)])]
    while found and found[-1][0] == "branch":
        found = found[:-1]
    return found


class LoopFrame:
    """The nodes that make a loop."""

    def __init__(self, name: str):
        self.name = name
        self.enters: list[NodeRecord] = []
        self.exits: list[NodeRecord] = []
        self.merges: list[NodeRecord] = []
        self.condition: NodeRecord | None = None
        self.path: Path = ()

    @property
    def inside(self) -> Path:
        """The path of the nodes in the loop."""
        return (*self.path, ("loop", self.name))


class CondRegion:
    """The merges that are results of one tf.cond."""

    def __init__(self, predicate: Reference, path: Path):
        self.predicate, self.path = predicate, path
        self.merges: list[tuple[NodeRecord, int]] = []  # with the number of the input for true
        self.effects: list[tuple[str, int]] = []  # nodes run for what they do, and their sides

    def inside(self, side: int) -> Path:
        """Return the path of a branch."""
        return (*self.path, ("branch", self.predicate, side))

    def list_branch_nodes(self, side: int) -> list[str]:
        """Return the nodes that a branch is built for."""
        places = [on if side == 1 else 1 - on for _, on in self.merges]
        names = [merge.inputs[place][0] for (merge, _), place in zip(self.merges, places)]
        return [*names, *[name for name, on in self.effects if on == side]]


def not_recognised(item: NodeRecord, text: str) -> OpError:
    """Return the error of nodes that make no branch or loop."""
    return UnimplementedError(
        None,
        None,
        compose(
            "TW506",
            f"{item.described}: this use of Switch, Merge and frames is no tf.cond and no "
            f"tf.while_loop: {text}",
        ),
    )


class Regions:
    """The paths of all tensors, the loops and the choices of a graph."""

    def __init__(self, items: dict[str, NodeRecord], arguments: Iterable[str] = ()):
        self.items = items
        self.paths: dict[str, Path] = dict.fromkeys(arguments, ())
        self.frames: dict[str, LoopFrame] = {}
        self.choices: dict[tuple, CondRegion] = {}
        self.frame_of: dict[str, LoopFrame] = {}  # merges, exits and conditions of loops
        self.choice_of: dict[str, CondRegion] = {}  # merges of branches
        self.effect_of: dict[tuple, CondRegion] = {}  # nodes of branches that others wait for
        self.flows: Any = None  # of TensorArrays, once somebody asks
        self._depth: dict[str, dict] = {}  # node -> predicate -> merges of it on the way
        merges = sum(item.op in MERGE for item in items.values())
        self.apart = merges <= COUNTED
        self.plain = not any(item.op in STRUCTURE for item in items.values())
        for item in items.values():
            if item.op in ENTER:
                name = item.attributes["frame_name"]
                self.frames.setdefault(name, LoopFrame(name)).enters.append(item)
        for name in self._order():
            if isinstance(name, LoopFrame):
                self._place_frame(name)
            else:
                self._place(items[name])
        for frame in self.frames.values():
            self._complete(frame)
        for item in items.values():
            if item.op == TRIGGER and not self.plain:
                self._run_controls(item)

    # -- order: what a node needs first, loops closed only by their back edges

    def _needs(self, item: NodeRecord) -> list:
        if item.op in ENTER:
            return [self.frames[item.attributes["frame_name"]]]
        names = [name for name, _ in item.inputs]
        if item.op in MERGE:
            names = [name for name in names if self._op(name) not in NEXT]
        return [name for name in (*names, *item.controls) if name in self.items]

    def _op(self, name: str) -> str:
        item = self.items.get(name)
        return "" if item is None else item.op

    def _order(self) -> list:
        needs: dict[Any, list] = {name: self._needs(item) for name, item in self.items.items()}
        for frame in self.frames.values():
            outside: list[str] = []
            for enter in frame.enters:
                outside += [*[name for name, _ in enter.inputs], *enter.controls]
            needs[frame] = [name for name in outside if name in self.items]
        missing = {key: len(set(sources)) for key, sources in needs.items()}
        users: dict[Any, list] = {}
        for key, sources in needs.items():
            for source in set(sources):
                users.setdefault(source, []).append(key)
        ready = deque(key for key, count in missing.items() if not count)
        order = []
        while ready:
            key = ready.popleft()
            order.append(key)
            for user in users.get(key, ()):
                missing[user] -= 1
                if not missing[user]:
                    ready.append(user)
        if len(order) < len(missing):
            stuck = next(key for key, count in missing.items() if count and type(key) is str)
            raise value_error(
                "TW506",
                f"{self.items[stuck].described} is part of a cycle, or depends on one",
                "a graph without cycles other than while loops",
            )
        return order

    # -- paths

    def path_of(self, reference: Reference) -> Path:
        """Return the path of a tensor."""
        name, number = reference
        path = self.paths[name]
        item = self.items.get(name)
        if item is not None and item.op in SWITCH and not self.is_loop_switch(item):
            branch = ("branch", self._predicate(item.inputs[1]), number)
            return path if branch in path else (*path, branch)
        return path

    def _predicate(self, reference: Reference) -> Reference:
        """Find the source of a predicate, also from outside of loops."""
        while True:
            reference = self.origin(reference)
            if self._op(reference[0]) not in ENTER:
                return reference
            reference = self.items[reference[0]].inputs[0]

    def is_loop_switch(self, item: NodeRecord) -> bool:
        """Return whether a Switch leaves or goes on with a loop."""
        return self._op(item.inputs[1][0]) == "LoopCond"

    def origin(self, reference: Reference) -> Reference:
        """Find the source of a tensor, with Identities passed over."""
        while True:
            item = self.items.get(reference[0])
            if item is None or item.op not in PASSING or not item.inputs:
                return reference
            reference = item.inputs[0]

    def _deepest(self, item: NodeRecord, paths: Iterable[Path]) -> Path:
        found: Path = ()
        for path in paths:
            short, long = sorted((found, path), key=len)
            if long[: len(short)] != short:
                raise not_recognised(item, "its inputs come from branches that exclude each other")
            found = long
        if len(found) > DEEPEST:
            raise value_error(
                "TW506",
                f"{item.described} lies inside {len(found)} branches and loops",
                f"at most {DEEPEST}",
            )
        return found

    def _place_frame(self, frame: LoopFrame) -> None:
        first = frame.enters[0]
        frame.path = self._deepest(
            first, [path for enter in frame.enters for path in self._input_paths(enter)]
        )

    def _input_paths(self, item: NodeRecord) -> list[Path]:
        return [*map(self.path_of, item.inputs), *[self.paths[name] for name in item.controls]]

    def _place(self, item: NodeRecord) -> None:
        if self.plain:
            self.paths[item.name] = ()
            return
        if self.apart:
            self._count_merges(item)
        if item.op in ENTER:
            self.paths[item.name] = self.frames[item.attributes["frame_name"]].inside
        elif item.op in MERGE:
            self._place_merge(item)
        else:
            paths = self._input_paths(item)
            path = _common(paths) if item.op == TRIGGER else self._deepest(item, paths)
            if item.op in EXIT or item.op == "LoopCond":
                frame = self._frame_at(item, path)
                self.frame_of[item.name] = frame
                if item.op in EXIT:
                    frame.exits.append(item)
                    path = frame.path
                else:
                    if frame.condition is not None:
                        raise not_recognised(item, f"frame {frame.name!r} has two LoopConds")
                    frame.condition = item
            self.paths[item.name] = path

    def _frame_at(self, item: NodeRecord, path: Path) -> LoopFrame:
        if not path or path[-1][0] != "loop":
            raise not_recognised(item, "it is in no frame")
        return self.frames[path[-1][1]]

    def _count_merges(self, item: NodeRecord) -> None:
        total: dict = {}
        for name in self._needs(item):
            part = self._depth.get(name, {}) if type(name) is str else {}
            for key, count in part.items():
                total[key] = max(total.get(key, 0), count)
        self._depth[item.name] = total

    def _place_merge(self, item: NodeRecord) -> None:
        back = [
            back_input for back_input, (name, _) in enumerate(item.inputs) if self._op(name) in NEXT
        ]
        if len(item.inputs) != 2:
            raise not_recognised(item, f"it has {len(item.inputs)} inputs")
        if back:
            if back != [1] or self._op(item.inputs[0][0]) not in ENTER:
                raise not_recognised(item, "its inputs are not an Enter and a NextIteration")
            path = self.path_of(item.inputs[0])
            frame = self._frame_at(item, path)
            frame.merges.append(item)
            self.frame_of[item.name] = frame
            self.paths[item.name] = path
            return
        first, second = map(self.path_of, item.inputs)
        if (
            not first
            or not second
            or first[:-1] != second[:-1]
            or first[-1][0] != "branch"
            or second[-1][:2] != first[-1][:2]
            or first[-1][2] == second[-1][2]
        ):
            raise not_recognised(item, "its inputs are not the two sides of one predicate")
        path, predicate, side = first[:-1], first[-1][1], first[-1][2]
        counts = self._depth.setdefault(item.name, {})
        counts[predicate] = counts.get(predicate, 0) + 1 if self.apart else 1
        key = (path, predicate, counts[predicate])
        choice = self.choices.setdefault(key, CondRegion(predicate, path))
        choice.merges.append((item, 0 if side == 1 else 1))
        self.choice_of[item.name] = choice
        self.paths[item.name] = path

    def _run_controls(self, trigger: NodeRecord) -> None:
        """Make branches run the nodes that a ControlTrigger waits for, which waits for dead nodes,
        too.
        """
        outside = self.paths[trigger.name]
        for name in trigger.controls:
            path = self.paths[name]
            for depth in range(len(outside), len(path)):
                kind, *rest = path[depth]
                if kind != "branch":
                    raise not_recognised(trigger, "it waits for what lies in a loop")
                if (name, path[:depth]) not in self.effect_of:
                    choice = self._choice_with(name, path[:depth], *rest)
                    choice.effects.append((name, rest[1]))
                    self.effect_of[name, path[:depth]] = choice

    def _choice_with(self, name: str, path: Path, predicate: Any, side: int) -> CondRegion:
        """Find the conditional that computes a node or its inputs; the last one, if none does."""
        found = [c for key, c in self.choices.items() if key[:2] == (path, predicate)]
        if not found:
            found.append(self.choices.setdefault((path, predicate, 0), CondRegion(predicate, path)))
        near = {name, *[source for source, _ in self.items[name].inputs]}
        for choice in found:
            if near & self._inside(choice, side):
                return choice
        return found[-1]

    def _inside(self, choice: CondRegion, side: int) -> set[str]:
        """Return the nodes of a branch that its results need."""
        path = choice.inside(side)
        seen: set[str] = set()
        pending = choice.list_branch_nodes(side)
        while pending:
            name = pending.pop()
            if name not in seen and self.paths.get(name) == path:
                seen.add(name)
                pending += [source for source, _ in self.items[name].inputs]
        return seen

    def first_of(self, choice: CondRegion) -> NodeRecord:
        """Return a node by which errors name a choice."""
        return choice.merges[0][0] if choice.merges else self.items[choice.effects[0][0]]

    def _complete(self, frame: LoopFrame) -> None:
        if frame.exits and frame.condition is None:
            raise not_recognised(frame.exits[0], f"frame {frame.name!r} has no LoopCond")

    def merge_behind(self, leaving: NodeRecord) -> NodeRecord:
        """Return the loop variable's Merge that an Exit takes its value from."""
        switch = self.items[self.origin(leaving.inputs[0])[0]]
        if switch.op in SWITCH and self.is_loop_switch(switch):
            merge = self.items.get(self.origin(switch.inputs[0])[0])
            if merge is not None and merge.op in MERGE and merge.name in self.frame_of:
                return merge
        raise not_recognised(leaving, "it does not leave with a loop variable")


# -- what to build, in order


class Planner:
    """Orders the parts of a region: nodes, conditionals and loops (`units`)."""

    def __init__(self, regions: Regions):
        self.regions = regions
        self._outside: dict[Any, list] = {}

    def unit(self, name: str) -> Any:
        """Return the unit that builds a node, seen from the region it lies in."""
        regions = self.regions
        item = regions.items[name]
        if item.op in MERGE and name in regions.choice_of:
            return regions.choice_of[name]
        if item.op in EXIT:
            return regions.frame_of[name]
        return item

    def plan(self, path: Path, wanted: Iterable[str], known: Callable[..., Any]) -> list:
        """Order the units of a region that `wanted` nodes need; `known` says which are built."""
        done: dict[Any, None] = {}
        for name in wanted:
            root = self._unit_at(name, path, known)
            if root is None or root in done:
                continue
            stack = [(root, iter(self._sources(root)))]
            entered = {root}
            while stack:
                unit, sources = stack[-1]
                for source in sources:
                    other = self._unit_at(source, path, known)
                    if other is None or other in done:
                        continue
                    if other in entered:
                        raise self._cycle(unit)
                    entered.add(other)
                    stack.append((other, iter(self._sources(other))))
                    break
                else:
                    stack.pop()
                    entered.discard(unit)
                    done[unit] = None
        return list(done)

    def _cycle(self, unit: Any) -> OpError:
        item = (
            unit
            if isinstance(unit, NodeRecord)
            else (unit.exits[0] if isinstance(unit, LoopFrame) else self.regions.first_of(unit))
        )
        return not_recognised(item, "branches and loops depend on each other in a circle")

    def _unit_at(self, name: str, path: Path, known: Callable[..., Any]) -> Any:
        """Return the unit of a node in this region; None for what is built, or lies further out."""
        if name not in self.regions.items or known(name):
            return None
        choice = self.regions.effect_of.get((name, path))
        if choice is not None:
            return choice
        item = self.regions.items[name]
        if item.op in SWITCH and not self.regions.is_loop_switch(item):
            return item  # passed through wherever it is used
        return self.unit(name) if self.regions.paths[name] == path else None

    def _sources(self, unit: NodeRecord | CondRegion) -> list[str]:
        if isinstance(unit, NodeRecord):
            if unit.op in MERGE:
                return []  # a loop variable; it has a value inside the loop
            inputs = unit.inputs[:1] if unit.op in SWITCH else unit.inputs
            return [*[name for name, _ in inputs], *unit.controls]
        found = self._outside.get(unit)
        if found is None:
            found = self._outside[unit] = self._outer_needs(unit)
        return found

    def _is_branching(self, name: str) -> bool:
        item = self.regions.items[name]
        return item.op in SWITCH and not self.regions.is_loop_switch(item)

    def _outer_needs(self, unit: CondRegion) -> list[str]:
        """List the nodes outside of a conditional or loop that it uses."""
        depth = len(unit.path)
        if isinstance(unit, LoopFrame):
            start = [item.name for item in (*unit.enters, *unit.merges)]
            start += [unit.condition.name] if unit.condition is not None else []
        else:
            start = [*unit.list_branch_nodes(0), *unit.list_branch_nodes(1)]
        needed: dict[str, None] = {}
        if isinstance(unit, CondRegion):
            needed[unit.predicate[0]] = None
        seen, pending = set(start), list(start)
        items, paths = self.regions.items, self.regions.paths
        while pending:
            item = items.get(pending.pop())
            if item is None:
                continue
            edges = [(name, self.regions.path_of((name, on))) for name, on in item.inputs]
            edges += [(name, paths[name]) for name in item.controls]
            for name, path in edges:
                if len(path) <= depth:
                    needed[name] = None
                elif name not in seen:
                    seen.add(name)
                    pending.append(name)
        for name in start:
            if len(paths.get(name, ())) <= depth and not self._is_branching(name):
                needed[name] = None
        return list(needed)
