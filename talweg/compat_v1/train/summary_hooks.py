"""Hooks that write summaries while a monitored session runs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.compat_v1.summary.files import FileWriterCache
from talweg.compat_v1.train.hooks import (
    SecondOrStepTimer,
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    global_step_for,
)
from talweg.core.errors import value_error
from talweg.summaries.events import messages

if TYPE_CHECKING:
    from talweg.compat_v1.sessions.session import Session

    pass

_log = logging.getLogger("talweg")


@export("compat.v1.train.SummarySaverHook")
class SummarySaverHook(SessionRunHook):
    """Writes summaries with the first run, then every `save_steps` steps or `save_secs` seconds.

    output_dir: where to, or summary_writer: a FileWriter.  summary_op: a summary or a list of
    these; scaffold: what has one as its `summary_op`.  ValueError unless one of the two is given,
    and one of save_steps and save_secs; RuntimeError in a graph without a global step.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ):
        if (scaffold is None) == (summary_op is None):
            raise value_error("TW207", "Exactly one of scaffold or summary_op must be provided.")
        self._summary_op, self._scaffold = summary_op, scaffold
        self._output_dir, self._writer = output_dir, summary_writer
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        """Open the writer and find the step."""
        if self._writer is None and self._output_dir:
            self._writer = FileWriterCache.get(self._output_dir)
        self._step = global_step_for("SummarySaverHook")
        self._next: int | None = None  # the step that the next run comes to
        self._due = False

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for the summaries, if they are due."""
        self._due = self._next is None or self._timer.should_trigger_for_step(self._next)
        asked = self._summaries() if self._due else []
        return SessionRunArgs({"step": self._step, "summaries": asked})

    def _summaries(self) -> list:
        found = self._scaffold.summary_op if self._summary_op is None else self._summary_op
        return found if isinstance(found, list) else [] if found is None else [found]

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write them."""
        if self._writer is None:
            return
        step = int(run_values.results["step"]) + 1
        if self._due:  # the run may have made one step, several or none
            step = int(run_context.session.run(self._step))
        if self._next is None:
            kind = messages().SessionLog
            self._writer.add_session_log(kind(status=kind.START), step)
        if self._due:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results["summaries"]:
                self._writer.add_summary(summary, step)
        self._next = step + 1

    def end(self, session: Session) -> None:
        """Flush the writer."""
        if self._writer is not None:
            self._writer.flush()


@export("compat.v1.train.StepCounterHook")
class StepCounterHook(SessionRunHook):
    """Logs how many steps a second are done, and writes it as the summary `global_step/sec`.

    output_dir: where to, or summary_writer: a FileWriter; without both it only logs.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: Any = None,
    ):
        if every_n_secs is not None and every_n_steps == 100:
            every_n_steps = None
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._output_dir, self._writer = output_dir, summary_writer

    def begin(self) -> None:
        """Open the writer and find the step."""
        if self._writer is None and self._output_dir:
            self._writer = FileWriterCache.get(self._output_dir)
        self._step = global_step_for("StepCounterHook")
        self._tag = f"{self._step.name.partition(':')[0]}/sec"

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log and write the rate, if it is time."""
        step = int(run_context.session.run(self._step))
        if not self._timer.should_trigger_for_step(step):
            return
        seconds, steps = self._timer.update_last_triggered_step(step)
        if not seconds:
            return
        _log.info("%s: %g", self._tag, steps / seconds)
        if self._writer is not None:
            summary = messages().Summary()
            summary.value.add(tag=self._tag, simple_value=steps / seconds)
            self._writer.add_summary(summary, step)
