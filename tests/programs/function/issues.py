"""What people reported of TensorFlow, each program named after the issue's subject and number.

A program without `truth` is one that TensorFlow 2.21 gets right by now.
"""

from programs.function import truth
from programs.support import raised


def derivatives(tf, f, x, order):
    """The derivatives of `f` from order 0 on, by nested tapes."""
    if order == 0:
        return [f(x)]
    with tf.GradientTape() as tape:
        tape.watch(x)
        lower = derivatives(tf, f, x, order - 1)
    return lower + [tape.gradient(lower[-1], x)]


def third_derivative_through_while_loop_35012(tf, np):
    def power(x):
        return tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * x), (0, x * 0.0 + 1.0))[1]

    @tf.function
    def run(x):
        return derivatives(tf, power, x, 3)

    return [t.numpy() for t in run(tf.constant(1.5, tf.float64))]


def third_derivative_around_a_function_35012(tf, np):
    @tf.function
    def power(x):
        return tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * x), (0, x * 0.0 + 1.0))[1]

    results = derivatives(tf, power, tf.constant(1.5, tf.float64), 3)
    return [t.numpy() for t in results]


def third_derivative_with_maximum_iterations_35012(tf, np):
    @tf.function
    def run(x):
        def power(x):
            return tf.while_loop(
                lambda y: tf.reduce_all(y < 100.0), lambda y: [y * x], [x], maximum_iterations=4
            )[0]

        return derivatives(tf, power, x, 3)

    return [t.numpy() for t in run(tf.constant(1.5, tf.float64))]


def fourth_derivative_through_while_loop_35012(tf, np):
    @tf.function
    def run(x):
        def power(x):
            return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * y), (0, x))[1]

        return derivatives(tf, power, x, 4)

    return [t.numpy() for t in run(tf.constant(1.1, tf.float64))]


def third_derivative_of_a_scan_35012(tf, np):
    @tf.function
    def run(x):
        def power(x):
            return tf.scan(lambda y, k: y * x + k, tf.constant([1.0, 2.0, 3.0], tf.float64), x)[-1]

        return derivatives(tf, power, x, 3)

    return [t.numpy() for t in run(tf.constant(1.5, tf.float64))]


