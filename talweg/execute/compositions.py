"""Functions of many operations on large tensors, run as one program where that pays.

Each operation by itself becomes machine code (`execute/eager_kernels.py`), but a formula of twenty
still goes through memory twenty times.  So a function that is marked `as_one` is traced for its
arguments' shapes once its eager calls have taken as long as compiling would; the executor compiles
the trace as it compiles any.  It stays only where it turns out to be faster.

The derivative rules of primitives are such functions, too, where they are several operations:
GELU's has 16.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch, settings
from talweg.core.hooks import hooks
from talweg.execute.eager_kernels import FASTER, KEPT, MIDDLING, SECONDS, KernelTimes
from talweg.transform.rules import vjp_of

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive

TRIALS = 48  # calls, by turns of the trace and without it, before which nothing is decided
# Calls until the trace must have been faster.  Its first 400 may be interpreted (`executor.MANY`);
# where they have taken SECONDS, it is compiled, and has as many as TRIALS from there on.
LAST_TRIAL = 900
PLAIN = frozenset((int, float, bool, str, type(None), np.float32, np.float64, np.int32, np.int64))
state = dispatch.state


class Composition:
    """A function for tensors of given shapes and given other arguments, timed, then traced."""

    def __init__(self) -> None:
        self.times, self.trial_times = KernelTimes(), KernelTimes()
        self.trace: Any = None
        self.trials, self.last_trial = 0, LAST_TRIAL
        self.trace_is_wanted: bool | None = None  # until it is decided

    def run(self, function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        """Return the result of a call, by the trace if there is one and it is the faster way."""
        if self.trace_is_wanted is False:
            return function(*args, **kwargs)
        start = time.perf_counter()
        if self.trace is None or (self.trace_is_wanted is None and self.trials % 2):
            result, times = function(*args, **kwargs), self.times
        else:
            try:
                result, times = self._run_trace(args), self.trial_times
            except Exception:  # noqa: BLE001 -- the function itself says what is wrong
                self.trace_is_wanted = False
                return function(*args, **kwargs)
        if self.trace_is_wanted is None:
            times.add(time.perf_counter() - start)
            self._decide(function, args, kwargs)
        return result

    def _run_trace(self, args: tuple) -> Any:
        return self.trace(*[x for x in args if type(x) is state.plain])

    def _decide(self, function: Callable[..., Any], args: tuple, kwargs: dict) -> None:
        """Trace after so much time; give the trace up if it stays slower than the later calls."""
        if self.trace is None:
            if self.times.total >= SECONDS:
                self.trace, self.times = _trace(function, args, kwargs), KernelTimes()
            return
        self.trials += 1
        if self.trials < TRIALS:
            return
        if self.trial_times.least <= FASTER * self.times.least:
            self.trace_is_wanted = True
            return
        if self.trial_times.total >= SECONDS:
            self.last_trial = min(self.last_trial, self.trials + TRIALS)
        if self.trials >= self.last_trial:
            self.trace_is_wanted, self.trace = False, None


_known: dict[tuple, Composition] = {}


def as_one(function: Callable[..., Any] | None = None, *, least: int = MIDDLING) -> Any:
    """Mark a public function whose first argument may be a large tensor and all others are plain.

    It must ask for no values of tensors, and draw no random numbers.  least: elements from which
    it is looked at; 1 where its operations are so many that calling them takes long by itself.
    """
    if function is None:
        return functools.partial(as_one, least=least)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if state.busy or not args or type(args[0]) is not state.plain:
            return function(*args, **kwargs)
        if args[0]._array.size < least or settings.deterministic.get():
            return function(*args, **kwargs)
        key = _key(function, args, kwargs)
        if key is None or settings.executor.get() == "interpret":
            return function(*args, **kwargs)
        composition = _known.get(key)
        if composition is None:
            if len(_known) >= KEPT:
                _known.clear()
            composition = _known.setdefault(key, Composition())
        return composition.run(function, args, kwargs)

    return call


def _key(function: Callable[..., Any], args: tuple, kwargs: dict) -> tuple | None:
    """Return what a trace holds for; None where an argument has no simple text."""
    parts: list = [function]
    for x in (*args, *kwargs.values()):
        if type(x) is state.plain:
            parts += (x._array.shape, x._array.dtype)
        elif type(x) in PLAIN:
            parts.append((type(x), repr(x)))  # 0.0 and -0.0 differ
        elif type(x) in (list, tuple) and all(type(part) in PLAIN for part in x):
            parts.append((type(x), repr(x)))
        else:
            return None
    if kwargs and any(type(x) is state.plain for x in kwargs.values()):
        return None
    return *parts, *kwargs


def _trace(function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Return the function of the tensors among the arguments, which it does not keep."""
    held = [_TENSOR if type(x) is state.plain else x for x in args]

    def body(*tensors: Any) -> Any:
        given = iter(tensors)
        return function(*[next(given) if x is _TENSOR else x for x in held], **kwargs)

    body.__name__ = function.__name__
    return hooks.look_up_export("function")(body, autograph=False)


_TENSOR = object()  # stands for a tensor


def pull_back(
    prim: Primitive, g: Any, results: Any, operands: tuple, params: dict, wanted: list
) -> list:
    """Return the cotangents of a primitive's operands, by one program where that pays."""
    is_several = prim.elementwise or prim.name in SEVERAL_STEPS
    if is_several and not state.busy and _is_middling(g, operands):
        try:
            key = (prim, *wanted, *params.items())
            rule = _rules.get(key)
        except TypeError:  # a parameter without a hash
            return (prim.vjp or vjp_of(prim))(g, results, operands, params, wanted)
        if rule is None:
            if len(_rules) >= KEPT:
                _rules.clear()
            rule = _rules.setdefault(key, _rule_of(prim, params, wanted))
        return rule(g, results, *operands)
    return (prim.vjp or vjp_of(prim))(g, results, operands, params, wanted)


def _is_middling(g: Any, operands: tuple) -> bool:
    """Return whether a cotangent, or the first operand, which may be reduced, has many elements."""
    for x in (g, *operands[:1]):
        if type(x) is state.plain and x._array.size >= MIDDLING:
            return type(g) is state.plain
    return False


def _rule_of(prim: Primitive, params: dict, wanted: list) -> Callable[..., list]:
    """Return the rule of a primitive, for these parameters, as a function of tensors."""
    vjp = prim.vjp or vjp_of(prim)

    def rule(g: Any, z: Any, *operands: Any) -> list:
        return vjp(g, z, operands, params, wanted)

    rule.__name__ = f"{prim.name}_gradient"
    return rule if prim.name in ONE_STEP else as_one(rule, least=1)  # `pull_back` has looked


# Elementwise primitives whose rule is one operation for each operand, which nothing makes faster.
ONE_STEP = frozenset(("add", "sub", "mul", "neg", "relu", "maximum", "minimum"))
# Others whose rule is several elementwise operations, reductions or scans.
SEVERAL_STEPS = frozenset(
    ("softmax", "log_softmax", "logsumexp", "reduce_prod", "reduce_max", "reduce_min", "cumprod")
)
_rules: dict[tuple, Callable[..., list]] = {}
