"""Run a program and write every stage of its compilation.

Each compiled function gets a folder with its operations, its loops, LLVM's text and the assembly.

examples:
  talweg dump train.py
  talweg dump --to stages train.py --steps 3

exit status: 0 fine, 1 nothing was compiled, 2 wrong use, 3 the program failed.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path

from talweg.command.launch import FAILED, FINE, FOUND, add_json, add_program, launch, program_of
from talweg.core import settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `talweg dump`."""
    parser.add_argument(
        "--to", default="talweg_dump", metavar="FOLDER", help="the folder (%(default)s)"
    )
    add_json(parser)
    add_program(parser)


def main(options: argparse.Namespace) -> int:
    """Run the program; whether it compiled anything."""
    folder = Path(options.to)
    before = set(folder.glob("*")) if folder.is_dir() else set()
    with ExitStack() as around:
        around.enter_context(settings.dump(options.to))
        around.enter_context(settings.executor("llvm"))
        outcome = launch(program_of(options), options)
    made = sorted(set(folder.glob("*")) - before) if folder.is_dir() else []
    if options.json:
        print(json.dumps({path.name: sorted(map(str, path.glob("*"))) for path in made}, indent=1))
    else:
        print(
            f"talweg: the stages of {len(made)} compiled programs are in {options.to}/",
            file=sys.stderr,
        )
    if outcome.failed:
        return FAILED
    return FINE if made else FOUND
