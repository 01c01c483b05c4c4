"""Errors by class, and that the message says which thing is meant."""

from programs.support import raised, run


def message(function):
    """The text of what the call raises."""
    try:
        function()
    except Exception as error:  # only the text is asked for
        return str(error)
    return ""


def another_graph(tf, np):
    with tf.Graph().as_default():
        other = tf.constant(1.0, name="stranger")
    mine = tf.constant(2.0)
    with tf.Session() as session:
        return [
            raised(lambda: session.run(other)),
            raised(lambda: session.run([mine, other])),
            raised(lambda: session.run(mine, {other: 1.0})),
            raised(lambda: mine + other),
            session.run(mine),
        ]


def control_dependency_of_another_graph(tf, np):
    with tf.Graph().as_default():
        other = tf.constant(1.0)

    def mixed():
        with tf.control_dependencies([other]):
            return tf.constant(2.0)

    return raised(mixed)


def variable_of_another_graph(tf, np):
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=1.0)
    tf.constant(1.0)
    with tf.Session() as session:
        return [raised(lambda: session.run(v)), raised(lambda: session.run(v.initializer))]


def uninitialized(tf, np):
    v = tf.get_variable("first", [2])
    w = tf.get_variable("second", initializer=1.0)
    y = v * w
    with tf.Session() as session:
        nothing = raised(lambda: session.run(y))
        session.run(w.initializer)
        text = message(lambda: session.run(y))
        return [nothing, raised(lambda: session.run(y)), "first" in text, "second" in text]


def unfed(tf, np):
    x = tf.placeholder(tf.float32, [None, 3], name="inputs")
    y = tf.reduce_sum(x)
    with tf.Session() as session:
        text = message(lambda: session.run(y))
        return [raised(lambda: session.run(y)), "inputs" in text]


def fed_with_a_wrong_shape(tf, np):
    x = tf.placeholder(tf.float32, [None, 3], name="inputs")
    with tf.Session() as session:
        text = message(lambda: session.run(x * 2.0, {x: np.zeros((2, 4))}))
        return ["inputs" in text, "(2, 4)" in text]


def shapes_found_wrong_when_run(tf, np):
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    made = {
        "add": x + y,
        "matmul": tf.matmul(x, y),
        "concat": tf.concat([x, y], 0),
        "reshape": tf.reshape(x, [7]),
        "gather": tf.gather(x, [5]),
        "slice": tf.slice(x, [0, 0], [9, 1]),
        "split": tf.split(x, 2),
        "stack": tf.stack([x, y]),
        "transpose": tf.transpose(x, [0, 2, 1]),
        "squeeze": tf.squeeze(x, [0]),
        "pad": tf.pad(x, [[1, 1]]),
        "tile": tf.tile(x, [2]),
    }
    feed = {x: np.zeros((3, 2)), y: np.zeros((4, 5))}
    with tf.Session() as session:
        return {key: raised(lambda z=z: session.run(z, feed)) for key, z in made.items()}


def shapes_found_wrong_when_built(tf, np):
    x = tf.placeholder(tf.float32, [3, 2])
    y = tf.placeholder(tf.float32, [4, 5])
    return [
        raised(lambda: x + y),
        raised(lambda: tf.matmul(x, y)),
        raised(lambda: tf.concat([x, y], 0)),
        raised(lambda: tf.reshape(x, [7])),
        raised(lambda: tf.split(x, 2)),
        raised(lambda: tf.stack([x, y])),
        raised(lambda: tf.transpose(x, [0, 2, 1])),
        raised(lambda: tf.squeeze(x, [0])),
        raised(lambda: tf.reduce_sum(x, 2)),
        raised(lambda: x[5]),
        raised(lambda: tf.expand_dims(x, 4)),
        raised(lambda: tf.nn.conv2d(x, y, [1, 1, 1, 1], "SAME")),
    ]


def dtypes_found_wrong_when_built(tf, np):
    x = tf.placeholder(tf.float32, [2, 2])
    n = tf.placeholder(tf.int32, [2, 2])
    return [
        raised(lambda: tf.add(x, n)),
        raised(lambda: tf.matmul(x, n)),
        raised(lambda: tf.concat([x, n], 0)),
        raised(lambda: tf.gather(n, x)),
        raised(lambda: tf.nn.softmax(n)),
        raised(lambda: tf.logical_not(x)),
        raised(lambda: tf.constant("text", tf.float32)),
        raised(lambda: tf.placeholder("no such dtype")),
    ]


