"""Generated functions that write variables in branches and loops, against the same in NumPy.

A function is source text: statements on arrays of four numbers and three variables.  It runs with
operations of NumPy, which change nothing in place, and as a `tf.function`, compiled; after each
call all variables and everything that earlier calls returned must be what NumPy has.
"""

from __future__ import annotations

import itertools
import linecache
import random
from types import SimpleNamespace

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

UNARY = {
    "tanh": (np.tanh, tf.tanh),
    "half": (lambda x: x * 0.5, lambda x: x * 0.5),
    "same": (lambda x: x, tf.identity),
    "flip": (lambda x: x[::-1], lambda x: x[::-1]),
    "roll": (lambda x: np.roll(x, -1), lambda x: tf.concat([x[1:], x[:1]], 0)),
    "pad": (lambda x: np.pad(x[1:3], 1), lambda x: tf.pad(x[1:3], [[1, 1]])),
    "gather": (lambda x: x[[2, 0, 3, 3]], lambda x: tf.gather(x, [2, 0, 3, 3])),
    "turn": (
        lambda x: x.reshape(2, 2).T.reshape(4),
        lambda x: tf.reshape(tf.transpose(tf.reshape(x, [2, 2])), [4]),
    ),
    "cumsum": (lambda x: np.cumsum(x) * 0.3, lambda x: tf.cumsum(x) * 0.3),
    "mean": (
        lambda x: x.mean() * np.ones(4),
        lambda x: tf.reduce_mean(x) * tf.ones(4, tf.float64),
    ),
}
BINARY = {
    "plus": (lambda x, y: x + y, lambda x, y: x + y),
    "times": (lambda x, y: x * y * 0.5, lambda x, y: x * y * 0.5),
    "join": (
        lambda x, y: np.concatenate([x[:2], y[2:]]),
        lambda x, y: tf.concat([x[:2], y[2:]], 0),
    ),
    "cross": (
        lambda x, y: np.concatenate([x[2:], y[:2]]),
        lambda x, y: tf.concat([x[2:], y[:2]], 0),
    ),
    "where": (lambda x, y: np.where(x > 0.0317, x, y), lambda x, y: tf.where(x > 0.0317, x, y)),
    "product": (
        lambda x, y: (x.reshape(2, 2) @ y.reshape(2, 2) * 0.3).reshape(4),
        lambda x, y: tf.reshape(tf.reshape(x, [2, 2]) @ tf.reshape(y, [2, 2]) * 0.3, [4]),
    ),
    "put": (
        lambda x, y: np.concatenate([x[:1], y[1:2], x[2:]]),
        lambda x, y: tf.tensor_scatter_nd_update(x, [[1]], y[1:2]),
    ),
}


class Held:
    """A variable of NumPy's."""

    def __init__(self, value):
        self.value = np.array(value)

    def put(self, places, x, add=False):
        """Write into a copy, so that what was read before stays."""
        self.value = self.value.copy()
        if add:
            np.add.at(self.value, places, x)
        else:
            self.value[places] = x


def rows(x, places):
    return tf.IndexedSlices(x[: len(places)], tf.constant(places))


NUMPY = SimpleNamespace(
    range=range,
    sum=np.sum,
    read=lambda v: v.value,
    assign=lambda v, x: setattr(v, "value", np.array(x)),
    assign_add=lambda v, x: setattr(v, "value", v.value + x),
    assign_sub=lambda v, x: setattr(v, "value", v.value - x),
    assign_part=lambda v, places, x: v.put(slice(*places), x[slice(*places)]),
    scatter_update=lambda v, places, x: v.put(places, x[: len(places)]),
    scatter_add=lambda v, places, x: v.put(places, x[: len(places)], add=True),
    **{name: own for name, (own, _) in (UNARY | BINARY).items()},
)
TALWEG = SimpleNamespace(
    range=tf.range,
    sum=tf.reduce_sum,
    read=lambda v: v.read_value(),
    assign=lambda v, x: v.assign(x),
    assign_add=lambda v, x: v.assign_add(x),
    assign_sub=lambda v, x: v.assign_sub(x),
    assign_part=lambda v, places, x: v[slice(*places)].assign(x[slice(*places)]),
    scatter_update=lambda v, places, x: v.scatter_update(rows(x, places)),
    scatter_add=lambda v, places, x: v.scatter_add(rows(x, places)),
    **{name: own for name, (_, own) in (UNARY | BINARY).items()},
)


