"""Every program must give on talweg what it gave on TensorFlow.

One test a program, named by area and program: `-k saver`, `-k "v1/rnn"`.
`TALWEG_RECORDED_MODULE=tensorflow` asks TensorFlow itself, which proves the harness.
"""

import importlib
import os
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from programs import collection  # noqa: E402
from recorded import comparison, description  # noqa: E402

MODULE = os.environ.get("TALWEG_RECORDED_MODULE", "talweg")
PROGRAMS = [program for area in collection.areas() for program in collection.programs(area)]


@cache
def library():
    """The library under test."""
    if MODULE == "tensorflow":
        quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}
        os.environ.update({**quiet, "TF_USE_LEGACY_KERAS": "1", "CUDA_VISIBLE_DEVICES": "-1"})
    return importlib.import_module(MODULE)


@cache
def recorded_values(area):
    """What TensorFlow gave for the programs of an area."""
    return collection.read_values(area)


@cache
def differences():
    """Where talweg departs on purpose."""
    return collection.read_differences()


@pytest.mark.parametrize("program", PROGRAMS, ids=[f"{p.area}-{p.name}" for p in PROGRAMS])
def test_program(program):
    """The program gives what TensorFlow gave."""
    values = recorded_values(program.area)
    if program.name not in values:
        pytest.fail(f"not recorded: python tools/record_programs.py {program.area}", pytrace=False)
    ours = differences().get((program.area, program.name)) if MODULE == "talweg" else None
    got = collection.run(program, library())
    found = comparison.difference(got, description.decode(values[program.name]), program.tolerance)
    if ours is not None:
        assert ours["reason"], "a difference needs its reason"
        assert found, "talweg does what TensorFlow does: no difference"
        found = comparison.difference(got, description.decode(ours["gives"]), program.tolerance)
    if found:
        pytest.fail(f"{program.area} {program.name}\n{found}", pytrace=False)


@pytest.mark.parametrize("area", collection.areas())
def test_values_belong_to_programs(area):
    """No value is left over from a program that is gone."""
    known = {program.name for program in collection.programs(area)}
    assert [name for name in recorded_values(area) if name not in known] == []


def test_differences_belong_to_programs():
    """No difference is left over from a program that is gone."""
    known = {(program.area, program.name) for program in PROGRAMS}
    assert [key for key in differences() if key not in known] == []
