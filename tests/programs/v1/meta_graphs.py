"""Training programs of the first generation, exchanged as MetaGraphDefs.

A `build(tf, np)` makes a graph that trains and returns what is fetched, with the operation that
makes a step first.  TensorFlow's MetaGraphDef of it is kept (`support.given`); every library
imports that and goes on training.  In `tests/interop/test_exported_training.py` talweg writes the
same builds, and `tools/check_exports.py` has TensorFlow train what talweg wrote.
"""

from programs.support import given

STEPS = 4
TOLERANCE = {"*": {"rtol": 2e-5, "atol": 1e-6}}


def features(np, *shape):
    """Numbers that look like data."""
    return np.sin(np.arange(1, 1 + np.prod(shape), dtype=np.float32) * 0.7).reshape(shape)


def linear(tf, np):
    """(placeholder of rows, weights, loss): a line through rows fed as `x`."""
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.get_variable("w", initializer=np.float32([[0.5], [-0.3], [0.2]]))
    b = tf.get_variable("b", initializer=np.float32([0.1]))
    y = tf.reduce_sum(x * x, 1, keepdims=True)
    return x, w, tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))


def moving_averages(tf, np):
    x, w, loss = linear(tf, np)
    step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    averages = tf.train.ExponentialMovingAverage(0.9, num_updates=step)
    with tf.control_dependencies([train]):
        train = averages.apply(tf.trainable_variables())
    mean = tf.train.ExponentialMovingAverage(0.5, zero_debias=True)
    with tf.control_dependencies([train]):
        train = mean.apply([loss])
    return [train, loss, averages.average(w), mean.average(loss)]


def momentum(tf, np):
    _, w, loss = linear(tf, np)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, step, 2, 0.5, staircase=True)
    optimizer = tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True)
    return [
        optimizer.minimize(loss, global_step=step),
        loss,
        rate,
        optimizer.get_slot(w, "momentum"),
    ]


def batch_normalization(tf, np):
    x = tf.placeholder(tf.float32, [None, 4, 4, 2], name="x")
    training = tf.placeholder_with_default(True, [], name="training")
    filters = tf.constant_initializer(features(np, 3, 3, 2, 3))
    y = tf.layers.conv2d(x, 3, 3, padding="same", use_bias=False, kernel_initializer=filters)
    y = tf.nn.relu(tf.layers.batch_normalization(y, training=training, momentum=0.5))
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(y, [1, 2]) - 1.0))
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies(updates):
        train = tf.train.AdamOptimizer(0.01).minimize(loss)
    return [train, loss, *[v for v in tf.global_variables() if "moving" in v.name]]


def batches_of_an_array(tf, np):
    step = tf.train.get_or_create_global_step()
    rows = tf.constant(features(np, 8, 3))
    start = tf.cast(step, tf.int32) % 4 * 2
    batch = tf.strided_slice(rows, [start, 0], [start + 2, 3])
    w = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
    labels = tf.cast(batch[:, 0] > 0, tf.int32)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.matmul(batch, w))
    train = tf.train.AdagradOptimizer(0.2).minimize(loss, global_step=step)
    return [train, loss, w]


def recurrence(tf, np):
    x = tf.placeholder(tf.float32, [None, None, 2], name="x")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    cell = tf.nn.rnn_cell.GRUCell(3, kernel_initializer=tf.constant_initializer(0.2))
    outputs, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(state - 1.0)) + tf.reduce_sum(outputs) * 0.01
    variables = tf.trainable_variables()
    gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 0.5)
    train = tf.train.AdamOptimizer(0.05).apply_gradients(zip(gradients, variables))
    return [train, loss, norm, outputs]


