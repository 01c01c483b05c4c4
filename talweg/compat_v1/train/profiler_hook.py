"""tf.compat.v1.train.ProfilerHook: the statistics of some runs, as files that Chrome draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from talweg.api.export import export
from talweg.compat_v1.messages import RunOptions
from talweg.compat_v1.train.hooks import (
    SecondOrStepTimer,
    SessionRunArgs,
    SessionRunHook,
    global_step_for,
)


@export("compat.v1.train.ProfilerHook")
class ProfilerHook(SessionRunHook):
    """Writes ``timeline-N.json``, for chrome://tracing, of a run every so many steps or seconds.

    ValueError unless one of save_steps and save_secs is given.  show_dataflow and show_memory are
    accepted: times are shown.

    >>> import os, tempfile
    >>> import talweg.compat.v1 as tf
    >>> folder = tempfile.mkdtemp()
    >>> with tf.Graph().as_default():
    ...     step = tf.assign_add(tf.train.create_global_step(), 1)
    ...     hook = tf.train.ProfilerHook(save_steps=2, output_dir=folder)
    ...     with tf.train.MonitoredSession(hooks=[hook]) as session:
    ...         for _ in range(3):
    ...             _ = session.run(step)
    >>> sorted(os.listdir(folder))
    ['timeline-2.json']
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: Any = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ):
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._folder = Path(output_dir)

    def begin(self) -> None:
        """Find the global step."""
        self._step, self._next = global_step_for("ProfilerHook"), None

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Ask for the step, and for statistics if it is time."""
        asked = self._next is not None and self._timer.should_trigger_for_step(self._next)
        self._asked = asked
        trace = RunOptions(trace_level=RunOptions.FULL_TRACE) if asked else None
        return SessionRunArgs(self._step, options=trace)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Write the statistics, if there are some."""
        before = int(run_values.results)
        if self._next is None:
            self._timer.update_last_triggered_step(before)
        step = before + 1
        if self._asked:
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step)
            self._write(step, run_values.run_metadata)
        self._next = step + 1

    def _write(self, step: int, metadata: Any) -> None:
        events = [
            {
                "ph": "X",
                "cat": "Op",
                "pid": device_number,
                "tid": 0,
                "name": node.timeline_label,
                "args": {"name": node.node_name},
                "ts": node.all_start_micros,
                "dur": node.all_end_rel_micros,
            }
            for device_number, device in enumerate(metadata.step_stats.dev_stats)
            for node in device.node_stats
        ]
        self._folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"traceEvents": events})
        (self._folder / f"timeline-{step}.json").write_text(text)
