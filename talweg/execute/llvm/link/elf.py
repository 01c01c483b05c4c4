"""A linker and loader for ELF object files of Linux on x86-64, without LLVM.

Code that comes from the cache needs no compiler, and loading LLVM takes 50 MB.  What its code
generator makes of our modules is little: sections of code and of constants; calls
(R_X86_64_PLT32) and places relative to an instruction (R_X86_64_PC32).  All sections of an object
go into one block of memory, where every distance fits into 32 bits; functions elsewhere are reached
by jumps through a table behind them.  For whatever else there is, `UnknownObjectError`: LLVM links.

Source: "System V Application Binary Interface, AMD64 Architecture Processor Supplement", 4.4, and
the gABI's chapter on object files.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_HEADER = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian, version 1
_RELOCATABLE, _X86_64 = 1, 62
_PROGBITS, _SYMTAB, _RELA = 1, 2, 4
_WRITE, _ALLOC = 1, 2
_PC32, _PLT32 = 2, 4
_UNWINDING = ".eh_frame"  # nothing is thrown through our code
_JUMP = b"\xff\x25\x00\x00\x00\x00"  # to the address behind this instruction
_STUB = 16
_PAGE = mmap.PAGESIZE


class UnknownObjectError(ValueError):
    """An object file has a feature that this loader does not support."""


class ElfSection(NamedTuple):
    """An entry of the section table, with its name."""

    name: str
    kind: int
    flags: int
    start: int
    size: int
    link: int
    info: int
    alignment: int


class ElfSymbol(NamedTuple):
    """An entry of the symbol table; section 0: it is undefined here."""

    name: str
    section: int
    value: int


def works() -> bool:
    """Return whether this loader supports the system's object files."""
    return (
        sys.platform == "linux" and platform.machine() == "x86_64" and sys.maxsize == (1 << 63) - 1
    )


class ObjectFile:
    """A parsed object file."""

    def __init__(self, content: bytes):
        self.content = content
        self._read()

    def _read(self) -> None:
        content = self.content
        kind, machine = struct.unpack_from("<HH", content, 16)
        if content[:7] != _HEADER or (kind, machine) != (_RELOCATABLE, _X86_64):
            raise UnknownObjectError("an object file of another kind")
        (table,) = struct.unpack_from("<Q", content, 0x28)
        size, count, names = struct.unpack_from("<HHH", content, 0x3A)
        entries = [
            struct.unpack_from("<IIQQQQIIQQ", content, table + size * i) for i in range(count)
        ]
        names_at = entries[names][4]
        self.sections = [
            ElfSection(
                self._name(names_at + e[0]), e[1], e[2], e[4], e[5], e[6], e[7], max(1, e[8])
            )
            for e in entries
        ]
        self.symbols = self._symbols()

    def _name(self, at: int) -> str:
        return self.content[at : self.content.index(b"\0", at)].decode()

    def _symbols(self) -> list[ElfSymbol]:
        tables = [section for section in self.sections if section.kind == _SYMTAB]
        if len(tables) != 1:
            raise UnknownObjectError(f"{len(tables)} tables of symbols")
        names = self.sections[tables[0].link].start
        found = []
        for at in range(tables[0].start, tables[0].start + tables[0].size, 24):
            name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", self.content, at)
            found.append(ElfSymbol(self._name(names + name), section, value))
        return found

    def find_loadable_sections(self) -> dict[int, ElfSection]:
        """Return the sections to be loaded, by number."""
        found = {}
        for number, section in enumerate(self.sections):
            if section.flags & _ALLOC and section.name != _UNWINDING:
                inside = section.start + section.size <= len(self.content)
                if section.kind != _PROGBITS or section.flags & _WRITE or not inside:
                    raise UnknownObjectError(f"a section {section.name} of kind {section.kind}")
                if section.alignment > _PAGE:
                    raise UnknownObjectError(f"a section aligned to {section.alignment}")
                found[number] = section
        return found

    def relocations(self, section: int) -> list[tuple[int, int, ElfSymbol, int]]:
        """Return the relocations: (position in the section, kind, symbol, addend)."""
        found = []
        last = self.sections[section].size - 4
        for table in self.sections:
            if table.kind != _RELA or table.info != section:
                continue
            for at in range(table.start, table.start + table.size, 24):
                place, info, addend = struct.unpack_from("<QQq", self.content, at)
                if place > last:
                    raise UnknownObjectError(f"a relocation at {place}, behind its section")
                found.append((place, info & 0xFFFFFFFF, self.symbols[info >> 32], addend))
        return found


