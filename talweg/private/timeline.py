"""`tensorflow.python.client.timeline`: a session's run as events for a browser's trace viewer."""

from __future__ import annotations

import json
from typing import Any


class Timeline:
    """Draws the times of a run's operations, by the `step_stats` of its RunMetadata."""

    def __init__(self, step_stats: Any, graph: Any = None):
        self._step_stats = step_stats

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """Write the run as JSON for chrome://tracing: an event for each operation, in
        microseconds.
        """
        events: list[dict[str, Any]] = []
        for process, device in enumerate(self._step_stats.dev_stats):
            events.append(
                {"name": "process_name", "ph": "M", "pid": process, "args": {"name": device.device}}
            )
            events += [
                {
                    "ph": "X",
                    "cat": "Op",
                    "name": node.node_name,
                    "pid": process,
                    "tid": node.thread_id,
                    "ts": node.all_start_micros,
                    "dur": max(node.op_end_rel_micros - node.op_start_rel_micros, 1),
                }
                for node in device.node_stats
            ]
        return json.dumps({"traceEvents": events}, indent=2)
