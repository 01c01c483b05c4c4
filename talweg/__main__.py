"""`python -m talweg` (or `talweg`): looking at how programs run."""

from __future__ import annotations

import argparse
import runpy
import sys
from importlib import import_module

from talweg.core import settings


def dump(options: argparse.Namespace) -> None:
    """Run a program, and write every stage of what is compiled."""
    settings.dump.set(options.to)
    settings.executor.set("llvm")
    run(options)
    print(f"the stages of what was compiled are in {options.to}/", file=sys.stderr)


def profile(options: argparse.Namespace) -> None:
    """Run a program, and say where its compiled functions spend their time."""
    settings.executor.set("llvm")
    settings.profile.set(True)
    run(options)
    profiling = import_module("talweg.execute.profile")  # with LLVM: only now
    print(profiling.report(), file=sys.stderr)


def show_settings(options: argparse.Namespace) -> None:
    """Every setting: its variable, its value, what it is for."""
    for setting in settings.SETTINGS.values():
        print(f"{setting.variable}={setting.get()!s:<12} {setting.help}")


def run(options: argparse.Namespace) -> None:
    """The program, as `python program.py arguments` would run it."""
    sys.argv = [options.program, *options.arguments]
    runpy.run_path(options.program, run_name="__main__")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="talweg", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, action, text in (
        ("dump", dump, "run a program and write every stage of what it compiles"),
        ("profile", profile, "run a program and time its compiled functions, kernel by kernel"),
        ("settings", show_settings, "list the settings"),
    ):
        command = commands.add_parser(name, help=text, description=action.__doc__)
        command.set_defaults(action=action)
        if name == "settings":
            continue
        if name == "dump":
            command.add_argument("--to", default="talweg_dump", help="the folder (%(default)s)")
        command.add_argument("program", help="a Python file")
        command.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    options = parser.parse_args()
    options.action(options)


if __name__ == "__main__":
    main()
