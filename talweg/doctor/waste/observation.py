"""An observation counts a program's events while it runs; findings are made of it afterwards.

What happens often (an eager operation) is counted by the instruction of the user's code it comes
from, and looked at closely only the first few times and then now and then; what happens
seldom (a variable, a trace, a run of a session) is kept one by one.  Nothing of the program is kept
alive: tensors, variables, functions and sessions are held by weak references.
"""

from __future__ import annotations

import gc
import os
import sys
import time
import weakref
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.observer import Observer
from talweg.doctor.waste.graph_sites import GraphWatch, direct_user, find_called_module
from talweg.doctor.waste.sites import InnerFiles, Spot, together, user_frames
from talweg.eager.tensor import EagerTensor
from talweg.prims.arithmetic import add

if TYPE_CHECKING:
    from talweg.core.dtypes import DType
    from talweg.core.primitive import Primitive
    from talweg.graph.handle import Handle

# From how many applications at a spot on only those are looked at whose number has no bit of this.
MASKS = ((1024, 127), (8, 15))
KEPT = 256  # results remembered at one spot, to see whether they are let go
CHANGED = 8  # times other operands were met, after which it is known that they change
MEMORY_EVERY = 0.02  # seconds between two looks at the memory of the process
ROWS = 2000  # of memory over time
JUDGED = frozenset(
    int(20 * 1.3**n) for n in range(50)
)  # samples after which it is seen what is alive
ALIVE = 0.9  # share of results alive from which they count as kept
CALLS = 2.5  # what a public function costs, in calls of a primitive
MANY = 10_000  # variables that are gone, functions, traces of one: more are not kept in mind
EXPLAINED = 8  # gradients that are None
NAMED = 4  # holders that are looked for, since that is slow


_frame = sys._getframe


class EagerSpot(Spot):
    """An instruction that applied one primitive, and how often."""

    __slots__ = (
        "alike",
        "bytes",
        "changed",
        "count",
        "doubles",
        "held",
        "holder",
        "kept",
        "mask",
        "operands",
        "prim",
        "result",
        "same",
        "sampled",
        "stride",
        "work",
    )

    def __init__(self, frame: FrameType, prim: Any, module: str):
        super().__init__(frame.f_code, frame.f_lasti, module)
        self.prim = prim
        self.count = self.sampled = self.bytes = self.doubles = self.same = self.changed = 0
        self.work = 0  # bytes of operands and results, of what was looked at
        self.mask = 0
        self.stride = 1  # how many looks for one result that is remembered
        self.kept: list[tuple] = []  # (when, weak reference) of some results
        self.operands: list | None = None  # of the last application that was looked at
        self.result: Any = None  # of that, too; a weak reference
        self.alike = False  # whether that was the same as the one before
        self.held: tuple | None = None  # (count, share alive, first and last look), lately
        self.holder = ""  # what holds the results that are alive

    def take(self, other: EagerSpot) -> None:
        """Add the counts of another spot of the same expression."""
        if other.count > self.count:
            self.held, self.holder, self.stride = other.held, other.holder, other.stride
        super().take(other)
        self.kept += other.kept


class HostTransfer(Spot):
    """An instruction where values leave for NumPy, or come from there."""

    __slots__ = ("asked", "bytes", "count", "doubles", "shapes")

    def __init__(self, frame: FrameType):
        super().__init__(frame.f_code, frame.f_lasti)
        self.count = self.bytes = self.doubles = 0
        self.asked = False  # whether a dtype was asked for
        self.shapes: set = set()


class SeenVariable:
    """The facts about a variable of the program."""

    def __init__(self, variable: Any, spot: Spot | None, runs: int, steps: int):
        self.ref = weakref.ref(variable)
        self.name, self.trainable = variable.name, variable.trainable
        self.dtype, self.shape = variable.dtype, variable.shape
        self.spot, self.runs, self.steps = spot, runs, steps
        table = getattr(variable, "table", None)
        self.graph = None if table is None else weakref.ref(table)  # of a variable of a graph
        self.read = self.valued = False
        self.replaced = False  # gone while its line went on making variables
        self.written = self.asked = self.reached = 0
        self.why = ""  # why its gradient was None, in a line


class SeenFunction:
    """The facts about a `tf.function` of the program."""

    def __init__(self, function: Any, spot: Spot | None):
        self.ref, self.name = weakref.ref(function), function.name
        self.code = getattr(function.python_function, "__code__", None)
        self.spot = spot
        self.traces: list[tuple] = []  # (reason or None, spot of the call, nodes, seconds)


