"""Keras programs give the losses that were recorded under TensorFlow."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

import talweg as tf

from .programs import support

HERE = Path(__file__).resolve().parent
RECORDED = json.loads((HERE / "data" / "losses.json").read_text())
for path in sorted((HERE / "programs").glob("[a-z]*.py")):
    importlib.import_module(f".programs.{path.stem}", __package__)


def test_all_programs_are_recorded():
    assert sorted(support.PROGRAMS) == sorted(RECORDED)


@pytest.mark.parametrize("name", support.PROGRAMS)
def test_losses(name):
    keras = tf.keras
    keras.utils.set_random_seed(1)
    keras.backend.clear_session()
    found = support.PROGRAMS[name](tf, keras)
    tolerance = 2e-3 if "bfloat16" in name else 1e-4  # bfloat16 has 8 bits
    np.testing.assert_allclose(found, RECORDED[name], rtol=tolerance, atol=tolerance)
