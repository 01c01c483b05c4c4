"""Branches of which all results are new values of variables write these in place."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.lower.ir.loops import Buffer, If, Kernel
from talweg.lower.ir.visitors import all_statements, buffers_written
from tests.lower.controlled import agree, blocks_of

SIZE = 40_000  # more than a branch whose bodies are both run may have
RAMP = np.linspace(-1, 1, SIZE).astype("float32")


def temporaries(lowered):
    """Large buffers that are neither given nor a result."""
    kernels = blocks_of(lowered, Kernel)
    written = {b for k in kernels for s in all_statements(k.body) for b in buffers_written(s)}
    return [
        one
        for one in written
        if type(one) is Buffer and one.kind in ("temporary", "scratch") and one.size >= SIZE
    ]


def variables(count):
    return [tf.Variable(RAMP + number) for number in range(count)]


def scaled_step(x, m, w):
    """An update if all is finite, as with a scaled loss."""

    def update():
        m.assign_add(0.1 * (x - m))
        w.assign_sub(0.01 * m / (tf.sqrt(tf.abs(x)) + 1.0))

    tf.cond(tf.reduce_all(tf.math.is_finite(x)), update, lambda: None)


@pytest.mark.parametrize("last", [0.5, np.inf])
def test_update_is_made_in_place_or_not_at_all(last):
    m, w = variables(2)
    lowered = agree(lambda x: scaled_step(x, m, w), np.append(RAMP[1:], np.float32(last)))
    assert len(blocks_of(lowered, If)) == 1 and not temporaries(lowered)


BODIES = {
    "swapped": lambda x, v, w: (v.assign(w + 0.0), w.assign(v * 1.0)),
    "turned": lambda x, v, w: v.assign(tf.reverse(v, [0]) + x),
    "of_each_other": lambda x, v, w: (v.assign(v + w), w.assign(w * v + x)),
    "given": lambda x, v, w: (v.assign(x), w.assign(x)),
    "constant": lambda x, v, w: (v.assign(tf.zeros_like(x)), w.assign_add(x)),
    "rows": lambda x, v, w: v.scatter_sub(tf.IndexedSlices(x[:3], [5, 1, 5])),
    "sum": lambda x, v, w: v.assign(v - tf.reduce_sum(w * v)),
}


@pytest.mark.parametrize("otherwise", [None, "turned", "rows"])
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_any_bodies(name, otherwise, sign):
    v, w = variables(2)

    def function(x):
        before = v + 0.0  # read beforehand, and what is given back stays what it was
        w.assign_add(before * 1e-3)
        other = (lambda: None) if otherwise is None else (lambda: BODIES[otherwise](x, v, w))

        def run(body):
            body()
            return 0

        tf.cond(x[-1] > 0, lambda: run(lambda: BODIES[name](x, v, w)), lambda: run(other))
        return before

    agree(function, RAMP * sign)


def test_value_that_is_read_afterwards_is_no_state():
    v, w = variables(2)

    def function(x):
        tf.cond(x[0] < 0, lambda: v.assign_add(x), lambda: v.assign_sub(x))
        return tf.reduce_sum(v * v) + tf.reduce_sum(w)

    agree(function, RAMP)


def test_check_in_a_body_comes_before_any_write():
    """Where rows are out of range the interpreter begins with variables as they were."""
    found = []
    for executor in ("interpret", "llvm"):
        v, w = variables(2)

        @tf.function
        def step(x, rows, v=v, w=w):
            def update():
                w.assign_add(x)
                v.assign(v + tf.reduce_sum(tf.gather(x, rows)))
                return 0

            tf.cond(x[-1] > 0, update, lambda: 0)

        with settings.executor(executor):
            step(RAMP, [1, 2])
            with pytest.raises(tf.errors.InvalidArgumentError):
                step(RAMP, [1, SIZE])
        found.append((v.numpy(), w.numpy()))
    np.testing.assert_allclose(found[1], found[0], atol=1e-5)
