"""List the settings: the environment variable of each, its value, and its purpose.

A setting holds for a process (TALWEG_EXECUTOR=llvm python program.py), or in a program
(`talweg.core.settings`).

examples:
  talweg settings
  TALWEG_THREADS=1 talweg settings --json

exit status: 0 fine, 2 a variable holds what its setting cannot have.
"""

from __future__ import annotations

import argparse
import json

from talweg.command.launch import FINE
from talweg.command.program import UsageError
from talweg.core.settings import SETTINGS


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `talweg settings`."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def main(options: argparse.Namespace) -> int:
    """Print the settings."""
    try:
        rows = [
            {
                "variable": setting.variable,
                "value": setting.get(),
                "default": setting.default,
                "help": setting.help,
            }
            for setting in SETTINGS.values()
        ]
    except ValueError as error:
        raise UsageError(str(error)) from None
    if options.json:
        print(json.dumps(rows, indent=1))
        return FINE
    for row in rows:
        changed = "" if row["value"] == row["default"] else "  (changed)"
        shown = f"{row['variable']}={row['value']}"
        print(f"{shown:<32} {row['help']}{changed}")
    return FINE
