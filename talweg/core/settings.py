"""Every flag of talweg, declared once: name, type, default, help.

A setting is read from the environment (``TALWEG_<NAME>``) when first asked for: a wrong value is a
ValueError then, after `import talweg` has warned of it, as of names that no setting has.  It can be
changed for the process (``settings.check.set(True)``), or for a block
(``with settings.check(True): ...``), that is for all threads while the block runs: blocks of
several threads must not overlap.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

SETTINGS: dict[str, Setting] = {}


class Setting:
    """One typed flag."""

    def __init__(self, name: str, kind: Callable[[str], Any], default: int | str, help: str):
        self.name, self.kind, self.default, self.help = name, kind, default, help
        self.variable = f"TALWEG_{name.upper()}"
        self.value: Any = None
        SETTINGS[name] = self

    def get(self) -> Any:
        """Return the value in force: the program's, else the environment's, else the default."""
        if self.value is None:
            text = os.environ.get(self.variable)  # empty: as if it were not there
            self.value = self.parse(text) if text else self.default
        return self.value

    def parse(self, text: str) -> Any:
        """Return `text` as this setting's type; a ValueError that names the variable otherwise."""
        try:
            return self.kind(text)
        except ValueError:
            near = nearest(text, getattr(self.kind, "choices", ()))
            meant = f" (did you mean {near!r}?)" if near else ""
            raise ValueError(
                f"{self.variable}={text!r} is not {kind_text(self.kind)}{meant}: {self.help}"
            ) from None

    def set(self, value: int | str) -> None:
        """Set the value for the whole process."""
        self.value = value

    @contextmanager
    def __call__(self, value: int | str) -> Iterator[None]:
        before, self.value = self.get(), value
        try:
            yield
        finally:
            self.value = before


def boolean(text: str) -> bool:
    """Return ``1/0``, ``true/false``, ``on/off``, ``yes/no``."""
    lowered = text.strip().lower()
    if lowered in ("1", "true", "on", "yes"):
        return True
    if lowered in ("", "0", "false", "off", "no"):
        return False
    raise ValueError(text)


def count(text: str) -> int:
    """Return a whole number of at least 0."""
    found = int(text)
    if found < 0:
        raise ValueError(text)
    return found


def one_of(*choices: str) -> Callable[[str], str]:
    """Return a reader of one of some words."""

    def read(text: str) -> str:
        lowered = text.strip().lower() or choices[0]
        if lowered not in choices:
            raise ValueError(text)
        return lowered

    read.choices = choices  # type: ignore[attr-defined]
    return read


def kind_text(kind: Callable) -> str:
    """Describe the values that a setting takes."""
    choices = getattr(kind, "choices", ())
    if choices:
        return f"one of {', '.join(choices)}"
    return {int: "a whole number", count: "a number of at least 0", boolean: "0 or 1"}.get(
        kind, f"a {kind.__name__}"
    )


def nearest(text: str, names: Any) -> str:
    """Return the name most like a text; "" if none is."""
    found = import_module("difflib").get_close_matches(text.strip().lower(), list(names), 1)
    return found[0] if found else ""


def check_environment() -> None:
    """Warn of variables TALWEG_... with a wrong value, and of those that are no settings."""
    present = [name for name in os.environ if name.startswith("TALWEG_")]
    if not present:
        return
    known = {setting.variable: setting for setting in SETTINGS.values()}
    for name in present:
        if name in known:
            try:
                if os.environ[name]:
                    known[name].parse(os.environ[name])
            except ValueError as error:
                warnings.warn(str(error), stacklevel=3)  # where talweg is imported
        elif not name.startswith(OTHERS):
            start = len("TALWEG_")  # which all have in common
            near = nearest(name[start:], [other[start:].lower() for other in known]).upper()
            meant = f": did you mean TALWEG_{near}?" if near else "; `talweg settings` lists them"
            warnings.warn(f"{name} is no setting of talweg{meant}", stacklevel=3)


OTHERS = ("TALWEG_PROGRAM", "TALWEG_BENCH_", "TALWEG_ALL_CASES", "TALWEG_RECORDED_")  # of tools
CPUS = ("native", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")

debug = Setting(
    "debug",
    count,
    0,
    "how much to print: 1 compiled or not, 2 timings, 3 fusion, 4 loops, 5 LLVM, 6 assembly",
)
check = Setting(
    "check", boolean, False, "re-derive every result's shape and dtype after each kernel"
)
threads = Setting("threads", count, 0, "how many threads a compiled program uses; 0: all cores")
cache = Setting("cache", str, "", "folder of compiled code; off: none; default: talweg in ~/.cache")
cache_megabytes = Setting("cache_megabytes", count, 256, "how much compiled code to keep on disk")
executor = Setting(
    "executor",
    one_of("auto", "interpret", "llvm", "xla"),
    "auto",
    "what runs graphs: interpret, auto (compiled when it pays), llvm (at once), xla (by JAX)",
)
cpu = Setting(
    "cpu",
    one_of(*CPUS),
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
deterministic = Setting(
    "deterministic",
    boolean,
    False,
    "whether what runs as machine code never hangs on how long something took",
)
cluster_timeout = Setting(
    "cluster_timeout",
    count,
    120,
    "seconds after which a worker of a cluster that does not come, or says nothing, is given up",
)
dump = Setting("dump", str, "", "folder into which every stage of what is compiled is written")
profile = Setting("profile", boolean, False, "remember how compiled programs were called last")
