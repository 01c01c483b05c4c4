"""`tf.gradients`: its options, its orders, through gather and through control flow."""

from programs.support import dense, raised, run, static


def one_source(tf, np):
    x = tf.constant([1.0, 2.0])
    y = tf.reduce_sum(x**3)
    got = tf.gradients(y, x)
    return [isinstance(got, list), len(got), run(tf, got)]


def several_targets_are_added(tf, np):
    x = tf.constant([1.0, 2.0])
    return run(tf, [tf.gradients([x * x, tf.reduce_sum(x) * 3.0], [x]), tf.gradients(x * x, [x])])


def nests_of_sources(tf, np):
    x, y = tf.constant(2.0), tf.constant(3.0)
    return run(tf, [tf.gradients(x * y, [x, y]), tf.gradients(x * y, (y, x))])


def initial_gradients(tf, np):
    x = tf.constant([1.0, 2.0])
    y, z = x * x, x * 3.0
    return run(
        tf,
        [
            tf.gradients(y, x, grad_ys=tf.constant([10.0, 100.0])),
            tf.gradients([y, z], x, grad_ys=[tf.constant([1.0, 2.0]), None]),
            tf.gradients([y, z], x, [np.float32([0, 1]), np.float32([5, 5])]),
        ],
    )


def initial_gradients_that_do_not_fit(tf, np):
    x = tf.constant([1.0, 2.0])
    return [
        raised(lambda: tf.gradients([x * x], x, grad_ys=[1.0, 2.0])),
        raised(lambda: tf.gradients([x * x], x, grad_ys=[tf.constant([1, 2])])),
        raised(lambda: tf.gradients([tf.cast(x, tf.int32)], x)),
    ]


def stopped_at(tf, np):
    a = tf.constant(2.0)
    b = a * 2.0
    y = a * b
    return run(tf, [tf.gradients(y, [a, b], stop_gradients=[a, b]), tf.gradients(y, [a, b])])


def stopped_in_the_graph(tf, np):
    x = tf.constant(3.0)
    y = x * tf.stop_gradient(x * x)
    return run(tf, tf.gradients(y, x))


def unconnected(tf, np):
    x, z = tf.constant([1.0, 2.0]), tf.constant([[5.0]])
    y = tf.reduce_sum(x * x)
    none = tf.gradients(y, [x, z])
    zero = tf.gradients(y, [z, x], unconnected_gradients=tf.UnconnectedGradients.ZERO)
    text = tf.gradients(y, z, unconnected_gradients="zero")
    return [none[1] is None, run(tf, [none[0], zero, text])]


def integers_are_unconnected(tf, np):
    x = tf.constant([1.0, 2.0])
    n = tf.constant(3)
    y = tf.reduce_sum(x) * tf.cast(n, tf.float32)
    return [tf.gradients(y, n), tf.gradients(tf.cast(tf.round(x), tf.float32), x)]


def options_are_accepted(tf, np):
    x = tf.constant(3.0)
    gradients = tf.gradients(
        x * x,
        x,
        name="back",
        colocate_gradients_with_ops=True,
        gate_gradients=True,
        aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE,
    )
    return run(tf, gradients)


def of_an_intermediate_tensor(tf, np):
    x = tf.constant([1.0, 2.0])
    h = tf.tanh(x)
    y = tf.reduce_sum(h * h)
    return run(tf, tf.gradients(y, [h, x]))


def of_a_fed_tensor(tf, np):
    x = tf.placeholder(tf.float32, [None, 2])
    W = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    y = tf.reduce_sum(tf.nn.sigmoid(tf.matmul(x, W)), 1)
    gradient = tf.gradients(y, x)[0]
    return [static(gradient), run(tf, gradient, {x: [[0.1, 0.2], [0.3, -0.4]]})]


def of_a_target_that_is_the_source(tf, np):
    x = tf.constant([1.0, 2.0])
    return run(tf, tf.gradients(x, x))


def rows_give_indexed_slices(tf, np):
    table = tf.get_variable("table", initializer=np.ones((5, 2), np.float32))
    rows = tf.gather(table, [0, 3, 0])
    gradient = tf.gradients(tf.reduce_sum(rows * [[1.0], [2.0], [3.0]]), table)[0]
    got = run(tf, gradient)
    kind = isinstance(gradient, tf.IndexedSlices)
    return [kind, got.indices, got.values, got.dense_shape, dense(got)]


def embedding_look_up(tf, np):
    table = tf.get_variable("table", initializer=np.arange(10, dtype=np.float32).reshape(5, 2))
    y = tf.reduce_mean(tf.nn.embedding_lookup(table, [[0, 1], [1, 4]]) ** 2)
    return dense(run(tf, tf.gradients(y, table)[0]))


