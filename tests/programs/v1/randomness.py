"""Random operations in a graph: what differs, what repeats, and TensorFlow's very numbers.

Only operations with a seed of their own are asked for numbers: a seed that follows from the graph
alone depends on how many nodes TensorFlow has made before.
"""

from programs.support import raised, run, static


def two_operations_differ(tf, np):
    a, b = tf.random_normal([8]), tf.random_normal([8])
    with tf.Session() as session:
        first, second = session.run([a, b])
        return bool(np.any(first != second))


def one_operation_is_drawn_once_a_run(tf, np):
    x = tf.random_uniform([8])
    y, z = x + 1.0, x + 1.0
    with tf.Session() as session:
        first, again, other = session.run([y, y, z])
        later = session.run(y)
        return [
            bool(np.all(first == again) and np.all(first == other)),
            bool(np.any(first != later)),
        ]


def seeded_operations_repeat_in_each_session(tf, np):
    tf.set_random_seed(5)
    x = tf.random_normal([6], seed=3)
    with tf.Session() as one, tf.Session() as other:
        first, second = one.run(x), one.run(x)
        return [
            bool(np.all(first == other.run(x))),
            bool(np.all(second == other.run(x))),
            bool(np.any(first != second)),
        ]


def a_graph_seed_makes_runs_repeat(tf, np):
    def draw():
        with tf.Graph().as_default():
            tf.set_random_seed(11)
            a, b = tf.random_normal([4]), tf.random_normal([4])
            return run(tf, [a, b])

    (a, b), (c, d) = draw(), draw()
    return [bool(np.all(a == c)), bool(np.all(b == d)), bool(np.any(a != b))]


def uniform_numbers(tf, np):
    tf.set_random_seed(2)
    x = tf.random_uniform([5], seed=1)
    with tf.Session() as session:
        return [session.run(x) for _ in range(2)]


def uniform_numbers_between(tf, np):
    tf.set_random_seed(2)
    made = [
        tf.random_uniform([4], -2.0, 3.0, seed=1),
        tf.random_uniform([3, 2], 0, 100, tf.int32, seed=4),
        tf.random_uniform([3], 0.0, 1.0, tf.float64, seed=5),
    ]
    return run(tf, made)


def normal_numbers(tf, np):
    tf.set_random_seed(2)
    made = [tf.random_normal([6], seed=1), tf.random_normal([3], 5.0, 0.1, tf.float64, seed=2)]
    return run(tf, made)


def truncated_normal_numbers(tf, np):
    tf.set_random_seed(7)
    return run(tf, tf.truncated_normal([8], stddev=2.0, seed=1))


def numbers_with_a_seed_of_the_operation_alone(tf, np):
    return run(tf, [tf.random_uniform([4], seed=12), tf.random_normal([4], seed=12)])


def shuffled_rows(tf, np):
    tf.set_random_seed(3)
    return run(tf, tf.random_shuffle(tf.range(8), seed=1))


def drawn_classes(tf, np):
    tf.set_random_seed(3)
    got = run(tf, tf.multinomial(tf.math.log([[0.2, 0.8], [0.5, 0.5]]), 5, seed=1))
    return [got.shape, got.dtype.name, bool(np.all((got >= 0) & (got < 2)))]


def gamma_numbers(tf, np):
    got = run(tf, tf.random_gamma([200], [1.5, 3.0], seed=1))
    return [got.shape, bool(np.all(got > 0)), bool(np.all(abs(got.mean(0) - [1.5, 3.0]) < 0.5))]


def stateless_numbers(tf, np):
    seed = tf.placeholder(tf.int32, [2])
    x = tf.random.stateless_normal([4], seed)
    with tf.Session() as session:
        return [session.run(x, {seed: given}) for given in ([1, 2], [3, 4], [1, 2])]


def sizes_that_are_fed(tf, np):
    n = tf.placeholder(tf.int32, [])
    x = tf.random_uniform([n, 2], seed=1)
    with tf.Session() as session:
        return [static(x), [session.run(x, {n: number}).shape for number in (0, 3)]]


def variables_started_at_random(tf, np):
    tf.set_random_seed(4)
    made = [
        tf.get_variable("a", [3], initializer=tf.random_normal_initializer(seed=1)),
        tf.get_variable("b", [3], initializer=tf.random_uniform_initializer(-1.0, 1.0, seed=1)),
        tf.get_variable("c", [2, 2], initializer=tf.glorot_uniform_initializer(seed=1)),
        tf.get_variable("d", [3], initializer=tf.truncated_normal_initializer(seed=1)),
    ]
    return run(tf, made)


def dropped_numbers(tf, np):
    tf.set_random_seed(4)
    x = tf.ones([10])
    return run(tf, [tf.nn.dropout(x, rate=0.4, seed=1), tf.nn.dropout(x, keep_prob=0.5, seed=2)])


def gradient_of_what_was_dropped(tf, np):
    x = tf.ones([10])
    y = tf.nn.dropout(x, rate=0.4, seed=1)
    got, gradient = run(tf, [y, tf.gradients(y, x)[0]])
    return bool(np.all(got == gradient))


def random_errors(tf, np):
    return [
        raised(lambda: tf.random_uniform([2], dtype=tf.int32)),
        raised(lambda: tf.random_normal([2], dtype=tf.int32)),
        raised(lambda: run(tf, tf.random_uniform([2], 5, 1, tf.int32))),
    ]


PROGRAMS = [
    two_operations_differ,
    one_operation_is_drawn_once_a_run,
    seeded_operations_repeat_in_each_session,
    a_graph_seed_makes_runs_repeat,
    uniform_numbers,
    uniform_numbers_between,
    normal_numbers,
    truncated_normal_numbers,
    numbers_with_a_seed_of_the_operation_alone,
    shuffled_rows,
    drawn_classes,
    gamma_numbers,
    stateless_numbers,
    sizes_that_are_fed,
    variables_started_at_random,
    dropped_numbers,
    gradient_of_what_was_dropped,
    random_errors,
]
