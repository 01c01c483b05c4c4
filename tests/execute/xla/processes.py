"""Processes that XLA's tests start, and how XLA compiles in all tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.xla_flags import QUICK_TO_COMPILE

ROOT = Path(__file__).resolve().parents[3]


def environment(**more: str) -> dict[str, str]:
    """The environment of a process: this one's, without what says of devices and clusters."""
    found = {k: v for k, v in os.environ.items() if k not in ("TF_CONFIG", "TALWEG_EXECUTOR")}
    found["PYTHONPATH"] = os.pathsep.join([str(ROOT), found.get("PYTHONPATH", "")])
    return {**found, "XLA_FLAGS": QUICK_TO_COMPILE, **more}


def answer_of(module: str) -> Any:
    """What a module of `tests.execute.xla`, run as a program, prints in its last line: JSON."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.execute.xla.{module}"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
