"""Every flag of talweg, declared once: name, type, default, help.

A setting is read from the environment (``TALWEG_<NAME>``) when first asked for, and can be changed
for the process (``settings.check.set(True)``), or for a block (``with settings.check(True): ...``),
that is for all threads while the block runs: blocks of several threads must not overlap.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SETTINGS: dict[str, Setting] = {}


class Setting:
    """One typed flag."""

    def __init__(self, name: str, kind: Callable[[str], Any], default: Any, help: str):
        self.name, self.kind, self.default, self.help = name, kind, default, help
        self.variable = f"TALWEG_{name.upper()}"
        self.value: Any = None
        SETTINGS[name] = self

    def get(self) -> Any:
        """The value in force: what was set, else the environment's, else the default."""
        if self.value is None:
            text = os.environ.get(self.variable)
            self.value = self.default if text is None else self.parse(text)
        return self.value

    def parse(self, text: str) -> Any:
        """`text` as this setting's type; a ValueError that names the variable otherwise."""
        try:
            return self.kind(text)
        except ValueError:
            raise ValueError(
                f"{self.variable}={text!r} is not a {self.kind.__name__}: {self.help}"
            ) from None

    def set(self, value: Any) -> None:
        """Set the value for the whole process."""
        self.value = value

    @contextmanager
    def __call__(self, value: Any) -> Iterator[None]:
        before, self.value = self.get(), value
        try:
            yield
        finally:
            self.value = before


def boolean(text: str) -> bool:
    """``1/0``, ``true/false``, ``on/off``, ``yes/no``."""
    lowered = text.strip().lower()
    if lowered in ("1", "true", "on", "yes"):
        return True
    if lowered in ("", "0", "false", "off", "no"):
        return False
    raise ValueError(text)


CPUS = ("native", "x86-64", "x86-64-v2", "x86-64-v3")


def processor(text: str) -> str:
    """One of `CPUS`."""
    lowered = text.strip().lower() or CPUS[0]
    if lowered not in CPUS:
        raise ValueError(text)
    return lowered


debug = Setting(
    "debug",
    int,
    0,
    "how much to print: 1 compiled or not, 2 timings, 3 fusion, 4 loops, 5 LLVM, 6 assembly",
)
check = Setting(
    "check", boolean, False, "re-derive every result's shape and dtype after each kernel"
)
threads = Setting("threads", int, 0, "how many threads a compiled program uses; 0: all cores")
cache = Setting("cache", str, "", "folder of compiled code; off: none; default: talweg in ~/.cache")
cache_megabytes = Setting("cache_megabytes", int, 256, "how much compiled code to keep on disk")
executor = Setting(
    "executor",
    str,
    "auto",
    "what runs graphs: interpret, auto (compiled when it pays), llvm (compiled at once)",
)
cpu = Setting(
    "cpu",
    processor,
    "native",
    f"whose instructions compiled code may use: {', '.join(CPUS)}; not above this machine's",
)
winograd = Setting(
    "winograd",
    boolean,
    True,
    "whether 3x3 convolutions may take Winograd's way, with fewer products",
)
strict = Setting(
    "strict",
    boolean,
    False,
    "whether a fault of the compiler is an error, where the interpreter would go on",
)
dump = Setting("dump", str, "", "folder into which every stage of what is compiled is written")
profile = Setting("profile", boolean, False, "remember how compiled programs were called last")
