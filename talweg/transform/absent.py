"""Why there is no gradient: `Absent`, a reason with the record where the path breaks.

The engine only notes absence; this walk, linear in the records, is made when somebody asks (mode
ERROR, the doctor).  The API turns an absent gradient into None or zeros.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from talweg.core.provenance import Origin, describe


@dataclass
class Absent:
    """The reason of an absent gradient.

    `kind` is one of: `no_path`, `not_watched`, `blocked`, `integer`, `stopped`, `left`,
    `before_tape`, `reassigned`, `custom`.
    """

    kind: str
    reason: str
    cure: str = ""
    origin: Origin | None = None
    path: list = field(default_factory=list)

    def __str__(self) -> str:
        text = self.reason
        if self.origin is not None:
            text += f"\n    at {describe(self.origin)}"
        if self.cure:
            text += f"\n    try: {self.cure}"
        return text


def dependents(records: list, source_ids: set[int]) -> set[int]:
    """Ids of all values that depend on a source, derivative or not."""
    reached = set(source_ids)
    for _, operands, results, _, _ in records:
        if any(id(operand) in reached for operand in operands):
            reached.update(map(id, results if type(results) is tuple else (results,)))
    return reached


def explain(records: list, target: Any, source_ids: set[int], name: str, exits: dict) -> Absent:
    """Why no gradient flows from `target` to the values `source_ids` (a source called `name`)."""
    reached = dependents(records, source_ids)
    if not source_ids or not any(_uses(record, source_ids) for record in records):
        return _unused(source_ids, name, exits)
    if id(target) not in reached:
        return _broken_outside(records, reached, name, exits)
    blocked = _first_block(records, source_ids)
    if blocked is not None:
        return blocked
    return Absent("no_path", f"the target does not depend on {name} along a differentiable path")


def _uses(record: tuple, ids: set[int]) -> bool:
    return any(id(operand) in ids for operand in record[1])


def _unused(source_ids: set[int], name: str, exits: dict) -> Absent:
    for key in source_ids:
        if key in exits:
            return _left(name, exits[key])
    if not source_ids:
        return Absent(
            "not_watched",
            f"{name} was not watched by this tape, or not read while it recorded",
            "tape.watch(x) before x is used, or compute inside `with tf.GradientTape() as tape:`",
        )
    return Absent(
        "no_path", f"nothing computed from {name} while the tape recorded",
        "compute the target from it inside `with tf.GradientTape() as tape:`",
    )  # fmt: skip


def _left(name: str, origin: Origin | None) -> Absent:
    return Absent(
        "left", f"the value of {name}, or one computed from it, left for NumPy or Python",
        "stay in tensor operations between source and target", origin,
    )  # fmt: skip


def _broken_outside(records: list, reached: set[int], name: str, exits: dict) -> Absent:
    for key, origin in exits.items():
        if key in reached:
            return _left(name, origin)
    return Absent(
        "no_path", f"{name} was used, but the target was not computed from the results",
        "compute the target inside `with tf.GradientTape() as tape:`",
    )  # fmt: skip


def _first_block(records: list, source_ids: set[int]) -> Absent | None:
    """The first operation on the way from the sources that has no derivative."""
    differentiable = set(source_ids)
    for prim, operands, results, _, origin in records:
        names = prim.operands
        through = False
        reasons = []
        for position, operand in enumerate(operands):
            if id(operand) not in differentiable:
                continue
            reason = prim.no_gradient.get(names[min(position, len(names) - 1)])
            if reason is not None:
                reasons.append(reason)
            else:
                through = True
        parts = results if type(results) is tuple else (results,)
        parts = [z for z in parts if z.dtype.is_differentiable]
        if through and parts:
            differentiable.update(map(id, parts))
        elif through:
            return Absent(
                "integer", f"{prim.name} makes an integer or boolean result: no derivative",
                "keep to floating-point dtypes between source and target", origin,
            )  # fmt: skip
        elif reasons:
            kind = "stopped" if prim.name == "stop_gradient" else "blocked"
            text = f"{prim.name} has no derivative: {reasons[0].reason}"
            return Absent(kind, text, reasons[0].cure, origin)
    return None
