"""Graphs frozen by TensorFlow with the gradients of TensorArrays of the first generation.

TensorFlow writes them with `TensorArrayGradV3` and stacks; values by unknown sizes among them.
"""

from programs.frozen import imported


def _of_old(tf, build):
    """Call with loops and arrays of TensorFlow's first generation."""

    def first():
        tf.disable_control_flow_v2()
        try:
            return build()
        finally:
            tf.enable_control_flow_v2()

    return first


ROWS = [[0.5, -1.0], [1.5, 0.25], [-0.75, 2.0]]


def _program(build):
    """The program that runs what TensorFlow wrote of `build(tf, np, x)`, x fed with rows."""

    def program(tf, np):
        def make():
            return build(tf, np, tf.placeholder(tf.float32, [None, 2], name="x"))

        return imported(tf, f"arrays_{build.__name__}", _of_old(tf, make), {"x:0": ROWS})

    program.__name__ = build.__name__
    return program


def mapped(tf, np, x):
    y = tf.map_fn(lambda row: tf.sin(row) * tf.reduce_sum(row), x)
    return [y, *tf.gradients(y, x), *tf.gradients(y[0] * y[2], x)]


def scanned(tf, np, x):
    w = tf.get_variable("w", initializer=np.float32([[0.3, -0.2], [0.1, 0.4]]))
    y = tf.scan(lambda a, row: tf.tanh(tf.linalg.matvec(w, a) + row), x)
    return [y, *tf.gradients(tf.reduce_sum(y * y), [x, w])]


def folded(tf, np, x):
    y = tf.foldl(lambda a, row: a * row + 1.0, x)
    z = tf.foldr(lambda a, row: tf.cos(a) * row, x)
    return [y, z, *tf.gradients([y, z], x)]


def read_and_written(tf, np, x):
    """An array that a loop reads from and writes to."""
    array = tf.TensorArray(tf.float32, 5, clear_after_read=False).write(0, x[0]).write(1, x[1])

    def step(i, a):
        return i + 1, a.write(i, a.read(i - 1) * a.read(i - 2) + x[2])

    _, array = tf.while_loop(lambda i, a: i < 5, step, [2, array])
    y = array.stack()
    return [y, *tf.gradients(tf.reduce_sum(y * y), x)]


def parts_and_joined(tf, np, x):
    array = tf.TensorArray(tf.float32, 2, infer_shape=False).split(x * x, [1, 2])
    joined = array.concat()
    y = tf.TensorArray(tf.float32, 2, infer_shape=False)
    y = y.write(0, tf.sin(x)).write(1, x[:1] * 3.0).concat()
    return [joined, y, *tf.gradients([joined, y], x, [joined, y * 2.0])]


def some_elements(tf, np, x):
    """Elements that are taken twice, and such as nobody takes."""
    array = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(tf.exp(x))
    y = array.gather([2, 2, 0])
    return [y, *tf.gradients(y, x, [[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])]


def grown(tf, np, x):
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    _, array = tf.while_loop(
        lambda i, a: i < tf.shape(x)[0],
        lambda i, a: (i + 1, a.write(i, x[i] * tf.cast(i + 1, tf.float32))),
        [0, array],
    )
    y = array.stack()
    return [y, *tf.gradients(y * y, x)]


def nested(tf, np, x):
    """A loop over an array inside one over another."""

    def inner(row):
        return tf.scan(lambda a, v: a * v, row)

    y = tf.map_fn(inner, x)
    return [y, *tf.gradients(y, x)]


def with_branches(tf, np, x):
    """Elements that one branch of a loop writes, and that one reads."""
    source = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)

    def step(i, a, total):
        row = source.read(i)
        more = tf.cond(row[0] > 0.0, lambda: source.read(2) * row, lambda: row)
        return i + 1, a.write(i, more), total + tf.reduce_sum(more)

    _, array, total = tf.while_loop(
        lambda i, a, t: i < 3, step, [0, tf.TensorArray(tf.float32, 3), 0.0]
    )
    return [total, *tf.gradients([tf.reduce_sum(array.stack()), total * total], x)]


def branches_in_branches(tf, np, x):
    """Without an array: what branches inside of branches of a loop keep on stacks."""

    def step(i, a):
        def inner():
            b = tf.sin(a)
            return tf.cond(b[1] > 0.0, lambda: b * a * x[1], lambda: tf.exp(b))

        found = tf.cond(tf.equal(i % 2, 0), inner, lambda: a * a - x[2])
        return i + 1, tf.cond(i > 2, lambda: found * a, lambda: found)

    _, y = tf.while_loop(lambda i, a: i < 5, step, [0, x[0]])
    return [y, *tf.gradients(y, x)]


def loops_in_branches(tf, np, x):
    def inner(a):
        return tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, tf.sin(b) * a), [0, a])[1]

    def step(i, a):
        return i + 1, tf.cond(tf.equal(i, 1), lambda: inner(a), lambda: a * x[1])

    _, y = tf.while_loop(lambda i, a: i < 3, step, [0, x[0]])
    z = tf.cond(x[0, 0] > 0.0, lambda: inner(y), lambda: y)
    return [z, *tf.gradients(z, x)]


def recurrent(tf, np, x):
    cell = tf.nn.rnn_cell.LSTMCell(3, initializer=tf.constant_initializer(0.2))
    outputs, state = tf.nn.dynamic_rnn(cell, x[None], [2], dtype=tf.float32)
    loss = tf.reduce_sum(outputs * outputs) + tf.reduce_sum(state.c)
    return [loss, *tf.gradients(loss, [x, *tf.trainable_variables()])]


def both_directions(tf, np, x):
    cells = [tf.nn.rnn_cell.GRUCell(2, kernel_initializer=tf.ones_initializer()) for _ in "ab"]
    batch = tf.stack([x, tf.sin(x)])
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(*cells, batch, [3, 1], dtype=tf.float32)
    loss = tf.reduce_sum(tf.concat(outputs, 2) * tf.concat(outputs[::-1], 2))
    return [loss, *tf.gradients(loss, [x, *tf.trainable_variables()])]


def no_turn(tf, np, x):
    """Loops that do not run, whose elements have zeros as gradients."""
    array = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)
    _, total = tf.while_loop(
        lambda i, t: i < tf.shape(x)[0] - 3, lambda i, t: (i + 1, t + array.read(i)), [0, x[0]]
    )
    return [total, *tf.gradients(total, x), array.size()]


def by_hand(tf, np, x):
    """What `TensorArray.grad` gives."""
    array = tf.TensorArray(tf.float32, 3).unstack(x)
    scattered = array.grad("a").scatter([0, 2, 0], [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    first = array.grad("b").write(1, x[0]).write(1, x[1] * 2.0)
    again = array.grad("b", flow=first.flow).write(0, x[2])
    _, summed = tf.while_loop(
        lambda i, g: i < 6, lambda i, g: (i + 1, g.write(i % 3, x[1])), [0, array.grad("c")]
    )
    pieces = tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, 2])
    parts = pieces.grad("d").split(x * 2.0, [1, 2])
    found = [scattered.gather([2, 0, 1]), again.stack(), summed.read(2), parts.concat()]
    return [*found, scattered.size()]


PROGRAMS = [
    _program(build)
    for build in (
        mapped,
        scanned,
        folded,
        read_and_written,
        parts_and_joined,
        some_elements,
        grown,
        nested,
        with_branches,
        branches_in_branches,
        loops_in_branches,
        recurrent,
        both_directions,
        no_turn,
        by_hand,
    )
]
