"""`cond`, `case`, `switch_case` and `while_loop` in functions."""

from programs.support import raised, static


def cond(tf, np):
    @tf.function
    def run(x):
        return tf.cond(x > 0.0, lambda: x * 2.0, lambda: -x)

    return [run(tf.constant(x)).numpy() for x in (3.0, -3.0)]


def cond_of_nests(tf, np):
    @tf.function
    def run(x):
        return tf.cond(
            tf.reduce_all(x > 0),
            lambda: {"a": x, "b": [x + 1, (x + 2,)]},
            lambda: {"a": -x, "b": [x, (tf.zeros_like(x),)]},
        )

    flat = [tf.nest.flatten(run(tf.constant(x))) for x in ([1, 2], [1, -2])]
    return [[t.numpy() for t in ts] for ts in flat]


def cond_without_results(tf, np):
    v = tf.Variable(0)

    @tf.function
    def run(flag):
        def add():
            v.assign_add(1)

        def subtract():
            v.assign_sub(10)

        return tf.cond(flag, add, subtract)

    nothing = run(tf.constant(True)) is None
    run(tf.constant(False))
    return [nothing, v.numpy()]


def cond_of_python_values(tf, np):
    @tf.function
    def run(flag):
        return tf.cond(flag, lambda: 1, lambda: 2), tf.cond(flag, lambda: 1.5, lambda: 2.5)

    return [[t.numpy() for t in run(tf.constant(f))] for f in (True, False)]


def cond_refuses_a_python_bool(tf, np):
    @tf.function
    def run(x, flag):
        return tf.cond(flag, lambda: x + 1.0, lambda: x - 1.0)

    return raised(lambda: run(tf.constant(1.0), True))


def cond_runs_one_branch(tf, np):
    seen = []

    def note(text):
        tf.py_function(lambda: seen.append(text), [], [])
        return tf.constant(0)

    @tf.function
    def run(flag):
        return tf.cond(flag, lambda: note("then"), lambda: note("else"))

    for flag in (True, False, True):
        run(tf.constant(flag))
    return seen


def cond_within_cond(tf, np):
    @tf.function
    def run(x, y):
        def inner():
            return tf.cond(y > 0.0, lambda: x + y, lambda: x - y)

        return tf.cond(x > 0.0, inner, lambda: x * y)

    pairs = ((1.0, 2.0), (1.0, -2.0), (-1.0, 2.0))
    return [run(tf.constant(x), tf.constant(y)).numpy() for x, y in pairs]


def cond_with_different_shapes(tf, np):
    seen = []

    @tf.function
    def run(x):
        y = tf.cond(x > 0, lambda: tf.zeros([2, 3]), lambda: tf.ones([4, 3]))
        seen.append(static(y))
        return y

    return [run(tf.constant(x)).numpy() for x in (1, -1)] + seen


def cond_of_mismatched_dtypes(tf, np):
    @tf.function
    def run(x):
        return tf.cond(x > 0, lambda: x, lambda: 2.5)

    return raised(lambda: run(tf.constant(1)))


def cond_of_mismatched_structures(tf, np):
    @tf.function
    def run(x):
        return tf.cond(x > 0, lambda: {"a": x}, lambda: {"b": x})

    return raised(lambda: run(tf.constant(1)))


def case_in_order(tf, np):
    @tf.function
    def run(x):
        return tf.case(
            [
                (x < 1.0, lambda: tf.constant(1)),
                (x < 2.0, lambda: tf.constant(2)),
                (x < 3.0, lambda: tf.constant(3)),
            ],
            default=lambda: tf.constant(-1),
        )

    return [run(tf.constant(x)).numpy() for x in (0.0, 1.0, 2.5, 9.0)]


def case_without_default(tf, np):
    @tf.function
    def run(x):
        return tf.case([(x > 10, lambda: x * 2), (x > 0, lambda: x)])

    return [run(tf.constant(x)).numpy() for x in (20, 5)]


def case_that_is_exclusive(tf, np):
    @tf.function
    def run(x):
        return tf.case([(x > 5, lambda: x), (x < 0, lambda: -x)], lambda: x * 10, exclusive=True)

    return [run(tf.constant(x)).numpy() for x in (7, 3, -2)]


