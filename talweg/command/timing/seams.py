"""The functions that a profile wraps with its clock: operations, programs, traces, compilations.

These are the few functions through which all work goes.  They are replaced inside the block and put
back after it, so that nothing is paid without a profile.  Steps of the interpreter are told by its
own `watch`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talweg.command.timing.clock import Clock, Key
from talweg.core import dispatch
from talweg.core.provenance import line_of, user_origin
from talweg.eager.tape import GradientTape
from talweg.eager.tensor import EagerTensor
from talweg.execute import backends, executor, interpret
from talweg.trace.concrete import ConcreteFunction

if TYPE_CHECKING:
    from types import ModuleType

    from talweg.core.dispatch import State
    from talweg.core.primitive import Primitive
    from talweg.doctor.waste.graph_sites import GraphWatch
    from talweg.eager.structured import Variables
    from talweg.passes.functionalize import Program, Step

OPERATORS = ("add", "sub", "mul", "truediv", "pow", "matmul")
COMPARISONS = ("lt", "gt", "le", "ge")
NAMES = {"truediv": "div", "lt": "less", "gt": "greater", "le": "less_equal", "ge": "greater_equal"}


@contextmanager
def time_block(clock: Clock) -> Iterator[None]:
    """Time everything that is done inside the block by `clock`."""
    with ExitStack() as stack:
        for owner, name, around in (
            (dispatch.state, "evaluate", operations),
            (executor, "run", programs),
            (interpret, "run", interpretations),
            (backends, "compile_program", compilations),
            (ConcreteFunction, "trace", traces),
            (GradientTape, "gradient", gradients),
        ):
            stack.enter_context(replace_function(owner, name, functools.partial(around, clock)))
        for name in OPERATORS + COMPARISONS:
            for method in (f"__{name}__", f"__r{name}__"):
                if method in EagerTensor.__dict__:
                    around = functools.partial(operators, clock, NAMES.get(name, name))
                    stack.enter_context(replace_function(EagerTensor, method, around))
        yield


@contextmanager
def replace_function(
    owner: State | ModuleType | type, name: str, around: Callable[[Any], Any]
) -> Iterator[None]:
    """Replace a function under a name, inside the block."""
    before = owner.__dict__[name] if isinstance(owner, type) else getattr(owner, name)
    setattr(owner, name, around(before))
    try:
        yield
    finally:
        setattr(owner, name, before)


def operations(clock: Clock, plain: Callable) -> Any:
    """Time operations that run at once."""

    def evaluate(prim: Primitive, operands: tuple, params: dict) -> Any:
        clock.enter()
        size = 0
        try:
            result = plain(prim, operands, params)
            size = bytes_of(result)
            return result
        finally:
            clock.leave(Key("operation", prim.name, user_origin(2)), 1, size)

    return evaluate


def operators(clock: Clock, name: str, plain: Callable) -> Any:
    """Time Python's operators, which go straight to a kernel where they can."""

    def operate(self: Any, other: object) -> Any:
        clock.enter()
        frame = clock.stack[-1]
        size, straight = 0, False
        try:
            result = plain(self, other)
            size = bytes_of(result)
            # Else the operation inside was counted, or made a node of the function being traced.
            straight = isinstance(result, EagerTensor) and not frame[1]
            return result
        finally:
            clock.leave(Key("operation", name, user_origin(2)), int(straight), size * straight)

    return operate


def bytes_of(result: object) -> int:
    """Return the bytes of a result, or of several."""
    if type(result) is tuple:
        return sum(map(bytes_of, result))
    array = result._array if isinstance(result, EagerTensor) else None
    return getattr(array, "nbytes", 0)


def programs(clock: Clock, plain: Callable) -> Any:
    """Time calls of functions and sessions: all but the interpreter's time is compiled code's."""

    def run(program: Program, arguments: list, state: Any, watch: GraphWatch | None = None) -> list:
        clock.enter()
        try:
            return plain(program, arguments, state, watch)
        finally:
            compiled = None if program.tier is None else program.tier.last
            name = clock.labels.get(id(compiled), program_name(program.name))
            clock.leave(Key("call" if compiled is None else "compiled", name, user_origin(2)))

    return run


def interpretations(clock: Clock, plain: Callable) -> Any:
    """Time programs that run step by step."""

    def run(program: Program, arguments: list, state: Any, watch: GraphWatch | None = None) -> list:
        if watch is not None:
            return plain(program, arguments, state, watch)
        steps = StepTimer(clock)
        try:
            return plain(program, arguments, state, steps)
        finally:
            steps.end()

    return run


class StepTimer:
    """Told by the interpreter when a step begins; the one before it is over then."""

    def __init__(self, clock: Clock):
        self.clock = clock
        self.under_way: Any = None
        self.values: list = []

    def begin(self, step: Step, values: list) -> None:
        """Note that a step begins."""
        self.end()
        self.under_way, self.values = step, values
        self.clock.enter()

    def end(self) -> None:
        """Note that the step under way is over."""
        step = self.under_way
        if step is not None:
            self.under_way = None
            size = getattr(self.values[step.out], "nbytes", 0)
            self.clock.leave(Key("step", step.prim.name, step.node.origin), 1, size)


def compilations(clock: Clock, plain: Callable) -> Any:
    """Time programs that are compiled."""

    def compile_timed(
        program: Program, arguments: list, state: Variables | dict, anew: bool = True
    ) -> Any:
        clock.enter()
        origin = user_origin(2)
        try:
            compiled_program = plain(program, arguments, state, anew)
            if compiled_program is None:  # asked for, and not on disk
                return None
            clock.labels[id(compiled_program)] = label(program.name, origin, clock)
            return compiled_program
        finally:
            clock.leave(Key("compile", program_name(program.name), origin))

    return compile_timed


def program_name(name: str) -> str:
    """Return the name of a program: a session's has none of its own."""
    return "session.run" if name == "program" else name


def label(name: str, origin: tuple | None, clock: Clock) -> str:
    """Return a name for a compiled program that no other has: a session's by its line."""
    found = program_name(name)
    if name == "program" and origin is not None:
        found += f" at {Path(origin[0].co_filename).name}:{line_of(origin)}"
    taken = set(clock.labels.values())
    number = 2
    while found in taken:
        found, number = f"{found.removesuffix(f' ({number - 1})')} ({number})", number + 1
    return found


def traces(clock: Clock, plain: Callable) -> Any:
    """Time functions that are traced."""

    def trace(self: Any, *arguments: object) -> Any:
        clock.enter()
        try:
            return plain(self, *arguments)
        finally:
            clock.leave(Key("trace", self.name, user_origin(2)))

    return trace


def gradients(clock: Clock, plain: Callable) -> Any:
    """Reverse sweeps of tapes: their operations are counted as such, the rest is the sweep."""

    @functools.wraps(plain)
    def gradient(self: Any, *arguments: object, **named: object) -> Any:
        clock.enter()
        try:
            return plain(self, *arguments, **named)
        finally:
            clock.leave(Key("gradient", "tape.gradient", user_origin(2)))

    return gradient
