"""Values whose shape is known only when they run: predicates, branches, rates, protos."""

from programs.support import raised


def chosen(tf, predicate, feed):
    """What `tf.cond` gives for a predicate that is fed; the class of its error."""
    found = []

    def run():
        y = tf.cond(predicate, lambda: tf.constant(1), lambda: tf.constant(2))
        with tf.Session() as session:
            found.append(session.run(y, {predicate: feed}))

    error = raised(run)
    return found[0] if error is None else error


def predicates_of_unknown_shape(tf, np):
    feeds = [True, [True], [[True]], [[False]], [True, False], []]
    return [chosen(tf, tf.placeholder(tf.bool), feed) for feed in feeds]


def predicates_of_known_shape(tf, np):
    return [
        chosen(tf, tf.placeholder(tf.bool, [1]), [True]),
        chosen(tf, tf.placeholder(tf.bool, [1, 1]), [[False]]),
        chosen(tf, tf.placeholder(tf.bool, [None]), [True]),
        chosen(tf, tf.placeholder(tf.bool, [None]), [True, False]),
    ]


def questions_in_functions(tf, np):
    @tf.function(input_signature=[tf.TensorSpec(None, tf.bool)])
    def answer(p):
        if p:
            return 1
        return 2

    @tf.function(input_signature=[tf.TensorSpec(None, tf.int32)])
    def count(n):
        i = 0
        while i < n:
            i += 1
        return i

    with tf.Session() as session:

        def run(function, *value):
            found = []
            error = raised(lambda: found.append(session.run(function(tf.constant(*value)))))
            return found[0] if error is None else error

        return [
            run(answer, [True]),
            run(answer, [[False]]),
            run(count, 2),
            run(count, [3]),
        ]


def numbers_of_branches(tf, np):
    index = tf.placeholder(tf.int32)
    y = tf.switch_case(index, [lambda: tf.constant(1), lambda: tf.constant(2)])
    p = tf.placeholder(tf.bool)
    z = tf.case([(p, lambda: tf.constant(1))], default=lambda: tf.constant(2))
    with tf.Session() as session:
        return [
            session.run(y, {index: 1}),
            raised(lambda: session.run(y, {index: [1]})),
            session.run(z, {p: [True]}),
        ]


def rates_of_dropout(tf, np):
    x = tf.ones([2])
    rates = ([0.1, 0.2], None, np.array([0.5]), tf.constant([0.1]), -0.1, 1.5)
    return [raised(lambda rate=rate: tf.nn.dropout(x, rate=rate)) for rate in rates]


def stacked_in_parallel(tf, np):
    a, b = tf.constant([1, 2]), tf.constant([3, 4])
    unknown = tf.placeholder(tf.int32)
    with tf.Session() as session:
        return [
            session.run(tf.parallel_stack([a, b])),
            session.run(tf.parallel_stack([[1, 2], [3, 4]])),
            raised(lambda: tf.parallel_stack([unknown, b])),
            raised(lambda: tf.parallel_stack([tf.constant([1]), b])),
        ]


def values_of_protos(tf, np):
    def value(values, shape, **options):
        found = []

        def make():
            proto = tf.make_tensor_proto(values, shape=shape, **options)
            found.append(tf.make_ndarray(proto))

        error = raised(make)
        return found[0] if error is None else error

    return [
        value([10.0], [3, 4]),
        value([1, 2], [2, 2]),
        value([1, 2, 3], [2]),
        value([], [2], dtype=tf.float32),
        value(5, [2]),
        value(["a"], [2]),
        value([True], [2]),
        value([1j], [2]),
        value([1], [3], dtype=tf.float16),
        value(np.float32([1, 2]), [2, 2]),
        value([1.0, 2.0], [0]),
        value([[1, 2], [3, 4]], [4]),
        value([1.0], [2], verify_shape=True),
        value([1, 2], [3], allow_broadcast=True),
        value([1], [3], allow_broadcast=True),
    ]


PROGRAMS = [
    predicates_of_unknown_shape,
    predicates_of_known_shape,
    questions_in_functions,
    numbers_of_branches,
    rates_of_dropout,
    stacked_in_parallel,
    values_of_protos,
]
