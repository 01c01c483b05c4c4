"""The tape programs of the seed documents, inside traced functions; layers are written out.

Random initial values are replaced by fixed ones, so that the gradients can be compared.
"""

from programs.function import truth


def custom_loss(tf):
    """The loss with a branch of seed 2."""

    def loss(y_true, y_pred):
        error = tf.abs(y_true - y_pred)
        if tf.reduce_mean(error) > 0.5:
            return tf.square(error)
        else:
            return error

    return loss


def linear_regression(tf, np):
    W = tf.Variable([0.5], name="weights")
    b = tf.Variable(tf.zeros([1]), name="bias")

    def model(x):
        return W * x + b

    def loss(y_true, y_pred):
        return tf.reduce_mean(tf.square(y_true - y_pred))

    @tf.function
    def train(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x))
        gradients = tape.gradient(value, [W, b])
        for variable, gradient in zip([W, b], gradients):
            variable.assign_sub(0.01 * gradient)
        return value, gradients

    x, y = tf.constant([1.0, 2.0, 3.0]), tf.constant([2.0, 4.0, 6.0])
    first = [t.numpy() for t in tf.nest.flatten(train(x, y))]
    losses = [train(x, y)[0].numpy() for _ in range(3)]
    return [first, losses, W.numpy(), b.numpy()]


def convolution_layer(tf, np):
    filters = tf.Variable(np.sin(np.arange(9.0 * 4)).reshape(3, 3, 1, 4) * 0.1)
    bias = tf.Variable(np.zeros(4))
    dense = tf.Variable(np.cos(np.arange(6.0 * 6 * 4 * 3)).reshape(-1, 3) * 0.1)
    dense_bias = tf.Variable(np.zeros(3))

    @tf.function
    def model(x):
        h = tf.nn.relu(tf.nn.conv2d(x, filters, strides=1, padding="VALID") + bias)
        return tf.matmul(tf.reshape(h, [1, -1]), dense) + dense_bias

    x = tf.constant(np.cos(np.arange(64.0)).reshape(1, 8, 8, 1))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    gradients = tape.gradient(loss, [filters, bias, dense_bias])
    return [loss.numpy()] + [g.numpy() for g in gradients]


def loss_of_absolutes_and_squares(tf, np):
    @tf.function
    def loss(y_true, y_pred):
        diff = y_true - y_pred
        return tf.reduce_sum(tf.abs(diff)) + tf.reduce_mean(tf.square(diff))

    prediction = tf.Variable([1.0, -2.0])
    with tf.GradientTape() as tape:
        value = loss(tf.constant([0.0, 0.0]), prediction)
    return [value.numpy(), tape.gradient(value, prediction).numpy()]


