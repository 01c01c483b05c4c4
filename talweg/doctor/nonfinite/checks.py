"""Stopping at the first result that is NaN or infinite (`tf.debugging.enable_check_numerics`).

Eager operations are looked at when they ran, programs step by step.  Compiled programs demand that
every result is finite (`demands` of `passes/specialize/program.py`); one that does not get that has
written nothing, and is run by the interpreter, which says where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch
from talweg.core.errors import InvalidArgumentError, OpError, compose
from talweg.core.observer import Observer
from talweg.core.provenance import describe, user_origin
from talweg.core.roles import Role
from talweg.doctor.nonfinite.causes import Cause, cause_of, describe_operands
from talweg.doctor.nonfinite.ledger import (
    Ledger,
    LedgerEntry,
    Link,
    bad_index,
    content,
    entry_of,
    has_bad,
    tell_rule,
)
from talweg.doctor.nonfinite.report import OperandReport
from talweg.execute.interpret import onlooker
from talweg.passes.specialize.program import demands, makes_values

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive
    from talweg.passes.functionalize import Program, Step


class Checks:
    """Whether results are checked, and what watched the program before."""

    def __init__(self) -> None:
        self.enabled = False
        self.before: tuple = ()

    def enable(self) -> None:
        """Check from now on, in all threads; nothing happens if that is so already."""
        if self.enabled:
            return
        state = dispatch.state
        self.enabled, self.before = True, (state.observer, onlooker.watch)
        dispatch.enter()
        state.observer = _EagerCheck(state.observer)
        onlooker.watch = _StepCheck
        demands.finite = True

    def disable(self) -> None:
        """Check no more."""
        if not self.enabled:
            return
        self.enabled = False
        dispatch.state.observer, onlooker.watch = self.before
        dispatch.leave()
        demands.finite = False


checks = Checks()


class _EagerCheck:
    """Checks the results of eager operations; the observer before it is told everything, too."""

    def __init__(self, before: Any):
        self.before = Observer() if before is None else before

    def __getattr__(self, name: str) -> Any:
        return getattr(self.before, name)

    def applied(self, prim: Primitive, operands: tuple, results: Any, params: dict) -> None:
        """Raise InvalidArgumentError if a result is not finite."""
        self.before.applied(prim, operands, results, params)
        parts = results if type(results) is tuple else (results,)
        if makes_values(prim) and any([has_bad(content(part)) for part in parts]):
            entry = tell_rule(entry_of(prim, operands, results, params, user_origin(2)))
            if not is_meant(entry):
                raise not_finite(entry)


class _StepCheck:
    """Checks one run of a program."""

    def __init__(self, program: Program):
        self.step: Any = None
        self.values: list = []
        self.operands: tuple = ()

    def begin(self, step: Step, values: list) -> None:
        """Note that a step begins: the one before is over."""
        self.end()
        self.step, self.values = step, values
        self.operands = tuple([values[slot] if slot >= 0 else None for slot in step.inputs])

    def end(self) -> None:
        """Raise InvalidArgumentError if the step under way gave values that are not finite."""
        step, self.step = self.step, None
        if step is None or not makes_values(step.prim):
            return
        result = self.values[step.out]
        results = result if type(result) is tuple else (result,)
        if any(map(has_bad, results)):
            entry = LedgerEntry(step.prim, self.operands, results, step.params, step.node.origin)
            entry.node = step.node
            if is_meant(entry):
                return
            error = not_finite(entry)
            error.talweg_located = True  # type: ignore[attr-defined]
            error.talweg_node = step.node  # type: ignore[attr-defined]
            raise error


def is_meant(entry: LedgerEntry) -> bool:
    """Return whether a rule calculates with an infinity that stands in its text."""
    if entry.rule_of is None:
        return False
    if any([type(x) is float and has_bad(x) for x in entry.operands]):
        return True
    node = entry.node
    if node is None or len(node.operands) != len(entry.operands):
        return False
    pairs = zip(node.operands, entry.operands)
    return any([source.prim.role is Role.CONSTANT and has_bad(x) for source, x in pairs])


def not_finite(entry: LedgerEntry) -> OpError:
    """Build the error of an operation with a nonfinite result: place, operands, cause."""
    array = next(x for x in entry.results if has_bad(x))
    index = bad_index(array)
    link = Link(entry, array, index)
    bad = next((i for i, x in enumerate(entry.operands) if has_bad(x)), None)
    if bad is None:
        ledger = Ledger()
        ledger.note(entry)
        cause = cause_of(ledger, [link])
    else:
        cause = Cause(
            "TW344",
            f"operand {entry.name_of(bad)} was not finite already",
            "tf.explain_numerics says where it comes from; tf.debugging.check_numerics on inputs",
        )
    text = compose("TW343", _text(entry, link, cause), "finite values", cause.cure)
    return InvalidArgumentError(None, None, text)


def _text(entry: LedgerEntry, link: Link, cause: Cause) -> str:
    array = np.asarray(link.array)
    finite = np.isfinite(array)
    kinds = [name for name, test in (("Inf", np.isinf), ("NaN", np.isnan)) if test(array).any()]
    name = entry.prim.name
    if entry.rule_of is not None:
        name = f"{name}, in the derivative of {entry.rule_of.name},"
    lines = [
        f"{name} gave {' and '.join(kinds)} at {array.size - int(finite.sum())} of {array.size} "
        f"elements, first at {list(link.index)} ({array.dtype.name} {list(array.shape)}): "
        f"{cause.text} ({cause.code})"
    ]
    lines += [f"  operand: {OperandReport(*row)}" for row in describe_operands(entry, link)]
    if entry.origin is not None:
        lines.append(f"  made at: {describe(entry.origin)}")
    if entry.forward is not None:
        lines.append(f"  derivative of: {describe(entry.forward)}")
    return "\n".join(lines)
