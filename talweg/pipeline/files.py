"""Stages that read files: lines, records of fixed length, TFRecords; and which files there are."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from talweg.core.dtypes import string
from talweg.core.errors import InvalidArgumentError, compose
from talweg.core.spec import TensorSpec
from talweg.pipeline.element import ElementLayout
from talweg.pipeline.nesting import interleave
from talweg.pipeline.records import RecordReader, records_in
from talweg.pipeline.run import End, IterationRun, Next
from talweg.pipeline.stage import Stage

if TYPE_CHECKING:
    pass

Reader = Callable[[str, str], Iterator[bytes]]  # path, compression -> what is in the file
STRING = ElementLayout(TensorSpec((), string))


def text(data: bytes) -> np.ndarray:
    """Return bytes as a scalar string."""
    found = np.empty((), object)
    found[()] = data
    return found


class Files(Stage):
    """The source stage of files' records: one file after the other, or `parallel` in turn."""

    def __init__(
        self,
        name: str,
        paths: Stage,
        reader: Reader,
        compression: str,
        parallel: int | None = None,
    ):
        super().__init__(STRING, paths)
        self.name, self.reader = name, reader
        self.compression, self.parallel = compression, parallel

    def start(self, run: IterationRun) -> Next:
        """Open file after file."""
        paths, reader, compression = self.inputs[0].start(run), self.reader, self.compression
        waiting: list[str] = []

        def open_next() -> Next:
            while not waiting:
                found = np.asarray(paths()[0], object).reshape(-1)
                waiting.extend([os.fsdecode(path) for path in found.tolist()])
            return _stepping(reader(waiting.pop(0), compression))

        cycle = 1 if self.parallel is None else run.number(self.parallel)
        return interleave(open_next, max(1, cycle if cycle > 0 else 10), 1)


def _stepping(source: Iterator[bytes]) -> Next:
    def step() -> tuple:
        for data in source:
            return (text(data),)
        raise End

    return step


def lines(path: str, compression: str) -> Iterator[bytes]:
    """Yield the lines of a file, without their ends."""
    with RecordReader(path, compression) as file:
        for line in file:
            if line.endswith(b"\n"):
                line = line[:-1]
                if line.endswith(b"\r"):
                    line = line[:-1]
            yield line


def make_fixed_reader(size: int, header: int, footer: int) -> Reader:
    """Return a reader of records of `size` bytes between a header and a footer."""

    def read(path: str, compression: str) -> Iterator[bytes]:
        with RecordReader(path, compression) as file:
            data = file.read()
        inside = len(data) - header - footer
        if inside < 0 or inside % size:
            raise InvalidArgumentError(
                None,
                None,
                compose(
                    "TW207",
                    f"Excluding the header ({header} bytes) and footer ({footer} bytes), input "
                    f'file "{path}" has body length {inside} bytes, which is not an exact multiple '
                    f"of the record length ({size} bytes).",
                ),
            )
        for offset in range(header, header + inside, size):
            yield data[offset : offset + size]

    return read


def whole_records(path: str, compression: str) -> Iterator[bytes]:
    """Return the records of a TFRecord file."""
    return records_in(path, compression)


def matching(patterns: list[str]) -> list[bytes]:
    """Return the paths that match any of some patterns, in order;
    InvalidArgumentError if none does.
    """
    found = {path for pattern in patterns for path in glob.glob(pattern)}
    if not found:
        raise InvalidArgumentError(
            None, None, compose("TW207", f"No files matched pattern: {', '.join(patterns)}")
        )
    return [os.fsencode(path) for path in sorted(found)]
