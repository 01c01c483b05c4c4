"""Run a program and say where its time goes: by line, by operation, by kernel.

Operations that run at once and steps of the interpreter are timed one by one; of compiled programs
the calls are timed, and afterwards, on the arguments they were called with first, each kernel,
beside the best this machine could do.  Time that no operation accounts for is Python's: it is found
by looking where the program is, every two milliseconds.

Functions are compiled at once (--executor llvm), so that kernels can be seen; --executor auto runs
the program as it would run alone, interpret never compiles.

examples:
  talweg profile train.py --steps 10
  talweg profile --trace trace.json train.py      for chrome://tracing or ui.perfetto.dev
  talweg profile --executor auto --top 40 train.py
  talweg profile --json train.py > profile.json   what the program prints goes to stderr

The report goes to stderr, JSON to stdout.
exit status: 0 fine, 2 wrong use, 3 the program failed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from talweg.command.launch import FAILED, FINE, add_json, add_program, launch, program_of
from talweg.command.timing import chrome, report
from talweg.command.timing.clock import Clock
from talweg.command.timing.report import LineProfile
from talweg.command.timing.sampler import StackSampler
from talweg.command.timing.seams import time_block
from talweg.core import settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `talweg profile`."""
    parser.add_argument(
        "--executor",
        choices=("llvm", "auto", "interpret"),
        default="llvm",
        help="what runs functions and sessions (%(default)s)",
    )
    parser.add_argument("--top", type=int, default=15, help="how many rows (%(default)s)")
    parser.add_argument("--trace", metavar="FILE", help="write a trace for Chrome or Perfetto")
    add_json(parser)
    add_program(parser)


class Recording:
    """The measurement of a block; `profile` is there afterwards."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.profile: LineProfile | None = None

    def text(self, top: int = 15) -> str:
        """Return the profile for people."""
        assert self.profile is not None
        return report.text(self.profile, top)


@contextmanager
def recording() -> Iterator[Recording]:
    """Measure the work inside the block; the kernels of compiled programs at its end."""
    record = Recording()
    labels = record.clock.labels
    with settings.profile(True):
        try:
            with StackSampler(record.clock) as sampler, time_block(record.clock):
                record.clock.began = _now()
                try:
                    yield record
                finally:
                    record.clock.stop()
            kernels = report.kernels(labels)
        finally:
            report.end_profiles(labels)
    record.profile = LineProfile(record.clock, sampler.lines, kernels)


def _now() -> int:
    return Clock().began


def main(options: argparse.Namespace) -> int:
    """Run the program, and tell where its time went."""
    program = program_of(options)
    with ExitStack() as stack:
        stack.enter_context(settings.executor(options.executor))
        recorded = stack.enter_context(recording())
        outcome = launch(program, options)
    assert recorded.profile is not None
    if options.trace:
        chrome.write(recorded.clock, Path(options.trace), program.name)
        print(f"talweg: written: {options.trace}", file=sys.stderr)
    sys.stdout.flush()
    if options.json:
        print(json.dumps(report.as_data(recorded.profile), indent=1))
    else:
        print(f"\n{program.name}: {report.text(recorded.profile, options.top)}", file=sys.stderr)
    return FAILED if outcome.failed else FINE
