"""Graphs and sessions that were reported to differ from TensorFlow's, a program for each report."""

import tempfile
import threading

from programs.support import answers, names, raised, run


def theoretical_and_numeric_gradients(tf, np):
    with tf.Session():
        x = np.array([1.0, 2.0])
        theoretical, numeric = compute_gradient(tf, lambda x: x * x, [x])
        placeholder = tf.placeholder(tf.float32, [2])
        y = placeholder * 3.0
        pair = tf.test.compute_gradient(placeholder, [2], y, [2], x_init_value=np.ones(2, "f"))
        error = tf.test.compute_gradient_error(placeholder, [2], y, [2])
    return [theoretical, np.round(numeric[0], 4), np.round(pair, 2), bool(error < 1e-2)]


def compute_gradient(tf, f, x):
    import importlib

    name = "tensorflow" if tf.__name__.startswith("tensorflow") else "talweg"
    return importlib.import_module(name).test.compute_gradient(f, x)


def sparse_lookups_by_position(tf, np):
    params = tf.constant([[1.0], [2.0], [4.0]])
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([0, 1, 2], tf.int64), [3, 2])
    nn = tf.nn
    return run(
        tf,
        [
            nn.embedding_lookup_sparse(params, ids, None, combiner="sum"),
            nn.embedding_lookup_sparse([params], ids, None, "mod", None, "mean"),
            nn.safe_embedding_lookup_sparse([params], ids, None, "sum"),
            nn.embedding_lookup_sparse([params, params * 10], ids, None, combiner="sum"),
            nn.embedding_lookup_sparse([params, params * 10], ids, None, "div", combiner="sum"),
            nn.safe_embedding_lookup_sparse(
                [params, params[:2] * 10],
                ids,
                combiner="sum",
                default_id=4,
                partition_strategy="mod",
            ),
        ],
    )


def partitioned_variables(tf, np):
    parts = tf.get_variable("e", [4, 4], partitioner=tf.fixed_size_partitioner(2))
    made = tf.create_partitioned_variables([4, 2], [2, 1], tf.zeros_initializer(), name="made")
    variables = list(parts)
    return [
        type(parts).__name__,
        names(variables),
        [v.shape.as_list() for v in variables],
        names(made),
        variables[0]._save_slice_info.spec,
        run(tf, tf.convert_to_tensor(parts)).shape,
        run(tf, parts.as_tensor()).shape,
    ]


def parts_of_variables(tf, np):
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
        rows = tf.get_variable("rows", [5, 2], initializer=tf.ones_initializer())
        scalar = tf.get_variable("scalar", [])
        tf.get_variable("r", [6], regularizer=tf.reduce_sum)
    wide = tf.get_variable(
        "wide",
        initializer=tf.reshape(tf.range(6.0), [2, 3]),
        partitioner=tf.fixed_size_partitioner(3, axis=1),
    )
    with tf.variable_scope("s", reuse=True):
        again = tf.get_variable("rows", [5, 2], partitioner=tf.fixed_size_partitioner(2))
        plain = tf.get_variable("rows")
    infos = [part._save_slice_info for part in wide]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run(
            [tf.matmul(rows, wide), tf.nn.embedding_lookup(wide, [1]), wide.as_tensor()]
        )
        session.run(wide.assign(tf.ones([2, 3])))
        session.run(rows.assign_add(tf.ones([5, 2])))
        values += session.run([list(wide)[1], rows.as_tensor()])
        with tempfile.TemporaryDirectory() as folder:
            path = tf.train.Saver().save(session, folder + "/model")
            saved = [[n, s] for n, s in tf.train.list_variables(path)]
            tf.train.Saver({"w": wide}).save(session, folder + "/one")
            saved += [[n, s] for n, s in tf.train.list_variables(folder + "/one")]
            session.run(tf.global_variables_initializer())
            tf.train.Saver().restore(session, path)
            values.append(session.run(wide.as_tensor()))
    return [
        [again is rows, plain is rows, len(wide), wide.name, wide.shape.as_list(), wide.dtype],
        [[info.spec, info.full_name, info.var_offset, info.var_shape] for info in infos],
        [scalar.name, names(tf.get_collection("regularization_losses"))],
        names(tf.global_variables()),
        values,
        saved,
        [
            raised(lambda f=f: tf.get_variable("x", [4, 4], partitioner=f))
            for f in wrong_partitioners()
        ],
        raised(lambda: tf.gradients(wide.as_tensor(), wide)),
    ]


