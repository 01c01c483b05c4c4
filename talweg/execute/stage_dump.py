"""Dumps of compilation stages: printed, and written to a folder.

`TALWEG_DEBUG=n` prints to stderr: 1 what is compiled or not, and why; 2 how long it took; 3 what is
computed together, and why no more; 4 the loop program; 5 LLVM's; 6 the assembly.
`TALWEG_DUMP=folder` writes every stage of every program that is compiled into the folder.
"""

from __future__ import annotations

import itertools
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from talweg.core import settings
from talweg.passes.faults import CompilerFaultError

if TYPE_CHECKING:
    from talweg.passes.reasons import SpecializationError

_numbers = itertools.count()


class Stages:
    """The compilation stages of one program; nothing is stored without an observer.

    `wanted`: somebody looks; `kept`: at every stage, to write it or because he asks for `texts`.
    """

    def __init__(self, name: str, kept: bool = False):
        self.name = name
        self.level = settings.debug.get()
        self.folder = settings.dump.get()
        self.kept = kept or bool(self.folder)
        self.wanted = self.kept or self.level > 0
        self.texts: dict[str, str] = {}

    def add(self, stage: str, text: Callable[[], str], level: int) -> None:
        """Record a stage; `level` is that of TALWEG_DEBUG from which it is printed."""
        if self.kept or self.level >= level:
            self.texts[stage] = made = text()
            if self.level >= level:
                print(f"-- {self.name}: {stage}\n{made}", file=sys.stderr)

    @contextmanager
    def to_be_sent(self) -> Iterator[None]:
        """Dump the stages reached and the error, where the compiler fails."""
        try:
            yield
        except CompilerFaultError:
            if self.folder:
                self.texts["fault.txt"] = traceback.format_exc()
                write(Path(self.folder) / f"{next(_numbers):03d}-{self.name}", self.texts)
            raise

    def say(self, text: str) -> None:
        """Write a line where stages are dumped at all."""
        if self.level >= 1:
            print(f"talweg: {text}", file=sys.stderr)

    def finish(self, seconds: dict[str, float], blocks: int) -> None:
        """Record the end of compilation; `seconds` by part."""
        if self.level >= 1:
            parts = "".join(f", {key} {value * 1e3:.0f} ms" for key, value in seconds.items())
            timing = parts if self.level >= 2 else ""
            self.say(f"{self.name} compiled, {blocks} blocks{timing}")
        if self.folder:
            write(Path(self.folder) / f"{next(_numbers):03d}-{self.name}", self.texts)


def dump_refusal(name: str, reason: CompilerFaultError | SpecializationError | Exception) -> None:
    """Dump the reason why a program is left to the interpreter."""
    if settings.debug.get() >= 1:
        print(f"talweg: {name} is interpreted: {reason}", file=sys.stderr)


def write(folder: Path, texts: dict[str, str]) -> None:
    """Write each text to a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for stage, text in texts.items():
        (folder / stage).write_text(text)
