"""Second and third derivatives, custom gradients and recomputation in traced functions."""

from programs.support import raised


def derivatives(tf, f, x, order, inside):
    """Derivatives of `f` up to an order, by nested tapes inside or around the function."""

    def nested(x, k):
        if k == 0:
            return f(x), []
        with tf.GradientTape() as tape:
            tape.watch(x)
            last, lower = nested(x, k - 1)
        return tape.gradient(last, x), lower + [last]

    x = tf.constant(x, tf.float64)
    last, lower = (tf.function(nested) if inside else nested)(x, order)
    return [t.numpy() for t in lower + [last]]


def polynomial(tf, np):
    f = tf.function(lambda x: x**4 - 2.0 * x**3 + x)
    return [derivatives(tf, f, 1.5, 4, inside) for inside in (False, True)]


def transcendental(tf, np):
    f = tf.function(lambda x: tf.exp(tf.sin(x)) / (1.0 + x * x))
    return [derivatives(tf, f, 0.8, 3, inside) for inside in (False, True)]


def vector_argument(tf, np):
    f = tf.function(lambda x: tf.reduce_sum(tf.sigmoid(x) * x))
    return [derivatives(tf, f, [0.5, -1.0], 3, inside) for inside in (False, True)]


def loop_known_length(tf, np):
    @tf.function
    def f(x):
        y = x
        for _ in tf.range(4):
            y = tf.sin(y) + x * y
        return y

    return derivatives(tf, f, 0.6, 2, True)


def loop_unknown_length(tf, np):
    @tf.function
    def f(x):
        y = x
        while y < 20.0:
            y = y * x + tf.exp(-y)
        return y

    return derivatives(tf, f, 1.4, 2, True)


def loop_third_derivative(tf, np):
    @tf.function
    def f(x):
        y = tf.ones_like(x)
        for _ in tf.range(5):
            y = y * x
        return y

    return derivatives(tf, f, 1.5, 3, True)


def loop_second_derivative_around(tf, np):
    @tf.function
    def f(x):
        y = tf.ones_like(x)
        for _ in tf.range(5):
            y = y * tf.sin(x)
        return y

    return derivatives(tf, f, 0.7, 2, False)


def branch_second_derivative(tf, np):
    @tf.function
    def f(x):
        if x > 0.0:
            y = x**4
        else:
            y = tf.cos(x)
        return y

    return [derivatives(tf, f, x, 2, inside) for x in (1.5, -1.5) for inside in (False, True)]


def branch_third_derivative(tf, np):
    @tf.function
    def f(x):
        return tf.cond(x > 0.0, lambda: x**5, lambda: tf.exp(2.0 * x))

    return [derivatives(tf, f, x, 3, True) for x in (1.5, -0.5)]


def branch_in_a_loop_second_derivative(tf, np):
    @tf.function
    def f(x):
        y = x
        for i in tf.range(4):
            if y > 1.0:
                y = tf.math.log(y) + x
            else:
                y = y * x + tf.cast(i, tf.float64)
        return y

    return derivatives(tf, f, 0.8, 2, True)


def loop_in_a_branch_second_derivative(tf, np):
    @tf.function
    def f(x):
        if x > 0.0:
            y = x
            for _ in tf.range(3):
                y = y * x
        else:
            y = x * x
        return y

    return [derivatives(tf, f, x, 2, True) for x in (2.0, -2.0)]


def nested_loops_second_derivative(tf, np):
    @tf.function
    def f(x):
        y = x
        for i in tf.range(2):
            for _ in tf.range(i + 1):
                y = y * x
            y = tf.sin(y)
        return y

    return derivatives(tf, f, 0.9, 2, True)


def variable_second_derivative(tf, np):
    v = tf.Variable(0.5, dtype=tf.float64)

    @tf.function
    def f():
        return tf.exp(v * v)

    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = f()
        first = inner.gradient(y, v)
    return [first.numpy(), outer.gradient(first, v).numpy()]


def gradient_penalty(tf, np):
    w = tf.Variable([[0.5, -0.2], [0.1, 0.3]], dtype=tf.float64)

    @tf.function
    def step(x):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.tanh(tf.matmul(x, w)))
            slope = inner.gradient(y, x)
            penalty = tf.reduce_mean((tf.norm(slope, axis=1) - 1.0) ** 2)
        return penalty, outer.gradient(penalty, w)

    x = tf.constant([[1.0, 2.0], [-0.5, 0.3], [0.2, -1.0]], tf.float64)
    return [t.numpy() for t in step(x)]


def reverse_over_forward(tf, np):
    @tf.function
    def run(x, v):
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.autodiff.ForwardAccumulator(x, v) as forward:
                y = tf.reduce_prod(tf.sin(x))
            slope = forward.jvp(y)
        return slope, tape.gradient(slope, x)

    x = tf.constant([0.5, 1.0, 1.5], tf.float64)
    return [t.numpy() for t in run(x, tf.constant([1.0, 2.0, 3.0], tf.float64))]


def forward_over_reverse_through_a_loop(tf, np):
    @tf.function
    def run(x, v):
        with tf.autodiff.ForwardAccumulator(x, v) as forward:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in range(3):
                    y = tf.sin(y) * x
                loss = tf.reduce_sum(y)
            gradient = tape.gradient(loss, x)
        return forward.jvp(gradient)

    x = tf.constant([0.5, 1.5], tf.float64)
    return run(x, tf.constant([1.0, -1.0], tf.float64)).numpy()


def hessian_vector_product(tf, np):
    @tf.function
    def product(x, v):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2
            gradient = inner.gradient(y, x)
        return outer.gradient(gradient, x, output_gradients=v)

    x = tf.constant([-1.2, 1.0], tf.float64)
    return product(x, tf.constant([1.0, 2.0], tf.float64)).numpy()