def wrong_partitioners():
    return [lambda shape, dtype: [2, 2], lambda shape, dtype: [2], lambda shape, dtype: [0, 1], 7]


def unknown_ranks_and_numbers(tf, np):
    x = tf.placeholder(tf.float32)
    block, counts = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    image = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    many = np.arange(4, dtype=np.float32).reshape(4, 1, 1, 1)
    zeros = np.zeros([2, 2], np.int32)
    diagonal = tf.placeholder(tf.float32)
    results = {
        "to batch": (tf.space_to_batch(x, block, 2), {x: image, block: zeros}),
        "from batch": (tf.batch_to_space(x, block, 2), {x: many, block: zeros}),
        "to batch of blocks": (
            tf.space_to_batch_nd(x, [2, 2], block),
            {x: image, block: zeros},
        ),
        "split": (tf.split(x, counts, num=2), {x: np.arange(5.0), counts: [2, 3]}),
        "diagonal": (
            tf.gradients(tf.linalg.set_diag(x, diagonal), [x, diagonal]),
            {x: np.ones([2, 2]), diagonal: [1, 2]},
        ),
        "inverse": (
            tf.linalg.lu_matrix_inverse(*tf.linalg.lu(x)),
            {x: np.array([[2.0, 0.0], [0.0, 4.0]])},
        ),
        "loss": (
            tf.losses.sigmoid_cross_entropy(x, diagonal),
            {x: np.ones([2]), diagonal: np.zeros([2])},
        ),
        "map": (tf.vectorized_map(lambda row: row * 2.0, x), {x: np.ones([2, 3])}),
    }
    with tf.Session() as session:
        return {name: session.run(t, feed) for name, (t, feed) in results.items()}


def classes_of_errors_while_running(tf, np):
    p = tf.placeholder(tf.int32)
    y = tf.roll(p, 1, 0)
    with tf.Session() as session:
        return [
            raised(lambda: y.eval({p: 7})),
            raised(lambda: session.run(y, {p: 7})),
            raised(lambda: y.op.run({p: 7})),
            raised(lambda: tf.reshape(p, [3]).eval({p: [1, 2]})),
        ]


def templates(tf, np):
    def layer(x, size):
        w = tf.get_variable("w", [size], initializer=tf.ones_initializer())
        tf.get_variable("frozen", [1], trainable=False, initializer=tf.zeros_initializer())
        return x * w

    double = tf.make_template("s/d", layer, size=2)
    first = double(3.0)
    second = double(4.0)
    once = tf.make_template("once", layer, create_scope_now_=True, size=3)
    again = tf.make_template("s/d", layer, size=2)
    again(1.0)

    def changing(n):
        return tf.get_variable(f"v{n}", [])

    grows = tf.make_template("grows", changing)
    grows(1)
    unique = tf.make_template("unique", layer, unique_name_="mine", size=1)
    unique(1.0)
    return [
        run(tf, [first, second]),
        names(double.variables),
        names(double.trainable_variables),
        names(double.non_trainable_variables),
        names(double.global_variables),
        [double.variable_scope_name, double.variable_scope.name],
        [once.variable_scope_name, once.variables == []],
        [again.variable_scope_name, names(again.variables)],
        raised(lambda: grows(2)),
        unique.variable_scope_name,
        raised(lambda: tf.make_template("no", 5)),
        raised(lambda: tf.make_template(None, layer)),
        [double.name, double.func is layer],
        [v.name for v in double.local_variables],
    ]


def batch_norm_of_half_precision(tf, np):
    x = tf.placeholder(tf.float16, [2, 1, 1, 2])
    y, mean, variance = tf.nn.fused_batch_norm(x, tf.ones([2]), tf.zeros([2]), is_training=True)
    gradient = tf.gradients(y * y, x)[0]
    fed = {x: [[[[1, 2]]], [[[3, 6]]]]}
    return [y.dtype, mean.dtype, gradient.dtype, run(tf, [y, mean, variance], fed)]


