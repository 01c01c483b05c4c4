"""Absent gradients of targets that do depend on the source: which operation breaks the path."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from talweg.doctor.absent import remedies
from talweg.doctor.absent.explanation import Explanation, PathStep
from talweg.doctor.absent.flow import SMOOTH, Break, Flow, breaks_before, find_needed, way_on
from talweg.doctor.findings import Place

if TYPE_CHECKING:
    from talweg.doctor.absent.explain import Case

CALL = re.compile(r"([A-Za-z_][\w.]*)\(")
CHOOSING = ("select", "gate", "one_hot", "sparse_softmax_cross_entropy", "softmax_minus_one_hot")


def find_break(case: Case) -> Explanation | None:
    """Find out whether an operation between source and target has no derivative."""
    if not case.reached:
        return None
    onward = find_needed(case.flow, case.targets)
    found = breaks_before(case.flow, case.targets, onward)
    return explain_break(case, found[0], found[1:], onward) if found else None


def custom_break(case: Case) -> Explanation | None:
    """Find out whether a user's gradient function gave None,
    though every operation has a derivative.
    """
    found = [one for one in case.flow.breaks if one.kind == "custom"]
    if not found:
        return None
    onward = find_needed(case.flow, case.targets)
    on_the_way = [one for one in found if one.result in onward]
    return explain_break(case, on_the_way[0], [], onward) if on_the_way else None


def explain_break(case: Case, first: Break, others: list[Break], onward: dict) -> Explanation:
    """Return the explanation of a break, with the way to it and from it on."""
    flow = case.flow
    path = list(case.steps(flow.path_to(first.operand)))
    beyond = case.steps(way_on(onward, first.result), "after")
    flow_at, at = flow, first
    outer: list[PathStep] = []
    while at.inside:  # into bodies, to the operation itself
        outer.append(step_in(case, flow_at, at, "connected"))
        others = [*others, *[inner for _, inner, _ in at.inside[1:]]]  # in other branches
        flow_at, at, output = at.inside[0]
        path += [outer[-1], *case.steps(flow_at.path_to(at.operand), flow=flow_at)]
        numbers = way_on(find_needed(flow_at, [output]), at.result)
        beyond = (*case.steps(numbers, "after", flow_at), *beyond)
    breaking = step_in(case, flow_at, at, "break")
    kind, code, verdict, remedy = _cause(at, call_text(at.operation[0].name, breaking.code))
    lines = [breaking.place, *[step.place for step in outer]]
    said = [f"{_call_name(other)} breaks another path, {_where(other)}" for other in others]
    own = f"{_call_name(at)} breaks another path, {_where(at)}"
    notes = tuple(dict.fromkeys(note for note in said if note != own))[:3]
    return case.answer(
        kind,
        code,
        verdict,
        remedy,
        path=tuple(path),
        breaking=breaking,
        beyond=beyond,
        lines=list(dict.fromkeys(lines)),
        notes=notes,
    )


def step_in(case: Case, flow: Flow, at: Break, role: str) -> PathStep:
    """Return the operation of a break as a step."""
    operation = flow.operations[at.number]
    keys = operation[2]
    return case.step(operation, role, keys.index(at.result) if at.result in keys else 0)


def _call_name(at: Break) -> str:
    while at.inside:
        at = at.inside[0][1]
    return at.operation[0].name


def _where(at: Break) -> str:
    while at.inside:
        at = at.inside[0][1]
    origin = at.operation[4]
    return "" if origin is None else str(Place.of(origin))


def call_text(name: str, code: str) -> str:
    """Return the text of a call of an operation: its name, and the function it is a part of."""
    found = CALL.match(code)
    if found is None:
        return name
    function = found.group(1)
    plain = function.split(".")[-1].replace("_", "")
    if name.replace("_", "") in plain or plain in name.replace("_", ""):
        return function
    return f"{name} (in {function})"


def _cause(at: Break, called: str) -> tuple[str, str, str, str]:
    """Return the cause of a break: kind, code, verdict, remedy."""
    prim = at.operation[0]
    name = prim.name
    if at.kind == "custom":
        rule = at.operation[3].get("rule", prim)
        return (
            "custom gradient gave None",
            "TW333",
            f"the gradient function of {rule.name} returned None for this argument",
            "return a cotangent for each argument (and each variable) that needs one: "
            "def grad(upstream): return upstream * derivative",
        )
    if at.kind == "stopped":
        said = f"{called} makes it a constant"
        if name != "stop_gradient":
            said = f"the result of {name} was named in stop_gradients, which makes it a constant"
        return "stop_gradient", "TW327", said, remedies.BY_NAME["stop_gradient"]
    if at.kind == "dtype":
        return _dtype_cause(at, called)
    operand = _operand_name(at)
    remedy = remedies.remedy_for(prim, at.reason, operand)
    because = at.reason.reason
    if name == "host_call":
        return (
            "left through NumPy",
            "TW321",
            f"a NumPy function was called on it, and {because.replace('a NumPy', 'such a')}",
            remedy,
        )
    if name == "update_variable":
        return ("assigned", "TW328", f"it was assigned to a variable: {because}", remedy)
    if name.startswith(remedies.RANDOM):
        return "random sampling", "TW326", f"{called} draws a sample: {because}", remedy
    if name in CHOOSING or not at.whole:
        return (
            "only chooses",
            "TW325",
            f"it only chooses or places in {called}: {because}",
            remedy,
        )
    return "no derivative", "TW324", f"{called} has no derivative: {because}", remedy


def _operand_name(at: Break) -> str:
    prim, operands = at.operation[0], at.operation[1]
    place = operands.index(at.operand)
    return prim.operands[min(place, len(prim.operands) - 1)]


def _dtype_cause(at: Break, called: str) -> tuple[str, str, str, str]:
    dtype = at.reason
    if dtype.name == "string":
        kind, remedy = "text", remedies.TO_TEXT
    elif dtype.name == "bool":
        kind, remedy = "truth values", remedies.TO_TRUTH
    else:
        kind, remedy = "integers", remedies.TO_INTEGER
    remedy = remedies.BY_NAME.get(at.operation[0].name, remedy)
    verdict = f"{called} makes {dtype.name} of it, and {kind} have no derivative"
    return f"{kind} on the path", "TW322", verdict, remedy


def smooth_to(case: Case) -> Any:
    """Return whether a gradient could come back from a target."""
    return any(case.flow.level.get(key) == SMOOTH for key in case.targets)


CAUSES = (find_break,)
