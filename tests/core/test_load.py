"""What others want of the cores, as the system tells it."""

from __future__ import annotations

from talweg.core import load


def test_what_the_system_says(monkeypatch, tmp_path):
    monkeypatch.setattr(load, "LOAD", str(tmp_path / "loadavg"))
    assert load.runnable() is None
    (tmp_path / "loadavg").write_text("13.75 11.96 12.19 14/207 30545\n")
    assert load.runnable() == 14
    (tmp_path / "loadavg").write_text("something else")
    assert load.runnable() is None


def test_own_threads(monkeypatch, tmp_path):
    """Those that run or could; without a system that tells, there is this one."""
    for number, state in enumerate("RSRD"):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "stat").write_text(f"{number} (a name) {state} 1 {number}")
    monkeypatch.setattr(load, "OWN", str(tmp_path))
    assert load.own_runnable() == 2
    monkeypatch.setattr(load, "OWN", str(tmp_path / "none"))
    assert load.own_runnable() == 1


def test_own_threads_are_no_load(monkeypatch):
    """Threads of this process's teams are not counted; one that compiles beside them is."""
    monkeypatch.setattr(load, "NEW", 1.0)
    monkeypatch.setattr(load, "INTERVAL", -1.0)
    monkeypatch.setattr(load, "count_cores", lambda: 4)
    monkeypatch.setattr(load.os, "cpu_count", lambda: 4)
    seen = load.Load()
    shares = []
    for running, own, beside in ((4, 4, 0), (8, 4, 0), (5, 5, 1), (1, 1, 0)):
        monkeypatch.setattr(load, "runnable", lambda count=running: count)
        monkeypatch.setattr(load, "own_runnable", lambda count=own: count)
        seen.beside = beside
        shares.append(seen.share(4))
    assert shares == [4, 2, 3, 4]
