"""A step beside busy processes."""

from __future__ import annotations

from benchmarks import beside


def test_busy_processes_end_with_the_block(monkeypatch):
    with beside.Busy(2) as busy:
        assert [process.poll() for process in busy.processes] == [None, None]
    assert all(process.poll() is not None for process in busy.processes)


def test_calls_alone_and_beside(monkeypatch):
    for name, value in (("SETTLED", 0.0), ("SECONDS", 0.01), ("TURNS", 1)):
        monkeypatch.setattr(beside, name, value)
    rows = beside.observe("eager.scalar", "numpy", [1, 2])
    assert [row["busy"] for row in rows] == [1, 2]
    for row in rows:
        assert row["slowdown"] == row["beside"] / row["alone"] > 0


def test_a_process_says_what_it_saw(monkeypatch):
    monkeypatch.setattr(beside.subprocess, "run", lambda *_, **__: Done())
    assert beside.observed("a", "b", 2) == {"slowdown": 2.0}


class Done:
    returncode, stdout, stderr = 0, 'a warning\n{"slowdown": 2.0}\n', ""
