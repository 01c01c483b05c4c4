"""Graphs that are written as GraphDefs, for talweg to read again and for TensorFlow to run."""

from typing import Any, NamedTuple

import numpy as np

import talweg

tf = talweg.compat.v1
FEED = {"n:0": 3, "x:0": [1.0, 0.5, 0.2]}


class Written(NamedTuple):
    """A GraphDef, the name of what initializes its variables, and what its outputs should give."""

    message: Any
    init: str | None
    outputs: list
    feed: dict
    expected: list


def written(build):
    """What `build` makes, run once, as a GraphDef."""
    graph = talweg.Graph()
    with graph.as_default():
        results = [tf.identity(y, name=f"out_{i}") for i, y in enumerate(build())]
        outputs = [y.name for y in results]
        init = tf.global_variables_initializer() if tf.global_variables() else None
        message = graph.as_graph_def(include_captured=True)
        there = {part.name for part in message.node}
        feed = {key: value for key, value in FEED.items() if key.partition(":")[0] in there}
        with tf.Session() as session:
            if init is not None:
                session.run(init)
            expected = session.run(results, feed)
        return Written(message, None if init is None else init.name, outputs, feed, expected)


def nodes(message):
    """The nodes of a graph and of its functions."""
    return [*message.node, *[part for f in message.library.function for part in f.node_def]]


def inputs():
    """A number and a vector that are fed."""
    return tf.placeholder(tf.int32, [], name="n"), tf.placeholder(tf.float32, [3], name="x")


def variable():
    """A vector of its own."""
    return tf.get_variable("v", initializer=np.float32([1, 2, 3]))


def branch_that_writes():
    n, x = inputs()
    v = variable()
    y = tf.cond(n > 1, lambda: tf.assign_add(v, x), lambda: v * 2.0)
    with tf.control_dependencies([y]):
        return [y, v.read_value()]


def loop_that_writes():
    n, x = inputs()
    v = variable()

    def body(i):
        with tf.control_dependencies([tf.assign_add(v, x)]):
            return i + 1

    i = tf.while_loop(lambda i: i < n, body, [0])
    with tf.control_dependencies([i]):
        return [i, v.read_value()]


def gradient_of_a_loop():
    n, x = inputs()
    y = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * a * 0.5 + x), [0, x])[1]
    return [y, *tf.gradients(y, x)]


def gradient_of_a_branch():
    n, x = inputs()
    y = tf.cond(n > 1, lambda: tf.exp(x) * x, lambda: tf.sin(x))
    z = tf.cond(n > 5, lambda: tf.exp(x) * x, lambda: tf.sin(x))
    return [y, z, *tf.gradients(y, x), *tf.gradients(z, x)]


def loops_and_branches_inside():
    n, x = inputs()

    def body(i, a):
        b = tf.while_loop(lambda j, c: j < i, lambda j, c: (j + 1, tf.sin(c) * x), [0, a])[1]
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: b * 2.0, lambda: b + 1.0)

    return [tf.while_loop(lambda i, a: i < n, body, [0, x])[1]]


def choice_of_three():
    n, x = inputs()
    return [tf.switch_case(n - 2, [lambda: x, lambda: x * 2.0, lambda: x * 3.0])]


def random_numbers():
    tf.set_random_seed(4)
    return [
        tf.random_uniform([3]),
        tf.random_normal([2, 2]),
        tf.truncated_normal([4], seed=3),
        tf.random_uniform([5], 0, 10, tf.int32),
        tf.random_shuffle(tf.range(5)),
        tf.random_gamma([2], [1.0, 2.0]),
        talweg.random.stateless_normal([3], [1, 2]),
        talweg.random.stateless_uniform([3], [1, 2], 0, 9, tf.int32),
    ]


def maps_and_their_gradient():
    _, x = inputs()
    results = [
        tf.map_fn(lambda a: a * a + 1.0, x),
        tf.scan(lambda a, b: a + b, x),
        tf.foldl(lambda a, b: a * b, x),
    ]
    return [*results, *tf.gradients(results, x)]


def training_step():
    _, x = inputs()
    v = variable()
    loss = tf.reduce_sum(tf.square(v - x))
    step = tf.train.AdamOptimizer(0.1).minimize(loss)
    with tf.control_dependencies([step]):
        return [tf.identity(v.read_value()), loss]


def function_called_twice():
    _, x = inputs()

    @talweg.function
    def inner(a, b):
        return a * b + 1.0

    return [inner(x, x), inner(x * 2.0, x)]


def captured_array():
    _, x = inputs()
    return [tf.matmul(x[None], tf.constant(np.arange(900, dtype=np.float32).reshape(3, 300)))]


def recurrent_network():
    x = tf.constant(np.cos(np.arange(24, dtype=np.float32)).reshape(2, 4, 3)) * inputs()[1]
    cell = tf.nn.rnn_cell.LSTMCell(2, initializer=tf.constant_initializer(0.3))
    outputs, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    return [outputs, state.c, *tf.gradients(outputs, x)]


def scattered_rows():
    return [tf.scatter_add(variable(), [0, 2], [1.0, 1.0])]


def unknown_sizes():
    x = tf.placeholder(tf.float32, [None], name="x")
    count = tf.shape(x)[0]
    wide = tf.tile(x[None], [count + 1, 1])
    return [
        tf.reshape(wide, [-1, 1]),
        tf.concat([x, x[1:], x[:-1]], 0),
        tf.reduce_mean(wide, 0),
        tf.pad(x, [[1, count]]),
        tf.one_hot(tf.range(count), count * 2),
        x[::-1],
        tf.zeros_like(x),
        tf.transpose(wide),
        tf.broadcast_to(x, [2, count]),
        *tf.gradients(tf.reduce_mean(wide), x),
    ]


BUILDERS = [
    branch_that_writes,
    loop_that_writes,
    gradient_of_a_loop,
    gradient_of_a_branch,
    loops_and_branches_inside,
    choice_of_three,
    random_numbers,
    maps_and_their_gradient,
    training_step,
    function_called_twice,
    captured_array,
    recurrent_network,
    scattered_rows,
    unknown_sizes,
]
