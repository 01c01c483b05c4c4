"""Absent gradients of targets that no operation made which the tape saw.

The tape knows that much; the text of the program (`source_text.py`) tells whether it was before,
after, or while recording was stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.doctor.absent.detached import left
from talweg.doctor.absent.explanation import Explanation
from talweg.doctor.absent.source_text import cells_with
from talweg.doctor.absent.words import line_in, place_of
from talweg.doctor.findings import Place

if TYPE_CHECKING:
    from talweg.doctor.absent.explain import Case

INSIDE = "compute it inside `with tf.GradientTape() as tape:`"


def target_outside(case: Case) -> Explanation | None:
    """Find out whether no operation that the tape saw made the target."""
    if case.recorded or case.evidence.in_graph:
        return None
    if any(key in case.evidence.watched for key in case.targets):
        return None
    if case.notes.resets:
        return case.answer(
            "tape reset",
            "TW319",
            "tape.reset() made the tape forget what it had recorded",
            "reset before the computation, not between it and gradient()",
            lines=[place_of(case.notes.resets[-1])],
        )
    made, block = case.locate_making(case.words.target_names), case.block
    line = None if made is None else made.line
    if line is None or block is None:
        return _somewhere_outside(case, line)
    line_place = line_in(case, line)
    if line < block[0]:
        return before_tape(case, case.words.target, line_place)
    if line > block[1]:
        return case.answer(
            "after the tape",
            "TW317",
            f"{case.words.target} was computed after the tape had stopped recording",
            f"move this line into the block that begins at line {block[0]}",
            lines=[line_place, line_in(case, block[0])],
        )
    pauses = case.program.blocks_inside(*block, "stop_recording") if case.program else []
    if any(start <= line <= end for start, end in pauses):
        return find_paused(case, line_place)
    explanation = left(case)
    return explanation if explanation is not None else constant_target(case, line_place)


def before_tape(case: Case, what: str, place: Place | None) -> Explanation:
    """Find out whether something was computed before the tape began."""
    block = case.block
    return case.answer(
        "before the tape",
        "TW316",
        f"{what} was computed before the tape began to record",
        INSIDE,
        lines=[place, line_in(case, block[0]) if block else place_of(case.notes.began)],
    )


def find_paused(case: Case, place: Place | None) -> Explanation:
    """Find out whether something was computed while recording was stopped."""
    pauses = [place_of(origin) for origin in case.notes.pauses]
    return case.answer(
        "recording stopped",
        "TW318",
        "it was computed while the tape's recording was stopped",
        "move it out of `with tape.stop_recording():`",
        lines=[place, *pauses[:1]],
    )


def constant_target(case: Case, place: Place | None) -> Explanation:
    """Find out whether the target was made inside the tape, by no operation: a constant."""
    return case.answer(
        "constant target",
        "TW315",
        f"{case.words.target} is a constant: no operation computed it from anything",
        f"compute it from {case.words.source} with tensor operations",
        lines=[place],
    )


def _somewhere_outside(case: Case, line: int | None) -> Explanation:
    out = left(case)
    if out is not None:
        return out
    if case.notes.pauses:
        return find_paused(case, None)
    return case.answer(
        "outside the tape",
        "TW317",
        f"{case.words.target} was not computed while the tape recorded, but before it began or "
        "after it ended",
        INSIDE,
        lines=[line_in(case, line) or in_another_cell(case), place_of(case.notes.began)],
    )


def in_another_cell(case: Case) -> Place | None:
    """Explain a target that another cell of a notebook computes."""
    names = case.words.target_names
    if case.program is None or case.program.code.co_name != "<module>":
        return None
    return next((place for name in names for place in cells_with(name)), None)
