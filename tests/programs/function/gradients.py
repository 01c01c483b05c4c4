"""Gradients in and around traced functions: tapes, `tf.gradients`, jacobians, forward mode."""

from programs.support import raised


def tape_around_a_function(tf, np):
    @tf.function
    def f(x):
        return tf.sin(x) * x

    x = tf.constant([0.5, 1.5], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x).numpy()


def tape_inside_a_function(tf, np):
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x) * x
        return tape.gradient(y, x)

    return f(tf.constant([0.5, 1.5], tf.float64)).numpy()


def tape_around_functions_of_functions(tf, np):
    @tf.function
    def inner(x):
        return tf.exp(-x)

    @tf.function
    def outer(x):
        return inner(x) * inner(inner(x))

    x = tf.constant(0.3, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = outer(x)
    return tape.gradient(y, x).numpy()


def tape_started_inside_used_inside_another(tf, np):
    @tf.function
    def f(x, y):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            z = x * x * y
            w = z + y
        return tape.gradient(z, x), tape.gradient(w, y), tape.gradient(w, [x, y])

    out = f(tf.constant(2.0, tf.float64), tf.constant(3.0, tf.float64))
    return [t.numpy() for t in tf.nest.flatten(out)]


def gradient_for_variables(tf, np):
    w, b = tf.Variable([[1.0], [2.0]], dtype=tf.float64), tf.Variable(0.5, dtype=tf.float64)

    @tf.function
    def loss(x):
        return tf.reduce_mean((tf.matmul(x, w) + b) ** 2)

    with tf.GradientTape() as tape:
        y = loss(tf.constant([[1.0, 2.0], [3.0, 4.0]], tf.float64))
    return [g.numpy() for g in tape.gradient(y, [w, b])]


def gradient_for_variables_inside(tf, np):
    w = tf.Variable([1.0, 2.0], dtype=tf.float64)
    frozen = tf.Variable(3.0, dtype=tf.float64, trainable=False)

    @tf.function
    def run():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(w**2) * frozen
            watched = len(tape.watched_variables())
        gradients = tape.gradient(y, [w, frozen])
        return gradients[0], gradients[1] is None, watched

    out = run()
    return [out[0].numpy(), bool(out[1]), int(out[2])]


def variable_read_and_written(tf, np):
    v = tf.Variable(2.0, dtype=tf.float64)

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            first = v * x
            v.assign(first)
            total = first + v * x * x
        return tape.gradient(total, [x, v]), v.read_value()

    return [t.numpy() for t in tf.nest.flatten(run(tf.constant(3.0, tf.float64)))]


def gradients_as_symbols(tf, np):
    @tf.function
    def f(x, y):
        z = x**2 * y
        return tf.gradients(z, [x, y]) + tf.gradients([z, x], [x], grad_ys=[2.0 * z, None])

    return [g.numpy() for g in f(tf.constant(2.0, tf.float64), tf.constant(5.0, tf.float64))]


def gradients_of_gradients_as_symbols(tf, np):
    @tf.function
    def f(x):
        y = tf.exp(2.0 * x)
        derivatives = [y]
        for _ in range(4):
            derivatives.append(tf.gradients(derivatives[-1], x)[0])
        return derivatives

    return [d.numpy() for d in f(tf.constant(0.25, tf.float64))]


def stopped_gradients_as_symbols(tf, np):
    @tf.function
    def f(x):
        y = x * 2.0
        z = x * y
        return tf.gradients(z, [x, y]), tf.gradients(z, [x, y], stop_gradients=[y])

    return [g.numpy() for g in tf.nest.flatten(f(tf.constant(3.0, tf.float64)))]


def unconnected_as_symbols(tf, np):
    missing = []

    @tf.function
    def f(x, y):
        missing.append([g is None for g in tf.gradients(x * x, [x, y])])
        return tf.gradients(x * x, [x, y], unconnected_gradients="zero")

    out = f(tf.constant(3.0, tf.float64), tf.constant([1.0, 2.0], tf.float64))
    return [g.numpy() for g in out] + missing


def unconnected_in_functions(tf, np):
    @tf.function
    def f(x, y):
        return x * 2.0

    x, y = tf.constant(1.0, tf.float64), tf.constant([1.0, 2.0], tf.float64)
    results = []
    for mode in ("none", "zero"):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = f(x, y)
        gradients = tape.gradient(z, [x, y], unconnected_gradients=mode)
        results.append([None if g is None else g.numpy() for g in gradients])
    return results


def stop_gradient_in_a_function(tf, np):
    @tf.function
    def f(x):
        return x * tf.stop_gradient(x * x) + tf.stop_gradient(tf.exp(x))

    x = tf.constant(3.0, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x).numpy()


def recording_stopped_in_a_function(tf, np):
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            with tape.stop_recording():
                scale = y * 10.0
            z = y * scale
        return tape.gradient(z, x)

    return f(tf.constant(2.0, tf.float64)).numpy()


def output_gradients(tf, np):
    @tf.function
    def f(x):
        return {"a": x * x, "b": [tf.sin(x)]}

    x = tf.constant([1.0, 2.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    seeds = {"a": tf.constant([1.0, 10.0], tf.float64), "b": [tf.constant([5.0, 0.0], tf.float64)]}
    return tape.gradient(y, x, output_gradients=seeds).numpy()


def some_outputs_used(tf, np):
    @tf.function
    def f(x, y):
        return x * y, x + y, tf.cast(x, tf.int32), y**2

    x, y = tf.constant(2.0, tf.float64), tf.constant(3.0, tf.float64)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        product, total, _, square = f(x, y)
    return [
        [None if g is None else g.numpy() for g in tape.gradient(t, [x, y])]
        for t in (product, total, [product, square])
    ]


def gather_gradient(tf, np):
    table = tf.Variable(np.arange(8.0).reshape(4, 2))

    @tf.function
    def run(rows):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(table, rows) ** 2)
        return tf.convert_to_tensor(tape.gradient(y, table))

    return run(tf.constant([1, 3, 1])).numpy()


def gather_gradient_through_a_function(tf, np):
    table = tf.Variable(np.arange(8.0).reshape(4, 2))

    @tf.function
    def lookup(rows):
        return tf.nn.embedding_lookup(table, rows)

    with tf.GradientTape() as tape:
        y = tf.reduce_sum(lookup(tf.constant([2, 2, 0])) ** 2)
    return tf.convert_to_tensor(tape.gradient(y, table)).numpy()


def gather_gradient_in_a_loop(tf, np):
    table = tf.Variable(np.arange(1.0, 5.0))

    @tf.function
    def run(rows):
        with tf.GradientTape() as tape:
            product = tf.constant(1.0, tf.float64)
            for row in rows:
                product *= tf.gather(table, row)
        return tf.convert_to_tensor(tape.gradient(product, table))

    return run(tf.constant([1, 3, 1])).numpy()


def jacobian_in_a_function(tf, np):
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.stack([x[0] * x[1], tf.sin(x[1]), x[2] ** 3, x[0]])
        return tape.jacobian(y, x)

    return run(tf.constant([1.0, 2.0, 3.0], tf.float64)).numpy()


def jacobian_of_a_function(tf, np):
    @tf.function
    def f(x):
        return tf.nn.softmax(x)

    x = tf.constant([0.1, 0.5, -0.3], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.jacobian(y, x).numpy()


def jacobian_with_a_while_loop(tf, np):
    @tf.function
    def run(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(n):
                y = tf.sin(y) * x[0]
        return tape.jacobian(y, x, experimental_use_pfor=False)

    return run(tf.constant([0.5, 1.5], tf.float64), tf.constant(2)).numpy()


def batch_jacobian_in_a_function(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float64)])
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.stack([x[:, 0] * x[:, 1], x[:, 0] ** 2, x[:, 1]], axis=1)
        return tape.batch_jacobian(y, x)

    return [run(np.arange(2.0 * n).reshape(n, 2)).numpy() for n in (1, 3)]


def hessian_in_a_function(tf, np):
    @tf.function
    def run(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = x[0] ** 3 * x[1] + tf.exp(x[0] * x[1])
            gradient = inner.gradient(y, x)
        return gradient, outer.jacobian(gradient, x)

    return [t.numpy() for t in run(tf.constant([0.5, 1.5], tf.float64))]


def hessians_as_symbols(tf, np):
    @tf.function
    def run(x):
        return tf.hessians(tf.reduce_sum(x**3) + x[0] * x[1], x)[0]

    return run(tf.constant([1.0, 2.0], tf.float64)).numpy()


def forward_over_a_function(tf, np):
    @tf.function
    def f(x):
        return tf.sin(x) * x**2

    x = tf.constant([0.5, 1.5], tf.float64)
    with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 2.0], tf.float64)) as forward:
        y = f(x)
    return [y.numpy(), forward.jvp(y).numpy()]


