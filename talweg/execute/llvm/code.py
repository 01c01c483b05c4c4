"""Machine code in memory: from the cache, or compiled by LLVM, which is loaded only then.

`Code` is an object file linked into this process, whose functions have addresses until it dies;
`object_files` gives the bytes of one for each module.  Those of modules that belong together go
`joined` as one.
"""

from __future__ import annotations

import contextlib
import functools
import os
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from talweg.core.version import RELEASE, stamps
from talweg.execute import cache
from talweg.execute.llvm import elf

_JOINED = b"talweg: object files"


def compiler() -> Any:
    """`jit.py`; ImportError where there is no llvmlite."""
    return import_module("talweg.execute.llvm.jit")


class Code:
    """An object file in memory.  Its functions are there until `close`, or until it is collected.

    Of several that are joined the first may call what is in the others.
    `symbols` are the addresses of what it calls, besides the functions of libc and libm.
    """

    def __init__(
        self, object_file: bytes, symbols: Mapping[str, int], exports: Iterable[str] = ("run",)
    ):
        self._images = linked(parted(object_file), symbols, tuple(exports))
        self.addresses = {name: self._images[-1].addresses[name] for name in exports}

    def close(self) -> None:
        """Free the memory; nobody may be in it."""
        for image in self._images:
            image.close()


def linked(objects: Sequence[bytes], symbols: Mapping[str, int], exports: tuple) -> list[Any]:
    """Object files in memory: what has `addresses` and can be closed, the first file's last."""
    if elf.works():
        try:
            images: list[Any] = []
            for each in reversed(objects):
                images.append(elf.Image(each, symbols))
                symbols = {**symbols, **images[-1].addresses}
            return images
        except elf.UnknownError:
            pass
    return [compiler().Linked(objects, symbols, exports)]


def joined(objects: Sequence[bytes]) -> bytes:
    """Object files as one."""
    if len(objects) == 1:
        return objects[0]
    sizes = struct.pack(f"<{1 + len(objects)}Q", len(objects), *map(len, objects))
    return b"".join([_JOINED, sizes, *objects])


def parted(content: bytes) -> list[bytes]:
    """The object files that were joined; the one that was not."""
    if not content.startswith(_JOINED):
        return [content]
    (count,) = struct.unpack_from("<Q", content, len(_JOINED))
    sizes = struct.unpack_from(f"<{count}Q", content, len(_JOINED) + 8)
    found, at = [], len(_JOINED) + 8 + 8 * count
    for size in sizes:
        found.append(content[at : at + size])
        at += size
    return found


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
    return stamps(os.path.dirname(__file__))


def _stamp(path: Path) -> str:
    status = os.stat(path)
    return f"{path.name}:{status.st_size}:{status.st_mtime_ns}"


def key(text: str, quick: bool = False) -> bytes:
    """What the object code of a module is kept under."""
    return f"module\n{fingerprint()}\n{quick}\n{text}".encode()


def object_files(give: Callable[[Callable[[str], None]], None], quick: bool = False) -> list[bytes]:
    """The object files of modules, from the cache where they are there.

    `give(add)` calls `add` with the text of each; while it makes the next, that one is compiled.
    """
    keys: list[bytes] = []
    found: dict[int, bytes] = {}
    with contextlib.ExitStack() as closing:
        crew: Any = None

        def add(text: str) -> None:
            nonlocal crew
            keys.append(key(text, quick))
            known = cache.get(keys[-1])
            if known is not None:
                found[len(keys) - 1] = known
                return
            if crew is None:
                crew = closing.enter_context(compiler().Crew(quick))
            crew.add(len(keys) - 1, text)

        give(add)
        for number, made in crew.finish().items() if crew is not None else ():
            cache.put(keys[number], made)
            found[number] = made
    return [found[number] for number in range(len(keys))]


def object_file(text: str, quick: bool = False) -> bytes:
    """The object file of a module, from the cache if it is there."""
    (found,) = object_files(lambda add: add(text), quick)
    return found


def compile_module(
    text: str,
    symbols: Mapping[str, int] | None = None,
    exports: Iterable[str] = ("run",),
    quick: bool = False,
) -> Code:
    """A module's code in memory: `compile_module(text).addresses["run"]`."""
    return Code(object_file(text, quick), symbols or {}, tuple(exports))
