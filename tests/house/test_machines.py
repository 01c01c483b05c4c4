"""The quick tier, and the runner for other machines: an interrupted matrix goes on."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from talweg.core.settings import CPUS

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("machines", ROOT / "tools" / "machines.py")
machines = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(machines)


def test_every_machine_is_in_the_document_and_every_part_is_there():
    text = (ROOT / "docs" / "testing.md").read_text()
    for name, machine in machines.MACHINES.items():
        assert f"`{name}`" in text
        assert all((ROOT / part).exists() for part in machine.parts)
        assert machine.variables.get("TALWEG_CPU") in (None, *CPUS)
    assert all((ROOT / part).exists() for part in machines.BESIDES)


def test_what_numpy_may_use_can_be_taken_away():
    """NumPy of that machine starts, without complaint, and lacks what it must lack."""
    for name in ("haswell", "prescott"):
        machine = machines.MACHINES[name]
        if machines.missing(machine):
            continue
        variables = machines.environment(machine) | {"PYTHONWARNINGS": "error"}
        command = [sys.executable, "-c", machines._DISPATCHED]
        shown = subprocess.check_output(command, env=variables, text=True)
        assert set(shown.split()) <= machine.numpy


def test_machines_that_cannot_be_here():
    needing = machines.Machine("nothing", ("a_flag_of_no_processor",))
    assert machines.missing(needing)
    assert not machines.missing(machines.MACHINES["native"])


def test_the_command_line():
    everything = list(machines.MACHINES)
    assert machines.arguments([]) == (everything, 1, False, [])
    assert machines.arguments(["haswell,threads4", "-n", "2"]) == (
        ["haswell", "threads4"],
        2,
        False,
        [],
    )
    assert machines.arguments(["native", "tests/a", "tests/b"])[3] == ["tests/a", "tests/b"]
    assert machines.arguments(["tests/a", "tests/b"]) == (
        everything,
        1,
        False,
        ["tests/a", "tests/b"],
    )
    assert machines.arguments(["native", "--whole"]) == (["native"], 1, True, [])
    assert machines.main(["nonsense"]) == 2


CASES = {
    "right": "def test():\n    pass\n",
    "wrong": "def test():\n    assert False\n",
    "killed": "import os\nos._exit(3)\n",
}


@pytest.mark.parametrize("kind", CASES)
def test_failures_are_seen_and_run_again(kind, tmp_path, monkeypatch, capfd):
    part = tmp_path / "test_it.py"
    part.write_text(CASES[kind])
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.setattr(machines, "FOLDER", tmp_path / "kept")
    monkeypatch.setattr(machines, "state_of_tree", lambda: "state")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    failed = machines.main(["native", str(part)])
    said = capfd.readouterr().out
    assert failed == (kind != "right") and re.search(
        r"native +this one, as it is +[01] +[01] ", said
    )
    if kind == "killed":
        return
    assert machines.main(["native", str(part)]) == failed
    again = "..." in capfd.readouterr().out
    assert again == (kind != "right")
    part.write_text(CASES["right"])
    assert machines.main(["native", str(part)]) == 0
    (kept,) = (tmp_path / "kept" / "state").glob("*.json")
    assert json.loads(kept.read_text())[:2] == [1, 0]


def test_the_quick_tier_names_files_that_are_there():
    lines = (ROOT / "tests" / "quick.txt").read_text().splitlines()
    rows = [line.split(maxsplit=2) for line in lines]
    rows = [row for row in rows if row[0] != "#"]
    assert len(rows) > 30 and len({path for path, *_ in rows}) == len(rows)
    for path, every, about in rows:
        assert (ROOT / path).is_file() and int(every) > 0 and about


def test_the_state_of_the_tree_is_a_name():
    assert re.fullmatch("[0-9a-f]{16}", machines.state_of_tree())
