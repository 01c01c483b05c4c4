"""Once NumPy's behaviour is enabled, tensors give what TensorFlow's give, in each mode."""

from __future__ import annotations

import json

import pytest

import talweg as tf
from talweg.numpy_api.behavior import restore_tensorflow_behavior
from tests.recorded import case_files, comparison, description, helpers

MODES = {
    "legacy": {},
    "prefer_float32": {"prefer_float32": True},
    "all": {"dtype_conversion_mode": "all"},
    "safe": {"dtype_conversion_mode": "safe"},
}
CASES = [(mode, case) for mode in MODES for case in case_files.read_cases(f"numpy_behavior/{mode}")]


@pytest.fixture
def enabled():
    yield tf.experimental.numpy.experimental_enable_numpy_behavior
    restore_tensorflow_behavior()


def recorded(mode):
    path = case_files.VALUES / "numpy_behavior" / f"{mode}.json"
    return {entry["case"]: entry["gives"] for entry in json.loads(path.read_text("utf-8"))}


VALUES = {mode: recorded(mode) for mode in MODES}


@pytest.mark.parametrize("mode, case", CASES, ids=[f"{m}:{c.line}" for m, c in CASES])
def test_as_tensorflow(mode, case, enabled):
    wanted = description.decode(VALUES[mode][case.text])
    enabled(**MODES[mode])
    got = description.run(case, tf, helpers.namespace(tf))
    found = comparison.difference(got, wanted, case.flags)
    assert not found, f"{case.text}\n{found}"


def test_nothing_is_left_behind(enabled):
    enabled()
    restore_tensorflow_behavior()
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.constant(1) + tf.constant(1.5)
    assert not hasattr(tf.constant(1), "T")


def test_derivative_rules_keep_their_dtypes(enabled):
    enabled()
    for dtype in (tf.bfloat16, tf.float16, tf.float32):
        x = tf.constant([0.5, 0.25], dtype)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.tanh(x) * tf.nn.gelu(x) + tf.sqrt(x)
        assert tape.gradient(y, x).dtype == dtype


def test_modes_that_do_not_go_together(enabled):
    with pytest.raises(ValueError, match="prefer_float32"):
        enabled(prefer_float32=True, dtype_conversion_mode="all")
    with pytest.raises(ValueError, match="none"):
        enabled(dtype_conversion_mode="none")
