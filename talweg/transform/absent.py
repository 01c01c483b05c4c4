"""Evidence of absent gradients, gathered where gradients are taken.

The engine only notes absence; everything here is put together when somebody asks why (mode ERROR,
`tape.explain`, an optimizer that meets a None).  The verdict is found in
`doctor/absent/explain.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any

from talweg.core.provenance import Origin, is_inner

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive

BODIES = ("body", "bodies", "cond", "count", "index", "rule", "call", "variable")  # what is kept
EXITS = 1000  # how many values that left are remembered


@dataclass
class Notes:
    """Facts that a tape records beside operations: values that left to NumPy, and the like.

    exits: values that left for Python or NumPy, as (id, origin, function called).
    writes: variables given a recorded value, as (id of the variable, its name, id, origin).
    unwatched: variables that were read but not watched, by id: (why, origin).
    late: tensors watched after something was computed, by id.
    began, pauses, resets: where recording began, was stopped, was forgotten.
    """

    exits: list[tuple[int, Origin | None, str]] = field(default_factory=list)
    writes: list[tuple[int, str, int, Origin | None]] = field(default_factory=list)
    unwatched: dict[int, tuple[str, Origin | None]] = field(default_factory=dict)
    late: dict[int, Origin | None] = field(default_factory=dict)
    began: Origin | None = None
    pauses: list[Origin | None] = field(default_factory=list)
    resets: list[Origin | None] = field(default_factory=list)

    def exit(self, key: int, origin: Origin | None, entry: str) -> None:
        """Record that the value with this id left TensorFlow through the function `entry`."""
        if len(self.exits) < EXITS:
            self.exits.append((key, origin, entry))


@dataclass
class Scene:
    """The user's call that asked for a gradient, and the names that values have there."""

    code: CodeType
    offset: int
    target_names: list[str] = field(default_factory=list)
    source_names: list[str] = field(default_factory=list)
    holders: list[str] = field(default_factory=list)  # objects that the source is a part of
    attributes: list[str] = field(default_factory=list)  # what it is called in there

    @classmethod
    def of(
        cls, frame: FrameType | None, target: Any, source: Any, began: Origin | None = None
    ) -> Scene | None:
        """Return the scene of a frame, or of an outer one, in which the tape began."""
        if frame is None:
            return None
        scenes = []
        for outer in outward(frame):
            scene = cls(
                outer.f_code, outer.f_lasti, names_in(outer, target), names_in(outer, source)
            )
            scenes.append((scene, outer))
            if began is not None and outer.f_code is began[0]:
                return scene.with_holders(outer, source)
        for kind in ("target_names", "source_names"):
            for scene, outer in scenes if began is None else ():
                if own_names(outer, getattr(scene, kind)):
                    return scene.with_holders(outer, source)
        return scenes[0][0].with_holders(scenes[0][1], source) if scenes else None

    def with_holders(self, frame: FrameType, source: object) -> Scene:
        """Return this scene with the names of objects in the frame that the source is a part of."""
        for space in (frame.f_locals, frame.f_globals):
            for name, value in list(space.items()):
                if name[:1] == "_" or value is source:
                    continue
                attribute = attribute_in(value, source)
                if attribute is not None:
                    self.holders.append(name)
                    if attribute and attribute not in self.attributes:
                        self.attributes.append(attribute)
        return self


def outward(frame: FrameType) -> Iterator[FrameType]:
    """Yield the user's frames from one outward."""
    outer: FrameType | None = frame
    while outer is not None:
        if not is_inner(outer.f_code.co_filename):
            yield outer
        outer = outer.f_back


def own_names(frame: FrameType, names: list[str]) -> list[str]:
    """Return the names that are not arguments of the frame's function."""
    code = frame.f_code
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [name for name in names if name not in arguments]


def attribute_in(value: object, part: object, limit: int = 300) -> str | None:
    """Return the name of the attribute that holds `part` in an object of the user's (a model, a
    list, ...): "" in lists and dictionaries, None where it is not inside.
    """
    pending, seen = [("", value)], set()
    while pending and len(seen) < limit:
        name, attribute = pending.pop()
        if attribute is part:
            return name
        if id(attribute) in seen or isinstance(attribute, (type, ModuleType)):
            continue
        seen.add(id(attribute))
        if isinstance(attribute, (list, tuple)):
            pending += [(name, each) for each in attribute[:limit]]
        elif isinstance(attribute, dict):
            pending += [(name, each) for each in list(attribute.values())[:limit]]
        elif type(getattr(attribute, "__dict__", None)) is dict and not callable_only(attribute):
            pending += attribute.__dict__.items()
    return None


def callable_only(value: object) -> bool:
    """Return whether a value is a function, whose attributes are no parts."""
    return isinstance(value, (FunctionType, MethodType, BuiltinFunctionType))


