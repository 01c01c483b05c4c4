"""Branches, loops, tensor arrays and the functions over first axes."""

from programs.support import raised, run, static


def over(tf, fetches, placeholder, values):
    """The fetches for each value fed."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(fetches, {placeholder: value}) for value in values]


def cond(tf, np):
    p = tf.placeholder(tf.bool, [])
    x = tf.constant([1.0, 2.0])
    y = tf.cond(p, lambda: x * 2.0, lambda: x - 1.0)
    return over(tf, y, p, [True, False])


def cond_by_names_of_arguments(tf, np):
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(pred=x > 0.0, true_fn=lambda: x, false_fn=lambda: -x, name="absolute")
    return over(tf, y, x, [3.0, -4.0])


def cond_of_nests(tf, np):
    p = tf.placeholder(tf.bool, [])
    x = tf.constant(2.0)
    y = tf.cond(
        p,
        lambda: {"a": x, "b": [x * 2.0, tf.constant(1)]},
        lambda: {"a": -x, "b": [x * 3.0, tf.constant(2)]},
    )
    return over(tf, y, p, [True, False])


def cond_of_one_element_lists(tf, np):
    p = tf.placeholder(tf.bool, [])
    loose = tf.cond(p, lambda: [tf.constant(1.0)], lambda: [tf.constant(2.0)])
    strict = tf.cond(p, lambda: [tf.constant(1.0)], lambda: [tf.constant(2.0)], strict=True)
    return [isinstance(loose, list), isinstance(strict, list), over(tf, loose, p, [True, False])]


def cond_of_different_structures(tf, np):
    p = tf.placeholder(tf.bool, [])
    x = tf.constant(2.0)
    return [
        raised(lambda: tf.cond(p, lambda: x, lambda: tf.constant(2))),
        raised(lambda: tf.cond(p, x, x)),
        raised(lambda: tf.cond(p, lambda: x)),
    ]


def cond_of_a_constant(tf, np):
    x = tf.constant(2.0)
    made = [tf.cond(tf.constant(flag), lambda: x * 2.0, lambda: x * 3.0) for flag in (True, False)]
    return run(tf, made)


def cond_within_cond(tf, np):
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(
        x > 0.0,
        lambda: tf.cond(x > 10.0, lambda: x * 100.0, lambda: x * 10.0),
        lambda: tf.cond(x < -10.0, lambda: -x, lambda: x * 0.0),
    )
    return over(tf, y, x, [20.0, 2.0, -20.0, -2.0])


def cond_runs_one_branch(tf, np):
    p = tf.placeholder(tf.bool, [])
    v = tf.get_variable("v", initializer=0.0)

    def write(value):
        with tf.control_dependencies([tf.assign_add(v, value)]):
            return tf.constant(value)

    y = tf.cond(p, lambda: write(1.0), lambda: write(100.0))
    with tf.Session() as session:
        session.run(v.initializer)
        found = [[session.run(y, {p: flag}), session.run(v)] for flag in (True, False, True)]
        return found


def cond_of_operations(tf, np):
    p = tf.placeholder(tf.bool, [])
    v = tf.get_variable("v", initializer=0.0)
    y = tf.cond(p, lambda: tf.assign(v, 5.0).op, lambda: tf.no_op())
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(y, {p: False})
        before = session.run(v)
        session.run(y, {p: True})
        return [before, session.run(v)]


def case(tf, np):
    x = tf.placeholder(tf.float32, [])
    pairs = [(x < 0.0, lambda: tf.constant("negative")), (x < 1.0, lambda: tf.constant("small"))]
    y = tf.case(pairs, default=lambda: tf.constant("large"))
    return over(tf, y, x, [-1.0, 0.5, 7.0])


def case_that_is_exclusive(tf, np):
    x = tf.placeholder(tf.float32, [])
    pairs = [(x < 0.0, lambda: x), (x < 1.0, lambda: x * 2.0)]
    y = tf.case(pairs, lambda: x * 3.0, exclusive=True)
    with tf.Session() as session:
        found = [session.run(y, {x: value}) for value in (0.5, 5.0)]
        return [found, raised(lambda: session.run(y, {x: -1.0}))]


def case_without_default(tf, np):
    x = tf.placeholder(tf.float32, [])
    y = tf.case([(x < 0.0, lambda: x), (x > 1.0, lambda: x * 2.0)])
    return over(tf, y, x, [-1.0, 5.0])


def switch_case(tf, np):
    n = tf.placeholder(tf.int32, [])
    y = tf.switch_case(
        n, {0: lambda: tf.constant(10), 2: lambda: tf.constant(30), 1: lambda: tf.constant(20)}
    )
    z = tf.switch_case(n, [lambda: tf.constant(1)], default=lambda: tf.constant(-1))
    return over(tf, [y, z], n, [0, 1, 2, 7, -3])


def while_loop(tf, np):
    n = tf.placeholder(tf.int32, [])
    i, total = tf.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t + i), [0, 0])
    return over(tf, [i, total], n, [0, 1, 10])


def while_loop_of_one_variable(tf, np):
    y = tf.while_loop(lambda i: tf.less(i, 10), lambda i: tf.add(i, 3), [tf.constant(0)])
    z = tf.while_loop(
        lambda i: i < 10, lambda i: [i + 3], [tf.constant(0)], return_same_structure=True
    )
    return [isinstance(y, list), isinstance(z, list), run(tf, [y, z])]


def while_loop_of_nests(tf, np):
    start = {"i": tf.constant(0), "pair": (tf.constant(1.0), [tf.constant([1.0, 2.0])])}

    def body(state):
        number, (rows,) = state["pair"]
        return [{"i": state["i"] + 1, "pair": (number * 2.0, [rows + number])}]

    return run(tf, tf.while_loop(lambda state: state["i"] < 4, body, [start]))


def while_loop_maximum_iterations(tf, np):
    n = tf.placeholder(tf.int32, [])
    y = tf.while_loop(lambda i: i < n, lambda i: i + 1, [0], maximum_iterations=5)
    z = tf.while_loop(lambda i: True, lambda i: i + 2, [0], maximum_iterations=n)
    return over(tf, [y, z], n, [3, 9, 0])


def while_loop_options_are_accepted(tf, np):
    y = tf.while_loop(
        lambda i: i < 7,
        lambda i: i + 1,
        [tf.constant(0)],
        parallel_iterations=1,
        back_prop=False,
        swap_memory=True,
        name="loop",
    )
    return run(tf, y)


def while_loop_shape_invariants(tf, np):
    n = tf.placeholder(tf.int32, [])
    i, rows = tf.while_loop(
        lambda i, rows: i < n,
        lambda i, rows: (i + 1, tf.concat([rows, [[tf.cast(i, tf.float32), 1.0]]], 0)),
        [tf.constant(0), tf.zeros([1, 2])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])],
    )
    return [static(rows), over(tf, rows, n, [0, 2])]


def while_loop_that_changes_shape(tf, np):
    def grow(rows):
        return tf.concat([rows, rows], 0)

    x = tf.zeros([1, 2])
    return raised(lambda: tf.while_loop(lambda r: tf.shape(r)[0] < 9, grow, [x]))


def while_loop_that_changes_dtype(tf, np):
    return [
        raised(lambda: tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i, tf.float32), [0])),
        raised(lambda: tf.while_loop(lambda i, j: i < 3, lambda i, j: i + 1, [0, 1])),
        raised(lambda: tf.while_loop(3, lambda i: i, [0])),
    ]


def while_loop_reads_what_is_outside(tf, np):
    x = tf.placeholder(tf.float32, [2])
    v = tf.get_variable("v", initializer=2.0)
    _, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * v + x), [0, tf.zeros([2])])
    return over(tf, y, x, [[1.0, 2.0], [0.0, -1.0]])


def while_loop_writes_a_variable(tf, np):
    v = tf.get_variable("v", initializer=1.0)

    def body(i):
        with tf.control_dependencies([tf.assign(v, v * 2.0)]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 5, body, [0])
    with tf.Session() as session:
        session.run(v.initializer)
        return [session.run(loop), session.run(v), session.run(loop), session.run(v)]


def while_loop_within_while_loop(tf, np):
    def outer(i, total):
        _, total = tf.while_loop(
            lambda j, t: j < i, lambda j, t: (j + 1, t + i * j), [tf.constant(0), total]
        )
        return i + 1, total

    return run(tf, tf.while_loop(lambda i, t: i < 6, outer, [0, 0]))


def cond_within_while_loop(tf, np):
    def collatz(n, steps):
        even = tf.equal(n % 2, 0)
        return tf.cond(even, lambda: n // 2, lambda: 3 * n + 1), steps + 1

    n = tf.placeholder(tf.int64, [])
    _, steps = tf.while_loop(lambda n, s: n > 1, collatz, [n, 0])
    return over(tf, steps, n, [1, 6, 27])


def while_loop_within_cond(tf, np):
    n = tf.placeholder(tf.int32, [])

    def factorial():
        return tf.while_loop(lambda i, p: i <= n, lambda i, p: (i + 1, p * i), [1, 1])[1]

    return over(tf, tf.cond(n > 0, factorial, lambda: tf.constant(-1)), n, [5, 0])


def newton(tf, np):
    a = tf.placeholder(tf.float64, [])
    x = tf.while_loop(
        lambda x: tf.abs(x * x - a) > 1e-12 * a, lambda x: 0.5 * (x + a / x), [tf.identity(a)]
    )
    return over(tf, x, a, [2.0, 144.0])


def fibonacci(tf, np):
    n = tf.placeholder(tf.int32, [])
    _, a, _ = tf.while_loop(lambda i, a, b: i < n, lambda i, a, b: (i + 1, b, a + b), [0, 0, 1])
    return over(tf, a, n, [0, 1, 2, 30])


def tensor_array_write_and_stack(tf, np):
    array = tf.TensorArray(tf.float32, size=3)
    array = array.write(0, [1.0, 2.0]).write(2, [5.0, 6.0]).write(1, [3.0, 4.0])
    return run(tf, [array.stack(), array.size(), array.concat()])


def tensor_array_read(tf, np):
    array = tf.TensorArray(tf.int32, 3, clear_after_read=False).unstack([10, 20, 30])
    n = tf.placeholder(tf.int32, [])
    return [array.dtype, over(tf, [array.read(n), array.read(1)], n, [0, 2])]


def tensor_array_gather_and_scatter(tf, np):
    array = tf.TensorArray(tf.float32, 4).scatter([3, 0, 1], [[1.0], [2.0], [3.0]])
    array = array.write(2, [9.0])
    return run(tf, [array.gather([0, 3, 0]), array.stack()])


def tensor_array_split_and_concat(tf, np):
    array = tf.TensorArray(tf.float32, 3, infer_shape=False)
    array = array.split([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], lengths=[1, 3, 2])
    return run(tf, [array.read(0), array.read(1), array.concat()])


def tensor_array_that_grows(tf, np):
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for number in range(4):
        array = array.write(number, float(number) ** 2)
    return run(tf, [array.stack(), array.size()])


def tensor_array_in_a_loop(tf, np):
    n = tf.placeholder(tf.int32, [])
    _, array = tf.while_loop(
        lambda i, a: i < n,
        lambda i, a: (i + 1, a.write(i, i * i)),
        [0, tf.TensorArray(tf.int32, n)],
    )
    return over(tf, array.stack(), n, [1, 5])


def tensor_array_errors(tf, np):
    array = tf.TensorArray(tf.float32, 2).unstack([1.0, 2.0])
    return [
        raised(lambda: run(tf, array.read(5))),
        raised(lambda: run(tf, array.write(7, 1.0).stack())),
        raised(lambda: run(tf, tf.TensorArray(tf.float32, 2).unstack([1.0, 2.0, 3.0]).stack())),
    ]


def map_fn(tf, np):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    y = tf.map_fn(lambda row: tf.reduce_sum(row) * row, x)
    z = tf.map_fn(lambda row: tf.cast(row[0], tf.int32), x, dtype=tf.int32)
    return run(tf, [y, z])


def map_fn_of_nests(tf, np):
    a, b = tf.constant([1.0, 2.0, 3.0]), tf.constant([4, 5, 6])
    y = tf.map_fn(lambda pair: pair[0] * tf.cast(pair[1], tf.float32), (a, b), dtype=tf.float32)
    z = tf.map_fn(
        lambda x: (x, -x, {"square": x * x}), a, (tf.float32, tf.float32, {"square": tf.float32})
    )
    return run(tf, [y, z])


def map_fn_of_an_unknown_number(tf, np):
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.map_fn(lambda row: tf.stack([row[1], row[0]]), x, parallel_iterations=2)
    with tf.Session() as session:
        return [static(y), [session.run(y, {x: np.ones((n, 2)) * n}) for n in (1, 3, 0)]]


def scan(tf, np):
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    made = [
        tf.scan(lambda a, b: a + b, x),
        tf.scan(lambda a, b: a * b, x, initializer=tf.constant(10.0)),
        tf.scan(lambda a, b: a + b, x, reverse=True),
        tf.scan(lambda a, b: (a[0] + b, a[1] * b), x, (tf.constant(0.0), tf.constant(1.0))),
    ]
    return run(tf, made)


def scan_of_nests(tf, np):
    x = {"a": tf.constant([1.0, 2.0, 3.0]), "b": tf.constant([[1.0], [2.0], [3.0]])}
    y = tf.scan(lambda s, e: s * e["a"] + e["b"], x, tf.constant([1.0]))
    return run(tf, y)


def foldl_and_foldr(tf, np):
    x = tf.constant([1.0, 2.0, 3.0])
    made = [
        tf.foldl(lambda a, b: a - b, x),
        tf.foldr(lambda a, b: a - b, x),
        tf.foldl(lambda a, b: a * 10.0 + b, x, initializer=tf.constant(7.0)),
        tf.foldr(lambda a, b: a * 10.0 + b, x, initializer=tf.constant(7.0)),
        tf.foldl(lambda a, e: a + e[0] * e[1], (x, x * 2.0), tf.constant(0.0)),
    ]
    return run(tf, made)


def functions_within_each_other(tf, np):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    sums = tf.map_fn(lambda row: tf.foldl(lambda a, b: a * 2.0 + b, row), x)
    steps = tf.scan(lambda a, row: tf.map_fn(lambda e: e * a[0], row), x)
    return run(tf, [sums, steps])


def vectorized_map(tf, np):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    return run(tf, tf.vectorized_map(lambda row: tf.tensordot(row, row, 1), x))


def python_is_not_recorded(tf, np):
    x = tf.placeholder(tf.float32, [])
    y = x
    for _ in range(3):
        y = y * 2.0 if isinstance(y, tf.Tensor) else 0
    return [raised(lambda: 1 if x > 0.0 else 2), over(tf, y, x, [1.0, 2.0])]


def feeding_past_a_branch(tf, np):
    p = tf.placeholder(tf.bool, [])
    y = tf.identity(tf.cond(p, lambda: tf.constant(1.0), lambda: tf.constant(2.0)))
    z = y * 10.0
    with tf.Session() as session:
        return [session.run(z, {p: True}), session.run(z, {y: 7.0})]


def waiting_for_what_is_outside(tf, np):
    """A branch or body that waits for an operation outside has it run, if it is run itself."""
    v = tf.Variable(1.0)
    more = v.assign_add(1.0)
    p = tf.placeholder(tf.bool, [])

    def waits(result):
        def branch(*_):
            with tf.control_dependencies([more]):
                return result()

        return branch

    one, two = lambda: tf.constant(1.0), lambda: tf.constant(2.0)
    inner = lambda: tf.cond(p, waits(one), two)  # noqa: E731
    made = [
        tf.cond(p, waits(one), two),
        tf.cond(p, waits(lambda: tf.identity(1.0)), two),
        tf.cond(p, inner, two),
        tf.cond(p, waits(lambda: [tf.no_op(), tf.constant(1.0)][1]), two),
        tf.switch_case(tf.cast(p, tf.int32), [two, waits(one)]),
        tf.case([(p, waits(one))], default=two),
        tf.while_loop(lambda i: i < 3, waits(lambda: tf.constant(3)), [0]),
        tf.while_loop(waits(lambda: tf.constant(False)), lambda i: i + 1, [0]),
        tf.map_fn(waits(one), tf.constant([1.0, 2.0])),
    ]
    found = []
    with tf.Session() as session:
        session.run(v.initializer)
        for x in made:
            found.append([[session.run(x, {p: value}), session.run(v)] for value in (True, False)])
    return found


def waiting_in_functions(tf, np):
    v = tf.Variable(1.0)
    more = v.assign_add(1.0)

    @tf.function
    def inside(x):
        with tf.control_dependencies([more]):
            return tf.constant(5.0)

    @tf.function
    def around(x):
        return x + 1.0

    with tf.control_dependencies([more]):
        y = around(tf.constant(1.0))
    with tf.Session() as session:
        session.run(v.initializer)
        x = inside(tf.constant(1.0))
        return [session.run(x), session.run(v), session.run(y), session.run(v)]


PROGRAMS = [
    waiting_for_what_is_outside,
    waiting_in_functions,
    cond,
    cond_by_names_of_arguments,
    cond_of_nests,
    cond_of_one_element_lists,
    cond_of_different_structures,
    cond_of_a_constant,
    cond_within_cond,
    cond_runs_one_branch,
    cond_of_operations,
    case,
    case_that_is_exclusive,
    case_without_default,
    switch_case,
    while_loop,
    while_loop_of_one_variable,
    while_loop_of_nests,
    while_loop_maximum_iterations,
    while_loop_options_are_accepted,
    while_loop_shape_invariants,
    while_loop_that_changes_shape,
    while_loop_that_changes_dtype,
    while_loop_reads_what_is_outside,
    while_loop_writes_a_variable,
    while_loop_within_while_loop,
    cond_within_while_loop,
    while_loop_within_cond,
    newton,
    fibonacci,
    tensor_array_write_and_stack,
    tensor_array_read,
    tensor_array_gather_and_scatter,
    tensor_array_split_and_concat,
    tensor_array_that_grows,
    tensor_array_in_a_loop,
    tensor_array_errors,
    map_fn,
    map_fn_of_nests,
    map_fn_of_an_unknown_number,
    scan,
    scan_of_nests,
    foldl_and_foldr,
    functions_within_each_other,
    vectorized_map,
    python_is_not_recorded,
    feeding_past_a_branch,
]
