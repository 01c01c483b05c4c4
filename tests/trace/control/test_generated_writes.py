"""Generated programs that write variables, their rows, and arrays, at places that others hold.

Who reads a value must read it before it is overwritten, whatever is written in place, and where.
A program is data, as in `test_generated.py`; it is compiled and compared with the interpreter.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings as executors

SIZE = 5
F64 = tf.float64
FLOATS = ("v", "w", "v", "a", "b", "t")  # locals, variables, a table's column
WHOLE = ("n", "i", "n", "j")  # numbers within 0, ..., SIZE - 1
RULES = ("scatter_add", "scatter_sub", "scatter_update", "scatter_max")
EXPRESSIONS = {
    "plain": lambda f, g, i: f,
    "reversed": lambda f, g, i: tf.reverse(f, [0]) + 0.5,
    "sum": lambda f, g, i: 0.5 * f + 0.25 * g,
    "product": lambda f, g, i: tf.tanh(f * g),
    "taken": lambda f, g, i: tf.gather(f, i) * 0.75,
    "placed": lambda f, g, i: tf.tensor_scatter_nd_add(f, i[:, None], 0.125 * g),
    "first": lambda f, g, i: f + 0.1 * g[i[0]],
}
INDICES = {
    "plain": lambda i, j: i,
    "moved": lambda i, j: (i + 1) % SIZE,
    "taken": lambda i, j: tf.gather(i, j),
    "doubled": lambda i, j: (2 * i + j) % SIZE,
    "reversed": lambda i, j: tf.reverse(i, [0]),
}


class Author:
    """Writes programs, from random numbers."""

    def __init__(self, seed):
        self.pick = random.Random(seed).choice

    def expression(self):
        name = self.pick(["plain"] * 3 + [*EXPRESSIONS])
        return (name, self.pick(FLOATS), self.pick(FLOATS), self.pick(WHOLE))

    def indices(self):
        return (self.pick(["plain"] * 3 + [*INDICES]), self.pick(WHOLE), self.pick(WHOLE))

    def plain(self):
        """A statement without others inside."""
        kind = self.pick(["set", "number", "rows", "rows", "row"])
        if kind == "set":
            return (kind, self.pick(FLOATS), self.expression())
        if kind == "number":
            return (kind, self.pick(WHOLE), self.indices())
        if kind == "rows":
            return (kind, self.pick("vw"), self.pick(RULES), self.indices(), self.expression())
        return (kind, self.pick("vwt"), self.pick(WHOLE), self.expression())

    def nested(self, depth):
        """A branch or a loop."""
        pick, block = self.pick, self.block(depth)
        kind = pick(["loop", "bounded", "branch", "array", "places"])
        return {
            "loop": lambda: (kind, pick([1, 2, 3, 4]), block),
            "bounded": lambda: (kind, pick(FLOATS), block),
            "branch": lambda: (kind, pick(FLOATS), pick(FLOATS), block, self.other(block, depth)),
            "array": lambda: (kind, pick(WHOLE), pick(FLOATS), pick(FLOATS), pick(WHOLE), block),
            "places": lambda: (kind, pick(WHOLE), pick(WHOLE), pick(WHOLE), block),
        }[kind]()

    def other(self, block, depth):
        """Another block, or the same."""
        return block if self.pick([True, False, False]) else self.block(depth)

    def block(self, depth):
        """Statements, with branches and loops up to `depth` deep."""
        count = self.pick([1, 2, 3, 4] if depth else [2, 3, 4])
        nested = [self.pick([True, False]) for _ in range(count)] if depth else [False] * count
        return [self.nested(depth - 1) if deeper else self.plain() for deeper in nested]


class Machine:
    """Variables, and what statements do; locals are a dict that loops carry."""

    def __init__(self):
        start = np.linspace(-0.5, 0.5, SIZE)
        self.variables = {
            "v": tf.Variable(start),
            "w": tf.Variable(start[::-1] ** 2),
            "t": tf.Variable(np.outer(start, [1.0, 0.5])),
            "n": tf.Variable([3, 1, 4, 0, 2]),
        }

    def read(self, name, own):
        """A local, a variable, a column of the table."""
        if name not in self.variables:
            return own[name]
        value = self.variables[name].read_value()
        return value[:, 1] if name == "t" else value

    def value(self, made, own):
        """What an expression gives."""
        name, *operands = made
        table = INDICES if len(operands) == 2 else EXPRESSIONS
        return table[name](*[self.read(x, own) for x in operands])

    def run(self, block, own):
        """The locals after the statements."""
        for kind, *parts in block:
            own = getattr(self, kind)(own, *parts)
        return own

    def set(self, own, target, made):
        """A local or a variable gets a value."""
        value = self.value(made, own)
        if target in self.variables:
            if target == "t":
                value = tf.stack([value, self.variables["t"][:, 0]], 1)
            self.variables[target].assign(value)
            return own
        return {**own, target: value}

    number = set

    def rows(self, own, target, rule, at, made):
        """Elements of a variable are combined with others."""
        slices = tf.IndexedSlices(self.value(made, own), self.value(at, own))
        getattr(self.variables[target], rule)(slices)
        return own

    def row(self, own, target, at, made):
        """One row of a variable."""
        place, value = self.read(at, own)[1], self.value(made, own)
        value = value[:2] if target == "t" else value[2]
        self.variables[target][place].assign(value)
        return own

    def loop(self, own, trips, block):
        """A loop of known length."""
        return tf.while_loop(
            lambda k, own: k < trips, lambda k, own: (k + 1, self.run(block, own)), (0, own)
        )[1]

    def bounded(self, own, name, block):
        """A loop whose length depends on a value."""
        return tf.while_loop(
            lambda k, own: tf.logical_and(k < 4, tf.reduce_sum(self.read(name, own)) < 0.6),
            lambda k, own: (k + 1, self.run(block, own)),
            (0, own),
        )[1]

    def branch(self, own, a, b, yes, no):
        """One of two blocks."""
        goes = self.read(a, own)[0] > self.read(b, own)[1]
        return tf.cond(goes, lambda: self.run(yes, own), lambda: self.run(no, own))

    def array(self, own, at, source, target, order, block):
        """A loop that writes elements of an array, at places that change, and reads others."""
        places = self.read(at, own) * 0 + tf.constant([2, 0, 4, 1, 3])
        array = tf.TensorArray(F64, SIZE, element_shape=[], clear_after_read=False)
        array = array.unstack(self.read(source, own))

        def body(k, array, own):
            here = self.read(order, own)[k]
            before = array.read(here)
            own = self.run(block, own)
            array = array.write(places[k], before * 0.5 + self.read(source, own)[here])
            return k + 1, array, own

        _, array, own = tf.while_loop(lambda k, *_: k < SIZE, body, (0, array, own))
        value = array.stack()
        if target in self.variables:
            value = tf.stack([value, value], 1) if target == "t" else value
            self.variables[target].assign(value)
            return own
        return {**own, target: value}

    def places(self, own, source, order, target, block):
        """The same of whole numbers, by which others are found."""
        array = tf.TensorArray(tf.int32, SIZE, element_shape=[], clear_after_read=False)
        array = array.unstack(self.read(source, own))

        def body(k, here, array, own):
            there = array.read(here)
            array = array.write(here, (there + k) % SIZE)
            own = self.run(block, own)
            array = array.write(there, self.read(order, own)[k])
            return k + 1, there, array, own

        _, _, array, own = tf.while_loop(
            lambda k, *_: k < SIZE, body, (0, self.read(order, own)[0], array, own)
        )
        if target in self.variables:
            self.variables[target].assign(array.stack())
            return own
        return {**own, target: array.stack()}


def outcome(program, mode):
    """The locals, a gradient and variables after two calls."""
    machine = Machine()

    @tf.function(autograph=False)
    def step(a, i):
        own = {"a": a, "b": 0.5 - a, "i": i, "j": (i + 2) % SIZE}
        with tf.GradientTape() as tape:
            tape.watch(a)
            own = machine.run(program, own)
            loss = tf.reduce_sum(own["a"] * own["b"] + tf.sin(own["a"]))
        gradient = tape.gradient(loss, a, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return [*[own[name] for name in "abij"], tf.convert_to_tensor(gradient)]  # of rows, perhaps

    given = (tf.constant(np.linspace(0.2, -0.3, SIZE)), tf.constant([1, 1, 3, 0, 4]))
    with executors.executor(mode):
        found = [x.numpy() for _ in range(2) for x in step(*given)]
    return found + [x.numpy() for x in machine.variables.values()]


def check(program):
    wanted = outcome(program, "interpret")
    for one, other in zip(wanted, outcome(program, "llvm"), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)


LOOP = ("loop", 3, [("set", "b", ("product", "b", "a", "i"))])
KNOWN = [  # what was wrong once
    [  # a copy moved before all else was in a nest with a check that needs another nest
        ("rows", "v", "scatter_add", ("plain", "n", "i"), ("sum", "b", "t", "n")),
        ("number", "n", ("plain", "j", "j")),
        ("rows", "w", "scatter_update", ("plain", "n", "n"), ("first", "w", "w", "n")),
    ],
    [
        ("rows", "v", "scatter_add", ("plain", "n", "i"), ("plain", "b", "b", "i")),
        ("number", "n", ("moved", "n", "n")),
    ],
    [
        ("rows", "w", "scatter_sub", ("plain", "i", "n"), ("plain", "v", "v", "i")),
        ("set", "v", ("reversed", "v", "v", "i")),
    ],
    [("rows", "w", "scatter_add", ("plain", "i", "n"), ("plain", "w", "v", "i"))],
    [
        (
            "bounded",
            "b",
            [
                ("rows", "v", "scatter_add", ("plain", "n", "n"), ("plain", "b", "b", "n")),
                ("number", "n", ("moved", "n", "n")),
            ],
        )
    ],
    [("branch", "b", "a", [LOOP], [LOOP])],
]


@pytest.mark.parametrize("program", KNOWN)
def test_known_programs_agree(program):
    check(program)


@pytest.mark.parametrize("seed", range(45))
def test_compiled_programs_agree(seed):
    check(Author(seed).block(seed % 3))
