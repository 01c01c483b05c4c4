"""Keras programs through XLA give the losses that were recorded under TensorFlow."""

from __future__ import annotations

import pytest

pytest.importorskip("jax", reason="the third executor is an extra")

from talweg.core import settings
from tests.keras_models import test_programs

CHOSEN = ("cnn_dropout", "lstm", "mixed_precision_bfloat16", "training_loop_in_a_function")


@pytest.mark.parametrize("name", CHOSEN)
def test_losses(name):
    with settings.executor("xla"):
        test_programs.test_losses(name)
