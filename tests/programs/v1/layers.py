"""`tf.layers`: values with constant initializers, names, shapes, training."""

from programs.support import names, raised, run, static


def ramp(tf, np, *shape):
    """A constant with numbers that go up and down."""
    values = np.sin(0.3 + 1.7 * np.arange(np.prod(shape)))
    return tf.constant(values.reshape(shape).astype(np.float32))


def waves(tf, np):
    """An initializer that gives such numbers."""

    def make(shape, dtype=None, partition_info=None):
        return ramp(tf, np, *[int(size) for size in shape])

    return make


def dense(tf, np):
    y = tf.layers.dense(ramp(tf, np, 3, 4), 2, kernel_initializer=waves(tf, np))
    return [run(tf, y), static(y), names(tf.global_variables())]


def dense_with_everything(tf, np):
    y = tf.layers.dense(
        ramp(tf, np, 3, 4),
        units=2,
        activation=tf.nn.relu,
        kernel_initializer=waves(tf, np),
        bias_initializer=tf.constant_initializer(0.5),
        kernel_regularizer=lambda w: tf.reduce_sum(w * w),
        bias_regularizer=lambda b: tf.reduce_sum(b),
        name="head",
    )
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    return [run(tf, [y, losses]), names(tf.trainable_variables())]


def dense_without_bias(tf, np):
    y = tf.layers.dense(ramp(tf, np, 3, 4), 2, use_bias=False, kernel_initializer=waves(tf, np))
    return [run(tf, y), names(tf.global_variables())]


def dense_of_higher_rank(tf, np):
    y = tf.layers.dense(ramp(tf, np, 2, 3, 4), 2, kernel_initializer=waves(tf, np))
    return [run(tf, y), static(y)]


def dense_of_an_unknown_batch(tf, np):
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.layers.dense(x, 2, kernel_initializer=tf.ones_initializer())
    unknown = tf.placeholder(tf.float32, [None, None])
    return [static(y), run(tf, y, {x: np.eye(3)}), raised(lambda: tf.layers.dense(unknown, 2))]


def dense_layers_in_a_row(tf, np):
    x = ramp(tf, np, 2, 3)
    for units in (4, 3, 1):
        x = tf.layers.dense(x, units, activation=tf.tanh, kernel_initializer=waves(tf, np))
    return [run(tf, x), names(tf.global_variables())]


def dense_shared_by_name(tf, np):
    def layer(x, reuse):
        return tf.layers.dense(x, 3, name="shared", reuse=reuse, kernel_initializer=waves(tf, np))

    y = layer(layer(ramp(tf, np, 2, 3), None), True)
    again = raised(lambda: layer(ramp(tf, np, 2, 3), None))
    return [run(tf, y), names(tf.global_variables()), again]


def dense_within_scopes(tf, np):
    for _ in range(2):
        with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
            y = tf.layers.dense(ramp(tf, np, 2, 3), 2, name="fc", kernel_initializer=waves(tf, np))
    with tf.variable_scope("other"):
        tf.layers.dense(y, 2)
        tf.layers.dense(y, 2)
    return names(tf.global_variables())


def dense_takes_the_initializer_of_the_scope(tf, np):
    with tf.variable_scope("s", initializer=tf.constant_initializer(2.0)):
        y = tf.layers.dense(tf.ones([1, 3]), 2)
    return run(tf, y)


def dense_gradients(tf, np):
    x = ramp(tf, np, 3, 4)
    y = tf.layers.dense(x, 2, activation=tf.sigmoid, kernel_initializer=waves(tf, np))
    sources = [x, *tf.trainable_variables()]
    return run(tf, tf.gradients(tf.reduce_sum(y * y), sources))


def dense_object(tf, np):
    layer = tf.layers.Dense(2, kernel_initializer=tf.ones_initializer(), name="d")
    y = layer(tf.ones([1, 3]))
    z = layer(tf.ones([2, 3]) * 2.0)
    return [run(tf, [y, z]), names(layer.weights), [static(w) for w in layer.trainable_weights]]


def flatten(tf, np):
    x = tf.placeholder(tf.float32, [None, 2, 3])
    images = tf.placeholder(tf.float32, [None, None, 3])
    y = tf.layers.flatten(x)
    return [
        static(y),
        run(tf, y, {x: np.arange(12).reshape(2, 2, 3)}),
        static(tf.layers.flatten(images)),
    ]


