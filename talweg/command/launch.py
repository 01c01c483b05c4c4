"""The common part of subcommands that run a program: its options, the start, and its outcome."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from contextlib import ExitStack
from types import ModuleType
from typing import Any, NamedTuple

from talweg.command import failure
from talweg.command.program import UsageError, UserProgram, find, printing_to, run
from talweg.command.stand_in import standing_in
from talweg.command.uses import NameUse, read
from talweg.core import tracebacks

FINE, FOUND, USAGE, FAILED = 0, 1, 2, 3  # exit statuses: all is well, findings, wrong use, a crash


class Outcome(NamedTuple):
    """The way a program ended."""

    status: int  # what Python would have exited with
    error: BaseException | None
    main: ModuleType | None  # its module, if it came to its end

    @property
    def failed(self) -> bool:
        """Whether it ended otherwise than well."""
        return self.status != 0


def add_program(parser: argparse.ArgumentParser, optional: bool = False) -> None:
    """Add the options that name the program to run, and how."""
    parser.add_argument(
        "-m", dest="module", action="store_true", help="the program is a module, as for python -m"
    )
    generation = parser.add_mutually_exclusive_group()
    generation.add_argument(
        "--v1", action="store_true", help="`import tensorflow` gives TensorFlow 1 (else guessed)"
    )
    generation.add_argument(
        "--v2", action="store_true", help="`import tensorflow` gives TensorFlow 2 (else guessed)"
    )
    parser.add_argument(
        "--traceback", action="store_true", help="show talweg's own frames, too, if it fails"
    )
    parser.add_argument(
        "program",
        nargs="?" if optional else None,
        metavar="PROGRAM",
        help="a Python file, a folder with __main__.py, a notebook, or a module (-m)",
    )
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="...", help="its own arguments"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option for output that programs read."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON; what the program prints goes to stderr",
    )


def program_of(options: argparse.Namespace) -> UserProgram:
    """Return the program the options name; UsageError if there is none."""
    return find(options.program, tuple(options.arguments), options.module)


def first_uses(program: UserProgram) -> list[NameUse]:
    """Find the lines that use names of TensorFlow 1 alone; none if the program cannot be read."""
    try:
        return read(program.path, program.parts()).first_generation()
    except (SyntaxError, ValueError, OSError):  # running it will say so
        return []


def is_first(program: UserProgram, options: argparse.Namespace) -> bool:
    """Return whether `import tensorflow` gives TensorFlow 1; says so if that was found out."""
    if options.v1 or options.v2:
        return options.v1
    uses = first_uses(program)
    if uses and os.environ.get("TALWEG_DEBUG", "0") not in ("", "0"):
        use = uses[0]
        print(
            f"talweg: {use.file}:{use.line} asks for {use.text}: this is a program for "
            "TensorFlow 1",
            file=sys.stderr,
        )
    return bool(uses)


def launch(program: UserProgram, options: argparse.Namespace, around: Any = None) -> Outcome:
    """Run the program with talweg as its TensorFlow, inside the context `around`.

    A failure is told on stderr, as Python would.
    """
    first = is_first(program, options)
    with ExitStack() as stack:
        if getattr(options, "json", False):
            stack.enter_context(printing_to(sys.stderr))
        try:
            stack.enter_context(standing_in(first))
        except ImportError as error:  # TensorFlow itself is in this process
            raise UsageError(str(error)) from None
        if around is not None:
            stack.enter_context(around)
        if options.traceback:
            tracebacks.Filtering.enabled = False
            stack.callback(setattr, tracebacks.Filtering, "enabled", True)
        try:
            result = run(program, first)
            wait_for_threads()
            return Outcome(0, None, result)
        except BaseException as error:  # noqa: BLE001 -- it becomes the exit status
            sys.stdout.flush()
            failure.tell(error, program, options.traceback, first)
            return Outcome(failure.status_of(error), error, None)


def wait_for_threads() -> None:
    """Wait, as Python does at its end, for threads that are to be waited for."""
    for thread in threading.enumerate():
        if not thread.daemon and thread not in (
            threading.current_thread(),
            threading.main_thread(),
        ):
            thread.join()
