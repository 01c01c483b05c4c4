"""A rule may name a primitive of a module that nobody has used yet."""

from __future__ import annotations

import subprocess
import sys

import pytest

from talweg.core.primitive import REGISTRY, later

PROGRAM = """
import talweg as tf

@tf.function
def slope(x, order):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.transpose(x, order) * 2.0)
    return tape.gradient(y, x)

print(slope(tf.ones([1, 2]), tf.constant([1, 0])).numpy().tolist())
"""


def test_its_module_is_loaded():
    """The derivative sorts, and nothing else in the program does."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[[2.0, 2.0]]\n"


def test_a_name_that_no_module_has():
    with pytest.raises(KeyError, match="no_such_primitive"):
        later("no_such_primitive")
    assert "no_such_primitive" not in REGISTRY