def forward_inside_a_function(tf, np):
    @tf.function
    def run(x, v):
        with tf.autodiff.ForwardAccumulator(x, v) as forward:
            y = tf.exp(x) * tf.reduce_sum(x)
        return forward.jvp(y)

    x = tf.constant([0.5, 1.5], tf.float64)
    return run(x, tf.constant([1.0, -1.0], tf.float64)).numpy()


def forward_over_reverse(tf, np):
    @tf.function
    def product(x, v):
        with tf.autodiff.ForwardAccumulator(x, v) as forward:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_prod(x) + tf.reduce_sum(x**3)
            gradient = tape.gradient(y, x)
        return forward.jvp(gradient)

    x = tf.constant([1.0, 2.0, 3.0], tf.float64)
    return product(x, tf.constant([1.0, 0.0, -1.0], tf.float64)).numpy()


def forward_for_variables(tf, np):
    w = tf.Variable([1.0, 2.0], dtype=tf.float64)

    @tf.function
    def f(x):
        return tf.tanh(w * x)

    tangent = tf.constant([1.0, -1.0], tf.float64)
    with tf.autodiff.ForwardAccumulator(w, tangent) as forward:
        y = f(tf.constant([0.5, 0.25], tf.float64))
    return forward.jvp(y).numpy()


