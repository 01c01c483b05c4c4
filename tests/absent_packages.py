"""Processes in which only some packages are there: what a user of a small environment has.

The other packages of this environment are not found: importing one raises ModuleNotFoundError, and
`importlib.util.find_spec` gives None, as if they were not installed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FIRST = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        return None if fullname in {absent!r} else PathFinder.find_spec(fullname, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Without
"""


def distributions(requirements: list[str]) -> set[str]:
    """The distributions that `pip install` of these requirements gives, by their plain names."""
    waiting, found = list(requirements), set()
    while waiting:
        name = re.split(r"[^\w.-]", waiting.pop(), maxsplit=1)[0]
        plain = re.sub(r"[-_.]+", "-", name).lower()
        if plain in found:
            continue
        found.add(plain)
        try:
            waiting += [each for each in metadata.requires(name) or () if "extra ==" not in each]
        except metadata.PackageNotFoundError:  # another system's
            continue
    return found


@cache
def absent_without(*extras: str) -> tuple[str, ...]:
    """The top-level modules of this environment that talweg and these extras do not install."""
    wanted = [each for name in extras for each in PROJECT["optional-dependencies"][name]]
    there = {"talweg", *distributions([*PROJECT["dependencies"], *wanted])}
    homes = metadata.packages_distributions()
    return tuple(
        sorted(
            name
            for name, owners in homes.items()
            if not there & {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners}
        )
    )


def run_without(program: str, *extras: str, timeout: float = 300) -> str:
    """What a program prints where only talweg and these extras are installed; it must not fail."""
    code = FIRST.format(absent=absent_without(*extras)) + program
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout, cwd=ROOT
    )
    assert done.returncode == 0 and not done.stderr, done.stdout[-2000:] + done.stderr
    return done.stdout
