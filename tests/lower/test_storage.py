"""What is stored, and what is computed where it is used."""

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings


@pytest.fixture(autouse=True)
def compiled():
    with settings.executor("llvm"):
        yield


def loops_of(function, *args):
    """The text of the loops of a function, and its result."""
    traced = tf.function(function)
    text = traced.experimental_get_compiler_ir(*args)("optimized_hlo")
    return text, traced(*args).numpy()


def test_operands_of_which_several_elements_are_read_are_stored():
    """Each element of a cross product reads two of each operand: what they cost counts twice."""
    random = np.random.default_rng(0)
    a, b = (tf.constant(random.normal(size=(40, 3)).astype("f4")) for _ in range(2))
    text, result = loops_of(lambda a, b: tf.linalg.cross(tf.exp(a), tf.exp(b)), a, b)
    assert text.count("exp(") == 2
    wanted = np.cross(np.exp(a.numpy().astype("f8")), np.exp(b.numpy().astype("f8")))
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4)


def test_cheap_operands_are_not_stored():
    """Adding twice costs less than writing and reading what was added."""
    a, b = tf.ones([40, 3]), tf.zeros([40, 3])
    text, _ = loops_of(lambda a, b: tf.linalg.cross(a + 1.0, b), a, b)
    assert text.count("kernel ") == 1