def second_derivative_in_a_function_37230(tf, np):
    @tf.function
    def run(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.ones_like(x)
                for _ in tf.range(3):
                    y = y * tf.sin(x)
            first = inner.gradient(y, x)
        return first, outer.gradient(first, x)

    return [t.numpy() for t in run(tf.constant([0.5, 1.0], tf.float64))]


def second_derivative_of_a_layer_37230(tf, np):
    w = tf.Variable(np.cos(np.arange(6.0)).reshape(2, 3))

    @tf.function
    def layer(x):
        return tf.reduce_sum(tf.nn.elu(tf.matmul(x, w)), axis=1, keepdims=True)

    @tf.function
    def run(x):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = layer(x)
            slope = inner.gradient(y, x)
            loss = tf.reduce_sum(slope**2)
        return outer.gradient(loss, w)

    return run(tf.constant([[0.5, -1.0], [1.0, 2.0]], tf.float64)).numpy()


def second_gradient_in_a_loop_body_50278(tf, np):
    @tf.function
    def newton(x, steps):
        for _ in tf.range(steps):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = x**4 - 3.0 * x**2 + x
                first = inner.gradient(y, x)
            x = x - first / outer.gradient(first, x)
        return x

    return [newton(tf.constant(2.0, tf.float64), tf.constant(n)).numpy() for n in (1, 2, 10)]


def gradient_of_a_loop_with_gradients_in_its_body_50278(tf, np):
    @tf.function
    def descend(rate):
        x = tf.constant(2.0, tf.float64)
        for _ in tf.range(3):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x**4 - 3.0 * x**2 + x
            x = x - rate * tape.gradient(y, x)
        return x

    rate = tf.constant(0.02, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(rate)
        x = descend(rate)
    return [x.numpy(), tape.gradient(x, rate).numpy()]


def second_gradient_in_a_while_loop_body_50278(tf, np):
    @tf.function
    def run(x):
        def body(i, x):
            y = tf.sin(x) * x
            first = tf.gradients(y, x)[0]
            second = tf.gradients(first, x)[0]
            return i + 1, x - 0.1 * first / (1.0 + second**2)

        return tf.while_loop(lambda i, x: i < 3, body, (0, x))[1]

    return run(tf.constant([0.5, 1.0], tf.float64)).numpy()


def second_gradient_of_an_inner_loop_in_a_loop_body_50278(tf, np):
    @tf.function
    def run(x):
        total = tf.zeros_like(x)
        for k in tf.range(3):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = tf.ones_like(x)
                    for _ in tf.range(k + 2):
                        y = y * x
                first = inner.gradient(y, x)
            total += outer.gradient(first, x)
        return total

    return run(tf.constant(2.0, tf.float64)).numpy()


def gradient_of_cond_taken_twice_43631(tf, np):
    @tf.function
    def run(x):
        y = tf.cond(x > 0.0, lambda: x**3, lambda: tf.sin(x))
        return tf.gradients(y, x)[0], tf.gradients(y, x)[0], tf.gradients(2.0 * y, x)[0]

    return [[t.numpy() for t in run(tf.constant(x, tf.float64))] for x in (2.0, -2.0)]


def persistent_gradient_of_cond_43631(tf, np):
    @tf.function
    def run(x, z):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, z])
            y = tf.cond(x > 0.0, lambda: x**3 * z, lambda: tf.sin(x) + z)
        return tape.gradient(y, x), tape.gradient(y, z), tape.gradient(y, [x, z])

    z = tf.constant(5.0, tf.float64)
    results = [tf.nest.flatten(run(tf.constant(x, tf.float64), z)) for x in (2.0, -2.0)]
    return [[t.numpy() for t in ts] for ts in results]


def second_derivative_of_cond_as_symbols_43631(tf, np):
    @tf.function
    def run(x):
        y = tf.cond(x > 0.0, lambda: x**3, lambda: tf.sin(x))
        first = tf.gradients(y, x)[0]
        return first, tf.gradients(first, x)[0], tf.gradients(first * y, x)[0]

    return [[t.numpy() for t in run(tf.constant(x, tf.float64))] for x in (2.0, -2.0)]


def jacobian_and_gradient_of_cond_43631(tf, np):
    @tf.function
    def run(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x**2, lambda: -x)
        return tape.jacobian(y, x), tape.gradient(y, x)

    points = ([1.0, 2.0], [-1.0, -2.0])
    return [[t.numpy() for t in run(tf.constant(x, tf.float64))] for x in points]


