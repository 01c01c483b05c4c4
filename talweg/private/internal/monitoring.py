"""tf.__internal__.monitoring: counters and gauges by which libraries count how they are used.

The numbers are kept in the process, one cell for each tuple of labels, and go nowhere.
"""

from __future__ import annotations

from typing import Any

from talweg.api.export import export_value


class MetricCell:
    """A cell with a number, text or truth value."""

    def __init__(self, start: Any):
        self._value = start

    def set(self, value: Any) -> None:
        """Take a new value."""
        self._value = value

    def value(self) -> Any:
        """Return the value."""
        return self._value

    def increase_by(self, value: int) -> None:
        """Add to a count."""
        self._value += value

    def add(self, value: float) -> None:
        """Count a sample."""
        self._value += 1


class Metric:
    """A named metric with a cell for each tuple of labels."""

    start: Any = 0

    def __init__(self, name: str, *args: Any):
        self.name, self._cells = name, {}

    def get_cell(self, *labels: Any) -> MetricCell:
        """Return the cell of these labels."""
        return self._cells.setdefault(labels, MetricCell(self.start))


class Counter(Metric):
    """Counts events."""


class IntGauge(Metric):
    """A whole number."""


class Sampler(Metric):
    """A count of samples."""


class BoolGauge(Metric):
    """A truth value (`tf.__internal__.monitoring.BoolGauge`)."""

    start = False


class StringGauge(Metric):
    """A text."""

    start = ""


class ExponentialBuckets:
    """The borders of a histogram: `scale` times the powers of `growth_factor`."""

    def __init__(self, scale: float, growth_factor: float, bucket_count: int):
        self.borders = [scale * growth_factor**power for power in range(bucket_count)]


export_value(BoolGauge, "__internal__.monitoring.BoolGauge")
