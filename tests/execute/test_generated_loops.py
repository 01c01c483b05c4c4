"""Gradients of generated functions with loops, lists and variables, against eager ones.

The functions are those of `test_generated_updates.py`, with `while`, `break` and TensorArrays: of a
program as it is compiled, and of the operations one after the other, by a tape.
"""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from tests.execute.test_generated_updates import TALWEG, Generator, made
from tests.lower import controlled


def array(size, grows):
    return tf.TensorArray(
        tf.float64, 0 if grows else size, grows, clear_after_read=False, element_shape=[4]
    )


def total(rows):
    """The mean of a list's elements, each with a weight of its own."""
    stacked = rows.stack()
    count = tf.shape(stacked)[0]
    return tf.reduce_mean(stacked * tf.cast(tf.range(count) + 1, tf.float64)[:, None], 0)


COMPILED = SimpleNamespace(**vars(TALWEG) | {"array": array, "total": total})
EAGER = SimpleNamespace(**vars(COMPILED) | {"range": range})


class LoopGenerator(Generator):
    """The source of one function with other loops, too; it returns an array."""

    def source(self):
        lines = ["def f(x):", "    t = o.same(x)", *self.statements(0)]
        results = [self.draw.choice(self.arrays) for _ in range(2)]
        return "\n".join([*lines, f"    return {' + '.join(results)}", ""])

    def statement(self, depth):
        kind = self.draw.random()
        if depth < 2 and kind < 0.15:
            return self.list_loop(depth)
        if depth < 2 and kind < 0.22:
            return self.while_loop(depth)
        return super().statement(depth)

    def inner(self, depth):
        return [line[4 * (depth + 1) :] for line in self.statements(depth + 1)]

    def list_loop(self, depth):
        draw, size = self.draw, self.draw.randint(1, 3)
        number, target = draw.randrange(10**6), draw.choice(self.arrays[1:])
        name, i = f"a{number}", f"i{number}"
        lines = [f"{name} = o.array({size}, {draw.random() < 0.5})", f"for {i} in o.range({size}):"]
        lines += [*self.inner(depth), f"    {name} = {name}.write({i}, {self.expression()})"]
        if draw.random() < 0.5:
            lines.append(f"    {target} = o.plus({target}, {name}.read({i})) * 0.5")
        if draw.random() < 0.5:
            other = draw.choice(self.arrays)
            lines += [
                f"    if {i} > 0:",
                f"        {target} = o.tanh({name}.read({i} - 1) + {other})",
            ]
        return [*lines, f"{target} = o.total({name})"]

    def while_loop(self, depth):
        draw, count = self.draw, f"c{self.draw.randrange(10**6)}"
        head = (
            f"while {count} < {draw.randint(1, 4)} and o.sum({draw.choice(self.arrays)}) < 3.0123:"
        )
        lines = [f"{count} = 0", head, f"    {count} += 1", *self.inner(depth)]
        if draw.random() < 0.4:
            lines.append(f"    if o.sum({draw.choice(self.arrays)}) > 1.0123:")
            lines.append(f"        {draw.choice(['break', 'continue'])}")
        return lines


def steps(source, operations, x, weights, compiled):
    """Results, gradients and variables of three steps of descent."""
    variables = [tf.Variable(np.linspace(-0.4, 0.4, 4) * (i + 1) + 0.1) for i in range(3)]
    function = made(source, operations, variables)

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(function(x) * weights)
        found = tape.gradient(y, [x, *variables], unconnected_gradients="zero")
        found = [tf.convert_to_tensor(part) for part in found]
        for variable, part in zip(variables, found[1:]):
            variable.assign_sub(part * 0.01)
        return [y, *found]

    step = tf.function(step) if compiled else step
    results = [[part.numpy() for part in step(tf.constant(x * scale))] for scale in (1, 0.7, 1)]
    return results + [[variable.numpy() for variable in variables]]


def agree(source, draw):
    x = np.array(draw.choices([-1.1, 0.5, 1.3, 0.25], k=4))
    weights = np.array(draw.choices([-1.0, 0.5, 2.0], k=4))
    with settings.executor("interpret"):
        wanted = steps(source, EAGER, x, weights, False)
    with settings.executor("llvm"), settings.check(True):
        results = steps(source, COMPILED, x, weights, True)
    for own, other in zip(results, wanted):
        for part, expected in zip(own, other):
            np.testing.assert_allclose(part, expected, 1e-8, 1e-10)


@pytest.mark.parametrize("first", range(0, 40, 8))
def test_gradients(first):
    for seed in range(first, first + 8):
        draw = random.Random(seed)
        source = LoopGenerator(draw).source()
        try:
            agree(source, draw)
        except BaseException as error:
            error.add_note(f"seed {seed}\n{source}")
            raise


def earlier(x, z, grows):
    rows, t = array(3, grows), x * 1.0
    for i in tf.range(3):
        t = z * 1.0
        rows = rows.write(i, t)
        if i > 0:
            t = tf.tanh(rows.read(i - 1) + x)
    return x + t


@pytest.mark.parametrize("grows", [False, True])
def test_elements_of_a_list_that_nobody_reads_have_no_cotangent(grows):
    """The sum of cotangents has rows for those that are read; others are zero."""
    x, z = (
        tf.constant([0.5, -1.0, 2.0, 3.0], tf.float64),
        tf.linspace(tf.constant(-1.0, tf.float64), 1, 4),
    )

    def gradient(x, z):
        with tf.GradientTape() as tape:
            tape.watch([x, z])
            y = earlier(x, z, grows)
        return tape.gradient(y, [x, z])

    controlled.agree(gradient, x, z)  # in NumPy, where no index may be outside of a buffer
    controlled.agree(gradient, x, z, machine=True)