@truth(lambda np: np.diag([2.0, 2.0]))
def hessian_of_a_branch_by_vectorized_rows_43631(tf, np):
    @tf.function
    def run(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                if tf.reduce_sum(x) > 0.0:
                    y = tf.reduce_sum(x**2)
                else:
                    y = tf.reduce_sum(-x)
            gradient = inner.gradient(y, x)
        return outer.jacobian(gradient, x)

    return run(tf.constant([0.5, 1.5], tf.float64)).numpy()


def dead_branch_in_a_loop_22504(tf, np):
    @tf.function
    def run(x):
        def body(i, y):
            return i + 1, tf.cond(i < 2, lambda: y * x, lambda: y)

        return tf.while_loop(lambda i, y: i < 5, body, (0, x))[1]

    x = tf.constant(3.0, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(x)
    return [y.numpy(), tape.gradient(y, x).numpy()]


def branch_that_is_never_taken_in_a_loop_22504(tf, np):
    @tf.function
    def run(x, w):
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            y = x
            for i in tf.range(4):
                if i > 10:
                    y = tf.math.log(w) * y
                else:
                    y = y * 1.5
        return tape.gradient(y, [x, w], unconnected_gradients="zero")

    zero = tf.constant(0.0, tf.float64)
    return [g.numpy() for g in run(tf.constant(2.0, tf.float64), zero)]


def dead_branch_with_an_infinite_slope_in_a_loop_22504(tf, np):
    @tf.function
    def run(x):
        total = tf.constant(0.0, tf.float64)
        for value in x:
            if value > 0.0:
                total += tf.sqrt(value)
        return total

    x = tf.constant([4.0, 0.0, 9.0, -1.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(x)
    return [y.numpy(), tape.gradient(y, x).numpy()]


def loop_in_the_dead_branch_22504(tf, np):
    @tf.function
    def run(x):
        def loop():
            return tf.while_loop(lambda y: y < 10.0, lambda y: [y * x], [x])[0]

        return tf.cond(x > 1.0, loop, lambda: x)

    results = []
    for value in (0.5, 3.0):
        x = tf.constant(value, tf.float64)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = run(x)
        results.append([y.numpy(), tape.gradient(y, x).numpy()])
    return results


def tape_and_a_long_while_loop_45016(tf, np):
    @tf.function
    def run(x, n):
        return tf.while_loop(
            lambda i, y: i < n, lambda i, y: (i + 1, y - 0.01 * y * x), (0, tf.ones_like(x))
        )[1]

    x = tf.constant(np.linspace(0.0, 1.0, 5))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(x, tf.constant(500))
    return [y.numpy(), tape.gradient(y, x).numpy()]


def eager_tape_and_while_loop_45016(tf, np):
    x = tf.Variable(np.linspace(0.0, 1.0, 5))
    with tf.GradientTape() as tape:
        _, y = tf.while_loop(
            lambda i, y: i < 50, lambda i, y: (i + 1, y - 0.01 * y * x), (0, tf.ones_like(x))
        )
    return [y.numpy(), tape.gradient(y, x).numpy()]


def repeated_steps_with_while_loop_45016(tf, np):
    v = tf.Variable(1.0, dtype=tf.float64)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.while_loop(lambda i, y: i < 10, lambda i, y: (i + 1, tf.sin(y * v)), (0, v))[
                1
            ]
        v.assign_sub(0.1 * tape.gradient(loss, v))
        return loss

    return [step().numpy() for _ in range(4)] + [v.numpy()]


def none_as_target_42386(tf, np):
    x = tf.Variable(1.0)

    @tf.function
    def forgot_to_return(x):
        x * 2.0

    with tf.GradientTape() as tape:
        y = forgot_to_return(x)
    return [y is None, raised(lambda: tape.gradient(y, x))]


def none_as_target_in_a_function_42386(tf, np):
    x = tf.Variable(1.0)

    @tf.function(autograph=False)
    def run():
        with tf.GradientTape() as tape:
            pass
        return tape.gradient(None, x)

    return raised(run)


PROGRAMS = [
    third_derivative_through_while_loop_35012,
    third_derivative_around_a_function_35012,
    third_derivative_with_maximum_iterations_35012,
    fourth_derivative_through_while_loop_35012,
    third_derivative_of_a_scan_35012,
    second_derivative_in_a_function_37230,
    second_derivative_of_a_layer_37230,
    second_gradient_in_a_loop_body_50278,
    gradient_of_a_loop_with_gradients_in_its_body_50278,
    second_gradient_in_a_while_loop_body_50278,
    second_gradient_of_an_inner_loop_in_a_loop_body_50278,
    gradient_of_cond_taken_twice_43631,
    persistent_gradient_of_cond_43631,
    second_derivative_of_cond_as_symbols_43631,
    jacobian_and_gradient_of_cond_43631,
    hessian_of_a_branch_by_vectorized_rows_43631,
    dead_branch_in_a_loop_22504,
    branch_that_is_never_taken_in_a_loop_22504,
    dead_branch_with_an_infinite_slope_in_a_loop_22504,
    loop_in_the_dead_branch_22504,
    tape_and_a_long_while_loop_45016,
    eager_tape_and_while_loop_45016,
    repeated_steps_with_while_loop_45016,
    none_as_target_42386,
    none_as_target_in_a_function_42386,
]
