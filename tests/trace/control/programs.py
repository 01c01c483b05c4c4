"""Small programs with branches and loops, each a function of one number."""

from __future__ import annotations

import talweg as tf

F64 = tf.float64


def _loop(trips, step, start):
    """`step(i, v)` for i below `trips`."""
    return tf.while_loop(lambda i, _: i < trips, lambda i, v: (i + 1, step(i, v)), (0, start))[1]


def loop(x):
    return _loop(3, lambda i, v: tf.sin(v * x) + v, x)


def loop_to_a_bound(x):
    """Doubling until 40 is passed: how often depends on the value."""
    return tf.while_loop(lambda v: v < 40.0, lambda v: (v * 2.0 + x,), (x,))[0]


def branch(x):
    return tf.cond(x > 0.0, lambda: tf.sin(x) * x * x, lambda: x)


def branch_in_branch(x):
    def inner():
        return tf.cond(x > 0.5, lambda: tf.sin(x) * x, lambda: x * x * x)

    return tf.cond(x > 0.0, inner, lambda: x)


def loop_in_loop(x):
    return _loop(3, lambda i, v: _loop(2, lambda j, w: tf.sin(w * x) + w, v), x)


def loop_in_loop_of_changing_length(x):
    return _loop(3, lambda i, v: _loop(i, lambda j, w: tf.sin(w * x) + w, v), x)


def branch_in_loop(x):
    def step(i, v):
        return tf.cond(i % 2 > 0, lambda: tf.sin(v * x), lambda: v * v * x)

    return _loop(4, step, x)


def loop_in_branch(x):
    return tf.cond(x > 0.0, lambda: _loop(3, lambda j, w: tf.sin(w * x) + w, x), lambda: x)


def branch_in_loop_in_loop(x):
    def step(i):
        return lambda j, w: tf.cond((i + j) % 2 > 0, lambda: tf.sin(w * x), lambda: tf.exp(-w) * x)

    return _loop(3, lambda i, v: _loop(2, step(i), v), x)


def loop_in_branch_in_loop(x):
    def step(i, v):
        deep = lambda: _loop(i, lambda j, w: tf.tanh(w + x), v)  # noqa: E731
        return tf.cond(tf.equal(i, 1), lambda: v * x, deep)

    return _loop(4, step, x)


def array_in_loop(x):
    array = tf.TensorArray(F64, 4, clear_after_read=False, element_shape=[]).write(0, x)

    def step(i, a):
        return i + 1, a.write(i, tf.sin(a.read(i - 1) * x) + a.read(0))

    _, array = tf.while_loop(lambda i, _: i < 4, step, (1, array))
    return tf.reduce_sum(array.stack() ** 2)


def arrays_in_nested_loops(x):
    def outer(i, a):
        def inner(j, own):
            return j + 1, own.write(j, tf.sin(x * tf.cast(i + j, F64)))

        own = tf.TensorArray(F64, 3, element_shape=[])
        _, own = tf.while_loop(lambda j, _: j < 3, inner, (0, own))
        return i + 1, a.write(i, tf.reduce_prod(own.stack() + x))

    start = tf.TensorArray(F64, 3, element_shape=[])
    _, array = tf.while_loop(lambda i, _: i < 3, outer, (0, start))
    return tf.reduce_sum(array.stack())


def switch(x):
    number = tf.cast(x * 4.0, tf.int32)
    return tf.switch_case(number, [lambda: x, lambda: x * x, lambda: tf.exp(x) * x])


def case(x):
    return tf.case([(x < 0.2, lambda: x), (x < 1.0, lambda: tf.exp(x) * x)], lambda: x * x)


def scan(x):
    xs = tf.stack([x, x * x, tf.sin(x)])
    return tf.reduce_sum(tf.scan(lambda a, v: a * v + x, xs) ** 2)


def scan_backwards(x):
    xs = tf.stack([x, x * x, tf.sin(x)])
    return tf.reduce_sum(tf.scan(lambda a, v: a * v, xs, initializer=x, reverse=True) ** 2)


def mapped(x):
    xs = tf.stack([x, x * x, tf.sin(x)])
    return tf.reduce_sum(tf.map_fn(lambda v: tf.sin(v) * x, xs) ** 2)


def folded(x):
    xs = tf.stack([x, x * x, tf.sin(x)])
    left = tf.foldl(lambda a, v: tf.sin(a) * v, xs)
    return left + tf.foldr(lambda a, v: tf.exp(-a) * v, xs, initializer=x)


PROGRAMS = [
    loop,
    loop_to_a_bound,
    branch,
    branch_in_branch,
    loop_in_loop,
    loop_in_loop_of_changing_length,
    branch_in_loop,
    loop_in_branch,
    branch_in_loop_in_loop,
    loop_in_branch_in_loop,
    array_in_loop,
    arrays_in_nested_loops,
    switch,
    case,
    scan,
    scan_backwards,
    mapped,
    folded,
]
