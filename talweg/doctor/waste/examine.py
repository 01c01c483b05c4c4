"""An examination runs a program under observation and reports its waste.

While it is on, an eager operation takes at most about twice its time; off, nothing is paid.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from talweg.core import dispatch
from talweg.doctor.findings import Finding, Report, megabytes
from talweg.doctor.waste.eager import eager_findings
from talweg.doctor.waste.graphs import graph_findings
from talweg.doctor.waste.observation import Observation
from talweg.doctor.waste.variables import variable_findings

WRONG = frozenset(("TW610", "TW611", "TW612", "TW613", "TW616"))  # not slow only


class Examination:
    """A context in which a program is watched; afterwards `report` lists its waste."""

    def __init__(self, subject: str = "program"):
        self.subject = subject
        self._observation: Observation | None = None
        self._report: Report | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Examination:
        self._observation, self._report = Observation(), None
        self._stack.enter_context(dispatch.observe(self._observation))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()
        seen = self._observation
        assert seen is not None
        seen.finish()
        self._report = report_of(self.subject, seen)
        self._observation = None

    @property
    def report(self) -> Report:
        """The report of the block; inside it, the report so far."""
        if self._report is not None:
            return self._report
        if self._observation is None:
            raise RuntimeError("nothing was examined yet: with examine() as seen: ...")
        self._observation.finish()
        return report_of(self.subject, self._observation)


def examine(
    program: Callable[..., Any] | None = None,
    *arguments: object,
    subject: str | None = None,
    **named: object,
) -> Any:
    """Watch a program, and report the work that it wastes.

    With a function: call it with the arguments, and return the `Report`.  Without: a context, whose
    `report` holds the findings when the block is left (also by an error).

    >>> import talweg as tf
    >>> from talweg.doctor import examine
    >>> def program():
    ...     x = tf.constant([1.0, 2.0])
    ...     tf.square(x)
    >>> report = examine(program)
    >>> report.codes
    ['TW616']
    >>> with examine() as seen:
    ...     y = tf.square([1.0, 2.0])
    >>> len(seen.report)
    0
    """
    if program is None:
        return Examination(subject or "program")
    name = subject or getattr(program, "__name__", "program")
    with Examination(name) as seen:
        program(*arguments, **named)
    return seen.report


def report_of(subject: str, seen: Observation) -> Report:
    """Report the findings of an observation, errors before slow code, with the counts."""
    found: list[Finding] = []
    for part in (graph_findings, variable_findings, eager_findings):
        found += part(seen)
    found.sort(key=lambda finding: (finding.code not in WRONG, finding.code, -finding.count))
    return Report(subject, tuple(found), facts_of(seen), tuple(seen.memory))


def facts_of(seen: Observation) -> dict[str, Any]:
    """Collect the counts of an observation, without a judgement."""
    watch = seen.graphs
    sizes = [size for _, size, _ in seen.memory]
    counted: dict[str, Any] = {
        "seconds": round(seen.seconds, 3),
        "eager operations": sum(spot.count for spot in seen.eager.values()),
        "gradients taken": seen.gradients,
        "calls of functions": seen.calls,
        "traces": sum(len(function.traces) for function in seen.functions),
        "runs of sessions": watch.runs,
        "nodes built in graphs": watch.built,
        "nodes merged in graphs": watch.merged,
        "variables": len(seen.all_variables()),
        "memory": f"{megabytes(sizes[0])} at first, {megabytes(max(sizes))} at most",
    }
    return {name: value for name, value in counted.items() if value}
