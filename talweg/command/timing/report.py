"""The report of a profile: the time by kind, line, operation, and kernel of compiled programs."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talweg.command.timing.clock import Clock, Spent
from talweg.core.lazy import LazyModule
from talweg.core.provenance import Derived, line_of, place_text
from talweg.doctor.findings import Place

if TYPE_CHECKING:
    from talweg.execute import kernel_profile
else:
    kernel_profile = LazyModule("talweg.execute.kernel_profile")

WORDS = {  # kind -> what is said of it
    "operation": "operations that ran at once",
    "step": "operations of functions and sessions, interpreted",
    "compiled": "compiled programs",
    "call": "starting functions and sessions",
    "gradient": "reverse sweeps (without their operations)",
    "trace": "tracing functions",
    "compile": "compiling",
}
WORK = ("operation", "step")


@dataclass
class ReportRow:
    """The time of one line, operation or kernel."""

    name: str
    seconds: float = 0.0
    python: float = 0.0
    calls: int = 0
    size: int = 0
    parts: dict[str, float] = field(default_factory=dict)
    place: Place | None = None


@dataclass
class LineProfile:
    """The measurements of a profile."""

    clock: Clock
    samples: dict[tuple, float]  # line -> seconds
    kernels: list[tuple[str, list[Any]]]  # compiled program -> times of its kernels

    @property
    def total(self) -> float:
        """Seconds in all."""
        return self.clock.total / 1e9

    def kinds(self) -> dict[str, Spent]:
        """Return the time by kind, and the rest, which is Python's."""
        found: dict[str, Spent] = {}
        for key, spent in self.clock.spent.items():
            add(found.setdefault(key.kind, Spent()), spent)
        rest = self.clock.total - sum(spent.own for spent in found.values())
        found["python"] = Spent(0, max(0, rest))
        return found

    def operations(self) -> list[ReportRow]:
        """Return a table by operation, the longest first."""
        rows: dict[str, ReportRow] = {}
        for key, spent in self.clock.spent.items():
            if key.kind in WORK:
                row = rows.setdefault(key.name, ReportRow(key.name))
                row.seconds += spent.own / 1e9
                row.calls += spent.calls
                row.size += spent.size
        return sorted(rows.values(), key=lambda row: -row.seconds)

    def lines(self) -> list[ReportRow]:
        """Return a table by line of the program, the longest first;
        compiled programs by their kernels' lines.
        """
        rows: dict[Any, ReportRow] = {}

        def row_of(spot: Place | None) -> ReportRow:
            key = None if spot is None else (spot.file, spot.line)
            return rows.setdefault(key, ReportRow(str(spot or "elsewhere"), place=spot))

        def row_named(name: str) -> ReportRow:
            return rows.setdefault(name, ReportRow(name))

        shares = self._shares()
        for key, spent in self.clock.spent.items():
            name = WORDS[key.kind] if key.kind in ("trace", "compile", "gradient") else key.name
            if key.kind == "compiled" and key.name in shares:
                for kernel_line, kernel, share in shares[key.name]:
                    row = row_of(kernel_line)
                    count(row, kernel, spent.own / 1e9 * share, spent.calls)
                continue
            count(row_of(own_place(key.origin)), name, spent.own / 1e9, spent.calls)
        for (file, line, function), seconds in self.samples.items():
            row = row_of(Place(file, line, function)) if file else row_named(function)
            row.python += seconds
        return sorted(rows.values(), key=lambda row: -(row.seconds + row.python))

    def _shares(self) -> dict[str, list[tuple[Place | None, str, float]]]:
        """Return, for each compiled program, each kernel's part of its time, with its line."""
        found = {}
        for name, times in self.kernels:
            total = sum(each.seconds for each in times) or 1.0
            found[name] = [
                (place_in(each.line), each.operations.split(" ")[0], each.seconds / total)
                for each in times
            ]
        return found


def add(total: Spent, part: Spent) -> None:
    """Count a part in."""
    total.calls += part.calls
    total.own += part.own
    total.whole += part.whole
    total.size += part.size


def count(row: ReportRow, name: str, seconds: float, calls: int) -> None:
    """Count a part of a line's time."""
    row.seconds += seconds
    row.calls = max(row.calls, calls)
    row.parts[name] = row.parts.get(name, 0.0) + seconds


def own_place(origin: tuple) -> Place | None:
    """Return the place of an origin; of a derivative, where the operation itself stands."""
    if origin is None:
        return None
    if type(origin) is Derived and origin.forward is not None:
        origin = origin.forward
    return Place(origin[0].co_filename, line_of(origin), origin[0].co_name)


def place_in(text: str) -> Place | None:
    """Return the place in a kernel's description: `file:12, in step: ...`."""
    head, _, rest = text.partition(", in ")
    file, _, line = head.rpartition(":")
    return Place(file, int(line), rest.partition(":")[0]) if line.isdigit() else None


def kernels(labels: dict[int, str], repeats: int = 20) -> list[tuple[str, list[Any]]]:
    """Return the times of the kernels of all compiled programs that were called, measured now."""
    try:
        programs = kernel_profile.CALLED  # imports LLVM
    except ImportError:
        return []
    measured = []
    for compiled in [each for each in programs if id(each) in labels]:  # else of another profile
        if compiled.last is not None:
            times = kernel_profile.profile(compiled, *compiled.last, repeats)
            measured.append((labels[id(compiled)], times))
    return measured


