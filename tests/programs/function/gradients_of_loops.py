"""Gradients through loops and branches whose length and path depend on values."""


def gradient(tf, f, *xs):
    """Value and gradients of `f` at float64 arguments, as arrays."""
    xs = [tf.constant(x, tf.float64) for x in xs]
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    return [y.numpy()] + [None if g is None else g.numpy() for g in tape.gradient(y, xs)]


def power_by_a_loop(tf, np):
    @tf.function
    def power(x, n):
        y = tf.ones_like(x)
        while n > 0.0:
            y *= x
            n -= 1.0
        return y

    return [gradient(tf, lambda x, k=k: power(x, tf.constant(k)), 1.5) for k in (0.0, 1.0, 5.0)]


def trips_depend_on_the_value(tf, np):
    @tf.function
    def halve(x):
        y = x
        while y > 1.0:
            y = y / 2.0
        return y * x

    return [gradient(tf, halve, x) for x in (0.5, 3.0, 100.0)]


def newton_square_root(tf, np):
    @tf.function
    def root(a):
        x = tf.ones_like(a)
        for _ in tf.range(12):
            x = 0.5 * (x + a / x)
        return x

    return gradient(tf, root, 2.0)


def two_states(tf, np):
    @tf.function
    def oscillate(x, v):
        for _ in tf.range(10):
            v = v - 0.1 * tf.sin(x)
            x = x + 0.1 * v
        return x * v

    return gradient(tf, oscillate, 1.0, 0.5)


def closure_gradient(tf, np):
    @tf.function
    def run(x, w):
        y = x
        for _ in tf.range(4):
            y = tf.tanh(w * y + x)
        return y

    return gradient(tf, run, 0.3, 0.9)


def loop_index_in_the_gradient(tf, np):
    @tf.function
    def series(x):
        total, term = tf.ones_like(x), tf.ones_like(x)
        for k in tf.range(1, 15):
            term = term * x / tf.cast(k, tf.float64)
            total += term
        return total

    return gradient(tf, series, 0.7)


def rows_of_a_matrix(tf, np):
    @tf.function
    def run(rows, weights):
        state = tf.zeros([2], tf.float64)
        for row in rows:
            state = tf.tanh(state * weights + row)
        return tf.reduce_sum(state)

    return gradient(tf, run, [[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]], [0.5, -1.5])


def unknown_number_of_rows(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float64)])
    def horner(coefficients):
        y = tf.constant(0.0, tf.float64)
        for c in coefficients:
            y = y * 2.0 + c**2
        return y

    return [gradient(tf, horner, np.arange(1.0, n + 1.0)) for n in (1, 2, 4)]


def nested_loops(tf, np):
    @tf.function
    def run(x):
        y = x
        for i in tf.range(3):
            z = x
            for _ in tf.range(i + 1):
                z = tf.sin(z) * y
            y = y + z
        return y

    return gradient(tf, run, 0.8)


def nested_loops_of_unknown_length(tf, np):
    @tf.function
    def run(x):
        y, outer = x, 0
        while y < 50.0:
            z = y
            while z > 1.0:
                z = z / 3.0
            y = y * 2.0 + z * x
            outer += 1
        return y

    return [gradient(tf, run, x) for x in (2.0, 7.0, 60.0)]


def three_nested_loops(tf, np):
    @tf.function
    def run(x):
        total = tf.zeros_like(x)
        for i in tf.range(2):
            for j in tf.range(i + 2):
                for k in tf.range(j + 1):
                    total += x ** tf.cast(i + j + k + 1, tf.float64)
        return total

    return gradient(tf, run, 1.1)


def branch_in_a_loop(tf, np):
    @tf.function
    def run(x):
        y = x
        for i in tf.range(6):
            if i % 2 == 0:
                y = y * x
            else:
                y = tf.sin(y)
        return y

    return gradient(tf, run, 1.3)


