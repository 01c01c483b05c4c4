"""Places computed from integers that leave their dtype's range: they wrap, as in TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

ROWS = np.arange(10, dtype=np.float32).reshape(5, 2)
LARGEST = np.iinfo(np.int64).max
LOWEST = np.iinfo(np.int64).min

PLACES = {
    "twice": (lambda x, i: x[2 * i], {LARGEST: ROWS[-2], LOWEST: ROWS[0]}),
    "sum": (lambda x, i: x[i + i], {LARGEST: ROWS[-2], LOWEST: ROWS[0]}),
    "slice": (lambda x, i: tf.slice(x, [2 * i + 2, 0], [1, 2]), {LARGEST: ROWS[:1]}),
    "span": (lambda x, i: x[2 * i + 2 : 2 * i + 4], {LARGEST: ROWS[:2], LOWEST: ROWS[2:4]}),
    "gather": (lambda x, i: tf.gather(x, 2 * i + 2), {LARGEST: ROWS[0], LOWEST: ROWS[2]}),
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("executor", ["eager", "interpret", "llvm"])
def test_places_wrap(executor, name):
    function, answers = PLACES[name]
    if executor != "eager":
        function = tf.function(function)
    with settings.executor("auto" if executor == "eager" else executor):
        for place, wanted in answers.items():
            found = function(tf.constant(ROWS), tf.constant(place, tf.int64))
            np.testing.assert_array_equal(found, wanted)