def loop_that_halves_steps(tf, np):
    x, w, loss = linear(tf, np)
    gradient = tf.gradients(loss, w)[0]
    y = tf.reduce_sum(x * x, 1, keepdims=True)

    def error(size):
        return tf.reduce_mean(tf.square(tf.matmul(x, w - size * gradient) - y))

    size, trips = tf.while_loop(
        lambda size, n: tf.logical_and(error(size) > 0.9 * loss, n < 20),
        lambda size, n: (size * 0.5, n + 1),
        [tf.constant(8.0), tf.constant(0)],
    )
    return [w.assign_sub(size * gradient).op, loss, size, trips]


def branch_that_trains(tf, np):
    _, w, loss = linear(tf, np)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.piecewise_constant(step, [1, 2], [0.1, 0.05, 0.01])
    warm = tf.cond(step < 2, lambda: loss, lambda: loss + 0.1 * tf.reduce_sum(tf.abs(w)))
    train = tf.train.RMSPropOptimizer(rate, momentum=0.3).minimize(warm, global_step=step)
    return [train, warm, rate, w]


def partitioned_embeddings(tf, np):
    ids = tf.placeholder(tf.int64, [None], name="ids")
    table = tf.get_variable(
        "table", [6, 2], initializer=tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(3)
    )
    found = tf.nn.embedding_lookup(table, ids, partition_strategy="div")
    scale = tf.cast(ids[:, None] + 1, tf.float32)
    loss = tf.reduce_sum(tf.square(found * scale - 2.0))
    train = tf.train.AdagradOptimizer(0.1).minimize(loss)
    return [train, loss, found]


def rows_of_a_table(tf, np):
    ids = tf.placeholder(tf.int64, [None], name="ids")
    table = tf.get_variable("table", initializer=features(np, 7, 2))
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids) - 1.0))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    return [train, loss, table]


def rows_by_all_optimizers(tf, np):
    ids = tf.placeholder(tf.int64, [None], name="ids")
    step = tf.train.get_or_create_global_step()
    optimizers = [
        tf.train.GradientDescentOptimizer(0.1),
        tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        tf.train.AdadeltaOptimizer(0.5),
        tf.train.RMSPropOptimizer(0.05, momentum=0.2),
        tf.train.RMSPropOptimizer(0.05, centered=True),
        tf.train.FtrlOptimizer(0.3, l1_regularization_strength=0.01),
        tf.train.FtrlOptimizer(0.3, l2_shrinkage_regularization_strength=0.1),
        tf.train.ProximalGradientDescentOptimizer(0.1, 0.05, 0.02),
        tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.05, 0.02),
        tf.train.AdagradDAOptimizer(0.1, step, l1_regularization_strength=0.01),
    ]
    trains, tables = [step.assign_add(1).op], []
    for number, optimizer in enumerate(optimizers):
        for kind, width in (("rows", 2), ("whole", 1)):
            table = tf.get_variable(f"{kind}_{number}", initializer=features(np, 7, width))
            value = tf.nn.embedding_lookup(table, ids) if kind == "rows" else table
            loss = tf.reduce_sum(tf.square(value - 1.0))
            with tf.control_dependencies(trains[:1]):
                trains.append(optimizer.minimize(loss, var_list=[table]))
            tables.append(table)
    return [tf.group(*trains), *tables]


def summaries(tf, np):
    _, w, loss = linear(tf, np)
    tf.summary.scalar("loss", loss)
    tf.summary.histogram("w", w)
    merged = tf.summary.merge_all()
    train = tf.train.FtrlOptimizer(0.3, l1_regularization_strength=0.01).minimize(loss)
    return [train, loss, tf.not_equal(merged, ""), w]


def updates_by_hand(tf, np):
    _, _, loss = linear(tf, np)
    step = tf.Variable(0, trainable=False, name="step")
    rate = tf.train.cosine_decay(0.2, step, 5)
    variables = tf.trainable_variables()
    gradients = tf.gradients(loss, variables)
    updates = [v.assign_sub(rate * g) for v, g in zip(variables, gradients)]
    with tf.control_dependencies(updates):
        train = tf.group(step.assign_add(1))
    return [train, loss, rate, *variables]


