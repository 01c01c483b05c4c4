"""Run a TensorFlow program on talweg, unchanged.

`import tensorflow`, `from tensorflow import keras`, `import tensorflow.compat.v1 as tf` and the
like give talweg.  A program that uses names only TensorFlow 1 has (tf.Session, tf.placeholder) is
served as one of TensorFlow 1: --v1 says so beforehand, --v2 that it is not.  Options come before
the program; what follows it is its own.

examples:
  talweg run train.py --epochs 3
  talweg run -m package.train
  talweg run notebook.ipynb
  talweg run --v1 --profile old_program.py
  talweg run --doctor train.py         its findings on stderr when it is done

exit status: the program's own.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from importlib import import_module
from typing import Any

from talweg.command.launch import add_program, launch, program_of


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `talweg run`."""
    parser.add_argument(
        "--doctor", action="store_true", help="say afterwards what was wasted (talweg doctor)"
    )
    parser.add_argument(
        "--profile", action="store_true", help="say afterwards where time went (talweg profile)"
    )
    add_program(parser)


def main(options: argparse.Namespace) -> int:
    """Run the program; its exit status."""
    program = program_of(options)
    after: list[Any] = []
    with ExitStack() as stack:
        around = ExitStack()
        if options.profile:
            recorder = around.enter_context(import_module("talweg.command.profile").recording())
            after.append(lambda: recorder.text())
        if options.doctor:
            seen = around.enter_context(import_module("talweg.doctor").examine())
            after.append(lambda: str(seen.report))
        stack.enter_context(around)
        outcome = launch(program, options)
    for text in after:
        print(f"\n{text()}", file=sys.stderr)
    return outcome.status
