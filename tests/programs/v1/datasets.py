"""tf.compat.v1.data: iterators that sessions run."""

from programs.support import raised


def drained(tf, session, tensors):
    """All elements that a session gets."""
    found = []
    while True:
        try:
            found.append(session.run(tensors))
        except tf.errors.OutOfRangeError:
            return found


def one_shot(tf, np):
    ds = tf.data.Dataset.range(5).shuffle(3, seed=1).map(lambda x: (x, x * x)).batch(2)
    element = tf.data.make_one_shot_iterator(ds).get_next()
    with tf.Session() as session:
        return drained(tf, session, element), [str(x.shape) for x in element]


def one_shot_in_two_sessions(tf, np):
    element = tf.data.Dataset.range(3).make_one_shot_iterator().get_next()
    with tf.Session() as first, tf.Session() as second:
        return [int(s.run(element)) for s in (first, first, second, first, second)]


def once_a_run(tf, np):
    iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(9))
    x, y = iterator.get_next(), iterator.get_next()
    with tf.Session() as session:
        return session.run([x, x + 1]), sorted(session.run([x, y])), int(session.run(x))


def initializable(tf, np):
    given = tf.placeholder(tf.float32, [None])
    ds = tf.data.Dataset.from_tensor_slices(given).map(lambda x: x * 2.0)
    iterator = tf.data.make_initializable_iterator(ds)
    element = iterator.get_next()
    with tf.Session() as session:
        before = raised(lambda: session.run(element))
        session.run(iterator.initializer, {given: [1.0, 2.0]})
        first = float(session.run(element))
        session.run(iterator.initializer, {given: [5.0]})
        return before, first, drained(tf, session, element)


def initialized_again(tf, np):
    ds = tf.data.Dataset.range(5).shuffle(5, seed=3).repeat(2)
    iterator = tf.data.make_initializable_iterator(ds)
    element, found = iterator.get_next(), []
    with tf.Session() as session:
        for _ in range(2):
            session.run(iterator.initializer)
            found.append(drained(tf, session, element))
    return found


def sizes_that_are_fed(tf, np):
    n, size = tf.placeholder(tf.int64, []), tf.placeholder(tf.int64, [])
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(n).batch(size))
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer, {n: 5, size: 2})
        return drained(tf, session, element)


def variables(tf, np):
    v = tf.get_variable("v", [], initializer=tf.constant_initializer(3.0))
    ds = tf.data.Dataset.range(3).map(lambda x: tf.cast(x, tf.float32) * v)
    iterator = tf.data.make_initializable_iterator(ds)
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(iterator.initializer)
        return drained(tf, session, element)


def reinitializable(tf, np):
    first, second = tf.data.Dataset.range(2), tf.data.Dataset.range(10, 13)
    iterator = tf.data.Iterator.from_structure(first.output_types, first.output_shapes)
    begin, other = iterator.make_initializer(first), iterator.make_initializer(second)
    element, found = iterator.get_next(), []
    with tf.Session() as session:
        for operation in (begin, other, begin):
            session.run(operation)
            found.append(drained(tf, session, element))
    wrong = tf.data.Dataset.from_tensors(1.0)
    return (
        found,
        raised(lambda: iterator.make_initializer(wrong)),
        raised(lambda: iterator.initializer),
    )


def handles(tf, np):
    a = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3))
    b = tf.data.make_initializable_iterator(tf.data.Dataset.range(10, 13))
    handle = tf.placeholder(tf.string, [])
    element = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    with tf.Session() as session:
        first, second = session.run([a.string_handle(), b.string_handle()])
        session.run(b.initializer)
        return [int(session.run(element, {handle: h})) for h in (first, second, second, first)]


def legacy_structures(tf, np):
    ds = tf.data.Dataset.from_tensor_slices((np.zeros([2, 3], np.float32), {"a": ["x", "y"]}))
    iterator = tf.data.make_one_shot_iterator(ds)
    return [
        repr(tf.data.get_output_types(ds)),
        repr(tf.data.get_output_shapes(iterator)),
        repr(ds.output_types),
        repr(iterator.output_shapes),
        ds.output_classes[0].__name__,
    ]


def training(tf, np):
    x = np.random.RandomState(0).rand(20, 2).astype(np.float32)
    y = x @ np.array([[1.0], [-2.0]], np.float32)
    ds = tf.data.Dataset.from_tensor_slices((x, y)).repeat(3).batch(5).prefetch(1)
    a, b = tf.data.make_one_shot_iterator(ds).get_next()
    w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean((tf.matmul(a, w) - b) ** 2)
    step = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [loss for loss, _ in drained(tf, session, [loss, step])]
        return len(losses), losses[-1], session.run(w)


def refused(tf, np):
    given = tf.placeholder(tf.int64, [])
    v = tf.get_variable("v", [], tf.int64, tf.zeros_initializer())
    ds = tf.data.Dataset.range(3)
    return [
        raised(lambda: tf.data.make_one_shot_iterator(tf.data.Dataset.range(given))),
        raised(lambda: tf.data.make_one_shot_iterator(ds.map(lambda x: x + v))),
        raised(lambda: [x for x in ds]),
    ]


PROGRAMS = [
    one_shot,
    one_shot_in_two_sessions,
    once_a_run,
    initializable,
    initialized_again,
    sizes_that_are_fed,
    variables,
    reinitializable,
    handles,
    legacy_structures,
    training,
    refused,
]
TOLERANCE = {"training": {"rtol": 1e-4}}