def parallel_stacks(tf, np):
    return run(tf, tf.parallel_stack([tf.constant([1, 2]), tf.constant([3, 4])]))


def functions_that_make_variables(tf, np):
    made = []

    def body(x):
        if not made:
            made.append(tf.Variable(2.0))
        return x * made[0]

    f = function_of(tf)(body)
    y = f(tf.constant(3.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(y), session.run(made[0]), len(tf.global_variables())]


def function_of(tf):
    import importlib

    name = "tensorflow" if tf.__name__.startswith("tensorflow") else "talweg"
    return importlib.import_module(name).function


def predicates_of_one_element(tf, np):
    p = tf.placeholder(tf.bool)
    y = tf.cond(p, lambda: 1, lambda: 2)
    n = tf.placeholder(tf.int32, [])
    with tf.Session() as session:
        return [
            session.run(y, {p: [[True]]}),
            session.run(y, {p: [False]}),
            raised(lambda: session.run(y, {p: [True, False]})),
            raised(lambda: tf.cond(n, lambda: 1, lambda: 2)),
        ]


def what_assignments_give(tf, np):
    v = tf.get_variable("v", [2], use_resource=True)
    w = tf.get_variable("w", [2], use_resource=False)
    base = tf.Variable

    def kind(x):
        return [isinstance(x, base), x.dtype.base_dtype.name, x.shape.as_list()]

    kinds = {
        "assign": kind(tf.assign(v, [1.0, 2.0])),
        "method": kind(v.assign([1.0, 2.0])),
        "add": kind(tf.assign_add(v, [1.0, 2.0])),
        "subtract": kind(v.assign_sub([1.0, 2.0])),
        "operation": [type(v.assign([1.0, 2.0], read_value=False)).__name__, v.initializer.type],
        "reference": kind(tf.assign(w, [1.0, 2.0])),
    }
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with tf.control_dependencies([tf.assign_add(v, tf.assign(v, [1.0, 2.0]))]):
            read = v.read_value()
        values = [session.run(read), session.run(v.assign([5.0, 6.0]) + 1.0)]
    return [kinds, values]


def values_of_other_shapes(tf, np):
    v = tf.get_variable("v", [2], use_resource=False, validate_shape=True)
    free = tf.get_variable(
        "free", initializer=tf.ones([2]), validate_shape=False, use_resource=False
    )
    assigned = tf.assign(v, tf.ones([3]), validate_shape=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [
            raised(lambda: tf.assign(v, tf.ones([3]))),
            session.run(assigned),
            session.run(v),
            session.run(tf.assign(free, tf.zeros([3]), validate_shape=False)),
            session.run(free),
        ]


def collections_in_branches(tf, np):
    seen = []

    def branch():
        tf.add_to_collection("mine", 2)
        seen.append(tf.get_collection("mine"))
        return tf.constant(1.0)

    tf.add_to_collection("mine", 1)
    tf.cond(tf.placeholder(tf.bool, []), branch, lambda: tf.constant(2.0))
    return [seen, tf.get_collection("mine")]


def variables_from_two_threads(tf, np):
    graph, outcomes = tf.get_default_graph(), []

    def make():
        with graph.as_default():
            outcomes.append(raised(lambda: tf.get_variable("same", [])))

    for _ in range(2):
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
    return outcomes


def devices_of_variables_of_gone_graphs(tf, np):
    with tf.Graph().as_default():
        v = tf.get_variable("v", [])
    return [v.device, v.name, v.shape.as_list()]


def gradients_of_arrays(tf, np):
    array = tf.TensorArray(tf.float32, 2, clear_after_read=False, element_shape=[])
    array = array.write(0, 1.0).write(1, 2.0)
    return answers(
        {
            "closed": lambda: array.close() is not None,
            "run": lambda: run(tf, array.close()),
            "gradient": lambda: array.grad("g").size() is not None,
            "stack": lambda: run(tf, array.stack()),
            "unwritten": lambda: run(
                tf, tf.TensorArray(tf.float32, 2, element_shape=[]).write(0, 1.0).stack()
            ),
            "unwritten of unknown shape": lambda: run(
                tf, tf.TensorArray(tf.float32, 2).write(0, 1.0).stack()
            ),
            "read unwritten": lambda: run(
                tf, tf.TensorArray(tf.float32, 2, element_shape=[2]).read(1)
            ),
        }
    )


def losses_of_wrong_weights(tf, np):
    labels, predictions = tf.zeros([2, 3]), tf.ones([2, 3])
    losses = tf.losses
    unknown = tf.placeholder(tf.float32)
    loss = losses.mean_squared_error(labels, predictions, weights=unknown)
    with tf.Session() as session:
        return [
            raised(lambda: losses.mean_squared_error(labels, predictions, weights=tf.ones([3]))),
            raised(
                lambda: losses.absolute_difference(labels, predictions, weights=tf.ones([2, 2]))
            ),
            raised(lambda: losses.log_loss(labels, predictions, weights=tf.ones([4, 3]))),
            raised(lambda: losses.absolute_difference(labels, tf.ones([3, 2]))),
            raised(lambda: losses.absolute_difference(labels, predictions, weights=None)),
            raised(lambda: session.run(loss, {unknown: np.ones([3])})),
            raised(lambda: session.run(loss, {unknown: np.ones([2, 2])})),
            session.run(loss, {unknown: np.ones([2, 1])}),
            raised(lambda: losses.cosine_distance(labels, predictions)),
            raised(lambda: losses.softmax_cross_entropy(tf.ones([2]), tf.ones([2, 2]))),
        ]


def arrays_in_graphs(tf, np):
    def twice_written():
        array = tf.TensorArray(tf.float32, 2).write(0, 1.0)
        return array.write(0, 2.0).write(1, 1.0).stack()

    def twice_read(clear):
        array = tf.TensorArray(tf.float32, 2, clear_after_read=clear)
        array = array.write(0, 1.0).write(1, 2.0)
        first = array.read(0)
        with tf.control_dependencies([first]):
            return first + array.read(0)

    def wrong_dtype():
        return tf.TensorArray(tf.float32, 2).write(0, tf.constant(1)).stack()

    def beyond():
        return tf.TensorArray(tf.float32, 2).write(5, 1.0).stack()

    def wrong_shape():
        return tf.TensorArray(tf.float32, 2, element_shape=[2]).write(0, tf.ones([3])).stack()

    return answers(
        {
            "written": lambda: run(tf, twice_written()),
            "read": lambda: run(tf, twice_read(True)),
            "read and kept": lambda: run(tf, twice_read(False)),
            "dtype": lambda: run(tf, wrong_dtype()),
            "beyond": lambda: run(tf, beyond()),
            "shape": lambda: run(tf, wrong_shape()),
        }
    )


def static_errors_of_dropout_and_hessians(tf, np):
    x = tf.ones([2, 3])
    return [
        raised(lambda: tf.nn.dropout(x, 0.5, noise_shape=[3, 3])),
        raised(lambda: tf.nn.dropout(x, 0.5, noise_shape=[2, 3, 1])),
        raised(lambda: tf.nn.dropout(x, 0.5, noise_shape=[5])),
        raised(lambda: tf.nn.dropout(x, rate=[0.1, 0.2])),
        raised(lambda: tf.nn.dropout(x, keep_prob=0.0)),
    ]


def closed_monitored_sessions(tf, np):
    tf.train.get_or_create_global_step()
    a = tf.constant(1.0)
    closed = []
    for kind in (tf.train.MonitoredSession, tf.train.SingularMonitoredSession):
        session = kind()
        session.run(a)
        session.close()
        closed.append(session)
    return [raised(lambda s=s: s.run(a)) for s in closed] + [s.should_stop() for s in closed]


PROGRAMS = [
    closed_monitored_sessions,
    theoretical_and_numeric_gradients,
    sparse_lookups_by_position,
    partitioned_variables,
    parts_of_variables,
    unknown_ranks_and_numbers,
    classes_of_errors_while_running,
    templates,
    batch_norm_of_half_precision,
    parallel_stacks,
    functions_that_make_variables,
    predicates_of_one_element,
    what_assignments_give,
    values_of_other_shapes,
    collections_in_branches,
    variables_from_two_threads,
    devices_of_variables_of_gone_graphs,
    gradients_of_arrays,
    losses_of_wrong_weights,
    arrays_in_graphs,
    static_errors_of_dropout_and_hessians,
]
