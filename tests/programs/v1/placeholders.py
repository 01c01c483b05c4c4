"""Placeholders: shapes known in part, defaults, and what feeds are refused."""

from programs.support import raised, run, static


def unknown_rank(tf, np):
    x = tf.placeholder(tf.float32)
    y = tf.reduce_sum(x * 2.0)
    with tf.Session() as session:
        values = [np.float32(3), np.ones(4), np.ones((2, 3)), np.ones((1, 2, 1, 2))]
        return [static(x), static(y), x.shape.rank, [session.run(y, {x: v}) for v in values]]


def rank_found_when_run(tf, np):
    x = tf.placeholder(tf.float32)
    with tf.Session() as session:
        fetches = [tf.rank(x), tf.shape(x), tf.size(x)]
        return [session.run(fetches, {x: np.zeros(shape)}) for shape in [(), (3,), (2, 0, 4)]]


def unknown_dimensions(tf, np):
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.reduce_sum(x, 0)
    with tf.Session() as session:
        return [static(y), [session.run(y, {x: np.ones((n, 3))}) for n in (0, 1, 5)]]


def shape_given_as_an_int_or_shape(tf, np):
    made = [
        tf.placeholder(tf.float32, []),
        tf.placeholder(tf.float32, 3),
        tf.placeholder(tf.float32, (None,)),
        tf.placeholder(tf.float32, tf.TensorShape([2, None])),
        tf.placeholder(tf.float32, tf.TensorShape(None)),
        tf.placeholder(tf.float32, shape=None),
        tf.placeholder("int64", [tf.Dimension(4), None]),
    ]
    return [[static(x) for x in made], made[-1].dtype]


def wrong_shapes_are_refused(tf, np):
    x = tf.placeholder(tf.float32, [None, 3])
    y = x + 1.0
    with tf.Session() as session:
        shapes = [(2, 4), (3,), (2, 3, 1), ()]
        refused = [raised(lambda s=s: session.run(y, {x: np.zeros(s)})) for s in shapes]
        return [refused, session.run(y, {x: np.zeros((1, 3))})]


def wrong_dtypes_are_refused(tf, np):
    x = tf.placeholder(tf.float32, [2])
    n = tf.placeholder(tf.int32, [])
    with tf.Session() as session:
        return [
            raised(lambda: session.run(x + 1.0, {x: ["a", "b"]})),
            raised(lambda: session.run(x + 1.0, {x: [[1.0], [2.0, 3.0]]})),
            raised(lambda: session.run(n + 1, {n: 2**40})),
        ]


def numbers_of_another_dtype_are_cast(tf, np):
    n = tf.placeholder(tf.int32, [2])
    x = tf.placeholder(tf.float32, [2])
    feeds = {n: np.float64([1.0, 2.0]), x: np.array([1, 2], np.int64)}
    return run(tf, [n + 1, x / 2.0], feeds)


def unfed_placeholders(tf, np):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.placeholder(tf.float32, [2], name="y")
    total = x + y
    with tf.Session() as session:
        return [
            raised(lambda: session.run(total)),
            raised(lambda: session.run(total, {x: [1.0, 2.0]})),
            raised(lambda: session.run(x)),
            session.run(x * 1.0, {x: [1.0, 2.0]}),
        ]


def unfed_message_names_the_placeholder(tf, np):
    x = tf.placeholder(tf.float32, [2], name="the_input")
    with tf.Session() as session:
        try:
            session.run(x + 1.0)
        except tf.errors.InvalidArgumentError as error:
            return "the_input" in str(error)
    return None


def default_values(tf, np):
    x = tf.placeholder_with_default(np.float32([1, 2]), [None], name="x")
    y = x * 2.0
    with tf.Session() as session:
        fed = session.run(y, {x: [5.0, 6.0, 7.0]})
        return [session.run(y), fed, static(x), x.op.type, x.name]


def default_value_is_a_tensor(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    x = tf.placeholder_with_default(v + 1.0, [2])
    gradient = tf.gradients(tf.reduce_sum(x * x), v)[0]
    with tf.Session() as session:
        session.run(v.initializer)
        return [session.run([x, gradient]), session.run([x, gradient], {x: [7.0, 8.0]})]


def default_value_of_another_shape(tf, np):
    x = tf.placeholder_with_default(np.ones((2, 3), np.float32), [None, None])
    scalar = tf.placeholder_with_default(3, [])
    return [
        static(x),
        run(tf, x + 1.0, {x: np.zeros((1, 1))}),
        run(tf, scalar * 2),
        scalar.dtype,
        raised(lambda: tf.placeholder_with_default(np.ones((2, 3), np.float32), [4])),
    ]


def training_flag(tf, np):
    training = tf.placeholder_with_default(False, [], name="training")
    x = tf.placeholder(tf.float32, [2])
    y = tf.cond(training, lambda: x * 0.5, lambda: x)
    with tf.Session() as session:
        return [
            session.run(y, {x: [2.0, 4.0]}),
            session.run(y, {x: [2.0, 4.0], training: True}),
            static(y),
        ]


def narrowing_a_shape(tf, np):
    x = tf.placeholder(tf.float32)
    before = static(x)
    x.set_shape([None, 2])
    y = tf.ensure_shape(x, [3, None])
    refused = raised(lambda: x.set_shape([None, 4]))
    with tf.Session() as session:
        fetched = session.run(y, {x: np.ones((3, 2))})
        failed = raised(lambda: session.run(y, {x: np.ones((4, 2))}))
    return [before, static(x), static(y), refused, fetched, failed]


def fed_rows_of_every_number(tf, np):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    W = tf.constant([[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]])
    y = tf.nn.softmax(tf.matmul(x, W))
    with tf.Session() as session:
        return [static(y), [session.run(y, {x: np.ones((n, 2)) * n}) for n in (1, 2, 3, 0)]]


def broadcasting_found_when_run(tf, np):
    x = tf.placeholder(tf.float32, [None, None])
    y = tf.placeholder(tf.float32, [None])
    total = x + y
    grads = tf.gradients(total, [x, y])
    with tf.Session() as session:
        shapes = [((2, 3), (3,)), ((2, 1), (4,)), ((2, 3), (1,))]
        found = [
            session.run([total, grads], {x: np.ones(a), y: np.arange(b[0])}) for a, b in shapes
        ]
        failed = raised(lambda: session.run(total, {x: np.ones((2, 3)), y: np.ones(2)}))
    return [static(total), found, failed]


def reshape_28_by_28(tf, np):
    input_tensor = tf.placeholder(tf.float32)
    reshape_to_28 = tf.reshape(input_tensor, shape=[28, 28])
    with tf.Session() as session:
        got = session.run(reshape_to_28, {input_tensor: np.arange(784)})
        failed = raised(lambda: session.run(reshape_to_28, {input_tensor: np.arange(783)}))
    return [static(reshape_to_28), got.shape, got[3, 5], failed]


PROGRAMS = [
    unknown_rank,
    rank_found_when_run,
    unknown_dimensions,
    shape_given_as_an_int_or_shape,
    wrong_shapes_are_refused,
    wrong_dtypes_are_refused,
    numbers_of_another_dtype_are_cast,
    unfed_placeholders,
    unfed_message_names_the_placeholder,
    default_values,
    default_value_is_a_tensor,
    default_value_of_another_shape,
    training_flag,
    narrowing_a_shape,
    fed_rows_of_every_number,
    broadcasting_found_when_run,
    reshape_28_by_28,
]
