"""Graphs whose runs were silently other than TensorFlow's, a program for each report."""

import collections

from programs.support import raised, run


def generators_advance(tf, np):
    from numpy import array_equal

    g = tf.random.Generator.from_seed(1)
    a, b = g.normal([2]), g.normal([2])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        draws = [*session.run([a, b]), *session.run([a, b])]
        different = [not array_equal(x, y) for i, x in enumerate(draws) for y in draws[:i]]
        return [all(different), session.run(g.state)]


def gradients_by_intermediate_results(tf, np):
    x1 = tf.placeholder_with_default(1.0, [])
    x2 = x1 * 2.0
    x3 = x2 * 2.0
    return run(tf, tf.gradients([x3, x2], [x1, x2, x3]))


def feeding_one_of_two_equal_tensors(tf, np):
    a, b = tf.zeros([2]), tf.zeros([2])
    with tf.Session() as session:
        return raised(lambda: session.run([a * 2, b * 2], {a: [1, 1], b: [2, 2]}))


def outer_operations_that_branches_wait_for(tf, np):
    v = tf.Variable(1.0)
    added = v.assign_add(1.0)

    def branch():
        with tf.control_dependencies([added]):
            return tf.constant(1.0)

    with tf.Session() as session:
        session.run(v.initializer)
        return [tf.cond(tf.constant(True), branch, lambda: 2.0).eval(), v.eval()]


def fetched_mappings(tf, np):
    c = tf.constant(1.0)
    ordered = collections.OrderedDict([("b", c), ("a", c)])
    with tf.Session() as session:
        fetched = [session.run(m) for m in (collections.defaultdict(int, {"a": c}), ordered)]
    return [(type(f).__name__, list(f)) for f in fetched]


PROGRAMS = [
    generators_advance,
    gradients_by_intermediate_results,
    feeding_one_of_two_equal_tensors,
    outer_operations_that_branches_wait_for,
    fetched_mappings,
]