def conv2d(tf, np):
    x = ramp(tf, np, 1, 5, 5, 2)
    y = tf.layers.conv2d(x, 3, 3, kernel_initializer=waves(tf, np))
    return [run(tf, y), names(tf.global_variables()), [static(v) for v in tf.global_variables()]]


def conv2d_with_everything(tf, np):
    y = tf.layers.conv2d(
        ramp(tf, np, 2, 6, 5, 2),
        filters=3,
        kernel_size=[3, 2],
        strides=(2, 1),
        padding="same",
        dilation_rate=1,
        activation=tf.nn.relu,
        kernel_initializer=waves(tf, np),
        bias_initializer=tf.constant_initializer(0.25),
        name="c",
    )
    return [run(tf, y), static(y)]


def conv2d_dilated(tf, np):
    x = ramp(tf, np, 1, 7, 7, 1)
    y = tf.layers.conv2d(x, 2, 3, dilation_rate=2, use_bias=False, kernel_initializer=waves(tf, np))
    return run(tf, y)


def conv1d_and_conv3d(tf, np):
    y = tf.layers.conv1d(ramp(tf, np, 2, 6, 2), 3, 3, kernel_initializer=waves(tf, np))
    z = tf.layers.conv3d(ramp(tf, np, 1, 3, 3, 3, 1), 2, 2, kernel_initializer=waves(tf, np))
    return [run(tf, [y, z]), names(tf.global_variables())]


def conv2d_transpose(tf, np):
    x = ramp(tf, np, 1, 3, 3, 2)
    y = tf.layers.conv2d_transpose(x, 2, 3, 2, "same", kernel_initializer=waves(tf, np))
    return [run(tf, y), static(y), names(tf.global_variables())]


def separable_conv2d(tf, np):
    y = tf.layers.separable_conv2d(
        ramp(tf, np, 1, 4, 4, 2),
        3,
        3,
        depth_multiplier=2,
        depthwise_initializer=waves(tf, np),
        pointwise_initializer=waves(tf, np),
    )
    return [run(tf, y), names(tf.global_variables())]


def pooling(tf, np):
    x = ramp(tf, np, 1, 5, 5, 2)
    made = [
        tf.layers.max_pooling2d(x, 2, 2),
        tf.layers.max_pooling2d(x, [3, 2], 1, padding="same"),
        tf.layers.average_pooling2d(x, 2, 2),
        tf.layers.max_pooling1d(ramp(tf, np, 1, 6, 2), 2, 2),
        tf.layers.average_pooling1d(ramp(tf, np, 1, 6, 2), 3, 1),
    ]
    return run(tf, made)


def dropout_when_not_training(tf, np):
    x = ramp(tf, np, 2, 3)
    return run(tf, [x, tf.layers.dropout(x, 0.5), tf.layers.dropout(x, 0.0, training=True)])


def dropout_when_training(tf, np):
    x = tf.ones([100, 50])
    training = tf.placeholder_with_default(False, [])
    y = tf.layers.dropout(x, rate=0.4, training=training, seed=1)
    with tf.Session() as session:
        plain, thinned = session.run(y), session.run(y, {training: True})
    kinds = np.unique(np.round(thinned, 4))
    return [bool(np.all(plain == 1)), kinds, bool(abs(np.mean(thinned == 0) - 0.4) < 0.05)]


def dropout_with_a_noise_shape(tf, np):
    y = tf.layers.dropout(tf.ones([20, 5]), 0.5, noise_shape=[20, 1], training=True)
    got = run(tf, y)
    return [got.shape, bool(np.all(got == got[:, :1]))]


def batch_normalization_when_not_training(tf, np):
    y = tf.layers.batch_normalization(ramp(tf, np, 4, 3))
    return [
        run(tf, y),
        names(tf.global_variables()),
        names(tf.trainable_variables()),
        len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)),
    ]


def batch_normalization_when_training(tf, np):
    x = tf.placeholder(tf.float32, [None, 3])
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.batch_normalization(x, momentum=0.9, training=training, name="bn")
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    means = [v for v in tf.global_variables() if "moving" in v.name]
    given = np.random.RandomState(0).randn(6, 3).astype(np.float32) * 3 + 1
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = []
        for _ in range(2):
            found.append(session.run(y, {x: given, training: True}))
            session.run(updates, {x: given, training: True})
            found.append(session.run(means))
        return [found, session.run(y, {x: given, training: False})]


