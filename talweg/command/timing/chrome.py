"""A profile as a trace that chrome://tracing and ui.perfetto.dev show: one row a thread."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from talweg.command.timing.clock import Clock
from talweg.core.provenance import describe


def events_of(clock: Clock) -> list[dict]:
    """Return the events in Chrome's format; times in microseconds."""
    lines: dict[Any, str] = {}
    events = []
    for key, thread, start, length in clock.events:
        line = lines.get(key.origin)
        if line is None:
            line = lines[key.origin] = "" if key.origin is None else describe(key.origin)
        events.append(
            {
                "name": key.name,
                "cat": key.kind,
                "ph": "X",
                "ts": start / 1e3,
                "dur": length / 1e3,
                "pid": 1,
                "tid": thread,
                "args": {"line": line},
            }
        )
    return events


def write(clock: Clock, path: Path, title: str) -> None:
    """Write the trace."""
    name = {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": title}}
    content = {
        "traceEvents": [name, *events_of(clock)],
        "displayTimeUnit": "ms",
        "otherData": {"left_out": clock.left_out},
    }
    path.write_text(json.dumps(content), "utf-8")
