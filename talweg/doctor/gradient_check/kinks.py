"""Search for jumps and kinks of a function: near a point, along lines, and by line of code.

A gradient says nothing about a jump: a loss that switches from one formula to another has a right
gradient on both sides, and still a step between them.  Lines to look along are random ones, and
those towards the nearest switch: comparisons that ran (`if`, `tf.where`, `while`) tell how far they
are from turning round, and the gradient of that distance is the way there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from talweg.core import dispatch
from talweg.doctor.findings import Place
from talweg.doctor.gradient_check.differences import Problem
from talweg.doctor.nonfinite.gradients import CotangentSweep
from talweg.doctor.nonfinite.ledger import Ledger, LedgerEntry, is_float, keeping
from talweg.eager.tensor import wrap

POINTS = 24  # of a line, on either side
HALVINGS = 40
OUTLIER = 6.0  # times the usual bend of a line: worth a closer look
SWITCHES = 6  # comparisons that are followed


@dataclass(frozen=True)
class Switch:
    """A point near by where the function is not smooth.

    kind: jump, or kink.   distance: from the point that was checked.   size: of the jump, or how
    much the slope changes.   below, above: the values on both sides.   operation, place: what
    switches there, where that was found.
    """

    kind: str
    distance: float
    size: float
    below: float
    above: float
    operation: str = ""
    place: Place | None = None

    def __str__(self) -> str:
        name = f" at {self.operation}" if self.operation else ""
        place = f"\n    {self.place}" if self.place else ""
        what = (
            f"from {self.below:.6g} to {self.above:.6g}"
            if self.kind == "jump"
            else f"slope {self.below:.6g} on one side, {self.above:.6g} on the other"
        )
        away = "at the point itself" if self.distance == 0 else f"{self.distance:.3g} away"
        return f"{self.kind}{name}, {away}: {what}{place}"


def at_the_point(problem: Problem, g: Callable[[float], float], step: float) -> Switch | None:
    """Return a jump or kink of a line at 0: differences on both sides that do not become equal."""
    here = g(0.0)
    size = max(abs(here), 1.0)
    noise = 50 * problem.precision * size
    left, right = g(-step) - here, g(step) - here
    tiny = step / (2.0**24 if problem.precision < 1e-12 else 2.0**12)
    small_left, small_right = g(-tiny) - here, g(tiny) - here
    if not np.isfinite([left, right, small_left, small_right]).all():
        return None
    for one, small in ((right, small_right), (left, small_left)):
        if abs(small) > max(noise, 0.5 * abs(one)) and abs(small) > 1e-9 * size:
            low, high = (here, here + small) if one is right else (here + small, here)
            return Switch("jump", 0.0, abs(small), low, high)
    slopes = -left / step, right / step
    gap = abs(slopes[1] - slopes[0])
    near = step / 64
    closer = abs(g(near) - here + g(-near) - here) / near
    usual = max(abs(slopes[0]), abs(slopes[1]))
    if gap > max(1e-2 * usual, noise / step) and 2.0 * gap > closer > 0.5 * gap:
        return Switch("kink", 0.0, gap, *slopes)
    return None


def jump_along(g: Callable[[float], np.ndarray], reach: float, precision: float) -> tuple | None:
    """Return (distance, value before, value after) of the nearest jump of a line within reach.

    `g` gives several numbers, so that a jump does not hide where one of them happens to meet; what
    comes back is the one that jumps most.
    """
    places = np.linspace(-reach, reach, 2 * POINTS + 1)
    values = np.array([g(float(t)) for t in places])
    if not np.isfinite(values).all():
        return None
    bends = np.linalg.norm(np.diff(values, 2, axis=0), axis=1)
    usual = np.median(bends) + 1e-12 * np.abs(values).max()
    least = max(1e-6 * np.ptp(values), 100 * precision * np.abs(values).max())
    jump = None
    for bend in np.argsort(bends)[::-1][:3]:
        if bends[bend] < OUTLIER * usual:
            break
        steps = np.linalg.norm(np.diff(values[bend : bend + 3], axis=0), axis=1)
        first = int(bend + np.argmax(steps))
        ends = float(places[first]), float(places[first + 1])
        distance, below, above = _closer(g, *ends, values[first], values[first + 1])
        sizes = np.abs(above - below)
        if sizes.max() > least and (jump is None or abs(distance) < abs(jump[0])):
            which = int(np.argmax(sizes))
            jump = distance, float(below[which]), float(above[which])
    return jump


def _closer(
    g: Callable[[float], Any], low: float, high: float, below: np.ndarray, above: np.ndarray
) -> tuple:
    """Halve an interval, keeping the half in which the line changes more."""
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        value = g(middle)
        if np.linalg.norm(value - below) >= np.linalg.norm(above - value):
            high, above = middle, value
        else:
            low, below = middle, value
    return 0.5 * (low + high), below, above


def jumps_near(problem: Problem, lines: list, weights: list, reach: float) -> list[Switch]:
    """Return the jumps found along some directions (of length 1), and towards comparisons.

    `weights` are several ways to make one number of the results.
    """
    jumps: list[Switch] = []
    for direction in [*directions_to_switches(problem, reach), *lines]:
        jump = jump_along(problem.along_all(direction, weights), reach, problem.precision)
        if jump is None:
            continue
        distance, below, above = jump
        operation, line = what_switches(problem, direction, distance, reach)
        if any(s.place == line and s.operation == operation for s in jumps):
            continue
        size = abs(above - below)
        jumps.append(Switch("jump", abs(distance), size, below, above, operation, line))
    return sorted(jumps, key=lambda switch: switch.distance)


def directions_to_switches(problem: Problem, reach: float) -> list:
    """Return unit directions along which a comparison that ran turns round soonest."""
    ledger = run(problem, problem.start)
    sweep = CotangentSweep(ledger)
    sources = ledger_sources(ledger, problem)
    ways: list[tuple] = []
    for entry in [e for e in ledger.entries if is_comparison(e)][:64]:
        way = _way_to(sweep, entry, sources)
        if way is not None and way[0] <= 2 * reach:
            ways.append(way)
    ways.sort(key=lambda row: row[0])
    return [direction for _, direction in ways[:SWITCHES]]


def run(problem: Problem, arrays: list) -> Ledger:
    """Return the ledger of one evaluation."""
    with keeping() as ledger:
        problem.at(arrays)
    ledger.kept.append(arrays)
    return ledger


def ledger_sources(ledger: Ledger, problem: Problem) -> list:
    """Return the arrays that the arguments and variables were in that evaluation."""
    arrays = ledger.kept[-1]
    count = len(problem.places)
    return [*arrays[:count], *[v.handle_read()._array for v in problem.variables]]


def is_comparison(entry: LedgerEntry) -> bool:
    """Return whether an entry compares numbers."""
    if len(entry.results) != 1 or len(entry.operands) != 2 or not entry.prim.elementwise:
        return False
    result = np.asarray(entry.results[0])
    return result.dtype.kind == "b" and any(map(is_float, entry.operands)) and result.size > 0


def _way_to(sweep: CotangentSweep, entry: LedgerEntry, sources: list) -> tuple | None:
    """Return (length, unit direction) of the way on which a comparison turns round."""
    x, y = entry.operands
    margin = np.asarray(x, np.float64) - np.asarray(y, np.float64)
    index = np.unravel_index(int(np.argmin(np.abs(margin))), margin.shape)
    total: list = [np.zeros(np.shape(s)) for s in sources]
    for operand, sign in ((x, 1.0), (y, -1.0)):
        if not is_float(operand) or id(operand) not in sweep.tensors:
            continue
        seed = np.zeros(np.shape(operand), np.asarray(operand).dtype)
        element = tuple(
            0 if size == 1 else i for i, size in zip(index[len(index) - seed.ndim :], seed.shape)
        )
        seed[element] = sign
        with dispatch.eagerly(), dispatch.only(()):
            parts = sweep.pull(operand, wrap(seed), sources)
        total = [t if p is None else t + np.real(p) for t, p in zip(total, parts)]
    length = float(np.sqrt(sum(np.sum(t**2) for t in total)))
    if not np.isfinite(length) or length == 0:
        return None
    sign = -np.sign(margin[index]) or 1.0
    return abs(float(margin[index])) / length, [sign * t / length for t in total]


def what_switches(problem: Problem, direction: list, distance: float, scale: float) -> tuple:
    """Return (name,
    place) of the first operation that answers otherwise on both sides of a point.
    """
    gap = 1e3 * problem.precision * max(abs(distance), scale)
    before, after = [run(problem, problem.move(direction, distance + t)) for t in (-gap, gap)]
    for one, other in zip(before.entries, after.entries):
        if one.prim is not other.prim or one.origin != other.origin:
            return one.prim.name, _place(one)
        if one.results and _answers_differ(one.results[0], other.results[0]):
            return one.prim.name, _place(one)
    for one, other in zip(before.entries, after.entries):
        pairs = list(zip(one.operands, other.operands))
        if any(map(_differ, one.results, other.results)) and not any(_differ(*p) for p in pairs):
            return one.prim.name, _place(one)
    return "", None


def _answers_differ(first: np.generic | np.ndarray, second: np.generic | np.ndarray) -> bool:
    """Return whether two results that are truth values or integers differ."""
    one, other = np.asarray(first), np.asarray(second)
    same = one.shape == other.shape and one.dtype == other.dtype
    return same and one.dtype.kind in "biu" and bool((one != other).any())


def _differ(first: np.ndarray, second: np.ndarray) -> bool:
    """Return whether two arrays of floats differ by more than a small step explains."""
    if not is_float(first) or np.shape(first) != np.shape(second):
        return False
    scale = float(np.max(np.abs(first), initial=0)) + 1e-30
    return bool(np.max(np.abs(np.asarray(first) - np.asarray(second)), initial=0) > 1e-5 * scale)


def _place(entry: LedgerEntry) -> Place | None:
    return None if entry.origin is None else Place.of(entry.origin)


def kinks_at(problem: Problem) -> tuple:
    """Return (name,
    place) of an operation whose operand is at a kink that its declaration names.
    """
    ledger = run(problem, problem.start)
    for entry in ledger.entries:
        if not entry.prim.kinks or not entry.operands or not is_float(entry.operands[0]):
            continue
        arrays = [
            np.asarray(x, np.float64)
            for x in entry.operands[:2]
            if np.ndim(x) or is_float(x) or isinstance(x, (int, float))
        ]
        gap = arrays[0] - (arrays[1] if len(arrays) == 2 else 0.0)
        if gap.size and float(np.min(np.abs(gap))) < 1e-6:
            return entry.prim.name, _place(entry)
    return "", None
