"""The target processor: the one place that decides features and the width of vectors.

`settings.cpu` names a level: `native` is this processor with all it can do; the others are the
levels of the System V ABI for AMD64 (3.1.1, "Processor architecture"), for code as an older machine
would have it.  A new level, or another architecture, is a row of `LEVELS` and a name in
`core/settings.py: CPUS`.

LLVM is not loaded here: a process that finds its code on disk has to know under which key.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from talweg.core import settings
from talweg.core.errors import value_error
from talweg.execute.llvm.link import elf

NATIVE = "native"
HALVES = "f16c"  # the feature of x86-64 that converts 16-bit floats
BFLOAT16 = "avx512bf16"  # the one that rounds float32 to bfloat16
MATRIX_TILES = ("amx-tile", "amx-bf16")
INFO = "/proc/cpuinfo"
_DESCRIBED = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")


class Level(NamedTuple):
    """The features that code may use, under LLVM's names."""

    cpu: str
    features: tuple[str, ...]  # that a processor must have
    vector_bytes: int


_V2 = ("cx16", "popcnt", "sahf", "sse3", "ssse3", "sse4.1", "sse4.2")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
LEVELS = {
    "x86-64": Level("x86-64", (), 16),
    "x86-64-v2": Level("x86-64-v2", _V2, 16),
    "x86-64-v3": Level("x86-64-v3", _V3, 32),
    "x86-64-v4": Level("x86-64-v4", _V4, 64),
}


class Processor(NamedTuple):
    """The target processor, as LLVM's target machines are told."""

    cpu: str
    features: str  # "+avx2,-avx512f,..."
    vector_bytes: int  # how wide vectors are to be
    has_halves: bool  # whether it converts 16-bit floats (others: `halves.py`)
    matrix_tiles: bool = False  # whether its registers multiply matrices of bfloat16
    rounds_bfloat16: bool = False  # whether it rounds vectors of 64 bytes to bfloat16


def name() -> str:
    """Return the level that is requested."""
    return settings.cpu.get()


def choose_processor(host: str, triple: str, able: dict[str, bool], flat: str) -> Processor:
    """Choose the target processor on this one, named `host`, with the features `able`.

    flat: its features as LLVM writes them.  ValueError where a level asks for more than it has.
    """
    asked = settings.cpu.parse(name())
    if asked == NATIVE:
        has_halves = not triple.startswith("x86_64") or able.get(HALVES, False)
        has_tiles = all(able.get(feature, False) for feature in MATRIX_TILES)
        rounds = width(able) == 64 and able.get(BFLOAT16, False)
        return Processor(host, flat, width(able), has_halves, has_tiles, rounds)
    level = LEVELS[asked]
    missing = [feature for feature in level.features if not able.get(feature, False)]
    if not triple.startswith("x86_64"):
        missing = [f"instructions of x86-64 ({triple})"]
    if missing:
        raise value_error(
            "TW104",
            f"TALWEG_CPU={asked} asks for what this processor lacks: {', '.join(missing)}",
            "a level that is not above the machine's, or native",
        )
    return Processor(level.cpu, "", level.vector_bytes, HALVES in level.features)


def width(able: dict[str, bool]) -> int:
    """Return the bytes of vector registers.

    The first cores with AVX-512 (Skylake, Cascade Lake) slow down where its registers are used;
    later ones (from Ice Lake and Zen 4 on, which have VBMI2) do not.
    """
    if all(able.get(feature, False) for feature in (*_V4, "avx512vbmi2")):
        return 64
    return 32 if able.get("avx", False) else 16


def has_matrix_tiles() -> bool:
    """Return whether code may use matrix registers, by Linux's flags, without LLVM."""
    flags = (describe_processor() or "").split()
    return name() == NATIVE and all(word.replace("-", "_") in flags for word in MATRIX_TILES)


def describe_processor() -> str | None:
    """Return Linux's description of the first processor; None where unknown."""
    if not elf.works():
        return None
    try:
        with open(INFO) as file:
            return _filter_lines(file.read(16384).split("\n\n")[0].splitlines())
    except OSError:
        return None


def _filter_lines(lines: Iterable[str]) -> str | None:
    told = [line for line in lines if line.split("\t")[0].strip() in _DESCRIBED]
    return "\n".join(told) if any(line.startswith("flags") for line in told) else None
