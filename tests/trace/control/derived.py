"""Random programs for derivatives: nested functions, branches, loops, scans, maps, lists, batches.

A program is data, drawn with a seeded generator: a list of statements over a few registers.  Run
plainly, in eager mode, it has no control flow at all: branches and loops are Python's, functions
and maps are called for one element after the other.  That is what derivatives are compared with.
"""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

import talweg as tf

F64 = tf.float64
REGISTERS = 3
OPERATIONS = {
    "sine": lambda a, b: tf.sin(a + b),
    "product": lambda a, b: tf.tanh(a * b),
    "mean": lambda a, b: 0.5 * a + 0.3 * b,
    "bell": lambda a, b: tf.exp(-a * a) * b,
    "root": lambda a, b: tf.sqrt(1.0 + a * a) - b,
    "larger": tf.maximum,
    "where": lambda a, b: tf.where(a > b, a * b, tf.cos(b)),
}


class Mode:
    """Whether programs run plainly."""

    plain = False


@contextmanager
def plainly():
    """Run programs as Python inside the block."""
    Mode.plain = True
    try:
        yield
    finally:
        Mode.plain = False


@tf.custom_gradient
def cubed(x):
    """x³ by a rule of its own."""

    def grad(g):
        return 3.0 * x * x * g

    return x * x * x, grad


# -- drawing


def draw_program(seed, depth=2, kinds=None):
    """A program of a few statements, nested `depth` deep."""
    rng = np.random.default_rng(seed)
    names = sorted(STATEMENTS) if kinds is None else list(kinds)
    return draw_block(rng, depth, names)


def draw_short_program(seed):
    """A program of one statement with others in it, for third derivatives."""
    rng = np.random.default_rng(seed)
    names = sorted(STATEMENTS)
    name = str(rng.choice(names))
    a, b, c = (int(i) for i in rng.integers(0, REGISTERS, 3))
    if name == "set":
        return [("set", str(rng.choice(sorted(OPERATIONS))), a, b, c)]
    blocks = [[draw_statement(rng, 0, names)] for _ in range(STATEMENTS[name][1])]
    return [(name, a, b, *blocks)]


def draw_block(rng, depth, names):
    return [draw_statement(rng, depth, names) for _ in range(rng.integers(1, 4))]


def draw_statement(rng, depth, names):
    name = "set" if depth == 0 or rng.random() < 0.3 else str(rng.choice(names))
    a, b, c = (int(i) for i in rng.integers(0, REGISTERS, 3))
    if name == "set":
        return "set", str(rng.choice(sorted(OPERATIONS))), a, b, c
    blocks = [draw_block(rng, depth - 1, names) for _ in range(STATEMENTS[name][1])]
    return name, a, b, *blocks


# -- running


def run_block(block, values):
    """The registers after the statements."""
    for name, *rest in block:
        values = STATEMENTS[name][0](values, *rest)
    return values


def run_set(values, name, target, a, b):
    return changed(values, target, OPERATIONS[name](values[a], values[b]))


def changed(values, target, value):
    found = list(values)
    found[target] = value
    return tuple(found)


def run_call(values, a, b, block):
    def function(*own):
        return run_block(block, own)

    return tuple((function if Mode.plain else tf.function(function))(*values))


def run_unused(values, a, b, block):
    """A call of which one result alone is used, and one has a shape that only the run tells."""

    def function(*own):
        found = run_block(block, own)
        parts = tf.dynamic_partition(tf.stack(found), tf.cast(tf.stack(found) > 0.2, tf.int32), 2)
        return parts[0], found[b], parts[1]

    found = (function if Mode.plain else tf.function(function))(*values)
    return changed(values, a, found[1])


def run_branch(values, a, b, yes, no):
    return tf.cond(
        values[a] > values[b], lambda: run_block(yes, values), lambda: run_block(no, values)
    )


