"""How many cores the control groups grant, of both versions and within containers."""

from __future__ import annotations

import os

import pytest

from talweg.core import cores


@pytest.fixture
def system(monkeypatch, tmp_path):
    """Files as the system has them: the line of this process, and the limits of groups."""

    def make(line, limits):
        (tmp_path / "cgroup").write_text(f"9:name=systemd:/\n{line}\n2:memory:/\n")
        for name, text in limits.items():
            file = tmp_path / "fs" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        monkeypatch.setattr(cores, "GROUPS", str(tmp_path / "cgroup"))
        monkeypatch.setattr(cores, "ROOT", str(tmp_path / "fs"))
        monkeypatch.setattr(cores.os, "cpu_count", lambda: 8)

    return make


V1 = "cpu.cfs_quota_us", "cpu.cfs_period_us"


@pytest.mark.parametrize(
    ("line", "limits", "granted"),
    [
        ("0::/", {"cpu.max": "max 100000\n"}, 8),
        ("0::/", {"cpu.max": "150000 100000\n"}, 2),
        ("0::/", {"cpu.max": "50000 100000\n"}, 1),
        ("0::/a/b", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "300000 100000\n"}, 3),
        ("0::/of/the/host", {"cpu.max": "200000 100000\n"}, 2),
        (
            "4:cpu,cpuacct:/",
            {f"cpu,cpuacct/{V1[0]}": "-1\n", f"cpu,cpuacct/{V1[1]}": "100000\n"},
            8,
        ),
        ("4:cpu,cpuacct:/", {f"cpu/{V1[0]}": "250000\n", f"cpu/{V1[1]}": "100000\n"}, 3),
        ("4:cpu:/of/the/host", {f"cpu/{V1[0]}": "50000\n", f"cpu/{V1[1]}": "100000\n"}, 1),
        ("4:cpu:/a", {f"cpu/a/{V1[0]}": "400000\n", f"cpu/a/{V1[1]}": "200000\n"}, 2),
        ("4:cpuset:/", {"cpuset/cpu.max": "50000 100000\n"}, 8),
        ("0::/", {"cpu.max": "something else\n"}, 8),
    ],
)
def test_granted_cores(system, line, limits, granted):
    system(line, limits)
    assert cores.count_granted_cores() == granted


def test_no_groups(monkeypatch, tmp_path):
    monkeypatch.setattr(cores, "GROUPS", str(tmp_path / "none"))
    assert cores.count_granted_cores() == (os.cpu_count() or 1)
    assert 1 <= cores.count_cores() <= cores.usable_cores()
