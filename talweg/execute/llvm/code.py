"""Machine code in memory: from the cache, or compiled by LLVM, which is loaded only then.

`Code` is an object file linked into this process, whose functions have addresses until it dies;
`object_file` gives the bytes of one for a module.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from talweg.core.version import RELEASE
from talweg.execute import cache
from talweg.execute.llvm import elf


def compiler() -> Any:
    """`jit.py`; ImportError where there is no llvmlite."""
    return import_module("talweg.execute.llvm.jit")


class Code:
    """An object file in memory.  Its functions are there until `close`, or until it is collected.

    `symbols` are the addresses of what it calls, besides the functions of libc and libm.
    """

    def __init__(
        self, object_file: bytes, symbols: Mapping[str, int], exports: Iterable[str] = ("run",)
    ):
        self.object_file = object_file
        self._image = linked(object_file, symbols, tuple(exports))
        self.addresses = {name: self._image.addresses[name] for name in exports}

    def close(self) -> None:
        """Free the memory; nobody may be in it."""
        self._image.close()


def linked(object_file: bytes, symbols: Mapping[str, int], exports: tuple) -> Any:
    """An object file in memory: what has `addresses` and can be closed."""
    if elf.works():
        try:
            return elf.Image(object_file, symbols)
        except elf.UnknownError:
            pass
    return compiler().Linked(object_file, symbols, exports)


@functools.cache
def fingerprint() -> str:
    """What object code depends on besides the module's text."""
    processor = _processor()
    if processor is None:
        return f"{RELEASE} {generator()} {compiler().fingerprint()}"
    found = find_spec("llvmlite")
    libraries: list[str] = []
    if found is not None and found.origin is not None:
        folder = Path(found.origin).parent / "binding"
        libraries = [_stamp(path) for path in sorted(folder.glob("libllvmlite*"))]
    return f"{RELEASE} {generator()} {libraries} {processor}"


def _processor() -> str | None:
    """What the first processor is and can do, as Linux says; None where that is not known."""
    if not elf.works():
        return None
    try:
        with open("/proc/cpuinfo") as file:
            lines = file.read(16384).split("\n\n")[0].splitlines()
    except OSError:
        return None
    names = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")
    told = [line for line in lines if line.split("\t")[0].strip() in names]
    return "\n".join(told) if any(line.startswith("flags") for line in told) else None


@functools.cache
def generator() -> str:
    """Which code generator this is: another one may make other code of the same program."""
    return " ".join([_stamp(path) for path in sorted(Path(__file__).parent.glob("*.py"))])


def _stamp(path: Path) -> str:
    status = os.stat(path)
    return f"{path.name}:{status.st_size}:{status.st_mtime_ns}"


def key(text: str, quick: bool = False) -> bytes:
    """What the object code of a module is kept under."""
    return f"module\n{fingerprint()}\n{quick}\n{text}".encode()


def object_file(text: str, quick: bool = False) -> bytes:
    """The object file of a module, from the cache if it is there."""
    kept_under = key(text, quick)
    found = cache.get(kept_under)
    if found is None:
        found = compiler().compile_text(text, quick)
        cache.put(kept_under, found)
    return found


def compile_module(
    text: str,
    symbols: Mapping[str, int] | None = None,
    exports: Iterable[str] = ("run",),
    quick: bool = False,
) -> Code:
    """A module's code in memory: `compile_module(text).addresses["run"]`."""
    return Code(object_file(text, quick), symbols or {}, tuple(exports))