def values_found_wrong_when_run(tf, np):
    n = tf.placeholder(tf.int32, [])
    x = tf.placeholder(tf.float32, [None, None])
    made = [
        (n // 0, {n: 1}),
        (tf.zeros([n]), {n: -1}),
        (tf.range(0, 5, n), {n: 0}),
        (tf.gather([1, 2], n), {n: 2}),
        (tf.one_hot([0], n), {n: -2}),
        (tf.eye(n), {n: -1}),
        (tf.linalg.inv(x), {x: [[0.0]]}),
        (tf.reduce_sum(x, n), {x: [[1.0]], n: 4}),
        (tf.nn.top_k(x, 5), {x: [[1.0]]}),
        (tf.unsorted_segment_sum([1.0], [3], n), {n: 2}),
        (tf.reshape(x, [n, -1]), {x: [[1.0]], n: 2}),
    ]
    with tf.Session() as session:
        return [raised(lambda y=y, f=f: session.run(y, f)) for y, f in made]


def finalized(tf, np):
    x = tf.constant(1.0)
    v = tf.get_variable("v", [1])
    tf.get_default_graph().finalize()
    return [
        raised(lambda: x + 1.0),
        raised(lambda: tf.constant(9.0)),
        raised(lambda: tf.get_variable("w", [1])),
        raised(lambda: tf.assign(v, [1.0])),
        raised(lambda: tf.gradients(x, x)),
        raised(lambda: tf.global_variables_initializer()),
        raised(lambda: tf.add_to_collection("c", 1)),
    ]


def duplicate_variables(tf, np):
    tf.get_variable("v", [1])
    text = message(lambda: tf.get_variable("v", [1]))
    return [raised(lambda: tf.get_variable("v", [1])), "v" in text]


def cyclic_control_dependencies(tf, np):
    graph_def = tf.GraphDef()
    for name, other in [("a", "b"), ("b", "a")]:
        node = graph_def.node.add()
        node.name, node.op = name, "NoOp"
        node.input.append("^" + other)
    return raised(lambda: run(tf, tf.import_graph_def(graph_def, return_elements=["a"])))


def error_classes(tf, np):
    names = (
        "OpError CancelledError UnknownError InvalidArgumentError DeadlineExceededError "
        "NotFoundError AlreadyExistsError PermissionDeniedError UnauthenticatedError "
        "ResourceExhaustedError FailedPreconditionError AbortedError OutOfRangeError "
        "UnimplementedError InternalError UnavailableError DataLossError"
    )
    kinds = [getattr(tf.errors, name) for name in names.split()]
    return [[kind.__name__, issubclass(kind, tf.errors.OpError)] for kind in kinds]


def error_attributes(tf, np):
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.check_numerics(x, "the message", name="checked")
    with tf.Session() as session:
        try:
            session.run(y, {x: np.nan})
        except tf.errors.OpError as error:
            code = error.error_code == tf.errors.INVALID_ARGUMENT
            return [error.op.name, error.op.type, code, "the message" in error.message]
    return None


def no_default_session(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    x = tf.constant(1.0)
    return [
        raised(lambda: x.eval()),
        raised(lambda: v.eval()),
        raised(lambda: v.initializer.run()),
        raised(lambda: v.load(2.0)),
    ]


def failing_runs_change_only_what_came_before(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    w = tf.get_variable("w", initializer=1.0)
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([tf.assign(v, 2.0)]):
        checked = tf.check_numerics(1.0 / x, "division")
    with tf.control_dependencies([checked]):
        last = tf.assign(w, 3.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        failed = raised(lambda: session.run(last, {x: 0.0}))
        after = session.run([v, w])
        session.run(last, {x: 1.0})
        return [failed, after, session.run([v, w])]


def placeholder_of_an_unknown_dtype(tf, np):
    return [raised(lambda: tf.placeholder(tf.float32, [-3])), raised(lambda: tf.placeholder(None))]


def session_arguments(tf, np):
    return [
        raised(lambda: tf.Session(graph="text")),
        raised(lambda: tf.Session(config="text")),
        raised(lambda: tf.Session(target=3)),
    ]


def name_scope_arguments(tf, np):
    def enter(name):
        with tf.name_scope(name):
            pass

    return [raised(lambda: enter("a b")), raised(lambda: enter(3)), raised(lambda: enter("fine"))]


PROGRAMS = [
    another_graph,
    control_dependency_of_another_graph,
    variable_of_another_graph,
    uninitialized,
    unfed,
    fed_with_a_wrong_shape,
    shapes_found_wrong_when_run,
    shapes_found_wrong_when_built,
    dtypes_found_wrong_when_built,
    values_found_wrong_when_run,
    finalized,
    duplicate_variables,
    cyclic_control_dependencies,
    error_classes,
    error_attributes,
    no_default_session,
    failing_runs_change_only_what_came_before,
    placeholder_of_an_unknown_dtype,
    session_arguments,
    name_scope_arguments,
]