def names_in(frame: FrameType, value: object) -> list[str]:
    """Return the names of a value in a frame: local, global, or an attribute of a local one."""
    if value is None:
        return []
    spaces = [frame.f_locals]
    if frame.f_globals is not frame.f_locals:
        spaces.append(frame.f_globals)
    for space in spaces:
        names = [name for name, own in space.items() if own is value and name[:1] != "_"]
        if names:
            return names
    return [
        f"{name}.{attribute}"
        for name, own in frame.f_locals.items()
        if type(getattr(own, "__dict__", None)) is dict and not isinstance(own, ModuleType)
        for attribute, part in own.__dict__.items()
        if part is value
    ]


@dataclass
class Source:
    """The kind and state of a gradient's source, without a reference to it.

    kind: "variable", "tensor", or "other" for what cannot be a source.
    """

    kind: str
    key: int
    name: str
    dtype: Any = None
    trainable: bool = True

    @classmethod
    def of(cls, value: object, name: str = "") -> Source:
        """Collect the facts about a source."""
        is_variable = hasattr(value, "handle_read") or hasattr(value, "variable")
        kind = "variable" if is_variable else "tensor" if hasattr(type(value), "dims") else "other"
        if kind == "other":
            return cls(kind, id(value), f"{value!r:.60}", type(value).__name__)
        trainable = getattr(getattr(value, "variable", value), "trainable", True)
        return cls(kind, id(value), value.name if is_variable else name, value.dtype, trainable)


@dataclass
class Evidence:
    """All facts about one absent gradient.

    records: as in `transform/reverse.py`.  targets: the values; `given` is what the user called
    target where that is no tensor.  parts: the recorded values that the source stands for.  made:
    ids of results computed while the tape recorded, from nothing that was watched.  watched: ids of
    what the tape watches.  reads: the values read from each variable, by the variable's id.
    variables: the names of those watched, by id.  cuts: ids of tensors that were to be taken as
    constants.  exchanged: whether the source is known to depend on the target.  state: "" for a
    tape that can be asked, else what became of it.
    """

    records: list
    targets: list
    source: Source
    parts: list
    notes: Notes
    given: Any = None
    made: Any = ()
    watched: Any = ()
    reads: dict[int, list] = field(default_factory=dict)
    variables: dict[int, str] = field(default_factory=dict)
    cuts: frozenset[int] = frozenset()
    scene: Scene | None = None
    in_graph: bool = False
    exchanged: bool = False
    state: str = ""


class StandIn:
    """A placeholder for a tensor: its shape and dtype."""

    __slots__ = ("dims", "dtype")

    def __init__(self, value: Any):
        aval = getattr(value, "aval", None)  # of a tensor of a graph, whose rank may be unknown
        self.dims = getattr(value, "dims", ()) if aval is None else aval.dims
        self.dtype = getattr(value, "dtype", None)


class Lighter:
    """A converter of evidence to a form that holds no array."""

    def __init__(self, records: list):
        self._stand_ins: dict[int, StandIn] = {}
        self._records = [self._record(*record) for record in records]

    def _of(self, value: object) -> StandIn:
        found = self._stand_ins.get(id(value))
        if found is None:
            found = self._stand_ins[id(value)] = StandIn(value)
        return found

    def _all(self, values: Any) -> tuple:
        return tuple([self._of(value) for value in values])

    def _record(
        self, prim: Primitive, operands: tuple, results: tuple, params: dict, origin: object
    ) -> tuple:
        light: Any = self._all(results) if type(results) is tuple else self._of(results)
        kept = {name: params[name] for name in BODIES if name in params}
        return prim, self._all(operands), light, kept, origin

    def __call__(self, evidence: Evidence) -> Evidence:
        """Return the evidence without values."""
        targets, parts = list(self._all(evidence.targets)), list(self._all(evidence.parts))
        reads = {key: list(self._all(values)) for key, values in evidence.reads.items()}
        moved = {key: id(value) for key, value in self._stand_ins.items()}
        notes = evidence.notes
        light = replace(
            notes,
            exits=[(moved[key], *rest) for key, *rest in notes.exits if key in moved],
            writes=[(v, n, moved[key], o) for v, n, key, o in notes.writes if key in moved],
            late={moved[key]: origin for key, origin in notes.late.items() if key in moved},
        )
        return replace(
            evidence,
            records=self._records,
            targets=targets,
            parts=parts,
            reads=reads,
            notes=light,
            given=None,
            made={moved[id(t)] for t in evidence.targets if id(t) in evidence.made},
            watched={moved[key] for key in evidence.watched if key in moved},
            cuts=frozenset(moved[key] for key in evidence.cuts if key in moved),
        )
