"""When a variable is read in branches, loops and functions: after what they depend on."""

from programs.support import raised


def run_twice(tf, build):
    """What `build` gives of a variable of value 1 in two runs of a session, and the variable."""
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    y = build(v)
    with tf.Session() as session:
        session.run(v.initializer)
        return [session.run(y), session.run(y), session.run(v)]


def in_a_branch(tf, np):
    def build(v):
        return tf.cond(v.assign_add(1.0) > 0, lambda: v * 10.0, lambda: 0.0)

    return run_twice(tf, build)


def in_a_branch_that_takes_the_new_value(tf, np):
    def build(v):
        grown = v.assign_add(1.0)
        return tf.cond(tf.constant(1.0) > 0, lambda: v * 10.0 + grown * 0, lambda: 0.0)

    return run_twice(tf, build)


def in_a_branch_of_a_branch(tf, np):
    def build(v):
        def inner():
            return tf.cond(tf.constant(True), lambda: v * 10.0, lambda: 0.0)

        return tf.cond(v.assign_add(1.0) > 0, inner, lambda: 0.0)

    return run_twice(tf, build)


def after_control_dependencies_of_the_predicate(tf, np):
    w = tf.get_variable("w", initializer=5.0, use_resource=True)

    def build(v):
        with tf.control_dependencies([v.assign_add(1.0)]):
            count = w.assign_add(1.0)
        return tf.cond(count > 0, lambda: v * w, lambda: 0.0)

    with tf.Session() as session:
        v = tf.get_variable("v", initializer=1.0, use_resource=True)
        y = build(v)
        session.run([v.initializer, w.initializer])
        return [session.run(y), session.run(y)]


def after_a_branch_that_writes(tf, np):
    def build(v):
        grown = tf.cond(tf.constant(True), lambda: v.assign_add(1.0) + 0, lambda: 0.0)
        return tf.cond(grown > 0, lambda: v * 10.0, lambda: 0.0)

    return run_twice(tf, build)


def in_a_body(tf, np):
    def build(v):
        start = v.assign_add(1.0) * 0.0
        return tf.while_loop(lambda i, x: i < 2.0, lambda i, x: (i + 1.0, x + v), [start, 0.0])[1]

    return run_twice(tf, build)


def in_a_condition(tf, np):
    def build(v):
        start = v.assign_add(1.0) * 0.0
        return tf.while_loop(lambda i: i < v * 3, lambda i: i + 1.0, [start])

    return run_twice(tf, build)


def in_a_function(tf, np):
    def build(v):
        return tf.function(lambda x: v * 10.0 + x * 0)(v.assign_add(1.0))

    return run_twice(tf, build)


def in_a_choice(tf, np):
    def build(v):
        index = tf.cast(v.assign_add(1.0) * 0, tf.int32)
        return tf.switch_case(index, [lambda: v * 10.0, lambda: 0.0])

    return run_twice(tf, build)


def gradient_of_a_branch(tf, np):
    def build(v):
        y = tf.cond(v.assign_add(1.0) > 0, lambda: v * v, lambda: 0.0)
        return tf.gradients(y, v)[0]

    return run_twice(tf, build)


def value_or_something_else(tf, np):
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    has = tf.is_variable_initialized(v)
    results = [
        tf.cond(has, v.read_value, lambda: v.initial_value * 5.0),
        tf.cond(has, lambda: v * 2.0, lambda: tf.constant(3.0)),
        tf.cond(has, lambda: tf.cond(v > 0, lambda: v, lambda: -v), lambda: tf.constant(4.0)),
    ]
    with tf.Session() as session:
        before = session.run([*results, tf.size(tf.report_uninitialized_variables())])
        session.run(v.initializer)
        return [before, session.run(results)]


def value_that_is_not_there(tf, np):
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    takes = tf.placeholder(tf.bool, [])
    y = tf.cond(takes, lambda: v * 2.0, lambda: 3.0)
    z = tf.cond(takes, lambda: tf.cond(y > 0, lambda: v, lambda: -v), lambda: 3.0)
    with tf.Session() as session:
        return [
            session.run([y, z], {takes: False}),
            raised(lambda: session.run(y, {takes: True})),
            raised(lambda: session.run(z, {takes: True, y: 1.0})),
        ]


PROGRAMS = [
    in_a_branch,
    in_a_branch_that_takes_the_new_value,
    in_a_branch_of_a_branch,
    after_control_dependencies_of_the_predicate,
    after_a_branch_that_writes,
    in_a_body,
    in_a_condition,
    in_a_function,
    in_a_choice,
    gradient_of_a_branch,
    value_or_something_else,
    value_that_is_not_there,
]
