"""Eviction from bounded tables, while other threads may use the entries."""

from __future__ import annotations


def drop_oldest(table: dict) -> None:
    """Drop the entry that was put in first; none if another thread changes the table just then."""
    try:
        table.pop(next(iter(table)), None)
    except (RuntimeError, StopIteration):
        return
