"""Letting go of what a bounded table holds, while other threads may use it."""

from __future__ import annotations


def drop_oldest(table: dict) -> None:
    """Drop the entry that was put in first; none if another thread changes the table just then."""
    try:
        table.pop(next(iter(table)), None)
    except (RuntimeError, StopIteration):
        return