def unconnected(tf, np):
    w = tf.Variable([[1.0, 0.0], [0.0, 1.0]])
    b = tf.Variable([[0.0, 0.0]])
    none = []

    @tf.function
    def run(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(w)
            y = tf.add(x, b)
            loss = tf.reduce_mean(y)
        gradient = tape.gradient(loss, w, unconnected_gradients=tf.UnconnectedGradients.NONE)
        none.append(gradient is None)
        return tape.gradient(loss, [w], unconnected_gradients=tf.UnconnectedGradients.ZERO)

    return [run(tf.constant([[1.0, 2.0]]))[0].numpy()] + none


def unconnected_around_a_function(tf, np):
    w = tf.Variable([[1.0, 0.0], [0.0, 1.0]])
    b = tf.Variable([[0.0, 0.0]])

    @tf.function
    def loss(x):
        return tf.reduce_mean(tf.add(x, b))

    results = []
    for mode in (tf.UnconnectedGradients.NONE, tf.UnconnectedGradients.ZERO):
        with tf.GradientTape() as tape:
            value = loss(tf.constant([[1.0, 2.0]]))
        gradients = tape.gradient(value, [w, b], unconnected_gradients=mode)
        results.append([None if g is None else g.numpy() for g in gradients])
    return results


def custom_loss_with_a_branch(tf, np):
    loss = custom_loss(tf)
    y_true = tf.constant([0.0, 0.0])

    @tf.function
    def step(prediction):
        with tf.GradientTape() as tape:
            value = loss(y_true, prediction)
        return value, tape.gradient(value, prediction)

    results = []
    for start in ([3.0, 1.0], [0.25, -0.5]):
        results.append([t.numpy() for t in step(tf.Variable(start))])
    return results


def custom_loss_picks_its_branch_on_every_call(tf, np):
    loss = tf.function(custom_loss(tf))
    kernel = tf.Variable([[0.2], [0.4]], dtype=tf.float64)
    bias = tf.Variable([0.0], dtype=tf.float64)

    @tf.function(reduce_retracing=True)
    def train(x, y):
        with tf.GradientTape() as tape:
            value = tf.reduce_mean(loss(y, tf.matmul(x, kernel) + bias))
        for variable, gradient in zip((kernel, bias), tape.gradient(value, [kernel, bias])):
            variable.assign_sub(0.05 * gradient)
        return value

    x = tf.constant([[1.0, 2.0], [2.0, 1.0], [0.5, 0.5]], tf.float64)
    y = tf.constant([[3.0], [2.5], [1.0]], tf.float64)
    values = [train(x, y).numpy() for _ in range(6)]
    return [values, kernel.numpy(), bias.numpy()]


@truth(
    lambda np: [
        [np.float32(5.0), np.float32([3.0, 1.0])],
        [np.float32(0.375), np.float32([0.5, -0.5])],
    ]
)
def custom_loss_called_by_library_code(tf, np):
    """As Keras does it: the user's function is called in a trace without AutoGraph."""
    loss = custom_loss(tf)

    class Library:
        @tf.function(autograph=False)
        def step(self, y, prediction):
            with tf.GradientTape() as tape:
                tape.watch(prediction)
                value = tf.reduce_mean(loss(y, prediction))
            return value, tape.gradient(value, prediction)

    library, zero = Library(), tf.constant([0.0, 0.0])
    points = ([3.0, 1.0], [0.25, -0.5])
    return [[t.numpy() for t in library.step(zero, tf.constant(p))] for p in points]


def polynomial(tf, np):
    x = tf.Variable(3.0)

    @tf.function
    def slope():
        with tf.GradientTape() as tape:
            y = x**2 + 2 * x + 1
        return tape.gradient(y, x)

    first = slope().numpy()
    x.assign(5.0)
    return [first, slope().numpy()]


def computed_before_the_tape(tf, np):
    x = tf.Variable(3.0)

    @tf.function
    def run():
        y = x**2 + 2 * x + 1
        with tf.GradientTape() as tape:
            z = y * 1.0
        return tape.gradient(z, x)

    return run() is None


def matrices(tf, np):
    W = tf.Variable(np.float32([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]]))
    b = tf.Variable(tf.zeros((2,)))

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            output = tf.matmul(x, W) + b
            loss = tf.reduce_sum(output**2)
        return tape.gradient(loss, [W, b])

    return [g.numpy() for g in run(tf.constant([[1.0, 2.0, 3.0]]))]


def variable_in_a_loop_instead_of_a_million_nodes(tf, np):
    x = tf.Variable(1.0)

    @tf.function
    def run(n):
        for _ in tf.range(n):
            x.assign_add(1.0)
        return x.read_value()

    return run(tf.constant(1000)).numpy()


def same_product_written_twice(tf, np):
    kernel = tf.constant(np.arange(4.0).reshape(4, 1))

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float64)])
    def run(x):
        return tf.matmul(x, kernel) + tf.matmul(x, kernel), tf.matmul(x, kernel) * 2

    return [t.numpy() for t in run(np.ones((2, 4)))]


PROGRAMS = [
    linear_regression,
    convolution_layer,
    loss_of_absolutes_and_squares,
    unconnected,
    unconnected_around_a_function,
    custom_loss_with_a_branch,
    custom_loss_picks_its_branch_on_every_call,
    custom_loss_called_by_library_code,
    polynomial,
    computed_before_the_tape,
    matrices,
    variable_in_a_loop_instead_of_a_million_nodes,
    same_product_written_twice,
]