def end_profiles(labels: dict[int, str]) -> None:
    """Release the programs that a profile watched, and the arguments that it kept of them."""
    compiled = sys.modules.get("talweg.execute.compiled")  # else nothing was compiled
    for each in list(compiled.CALLED) if compiled else []:
        if id(each) in labels:
            each.end_profile()


def text(profile: LineProfile, top: int = 15) -> str:
    """Return the profile for people."""
    parts = [summary(profile), line_table(profile, top), operation_table(profile, top)]
    if profile.kernels:
        tables = [kernel_table(name, times, top) for name, times in profile.kernels]
        parts.append(
            "By kernel (one call of each compiled program, on one thread)\n\n" + "\n\n".join(tables)
        )
    return "\n\n".join(part for part in parts if part)


def kernel_table(name: str, times: list[Any], top: int) -> str:
    """Return the kernels of a compiled program that take longest."""
    head, *rows, total = kernel_profile.table(times).splitlines()
    lines = [name, head, *rows[:top]]
    if len(rows) > top:
        rest = sum(sorted([each.seconds for each in times])[: len(times) - top])
        lines.append(f"{rest * 1e3:9.3f}  in {len(rows) - top} more kernels")
    return "\n".join([*lines, total])


def summary(profile: LineProfile) -> str:
    """Summarize the time of the whole program."""
    lines = [f"{profile.total:.3f} s in all"]
    kinds = profile.kinds()
    for kind, words in (*WORDS.items(), ("python", "Python, and everything else")):
        spent = kinds.get(kind)
        if spent is not None and spent.own:
            calls = f"{spent.calls:,} times" if spent.calls else ""
            part = spent.own / 1e9
            lines.append(f"{part * 1e3:11.1f} ms {part / profile.total:5.0%}  {words:<50} {calls}")
    return "\n".join(line.rstrip() for line in lines)


def line_table(profile: LineProfile, top: int) -> str:
    """Return the lines that take longest."""
    rows = [row for row in profile.lines() if row.seconds + row.python > 0]
    if not rows:
        return ""
    lines = ["By line", "", f"{'ms':>10} {'part':>5} {'Python':>9} {'calls':>8}  line"]
    for row in rows[:top]:
        whole = row.seconds + row.python
        shown_line = row.name if row.place is None else format_line(row.place)
        lines.append(
            f"{whole * 1e3:10.2f} {whole / profile.total:5.0%} {row.python * 1e3:9.2f} "
            f"{row.calls or '':>8}  {shown_line}"
        )
        if len(row.parts) > 1 or (row.parts and row.python):
            longest = sorted(row.parts.items(), key=lambda pair: -pair[1])[:5]
            inside = ", ".join(f"{name} {seconds * 1e3:.2f}" for name, seconds in longest)
            lines.append(f"{'':>37}{inside}")
    if len(rows) > top:
        lines.append(f"{'':>10} and {len(rows) - top} more lines: --top {len(rows)}")
    return "\n".join(lines)


def format_line(place: Place) -> str:
    """Return a line, with its file's name alone."""
    source = place.source
    text = place_text(place.file, place.line)
    text = text if text.startswith("Cell In") else f"{Path(place.file).name}:{place.line}"
    return text + (f"  {source[:70]}" if source else "")


def operation_table(profile: LineProfile, top: int) -> str:
    """Return the operations that take longest."""
    rows = profile.operations()
    if not rows:
        return ""
    heads = f"{'ms':>10} {'part':>5} {'calls':>8} {'us a call':>10} {'MB':>9}"
    lines = ["By operation", "", f"{heads}  operation"]
    for row in rows[:top]:
        each = row.seconds * 1e6 / max(1, row.calls)
        lines.append(
            f"{row.seconds * 1e3:10.2f} {row.seconds / profile.total:5.0%} "
            f"{row.calls:8,} {each:10.1f} {row.size / 1e6:9.2f}  {row.name}"
        )
    if len(rows) > top:
        lines.append(f"{'':>10} and {len(rows) - top} more operations")
    return "\n".join(lines)


def as_data(profile: LineProfile) -> dict:
    """Return the profile for programs that read JSON; times in seconds."""
    split: dict[str, dict] = defaultdict(dict)
    for kind, spent in profile.kinds().items():
        split[kind] = {"seconds": spent.own / 1e9, "calls": spent.calls}
    return {
        "seconds": profile.total,
        "kinds": dict(split),
        "lines": [
            {
                "place": None if row.place is None else row.place.as_dict(),
                "seconds": row.seconds,
                "python": row.python,
                "calls": row.calls,
                "parts": row.parts,
            }
            for row in profile.lines()
        ],
        "operations": [
            {"name": row.name, "seconds": row.seconds, "calls": row.calls, "bytes": row.size}
            for row in profile.operations()
        ],
        "kernels": {
            name: [
                {
                    "name": each.name,
                    "operations": each.operations,
                    "seconds": each.seconds,
                    "best": each.best,
                    "flops": each.cost.flops,
                    "bytes": each.cost.bytes_moved,
                    "line": each.line,
                }
                for each in times
            ]
            for name, times in profile.kernels
        },
    }
