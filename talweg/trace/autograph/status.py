"""Conversion status: whether functions are converted in this thread.

None outside of traces (what was converted by hand converts what it calls), True while a converted
function is traced, False inside of `do_not_convert` and of functions with `autograph=False`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from talweg.core.thread_context import carry_context

LOGGER = logging.getLogger("talweg")


class Status(threading.local):
    """The conversion settings in force in this thread."""

    converting: bool | None = None
    printing: bool = False  # `print` of tensors when the graph runs: `Feature.BUILTIN_FUNCTIONS`


status = carry_context(Status())


@contextmanager
def converting(value: bool | None) -> Iterator[None]:
    """Switch conversion on or off inside the block."""
    before = status.converting
    status.converting = value
    try:
        yield
    finally:
        status.converting = before


class ConversionOptions:
    """The verbosity of logging (`tf.autograph.set_verbosity`)."""

    verbosity: int = 0
    to_output: bool = False


options = ConversionOptions()


def log(level: int, text: str) -> None:
    """Write a line to the conversion's log, if the verbosity asks for it."""
    if options.verbosity >= level:
        LOGGER.info(text)
        if options.to_output:
            print(text)