def run_switch(values, a, b, first, second, third):
    index = tf.cast(tf.floor(3.0 * tf.abs(values[a])), tf.int32)
    blocks = [lambda own=own: run_block(own, values) for own in (first, second, third)]
    return tf.switch_case(tf.minimum(index, 2), blocks)


def run_loop(values, a, b, block):
    _, *found = tf.while_loop(
        lambda i, *_: i < 2 + a, lambda i, *v: (i + 1, *run_block(block, tuple(v))), (0, *values)
    )
    return tuple(found)


def run_bounded(values, a, b, block):
    """A loop whose length depends on a value."""
    _, *found = tf.while_loop(
        lambda i, *v: tf.logical_and(i < 3, v[a] < 0.6),
        lambda i, *v: (i + 1, *run_block(block, tuple(v))),
        (0, *values),
    )
    return tuple(found)


def run_array(values, a, target, block):
    """A loop that collects a register in an array."""
    array = tf.TensorArray(F64, 3, element_shape=[])

    def body(i, array, *own):
        own = run_block(block, tuple(own))
        return (i + 1, array.write(i, own[a]), *own)

    _, array, *found = tf.while_loop(lambda i, *_: i < 3, body, (0, array, *values))
    return changed(found, target, tf.reduce_sum(array.stack() * [1.0, 0.5, 0.25]))


def run_scan(values, a, target, block):
    def step(state, x):
        return run_block(block, changed(state, a, state[a] + 0.3 * x))

    rows = tf.scan(step, tf.stack(values), initializer=tuple(values))
    return changed(values, target, tf.reduce_sum(rows[a] * [0.2, 0.5, 0.3]))


def run_fold(values, a, b, block):
    return tf.foldl(
        lambda state, x: run_block(block, changed(state, a, state[b] * x)),
        tf.stack(values),
        initializer=tuple(values),
    )


def run_map(values, a, target, block):
    found = tf.map_fn(
        lambda x: run_block(block, changed(values, a, x))[target], tf.stack(values)[:2] + 0.1
    )
    return changed(values, target, tf.reduce_sum(found * [0.7, 0.4]))


def run_batch(values, a, target, block):
    elements = tf.stack(values)[1:] * 0.5

    def one(x):
        return run_block(block, changed(values, a, x))[target]

    if Mode.plain:
        found = tf.stack([one(x) for x in tf.unstack(elements)])
    else:
        found = tf.vectorized_map(one, elements)
    return changed(values, target, tf.reduce_sum(found * [0.6, 0.9]))


def run_gather(values, a, target):
    stacked = tf.stack(values)
    index = tf.cast(tf.floor(2.9 * tf.abs(tf.sin(values[a]))), tf.int32)
    return changed(values, target, tf.gather(stacked, index) * 0.9 + stacked[index])


def run_partition(values, a, b):
    stacked = tf.stack(values)
    places = tf.cast(stacked > values[a], tf.int32)
    parts = tf.dynamic_partition(stacked, places, 2)
    rows = tf.dynamic_partition(tf.range(REGISTERS), places, 2)
    return tuple(
        tf.unstack(tf.dynamic_stitch(rows, [tf.sin(parts[0]), parts[1] * parts[1]]), REGISTERS)
    )


def run_custom(values, a, target):
    return changed(values, target, cubed(0.5 * values[a]))


def run_recompute(values, a, target, block):
    function = tf.recompute_grad(lambda *own: run_block(block, own)[a])
    return changed(values, target, function(*values))


def run_slice(values, a, target):
    """A slice that begins where a value says."""
    stacked = tf.stack([*values, *values])
    first = tf.cast(tf.floor(3.0 * tf.abs(tf.cos(values[a]))), tf.int32)
    return changed(values, target, tf.reduce_sum(stacked[first : first + 2] * [0.3, 0.8]))


