"""Explanations of absent gradients, for tapes, graphs and optimizers; the doctor gives them."""

from __future__ import annotations

from types import FrameType
from typing import Any

from talweg.api.export import operation
from talweg.doctor.absent import explained
from talweg.doctor.explanation import Explanation, Explanations
from talweg.eager.absence import evidence_of
from talweg.graph import structure
from talweg.transform.absent import Evidence


@operation("explain_absence")
def explain_absence(tape: Any, target: Any, sources: Any, frame: FrameType | None) -> Any:
    """The explanations for `tape.explain`."""
    targets = structure.flatten(target)
    targets = targets[0] if len(targets) == 1 else targets
    found = [explained(evidence_of(tape, targets, source, frame))
             for source in structure.flatten(sources)]  # fmt: skip
    single = len(found) == 1 and not isinstance(sources, (list, tuple, dict))
    return found[0] if single else Explanations(found)


@operation("absence_as_error")
def absence_as_error(evidence: Evidence) -> Exception:
    """A ValueError that explains an absent gradient."""
    return ValueError(f"There is no gradient.\n{explained(evidence)}  [TW301]")


@operation("absence_in_a_line")
def absence_in_a_line(evidence: Evidence) -> str:
    """One line for a log."""
    return explained(evidence).in_a_line()


__all__ = ["Explanation", "Explanations"]
