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

# where talweg answers and TensorFlow does not: parameters of two dtypes, of which one is a number
BETTER = {
    "g = r.Generator.from_seed(1); g.binomial([2], 10.0, tf.constant(0.5, tf.float64))",
}
# TensorFlow's derivatives by mean and deviation forget that the bounds stay
BOUNDS = slice(2, 4)


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
    if program in BETTER or wanted == {"raises": "NotFoundError"}:  # no kernel for these dtypes
        assert not isinstance(got, dict) or got["raises"] == "InvalidArgumentError"
        return
    if "stateless_parameterized" in program and "gradient" in program:
        got, wanted = got[BOUNDS], wanted[BOUNDS]
    loose = random_programs.GRADIENTS + random_programs.CANDIDATES
    tolerance = 2e-6 if program in loose else 1e-14
    _same(got, wanted, tolerance)


@pytest.mark.parametrize("low,high", [(-2.0, 2.0), (0.5, 0.7), (3.0, np.inf), (-np.inf, -1.0)])
def test_bounded_normal_keeps_its_quantile(low, high):
    """The derivatives are those of the quantile function with the probability held."""
    from scipy.stats import truncnorm

    values = [np.float64(v) for v in (0.3, 1.7, low, high)]
    parameters = [tf.constant(v) for v in values]
    with tf.GradientTape() as tape:
        tape.watch(parameters)
        draw = tf.random.stateless_parameterized_truncated_normal
        y = draw([1], [1, 2], *parameters)

    def distribution(mean, deviation, low, high):
        return truncnorm((low - mean) / deviation, (high - mean) / deviation, mean, deviation)

    chance = distribution(*values).cdf(y.numpy()[0])
    for position, got in enumerate(tape.gradient(y, parameters)):
        step = np.zeros(4)
        step[position] = 1e-6
        ahead, behind = (distribution(*(values + s)).ppf(chance) for s in (step, -step))
        np.testing.assert_allclose(got, (ahead - behind) / 2e-6, atol=3e-6)