class Generator:
    """The source of one function."""

    def __init__(self, draw):
        self.draw = draw
        self.arrays = ["x", "t"]

    def source(self):
        lines = ["def f(x):", "    t = o.same(x)", *self.statements(0)]
        reads = [f"o.read(v{i})" for i in range(3)]
        results = [self.draw.choice(self.arrays + reads) for _ in range(self.draw.randint(1, 3))]
        return "\n".join([*lines, f"    return [{', '.join(results)}]", ""])

    def expression(self):
        draw = self.draw
        reads = [f"o.read(v{i})" for i in range(3)]
        kind = draw.random()
        if kind < 0.3:
            return draw.choice(reads)
        if kind < 0.6:
            return f"o.{draw.choice(list(UNARY))}({draw.choice(self.arrays)})"
        x, y = draw.choice(self.arrays), draw.choice(self.arrays + reads)
        return f"o.{draw.choice(list(BINARY))}({x}, {y})"

    def statements(self, depth):
        lines, indent = [], "    " * (depth + 1)
        for _ in range(self.draw.randint(1, 4)):
            lines += [indent + line for line in self.statement(depth)]
        return lines

    def statement(self, depth):
        draw = self.draw
        kind = draw.random()
        if kind < (0.5 if depth else 0.3):
            expression = self.expression()
            name = draw.choice(self.arrays[1:]) if depth else f"t{len(self.arrays)}"
            if not depth:
                self.arrays.append(name)
            return [f"{name} = {expression}"]
        if kind < 0.75 or depth > 1:
            return [self.update()]
        inner = [line[4 * (depth + 1) :] for line in self.statements(depth + 1)]
        if kind < 0.83:
            limit = draw.choice((0.0123, 0.5123, -0.5123))
            lines = [f"if o.sum({draw.choice(self.arrays)}) > {limit}:", *inner]
            if draw.random() < 0.6:
                other = [line[4 * (depth + 1) :] for line in self.statements(depth + 1)]
                lines += ["else:", *other]
            return lines
        return [f"for _ in o.range({draw.randint(0, 3)}):", *inner]

    def update(self):
        draw = self.draw
        kind = draw.choice(("assign", "assign", "assign_add", "assign_sub", "part", "rows", "add"))
        head, x = f"v{draw.randrange(3)}", self.expression()
        if kind == "part":
            return f"o.assign_part({head}, {(draw.randrange(2), draw.randrange(2, 5))}, {x})"
        if kind == "rows":
            return f"o.scatter_update({head}, {draw.sample(range(4), draw.randint(1, 3))}, {x})"
        if kind == "add":
            places = [draw.randrange(4) for _ in range(draw.randint(1, 3))]
            return f"o.scatter_add({head}, {places}, {x})"
        return f"o.{kind}({head}, {x})"


_numbers = itertools.count()


def made(source, operations, variables):
    """The function of a source, whose lines AutoGraph finds."""
    name = f"<generated {next(_numbers)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names = {"o": operations} | {f"v{i}": v for i, v in enumerate(variables)}
    exec(compile(source, name, "exec"), names)
    return names["f"]


def agree(sources, draw):
    """Call functions of both kinds, on their results, too, and compare all that there is."""
    start = [np.linspace(-1, 1, 4) * (i + 1) for i in range(3)]
    held, variables = [Held(x) for x in start], [tf.Variable(x) for x in start]
    wanted = [made(source, NUMPY, held) for source in sources]
    functions = [tf.function(made(source, TALWEG, variables)) for source in sources]
    numbers = [np.array(draw.choices([-1.0, 0.5, 2.0, 0.25], k=4)) for _ in range(2)]
    tensors = [tf.constant(x) for x in numbers]
    for _ in range(draw.randint(3, 7)):
        which, argument = draw.randrange(len(sources)), draw.randrange(len(numbers))
        numbers += wanted[which](numbers[argument])
        tensors += functions[which](tensors[argument])
        if draw.random() < 0.3:
            number = draw.randrange(3)
            numbers.append(held[number].value)
            tensors.append(
                draw.choice([tf.Variable.read_value, tf.Variable.numpy])(variables[number])
            )
        if draw.random() < 0.2:
            number = draw.randrange(3)
            NUMPY.assign(held[number], numbers[argument])
            variables[number].assign(tensors[argument])
        for own, variable in zip(held, variables):
            np.testing.assert_allclose(variable.numpy(), own.value, 1e-9, 1e-12)
        for x, tensor in zip(numbers, tensors):
            np.testing.assert_allclose(np.asarray(tensor), x, 1e-9, 1e-12)


@pytest.mark.parametrize("executor", ["llvm", "interpret"])
@pytest.mark.parametrize("first", range(0, 100, 20))
def test_functions_that_write_variables(first, executor):
    with settings.executor(executor), settings.check(True):
        for seed in range(first, first + (20 if executor == "llvm" else 5)):
            draw = random.Random(seed)
            sources = [Generator(draw).source() for _ in range(draw.randint(1, 3))]
            try:
                agree(sources, draw)
            except BaseException as error:
                error.add_note("\n".join([f"seed {seed}", *sources]))
                raise


JOINED_AFTER = """
def f(x):
    t = o.times(x, x)
    for _ in o.range(3):
        o.assign_add(v2, {read})
        t = {write}
    return [t]
"""


@pytest.mark.parametrize("read", ["t", "o.join(t, x)", "o.join(x, t)", "o.pad(t)", "o.put(t, x)"])
@pytest.mark.parametrize(
    "write", ["o.join(x, t)", "o.join(t, x)", "o.plus(t, x)", "o.pad(t)", "o.put(x, t)"]
)
def test_a_carried_value_is_read_before_its_place_is_written(read, write):
    """An element read where a condition holds, as of a part, is not in a register for others."""
    with settings.executor("llvm"), settings.check(True):
        agree([JOINED_AFTER.format(read=read, write=write)], random.Random(0))
