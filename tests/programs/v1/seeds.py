"""The programs of the seed documents that use graphs and sessions, made to run.

Seed 4 is "How Not To Program the TensorFlow Graph", seed 2 tells of problems in derivations, seed 0
of the nodes named `ones`; those of seeds 1 and 3 are written here with `tf.gradients`.
"""

from programs.support import raised


def initializer_used_twice(tf, np):
    session = tf.Session()
    a, b = tf.Variable(1.0), tf.Variable([2.0, 3.0])
    initializer = tf.global_variables_initializer()
    session.run(initializer)
    session.run(tf.assign(a, 100.0))
    before = session.run([a, b])
    session.run(initializer)
    return [before, session.run([a, b])]


def initializer_made_in_the_run(tf, np):
    session = tf.Session()
    a = tf.Variable(1.0)
    for _ in range(20):
        session.run(tf.global_variables_initializer())
        session.run(tf.assign_add(a, 1.0))
    value = session.run(a)
    b = tf.Variable(5.0)
    session.run(tf.global_variables_initializer())
    return [value, session.run([a, b])]


def sum_named_twice(tf, np):
    x = tf.Variable(1.0)
    y = x + 1.0
    y = x + 1.0
    with tf.Session() as session:
        session.run(x.initializer)
        return session.run(y)


def sum_in_a_loop(tf, np):
    x = tf.Variable(1.0)
    y = x
    for _ in range(1000):
        y = y + 1
    with tf.Session() as session:
        session.run(x.initializer)
        return [session.run(y), session.run(tf.gradients(y, x))]


def increment_in_a_loop(tf, np):
    x = tf.Variable(1.0)
    increment_x = tf.assign(x, x + 1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(1000):
            session.run(increment_x)
        return session.run(x)


def cell_run_again(tf, np):
    session = tf.Session()
    x = tf.Variable(np.arange(4.0))
    session.run(x.initializer)
    found = []
    for _ in range(25):
        y = tf.reduce_sum(tf.square(x) * 2.0)
        gradient = tf.gradients(y, x)[0]
        found = session.run([y, gradient])
    return found


def sum_of_many_ones(tf, np):
    many_ones = np.ones((1000, 1000))
    with tf.Session() as session:
        return session.run(tf.reduce_sum(many_ones))


def sum_of_many_things_fed(tf, np):
    many_things = tf.placeholder(tf.float64)
    adder = tf.reduce_sum(many_things)
    with tf.Session() as session:
        found = session.run(adder, feed_dict={many_things: np.ones((1000, 1000))})
        return [found, session.run(adder, feed_dict={many_things: [1.0, 2.5]})]


def reshape_as_currying(tf, np):
    input_tensor = tf.placeholder(tf.float32)
    reshape_to_28 = tf.reshape(input_tensor, shape=[28, 28])
    with tf.Session() as session:
        got = session.run(reshape_to_28, {input_tensor: np.arange(784.0)})
        failed = raised(lambda: session.run(reshape_to_28, {input_tensor: np.arange(100.0)}))
        return [got.shape, got[27], failed]


def operations_as_functions(tf, np):
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)

    def twice(operation):
        return operation(operation(x, y), y)

    made = [twice(tf.add), twice(tf.multiply), twice(tf.maximum)]
    with tf.Session() as session:
        return session.run(made, {x: [1.0, 2.0], y: 3.0})


def variables_in_two_scopes(tf, np):
    session = tf.Session()
    with tf.variable_scope("scope1"):
        var1 = tf.Variable(0.0)
        sum1 = var1 + 1.0
    with tf.variable_scope("scope2"):
        var2 = tf.Variable(1.0)
        sum2 = var2 * sum1
    missing = raised(lambda: session.run(sum2))
    session.run(tf.global_variables_initializer())
    found = [missing, session.run([sum1, sum2]), [var1.name, var2.name]]
    session.close()
    return [*found, raised(lambda: session.run(sum2))]


def product_computed_twice(tf, np):
    random = np.random.RandomState(0)
    first = tf.constant(random.rand(100, 1).astype(np.float32))
    second = tf.constant(random.rand(100, 1).astype(np.float32))
    x = tf.placeholder(tf.float32, shape=[None, 100])
    y = tf.placeholder(tf.float32, shape=[None, 1])
    z = tf.matmul(x, first) + tf.matmul(x, second)
    loss = tf.reduce_mean(tf.square(y - z))
    z_efficient = tf.matmul(x, first) * 2
    loss_efficient = tf.reduce_mean(tf.square(y - z_efficient))
    feed = {x: random.rand(5, 100), y: random.rand(5, 1)}
    with tf.Session() as session:
        return session.run([loss, loss_efficient, tf.gradients(loss, x)[0][:, :3]], feed)


