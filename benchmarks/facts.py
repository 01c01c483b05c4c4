"""What a reader must know of the machine to believe a figure; no host names, users or paths."""

from __future__ import annotations

import datetime
import os
import platform
from pathlib import Path

VECTOR_FLAGS = ("avx2", "fma", "avx512f", "avx512_vnni", "amx_tile", "asimd", "sve")


def machine():
    """The processor, cores, memory, system and load, as plain data."""
    cpu = _first_processor()
    flags = set((cpu.get("flags") or cpu.get("Features") or "").split())
    return {
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "processor": cpu.get("model name") or platform.processor() or platform.machine(),
        "architecture": platform.machine(),
        "vector_extensions": [flag for flag in VECTOR_FLAGS if flag in flags],
        "cores": len(os.sched_getaffinity(0)) if _can_pin() else os.cpu_count(),
        "memory_bytes": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "load_average": load(),
    }


def load():
    """The load of the last minute: above zero at the start, somebody else was working too."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _can_pin():
    return hasattr(os, "sched_getaffinity")


def _memory():
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names:
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _first_processor():
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    first = path.read_text().partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}
