"""Optimizers of `tf.train`: five steps, dense and sparse, slots, steps, clipping."""

from programs.support import dense, names, raised, run


def train(tf, np, optimizer, steps=5, dtype="float32"):
    """The variable after each step of minimizing a small quadratic."""
    v = tf.get_variable("v", initializer=np.array([1.0, -2.0, 0.5], dtype))
    w = tf.get_variable("w", initializer=np.array(3.0, dtype))
    loss = tf.reduce_sum(tf.square(v - np.array([0.5, 1.0, 0.0], dtype))) * w + w * w
    step = optimizer.minimize(loss)
    return follow(tf, step, [v, w], steps)


def train_rows(tf, np, optimizer, steps=5):
    """The table after each step of minimizing squares of some of its rows, one of them twice."""
    table = tf.get_variable("table", initializer=np.arange(8, dtype=np.float32).reshape(4, 2) / 4)
    rows = tf.gather(table, [1, 3, 1])
    step = optimizer.minimize(tf.reduce_sum(tf.square(rows - 1.0)))
    return follow(tf, step, table, steps)


def follow(tf, step, watched, steps):
    """What is watched, after each of the steps."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = []
        for _ in range(steps):
            session.run(step)
            found.append(session.run(watched))
        return found


def gradient_descent(tf, np):
    return train(tf, np, tf.train.GradientDescentOptimizer(0.1))


def gradient_descent_on_rows(tf, np):
    return train_rows(tf, np, tf.train.GradientDescentOptimizer(0.1))


def momentum(tf, np):
    return train(tf, np, tf.train.MomentumOptimizer(0.05, 0.9))


def momentum_on_rows(tf, np):
    return train_rows(tf, np, tf.train.MomentumOptimizer(0.05, 0.9))


def momentum_of_nesterov(tf, np):
    return train(tf, np, tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True))


def momentum_of_nesterov_on_rows(tf, np):
    return train_rows(tf, np, tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True))


def adagrad(tf, np):
    return train(tf, np, tf.train.AdagradOptimizer(0.3))


def adagrad_on_rows(tf, np):
    return train_rows(tf, np, tf.train.AdagradOptimizer(0.3, initial_accumulator_value=0.5))


def adadelta(tf, np):
    return train(tf, np, tf.train.AdadeltaOptimizer(2.0, rho=0.9, epsilon=1e-3))


def adadelta_on_rows(tf, np):
    return train_rows(tf, np, tf.train.AdadeltaOptimizer(2.0, rho=0.9, epsilon=1e-3))


def rmsprop(tf, np):
    return train(tf, np, tf.train.RMSPropOptimizer(0.05))


def rmsprop_with_momentum(tf, np):
    return train(tf, np, tf.train.RMSPropOptimizer(0.05, decay=0.8, momentum=0.5, epsilon=1e-3))


def rmsprop_centered(tf, np):
    return train(tf, np, tf.train.RMSPropOptimizer(0.05, momentum=0.3, centered=True))


def rmsprop_on_rows(tf, np):
    return train_rows(tf, np, tf.train.RMSPropOptimizer(0.05, momentum=0.5))


def rmsprop_centered_on_rows(tf, np):
    return train_rows(tf, np, tf.train.RMSPropOptimizer(0.05, momentum=0.5, centered=True))


def adam(tf, np):
    return train(tf, np, tf.train.AdamOptimizer(0.1))


def adam_with_other_decays(tf, np):
    return train(tf, np, tf.train.AdamOptimizer(0.1, beta1=0.5, beta2=0.9, epsilon=1e-2))


def adam_on_rows(tf, np):
    return train_rows(tf, np, tf.train.AdamOptimizer(0.1))


def ftrl(tf, np):
    return train(tf, np, tf.train.FtrlOptimizer(0.3))


def ftrl_with_penalties(tf, np):
    optimizer = tf.train.FtrlOptimizer(
        0.3,
        learning_rate_power=-0.5,
        initial_accumulator_value=0.2,
        l1_regularization_strength=0.1,
        l2_regularization_strength=0.2,
    )
    return train(tf, np, optimizer)


def ftrl_with_shrinkage(tf, np):
    return train(tf, np, tf.train.FtrlOptimizer(0.3, l2_shrinkage_regularization_strength=0.1))


def ftrl_on_rows(tf, np):
    return train_rows(tf, np, tf.train.FtrlOptimizer(0.3, l1_regularization_strength=0.05))


def proximal_gradient_descent(tf, np):
    optimizer = tf.train.ProximalGradientDescentOptimizer(
        0.1, l1_regularization_strength=0.2, l2_regularization_strength=0.1
    )
    return train(tf, np, optimizer)


def proximal_adagrad(tf, np):
    optimizer = tf.train.ProximalAdagradOptimizer(
        0.3, l1_regularization_strength=0.2, l2_regularization_strength=0.1
    )
    return train(tf, np, optimizer)


def double_precision(tf, np):
    kinds = [
        tf.train.GradientDescentOptimizer(0.1),
        tf.train.MomentumOptimizer(0.05, 0.9),
        tf.train.AdagradOptimizer(0.3),
        tf.train.AdadeltaOptimizer(2.0, rho=0.9, epsilon=1e-3),
        tf.train.RMSPropOptimizer(0.05),
        tf.train.AdamOptimizer(0.1),
        tf.train.FtrlOptimizer(0.3),
    ]
    found = []
    for kind in kinds:
        with tf.variable_scope(f"kind_{len(found)}"):
            found.append(train(tf, np, kind, steps=3, dtype="float64")[-1])
    return found


def learning_rates_that_are_tensors(tf, np):
    rate = tf.placeholder(tf.float32, [])
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    kinds = [
        tf.train.GradientDescentOptimizer(rate),
        tf.train.AdamOptimizer(learning_rate=rate),
        tf.train.MomentumOptimizer(rate, momentum=rate * 2.0),
    ]
    loss = tf.reduce_sum(v * v)
    steps = [kind.minimize(loss) for kind in kinds]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = []
        for step in steps:
            for given in (0.1, 0.2):
                session.run(step, {rate: given})
                found.append(session.run(v))
        return found


def learning_rate_that_is_called(tf, np):
    return train(tf, np, tf.train.GradientDescentOptimizer(lambda: 0.1), steps=2)


def compute_and_apply_gradients(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    w = tf.get_variable("w", initializer=3.0)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    pairs = optimizer.compute_gradients(tf.reduce_sum(v * v) + 5.0 * w)
    step = optimizer.apply_gradients([(gradient * 2.0, variable) for gradient, variable in pairs])
    same = [variable is other for (_, variable), other in zip(pairs, [v, w])]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run([gradient for gradient, _ in pairs])
        return [same, before, session.run(step), session.run([v, w])]


def compute_gradients_of_some(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    w = tf.get_variable("w", initializer=3.0)
    u = tf.get_variable("u", initializer=4.0)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    loss = tf.reduce_sum(v * w)
    pairs = optimizer.compute_gradients(loss)
    some = optimizer.compute_gradients(loss, [w])
    weighted = optimizer.compute_gradients(loss, [w], grad_loss=tf.constant(10.0))
    step = optimizer.apply_gradients(pairs)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        gradients = session.run([some[0][0], weighted[0][0]])
        session.run(step)
        found = [gradient is None for gradient, _ in pairs]
        return [found, names([x for _, x in pairs]), gradients, session.run([v, w, u])]


def minimize_some(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    w = tf.get_variable("w", initializer=2.0)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(v * w, var_list=[w])
    return follow(tf, step, [v, w], 2)


def minimize_leaves_what_is_not_trained(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    w = tf.get_variable("w", initializer=2.0, trainable=False)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(v * w)
    return follow(tf, step, [v, w], 2)


def minimize_errors(tf, np):
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    x = tf.constant(1.0)
    found = [raised(lambda: optimizer.minimize(x))]
    v = tf.get_variable("v", initializer=1.0)
    found.append(raised(lambda: optimizer.minimize(x)))
    found.append(raised(lambda: optimizer.apply_gradients([])))
    found.append(raised(lambda: optimizer.apply_gradients([(None, v)])))
    return found


def global_step_counts(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    step = tf.train.get_or_create_global_step()
    update = tf.train.AdamOptimizer(0.1).minimize(v * v, global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(step)]
        for _ in range(3):
            session.run(update)
            found.append(session.run(step))
        return [found, tf.train.global_step(session, step)]


def minimize_is_named(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    first = tf.train.GradientDescentOptimizer(0.1).minimize(v * v, name="descend")
    optimizer = tf.train.AdamOptimizer(0.1, name="quick")
    return [first.name, optimizer.get_name(), optimizer.minimize(v * v).name]


def slots(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    loss = tf.reduce_sum(v * v)
    kinds = {
        "descent": tf.train.GradientDescentOptimizer(0.1),
        "momentum": tf.train.MomentumOptimizer(0.1, 0.9),
        "adagrad": tf.train.AdagradOptimizer(0.1),
        "adadelta": tf.train.AdadeltaOptimizer(0.1),
        "rmsprop": tf.train.RMSPropOptimizer(0.1),
        "centered": tf.train.RMSPropOptimizer(0.1, centered=True),
        "adam": tf.train.AdamOptimizer(0.1),
        "ftrl": tf.train.FtrlOptimizer(0.1),
    }
    found = {}
    for key, optimizer in kinds.items():
        optimizer.minimize(loss)
        slot_names = optimizer.get_slot_names()
        values = run(tf, {name: optimizer.get_slot(v, name) for name in slot_names})
        variables = names(optimizer.variables())
        found[key] = [slot_names, values, sorted(variables)]
    return found


def slot_values_after_steps(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    loss = tf.reduce_sum(v * v)
    optimizer = tf.train.AdamOptimizer(0.1)
    step = optimizer.minimize(loss)
    watched = [optimizer.get_slot(v, "m"), optimizer.get_slot(v, "v"), *optimizer.variables()[:2]]
    return [follow(tf, step, watched, 2), optimizer.get_slot(v, "none")]


def slot_variables_are_not_trained(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(v * v))
    return [names(tf.global_variables()), names(tf.trainable_variables())]


def clipping_by_value(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, -20]))
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    pairs = optimizer.compute_gradients(tf.reduce_sum(v * v))
    step = optimizer.apply_gradients([(tf.clip_by_value(g, -3.0, 3.0), x) for g, x in pairs])
    return follow(tf, step, v, 2)


def clipping_by_norms(tf, np):
    v = tf.get_variable("v", initializer=np.float32([3, 4]))
    w = tf.get_variable("w", initializer=12.0)
    gradients = tf.gradients(0.5 * (tf.reduce_sum(v * v) + w * w), [v, w])
    clipped, norm = tf.clip_by_global_norm(gradients, 6.5)
    single = tf.clip_by_norm(gradients[0], 1.0)
    step = tf.train.GradientDescentOptimizer(1.0).apply_gradients(zip(clipped, [v, w]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run([clipped, norm, single, tf.global_norm(gradients)])
        session.run(step)
        return [found, session.run([v, w])]


def clipping_sparse_gradients(tf, np):
    table = tf.get_variable("table", initializer=np.ones((3, 2), np.float32))
    gradients = tf.gradients(tf.reduce_sum(tf.gather(table, [0, 2]) * 5.0), table)
    clipped, norm = tf.clip_by_global_norm([*gradients, None], 1.0)
    got = run(tf, [clipped[0], norm])
    return [dense(got[0]), got[1], clipped[1]]


def accumulated_gradients(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    x = tf.placeholder(tf.float32, [2])
    total = tf.Variable(tf.zeros([2]), trainable=False)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    gradient = optimizer.compute_gradients(tf.reduce_sum(v * x))[0][0]
    add, clear = tf.assign_add(total, gradient), tf.assign(total, tf.zeros([2]))
    step = optimizer.apply_gradients([(total, v)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for given in ([1.0, 0.0], [0.0, 2.0], [3.0, 3.0]):
            session.run(add, {x: given})
        session.run(step)
        session.run(clear)
        return session.run([v, total])


def two_optimizers_share_a_model(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    w = tf.get_variable("w", initializer=np.float32([3, 4]))
    loss = tf.reduce_sum(v * v * w)
    first = tf.train.AdamOptimizer(0.1).minimize(loss, var_list=[v])
    second = tf.train.MomentumOptimizer(0.1, 0.5).minimize(loss, var_list=[w])
    return follow(tf, tf.group(first, second), [v, w], 3)


def linear_regression(tf, np):
    random = np.random.RandomState(0)
    inputs = random.rand(20, 2).astype(np.float32)
    targets = inputs @ np.float32([[2.0], [-1.0]]) + 0.5
    x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 1])
    W, b = tf.Variable(tf.zeros([2, 1])), tf.Variable(tf.zeros([1]))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, W) + b - y))
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step], {x: inputs, y: targets})[0] for _ in range(50)]
        return [losses[::10], session.run([W, b])]


def control_dependencies_before_the_step(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    count = tf.get_variable("count", initializer=0, trainable=False)
    with tf.control_dependencies([tf.assign_add(count, 1)]):
        step = tf.train.GradientDescentOptimizer(0.1).minimize(v * v)
    return follow(tf, step, [v, count], 2)


def result_of_minimize_is_an_operation(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(v * v)
    with tf.Session() as session:
        session.run(v.initializer)
        return [isinstance(step, tf.Operation), session.run(step), session.run([step, v])[0]]


def locking_and_aggregation_are_accepted(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    optimizer = tf.train.GradientDescentOptimizer(0.1, use_locking=True)
    step = optimizer.minimize(
        v * v,
        gate_gradients=tf.train.Optimizer.GATE_GRAPH,
        aggregation_method=tf.AggregationMethod.ADD_N,
        colocate_gradients_with_ops=True,
    )
    return follow(tf, step, v, 2)


PROGRAMS = [
    gradient_descent,
    gradient_descent_on_rows,
    momentum,
    momentum_on_rows,
    momentum_of_nesterov,
    momentum_of_nesterov_on_rows,
    adagrad,
    adagrad_on_rows,
    adadelta,
    adadelta_on_rows,
    rmsprop,
    rmsprop_with_momentum,
    rmsprop_centered,
    rmsprop_on_rows,
    rmsprop_centered_on_rows,
    adam,
    adam_with_other_decays,
    adam_on_rows,
    ftrl,
    ftrl_with_penalties,
    ftrl_with_shrinkage,
    ftrl_on_rows,
    proximal_gradient_descent,
    proximal_adagrad,
    double_precision,
    learning_rates_that_are_tensors,
    learning_rate_that_is_called,
    compute_and_apply_gradients,
    compute_gradients_of_some,
    minimize_some,
    minimize_leaves_what_is_not_trained,
    minimize_errors,
    global_step_counts,
    minimize_is_named,
    slots,
    slot_values_after_steps,
    slot_variables_are_not_trained,
    clipping_by_value,
    clipping_by_norms,
    clipping_sparse_gradients,
    accumulated_gradients,
    two_optimizers_share_a_model,
    linear_regression,
    control_dependencies_before_the_step,
    result_of_minimize_is_an_operation,
    locking_and_aggregation_are_accepted,
]
