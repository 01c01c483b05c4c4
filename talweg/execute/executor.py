"""The choice of a program's executor: the interpreter first, the compiler where it pays.

A program is compiled for the shapes it is called with.  If another process did that, a long one
runs as machine code from its first call.  Otherwise the first calls of each run on the interpreter;
once these have taken a good part of what compiling is expected to take, it is compiled, and runs as
machine code from then on.  Where shapes change all the time, more is asked for.  A long program is
compiled aside, by a thread, and goes on interpreted meanwhile.  What cannot be compiled for some
shapes stays with the interpreter, which also runs again whatever has failed, to say where and why.

`TALWEG_EXECUTOR=interpret` or `llvm` chooses one of them from the first call on, `xla` a third, of
accelerators (`execute/xla`), which nothing else chooses on a CPU.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch, forks, settings
from talweg.core.dropping import drop_oldest
from talweg.core.errors import ResourceExhaustedError
from talweg.core.lazy import LazyModule
from talweg.core.transfers import fetch
from talweg.execute import backends, choice, interpret
from talweg.execute.backends import REFUSED, refuse
from talweg.execute.background import background
from talweg.execute.choice import chosen, is_on_cpu, is_on_device
from talweg.execute.donation import OwnedValues
from talweg.execute.interpret import MISSING, onlooker
from talweg.graph.node import Node
from talweg.kernels.variants import is_opaque, kind_of
from talweg.passes import faults, segments
from talweg.passes.functionalize import Program, count_inlined_steps
from talweg.passes.specialize.program import demands

if TYPE_CHECKING:
    from talweg.execute.xla import program as xla_program
else:
    xla_program = LazyModule("talweg.execute.xla.program")

SECONDS, SECONDS_A_STEP = 0.04, 0.004  # what compiling is expected to take
INTERPRETED_PART = 0.25  # the part of it that the interpreter may have taken before
ASIDE = 200  # steps from which a program is compiled while it goes on interpreted
SOON = 0.1  # of what is worth it otherwise, since nobody waits
LONG = 30  # steps from which the disk is asked for a program before it runs at all
TRAINED = 2**16  # numbers from which on a training step is compiled before it first runs
PATIENCE = 10.0  # seconds that its first call waits for the compiler at most
MANY = 400  # calls after which a program is compiled, however short
VERSIONS = 16  # shapes for which a program is compiled
SHAPES = 256  # of which it is remembered how long the interpreter took


def run(program: Program, arguments: list, state: Any, watch: Any = None) -> list:
    """Run a program; `state` (variable -> array or MISSING) is changed by its writes.

    `arguments` belongs to the run, which may empty it.  After a failure variables have what was
    written before it.  `watch` is told when a step begins; with it, programs run step by step.
    """
    tier = program.tier
    if tier is None:
        tier = program.tier = Tier(len(program.steps), count_inlined_steps(program))
    mode = chosen.value
    if mode == "xla" and not is_on_cpu():
        outputs = run_on_device(program, arguments, state, watch)
        return outputs if type(outputs) is list else outputs.fetch()
    if watch is not None or onlooker.step_by_step or mode == "interpret":
        return interpret.run(program, arguments, state, watch)
    if tier.last is not None and not demands.finite:
        outputs = tier.last(program, arguments, state)
        if outputs is not None:
            return outputs
    if demands.finite:
        tier = tier.checking()
    return tier.run(program, arguments, state)


def run_on_device(program: Program, arguments: list, state: Any, watch: Any = None) -> Any:
    """Run a program through XLA like `run`, with outputs of a device as `DeviceOutputs`.

    Arguments may be arrays of a device.  Where numbers are watched the interpreter runs the
    program: XLA's are not always IEEE's.
    """
    tier = program.tier
    if tier is None:
        tier = program.tier = Tier(len(program.steps), count_inlined_steps(program))
    if watch is not None or onlooker.step_by_step or demands.finite:
        return interpret.run(program, list(map(fetch, arguments)), state, watch)
    return tier.through_xla().run_on_device(program, arguments, state)


def as_used(program: Program, arguments: list) -> list:
    """Return arguments as the interpreter takes them, without copying those of calls only."""
    carried = interpret.find_carried_slots(program)
    for place, (slot, array) in enumerate(zip(program.inputs, arguments)):
        if slot not in carried:
            arguments[place] = fetch(array)
    return arguments


def is_compiled(program: Program | None) -> bool:
    """Return whether a program has run through XLA as a whole."""
    tier = None if program is None or program.tier is None else program.tier.xla
    return tier is not None and tier.last is not None


def places_on_device(program: Program) -> Iterable[int]:
    """Return the places of arguments that only segments compiled by XLA take; none before a run."""
    tier = None if program.tier is None else program.tier.xla
    return () if tier is None or tier.stays is None else tier.stays


class Tier:
    """The tier a program runs in, for each combination of shapes."""

    __slots__ = (
        "__weakref__",
        "aside",
        "asks",
        "checked",
        "compiling",
        "last",
        "made",
        "queued",
        "refused",
        "segments",
        "spent",
        "stays",
        "versions",
        "compile_after",
        "xla",
    )

    def __init__(self, steps: int, inlined: int = 0):
        self.versions: dict[tuple, Any] = {}
        self.refused: set[tuple] = set()  # shapes for which it is not compiled
        self.last: Any = None  # the version that ran last
        self.spent: dict[tuple, tuple[int, float]] = {}  # shapes -> calls, seconds interpreted
        self.made = 0  # how often it was compiled
        self.asks = steps >= LONG  # whether the disk is asked at the first call
        self.compile_after = INTERPRETED_PART * (SECONDS + SECONDS_A_STEP * inlined)
        self.aside = inlined >= ASIDE
        self.queued: dict[tuple, threading.Event] = {}  # shapes compiled aside; set: that is over
        self.compiling = threading.Lock()
        self.segments: dict[tuple, Any] = {}  # opaque arguments -> how it is cut (or None)
        self.stays: Any = None  # places of arguments that only segments without opaque values take
        self.checked: Any = None  # how it is run while results must be finite
        self.xla: Any = None  # how it is run through XLA; itself, if it is that

    def checking(self) -> Tier:
        """Return the executor of the program while results have to be finite: what is compiled
        differs.
        """
        if self.checked is None:
            checked = self.checked = Tier(0)
            checked.compile_after, checked.asks = self.compile_after, self.asks
            checked.aside = False
        return self.checked

    def through_xla(self) -> Tier:
        """Return the executor of the program through XLA."""
        if self.xla is None:
            self.xla = Tier(0)
            self.xla.xla = self.xla
        return self.xla

    def run_on_device(self, program: Program, arguments: list, state: Any) -> Any:
        """Run the program by XLA or the interpreter."""
        if self.last is not None:
            outputs = self.last(program, arguments, state)
            if outputs is not None:
                return outputs
        shapes = tuple([kind_of(x) for x in arguments])
        if None in shapes:
            return self._run_opaque(program, arguments, state)
        if shapes in self.refused:
            return interpret.run(program, as_used(program, arguments), state)
        key = (*shapes, *_aliases(program, arguments, xla_program.nearest(state)))
        if dispatch.state.meshes:
            key = (*key, xla_program.placement(program, arguments, state))
        key = (*key, choice.target(program))
        version = self.versions.get(key)
        if version is None:
            version = self._compile(key, program, arguments, state)
        if version is not REFUSED:
            self.last = version
        outputs = None if version is REFUSED else version(program, arguments, state)
        if outputs is None:
            return interpret.run(program, as_used(program, arguments), state)
        return outputs

    def run(self, program: Program, arguments: list, state: Any) -> list:
        """Run the program by the executor of its tier."""
        shapes = tuple([kind_of(x) for x in arguments])
        if None in shapes:
            return self._run_opaque(program, arguments, state)
        if shapes in self.refused:
            return interpret.run(program, arguments, state)
        key = (*shapes, *_aliases(program, arguments, state))
        version = self.versions.get(key)
        if version is not None:
            self.last = version
            return run_by(version, program, arguments, state)
        mode = settings.executor.get()
        calls, seconds = self.spent.get(key, (0, 0.0))
        if self.asks and not calls and mode != "llvm":
            version = self._compile(key, program, arguments, state, anew=False)
            self.asks = version is not None  # where one is missing, others are
            if self.asks and version is not REFUSED:
                return run_by(version, program, arguments, state)
        at_once = mode == "llvm" or settings.deterministic.get()
        awaited = not (at_once or calls) and self._is_awaited(program, arguments, state)
        is_due = at_once or awaited or self._is_due(calls, seconds)
        if awaited:
            _trained.update(program.changes)
        if is_due and not at_once and self._is_aside(key, program, arguments, state):
            is_due = awaited and background.await_job(self.queued[key], PATIENCE)
            version = self.versions.get(key)
            if version is not None:
                return run_by(version, program, arguments, state)
            if shapes in self.refused:
                return interpret.run(program, arguments, state)
        if is_due:
            version = self._compile(key, program, arguments, state)
            if version is REFUSED:
                return interpret.run(program, arguments, state)
            return run_by(version, program, arguments, state)
        start = time.perf_counter()
        try:
            return interpret.run(program, arguments, state)
        finally:
            if len(self.spent) >= SHAPES:
                drop_oldest(self.spent)
            self.spent[key] = (calls + 1, seconds + time.perf_counter() - start)

    def _run_opaque(self, program: Program, arguments: list, state: Any) -> Any:
        """Run the program on opaque arguments: segments without them are compiled."""
        if not any(map(is_opaque, arguments)):
            return interpret.run(program, as_used(program, arguments), state)
        key = tuple([place for place, x in enumerate(arguments) if kind_of(x) is None])
        cut = self.segments.get(key, self)
        if cut is self:
            cut = self.segments[key] = segments.split_segments(program, key)
        if cut is None:
            return interpret.run(program, as_used(program, arguments), state)
        if self.stays is None:
            elsewhere = cut.opaque.union(program.outputs)
            slots = enumerate(program.inputs)
            self.stays = frozenset([place for place, slot in slots if slot not in elsewhere])
        return run_segments(cut, program, arguments, state)

    def _is_due(self, calls: int, seconds: float) -> bool:
        """Return whether shapes are compiled after these calls and seconds of interpretation."""
        asked = self.compile_after * (SOON if self.aside else 1) * (1 + self.made / VERSIONS)
        return calls > 0 and (calls >= MANY or seconds >= asked)

    def _is_awaited(self, program: Program, arguments: list, state: Any) -> bool:
        """Return whether the first call waits for the compiler: it is a training step's.

        A program that updates the variables which it reads is called many times.  With many
        numbers, its interpreted steps take longer than compiling does, and hold it up.  Another one
        for variables that were trained before is that of a last, smaller batch, or an evaluation.
        """
        if not self.aside or self.made:
            return False
        updated = [each for each in program.changes if each in program.needs]
        if all(each in _trained for each in updated):
            return False
        values = [*arguments, *map(state.get, program.starts)]
        return sum([value.size for value in values if type(value) is np.ndarray]) >= TRAINED

    def _is_aside(self, key: tuple, program: Program, arguments: list, state: Any) -> bool:
        """Return whether these shapes compile in the background, from now on at the latest.

        It is not where somebody looks at what is compiled, or where that failed in a call before.
        """
        if not self.aside:
            return False
        if key in self.queued:
            return not self.queued[key].is_set()
        if is_observed():
            return False
        if len(self.queued) >= SHAPES:
            drop_oldest(self.queued)
        over = self.queued[key] = threading.Event()
        tier, given = weakref.ref(self), kinds_of(program, arguments, state)

        def compile_aside() -> None:
            ready = tier()
            try:
                if ready is not None:
                    ready._compile(key, program, *given)
            finally:
                over.set()

        _aside.add(self)
        return background.submit(program.name, compile_aside)

    def forget_aside(self) -> None:
        """Reset background compilation in a forked child."""
        self.compiling = threading.Lock()
        self.queued.clear()

    def _compile(
        self, key: tuple, program: Program, arguments: list, state: dict, anew: bool = True
    ) -> Any:
        """Return the compiled program or REFUSED; None where it is not cached, unless `anew`."""
        if not self.compiling.acquire(blocking=False):
            return REFUSED if anew else None  # another thread is at it: this call is interpreted
        try:
            if len(self.versions) >= VERSIONS:
                drop_oldest(self.versions)
            if len(self.refused) >= VERSIONS:
                self.refused.clear()
            version = self._version(program, arguments, state, anew)
            if version is None:
                return None
            self.spent.pop(key, None)
            self.made += 1
            if version is REFUSED:
                self.refused.add(key[: len(arguments)])
            else:
                self.versions[key] = self.last = version
            return version
        finally:
            self.compiling.release()

    def _version(self, program: Program, arguments: list, state: dict, anew: bool) -> Any:
        """Return the compiled program, or REFUSED for unsupported programs and faults."""
        try:
            if self.xla is self:
                return backends.compile_by_xla(program, arguments, state)
            anew = anew or settings.executor.get() == "llvm"
            return backends.compile_program(program, arguments, state, anew)
        except (MemoryError, ResourceExhaustedError) as error:
            return refuse(program, error)
        except faults.CompilerFaultError as error:
            if faults.is_raised():
                raise
            faults.report(program.name, error)
            return refuse(program, error)


def run_segments(cut: segments.Segments, program: Program, arguments: list, state: Any) -> Any:
    """Run a segmented program; variables change when all have run, or one failed.

    On a device values stay there from segment to segment.
    """
    on_device = is_on_device()
    near, segment_state = xla_program.nearest(state) if on_device else state, state
    if program.needs:
        interpret.check_needs(program, near)
    if cut.updates > 1:
        segment_state = OwnedValues(state, {key: near.get(key, MISSING) for key in program.starts})
    values = dict(zip(program.inputs, arguments))
    values.update([(slot, near.get(variable, MISSING)) for variable, slot in cut.fetched])
    arguments.clear()
    try:
        for part, last in zip(cut.parts, cut.last):
            given = [values[slot] for slot in part.program.inputs]
            for slot in last:
                values.pop(slot, None)
            if part.opaque:
                ran = interpret.run(part.program, as_used(part.program, given), segment_state)
            elif on_device:
                ran = run_on_device(part.program, given, segment_state)
                ran = ran if type(ran) is list else ran.arrays
            else:
                ran = run(part.program, given, segment_state)
            values.update(zip(part.program.outputs, ran))
    except ResourceExhaustedError:
        raise  # and nothing has changed
    except Exception:
        _take_over(program, segment_state, state)
        raise
    _take_over(program, segment_state, state)
    values.update(cut.constants)
    outputs = [values[slot] for slot in program.outputs]
    return xla_program.DeviceOutputs(outputs) if on_device else outputs


def _take_over(program: Program, own: dict, state: Any) -> None:
    """Copy the variables from the state of segments to `state`."""
    if own is state:
        return
    for variable in program.writes:
        value = own[variable]
        if value is not MISSING and not (type(variable) is Node and own.reserve is not None):
            state[variable] = value


def is_observed() -> bool:
    """Return whether compilation or execution is being observed or measured."""
    return bool(settings.dump.get() or settings.profile.get() or settings.check.get())


def kinds_of(program: Program, arguments: list, state: Any) -> tuple[list, dict]:
    """Describe arguments and variables without their elements, aliases as one object.

    They take no memory, and nobody's values are held while the program is compiled.
    """
    kind_by_id: dict[int, Any] = {}

    def kind(value: Any) -> Any:
        if type(value) is not np.ndarray:
            return value
        stand_in = kind_by_id.get(id(value))
        if stand_in is None:
            empty = np.zeros((), value.dtype)
            stand_in = kind_by_id[id(value)] = np.broadcast_to(empty, value.shape)
        return stand_in

    variables = {variable: kind(state.get(variable, MISSING)) for variable in program.starts}
    return [kind(x) for x in arguments], variables


_aside: weakref.WeakSet[Tier] = weakref.WeakSet()  # what is, or was, compiled aside
_trained: weakref.WeakSet[Any] = weakref.WeakSet()  # variables whose training was waited for


def _reset_after_fork() -> None:
    for tier in list(_aside):
        tier.forget_aside()


forks.in_child(_reset_after_fork)


def run_by(version: Any, program: Program, arguments: list, state: dict) -> list:
    """Run by a compiled program, or by the interpreter for other shapes.

    It is if a variable has no value, which the interpreter says, or if another thread has changed
    one since its value became an argument.
    """
    outputs = version(program, arguments, state)
    return interpret.run(program, arguments, state) if outputs is None else outputs


def _aliases(program: Program, arguments: list, state: Any) -> list:
    """Return the arguments that are the values of variables."""
    if not program.starts:
        return []
    own = {id(state.get(variable)) for variable in program.starts}
    return [place for place, array in enumerate(arguments) if id(array) in own]


interpret.bodies.run = run