def accumulated_gradients(tf, np):
    _, _, loss = linear(tf, np)
    pairs = tf.train.GradientDescentOptimizer(0.1).compute_gradients(loss)
    sums = [tf.Variable(tf.zeros(v.shape), trainable=False) for _, v in pairs]
    count = tf.get_local_variable("count", [], tf.int32, tf.zeros_initializer())
    added = [s.assign_add(g) for s, (g, _) in zip(sums, pairs)]
    with tf.control_dependencies(added):
        count = count.assign_add(1)

    def apply():
        done = [v.assign_sub(s * 0.05) for s, (_, v) in zip(sums, pairs)]
        with tf.control_dependencies(done):
            return tf.group([s.assign(tf.zeros_like(s)) for s in sums])

    train = tf.cond(tf.equal(count % 2, 0), apply, lambda: tf.no_op())
    return [train, loss, *[v for _, v in pairs]]


BUILDS = [
    moving_averages,
    momentum,
    batch_normalization,
    batches_of_an_array,
    recurrence,
    loop_that_halves_steps,
    branch_that_trains,
    partitioned_embeddings,
    rows_of_a_table,
    rows_by_all_optimizers,
    summaries,
    updates_by_hand,
    accumulated_gradients,
]


def fed(np, shapes, step):
    """What is fed at a step to the placeholders that are there."""
    values = {
        "ids:0": np.int64([1, 4, 4, step]),
        "lengths:0": np.int32([3, 1 + step % 2]),
        "x:0": features(np, 2, 3, 2) + step,
    }
    rank = shapes.get("x:0")
    if rank == 2:
        values["x:0"] = features(np, 5, 3) + np.float32(0.1 * step)
    if rank == 4:
        values["x:0"] = features(np, 2, 4, 4, 2) * np.float32(1 + step)
    return {key: value for key, value in values.items() if key in shapes}


def written(tf, np, build):
    """The graph of a build as a MetaGraphDef, what is fetched in the collection `fetched`."""
    with tf.Graph().as_default() as graph:
        train, *rest = build(tf, np)
        tf.add_to_collection("train", train)
        for tensor in rest:
            tf.add_to_collection("fetched", tf.identity(tensor))
        tf.train.Saver(name="keep")
        return tf.train.export_meta_graph(graph=graph)


def trained(tf, np, meta_graph):
    """Import into a new graph and train: what is fetched before each step, and the variables."""
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta_graph)
        found = []
        names = ("x:0", "ids:0", "lengths:0")
        there = {op.name for op in graph.get_operations()}
        shapes = {
            name: graph.get_tensor_by_name(name).shape.rank
            for name in names
            if name.partition(":")[0] in there
        }
        (train,) = tf.get_collection("train")
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            for step in range(STEPS):
                feed = fed(np, shapes, step)
                found.append(session.run(tf.get_collection("fetched"), feed))
                session.run(train, feed)
            variables = {v.name: v for v in tf.global_variables()}
            return found, session.run(variables)


def parsed(tf, data):
    """The MetaGraphDef of serialized bytes."""
    message = tf.MetaGraphDef()
    message.ParseFromString(data)
    return message


def as_of_old(tf, make):
    """What `make` gives where variables are references and branches are Switch and Merge."""
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    try:
        return make()
    finally:
        tf.enable_control_flow_v2()
        tf.enable_resource_variables()


def _program(build, old):
    """The program that trains what TensorFlow wrote of a build."""
    name = f"{build.__name__}_of_old" if old else build.__name__

    def program(tf, np):
        def make():
            message = as_of_old(tf, write) if old else write()
            return message.SerializeToString(deterministic=True)

        def write():
            return written(tf, np, build)

        return trained(tf, np, parsed(tf, given(f"training_{name}", make)))

    program.__name__ = name
    return program


PROGRAMS = [_program(build, old) for build in BUILDS for old in (False, True)]
