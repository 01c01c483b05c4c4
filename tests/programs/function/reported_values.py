"""Programs whose answers were silently other than TensorFlow's, a program for each report."""

from programs.support import answers, raised


def gradient_by_a_captured_tensor(tf, np):
    @tf.function
    def outer(a):
        x3 = a * 2.0

        @tf.function
        def inner():
            return tf.gradients(x3 * x3, a)

        return inner()

    return outer(tf.constant(3.0))


def recomputed_gradient_of_a_variable_twice(tf, np):
    v = tf.Variable(np.ones(3, np.float32))
    product = tf.recompute_grad(lambda i, u: i * u)
    with tf.GradientTape() as tape:
        y = product(v, v)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as other:
        other.watch(x)
        z = product(x, x)
    return [tape.gradient(y, v), other.gradient(z, x)]


def power_gradient_in_half_precision(tf, np):
    x = tf.constant([1.0, 6.0], tf.float16)
    y = tf.constant([6.0, 6.0], tf.float16)
    with tf.GradientTape() as tape:
        tape.watch(y)
        z = tf.pow(x, y)
    return tape.gradient(z, y, output_gradients=tf.constant([1.0, 0.0], tf.float16))


def moments_of_no_weight(tf, np):
    return tf.nn.weighted_moments([[1.0, 2.0], [3.0, 4.0]], [0], tf.zeros([2, 1]))


def clipped_rows_of_a_vector(tf, np):
    table = tf.constant([2.0, 4.0])
    return [
        tf.nn.embedding_lookup(table, 0, max_norm=1.0),
        tf.nn.embedding_lookup(table, [0, 1], max_norm=3.0),
    ]


def lists_of_numpy_scalars(tf, np):
    return [
        tf.convert_to_tensor([np.float16(0), np.array(1.0, np.float16)]).dtype,
        tf.constant([np.int8(1), np.int8(2)]).dtype,
        tf.constant([np.array(1, np.uint8)]).dtype,
    ]


def tensor_of_a_graph_outside(tf, np):
    with tf.Graph().as_default():
        x = tf.constant(1.0)
    return raised(lambda: x + 1)


def arguments_that_a_function_changes(tf, np):
    @tf.function
    def appends(items):
        items.append(tf.constant(1.0))
        return items[0]

    @tf.function
    def adds_a_key(items):
        items["b"] = items["a"]
        return items["a"]

    return answers(
        {
            "list": lambda: appends([tf.constant(2.0)]),
            "dict": lambda: adds_a_key({"a": tf.constant(2.0)}),
        }
    )


def custom_gradient_below_a_stop(tf, np):
    called = []

    @tf.custom_gradient
    def doubled(x):
        def grad(dy):
            called.append(1)
            return dy * 2.0

        return x * 2.0, grad

    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = doubled(tf.stop_gradient(x))
    return [tape.gradient(z, x), len(called)]


def order_of_watched_variables(tf, np):
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    with tf.GradientTape() as tape:
        b * b + a * a
    return [v.name for v in tape.watched_variables()]


def isotonic_regression_of_integers(tf, np):
    results = []
    for dtype in (tf.int32, tf.int64, tf.float32, tf.float64):
        values = tf.constant([[3, 1, 2]], dtype)
        results.append(tf.nn.isotonic_regression(values))
    return results


def mirrored_padding_of_integers_turned_round(tf, np):
    return [
        tf.raw_ops.MirrorPadGrad(input=tf.range(7), paddings=[[2, 2]], mode=mode)
        for mode in ("REFLECT", "SYMMETRIC")
    ]


def saturated_complex_numbers(tf, np):
    big = tf.constant([1e300, float("inf"), -1e300, 1.0], tf.float64)
    return [
        tf.saturate_cast(big, tf.complex64),
        tf.saturate_cast(tf.complex(big, -big), tf.complex64),
    ]


def exponential_integral_at_infinity(tf, np):
    return tf.math.special.expint([float("inf"), float("-inf")])


def numbers_of_a_generator_of_replicas(tf, np):
    strategy = tf.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
    with strategy.scope():
        inside = tf.random.Generator.from_seed(1)
    outside = tf.random.Generator.from_seed(1)
    return [
        strategy.experimental_local_results(strategy.run(lambda: g.normal([])))
        for g in (inside, outside)
    ]


def traces_of_variables(tf, np):
    traced = []

    @tf.function
    def read(v):
        traced.append(1)
        return v.read_value()

    values = [read(tf.Variable(1)), read(tf.Variable(2)), read(tf.Variable(3.0))]
    return [values, len(traced)]


PROGRAMS = [
    gradient_by_a_captured_tensor,
    recomputed_gradient_of_a_variable_twice,
    power_gradient_in_half_precision,
    moments_of_no_weight,
    clipped_rows_of_a_vector,
    lists_of_numpy_scalars,
    tensor_of_a_graph_outside,
    arguments_that_a_function_changes,
    custom_gradient_below_a_stop,
    order_of_watched_variables,
    isotonic_regression_of_integers,
    mirrored_padding_of_integers_turned_round,
    saturated_complex_numbers,
    exponential_integral_at_infinity,
    numbers_of_a_generator_of_replicas,
    traces_of_variables,
]
