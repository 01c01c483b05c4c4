"""Programs for the doctor to look at: run as a user runs them, with observation on."""

from __future__ import annotations

import contextlib
import io
import runpy
from pathlib import Path

from talweg.doctor import Report, examine

PROGRAMS = Path(__file__).parent / "programs"


def report_of(path: Path) -> Report:
    """What the doctor says of a program file."""
    with contextlib.redirect_stdout(io.StringIO()), examine(subject=path.name) as seen:
        runpy.run_path(str(path), run_name="__main__")
    return seen.report


def marked_lines(path: Path) -> list[int]:
    """The lines of a program that end in ``# here``."""
    lines = path.read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if line.endswith("# here")]
