"""Assignments to rows, elements and slices of a variable."""

from programs.support import raised, run


def scattered_assignments(tf, np):
    v = tf.get_variable("v", initializer=np.arange(8, dtype=np.float32).reshape(4, 2))
    functions = (
        "scatter_update scatter_add scatter_sub scatter_mul scatter_div scatter_min scatter_max"
    )
    found = []
    with tf.Session() as session:
        for name in functions.split():
            session.run(v.initializer)
            updates = [[2.0, 3.0], [4.0, 5.0]]
            session.run(getattr(tf, name)(v, [1, 3], updates))
            found.append(session.run(v))
    return found


def scattered_assignments_to_one_row(tf, np):
    v = tf.get_variable("v", initializer=np.ones((3, 2), np.float32))
    add = tf.scatter_add(v, [1, 1], [[2.0, 3.0], [4.0, 5.0]])
    number = tf.scatter_mul(v, 2, 10.0)
    with tf.Session() as session:
        session.run(v.initializer)
        return [session.run(add), session.run(number), raised_out_of_range(tf, session, v)]


def raised_out_of_range(tf, session, v):
    """The class of the error of scattering below the last row."""
    return raised(lambda: session.run(tf.scatter_add(v, [9], [[1.0, 1.0]])))


def scattered_nd_assignments(tf, np):
    v = tf.get_variable("v", initializer=np.zeros((2, 3), np.float32))
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(tf.scatter_nd_update(v, [[0, 1], [1, 2]], [5.0, 6.0]))
        session.run(tf.scatter_nd_add(v, [[0, 1], [0, 1]], [1.0, 1.0]))
        session.run(tf.scatter_nd_sub(v, [[1]], [[1.0, 2.0, 3.0]]))
        return session.run(v)


def assignment_to_a_slice(tf, np):
    v = tf.get_variable("v", initializer=np.zeros((3, 4), np.float32))
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(v[1].assign([1.0, 2.0, 3.0, 4.0]))
        session.run(v[::2, 1:3].assign([[5.0, 6.0], [7.0, 8.0]]))
        return session.run(v)


def indexed_slices_assignments(tf, np):
    v = tf.get_variable("v", initializer=np.zeros((3, 2), np.float32))
    slices = tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([0, 2]))
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(v.scatter_add(slices))
        session.run(v.scatter_sub(slices))
        session.run(v.scatter_update(slices))
        return session.run(v)


def scattering_into_another_dtype(tf, np):
    v = tf.get_variable("v", initializer=np.int32([1, 2, 3]))
    return [
        raised(lambda: tf.scatter_add(v, [0], [1.5])),
        run(tf, tf.scatter_add(v, [0, 2], [10, 20])),
    ]


def scattering_by_a_fed_index(tf, np):
    v = tf.get_variable("v", initializer=np.zeros(4, np.float32))
    n, x = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [None])
    add = tf.scatter_add(v, n, x)
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(add, {n: [0, 3], x: [1.0, 2.0]})
        session.run(add, {n: [3, 3, 3], x: [1.0, 1.0, 1.0]})
        failed = raised(lambda: session.run(add, {n: [0, 1], x: [1.0]}))
        return [failed, session.run(v)]


PROGRAMS = [
    scattered_assignments,
    scattered_assignments_to_one_row,
    scattered_nd_assignments,
    assignment_to_a_slice,
    indexed_slices_assignments,
    scattering_into_another_dtype,
    scattering_by_a_fed_index,
]