def rows_and_the_whole(tf, np):
    table = tf.get_variable("table", initializer=np.ones((3, 2), np.float32))
    y = tf.reduce_sum(tf.gather(table, [1])) + tf.reduce_sum(table * 2.0)
    return dense(run(tf, tf.gradients(y, table)[0]))


def rows_of_rows(tf, np):
    table = tf.get_variable("table", initializer=np.arange(8, dtype=np.float32).reshape(4, 2))
    y = tf.reduce_sum(tf.gather(tf.gather(table, [3, 1, 1]), [0, 1]) ** 2)
    return dense(run(tf, tf.gradients(y, table)[0]))


def indexed_slices_as_a_tensor(tf, np):
    table = tf.get_variable("table", initializer=np.ones((3, 2), np.float32))
    gradient = tf.gradients(tf.reduce_sum(tf.gather(table, [0, 0, 2])), table)[0]
    return run(tf, tf.convert_to_tensor(gradient))


def second_order(tf, np):
    x = tf.constant([0.5, 2.0])
    first = tf.gradients(tf.reduce_sum(tf.sin(x) * x), x)[0]
    second = tf.gradients(tf.reduce_sum(first), x)[0]
    return run(tf, [first, second])


def third_and_fourth_order(tf, np):
    y = x = tf.constant(1.5, tf.float64)
    y = tf.exp(x) * x**4
    found = []
    for _ in range(4):
        y = tf.gradients(y, x)[0]
        found.append(y)
    return run(tf, found)


def mixed_second_order(tf, np):
    x, y = tf.constant(1.2, tf.float64), tf.constant(0.7, tf.float64)
    z = tf.sin(x * y) + x**2 * y**3
    dx = tf.gradients(z, x)[0]
    dxdy = tf.gradients(dx, y)[0]
    return run(tf, [dx, dxdy, tf.gradients(dxdy, [x, y])])


def hessians(tf, np):
    x = tf.constant([1.0, 2.0, 3.0])
    y = tf.reduce_sum(x**3) + x[0] * x[1] * x[2]
    return run(tf, tf.hessians(y, x))


def hessians_of_several(tf, np):
    x = tf.constant([1.0, 2.0])
    W = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    y = tf.reduce_sum(tf.matmul(W, x[:, None]) ** 2) + tf.reduce_sum(W**3)
    return run(tf, tf.hessians(y, [x, W]))


def product_of_hessian_and_vector(tf, np):
    x = tf.placeholder(tf.float64, [3])
    v = tf.placeholder(tf.float64, [3])
    gradient = tf.gradients(tf.reduce_sum(x**3 * x[::-1]), x)[0]
    product = tf.gradients(tf.reduce_sum(gradient * v), x)[0]
    return run(tf, product, {x: [1.0, 2.0, 3.0], v: [1.0, 0.0, -1.0]})


def forward_by_two_reverses(tf, np):
    x = tf.constant([1.0, 2.0], tf.float64)
    v = tf.constant([0.5, -1.0], tf.float64)
    y = tf.stack([x[0] * x[1], tf.sin(x[0]), x[1] ** 3])
    dummy = tf.ones_like(y)
    back = tf.gradients(y, x, grad_ys=dummy)[0]
    return run(tf, tf.gradients(back, dummy, grad_ys=v))


def through_cond(tf, np):
    p = tf.placeholder(tf.bool, [])
    x = tf.constant([1.0, 2.0])
    y = tf.cond(p, lambda: tf.reduce_sum(x**2), lambda: tf.reduce_sum(x * 5.0))
    gradient = tf.gradients(y, x)[0]
    with tf.Session() as session:
        return [session.run([y, gradient], {p: flag}) for flag in (True, False)]


def through_cond_to_one_branch(tf, np):
    p = tf.placeholder(tf.bool, [])
    x, z = tf.constant(2.0), tf.constant(3.0)
    y = tf.cond(p, lambda: x * x, lambda: z * 4.0)
    gradients = tf.gradients(y, [x, z])
    with tf.Session() as session:
        return [session.run(gradients, {p: flag}) for flag in (True, False)]


def through_case(tf, np):
    n = tf.placeholder(tf.int32, [])
    x = tf.constant(2.0)
    y = tf.case([(tf.equal(n, 0), lambda: x), (tf.equal(n, 1), lambda: x**2)], lambda: x**3)
    gradient = tf.gradients(y, x)[0]
    with tf.Session() as session:
        return [session.run([y, gradient], {n: number}) for number in range(3)]