class Observation(Observer):
    """Counts a program's events."""

    def __init__(self) -> None:
        self.inner = InnerFiles()
        self.started = time.perf_counter()
        self.seconds = self.processor_seconds = 0.0
        self._processor_started = time.process_time()
        self.eager: dict[tuple, EagerSpot] = {}
        self._calls: dict[tuple, list[EagerSpot]] = {}  # by the instruction, whatever it applied
        self.exits: dict[tuple, HostTransfer] = {}
        self.entries: dict[tuple, HostTransfer] = {}
        self.fetches: dict[tuple, HostTransfer] = {}  # exits of values that a device had
        self.variables: dict[int, SeenVariable] = {}
        self._made: dict[tuple, list[SeenVariable]] = {}  # the last ones of each line
        self.gone: list[SeenVariable] = []  # whose place in `variables` another one took
        self.functions: list[SeenFunction] = []
        self._functions: dict[int, SeenFunction] = {}
        self.graphs = GraphWatch(self.inner, self._note_use)
        self.calls = self.gradients = self.steps = 0
        self.memory: list[tuple] = []
        self._next_memory = 0.0
        self.looks = self._holders_named = self._explained = 0
        self._values: Any = weakref.WeakKeyDictionary()  # session -> variables with a value
        self.note_memory()

    # -- eager operations

    def applied(self, prim: Primitive, operands: tuple, results: object, params: dict) -> None:
        """Count the application at the user's instruction."""
        frame = _frame(2)
        code = frame.f_code
        inner = self.inner
        while inner[code.co_filename]:
            frame = frame.f_back  # type: ignore[assignment]
            if frame is None:
                return
            code = frame.f_code
        try:
            spot = self.eager[id(code), frame.f_lasti, prim]
        except KeyError:
            spot = EagerSpot(frame, prim, find_called_module(_frame(2), frame))
            self.eager[id(code), frame.f_lasti, prim] = spot
            self._calls.setdefault((id(code), spot.offset), []).append(spot)
        count = spot.count = spot.count + 1
        if not count & spot.mask:
            self._look(spot, operands, results, params)

    def _look(self, spot: EagerSpot, operands: tuple, results: object, params: dict) -> None:
        """Look closely at one application: size, dtype, whether its operands are the same again."""
        now = time.perf_counter()
        result = results[0] if type(results) is tuple and results else results
        array = getattr(result, "_array", None)
        if array is None:
            return
        size = array.nbytes
        self.looks += 1
        spot.sampled += 1
        spot.mask = next((mask for least, mask in MASKS if spot.count >= least), 0)
        spot.bytes += size
        spot.work += size + sum([x._array.nbytes for x in operands if hasattr(x, "_array")])
        if array.dtype == np.float64:
            spot.doubles += 1
        if spot.sampled % spot.stride == 0:
            spot.kept.append((self.looks, weakref.ref(result)))
            if len(spot.kept) >= KEPT:
                spot.kept = spot.kept[::2]
                spot.stride *= 2
        if spot.sampled in JUDGED:
            self.judge(spot)
        self._compare(spot, operands, result, params)
        if now >= self._next_memory:
            self.note_memory()

    def judge(self, spot: EagerSpot) -> None:
        """Count the remembered results that are still alive, and name their holders."""
        alive = [(when, ref()) for when, ref in spot.kept]
        there = [(when, value) for when, value in alive if value is not None]
        if not alive:
            return
        share = len(there) / len(alive)
        spot.held = spot.count, share, alive[0][0], alive[-1][0]
        if share >= ALIVE and not spot.holder and self._holders_named < NAMED:
            self._holders_named += 1
            spot.holder = holder_of(there[0][1])

    def _compare(self, spot: EagerSpot, operands: tuple, result: Any, params: dict) -> None:
        """Compare: are the operands the very tensors of the time before, the parameters equal?

        So is what another operation of the same call made of the same, such as a transpose.
        """
        before, spot.result = spot.operands, weakref.ref(result)
        fresh = not any([hasattr(x, "_array") and x._array.ndim for x in operands])  # tf.zeros
        if fresh or spot.changed >= CHANGED or spot.prim.effect is not None:
            spot.alike, spot.operands = False, None
            return
        spot.alike = (
            before is not None
            and len(before) == len(operands) + 1
            and (
                before[-1] == params
                and all(
                    [
                        known is value
                        or type(known) is weakref.ref
                        and known() is value
                        or self._is_made_of_the_same(spot, value)
                        for known, value in zip(before, operands)
                    ]
                )
            )
        )
        spot.same += spot.alike
        spot.changed += before is not None and not spot.alike
        kept = [weakref.ref(x) if hasattr(x, "_array") else x for x in operands]
        spot.operands = [*kept, params]

    def _is_made_of_the_same(self, spot: EagerSpot, value: object) -> bool:
        """Return whether the same call made a tensor just now, of the same operands as before."""
        others = self._calls[id(spot.code), spot.offset]
        return any([x.alike and x.result() is value for x in others if x is not spot])

    # -- values that leave and come

    def _crossing(self, table: dict[tuple, HostTransfer], depth: int) -> HostTransfer | None:
        frame = direct_user(sys._getframe(depth))
        if frame is None or self.inner[frame.f_code.co_filename]:
            return None  # a library did it
        key = id(frame.f_code), frame.f_lasti
        spot = table.get(key)
        if spot is None:
            spot = table[key] = HostTransfer(frame)
        spot.count += 1
        return spot

    def left(self, tensor: Any) -> None:
        """Note that a value left for NumPy or Python."""
        spot = self._crossing(self.exits, 3)
        if spot is not None:
            spot.bytes += tensor._array.nbytes

    def fetched(self, array: np.generic | np.ndarray) -> None:
        """Count a copy of a value from a device to the host."""
        spot = self._crossing(self.fetches, 3)
        if spot is not None:
            spot.bytes += array.nbytes

    def entered(self, value: object, array: np.generic | np.ndarray, dtype: DType | None) -> None:
        """Note that a value came in."""
        if not isinstance(value, (np.ndarray, np.generic, list, float)):
            return
        spot = self._crossing(self.entries, 3)
        if spot is not None:
            spot.bytes += array.nbytes
            spot.asked |= dtype is not None
            if array.dtype == np.float64 and dtype is None:
                spot.doubles += 1

    # -- variables

    def variable_made(self, variable: object) -> None:
        """Record a new variable with the line that made it."""
        before = self.variables.get(id(variable))
        if before is not None and len(self.gone) < MANY:
            self.gone.append(before)
        frames = user_frames(sys._getframe(2), self.inner, 1)
        spot = Spot(frames[0].f_code, frames[0].f_lasti) if frames else None
        seen = SeenVariable(variable, spot, self.graphs.runs, self.steps)
        self.variables[id(variable)] = seen
        if spot is not None:
            line = self._made.setdefault((id(spot.code), spot.offset), [])
            line.append(seen)
            if len(line) > 2:  # a name that is bound anew keeps the one before until then
                earlier = line.pop(0)
                earlier.replaced = earlier.ref() is None
        if seen.graph is not None:
            self.graphs.excuse(variable)

    def all_variables(self) -> list[SeenVariable]:
        """Return the variables of the program, in the order they were made."""
        return [*self.gone, *self.variables.values()]

    def variable_read(self, variable: object) -> None:
        """Note that a variable is of use."""
        seen = self.variables.get(id(variable))
        if seen is not None:
            seen.read = True

    def variable_written(self, variable: object, adding: bool) -> None:
        """Note that a variable changes; adding to it is a use."""
        seen = self.variables.get(id(variable))
        if seen is not None:
            seen.written += 1
            seen.read |= adding

    def gradient_taken(
        self, sources: list, gradients: list, wanted: bool, explain: Callable[[Any], Any]
    ) -> None:
        """Note which variables the target depends on, and why not."""
        self.gradients += 1
        self.steps += 1
        if wanted:
            return
        for source, gradient in zip(sources, gradients):
            seen = self.variables.get(id(source))
            if seen is not None and seen.ref() is source:
                seen.asked += 1
                seen.reached += gradient is not None
                if gradient is None and not seen.why and self._explained < EXPLAINED:
                    self._explained += 1
                    with dispatch.observe(None):
                        seen.why = explain(source).in_a_line()

    # -- functions

    def function_made(self, function: object) -> None:
        """Keep where it was made."""
        frame = direct_user(sys._getframe(2))
        own = frame is not None and not self.inner[frame.f_code.co_filename]
        self._keep_function(function, Spot(frame.f_code, frame.f_lasti) if own else None)

    def _keep_function(self, function: object, spot: Spot | None) -> SeenFunction:
        seen = self._functions[id(function)] = SeenFunction(function, spot)
        if len(self.functions) < MANY:
            self.functions.append(seen)
        return seen

    def function_traced(self, function: object, concrete: Any, reason: str | None) -> None:
        """Keep why, and how large the trace is."""
        seen = self._functions.get(id(function))
        if seen is None or seen.ref() is not function:
            seen = self._keep_function(function, None)
        frames = user_frames(sys._getframe(2), self.inner, 1)
        spot = Spot(frames[0].f_code, frames[0].f_lasti) if frames else None
        if len(seen.traces) < MANY:
            seen.traces.append((reason, spot, concrete.graph.table.built))
        self.graphs.trace_made(concrete.body)

    def function_called(self, concrete: object) -> None:
        """Count a step of the program."""
        self.calls += 1
        self.steps += 1
        self._tick()

    # -- graphs

    def node_asked(self, node: object, merged: bool) -> None:
        """Note that a graph was asked for a node."""
        self.graphs.record_request(node, merged, sys._getframe(2))

    def session_ran(self, session: Any, program: object, fed: list, fetched: list) -> None:
        """Note that a run is over."""
        self.steps += 1
        frames = user_frames(sys._getframe(2), self.inner)
        is_new = self.graphs.ran(session, program, fed, fetched, frames)
        state = session._state
        if self._values.get(session) != len(state):
            self._values[session] = len(state)
            for variable in state:
                seen = self._find_seen(variable)
                if seen is not None:
                    seen.valued = True
        for handle in find_fetched_reads(program) if is_new else ():
            self._note_use(handle)
        self._tick()

    def session_made(self, session: object) -> None:
        """Keep where it was opened."""
        frames = user_frames(sys._getframe(2), self.inner, 1)
        spot = Spot(frames[0].f_code, frames[0].f_lasti) if frames else None
        self.graphs.session_made(session, spot)

    def _find_seen(self, handle: Handle) -> SeenVariable | None:
        """Return the facts about the variable of a handle."""
        owner = handle.owner() if hasattr(handle, "owner") else None
        return None if owner is None else self.variables.get(id(owner))

    def _note_use(self, handle: Handle) -> None:
        """Note that something takes the value of a graph's variable."""
        seen = self._find_seen(handle)
        if seen is not None:
            seen.read = True

    # -- memory

    def _tick(self) -> None:
        if time.perf_counter() >= self._next_memory:
            self.note_memory()

    def note_memory(self) -> None:
        """Note one row of memory over time."""
        now = time.perf_counter()
        self._next_memory = now + MEMORY_EVERY
        self.memory.append((now - self.started, bytes_in_use(), self.graphs.live()))
        if len(self.memory) >= ROWS:
            self.memory = self.memory[::2]

    def call_seconds(self) -> float:
        """Measure the time of a small operation that is called from Python."""
        one = EagerTensor(np.float32(1.0))
        with dispatch.observe(None), dispatch.eagerly(), dispatch.only(()):
            best = 1.0
            for _ in range(5):
                start = time.process_time()
                for _ in range(100):
                    add(one, one)
                best = min(best, time.process_time() - start)
        return CALLS * best / 100

    def finish(self) -> None:
        """Note that the program is over."""
        self.seconds = time.perf_counter() - self.started
        self.processor_seconds = time.process_time() - self._processor_started
        self.note_memory()
        self.eager = together(self.eager)
        self.exits, self.entries = together(self.exits), together(self.entries)
        self.graphs.finish()
        for spot in self.eager.values():
            if spot.held is None and spot.sampled >= min(JUDGED):
                self.judge(spot)


def find_fetched_reads(program: Any) -> list:
    """Return the handles of variables whose values a program gives as they are."""
    if not program.needs:
        return []
    outputs = set(program.outputs)
    return [variable for variable, slot in program.starts.items() if slot in outputs]


def holder_of(value: object) -> str:
    """Describe the holder that keeps a tensor alive; "" if it cannot be named."""
    for holder in gc.get_referrers(value):
        if type(holder) is list and len(holder) > 10:
            inside = any(type(item) is tuple and len(item) == 5 for item in holder[:3])
            return "" if inside else "a list"
        if type(holder) is dict and len(holder) > 10:
            return "a dictionary"
        if type(holder) is tuple and len(holder) == 5 and hasattr(holder[0], "operands"):
            return "the records of a tape"
    return ""


PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def bytes_in_use() -> int:
    """Return the memory of this process, in bytes; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * PAGE
    except OSError:
        return 0
