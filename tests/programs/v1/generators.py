"""tf.random.Generator in a graph: its state is a variable, which each operation moves on."""

from programs.support import raised, run


def every_draw_moves_it_on(tf, np):
    g = tf.random.Generator.from_seed(1)
    a = g.normal([2])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(a) for _ in range(3)]
        return [found, session.run(g.state)]


def draws_of_one_run_differ(tf, np):
    g = tf.random.Generator.from_seed(1)
    a, b = g.normal([2]), g.normal([2])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run([a, b]) for _ in range(2)]
        drawn = sorted(np.reshape(found, [4, 2]).tolist())  # TensorFlow draws in any order
        return [drawn, session.run(g.state)]


def a_run_draws_what_it_needs(tf, np):
    g = tf.random.Generator.from_seed(1)
    a, b = g.normal([2]), g.uniform([3])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(b), session.run(a), session.run(g.state)]


def every_kind(tf, np):
    g = tf.random.Generator.from_seed(5)
    kinds = [
        g.normal([2], 1.0, 2.0),
        g.truncated_normal([2]),
        g.uniform([2], 0, 9, tf.int32),
        g.uniform_full_int([2]),
        g.binomial([2], 5.0, 0.5),
        g.make_seeds(2),
        g.skip(3),
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(x) for x in kinds] + [session.run(g.state)]


def fed_shapes(tf, np):
    g = tf.random.Generator.from_seed(5)
    size = tf.placeholder(tf.int32, [])
    x = g.normal([size])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        drawn = [session.run(x, {size: n}) for n in (1, 2)]
        return [drawn, session.run(g.state)]


def in_branches_and_loops(tf, np):
    g = tf.random.Generator.from_seed(1)
    x = tf.placeholder(tf.float32, [])
    branch = tf.cond(x > 0, lambda: g.normal([]), lambda: 0.0)
    loop = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + g.uniform([])), [0, 0.0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(branch, {x: value}) for value in (1.0, -1.0, 1.0)]
        return [found, session.run(loop), session.run(g.state)]


def is_a_variable_of_the_graph(tf, np):
    g = tf.random.Generator.from_seed(1)
    trainable, others = tf.trainable_variables(), tf.global_variables()
    with tf.Session() as session:
        error = raised(lambda: session.run(g.state))
    return [trainable, len(others), others[0] is g.state, g.state.dtype.name, error]


def copies_and_states(tf, np):
    g = tf.random.Generator.from_state([1, 2, 3], "philox")
    h = tf.random.Generator.from_key_counter(tf.constant(3), [4, 5], "philox")
    k = tf.random.Generator.from_seed(tf.constant([7, 8]))
    return [run(tf, [g.state, h.state, k.state, g.key]), run(tf, [g.normal([2]), h.normal([2])])]


def unforeseeable(tf, np):
    tf.random.set_global_generator(None)  # another program may have left one of its graph
    x = tf.random.Generator.from_non_deterministic_state().normal([4])
    y = tf.random.get_global_generator().normal([4])
    tf.random.set_global_generator(None)
    with tf.Session() as session:
        found = []
        for _ in range(2):
            session.run(tf.global_variables_initializer())
            found.append(session.run([x, y]))
    return bool(np.any(found[0][0] != found[1][0])), bool(np.any(found[0][0] != found[0][1]))


def in_a_function(tf, np):
    g = tf.random.Generator.from_seed(1)
    f = tf.function(lambda: (g.normal([2]), g.normal([2])))
    a, b = f(), g.normal([2])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(a), session.run(b), session.run(a), session.run(g.state)]


PROGRAMS = [
    every_draw_moves_it_on,
    draws_of_one_run_differ,
    a_run_draws_what_it_needs,
    every_kind,
    fed_shapes,
    in_branches_and_loops,
    is_a_variable_of_the_graph,
    copies_and_states,
    unforeseeable,
    in_a_function,
]