def through_switch_case(tf, np):
    n = tf.placeholder(tf.int32, [])
    x = tf.constant(2.0)
    y = tf.switch_case(n, [lambda: tf.exp(x), lambda: x * 7.0], default=lambda: -x)
    gradient = tf.gradients(y, x)[0]
    with tf.Session() as session:
        return [session.run([y, gradient], {n: number}) for number in (0, 1, 2, -1)]


def through_while(tf, np):
    n = tf.placeholder(tf.int32, [])
    x = tf.constant(1.5)
    _, y = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * x), [0, tf.constant(1.0)])
    gradient = tf.gradients(y, x)[0]
    second = tf.gradients(gradient, x)[0]
    with tf.Session() as session:
        return [session.run([y, gradient, second], {n: number}) for number in (0, 1, 2, 5)]


def through_while_of_matrices(tf, np):
    x = tf.constant([[1.0, 2.0], [0.5, -1.0]], tf.float64)
    W = tf.constant([[0.5, 0.1], [-0.2, 0.3]], tf.float64)
    _, y = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tf.tanh(tf.matmul(a, W))), [0, x])
    return run(tf, tf.gradients(tf.reduce_sum(y**2), [x, W]))


def through_cond_within_while(tf, np):
    x = tf.constant(1.1, tf.float64)

    def body(i, a):
        even = tf.equal(i % 2, 0)
        return i + 1, tf.cond(even, lambda: a * x, lambda: tf.sin(a) + x)

    _, y = tf.while_loop(lambda i, a: i < 5, body, [0, x])
    first = tf.gradients(y, x)[0]
    return run(tf, [y, first, tf.gradients(first, x)[0]])


def through_while_within_while(tf, np):
    x = tf.constant(1.2, tf.float64)

    def inner(a):
        return tf.while_loop(lambda j, b: j < 3, lambda j, b: (j + 1, b * x + 0.1), [0, a])[1]

    _, y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, inner(a)), [0, x])
    first = tf.gradients(y, x)[0]
    return run(tf, [y, first, tf.gradients(first, x)[0]])


def through_while_within_cond(tf, np):
    p = tf.placeholder(tf.bool, [])
    x = tf.constant(1.3)

    def loop():
        return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x])[1]

    y = tf.cond(p, loop, lambda: x * 2.0)
    gradient = tf.gradients(y, x)[0]
    with tf.Session() as session:
        return [session.run([y, gradient], {p: flag}) for flag in (True, False)]


def through_map(tf, np):
    x = tf.constant([1.0, 2.0, 3.0])
    w = tf.constant(2.0)
    y = tf.map_fn(lambda a: a * a * w, x)
    return run(tf, [tf.gradients(y, [x, w]), tf.gradients(tf.gradients(y, x)[0], [x, w])])


def through_scan(tf, np):
    x = tf.constant([1.0, 2.0, 3.0])
    y = tf.scan(lambda a, b: a * b + b, x)
    first = tf.gradients(y, x)[0]
    return run(tf, [y, first, tf.gradients(first, x)[0]])


def through_folds(tf, np):
    x = tf.constant([1.0, 2.0, 3.0])
    y = tf.foldl(lambda a, b: a * 0.5 + b * b, x)
    z = tf.foldr(lambda a, b: a * 0.5 + b * b, x, initializer=tf.constant(4.0))
    return run(tf, [y, z, tf.gradients(y, x), tf.gradients(z, x)])


def through_a_tensor_array(tf, np):
    x = tf.constant([1.0, 2.0, 3.0])
    array = tf.TensorArray(tf.float32, 3).unstack(x * x)
    y = array.read(0) * 10.0 + tf.reduce_sum(array.stack() * [1.0, 2.0, 3.0])
    return run(tf, tf.gradients(y, x))


def through_a_tensor_array_in_a_loop(tf, np):
    x = tf.constant([1.0, 2.0, 3.0], tf.float64)
    start = tf.TensorArray(tf.float64, 4, clear_after_read=False).write(0, x)

    def body(i, array):
        return i + 1, array.write(i, array.read(i - 1) ** 2 * 0.5)

    _, array = tf.while_loop(lambda i, a: i < 4, body, [1, start])
    return run(tf, [array.stack(), tf.gradients(array.stack(), x)])


def recurrence_with_outputs(tf, np):
    x = tf.constant(np.linspace(-1, 1, 6).reshape(3, 2))
    W = tf.constant([[0.3, -0.5], [0.8, 0.2]], tf.float64)
    inputs = tf.TensorArray(tf.float64, 3).unstack(x)

    def body(i, state, outputs):
        state = tf.tanh(tf.matmul(state, W) + inputs.read(i)[None])
        return i + 1, state, outputs.write(i, state)

    start = [0, tf.zeros([1, 2], tf.float64), tf.TensorArray(tf.float64, 3)]
    _, _, outputs = tf.while_loop(lambda i, *_: i < 3, body, start)
    y = tf.reduce_sum(outputs.stack() ** 2)
    first = tf.gradients(y, [x, W])
    return run(tf, [y, first, tf.gradients(tf.reduce_sum(first[1] ** 2), [x, W])])


