"""Calls of Python in one run of a session that wait for each other.

A run does one thing after the other.  TensorFlow's sessions start at once whatever has its
operands, so a `py_func` may wait there for what another one of the same run does, and so may
operations of queues.  Here, when such a call takes long, those that do not depend on anything with
an effect are begun in threads of their own; the run takes their results when it comes to them.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.core import dispatch, locking
from talweg.execute import interpret
from talweg.graph.node import BODY, GRAPH, READ, Node
from talweg.graph.walk import postorder, sources_of
from talweg.passes.functionalize import Program, bodies_of, functionalize, program_of

if TYPE_CHECKING:
    from talweg.passes.functionalize import Step
    from talweg.trace.host_calls import NumpyCall, TapedCall
    from talweg.trace.kept_operations import EffectCall

AFTER = 0.05  # seconds after which a call counts as waiting


class Unit(NamedTuple):
    """A step that can run by itself, and the functions it calls."""

    node: Node
    calls: frozenset


class CallPlan(NamedTuple):
    """The functions that a program calls, and the steps that can run by themselves."""

    calls: frozenset
    units: list[Unit]


def plan_of(program: Program, fed: tuple) -> CallPlan | None:
    """Return the calls of a program; None if no two can wait for each other."""
    steps = [(step.node, frozenset(calls_of(step))) for step in program.steps]
    calls = frozenset().union(*[own for _, own in steps])
    if len(calls) < 2:
        return None
    units = [Unit(node, own) for node, own in steps if own and _is_independent(node, fed)]
    return CallPlan(calls, units) if units else None


def calls_of(step: Step) -> Iterator[Any]:
    """Yield the functions that a step may call, and wait in; those of its bodies, too."""
    call = step.params.get("call")
    if step.prim.effect == "host" and getattr(call, "may_wait", False):
        yield call
    elif step.kind == "body":
        for body in bodies_of(step.node):
            for inner in program_of(body).steps:
                yield from calls_of(inner)


def _is_independent(node: Node, fed: tuple) -> bool:
    """Return whether nothing that `node` needs has an effect, so that it can be computed twice."""
    before: dict[Node, None] = {}
    postorder([node], before, lambda each: () if each in fed else sources_of(each))
    if node.prim.effect == BODY and _changes_something(node):
        return False
    return all(each is node or each in fed or _is_pure(each) for each in before)


def _is_pure(node: Node) -> bool:
    effect = node.prim.effect
    if effect == BODY:
        inner = [program_of(body) for body in bodies_of(node)]
        return not any(each.starts or each.calls_python for each in inner)
    return effect in (None, GRAPH) or (effect == READ and not sources_of(node))


def _changes_something(node: Node) -> bool:
    return any(program_of(body).writes for body in bodies_of(node))


class Claim:
    """Holds the results of the calls that a thread took over from the run."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._results: dict[Any, list] = {}  # call -> what it gave, or raised
        self._is_over = False

    def around(self, call: NumpyCall | TapedCall | EffectCall) -> Any:
        """Wrap `call`; the run will have its results, too."""
        return partial(self._run, call)

    def _run(self, call: Any, *operands: object) -> Any:
        try:
            found = call(*operands)
        except BaseException as error:
            self._note(call, (None, error))
            raise
        self._note(call, (found, None))
        return found

    def _note(self, call: object, result: tuple) -> None:
        with self._changed:
            self._results.setdefault(call, []).append(result)
            self._changed.notify_all()

    def end(self) -> None:
        """Let the run wait no longer."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def take(self, call: object) -> tuple | None:
        """Return the next result of a call: (value, error);
        None if there is none and will be none.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._results.get(call))
            found = self._results.get(call)
            return found.pop(0) if found else None


class IndependentCalls:
    """The calls of one run: a block, in which `core/locking.py: call_python` asks it."""

    def __init__(self, plan: CallPlan, fed: tuple, arrays: list, state: Any):
        self._plan, self._fed, self._arrays, self._state = plan, fed, arrays, state
        self._lock = threading.Lock()
        self._begun: set[Any] = set()  # calls that the run has come to
        self._claims: dict[Any, Claim] = {}

    def __enter__(self) -> None:
        self._before, locking.runs.beside = locking.runs.beside, self
        self._running = dispatch.context.running

    def __exit__(self, *error: object) -> None:
        locking.runs.beside = self._before

    def around(self, call: Any) -> Any:
        """Wrap `call` to take its result from the thread that has called it already."""
        return partial(self._run, call) if call in self._plan.calls else call

    def _run(self, call: Callable[..., Any], *operands: object) -> Any:
        with self._lock:
            claim = self._claims.get(call)
            if claim is None:
                self._begun.add(call)
            left = len(self._begun) + len(self._claims) < len(self._plan.calls)
        if claim is not None:
            result = claim.take(call)
            if result is not None:
                value, error = result
                if error is not None:
                    raise error
                return value
        elif left:
            timer = threading.Timer(AFTER, _start_others, [weakref.ref(self)])
            timer.daemon = True
            timer.start()
            try:
                return call(*operands)
            finally:
                timer.cancel()
        return call(*operands)

    def start_others(self) -> None:
        """Start threads for the calls that the run has not come to and that can run by
        themselves.
        """
        with self._lock:
            taken = self._begun | self._claims.keys()
            for unit in self._plan.units:
                if unit.calls.isdisjoint(taken):
                    claim = Claim()
                    self._claims.update(dict.fromkeys(unit.calls, claim))
                    work = partial(self._work, unit, claim)
                    threading.Thread(target=work, daemon=True).start()

    def _work(self, unit: Unit, claim: Claim) -> None:
        context = dispatch.context
        context.base, context.recorders, context.running = None, (), self._running
        locking.runs.beside = claim
        try:
            program = functionalize([unit.node], self._fed)
            interpret.run(program, list(self._arrays), self._state)
        except BaseException:  # noqa: BLE001, S110 -- the run raises it when it comes there
            pass
        finally:
            claim.end()


def _start_others(calls: weakref.ref[IndependentCalls]) -> None:
    """Begin the other calls of a run that still waits; its graph may be gone before the timer."""
    found = calls()
    if found is not None:
        found.start_others()
