"""Learning rates that change with the step, and moving averages."""

from programs.support import names, raised, run

STEPS = [0, 1, 3, 5, 9, 10, 14, 25]


def over_steps(tf, make):
    """The rate at each of `STEPS`, the step being fed."""
    step = tf.placeholder(tf.int32, [])
    rate = make(step)
    with tf.Session() as session:
        return [session.run(rate, {step: number}) for number in STEPS]


def exponential_decay(tf, np):
    smooth = over_steps(tf, lambda step: tf.train.exponential_decay(0.5, step, 10, 0.8))
    stairs = over_steps(tf, lambda step: tf.train.exponential_decay(0.5, step, 4, 0.8, True))
    return [smooth, stairs]


def natural_exponential_decay(tf, np):
    smooth = over_steps(tf, lambda step: tf.train.natural_exp_decay(0.5, step, 10, 0.3))
    stairs = over_steps(tf, lambda step: tf.train.natural_exp_decay(0.5, step, 4, 0.3, True))
    return [smooth, stairs]


def inverse_time_decay(tf, np):
    smooth = over_steps(tf, lambda step: tf.train.inverse_time_decay(0.5, step, 10, 0.3))
    stairs = over_steps(tf, lambda step: tf.train.inverse_time_decay(0.5, step, 4, 0.3, True))
    return [smooth, stairs]


def polynomial_decay(tf, np):
    line = over_steps(tf, lambda step: tf.train.polynomial_decay(0.5, step, 10, 0.1))
    curve = over_steps(tf, lambda step: tf.train.polynomial_decay(0.5, step, 10, 0.1, power=2.0))
    again = over_steps(tf, lambda step: tf.train.polynomial_decay(0.5, step, 10, 0.1, cycle=True))
    return [line, curve, again]


def piecewise_constant(tf, np):
    return over_steps(tf, lambda step: tf.train.piecewise_constant(step, [3, 9], [1.0, 0.5, 0.1]))


def piecewise_constant_of_floats(tf, np):
    def make(step):
        return tf.train.piecewise_constant(tf.cast(step, tf.float32), [3.5, 9.5], [1.0, 0.5, 0.1])

    return [over_steps(tf, make), raised(lambda: tf.train.piecewise_constant(1, [3], [1.0]))]


def cosine_decay(tf, np):
    whole = over_steps(tf, lambda step: tf.train.cosine_decay(0.5, step, 10))
    part = over_steps(tf, lambda step: tf.train.cosine_decay(0.5, step, 10, alpha=0.2))
    return [whole, part]


def cosine_decay_restarts(tf, np):
    plain = over_steps(tf, lambda step: tf.train.cosine_decay_restarts(0.5, step, 4))
    changed = over_steps(
        tf,
        lambda step: tf.train.cosine_decay_restarts(0.5, step, 4, t_mul=1.5, m_mul=0.8, alpha=0.1),
    )
    return [plain, changed]


def linear_cosine_decay(tf, np):
    return over_steps(tf, lambda step: tf.train.linear_cosine_decay(0.5, step, 10))


def noisy_linear_cosine_decay(tf, np):
    rates = over_steps(
        tf, lambda step: tf.train.noisy_linear_cosine_decay(0.5, step, 10, initial_variance=0.0)
    )
    noisy = over_steps(tf, lambda step: tf.train.noisy_linear_cosine_decay(0.5, step, 10))
    return [rates, [[rate.dtype.name, rate.shape] for rate in noisy]]


def decay_follows_the_global_step(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, step, 1, 0.5)
    update = tf.train.GradientDescentOptimizer(rate).minimize(v * v, global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = []
        for _ in range(3):
            session.run(update)
            found.append(session.run([v, rate, step]))
        return found


def decay_needs_a_step(tf, np):
    return raised(lambda: tf.train.exponential_decay(0.1, None, 10, 0.5))


def moving_average(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    averages = tf.train.ExponentialMovingAverage(0.9)
    update = averages.apply([v])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(averages.average(v))]
        for number in (10.0, 20.0):
            session.run(tf.assign(v, [number, -number]))
            session.run(update)
            found.append(session.run(averages.average(v)))
        return found


def moving_average_with_a_count(tf, np):
    v = tf.get_variable("v", initializer=1.0)
    count = tf.get_variable("count", initializer=0, trainable=False)
    averages = tf.train.ExponentialMovingAverage(0.99, num_updates=count)
    update = averages.apply([v])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = []
        for number in (10.0, 20.0, 30.0):
            session.run([tf.assign(v, number), tf.assign_add(count, 3)])
            session.run(update)
            found.append(session.run(averages.average(v)))
        return found


def moving_average_of_a_tensor(tf, np):
    x = tf.placeholder(tf.float32, [2])
    y = tf.multiply(x, 1.0, name="y")
    averages = tf.train.ExponentialMovingAverage(0.5, zero_debias=True)
    update = averages.apply([y])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = []
        for given in ([2.0, 4.0], [4.0, 8.0], [0.0, 0.0]):
            session.run(update, {x: given})
            found.append(session.run(averages.average(y)))
        return found


def moving_average_names(tf, np):
    v = tf.get_variable("v", [2])
    w = tf.get_variable("w", [2], trainable=False)
    averages = tf.train.ExponentialMovingAverage(0.9)
    averages.apply([v])
    named = {key: value.name for key, value in sorted(averages.variables_to_restore().items())}
    return {
        "average": averages.average(v).name,
        "none": averages.average(w),
        "key": averages.average_name(v),
        "collection": names(tf.moving_average_variables()),
        "restored": named,
        "trained": names(tf.trainable_variables()),
        "name": averages.name,
    }


def moving_average_of_all_trained(tf, np):
    tf.get_variable("v", initializer=1.0)
    tf.get_variable("w", initializer=2.0)
    averages = tf.train.ExponentialMovingAverage(0.9)
    averages.apply()
    return [averages.average(v).name for v in tf.trainable_variables()]


def training_with_a_moving_average(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(v * v))
    averages = tf.train.ExponentialMovingAverage(0.5)
    with tf.control_dependencies([step]):
        update = averages.apply([v])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(update)
        return session.run([v, averages.average(v)])


def moving_average_of_integers(tf, np):
    v = tf.get_variable("v", initializer=np.int32([1, 2]))
    return raised(lambda: tf.train.ExponentialMovingAverage(0.5).apply([v]))


def rate_of_a_float_step(tf, np):
    return run(tf, [tf.train.exponential_decay(1.0, tf.constant(2.5), 5.0, 0.25)])


PROGRAMS = [
    exponential_decay,
    natural_exponential_decay,
    inverse_time_decay,
    polynomial_decay,
    piecewise_constant,
    piecewise_constant_of_floats,
    cosine_decay,
    cosine_decay_restarts,
    linear_cosine_decay,
    noisy_linear_cosine_decay,
    decay_follows_the_global_step,
    decay_needs_a_step,
    moving_average,
    moving_average_with_a_count,
    moving_average_of_a_tensor,
    moving_average_names,
    moving_average_of_all_trained,
    training_with_a_moving_average,
    moving_average_of_integers,
    rate_of_a_float_step,
]