def newton_method(tf, np):
    @tf.function
    def minimize(x, steps):
        for _ in tf.range(steps):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = tf.reduce_sum(tf.cosh(x - 1.0)) + x[0] * x[1]
                gradient = inner.gradient(y, x)
            hessian = outer.jacobian(gradient, x)
            x = x - tf.linalg.solve(hessian, gradient[:, None])[:, 0]
        return x

    start = tf.constant([0.5, 1.5], tf.float64)
    return [minimize(start, tf.constant(n)).numpy() for n in (1, 8)]


def custom_gradient_in_a_function(tf, np):
    @tf.custom_gradient
    def clipped(x):
        return x * x, lambda g: tf.clip_by_value(g * 2.0 * x, -1.0, 1.0)

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(clipped(x) * 3.0)
        return y, tape.gradient(y, x)

    return [t.numpy() for t in run(tf.constant([0.1, 5.0, -5.0], tf.float64))]


def custom_gradient_around_a_function(tf, np):
    @tf.function
    def log1pexp(x):
        return tf.math.log(1.0 + tf.exp(x))

    @tf.custom_gradient
    def stable(x):
        return log1pexp(x), lambda g: g * tf.sigmoid(x)

    x = tf.constant(100.0, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(stable)(x)
    return [y.numpy(), tape.gradient(y, x).numpy()]


def custom_gradient_with_two_arguments(tf, np):
    @tf.custom_gradient
    def product(x, y):
        def gradient(upstream):
            return upstream * y * 10.0, upstream * x * 100.0

        return x * y, gradient

    @tf.function
    def run(x, y):
        return tf.gradients(product(x, y), [x, y])

    return [g.numpy() for g in run(tf.constant(2.0, tf.float64), tf.constant(3.0, tf.float64))]


def custom_gradient_in_a_loop(tf, np):
    @tf.custom_gradient
    def half(x):
        return x * 0.5, lambda g: g * 7.0

    @tf.function
    def run(x):
        for _ in tf.range(3):
            x = half(x)
        return x

    x = tf.constant(8.0, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(x)
    return [y.numpy(), tape.gradient(y, x).numpy()]


def custom_gradient_twice(tf, np):
    @tf.custom_gradient
    def cube(x):
        @tf.custom_gradient
        def slope(x):
            return 3.0 * x * x, lambda g: g * 60.0 * x

        return x**3, lambda g: g * slope(x)

    return derivatives(tf, cube, 2.0, 2, True)


def custom_gradient_with_variables(tf, np):
    w = tf.Variable(2.0, dtype=tf.float64)

    @tf.custom_gradient
    def scaled(x):
        def gradient(g, variables=None):
            return g * w, [g * x * 10.0 for _ in variables]

        return x * w, gradient

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x)
        return tape.gradient(y, [x, w])

    return [g.numpy() for g in run(tf.constant(3.0, tf.float64))]


def straight_through(tf, np):
    @tf.custom_gradient
    def rounded(x):
        return tf.round(x), lambda g: g

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(rounded(x * 2.0) ** 2)
        return tape.gradient(y, x)

    return run(tf.constant([0.3, 1.4], tf.float64)).numpy()


def recomputed(tf, np):
    @tf.recompute_grad
    def block(x):
        return tf.sin(tf.exp(x))

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = block(block(x))
        return y, tape.gradient(y, x)

    return [t.numpy() for t in run(tf.constant([0.5, 1.0], tf.float64))]


def recomputed_with_variables(tf, np):
    w = tf.Variable([0.5, 2.0], dtype=tf.float64)

    @tf.recompute_grad
    def block(x):
        return tf.tanh(x * w)

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(block(x) ** 2)
        return tape.gradient(y, w)

    return run(tf.constant([1.0, -0.5], tf.float64)).numpy()


def recomputed_in_a_loop(tf, np):
    @tf.recompute_grad
    def step(x):
        return tf.sin(x) * 1.5

    @tf.function
    def run(x, n):
        for _ in tf.range(n):
            x = step(x)
        return x

    x = tf.constant(0.4, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(x, tf.constant(5))
    return [y.numpy(), tape.gradient(y, x).numpy()]


def gradient_that_is_refused(tf, np):
    @tf.function(autograph=False)
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.raw_ops.PreventGradient(input=x * x, message="not here")
        return tape.gradient(y, x)

    return raised(lambda: run(tf.constant(1.0)))


def gradient_of_a_python_function(tf, np):
    def cube(x):
        return x**3

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.py_function(cube, [x], tf.float64) * 2.0
        return tape.gradient(y, x)

    return run(tf.constant([1.0, 2.0], tf.float64)).numpy()


PROGRAMS = [
    polynomial,
    transcendental,
    vector_argument,
    loop_known_length,
    loop_unknown_length,
    loop_third_derivative,
    loop_second_derivative_around,
    branch_second_derivative,
    branch_third_derivative,
    branch_in_a_loop_second_derivative,
    loop_in_a_branch_second_derivative,
    nested_loops_second_derivative,
    variable_second_derivative,
    gradient_penalty,
    reverse_over_forward,
    forward_over_reverse_through_a_loop,
    hessian_vector_product,
    newton_method,
    custom_gradient_in_a_function,
    custom_gradient_around_a_function,
    custom_gradient_with_two_arguments,
    custom_gradient_in_a_loop,
    custom_gradient_twice,
    custom_gradient_with_variables,
    straight_through,
    recomputed,
    recomputed_with_variables,
    recomputed_in_a_loop,
    gradient_that_is_refused,
    gradient_of_a_python_function,
]