def switch(tf, np):
    @tf.function
    def run(k, x):
        return tf.switch_case(k, [lambda: x, lambda: x * x, lambda: -x])

    return [run(tf.constant(k), tf.constant(3.0)).numpy() for k in (0, 1, 2, 3, -1)]


def switch_with_default_and_keys(tf, np):
    @tf.function
    def run(k, x):
        return tf.switch_case(k, {1: lambda: x * 2.0, 0: lambda: x}, default=lambda: x * 100.0)

    return [run(tf.constant(k), tf.constant(3.0)).numpy() for k in (0, 1, 2, 7, -1)]


def switch_gradient(tf, np):
    @tf.function
    def run(k, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.switch_case(k, [lambda: x, lambda: x**3, lambda: tf.exp(x)])
        return tape.gradient(y, x)

    return [run(tf.constant(k), tf.constant(2.0, tf.float64)).numpy() for k in range(3)]


def while_loop(tf, np):
    @tf.function
    def run(n):
        return tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), (0, 0))

    return [[t.numpy() for t in run(tf.constant(n))] for n in (0, 5)]


def while_loop_over_nests(tf, np):
    @tf.function
    def run(n):
        def body(i, state):
            return i + 1, {"a": state["a"] * 2.0, "b": [state["b"][0] + state["a"]]}

        start = {"a": tf.constant(1.0), "b": [tf.constant(0.0)]}
        return tf.while_loop(lambda i, state: i < n, body, [tf.constant(0), start])

    return [t.numpy() for t in tf.nest.flatten(run(tf.constant(4)))]


def while_loop_of_one_variable(tf, np):
    @tf.function
    def run(x):
        return tf.while_loop(lambda x: x < 100, lambda x: [x * 3], [x])

    return [t.numpy() for t in run(tf.constant(2))]


def while_loop_stops_after(tf, np):
    @tf.function
    def run(n, most):
        return tf.while_loop(
            lambda i: i < n, lambda i: (i + 1,), (tf.constant(0),), maximum_iterations=most
        )

    return [run(tf.constant(n), tf.constant(m))[0].numpy() for n, m in ((10, 4), (3, 4), (3, 0))]


def while_loop_that_does_not_run(tf, np):
    seen = []

    @tf.function
    def run(x):
        def body(i, y):
            tf.py_function(lambda: seen.append("ran"), [], [])
            return i + 1, y * 2.0

        return tf.while_loop(lambda i, y: i < 0, body, [tf.constant(0), x])

    return [t.numpy() for t in run(tf.constant(3.0))] + [seen]


def while_loop_with_growing_shape(tf, np):
    seen = []

    @tf.function
    def run(n):
        i, x = tf.while_loop(
            lambda i, x: i < n,
            lambda i, x: (i + 1, tf.concat([x, [[i, i * i]]], axis=0)),
            (0, tf.zeros([1, 2], tf.int32)),
            shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 2])),
        )
        seen.append(static(x))
        return x

    return [run(tf.constant(n)).numpy() for n in (0, 3)] + seen


def while_loop_changing_shape_is_an_error(tf, np):
    @tf.function
    def run(n):
        return tf.while_loop(
            lambda i, x: i < n, lambda i, x: (i + 1, tf.concat([x, x], 0)), (0, tf.zeros([1]))
        )

    return raised(lambda: run(tf.constant(3)))


def while_loop_changing_dtype_is_an_error(tf, np):
    @tf.function
    def run(n):
        return tf.while_loop(
            lambda i, x: i < n, lambda i, x: (i + 1, tf.cast(x, tf.float64)), (0, tf.zeros([1]))
        )

    return raised(lambda: run(tf.constant(3)))


def while_loop_changing_structure_is_an_error(tf, np):
    @tf.function
    def fewer(n):
        return tf.while_loop(lambda i, x: i < n, lambda i, x: [i + 1], (0, tf.zeros([1])))

    return raised(lambda: fewer(tf.constant(3)))