def batch_normalization_of_images(tf, np):
    x = ramp(tf, np, 2, 3, 3, 2)
    y = tf.layers.batch_normalization(
        x,
        training=True,
        momentum=0.8,
        epsilon=0.1,
        beta_initializer=tf.constant_initializer(0.5),
        gamma_initializer=tf.constant_initializer(2.0),
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        value = session.run(y)
        session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        return [value, session.run(tf.global_variables())]


def batch_normalization_parts(tf, np):
    x = ramp(tf, np, 4, 3)
    y = tf.layers.batch_normalization(x, center=False, training=True, name="a")
    z = tf.layers.batch_normalization(x, scale=False, training=True, name="b")
    w = tf.layers.batch_normalization(tf.transpose(x), axis=0, training=True, name="c")
    return [run(tf, [y, z, w]), names(tf.global_variables())]


def batch_normalization_gradients(tf, np):
    x = ramp(tf, np, 4, 3)
    y = tf.layers.batch_normalization(x, training=True, epsilon=0.01)
    weights = ramp(tf, np, 4, 3) ** 2
    return run(tf, tf.gradients(tf.reduce_sum(y * weights), [x, *tf.trainable_variables()]))


def training_with_updates(tf, np):
    x = tf.placeholder(tf.float32, [None, 3])
    hidden = tf.layers.dense(x, 4, kernel_initializer=waves(tf, np))
    normal = tf.layers.batch_normalization(hidden, training=True, momentum=0.5)
    loss = tf.reduce_mean(
        tf.square(tf.layers.dense(normal, 1, kernel_initializer=waves(tf, np)) - 1.0)
    )
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    given = np.random.RandomState(1).randn(5, 3)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step], {x: given})[0] for _ in range(4)]
        return [losses, session.run([v for v in tf.global_variables() if "moving" in v.name])]


def small_network(tf, np):
    x = tf.placeholder(tf.float32, [None, 8, 8, 1])
    labels = tf.placeholder(tf.int64, [None])
    y = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu, kernel_initializer=waves(tf, np))
    y = tf.layers.max_pooling2d(y, 2, 2)
    logits = tf.layers.dense(tf.layers.flatten(y), 3, kernel_initializer=waves(tf, np))
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    step = tf.train.AdamOptimizer(0.01).minimize(loss)
    random = np.random.RandomState(2)
    feed = {x: random.rand(6, 8, 8, 1), labels: random.randint(0, 3, 6)}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step], feed)[0] for _ in range(5)]
        return [static(y), static(logits), losses]


def losses(tf, np):
    x, y = ramp(tf, np, 4), tf.constant([0.0, 1.0, 0.0, 1.0])
    made = [
        tf.losses.mean_squared_error(y, x),
        tf.losses.absolute_difference(y, x, weights=2.0),
        tf.losses.huber_loss(y, x, delta=0.5),
        tf.losses.log_loss(y, tf.sigmoid(x)),
        tf.losses.sigmoid_cross_entropy(y, x),
        tf.losses.softmax_cross_entropy(y[None], x[None]),
        tf.losses.hinge_loss(y, x),
        tf.losses.mean_squared_error(y, x, weights=[1.0, 0.0, 1.0, 0.0]),
        tf.losses.mean_squared_error(y, x, reduction="none", loss_collection=None),
    ]
    return [run(tf, [made, tf.losses.get_total_loss()]), len(tf.losses.get_losses())]


TOLERANCE = {"*": {"rtol": 1e-4, "atol": 1e-5}}

PROGRAMS = [
    dense,
    dense_with_everything,
    dense_without_bias,
    dense_of_higher_rank,
    dense_of_an_unknown_batch,
    dense_layers_in_a_row,
    dense_shared_by_name,
    dense_within_scopes,
    dense_takes_the_initializer_of_the_scope,
    dense_gradients,
    dense_object,
    flatten,
    conv2d,
    conv2d_with_everything,
    conv2d_dilated,
    conv1d_and_conv3d,
    conv2d_transpose,
    separable_conv2d,
    pooling,
    dropout_when_not_training,
    dropout_when_training,
    dropout_with_a_noise_shape,
    batch_normalization_when_not_training,
    batch_normalization_when_training,
    batch_normalization_of_images,
    batch_normalization_parts,
    batch_normalization_gradients,
    training_with_updates,
    small_network,
    losses,
]
