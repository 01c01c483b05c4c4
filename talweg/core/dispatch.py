"""Dispatch: the one place that every operation passes through, where an interpreter takes it.

Three things can happen to an application of a primitive.

- **Interpret.**  The operand of the highest `level` chooses: plain eager tensors run the NumPy
  kernel, symbolic tensors build a node, batch tensors apply the batch rule (which applies
  primitives to the values inside, one level lower).  `context.base` is the interpreter when no
  operand asks for another: eager evaluation, or a graph under construction.
- **Record.**  Afterwards each active recorder of this thread is shown operands, results and
  parameters: first the gradient tapes, then the forward accumulators, outer before inner.  An
  accumulator's own operations are shown to the recorders before it only: so a tape has the
  operation itself before the tangents computed from its result, and an inner accumulator
  differentiates what an outer one has done, not the other way round (no perturbation confusion:
  Siskind and Pearlmutter 2008).
- Nothing else.  While `state.busy` is 0 no recorder, trace or batch exists in any thread, and
  primitives go straight to the eager kernel.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from talweg.core.thread_context import carry_context

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive


class State:
    """The dispatch state that all threads share; filled in by `eager/evaluate.py`."""

    __slots__ = (
        "busy",
        "evaluate",
        "in_graph",
        "lock",
        "meshes",
        "observer",
        "plain",
        "seed",
        "variable",
        "variable_maker",
    )

    def __init__(self) -> None:
        self.busy = 0
        self.lock = threading.Lock()
        self.meshes = False  # whether tensors may be shared out among devices
        self.seed: Any = None  # the global one (`eager/randomness.py`), with which traces begin
        self.evaluate: Any = None
        self.plain: Any = None
        self.variable: Any = None
        self.variable_maker: Any = None  # makes variables of several replicas, if there are any
        self.in_graph: Any = None  # how API functions are called once graphs are in use
        self.observer: Any = None  # what watches the program (`core/observer.py`); busy counts it


class Recorder:
    """An interpreter that is shown each application; tapes come before forward accumulators."""

    rank = 0

    def record(self, prim: Primitive, operands: tuple, results: object, params: dict) -> None:
        """Note an application of a primitive."""

    def note_read(self, variable: object, tensor: object) -> None:
        """Note that a variable was read as `tensor`."""

    def note_write(self, variable: object, tensor: object) -> None:
        """Note that a variable was given the value of `tensor`, or changed by it."""

    def note_exit(self, tensor: object) -> None:
        """Note that the value of `tensor` was taken out to NumPy or Python."""


class Context(threading.local):
    """The dispatch context of one thread."""

    first_base: Any = None  # a function that makes the first `base` of each thread; None: eager
    recorders: tuple = ()  # tapes, then forward accumulators; inner after outer
    base: Any = None  # None: eager
    batch_level: int = 0  # how many batchings are nested
    keep_inside: bool = False  # whether operations with bodies keep everything for derivatives
    running: Any = None  # what the session that runs in this thread keeps between runs
    mapped: tuple = ()  # interpreters of the `vectorized_map`s we are inside, inner after outer
    deriving: Any = None  # the record whose derivative rule is being applied, in a reverse sweep
    device: str | None = None  # where what is computed lies (`tf.device`); None: the first device
    creators: tuple = ()  # of `tf.variable_creator_scope`, the innermost first
    replica: Any = None  # which of several replicas this is; part of what functions are traced for

    def __init__(self) -> None:
        make = Context.first_base
        if make is not None:
            self.base = make()


state = State()
context = carry_context(Context())


def bind(prim: Primitive, operands: tuple, params: dict) -> Any:
    """Apply `prim`: interpret, then show the application to every recorder."""
    interpreter, plain = context.base, state.plain
    level = 0 if interpreter is None else interpreter.level
    for operand in operands:
        if type(operand) is not plain:
            own = getattr(operand, "level", 0)
            if own > level:
                interpreter, level = operand.interpreter, own
    if interpreter is None:
        results = state.evaluate(prim, operands, params)
        if context.device is not None:
            put_on_device(results)
        if state.observer is not None:
            state.observer.applied(prim, operands, results, params)
    else:
        results = interpreter.bind(prim, operands, params)
        replaced = getattr(interpreter, "replaced", None)
        if replaced is not None:  # the derivative of a registry holds for tapes, too
            interpreter.replaced = None
            for recorder in context.recorders:
                recorder.record(*replaced)
            return results
    for recorder in context.recorders:
        recorder.record(prim, operands, results, params)
    return results


def note_write() -> None:
    """Tell the `vectorized_map`s we are inside that a variable is written at once."""
    for batching in context.mapped:
        batching.wrote = True


def put_on_device(results: object) -> None:
    """Note where new tensors lie: on the device in force."""
    for tensor in results if type(results) is tuple else (results,):
        if type(tensor) is state.plain:
            tensor._device = context.device


def enter(count: int = 1) -> None:
    """Note that `count` more recorders, traces or batches exist."""
    with state.lock:
        state.busy += count


def leave(count: int = 1) -> None:
    """Undo `enter`."""
    with state.lock:
        state.busy -= count


def push(recorder: Recorder) -> None:
    """Make `recorder` the innermost recorder of its kind in this thread."""
    present = context.recorders
    place = len(present)
    while place and present[place - 1].rank > recorder.rank:
        place -= 1
    context.recorders = (*present[:place], recorder, *present[place:])
    enter()


def remove(recorder: Recorder) -> None:
    """Take `recorder` off this thread's recorders; nothing happens if it is not among them."""
    present = context.recorders
    kept = tuple([other for other in present if other is not recorder])
    if len(kept) < len(present):
        context.recorders = kept
        leave()


@contextmanager
def observe(observer: object) -> Iterator[None]:
    """Let `observer` watch the work inside the block, in place of an outer observer."""
    before = state.observer
    enter()
    state.observer = observer
    try:
        yield
    finally:
        state.observer = before
        leave()


@contextmanager
def only(recorders: tuple) -> Iterator[None]:
    """Show applications to `recorders` alone inside the block."""
    before = context.recorders
    context.recorders = recorders
    try:
        yield
    finally:
        context.recorders = before


@contextmanager
def keep_all_inside() -> Iterator[None]:
    """Let operations with bodies keep everything inside them: their history is a tangent."""
    before, context.keep_inside = context.keep_inside, True
    try:
        yield
    finally:
        context.keep_inside = before


@contextmanager
def eagerly() -> Iterator[None]:
    """Build nothing inside the block: operations run at once, whatever graph is in force."""
    before = context.base
    if before is None:
        yield
        return
    context.base = None
    try:
        yield
    finally:
        context.base = before
