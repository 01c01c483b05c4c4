"""Short floats that are computed in float32 count as their stored ones where functions jump."""

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

FUNCTIONS = {
    "cos": tf.cos,
    "exp": tf.exp,
    "sqrt": lambda x: tf.sqrt(tf.abs(x)),
    "log1p": lambda x: tf.math.log1p(tf.abs(x)),
    "scaled": lambda x: x * 0.3,
}
# Of a number that rounds to 3 in 16 bits, and one whose 16 bits overflow.
JUMPS = {
    "floor": lambda x: tf.floor(x * 1.5),
    "ceil": lambda x: tf.math.ceil(x * 1.5),
    "rint": lambda x: tf.math.rint(x * 1.5),
    "rest": lambda x: tf.math.floormod(x * 1.5, 3.0),
    "integer": lambda x: tf.cast(x * 1.5, tf.int32),
    "finite": lambda x: tf.math.is_finite(x * 300.0 * 300.0),
    "equal": lambda x: tf.equal(x * 1.5, 3.0),
    "less": lambda x: tf.less(x * 1.5, 3.0),
}


def by_both(function, *operands):
    found = []
    for executor in ("interpret", "llvm"):
        with settings.executor(executor):
            found.append(tf.function(function, autograph=False)(*operands))
    return found


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
@pytest.mark.parametrize("fold", ["reduce_max", "reduce_min"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_extremes(name, fold, dtype):
    """They were NaN: the stored maximum equalled none of the elements computed again."""
    x = tf.cast(np.random.default_rng(0).uniform(-1.5, 1.5, [5, 65]), dtype)

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = getattr(tf, fold)(FUNCTIONS[name](x), axis=-1)
        return tape.gradient(y, x)

    interpreted, compiled = [tf.cast(g, tf.float32).numpy() for g in by_both(gradient, x)]
    np.testing.assert_allclose(compiled, interpreted, rtol=0.02, atol=0.02)
    assert (compiled != 0).any(axis=-1).all()


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
@pytest.mark.parametrize("name", JUMPS)
def test_functions_that_jump(name, dtype):
    eps = float(np.finfo(np.float16).eps) if dtype == tf.float16 else 2.0**-7
    x = tf.cast([2.0 - eps, 2.0, 2.0 + 2 * eps, 1.0, -2.0 + eps], dtype)
    interpreted, compiled = by_both(JUMPS[name], x)
    np.testing.assert_array_equal(compiled, interpreted)