def branch_on_the_state_in_a_loop(tf, np):
    @tf.function
    def run(x, n):
        for _ in tf.range(n):
            if x > 1.0:
                x = x / 3.0
            elif x > 0.5:
                x = x * x + 1.0
            else:
                x = 4.0 * x
        return x

    return [gradient(tf, lambda x, k=k: run(x, tf.constant(k)), 2.0) for k in (1, 2, 3, 7)]


def loop_in_a_branch(tf, np):
    @tf.function
    def run(x):
        if x > 0.0:
            y = tf.ones_like(x)
            for _ in tf.range(3):
                y = y * x + 1.0
        else:
            y = x * x
        return y

    return [gradient(tf, run, x) for x in (2.0, -2.0)]


def loop_in_a_branch_in_a_loop(tf, np):
    @tf.function
    def run(x):
        y = x
        for i in tf.range(5):
            if y > 1.0:
                while y > 1.0:
                    y = y * 0.4
            else:
                y = y + x * tf.cast(i, tf.float64)
        return y * x

    return [gradient(tf, run, x) for x in (0.3, 1.7, 9.0)]


def break_in_a_loop(tf, np):
    @tf.function
    def run(x):
        y = x
        for i in tf.range(100):
            y = y * x
            if y > 10.0:
                break
            y = y + tf.cast(i, tf.float64)
        return y

    return [gradient(tf, run, x) for x in (1.5, 4.0)]


def continue_in_a_loop(tf, np):
    @tf.function
    def run(x):
        total = tf.zeros_like(x[0])
        for value in x:
            if value < 0.0:
                continue
            total += value**2
        return total

    return gradient(tf, run, [1.0, -2.0, 3.0, -4.0])


def branches(tf, np):
    @tf.function
    def run(x, y):
        if x > y:
            z = x * y
        else:
            z = x - y**2
        return z

    return [gradient(tf, run, 3.0, 2.0), gradient(tf, run, 1.0, 2.0)]


def branch_that_ignores_the_argument(tf, np):
    @tf.function
    def run(x, y):
        if x > 0.0:
            return x * x
        else:
            return y

    return [gradient(tf, run, 2.0, 5.0), gradient(tf, run, -2.0, 5.0)]


def early_return(tf, np):
    @tf.function
    def run(x):
        if x < 0.0:
            return x * 2.0
        y = tf.sqrt(x)
        if y > 2.0:
            return y * 10.0
        return x * y

    return [gradient(tf, run, x) for x in (-1.0, 9.0, 2.25)]


def infinite_slope_in_the_branch_not_taken(tf, np):
    @tf.function
    def run(x):
        return tf.cond(x > 0.0, lambda: tf.sqrt(x), lambda: tf.zeros_like(x))

    return [gradient(tf, run, x) for x in (4.0, 0.0)]


def variable_read_in_the_body(tf, np):
    w = tf.Variable(0.9, dtype=tf.float64)

    @tf.function
    def run(x):
        for _ in tf.range(5):
            x = tf.sin(w * x) + w
        return x

    with tf.GradientTape() as tape:
        y = run(tf.constant(0.4, tf.float64))
    return [y.numpy(), tape.gradient(y, w).numpy()]


def variable_written_in_the_body(tf, np):
    w = tf.Variable(1.0, dtype=tf.float64)

    @tf.function
    def run(x):
        for _ in tf.range(3):
            x = x * w
            w.assign_add(1.0)
        return x

    x = tf.constant(2.0, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(x)
    return [y.numpy(), tape.gradient(y, x).numpy(), w.numpy()]


def variables_in_branches(tf, np):
    a, b = tf.Variable(2.0, dtype=tf.float64), tf.Variable(3.0, dtype=tf.float64)

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            if x > 0.0:
                y = a * x
            else:
                y = b * x * x
        return tape.gradient(y, [a, b], unconnected_gradients="zero")

    return [[g.numpy() for g in run(tf.constant(x, tf.float64))] for x in (5.0, -5.0)]


def matrix_power(tf, np):
    @tf.function
    def run(a):
        b = tf.eye(2, dtype=tf.float64)
        for _ in tf.range(4):
            b = b @ a
        return tf.linalg.trace(b)

    return gradient(tf, run, [[0.5, 0.2], [-0.3, 0.8]])


def growing_state(tf, np):
    @tf.function
    def run(x):
        y = tf.reshape(x, [1])
        for _ in tf.range(3):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(y, tf.TensorShape([None]))]
            )
            y = tf.concat([y, y * x], axis=0)
        return tf.reduce_sum(y)

    return gradient(tf, run, 1.5)