def training_loop_in_one_function(tf, np):
    w = tf.Variable([0.0, 0.0], dtype=tf.float64)
    x = tf.constant([[1.0, 2.0], [2.0, -1.0], [0.5, 0.5]], tf.float64)
    y = tf.linalg.matvec(x, tf.constant([1.0, -2.0], tf.float64))

    @tf.function
    def train(steps):
        for _ in tf.range(steps):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.linalg.matvec(x, w) - y) ** 2)
            w.assign_sub(0.1 * tape.gradient(loss, w))

    results = []
    for steps in (1, 10):
        train(tf.constant(steps))
        results.append(w.numpy())
    return results


def target_outside_of_the_tape(tf, np):
    @tf.function
    def run(x):
        y = x * x
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = y * 2.0
        gradient = tape.gradient(z, x)
        return tf.constant(gradient is None)

    return bool(run(tf.constant(1.0)))


def tape_used_up(tf, np):
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        tape.gradient(y, x)
        return tape.gradient(y, x)

    return raised(lambda: run(tf.constant(1.0)))


def complex_gradient_in_a_function(tf, np):
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.abs(x * x + (1.0 - 2.0j)) ** 2
        return tape.gradient(y, x)

    return run(tf.constant([1.0 + 2.0j, -0.5j], tf.complex128)).numpy()


def clipped_by_norm(tf, np):
    v = [tf.Variable([3.0, 4.0], dtype=tf.float64), tf.Variable(12.0, dtype=tf.float64)]

    @tf.function
    def run():
        with tf.GradientTape() as tape:
            loss = tf.add_n([tf.reduce_sum(x * x) / 2.0 for x in v])
        clipped, norm = tf.clip_by_global_norm(tape.gradient(loss, v), 6.5)
        return clipped, norm

    return [t.numpy() for t in tf.nest.flatten(run())]


def watched_in_the_order_of_making(tf, np):
    a, b, c = (tf.Variable(x, name=name) for x, name in ((1.0, "a"), (2.0, "b"), (3.0, "c")))
    frozen = tf.Variable(2.0, name="frozen", trainable=False)
    f = tf.function(lambda: c * frozen + b * a)
    with tf.GradientTape() as eager, tf.GradientTape() as traced:
        with traced.stop_recording():
            y = b * b + a * a + c
        traced.watch(frozen)
        y += f()
    return [[v.name for v in tape.watched_variables()] for tape in (eager, traced)]


PROGRAMS = [
    watched_in_the_order_of_making,
    tape_around_a_function,
    tape_inside_a_function,
    tape_around_functions_of_functions,
    tape_started_inside_used_inside_another,
    gradient_for_variables,
    gradient_for_variables_inside,
    variable_read_and_written,
    gradients_as_symbols,
    gradients_of_gradients_as_symbols,
    stopped_gradients_as_symbols,
    unconnected_as_symbols,
    unconnected_in_functions,
    stop_gradient_in_a_function,
    recording_stopped_in_a_function,
    output_gradients,
    some_outputs_used,
    gather_gradient,
    gather_gradient_through_a_function,
    gather_gradient_in_a_loop,
    jacobian_in_a_function,
    jacobian_of_a_function,
    jacobian_with_a_while_loop,
    batch_jacobian_in_a_function,
    hessian_in_a_function,
    hessians_as_symbols,
    forward_over_a_function,
    forward_inside_a_function,
    forward_over_reverse,
    forward_for_variables,
    training_loop_in_one_function,
    target_outside_of_the_tape,
    tape_used_up,
    complex_gradient_in_a_function,
    clipped_by_norm,
]