STATEMENTS = {
    "call": (run_call, 1),
    "unused": (run_unused, 1),
    "branch": (run_branch, 2),
    "switch": (run_switch, 3),
    "loop": (run_loop, 1),
    "bounded": (run_bounded, 1),
    "array": (run_array, 1),
    "scan": (run_scan, 1),
    "fold": (run_fold, 1),
    "map": (run_map, 1),
    "batch": (run_batch, 1),
    "gather": (run_gather, 0),
    "partition": (run_partition, 0),
    "custom": (run_custom, 0),
    "recompute": (run_recompute, 1),
    "slice": (run_slice, 0),
    "set": (run_set, 0),
}


def as_function(program):
    """The program as a function of a vector of registers."""

    def f(x):
        return tf.stack(run_block(program, tuple(tf.unstack(x, REGISTERS))))

    return f


# -- derivatives


def by_rows(f):
    """The Jacobian, one row after the other."""

    def slopes(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x, tf.UnconnectedGradients.ZERO, experimental_use_pfor=False)

    return slopes


def reverse(f):
    """The Jacobian, its rows together."""

    def slopes(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x, tf.UnconnectedGradients.ZERO)

    return slopes


def pushed(f, x, t):
    """The tangent of f at x in the direction t."""
    with tf.autodiff.ForwardAccumulator(x, t) as accumulator:
        y = f(x)
    return accumulator.jvp(y, tf.UnconnectedGradients.ZERO)


def forward(f):
    """The Jacobian, one column after the other."""

    def slopes(x):
        columns = [pushed(f, x, row) for row in tf.unstack(tf.eye(REGISTERS, dtype=F64))]
        return tf.stack(columns, -1)

    return slopes


def forward_together(f):
    """The Jacobian, its columns together."""

    def slopes(x):
        found = tf.vectorized_map(lambda t: pushed(f, x, t), tf.eye(REGISTERS, dtype=F64))
        return tf.transpose(found, [*range(1, found.shape.rank), 0])

    return slopes


def across(f):
    """The Jacobian of each row of a batch, by one sweep over all."""

    def slopes(x):
        rows = tf.stack([x, x * 0.5])
        with tf.GradientTape() as tape:
            tape.watch(rows)
            y = tf.vectorized_map(f, rows)
        return tape.batch_jacobian(y, rows, tf.UnconnectedGradients.ZERO)[0]

    return slopes


def each(f):
    """The Jacobian of each row of a batch, by itself."""

    def slopes(x):
        return tf.vectorized_map(reverse(f), tf.stack([x * 0.5, x]))[1]

    return slopes


MODES = {
    "reverse": reverse,
    "forward": forward,
    "forward_together": forward_together,
    "across": across,
    "each": each,
}


def derived(f, modes):
    """f, differentiated in these ways, the first innermost."""
    for mode in modes:
        f = MODES[mode](f)
    return f


def expected(program, order, x):
    """What the plain program's derivative of this order is."""
    f = as_function(program)
    for _ in range(order):
        f = by_rows(f)
    with plainly():
        return f(tf.constant(x)).numpy()


def eagerly(program, modes, x):
    return derived(as_function(program), modes)(tf.constant(x)).numpy()


def of_function(program, modes, x):
    return derived(tf.function(as_function(program)), modes)(tf.constant(x)).numpy()


def in_function(program, modes, x):
    return tf.function(derived(as_function(program), modes))(tf.constant(x)).numpy()


def of_unknown_shape(program, modes, x):
    f = tf.function(as_function(program), input_signature=[tf.TensorSpec([None], F64)])
    g = derived(f, modes)
    return tf.function(g, input_signature=[tf.TensorSpec([None], F64)])(tf.constant(x)).numpy()


def in_graph(program, modes, x):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        place = tf.compat.v1.placeholder(F64, [REGISTERS])
        return session.run(derived(as_function(program), modes)(place), {place: x})


WAYS = {
    "eager": eagerly,
    "of_function": of_function,
    "in_function": in_function,
    "of_unknown_shape": of_unknown_shape,
    "in_graph": in_graph,
}