class Image:
    """An object file in memory; `addresses` of the functions and constants that it names."""

    def __init__(self, content: bytes, symbols: Mapping[str, int]):
        self._address = self._size = 0
        try:
            block, places = _fill_sections(ObjectFile(content), symbols)
        except (struct.error, ValueError, LookupError, OverflowError) as error:
            raise UnknownObjectError(f"no object file that we know: {error}") from None
        self._place(block)
        self.addresses = {name: self._address + place for name, place in places.items()}

    def _place(self, block: bytes) -> None:
        """Copy the block into memory and make it executable and read-only."""
        size = -(-len(block) // _PAGE) * _PAGE
        private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        address = _libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, private, -1, 0)
        if address == _FAILED:
            raise MemoryError(f"{size} bytes for code")
        self._address, self._size = address, size
        ctypes.memmove(address, block, len(block))
        if _libc.mprotect(address, size, mmap.PROT_READ | mmap.PROT_EXEC):
            raise UnknownObjectError("the system does not let memory become code")

    def close(self) -> None:
        """Free the memory; no thread may execute it."""
        address, self._address = self._address, 0
        if address:
            _libc.munmap(address, self._size)

    def __del__(self, finalizing: Callable = sys.is_finalizing) -> None:
        if not finalizing():  # then worker threads may still be in it
            self.close()


def _fill_sections(
    object_file: ObjectFile, symbols: Mapping[str, int]
) -> tuple[bytes, dict[str, int]]:
    """Return the block of all relocated sections, and the offsets of names."""
    sections = object_file.find_loadable_sections()
    starts, end = _layout(sections)
    filled = [
        (starts[number], *each) for number in sections for each in object_file.relocations(number)
    ]
    away = dict.fromkeys([symbol.name for _, _, _, symbol, _ in filled if not symbol.section])
    table = -(-end // _STUB) * _STUB
    stubs = {name: table + _STUB * i for i, name in enumerate(away)}
    block = bytearray(table + _STUB * len(stubs))
    for number, section in sections.items():
        part = object_file.content[section.start : section.start + section.size]
        block[starts[number] : starts[number] + section.size] = part
    for name, at in stubs.items():
        address = symbols.get(name) or address_in_process(name)
        block[at : at + _STUB] = (_JUMP + address.to_bytes(8, "little")).ljust(_STUB, b"\0")
    for start, offset, kind, symbol, addend in filled:
        at = start + offset
        struct.pack_into("<i", block, at, _target(kind, symbol, starts, stubs) + addend - at)
    places = {
        symbol.name: starts[symbol.section] + symbol.value
        for symbol in object_file.symbols
        if symbol.name and symbol.section in starts
    }
    return bytes(block), places


def _layout(sections: Mapping[int, ElfSection]) -> tuple[dict[int, int], int]:
    """Return the offsets of sections, one after the other, and their end."""
    starts, end = {}, 0
    for number, section in sections.items():
        starts[number] = -(-end // section.alignment) * section.alignment
        end = starts[number] + section.size
    return starts, end


def _target(
    kind: int, symbol: ElfSymbol, starts: Mapping[int, int], stubs: Mapping[str, int]
) -> int:
    """Return the address of a symbol in the block; of an outer function, its jump stub."""
    if symbol.section in starts and kind in (_PC32, _PLT32):
        return starts[symbol.section] + symbol.value
    if not symbol.section and kind == _PLT32:
        return stubs[symbol.name]
    raise UnknownObjectError(f"a relocation {kind} of {symbol.name} in section {symbol.section}")


def address_in_process(name: str) -> int:
    """Return the address of a function of libc or libm; RuntimeError if there is none."""
    for library in (None, "libm.so.6"):
        try:
            found = getattr(ctypes.CDLL(library), name)
        except (OSError, AttributeError):
            continue
        return ctypes.cast(found, ctypes.c_void_p).value or 0
    raise RuntimeError(f"machine code calls {name}, which is not there")


if works():  # on Windows there is no library without a name
    _libc = ctypes.CDLL(None)
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    _libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    _libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value
