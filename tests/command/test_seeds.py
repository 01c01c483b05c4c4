"""The seeds' programs that need no Keras run under `talweg run` as they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from talweg.command.line import main

PROGRAMS = Path(__file__).parent / "programs"
PRINTED = {
    "seed_unconnected_none": "[None]\n",
    "seed_unconnected_zero": "numpy=",
    "seed_polynomial": "Value of x: 3.0\nGradient of y with respect to x: 8.0\n",
    "seed_outside": "Value of x: 3.0\nGradient of z with respect to x: None\n",
    "seed_matrices": "Gradients with respect to W:\n [[",
    "seed_graph": "[np.float32(1001.0), np.float32(1002.0), np.float32(2001.0)]\n"
    "1000000.0\n1000000.0\n(28, 28)\n",
}


@pytest.mark.parametrize("name", PRINTED)
def test_seed_runs_unchanged(name, capfd):
    assert main(["run", str(PROGRAMS / f"{name}.py")]) == 0
    printed = capfd.readouterr()
    assert PRINTED[name] in printed.out
    assert "Traceback" not in printed.err


def test_all_seed_programs_are_listed():
    assert sorted(PRINTED) == sorted(path.stem for path in PROGRAMS.glob("seed_*.py"))
