"""Watching graphs being built and run: what each instruction asked for, and between which runs.

One execution of an instruction may make many nodes (`optimizer.minimize`), so executions are told
apart by the frame of talweg's function that the user called: the first node it asks for marks it.
`f_trace_lines` is that mark: every frame is born with it set, and only line tracers read it.
"""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.provenance import ROOT
from talweg.core.roles import Role
from talweg.doctor.waste.sites import InnerFiles, Spot, span_at, together, user_frames, within
from talweg.graph.walk import postorder
from talweg.passes.optimize.factor_products import factor_additions

if TYPE_CHECKING:
    from talweg.graph.node import NodeTable
    from talweg.graph.subgraph import Body

TRIVIAL = frozenset((Role.READ, Role.PROJECTION, Role.ORDER))
# What public functions are called through.
AUTOGRAPH = f"{os.sep}malt{os.sep}"  # the library whose converted code calls the user's functions
BETWEEN = (
    *("talweg/api/export.py", "talweg/trace/opaque_calls.py", "talweg/trace/autograph/"),
    *("talweg/api/ragged/dispatched.py", "talweg/api/experimental/dispatching.py"),
)
PAST = 1000  # graphs that are gone, and sessions, that are kept in mind
PROGRAMS = 64  # of one session that are remembered, so that each is gone through once


class GraphSpot(Spot):
    """An instruction that asked a graph for nodes."""

    __slots__ = (
        "arrays",
        "building",
        "calls",
        "doubles",
        "effects",
        "epochs",
        "in_arguments",
        "last_building",
        "last_call",
        "most",
        "new_epochs",
        "nodes",
        "prims",
        "table",
        "this_built",
        "this_counted",
        "this_table",
        "used",
    )

    def __init__(self, frame: FrameType, module: str):
        super().__init__(frame.f_code, frame.f_lasti, module)
        self.calls = self.building = 0  # executions, and those that made nodes
        self.epochs = self.new_epochs = 0  # runs between which these lie
        self.last_call = self.last_building = -1
        self.nodes = self.used = self.doubles = self.effects = 0
        self.arrays: dict[int, int] = {}  # bytes of arrays that became constants, by content
        self.in_arguments = 0  # runs in whose arguments it stood
        self.this_counted = self.this_built = True
        self.prims: dict[str, int] = {}
        self.this_table = self.table = self.most = 0  # executions in one and the same trace


class RunSpot(Spot):
    """An instruction that ran a session."""

    __slots__ = ("feedback_bytes", "feedbacks", "runs")

    def __init__(self, frame: FrameType):
        super().__init__(frame.f_code, frame.f_lasti)
        self.runs = self.feedbacks = self.feedback_bytes = 0


class SeenSession:
    """The facts about a session: the line that opened it, and the number of its runs."""

    def __init__(self, session: Any, spot: Spot | None):
        self.spot, self.runs = spot, 0
        self.table = weakref.ref(session.graph.table)


class GraphRecord:
    """The facts about one graph, or (`table` None) about all traces together."""

    def __init__(self, table: NodeTable | None = None):
        self.table = None if table is None else weakref.ref(table)
        self.spots: dict[tuple, GraphSpot] = {}
        self.alias: dict[tuple, GraphSpot] = {}  # by the origin that nodes keep
        self.runs = 0


