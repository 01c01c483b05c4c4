"""What docs/devices.md says of JAX's versions, and of numbers that XLA computes otherwise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax", reason="the third executor is an extra")

import talweg as tf
from talweg.core import settings
from talweg.execute.xla import engine, rules, scalars
from talweg.lower.ir.scalars import SCALARS

ROOT = Path(__file__).resolve().parents[3]
WITHOUT_JAX = """
import os, sys
os.environ["TALWEG_EXECUTOR"] = "xla"
sys.modules["jax"] = None
import talweg as tf
f = tf.function(lambda x: tf.sin(x) + 1)
for call in (f, lambda x: tf.sin(x) + 1):
    try:
        print(float(call(tf.constant(0.0))))
    except tf.errors.FailedPreconditionError as error:
        print(error.message)
"""


def test_without_jax_the_first_call_says_what_to_install():
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT_JAX], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert "pip install talweg[xla]" in found.stdout and engine.WANTED in found.stdout
    assert found.stdout.splitlines()[-1] == "1.0"


@pytest.mark.parametrize("version", ("0.9.2", "0.12.0", "1.0"))
def test_other_versions_are_refused(version):
    with pytest.raises(tf.errors.FailedPreconditionError, match=f"jax {version}"):
        engine.check_version(version)


def test_the_pin_is_the_one_that_is_installed_with_talweg():
    assert f'xla = ["{engine.WANTED}"]' in (ROOT / "pyproject.toml").read_text()
    for version in ("0.10.0", "0.11.7"):
        engine.check_version(version)


def test_talweg_imports_no_jax_by_itself():
    code = (
        "import talweg as tf, sys; tf.function(lambda x: x + 1)(1.0); print('jax' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert found.stdout.strip() == "False"


def test_every_scalar_function_has_a_form():
    assert set(SCALARS) <= set(scalars.SCALARS)


def both(function, x):
    found = []
    for executor in ("interpret", "xla"):
        with settings.executor(executor):
            found.append(tf.function(function)(tf.constant(x)).numpy())
    return found


@pytest.mark.parametrize(
    ("function", "x", "ours", "theirs"),
    [
        (lambda x: tf.math.log(tf.exp(x)), 89.0, np.inf, 89.0),
        (lambda x: tf.sqrt(x * x), 1e30, np.inf, 1e30),
        (lambda x: x * 0.5, 1e-38, np.float32(1e-38) / 2, 0.0),
    ],
)
def test_numbers_that_differ(function, x, ours, theirs):
    found = both(function, np.float32(x))
    assert found[0] == np.float32(ours) and abs(found[1] - theirs) <= 1e-6 * theirs


def test_a_mutant_without_its_barrier_is_noticed(monkeypatch):
    """What rounds by adding and taking away a large number is lost without `exact`."""

    def draw(x):
        return tf.random.stateless_normal([64], x)

    wanted, found = both(draw, np.array([1, 2]))
    np.testing.assert_allclose(found, wanted, 1e-6, 1e-6)
    monkeypatch.setattr("talweg.execute.xla.elements.exact", lambda x: x)
    with settings.cache("off"):  # the program is the same, the compiler is not
        _, wrong = both(draw, np.array([1, 2]))
    assert np.abs(wrong - wanted).max() > 1e-3


def test_a_mutant_of_a_combination_is_noticed(monkeypatch):
    def count(x):
        return tf.math.unsorted_segment_sum(x, [0, 1, 0, 1], 2)

    x = np.arange(4.0, dtype=np.float32)
    np.testing.assert_array_equal(*both(count, x))
    monkeypatch.setitem(rules.COMBINED, "add", "max")
    with settings.cache("off"):
        assert (np.subtract(*both(count, x)) != 0).any()
