"""Forward mode mixed with tapes through control flow, where TensorFlow 2.21 gives up.

All functions are polynomials on the path taken, so that NumPy's polynomials give the truth.
"""

from programs.function import truth


def power(tf, x):
    """x to the fifth, by a loop."""
    y = tf.ones_like(x)
    for _ in tf.range(5):
        y = y * x
    return y


def growing(tf, x):
    """At 1.5, x to the eighth: multiply until large."""
    y = x
    while y < 20.0:
        y = y * x
    return y


def branching(tf, x):
    """At 0.6, the polynomial of `branching_truth`."""
    y = x
    for i in tf.range(4):
        if y > 1.0:
            y = y * y - x
        else:
            y = y + x * tf.cast(i + 1, tf.float64)
    return y


def branching_truth(x):
    """From 0.6: 2 x, which is above 1; squared less x; below 1 again, so plus 3 x; squared."""
    y = (2.0 * x) ** 2 - x + 3.0 * x
    return y**2 - x


def triangle(tf, x):
    """x to the power 1 + 1 + 2 + 3, by nested loops."""
    y = x
    for i in tf.range(3):
        for _ in tf.range(i + 1):
            y = y * x
    return y


def collected(tf, x):
    """x + x^2 + x^3, through a TensorArray."""
    array, y = tf.TensorArray(tf.float64, size=3), tf.ones_like(x)
    for i in tf.range(3):
        y = y * x
        array = array.write(i, y)
    return tf.reduce_sum(array.stack())


def forward_over_reverse(tf, f, x):
    x = tf.constant(x, tf.float64)
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(tf, x)
        slope = tape.gradient(y, x)
    return forward.jvp(slope)


def reverse_over_forward(tf, f, x):
    x = tf.constant(x, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
            y = f(tf, x)
        slope = forward.jvp(y)
    return tape.gradient(slope, x)


def forward_over_forward(tf, f, x):
    x = tf.constant(x, tf.float64)
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as outer:
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as inner:
            y = f(tf, x)
        slope = inner.jvp(y)
    return outer.jvp(slope)


def second_derivatives(tf, f, x):
    """The second derivative in every mixed order, in a function and around one."""
    results = []
    for mode in (forward_over_reverse, reverse_over_forward, forward_over_forward):
        results.append(float(tf.function(lambda mode=mode: mode(tf, f, x))()))
        results.append(float(mode(tf, tf.function(f), x)))
    return results


def second_of_polynomial(f, x):
    """What `second_derivatives` gives, of the polynomial `f(p)` at `x`."""

    def expected(np):
        polynomial = f(np.polynomial.Polynomial([0.0, 1.0]))
        return [float(polynomial.deriv(2)(x))] * 6

    return expected


@truth(second_of_polynomial(lambda p: p**5, 1.5))
def loop_of_known_length(tf, np):
    return second_derivatives(tf, power, 1.5)


@truth(second_of_polynomial(lambda p: p**8, 1.5))
def loop_of_unknown_length(tf, np):
    return second_derivatives(tf, growing, 1.5)


@truth(second_of_polynomial(lambda p: p**7, 1.5))
def nested_loops(tf, np):
    return second_derivatives(tf, triangle, 1.5)


@truth(second_of_polynomial(branching_truth, 0.6))
def branch_in_a_loop(tf, np):
    return second_derivatives(tf, branching, 0.6)


@truth(second_of_polynomial(lambda p: p + p**2 + p**3, 1.5))
def tensor_array_in_a_loop(tf, np):
    return second_derivatives(tf, collected, 1.5)


@truth(second_of_polynomial(lambda p: p**3, 1.5))
def branch(tf, np):
    def f(tf, x):
        if x > 0.0:
            return x**3
        else:
            return -x

    return second_derivatives(tf, f, 1.5)


@truth(second_of_polynomial(lambda p: p**4, 2.0))
def loop_in_a_branch(tf, np):
    def f(tf, x):
        if x > 0.0:
            y = x
            for _ in tf.range(3):
                y = y * x
        else:
            y = x
        return y

    return second_derivatives(tf, f, 2.0)


@truth(second_of_polynomial(lambda p: p**4, 1.5))
def while_loop(tf, np):
    def f(tf, x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x))[1]

    return second_derivatives(tf, f, 1.5)


@truth(lambda np: 5.0**8 * 2.0 * 3.0 * 8.0)
def second_derivative_of_a_recomputed_loop(tf, np):
    """Four times 5 x, then squared and times x^2: 5^8 x^4 has 12 * 5^8 x^2; at x = 2, 48 * 5^8."""

    @tf.recompute_grad
    def step(x):
        return x * 5.0

    @tf.function
    def run(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = x
                for _ in tf.range(4):
                    y = step(y)
                z = y * y * x * x
            first = inner.gradient(z, x)
        return outer.gradient(first, x)

    return float(run(tf.constant(2.0, tf.float64)))


@truth(lambda np: [12.0, 6.0])
def second_derivative_of_a_recomputed_block(tf, np):
    @tf.recompute_grad
    def cube(x):
        return x**3

    @tf.function
    def run(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(cube(x))
            first = inner.gradient(y, x)
        return outer.gradient(first, x)

    return [float(v) for v in run(tf.constant([2.0, 1.0], tf.float64)).numpy()]


@truth(lambda np: [1.5**8, 8.0 * 1.5**7])
def compiled_loop_of_unknown_length(tf, np):
    @tf.function(jit_compile=True)
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = growing(tf, x)
        return y, tape.gradient(y, x)

    return [float(t) for t in run(tf.constant(1.5, tf.float64))]


PROGRAMS = [
    loop_of_known_length,
    loop_of_unknown_length,
    nested_loops,
    branch_in_a_loop,
    tensor_array_in_a_loop,
    branch,
    loop_in_a_branch,
    while_loop,
    second_derivative_of_a_recomputed_loop,
    second_derivative_of_a_recomputed_block,
    compiled_loop_of_unknown_length,
]
