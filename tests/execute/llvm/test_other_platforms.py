"""What macOS and Windows lack is done without: simulated here by taking it away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("other_platform.py")


@pytest.mark.parametrize("kind", ["darwin", "win32"])
def test_without_what_linux_has(kind, tmp_path):
    """No futexes, no affinity, no object files of ELF, no file locks, no /proc; twice, the second
    time with what the first has left on disk."""
    root = str(PROGRAM.parents[3])
    own = {"TALWEG_EXECUTOR": "llvm", "TALWEG_CACHE": str(tmp_path), "PYTHONPATH": root}
    for wanted in ("llvm", ("llvm", "from disk")):
        found = subprocess.run(
            [sys.executable, str(PROGRAM), kind],
            capture_output=True,
            text=True,
            env={**os.environ, **own, "TALWEG_STRICT": "1", "TALWEG_THREADS": "2"},
            timeout=300,
        )
        assert found.returncode == 0, found.stderr
        assert found.stdout.strip() in wanted