def dtypes_of_the_product_do_not_fit(tf, np):
    x = tf.placeholder(tf.float32, shape=[None, 100])
    return raised(lambda: tf.matmul(x, tf.constant(np.random.RandomState(0).rand(100, 1))))


def loss_with_a_python_condition(tf, np):
    y_true, y_pred = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    error = tf.abs(y_true - y_pred)
    refused = raised(lambda: 1 if tf.reduce_mean(error) > 0.5 else 0)
    loss = tf.cond(tf.reduce_mean(error) > 0.5, lambda: tf.square(error), lambda: error)
    gradient = tf.gradients(loss, y_pred)[0]
    with tf.Session() as session:
        feeds = [{y_true: [1.0, 2.0], y_pred: given} for given in ([1.1, 2.2], [3.0, 0.0])]
        return [refused, [session.run([loss, gradient], feed) for feed in feeds]]


def ones_of_gradients(tf, np):
    x = tf.constant([1.0, 2.0, 3.0])
    W, b = tf.Variable([0.5]), tf.Variable([0.0])
    loss = tf.reduce_mean(tf.square(W * x + b - [2.0, 4.0, 6.0]))
    gradients = tf.gradients(loss, [W, b])
    step = tf.train.GradientDescentOptimizer(0.01).apply_gradients(zip(gradients, [W, b]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(gradients)]
        session.run(step)
        return [*found, session.run([W, b])]


def ones_of_a_convolution(tf, np):
    random = np.random.RandomState(1)
    x = tf.constant(random.rand(1, 28, 28, 1).astype(np.float32))
    kernel = tf.Variable(random.randn(3, 3, 1, 4).astype(np.float32))
    dense = tf.Variable(random.randn(26 * 26 * 4, 2).astype(np.float32) * np.float32(0.01))
    hidden = tf.nn.relu(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "VALID"))
    loss = tf.reduce_mean(tf.matmul(tf.reshape(hidden, [1, -1]), dense))
    gradients = tf.gradients(loss, [kernel, dense])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got = session.run([loss, *gradients])
        return [got[0], got[1], got[2][:5]]


def ones_of_a_custom_loss(tf, np):
    y_true, y_pred = tf.constant([1.0, 2.0, 3.0]), tf.Variable([1.5, 1.0, 3.0])
    difference = y_true - y_pred
    loss = tf.reduce_sum(tf.abs(difference)) + tf.reduce_mean(tf.square(difference))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run([loss, *tf.gradients(loss, y_pred)])


def unconnected_gradients(tf, np):
    x = tf.constant([[1.0, 2.0]])
    w = tf.Variable([[1.0, 0.0], [0.0, 1.0]])
    b = tf.Variable([[0.0, 0.0]])
    loss = tf.reduce_mean(tf.add(x, b))
    none = tf.gradients(loss, [w], unconnected_gradients=tf.UnconnectedGradients.NONE)
    zero = tf.gradients(loss, [w], unconnected_gradients=tf.UnconnectedGradients.ZERO)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [none, session.run(zero)]


def gradient_of_a_parabola(tf, np):
    x = tf.Variable(3.0)
    y = x**2 + 2 * x + 1
    z = tf.identity(y)
    with tf.Session() as session:
        session.run(x.initializer)
        return session.run([x, tf.gradients(y, x)[0], tf.gradients(z, x)[0]])


def gradient_of_a_matrix_product(tf, np):
    W = tf.Variable(np.random.RandomState(2).randn(3, 2).astype(np.float32))
    b = tf.Variable(tf.zeros((2,)))
    x = tf.constant([[1.0, 2.0, 3.0]])
    loss = tf.reduce_sum((tf.matmul(x, W) + b) ** 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tf.gradients(loss, [W, b]))


PROGRAMS = [
    initializer_used_twice,
    initializer_made_in_the_run,
    sum_named_twice,
    sum_in_a_loop,
    increment_in_a_loop,
    cell_run_again,
    sum_of_many_ones,
    sum_of_many_things_fed,
    reshape_as_currying,
    operations_as_functions,
    variables_in_two_scopes,
    product_computed_twice,
    dtypes_of_the_product_do_not_fit,
    loss_with_a_python_condition,
    ones_of_gradients,
    ones_of_a_convolution,
    ones_of_a_custom_loss,
    unconnected_gradients,
    gradient_of_a_parabola,
    gradient_of_a_matrix_product,
]
