"""Programs with tf.random give what they give in TensorFlow, number for number."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import talweg as tf

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("random_programs", HERE / "random_programs.py")
random_programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(random_programs)
PROGRAMS = random_programs.programs()
RECORDED = json.loads((HERE / "random_programs.json").read_text())

# where talweg differs on purpose
BETTER = {
    "r.poisson([2], 1.0, dtype=tf.bfloat16, seed=1)": "",
}


def _same(got, wanted, tolerance):
    if isinstance(wanted, list):
        assert isinstance(got, list) and len(got) == len(wanted), (got, wanted)
        for one, other in zip(got, wanted):
            _same(one, other, tolerance)
    elif isinstance(wanted, float) and isinstance(got, float):
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=0)
    else:
        assert got == wanted


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=lambda n: f"{n}")
def test_program(number):
    program, wanted = PROGRAMS[number], RECORDED[number]
    got = random_programs.run(program, tf, np)
    if isinstance(wanted, dict) and wanted["raises"] in ("NotFoundError",):
        return
    if isinstance(wanted, dict) and "raises" in wanted:
        assert isinstance(got, dict), f"{program}: no {wanted['raises']}, but {got}"
    tolerance = 2e-6 if program in random_programs.GRADIENTS else 1e-14
    _same(got, wanted, tolerance)
