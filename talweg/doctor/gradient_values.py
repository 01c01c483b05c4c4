"""The norms of the cotangents along a connected path, with the reason where they are extreme.

`doctor/absent` says whether there is a path; where there is one, and values are at hand, a ledger
(`doctor/nonfinite`) has what was computed, and one sweep gives the cotangent of every value.  Both
are put together here in one `Explanation`: zero, not finite, vanishing, exploding, or healthy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from talweg.core import dispatch
from talweg.core.roles import Role
from talweg.doctor.absent.explanation import Explanation, PathStep
from talweg.doctor.nonfinite.explain import EAGERLY, IN_A_TRACE, of_trail
from talweg.doctor.nonfinite.gradients import (
    VANISHED,
    CotangentSweep,
    source_norm,
    why_small,
)
from talweg.doctor.nonfinite.ledger import Ledger, content, has_bad, keeping, scope_of_entry
from talweg.doctor.nonfinite.report import NumericsExplanation, SourceNorm
from talweg.eager.seeds import ones_of
from talweg.transform.rules import densify

KINDS = {"nan": "not finite", "inf": "not finite"}
TITLES = {
    "not finite": "a gradient that is not finite",
    "zero": "a gradient of zeros",
    "vanishing": "a vanishing gradient",
    "exploding": "an exploding gradient",
}
NOT_TAKEN = "what ran does not use it: another branch was taken, or a loop made no trip"
TAKE_IT = "look at the condition, for these values; other values may go the other way"
NOT_FOLLOWED = (
    "there is a custom gradient in the graph: how large the gradient is was not looked at"
)
MANY_USES = 3  # uses of a source that are compared with each other
BLOCKED = 0.5  # share of the elements that one operation lets nothing through for: worth a note


def with_values(
    explanations: list[Explanation],
    ledger: Ledger,
    target: Any,
    arrays: list,
    whole: Callable[[], list] | None = None,
) -> list[Explanation]:
    """Return explanations, those that are connected with what flows.

    target: the array of the one target; arrays: for each explanation the array of its source, or
    None where it has none; whole: gives the gradients by all sources the short way, for what
    cannot be followed.
    """
    places = [i for i, one in enumerate(explanations) if one.connected and arrays[i] is not None]
    if not places:
        return explanations
    own = ledger
    sweep = CotangentSweep(own)
    if has_bad(target):
        told = of_trail(own, target, "the target")
        return [
            _judge(one, told, None) if i in places else one for i, one in enumerate(explanations)
        ]
    if any(entry.prim.role is Role.CUSTOM_RULE for entry in own.entries):
        return _behind_a_trace(explanations, own, places, whole)
    with dispatch.eagerly():
        seed = ones_of(sweep.tensor(target))
    gradients = sweep.pull(target, seed, [arrays[i] for i in places])
    if any(map(has_bad, gradients)):
        gradients = sweep.pull(target, seed, [arrays[i] for i in places], noted=True)
    answer = list(explanations)
    largest = sweep.largest()
    for i, gradient in zip(places, gradients):
        row = source_norm(explanations[i].source, gradient, largest)
        answer[i] = _with_numbers(explanations[i], sweep, target, arrays[i], gradient, row)
    return answer


def _behind_a_trace(
    explanations: list[Explanation],
    ledger: Ledger,
    places: list[int],
    whole: Callable[[], list] | None,
) -> list[Explanation]:
    """Return explanations where a custom gradient stands in a trace: it exists there only, so the
    gradient itself is looked at, and what ran to make it, but no path to it.
    """
    answer = list(explanations)
    if whole is None:
        for i in places:
            one = explanations[i]
            answer[i] = replace(one, notes=(*one.notes, NOT_FOLLOWED))
        return answer
    with keeping(ledger):
        gradients = [None if g is None else content(densify(g)) for g in whole()]
    for i in places:
        one, gradient = explanations[i], gradients[i]
        subject = f"the gradient of {one.source}"
        row = source_norm(one.source, gradient, 1.0)
        if has_bad(gradient):
            told = of_trail(ledger, gradient, subject)
        elif row.verdict == "zero":
            told = NumericsExplanation("zero", subject, "TW353", cause=IN_A_TRACE, cure=EAGERLY)
        else:
            told = NumericsExplanation("finite", subject)
        answer[i] = _judge(one, told, row)
    return answer


def _with_numbers(
    one: Explanation,
    sweep: CotangentSweep,
    target: object,
    source: np.generic | np.ndarray,
    gradient: np.generic | np.ndarray | None,
    row: SourceNorm,
) -> Explanation:
    """Return one explanation with its norm, its path with norms, and the verdict on these."""
    subject = f"the gradient of {one.source}"
    if gradient is None:  # a path in the program, none in what ran of it
        told = NumericsExplanation("zero", subject, "TW352", cause=NOT_TAKEN, cure=TAKE_IT)
        return replace(_judge(one, told, None), lines=one.lines, norm=0.0)
    if has_bad(gradient):
        told = of_trail(sweep.ledger, gradient, subject)
    elif row.verdict == "fine":
        told = NumericsExplanation("finite", subject)
    else:
        told = why_small(sweep, source, one.source, row.verdict)
    path, notes = path_of(sweep, target, source)
    judged = _judge(one, told, row)
    return replace(judged, path=path or one.path, notes=(*judged.notes, *notes))


def _judge(one: Explanation, told: NumericsExplanation, row: SourceNorm | None) -> Explanation:
    """Give an explanation the verdict that its norms call for."""
    if told.verdict == "finite":
        return replace(one, verdict=f"the path is connected; {_size(row)}", norm=row and row.norm)
    kind = KINDS.get(told.verdict, told.verdict)
    lines = [line for line in (told.place, told.other) if line is not None]
    notes = list(one.notes)
    if told.element:
        value = "" if told.result is None else f", gave {np.asarray(told.result)[()]:.6g}"
        where = f"at element {list(told.element)}"
        notes.append(f"made by {told.blamed}{value}" if told.blamed else f"{where}{value}")
    notes += [f"operand {operand}" for operand in told.operands]
    if told.scope:
        notes.append(f"{told.operation} is in {told.scope}")
    return replace(
        one,
        kind=kind,
        code=told.code,
        verdict=told.cause or TITLES[kind],
        lines=tuple(lines),
        remedy=told.cure,
        notes=tuple(notes),
        norm=None if row is None else row.norm,
        numerics=told,
    )


def _size(row: SourceNorm | None) -> str:
    """Return the norm of a gradient in words, and the share of its elements that is 0."""
    if row is None or row.norm is None:
        return "its norm is not known"
    some = f", and {row.zeros:.0%} of its elements are 0" if row.zeros else ""
    return f"its norm is {row.norm:.3g}{some}"


# -- the path


def path_of(
    sweep: CotangentSweep, target: object, source: object
) -> tuple[tuple[PathStep, ...], list[str]]:
    """Return the operations from a source to the target, by the first use that leads there, each
    with the norm of the gradient that arrives at its result; and what is to be noted of them.
    """
    leading = _leading(sweep, target)
    here = id(sweep.tensor(source))
    steps: list[PathStep] = []
    uses: list[float] = []
    for entry, record in zip(sweep.entries, sweep.records):
        parts = record[2] if type(record[2]) is tuple else (record[2],)
        ahead = [part for part in parts if id(part) in leading and part.dtype.is_differentiable]
        if not ahead:
            continue
        operands = {id(x) for x in record[1]}
        if id(sweep.tensor(source)) in operands:
            uses.append(max(map(sweep.norm, ahead)))
        if here not in operands:
            continue
        here = id(ahead[0])
        step = PathStep.of(entry.prim.name, _kind(ahead[0]), entry.origin)
        zeros = _zeros(sweep.cotangents.get(here))
        scope = scope_of_entry(entry)
        steps.append(replace(step, norm=sweep.norm(ahead[0]), zeros=zeros, scope=scope))
    zeros = _zeros(sweep.cotangents.get(id(sweep.tensor(source))))
    return tuple(steps), _of_uses(uses) + _of_blocks(steps, zeros)


def _leading(sweep: CotangentSweep, target: object) -> set[int]:
    """Return the ids of the values that the target was computed from, and of the target."""
    found = {id(sweep.tensor(target))}
    for _, operands, results, *_ in reversed(sweep.records):
        parts = results if type(results) is tuple else (results,)
        if not found.isdisjoint([id(part) for part in parts if part.dtype.is_differentiable]):
            found.update(map(id, operands))
    return found


def _kind(tensor: Any) -> str:
    sizes = ", ".join(map(str, tensor.dims))
    return f"{tensor.dtype.name}[{sizes}]"


def _zeros(cotangent: np.generic | np.ndarray | None) -> float:
    size = np.size(cotangent) if cotangent is not None else 0
    return 1 - np.count_nonzero(content(cotangent)) / size if size else 1.0


def _of_uses(uses: list[float]) -> list[str]:
    """Return a source that is used again and again: whether its early uses still count."""
    good = [norm for norm in uses if np.isfinite(norm)]
    if len(good) < MANY_USES or max(good) <= 0:
        return []
    first, last = good[0], good[-1]
    if first < VANISHED * max(good):
        return [
            f"through time it vanishes: what flows back to the first of its {len(good)} uses has "
            f"the norm {first:.1e}, to the last {last:.1e}"
        ]
    if last > 0 and first > last / VANISHED:
        return [
            f"through time it explodes: what flows back to the first of its {len(good)} uses has "
            f"the norm {first:.1e}, to the last {last:.1e}"
        ]
    return []


def _of_blocks(steps: list[PathStep], zeros: float) -> list[str]:
    """Return the operation that lets nothing through for most elements, though not for all."""
    shares = [zeros, *[step.zeros for step in steps]]
    drops = [(shares[i] - shares[i + 1], i) for i in range(len(steps))]
    drop, place = max(drops, default=(0.0, 0))
    if drop < BLOCKED or zeros >= 1 or place == len(steps):
        return []
    return [f"{steps[place].name} lets nothing through for {drop:.0%} of the elements"]
