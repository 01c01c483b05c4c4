"""Gradients in replicas: through all_reduce and all_gather, and of mirrored variables."""

from programs.distribute import nest_of_parts, number, parts, two_replicas


def variable(tf, strategy, value=2.0):
    """A variable of the strategy."""
    with strategy.scope():
        return tf.Variable(value)


def all_ways(tf, strategy, replica):
    """What a replica function gives in eager execution, as a function, and inside of one."""
    return [
        nest_of_parts(tf, strategy.run(replica)),
        nest_of_parts(tf, strategy.run(tf.function(replica))),
        nest_of_parts(tf, tf.function(lambda: strategy.run(replica))()),
    ]


def of_a_replicas_own_loss(tf, np):
    strategy = two_replicas(tf)
    v = variable(tf, strategy)

    def replica():
        with tf.GradientTape() as tape:
            loss = v * v * (number(tf) + 1.0)
        return loss, tape.gradient(loss, v)

    return all_ways(tf, strategy, replica)


def through_all_reduce_sum(tf, np):
    strategy = two_replicas(tf)
    v = variable(tf, strategy)

    def replica():
        x = number(tf) + 1.0
        with tf.GradientTape() as tape:
            total = tf.distribute.get_replica_context().all_reduce("SUM", v * x)
            loss = total * total * x
        return loss, tape.gradient(loss, v)

    return all_ways(tf, strategy, replica)


def through_all_reduce_mean(tf, np):
    strategy = two_replicas(tf)
    v = variable(tf, strategy)

    def replica():
        x = number(tf) + 1.0
        with tf.GradientTape() as tape:
            loss = tf.distribute.get_replica_context().all_reduce("MEAN", [v * x, v])
            loss = loss[0] * x + loss[1]
        return loss, tape.gradient(loss, v)

    return all_ways(tf, strategy, replica)


def through_all_gather(tf, np):
    strategy = two_replicas(tf)
    v = variable(tf, strategy)

    def replica():
        x = number(tf) + 1.0
        with tf.GradientTape() as tape:
            rows = tf.distribute.get_replica_context().all_gather(tf.reshape(v * x, [1]), axis=0)
            loss = tf.reduce_sum(rows * [1.0, 10.0]) * x
        return loss, tape.gradient(loss, v)

    eager = nest_of_parts(tf, strategy.run(replica))
    return [eager, nest_of_parts(tf, tf.function(lambda: strategy.run(replica))())]


def a_step_of_descent(tf, np):
    strategy = two_replicas(tf)
    w = variable(tf, strategy, [1.0, -1.0])

    def replica(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((w * x) ** 2)
        (slope,) = tf.distribute.get_replica_context().all_reduce("SUM", [tape.gradient(loss, w)])

        def update(strategy, slope):
            change = lambda part, s: part.assign_sub(0.1 * s)  # noqa: E731
            strategy.extended.update(w, change, args=(slope,), group=False)

        tf.distribute.get_replica_context().merge_call(update, (slope,))
        return loss

    @tf.function
    def step(x):
        losses = strategy.run(replica, (x,))
        return strategy.reduce("SUM", losses, axis=None)

    data = strategy.experimental_distribute_values_from_function(
        lambda c: tf.constant([1.0, 2.0]) * (c.replica_id_in_sync_group + 1)
    )
    return [[step(data).numpy() for _ in range(3)], parts(tf, w)]


def of_a_variable_outside_of_replicas(tf, np):
    strategy = two_replicas(tf)
    v = variable(tf, strategy)
    with tf.GradientTape() as tape:
        y = v * v
    return tape.gradient(y, v).numpy()


def of_rows(tf, np):
    strategy = two_replicas(tf)
    with strategy.scope():
        table = tf.Variable(tf.reshape(tf.range(6.0), [3, 2]))

    def replica():
        with tf.GradientTape() as tape:
            row = tf.gather(table, tf.cast([number(tf)], tf.int32))
            loss = tf.reduce_sum(row * row)
        found = tape.gradient(loss, table)
        total = tf.distribute.get_replica_context().all_reduce("SUM", found)
        return tf.convert_to_tensor(total)

    eager = parts(tf, strategy.run(replica))
    return [eager, parts(tf, tf.function(lambda: strategy.run(replica))())]


PROGRAMS = [
    of_a_replicas_own_loss,
    through_all_reduce_sum,
    through_all_reduce_mean,
    through_all_gather,
    a_step_of_descent,
    of_a_variable_outside_of_replicas,
    of_rows,
]