def while_loop_with_python_condition(tf, np):
    @tf.function
    def run(x):
        return tf.while_loop(lambda i, y: tf.less(i, 3), lambda i, y: (i + 1, y + x), (0, x))

    return [t.numpy() for t in run(tf.constant([1.0, 2.0]))]


def while_loop_within_while_loop(tf, np):
    @tf.function
    def run(n):
        def row(i, total):
            _, total = tf.while_loop(
                lambda j, t: j <= i, lambda j, t: (j + 1, t + i * j), (0, total)
            )
            return i + 1, total

        return tf.while_loop(lambda i, t: i < n, row, (0, 0))

    return [t.numpy() for t in run(tf.constant(4))]


def while_loop_in_cond_in_while_loop(tf, np):
    @tf.function
    def run(n):
        def fill(i, x):
            return tf.while_loop(lambda k, x: k < i, lambda k, x: (k + 1, x + 1), (0, x))[1]

        def body(i, x):
            return i + 1, tf.cond(i % 2 == 0, lambda: fill(i, x), lambda: x * 2)

        return tf.while_loop(lambda i, x: i < n, body, (0, 1))

    return [t.numpy() for t in run(tf.constant(6))]


def loop_over_a_function(tf, np):
    @tf.function
    def step(x):
        return x / 2.0 + 1.0

    @tf.function
    def run(n):
        return tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, step(x)), (0, 10.0))[1]

    return run(tf.constant(5)).numpy()


def results_of_loops_keep_known_shapes(tf, np):
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def run(x):
        i, y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * 2.0), (0, x))
        seen.extend([static(i), static(y)])
        return y

    return [run(tf.ones([2, 3])).numpy(), seen]


def strings_in_control_flow(tf, np):
    @tf.function
    def run(n):
        text = tf.constant("short")
        for i in tf.range(n):
            if i == 3:
                text = tf.constant("long")
        return tf.cond(n > 0, lambda: text, lambda: tf.constant("none"))

    return [run(tf.constant(n)).numpy().decode() for n in (0, 2, 4)]


def random_walk_bounds(tf, np):
    @tf.function
    def run(x):
        steps = 0
        while tf.reduce_any(tf.abs(x) < 3.0):
            x += tf.random.stateless_uniform([4], [steps, 1], 0.5, 1.0)
            steps += 1
        return x, steps

    x, steps = run(tf.zeros([4]))
    return [bool(np.all(x.numpy() >= 3.0)), 3 <= int(steps) <= 6]


def cond_of_slices_with_indices_of_two_widths(tf, np):
    @tf.function
    def choose(pred, rows):
        def narrow():
            return tf.IndexedSlices(rows, tf.constant([0, 1], tf.int32))

        def wide():
            return tf.IndexedSlices(rows * 2.0, tf.constant([1, 0], tf.int64))

        found = tf.cond(pred, narrow, wide)
        return found.values, found.indices

    rows = tf.constant([[1.0], [2.0]])
    return [[x.numpy() for x in choose(tf.constant(p), rows)] for p in (True, False)]


PROGRAMS = [
    cond,
    cond_of_slices_with_indices_of_two_widths,
    cond_of_nests,
    cond_without_results,
    cond_of_python_values,
    cond_refuses_a_python_bool,
    cond_runs_one_branch,
    cond_within_cond,
    cond_with_different_shapes,
    cond_of_mismatched_dtypes,
    cond_of_mismatched_structures,
    case_in_order,
    case_without_default,
    case_that_is_exclusive,
    switch,
    switch_with_default_and_keys,
    switch_gradient,
    while_loop,
    while_loop_over_nests,
    while_loop_of_one_variable,
    while_loop_stops_after,
    while_loop_that_does_not_run,
    while_loop_with_growing_shape,
    while_loop_changing_shape_is_an_error,
    while_loop_changing_dtype_is_an_error,
    while_loop_changing_structure_is_an_error,
    while_loop_with_python_condition,
    while_loop_within_while_loop,
    while_loop_in_cond_in_while_loop,
    loop_over_a_function,
    results_of_loops_keep_known_shapes,
    strings_in_control_flow,
    random_walk_bounds,
]