def gradient_step_within_a_loop(tf, np):
    @tf.function
    def minimize(x, steps):
        for _ in tf.range(steps):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = (x - 3.0) ** 2 + tf.cos(x)
            x = x - 0.1 * tape.gradient(y, x)
        return x

    return [minimize(tf.constant(0.0, tf.float64), tf.constant(n)).numpy() for n in (1, 5, 100)]


def stopped_state(tf, np):
    @tf.function
    def run(x):
        y = x
        for _ in tf.range(3):
            y = y * tf.stop_gradient(y) + x
        return y

    return gradient(tf, run, 0.7)


def integer_state_beside_a_float(tf, np):
    @tf.function
    def run(x):
        i, table = tf.constant(0), tf.constant([1.0, 3.0, 5.0], tf.float64)
        while i < 3:
            x = x * table[i] + 1.0
            i += 1
        return x

    return gradient(tf, run, 2.0)


def unused_output_of_a_loop(tf, np):
    @tf.function
    def run(x):
        y, z = x, x
        for _ in tf.range(3):
            y = y * x
            z = tf.exp(z)
        return y

    return gradient(tf, run, 1.2)


def single_precision_loop(tf, np):
    @tf.function
    def run(x):
        for _ in tf.range(20):
            x = 0.9 * x + 0.1 * tf.sin(x)
        return x

    x = tf.constant([0.5, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(x)
    return tape.gradient(y, x).numpy()


def forward_through_a_loop(tf, np):
    @tf.function
    def run(x, v):
        with tf.autodiff.ForwardAccumulator(x, v) as forward:
            y = x
            for _ in tf.range(3):
                y = tf.sin(y) * x
        return forward.jvp(y)

    x = tf.constant([0.5, 1.5], tf.float64)
    return run(x, tf.constant([1.0, 2.0], tf.float64)).numpy()


def forward_around_a_loop(tf, np):
    @tf.function
    def run(x):
        while tf.reduce_sum(x) < 10.0:
            x = x * x + 1.0
        return x

    x = tf.constant([0.5, 1.5], tf.float64)
    with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 2.0], tf.float64)) as forward:
        y = run(x)
    return forward.jvp(y).numpy()


def forward_through_a_branch(tf, np):
    @tf.function
    def run(x):
        if x > 1.0:
            return x**3
        return tf.sin(x)

    results = []
    for value in (2.0, 0.5):
        x = tf.constant(value, tf.float64)
        with tf.autodiff.ForwardAccumulator(x, tf.constant(2.0, tf.float64)) as forward:
            y = run(x)
        results.append(forward.jvp(y).numpy())
    return results


PROGRAMS = [
    power_by_a_loop,
    trips_depend_on_the_value,
    newton_square_root,
    two_states,
    closure_gradient,
    loop_index_in_the_gradient,
    rows_of_a_matrix,
    unknown_number_of_rows,
    nested_loops,
    nested_loops_of_unknown_length,
    three_nested_loops,
    branch_in_a_loop,
    branch_on_the_state_in_a_loop,
    loop_in_a_branch,
    loop_in_a_branch_in_a_loop,
    break_in_a_loop,
    continue_in_a_loop,
    branches,
    branch_that_ignores_the_argument,
    early_return,
    infinite_slope_in_the_branch_not_taken,
    variable_read_in_the_body,
    variable_written_in_the_body,
    variables_in_branches,
    matrix_power,
    growing_state,
    gradient_step_within_a_loop,
    stopped_state,
    integer_state_beside_a_float,
    unused_output_of_a_loop,
    single_precision_loop,
    forward_through_a_loop,
    forward_around_a_loop,
    forward_through_a_branch,
]
