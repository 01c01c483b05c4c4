"""A profile is written for readers and for TensorBoard."""

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.formats.wire import read_fields


def test_a_profile(tmp_path):
    with pytest.raises(tf.errors.UnavailableError):
        tf.profiler.experimental.stop()
    step = tf.function(lambda x: tf.reduce_sum(tf.sin(x) * 2.0))
    tf.profiler.experimental.start(str(tmp_path))
    with settings.executor("llvm"):
        for _ in range(3):
            step(tf.constant(np.ones((64, 64), "f")))
    tf.profiler.experimental.stop()
    place = tmp_path / "plugins" / "profile"
    assert "in all" in (place / "talweg.txt").read_text()
    (written,) = place.glob("*/*.xplane.pb")
    ((number, plane),) = read_fields(written.read_bytes())
    parts = list(read_fields(plane))
    assert number == 1 and dict(parts)[2] == b"/host:CPU"
    lines = [dict(read_fields(content)) for field, content in parts if field == 3]
    assert lines and all(line[9] > 0 for line in lines)
