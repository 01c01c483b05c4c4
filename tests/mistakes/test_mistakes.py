"""docs/mistakes.md is what Python prints for typical mistakes, with few of our frames."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("mistakes", ROOT / "tools" / "record_mistakes.py")
mistakes = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mistakes)
PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def compared(text):
    """Without what versions of Python show differently: marks, and lines of frames of ours."""
    kept, ours = [], False
    for line in text.splitlines():
        ours = line.startswith('  File "talweg/') or ours and line.startswith("    ")
        if not ours and not re.fullmatch(r"[\s.^~]*", line):
            kept.append(line)
    return kept


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_what_is_printed(program):
    now = mistakes.run_and_print(program)
    before = (program.parents[1] / "before" / f"{program.stem}.txt").read_text("utf-8")
    shown = (ROOT / "docs" / "mistakes.md").read_text("utf-8")
    section = shown.split(f"## {mistakes.title(program)}\n")[1].split("\n## ")[0]
    recorded = section.split("Now:\n\n```text\n")[1].split("\n```")[0]
    assert compared(now) == compared(recorded), "python tools/record_mistakes.py"
    assert mistakes.shorten(before) in section
    assert now.count('File "talweg/') <= 2
    assert "During handling" not in now and "Did you mean" not in now