class GraphWatch:
    """Counts the requests to graphs for nodes, and the nodes that run."""

    def __init__(self, inner: InnerFiles, note_use: Callable[[Any], None]):
        self.inner, self.note_use = inner, note_use
        self.runs = self.built = self.merged = 0
        self.records: dict[int, GraphRecord] = {}
        self.past: deque[GraphRecord] = deque(maxlen=PAST)
        self.traces = GraphRecord()
        self.run_spots: dict[tuple, RunSpot] = {}
        self.recent: dict[GraphSpot, tuple] = {}  # asked since the last run, and from where
        self.programs: Any = weakref.WeakKeyDictionary()  # session -> ids of programs seen
        self.notes: dict[str, int] = {}
        self.given: dict[int, Any] = {}  # arrays that sessions gave lately
        self.sessions: deque[SeenSession] = deque(maxlen=PAST)
        self._sessions: Any = weakref.WeakKeyDictionary()  # session -> what is known of it
        self._kinds: dict[int, tuple] = {}  # id of a table -> (weak reference, record)

    def all_records(self) -> list[GraphRecord]:
        """Return the graphs of TensorFlow 1 that were built or run."""
        return [*self.past, *self.records.values()]

    def live(self) -> int:
        """Return the nodes there are now in the graphs that are watched."""
        tables = [record.table() for record in self.records.values() if record.table is not None]
        return sum([len(table.nodes) for table in tables if table is not None])

    def record_of(self, table: NodeTable) -> GraphRecord:
        """Return the record of a graph; that of all traces for the body of a function."""
        known = self._kinds.get(id(table))
        if known is not None and known[0]() is table:
            return known[1]
        owner = table.owner()
        if owner is not None and owner.building_function:
            record = self.traces
        else:
            before = self.records.get(id(table))
            if before is not None:
                self.past.append(before)
            record = self.records[id(table)] = GraphRecord(table)
        self._kinds[id(table)] = weakref.ref(table), record
        return record

    def finish(self) -> None:
        """Take the spots of one expression together."""
        for record in (*self.all_records(), self.traces):
            record.spots = together(record.spots)
        self.run_spots = together(self.run_spots)

    # -- building

    def record_request(self, node: Any, merged: bool, frame: FrameType | None) -> None:
        """Note that a node was asked for, from `frame` of talweg."""
        inner, entry, first = self.inner, None, frame
        while frame is not None and inner[frame.f_code.co_filename]:
            frame, entry = frame.f_back, frame
        if frame is None or entry is None:
            return
        record = self.record_of(node.table)
        key = id(frame.f_code), frame.f_lasti
        spot = record.spots.get(key)
        if spot is None:
            spot = record.spots[key] = GraphSpot(frame, find_called_module(first, frame))
        if entry.f_trace_lines:
            entry.f_trace_lines = False
            spot.this_counted = spot.this_built = False
            if record is not self.traces and spot not in self.recent:
                frames = user_frames(frame, inner, 4)
                self.recent[spot] = tuple([(f.f_code, f.f_lasti) for f in frames])
        self._count(record, spot, node, merged)

    def _count(self, record: GraphRecord, spot: GraphSpot, node: Any, merged: bool) -> None:
        prim = node.prim
        if prim.role is Role.CONSTANT:
            content = node.params["value"]
            if not merged and content.captured:
                spot.arrays[content.digest] = content.array.nbytes
            if not content.given and not content.array.ndim:
                return
        elif prim.role in TRIVIAL:
            return
        if not spot.this_counted:
            spot.this_counted = True
            spot.calls += 1
            if spot.last_call != self.runs:
                spot.last_call = self.runs
                spot.epochs += 1
            if record is self.traces:
                self._count_in_trace(spot, node.table)
        if merged:
            self.merged += record is not self.traces
            return
        self.built += record is not self.traces
        spot.nodes += 1
        spot.prims[prim.name] = spot.prims.get(prim.name, 0) + 1
        spot.effects += prim.effect is not None
        for source in node.key[2:]:
            if source.key[0].name == "read_variable":
                self.note_use(source.params["variable"])
        if prim.role is Role.WRITE and node.params["rule"] != "assign":
            self.note_use(node.params["variable"])
        origin = node.origin
        if origin is not None:
            record.alias[id(origin[0]), origin[1]] = spot
        aval = node.aval
        if type(aval) is not tuple and aval.dtype.name == "float64":
            spot.doubles += 1
        if not spot.this_built:
            spot.this_built = True
            spot.building += 1
            if spot.last_building != self.runs:
                spot.last_building = self.runs
                spot.new_epochs += 1

    def _count_in_trace(self, spot: GraphSpot, table: NodeTable) -> None:
        if spot.table != id(table):
            spot.table, spot.this_table = id(table), 0
        spot.this_table += 1
        spot.most = max(spot.most, spot.this_table)

    def excuse(self, variable: Any) -> None:
        """Excuse the first value of a variable, a constant of its graph, as it must be."""
        record = self.record_of(variable.table)
        for node in (variable._initial, variable._safe_initial):
            origin = node.origin
            if origin is None or node.prim.role is not Role.CONSTANT:
                continue
            spot = record.spots.get((id(origin[0]), origin[1]))
            if spot is not None:
                spot.arrays.pop(node.params["value"].digest, None)

    # -- running

    def ran(
        self, session: Any, program: object, fed: list, fetched: list, frames: list[FrameType]
    ) -> bool:
        """Note that a run is over; return whether its program is a new one."""
        table = session._graph.table
        record = self.record_of(table)
        record.runs += 1
        known = self._sessions.get(session)
        if known is not None:
            known.runs += 1
        if frames:
            key = id(frames[0].f_code), frames[0].f_lasti
            spot = self.run_spots.get(key)
            if spot is None:
                spot = self.run_spots[key] = RunSpot(frames[0])
            spot.runs += 1
            self._arguments(frames)
            self._feedback(spot, fed, fetched)
        self.recent.clear()
        self.runs += 1
        return program is not None and self._program(session, record, program)

    def trace_made(self, body: Body) -> None:
        """Note, of a function that was traced, the code that runs otherwise than it is written."""
        order: dict[Any, None] = {}
        postorder((*body.outputs, *body.effects), order, lambda node: node.inputs)
        for match in factor_additions(list(order), set(body.outputs)).values():
            self.notes[str(match)] = self.notes.get(str(match), 0) + 1

    def session_made(self, session: object, spot: Spot | None) -> None:
        """Note that a session was opened."""
        self._sessions[session] = known = SeenSession(session, spot)
        self.sessions.append(known)

    def _arguments(self, frames: list[FrameType]) -> None:
        """Note which nodes were asked for inside the arguments of the run."""
        runs = [(frame.f_code, frame.f_lasti) for frame in frames]
        for spot, chain in self.recent.items():
            if any(
                code is run_code and within(span_at(code, offset), span_at(run_code, run_offset))
                for code, offset in chain
                for run_code, run_offset in runs
            ):
                spot.in_arguments += 1

    def _feedback(self, spot: RunSpot, fed: list, fetched: list) -> None:
        """Note whether arrays are fed that a session gave."""
        for array in fed:
            base = array if id(array) in self.given else getattr(array, "base", None)
            known = self.given.get(id(base))
            if base is not None and known is not None and known() is base:
                spot.feedbacks += 1
                spot.feedback_bytes += array.nbytes
        if len(self.given) > 256:
            self.given = {key: ref for key, ref in self.given.items() if ref() is not None}
        for value in fetched:
            if type(value) is np.ndarray and value.size > 1:
                self.given[id(value)] = weakref.ref(value)

    def _program(self, session: object, record: GraphRecord, program: Any) -> bool:
        """Note which nodes run, the first time a program does; whether it is the first."""
        known = self.programs.setdefault(session, set())
        if id(program) in known:
            return False
        if len(known) >= PROGRAMS:  # the session has let go of older ones, too
            known.clear()
        known.add(id(program))
        for note in program.notes:
            self.notes[note] = self.notes.get(note, 0) + 1
        for step in program.steps:
            origin = step.node.origin
            spot = None if origin is None else record.alias.get((id(origin[0]), origin[1]))
            if spot is not None:
                spot.used += 1
        return True


def find_called_module(frame: FrameType | None, user: FrameType) -> str:
    """Return the module of talweg whose function `user` called: ``api/math/reductions.py``.

    "" if it was a library that called talweg.
    """
    module = ""
    while frame is not None and frame is not user:
        name = frame.f_code.co_filename
        if not name.startswith(ROOT):
            if AUTOGRAPH not in name and not name.startswith("<frozen"):
                return ""
        elif not any(part in name for part in BETWEEN):
            module = name
        frame = frame.f_back
    return module.removeprefix(ROOT)


def direct_user(frame: FrameType | None) -> FrameType | None:
    """Return the frame that called talweg: the innermost one outside of it and of AutoGraph."""
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(ROOT) and AUTOGRAPH not in name:
            return frame
        frame = frame.f_back
    return None