def through_where_and_clip(tf, np):
    x = tf.constant([-1.0, 0.0, 0.5, 2.0])
    y = tf.where(x > 0.0, tf.sqrt(tf.maximum(x, 1e-6)), -x)
    return run(tf, [tf.gradients(y, x), tf.gradients(tf.clip_by_value(x, -0.5, 1.0), x)])


def through_py_func_there_is_none(tf, np):
    x = tf.constant([1.0, 2.0])
    y = tf.py_func(lambda a: a * 2, [x], tf.float32)
    return [tf.gradients(y, x), run(tf, y)]


def custom_gradient(tf, np):
    @tf.custom_gradient
    def clipped(x):
        return x * x, lambda dy: dy * 100.0

    x = tf.constant(3.0)
    return run(tf, [clipped(x), tf.gradients(clipped(x), x)])


def registered_gradient(tf, np):
    @tf.RegisterGradient("NegatedIdentityOfThisProgram")
    def negated(op, gradient):
        return -gradient

    x = tf.constant(3.0)
    with tf.get_default_graph().gradient_override_map({"Identity": "NegatedIdentityOfThisProgram"}):
        y = tf.identity(x)
    return run(tf, [y, tf.gradients(y, x)])


def gradient_of_a_penalty(tf, np):
    x = tf.constant([[0.5, -1.0]])
    W = tf.get_variable("W", initializer=np.float32([[1, 2], [3, 4]]))
    y = tf.nn.softplus(tf.matmul(x, W))
    slope = tf.gradients(y, x)[0]
    penalty = tf.square(tf.norm(slope) - 1.0)
    return run(tf, [penalty, tf.gradients(penalty, W)])


def of_complex_numbers(tf, np):
    x = tf.constant([1.0, 2.0])
    z = tf.complex(x, x * 2.0)
    y = tf.reduce_sum(tf.abs(z * z))
    return run(tf, [tf.gradients(y, x), tf.gradients(tf.real(z * tf.conj(z)), z)])


def the_same_gradient_twice(tf, np):
    x = tf.constant([1.0, 2.0])
    y = tf.reduce_sum(tf.exp(x))
    return run(tf, [tf.gradients(y, x), tf.gradients(y, x)])


def shared_parts(tf, np):
    x = y = tf.constant(1.01)
    for _ in range(30):
        y = y * 0.5 + y * 0.5
    return run(tf, tf.gradients(y * x, x))


def long_chain(tf, np):
    x = y = tf.constant(1.0)
    for _ in range(1500):
        y = y * 1.001
    return run(tf, tf.gradients(y, x))


def gradient_errors(tf, np):
    x = tf.constant([1.0, 2.0])
    known = tf.UnconnectedGradients.NONE
    return [
        raised(lambda: tf.gradients("text", x)),
        raised(lambda: tf.gradients(x * x, x, unconnected_gradients="nonsense")),
        raised(lambda: tf.gradients(x * x, x, unconnected_gradients=known)),
    ]


PROGRAMS = [
    one_source,
    several_targets_are_added,
    nests_of_sources,
    initial_gradients,
    initial_gradients_that_do_not_fit,
    stopped_at,
    stopped_in_the_graph,
    unconnected,
    integers_are_unconnected,
    options_are_accepted,
    of_an_intermediate_tensor,
    of_a_fed_tensor,
    of_a_target_that_is_the_source,
    rows_give_indexed_slices,
    embedding_look_up,
    rows_and_the_whole,
    rows_of_rows,
    indexed_slices_as_a_tensor,
    second_order,
    third_and_fourth_order,
    mixed_second_order,
    hessians,
    hessians_of_several,
    product_of_hessian_and_vector,
    forward_by_two_reverses,
    through_cond,
    through_cond_to_one_branch,
    through_case,
    through_switch_case,
    through_while,
    through_while_of_matrices,
    through_cond_within_while,
    through_while_within_while,
    through_while_within_cond,
    through_map,
    through_scan,
    through_folds,
    through_a_tensor_array,
    through_a_tensor_array_in_a_loop,
    recurrence_with_outputs,
    through_where_and_clip,
    through_py_func_there_is_none,
    custom_gradient,
    registered_gradient,
    gradient_of_a_penalty,
    of_complex_numbers,
    the_same_gradient_twice,
    shared_parts,
    long_chain,
    gradient_errors,
]
