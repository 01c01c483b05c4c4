"""Processes that XLA's tests start, and how XLA compiles in all tests.

They are forked by a server (`multiprocessing`'s) that has imported Keras and JAX, which takes a
process longer than most of what it is asked.  JAX begins in each of them.
"""

from __future__ import annotations

import atexit
import importlib
import json
import multiprocessing
import os
import runpy
import sys
from pathlib import Path
from typing import Any

from tests.xla_flags import QUICK_TO_COMPILE

ROOT = Path(__file__).resolve().parents[3]
FORKS = "forkserver" in multiprocessing.get_all_start_methods()  # not on Windows
_server = multiprocessing.get_context("forkserver" if FORKS else "spawn")
if FORKS:
    _server.set_forkserver_preload(["tests.execute.xla.preloaded"])


class Program:
    """A module of `tests.execute.xla` that runs as a program, in a process of its own."""

    def __init__(self, folder: Path, module: str, *arguments: str, **environment: str):
        self.output, self.errors = folder / "output", folder / "errors"
        folder.mkdir(exist_ok=True)
        self._process = _server.Process(
            target=_run, args=(module, arguments, _environment(environment), str(folder))
        )
        self._process.start()

    def wait(self, seconds: float | None = None) -> int | None:
        """Wait for its end and return its exit code; None if it still runs."""
        self._process.join(seconds)
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()


def _environment(more: dict[str, str]) -> dict[str, str]:
    """The environment of a process: this one's, without what says of devices and clusters."""
    found = {k: v for k, v in os.environ.items() if k not in ("TF_CONFIG", "TALWEG_EXECUTOR")}
    return {**found, "XLA_FLAGS": QUICK_TO_COMPILE, **more}


def _run(module: str, arguments: tuple, environment: dict[str, str], folder: str) -> None:
    """Run a module in the forked process as `python -m` would."""
    os.environ.clear()
    os.environ.update(environment)
    for setting in importlib.import_module("talweg.core.settings").SETTINGS.values():
        setting.value = None  # they are read again
    for stream, name in ((sys.stdout, "output"), (sys.stderr, "errors")):
        stream.flush()
        file = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT)
        os.dup2(file, stream.fileno())
        os.close(file)
    os.chdir(ROOT)
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(f"tests.execute.xla.{module}", run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()  # which the end of a forked process leaves out


def answer_of(module: str, folder: Path) -> Any:
    """What a module of `tests.execute.xla`, run as a program, prints in its last line: JSON."""
    program = Program(folder, module)
    assert program.wait() == 0, program.errors.read_text()[-3000:]
    return json.loads(program.output.read_text().splitlines()[-1])
