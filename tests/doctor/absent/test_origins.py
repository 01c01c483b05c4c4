"""A record knows the innermost line of the user's, whichever way talweg was called."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core.provenance import describe


def in_a_comprehension(x):
    return [tf.tanh(v) for v in (x, x)][0]  # HERE


def operator(x):
    return x * x  # HERE


def reflected(x):
    return 2.0 * x  # HERE


def composed(x):
    return tf.nn.log_softmax(x)  # HERE


def matmul(x):
    y = tf.reshape(x, [1, 2])  # HERE
    return tf.matmul(y, y, transpose_b=True)  # HERE


def mapped(x):
    return tf.map_fn(
        lambda row: tf.tanh(row) * row,  # HERE
        x,
        fn_output_signature=tf.float32,
    )


def conditional(x):
    return tf.cond(
        tf.reduce_sum(x) > 0,  # HERE
        lambda: x * x,  # HERE
        lambda: x,
    )


def folded(x):
    return tf.foldl(
        lambda a, b: a * b,  # HERE
        x,
    )


def with_an_array(x):
    return np.ones(2, np.float32) * x  # HERE


def method(x):
    return x.__add__(1.0)  # HERE


def custom(x):
    @tf.custom_gradient
    def f(x):
        return tf.tanh(x), lambda g: g  # HERE

    return f(x)  # HERE


def by_name(x):
    return getattr(tf.math, "tanh")(x)  # HERE # noqa: B009


PROGRAMS = [
    in_a_comprehension,
    operator,
    reflected,
    composed,
    matmul,
    mapped,
    conditional,
    folded,
    with_an_array,
    method,
    custom,
    by_name,
]


@pytest.mark.parametrize("order", [1, -1])
def test_every_record_knows_its_line(order):
    """In both orders, since what was seen before guides where to look first."""
    for program in PROGRAMS[::order]:
        for _ in range(2):
            with tf.GradientTape(persistent=True) as tape:
                x = tf.constant([1.0, 2.0])
                tape.watch(x)
                program(x)
            assert tape._records
            for record in tape._records:
                text = describe(record[4])
                mapping = program in (mapped, folded) and record[0].name != "tanh"
                assert "HERE" in text or mapping, (program.__name__, record[0].name, text)
                assert program.__name__ in text or "lambda" in text or "HERE" in text or mapping
