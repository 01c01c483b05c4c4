"""The main module of processes that a program spawns (`multiprocessing`'s spawn and forkserver):
the program, with talweg as its TensorFlow there, too.

The parent says in its environment which program that is.  Nothing happens on a mere import.
"""

from __future__ import annotations

import os
from importlib.machinery import ModuleSpec
from pathlib import Path

from talweg.command.stand_in import stand_in_for_good

NAME = "talweg.command.child"
VARIABLE = "TALWEG_PROGRAM"  # of the environment: generation, package and path of the program


def spec() -> ModuleSpec:
    """Return the spec of a program's `__main__`, so that children load this module."""
    return ModuleSpec(NAME, None)


def announce(path: str, package: str, first: bool) -> None:
    """Say in the environment which program runs."""
    os.environ[VARIABLE] = os.pathsep.join(["1" if first else "2", package, os.path.abspath(path)])


def become(names: dict) -> None:
    """Run the announced program in a namespace, as a module; talweg is its TensorFlow for good."""
    generation, package, path = os.environ[VARIABLE].split(os.pathsep, 2)
    stand_in_for_good(generation == "1")
    names.update(__file__=path, __package__=package)
    exec(compile(Path(path).read_bytes(), path, "exec", dont_inherit=True), names)


if __name__ == "__mp_main__":
    become(globals())
