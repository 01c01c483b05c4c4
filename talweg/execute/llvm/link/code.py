"""Machine code in memory: from the cache, or compiled by LLVM, which is loaded on demand.

`Code` is an object file linked into this process, whose functions have addresses until it dies;
`object_files` gives the bytes of one for each module.  Those of modules that belong together go
`join_objects` as one.
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
from talweg.execute.llvm import processor
from talweg.execute.llvm.link import elf

_JOINED = b"talweg: object files"
DAMAGED = (RuntimeError, ValueError, LookupError, OverflowError, struct.error)  # of what is no code


def compiler() -> Any:
    """Import `jit.py`; ImportError that names llvmlite where it is missing or broken."""
    try:
        import_module("llvmlite.binding")
    except (ImportError, OSError) as error:
        raise ImportError(str(error), name="llvmlite") from error
    return import_module("talweg.execute.llvm.link.jit")


class LoadedCode:
    """An object file in memory.  Its functions are there until `close`, or until it is collected.

    Of several that are joined the first may call what is in the others.
    `symbols` are the addresses of what it calls, besides the functions of libc and libm.
    `kept`: it was on disk; one of `DAMAGED` is raised if it is not as we write them.
    """

    def __init__(
        self,
        object_file: bytes,
        symbols: Mapping[str, int],
        exports: Iterable[str] = ("run",),
        kept: bool = False,
    ):
        self._images = link_objects(split_objects(object_file), symbols, tuple(exports), kept)
        self.addresses = {name: self._images[-1].addresses[name] for name in exports}

    def close(self) -> None:
        """Free the memory; no thread may execute it."""
        for image in self._images:
            image.close()


def link_objects(
    objects: Sequence[bytes], symbols: Mapping[str, int], exports: tuple, kept: bool = False
) -> list[Any]:
    """Link object files into memory; the result has `addresses`, the first file's last.

    LLVM's linker ends the process over some damaged files: it is not given what comes from the disk
    (`kept`) where we can read that ourselves.
    """
    if elf.works():
        try:
            images: list[Any] = []
            for each in reversed(objects):
                images.append(elf.Image(each, symbols))
                symbols = {**symbols, **images[-1].addresses}
            return images
        except elf.UnknownObjectError:
            if kept:
                raise
    return [compiler().Linked(objects, symbols, exports)]


def join_objects(objects: Sequence[bytes]) -> bytes:
    """Concatenate object files into one."""
    if len(objects) == 1:
        return objects[0]
    sizes = struct.pack(f"<{1 + len(objects)}Q", len(objects), *map(len, objects))
    return b"".join([_JOINED, sizes, *objects])


def split_objects(content: bytes) -> list[bytes]:
    """Split a concatenation into its object files."""
    if not content.startswith(_JOINED):
        return [content]
    (count,) = struct.unpack_from("<Q", content, len(_JOINED))
    if count > len(content) // 8:
        raise elf.UnknownObjectError(f"{count} object files in {len(content)} bytes")
    sizes = struct.unpack_from(f"<{count}Q", content, len(_JOINED) + 8)
    found, at = [], len(_JOINED) + 8 + 8 * count
    if not sizes or at + sum(sizes) != len(content):
        raise elf.UnknownObjectError(f"object files of {sizes} bytes in {len(content)}")
    for size in sizes:
        found.append(content[at : at + size])
        at += size
    return found


def fingerprint() -> str:
    """Return the fingerprint of all that object code depends on besides the module's text."""
    return _fingerprint(processor.name())


@functools.cache
def _fingerprint(level: str) -> str:
    """Return the versions of the code generator and its libraries, and the processor's `level`."""
    machine = processor.describe_processor()
    if machine is None:
        return f"{RELEASE} {generator()} {level} {compiler().fingerprint()}"
    found = find_spec("llvmlite")
    libraries: list[str] = []
    if found is not None and found.origin is not None:
        folder = Path(found.origin).parent / "binding"
        libraries = [_stamp(path) for path in sorted(folder.glob("libllvmlite*"))]
    return f"{RELEASE} {generator()} {libraries} {level} {machine}"


@functools.cache
def generator() -> str:
    """Return the code generator's fingerprint, since another one may make other code."""
    return stamps(os.path.dirname(os.path.dirname(__file__)))


def _stamp(path: Path) -> str:
    status = os.stat(path)
    return f"{path.name}:{status.st_size}:{status.st_mtime_ns}"


def key(text: str, quick: bool = False) -> bytes:
    """Return the cache key of a module's object code."""
    return f"module\n{fingerprint()}\n{quick}\n{text}".encode()


def object_files(
    give: Callable[[Callable[[str], None]], None], quick: bool = False, anew: bool = False
) -> list[bytes]:
    """Return the object files of modules, from the cache unless all are made `anew`.

    `give(add)` calls `add` with the text of each; while it makes the next, that one is compiled.
    """
    keys: list[bytes] = []
    objects: dict[int, bytes] = {}
    with contextlib.ExitStack() as closing:
        workers: Any = None

        def add(text: str) -> None:
            nonlocal workers
            keys.append(key(text, quick))
            known = None if anew else cache.get(keys[-1])
            if known is not None:
                objects[len(keys) - 1] = known
                return
            if workers is None:
                workers = closing.enter_context(compiler().CompileWorkers(quick))
            workers.add(len(keys) - 1, text)

        give(add)
        for number, made in workers.finish().items() if workers is not None else ():
            cache.put(keys[number], made)
            objects[number] = made
    return [objects[number] for number in range(len(keys))]


def object_file(text: str, quick: bool = False, anew: bool = False) -> bytes:
    """Return the object file of a module, from the cache unless it is made `anew`."""
    (found,) = object_files(lambda add: add(text), quick, anew)
    return found


def compile_module(
    text: str,
    symbols: Mapping[str, int] | None = None,
    exports: Iterable[str] = ("run",),
    quick: bool = False,
) -> LoadedCode:
    """Return a module's code in memory: `compile_module(text).addresses["run"]`."""
    given = symbols or {}, tuple(exports)
    with contextlib.suppress(*DAMAGED):
        return LoadedCode(object_file(text, quick), *given, kept=True)
    return LoadedCode(object_file(text, quick, anew=True), *given)
