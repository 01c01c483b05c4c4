"""Medians, minima, ratios and verdicts: the arithmetic of a report, without measuring anything."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field

from benchmarks.declare import AtMost, Flat, Ratio

CLOCKS = {"wall": 0, "cpu": 1}
AGREEMENT = 1e-3


@dataclass
class Series:
    """The samples of one contender: (round, wall, cpu) in the benchmark's unit, scaled."""

    samples: list[tuple[int, float, float]] = field(default_factory=list)
    iterations: int = 1
    first_call: float = 0.0
    digest: list[float] = field(default_factory=list)
    error: str | None = None
    unfit: bool = False

    def figures(self, clock="wall"):
        """Figure by round."""
        return {sample[0]: sample[1 + CLOCKS[clock]] for sample in self.samples}

    def median(self, clock="wall"):
        """The middle sample: what a user sees."""
        return statistics.median(self.figures(clock).values())

    def minimum(self, clock="wall"):
        """The least disturbed sample: what the machine can do."""
        return min(self.figures(clock).values())

    def spread(self, clock="wall"):
        """Median distance from the median, relative to it: how much to believe the figure."""
        figures = self.figures(clock).values()
        middle = statistics.median(figures)
        return statistics.median(abs(f - middle) for f in figures) / middle if middle else 0.0


@dataclass
class Row:
    """One benchmark at one number of threads: the series by contender."""

    benchmark: object
    threads: int
    series: dict[str, Series]

    def measured(self):
        """The series that have samples."""
        return {label: s for label, s in self.series.items() if s.samples}


@dataclass(frozen=True)
class Verdict:
    """An aim held against a row: `value` is None where it could not be judged, and `note` why.

    `unit` is None for a ratio.
    """

    aim: str
    value: float | None
    limit: float
    unit: str | None = None
    note: str = ""

    @property
    def met(self):
        """Whether the aim is reached; None where it could not be judged."""
        return None if self.value is None else self.value <= self.limit


def paired_ratio(ours, theirs, clock="wall"):
    """Median over rounds of ours / theirs: both saw the same load in the same round.

    >>> slow, fast = Series([(0, 4.0, 4.0), (1, 8.0, 8.0)]), Series([(0, 2.0, 2.0), (1, 4.0, 4.0)])
    >>> paired_ratio(slow, fast)
    2.0
    """
    mine, other = ours.figures(clock), theirs.figures(clock)
    shared = [mine[r] / other[r] for r in mine.keys() & other.keys() if other[r] > 0]
    return statistics.median(shared) if shared else math.nan


def best_peer(row, clock="wall"):
    """The label of the fastest contender that is neither talweg nor the NumPy floor, or None."""
    rivals = {
        label: series.median(clock)
        for label, series in row.measured().items()
        if label.partition(" ")[0] not in ("talweg", "numpy")
    }
    return min(rivals, key=rivals.__getitem__, default=None)


def aim_text(aim, unit="seconds"):
    """An aim in a few words.

    >>> aim_text(AtMost(1.5e-6)), aim_text(Ratio(2.0, of="numpy")), aim_text(Flat(1.5))
    ('≤ 1.5 µs', '≤ 2 × numpy', '≤ 1.5 × smaller sizes')
    """
    if isinstance(aim, AtMost):
        return f"≤ {shown(aim.limit, unit)}"
    return f"≤ {aim.limit:g} × {aim.of if isinstance(aim, Ratio) else 'smaller sizes'}"


def judge(aim, row, rows, clock="wall"):
    """Hold one aim of a row against what was measured in the whole run."""
    ours = row.measured().get(row.benchmark.subject)
    if isinstance(aim, AtMost):
        value = ours.median(clock) if ours else None
        text = aim_text(aim, row.benchmark.unit)
        note = "" if ours else "not measured"
        return Verdict(text, value, aim.limit, row.benchmark.unit, note)
    if isinstance(aim, Ratio):
        return _judge_ratio(aim, row, ours, clock)
    if isinstance(aim, Flat):
        return _judge_flat(aim, row, rows, ours, clock)
    raise TypeError(f"no rule for the aim {aim!r}")


def _judge_ratio(aim, row, ours, clock):
    label = best_peer(row, clock) if aim.of == "best" else aim.of
    theirs = row.measured().get(label)
    text = aim_text(aim) + (f" ({label})" if aim.of == "best" and label else "")
    if not ours or not theirs:
        return Verdict(text, None, aim.limit, note="not measured")
    return Verdict(text, paired_ratio(ours, theirs, clock), aim.limit)


def _judge_flat(aim, row, rows, ours, clock):
    text = aim_text(aim)
    smaller = [
        other.measured()[row.benchmark.subject].median(clock)
        for other in rows
        if other.benchmark.family == row.benchmark.family
        and other.threads == row.threads
        and other.benchmark.size < row.benchmark.size
        and row.benchmark.subject in other.measured()
    ]
    if not ours:
        return Verdict(text, None, aim.limit, note="not measured")
    if not smaller:
        return Verdict(text, None, aim.limit, note="smallest size")
    return Verdict(text, ours.median(clock) / min(smaller), aim.limit)


def disagreements(row):
    """Labels whose digest differs from the reference's: they computed something else."""
    digests = {label: s.digest for label, s in row.measured().items() if s.digest}
    if not digests:
        return []
    order = ["numpy", "tensorflow", "torch", "jax", *digests]
    reference = digests[next(label for label in order if label in digests)]
    return [label for label, mine in digests.items() if not _agree(mine, reference)]


def _agree(mine, reference):
    return len(mine) == len(reference) and all(
        math.isclose(a, b, rel_tol=AGREEMENT, abs_tol=1e-6)
        for a, b in zip(mine, reference, strict=True)
    )


def iterations_for(seconds, sample_seconds):
    """How many calls make a sample of about `sample_seconds`; at least one.

    >>> iterations_for(1e-6, 0.02), iterations_for(3.0, 0.02)
    (20000, 1)
    """
    return max(1, min(1_000_000, round(sample_seconds / max(seconds, 1e-9))))


def rounds_for(sample_seconds, budget, least, most):
    """How many samples of this length fit a budget, within bounds."""
    return max(least, min(most, int(budget / max(sample_seconds, 1e-9))))


_UNITS = {
    "seconds": ((1e-6, 1e-9, "ns"), (1e-3, 1e-6, "µs"), (1.0, 1e-3, "ms"), (math.inf, 1.0, "s")),
    "bytes": ((1e3, 1.0, "B"), (1e6, 1e3, "kB"), (1e9, 1e6, "MB"), (math.inf, 1e9, "GB")),
    "operations": ((math.inf, 1.0, "ops"),),
    "times": ((math.inf, 1.0, "times"),),
}


def shown(figure, unit):
    """Three figures and a unit.

    >>> shown(1.2345e-6, "seconds"), shown(-2500, "bytes"), shown(0, "bytes")
    ('1.23 µs', '-2.5 kB', '0 B')
    """
    for bound, size, name in _UNITS[unit]:
        if abs(figure) < bound:
            return f"{three(figure / size)} {name}"
    raise ValueError(f"{figure} {unit}")


def three(number):
    """Three significant figures without an exponent.

    >>> three(1234.5), three(12.345), three(0.012345)
    ('1234', '12.3', '0.0123')
    """
    return f"{number:.0f}" if abs(number) >= 1000 else f"{number:.3g}"
