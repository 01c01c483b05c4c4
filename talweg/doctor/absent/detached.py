"""Absent gradients of targets computed from a value that left for NumPy or Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.core.provenance import Origin, line_of
from talweg.doctor.absent import remedies
from talweg.doctor.absent.explanation import Explanation, PathStep
from talweg.doctor.absent.source_text import ProgramText
from talweg.doctor.absent.words import place_of

if TYPE_CHECKING:
    from talweg.doctor.absent.explain import Case

HARMLESS = ("__format__", "__repr__", "__str__")


def left(case: Case) -> Explanation | None:
    """Find out whether a value that depends on the source was taken out to NumPy or Python."""
    level = case.flow.level
    exits = [
        (key, origin, entry)
        for key, origin, entry in case.notes.exits
        if key in level and key not in case.targets and entry not in HARMLESS
    ]
    for key, origin, entry in exits:
        line = place_of(origin)
        purpose = "" if origin is None else ProgramText(origin[0]).purpose(line_of(origin))
        if purpose == "shown" or not _may_lead_on(case, origin):
            continue
        path = case.steps(case.flow.path_to(key))
        if entry == "__bool__" or purpose == "decides" and entry not in ("numpy", "__array__"):
            step = PathStep.of("if", "bool", origin, "break")
            return case.answer(
                "only chooses",
                "TW325",
                "it only decides which lines of Python run; a decision has no derivative",
                remedies.CHOSEN,
                path=path,
                breaking=step,
                lines=[line],
            )
        how = EXITS.get(entry, f"by {entry}()")
        step = PathStep.of(_exit_name(entry), "", origin, "break")
        return case.answer(
            "left through NumPy",
            "TW321" if entry == "numpy_function" else "TW320",
            f"its value left {how}, and the tape does not see what happens there",
            LEFT if entry != "numpy_function" else remedies.BY_NAME["host_call"],
            path=path,
            breaking=step,
            lines=[line],
        )
    return None


def _may_lead_on(case: Case, origin: Origin | None) -> bool:
    """Return whether the value
    that a line computes may get into the target, as far as the text tells.
    """
    program, names = case.program, case.words.target_names
    if program is None or origin is None or not names or not case.recorded:
        return True
    return origin[0] is not program.code or program.leads_to(line_of(origin), names)


EXITS = {
    "numpy": "for NumPy, by .numpy()",
    "__array__": "for NumPy: a NumPy function was called on it",
    "__float__": "for Python, by float()",
    "__int__": "for Python, by int()",
    "__index__": "for Python, as an integer",
    "__complex__": "for Python, by complex()",
    "__round__": "for Python, by round()",
    "numpy_function": "for NumPy, in tf.numpy_function",
}
LEFT = (
    "stay in tensor operations between source and target: tf.sin(x), not np.sin(x); "
    "tf.cast(x, tf.float32), not float(x)"
)


def _exit_name(entry: str) -> str:
    names = {"__array__": "NumPy", "numpy": ".numpy()", "numpy_function": "numpy_function"}
    return names.get(entry, entry.strip("_") + "()")


def left_by_a_session(case: Case) -> Explanation | None:
    """Explain a target of a graph that was computed from an array which a session gave."""
    program, names = case.program, case.words.target_names
    if not case.evidence.in_graph or program is None or not names or case.evidence.parts:
        return None
    evaluation = program.locate_evaluation(names)
    if evaluation is None:
        return None
    return case.answer(
        "left through NumPy",
        "TW320",
        f"{case.words.target} is computed from an array that a session gave at line "
        f"{evaluation.line}; "
        "the graph does not know where an array comes from",
        "compute it from the tensors themselves, and run the result only",
        lines=[program.place(evaluation.line)],
    )
