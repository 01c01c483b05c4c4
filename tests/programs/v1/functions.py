"""Functions whose arguments have other names or another order in TensorFlow 1; old functions."""

from programs.support import raised, run


def reductions(tf, np):
    x = tf.constant([[1.0, -2.0, 0.0], [3.0, 4.0, 0.0]])
    flags = tf.constant([[True, False], [True, True]])
    made = [
        tf.reduce_sum(x, 1, keep_dims=True),
        tf.reduce_mean(x, reduction_indices=0),
        tf.reduce_max(x, 0, True),
        tf.reduce_min(x, keepdims=True),
        tf.reduce_prod(x, [0, 1]),
        tf.reduce_any(flags, 1),
        tf.reduce_all(flags, reduction_indices=[0]),
        tf.reduce_logsumexp(x, 1),
        tf.count_nonzero(x, 0),
        tf.count_nonzero(input=x),
        tf.math.reduce_sum(x),
        tf.norm(x, axis=1, keep_dims=True),
        tf.argmax(x, dimension=1),
        tf.argmin(x, 0, output_type=tf.int32),
        tf.arg_max(x, 1),
        tf.arg_min(x, 0),
    ]
    return [run(tf, made), raised(lambda: tf.reduce_sum(x, axis=0, reduction_indices=0))]


def shapes(tf, np):
    x = tf.constant(np.arange(6.0).reshape(1, 3, 2))
    return run(
        tf,
        [
            tf.expand_dims(x, dim=0),
            tf.expand_dims(x, -1),
            tf.squeeze(x, squeeze_dims=[0]),
            tf.shape(x, out_type=tf.int64),
            tf.size(x),
            tf.transpose(x, [2, 0, 1]),
            tf.pad(x, [[0, 0], [1, 0], [0, 1]], "CONSTANT", "name", 7.0),
            tf.ones_like(x, tf.int32),
            tf.zeros_like(x, optimize=False),
            tf.boolean_mask(x, [[True, False, True]]),
            tf.reverse_sequence(x, [2], seq_dim=1, batch_dim=0),
            tf.matrix_transpose(x),
            tf.convert_to_tensor(1, preferred_dtype=tf.float32),
            tf.gather_nd(x, [[0, 1]]),
            tf.batch_gather(x, [[2, 0]]),
        ],
    )


def casts(tf, np):
    x = tf.constant([1.5, -2.5])
    made = [tf.to_float(x), tf.to_double(x), tf.to_int32(x), tf.to_int64(x), tf.to_complex64(x)]
    return run(tf, made)


def constants(tf, np):
    return [
        run(tf, [tf.constant(7, shape=[2, 2]), tf.constant([1, 2, 3], tf.int64, [5])]),
        raised(lambda: tf.constant([1, 2], shape=[3], verify_shape=True)),
        raised(lambda: tf.constant([1, 2, 3], shape=[2])),
    ]


def arithmetic(tf, np):
    n = tf.constant([7, -7])
    x = tf.constant([7.0, -7.0])
    return run(
        tf,
        [
            tf.div(n, 2),
            tf.div(x, 2.0),
            tf.floordiv(n, 2),
            tf.mod(n, 3),
            tf.log(tf.abs(x)),
            tf.clip_by_average_norm(x, 1.0),
            tf.is_nan(x),
            tf.matrix_band_part([[1, 2], [3, 4]], 0, 0),
            tf.setdiff1d([1, 2, 3, 4], [2, 4]),
            tf.rsqrt(tf.abs(x)),
            tf.lin_space(0.0, 1.0, 3),
            tf.confusion_matrix([0, 1, 1], [1, 1, 0], 2, tf.int64),
            tf.bincount([1, 1, 2]),
        ],
    )


def sparse_values(tf, np):
    a = tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3])
    return run(
        tf,
        [
            tf.sparse_to_dense([[0, 1], [2, 0]], [3, 2], [5.0, 6.0], -1.0),
            tf.sparse_to_dense([1, 3], [4], 2),
            tf.sparse_to_dense(2, [3], 9),
            tf.sparse_reduce_sum(a, 1, keep_dims=True),
            tf.sparse_tensor_to_dense(tf.sparse_add(a, a)),
            tf.sparse_tensor_to_dense(tf.sparse_concat(1, [a, a])),
            tf.sparse_segment_sum([[1.0], [2.0], [4.0]], [0, 2], [0, 0]),
        ],
    )


def losses_of_logits(tf, np):
    logits = tf.constant([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]])
    labels = tf.nn.softmax(logits, dim=1)
    v1 = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=-1)
    v2 = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    ones = tf.ones_like(logits)
    return run(
        tf,
        [
            v1,
            tf.gradients(v1, logits),
            v2,
            tf.gradients(v2, logits),
            tf.nn.log_softmax(logits, dim=0),
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 2], logits=logits),
            tf.nn.sigmoid_cross_entropy_with_logits(labels=ones, logits=logits),
            tf.nn.weighted_cross_entropy_with_logits(targets=ones, logits=logits, pos_weight=2.0),
        ],
    )


def normalization(tf, np):
    x = tf.constant(np.arange(16.0, dtype=np.float32).reshape(2, 2, 2, 2))
    mean, variance = tf.nn.moments(x, [0, 1, 2], keep_dims=True)
    weighted = tf.nn.weighted_moments(x, [0], 1.0, keep_dims=False)
    scale, offset = tf.constant([1.0, 2.0]), tf.constant([0.0, 1.0])
    trained = tf.nn.fused_batch_norm(x, scale, offset)
    fixed = tf.nn.fused_batch_norm(x, scale, offset, offset, scale, is_training=False)
    missing = raised(lambda: tf.nn.fused_batch_norm(x, scale, offset, is_training=False))
    return [run(tf, [mean, variance, weighted, trained, fixed[0]]), missing]


def convolutions(tf, np):
    random = np.random.RandomState(0)
    image = tf.constant(random.rand(1, 4, 4, 2).astype(np.float32))
    kernel = tf.constant(random.rand(2, 2, 2, 3).astype(np.float32))
    narrow = tf.constant(random.rand(2, 2, 2, 1).astype(np.float32))
    mixing = tf.constant(random.rand(1, 1, 2, 3).astype(np.float32))
    line = tf.constant(random.rand(1, 5, 2).astype(np.float32))
    taps = tf.constant(random.rand(3, 2, 1).astype(np.float32))
    ones = [1, 1, 1, 1]
    y = tf.nn.conv2d(image, kernel, ones, "SAME")
    return run(
        tf,
        [
            y,
            tf.nn.conv2d(image, filters=kernel, strides=[1, 2, 2, 1], padding="VALID"),
            tf.nn.conv1d(line, taps, 1, "SAME"),
            tf.nn.conv2d_transpose(y, kernel, [1, 4, 4, 2], ones),
            tf.nn.depthwise_conv2d(image, narrow, ones, "SAME", rate=[1, 1]),
            tf.nn.separable_conv2d(image, narrow, mixing, ones, "SAME"),
            tf.nn.convolution(image, kernel, "VALID", dilation_rate=[2, 2]),
            tf.nn.max_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
            tf.nn.avg_pool(value=image, ksize=[1, 2, 2, 1], strides=ones, padding="SAME"),
            tf.nn.max_pool_with_argmax(image, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
            tf.nn.pool(image, [2, 2], "MAX", "VALID"),
            tf.nn.crelu(line),
            tf.nn.dilation2d(image, narrow[..., 0], ones, ones, "SAME"),
            tf.nn.erosion2d(image, narrow[..., 0], ones, ones, "SAME"),
            tf.space_to_depth(image, 2),
            tf.depth_to_space(tf.space_to_depth(image, 2), 2),
            tf.space_to_batch(image, [[0, 0], [0, 0]], 2),
        ],
    )


def embeddings(tf, np):
    table = np.arange(10.0, dtype=np.float32).reshape(5, 2)
    dealt = [tf.constant(table[i::3]) for i in range(3)]
    blocks = [tf.constant(table[:2]), tf.constant(table[2:4]), tf.constant(table[4:])]
    ids = tf.constant([4, 0, 2])
    return run(
        tf,
        [
            tf.nn.embedding_lookup(tf.constant(table), ids),
            tf.nn.embedding_lookup(dealt, ids),
            tf.nn.embedding_lookup(blocks, ids, partition_strategy="div"),
            tf.nn.xw_plus_b(tf.constant(table), [[1.0], [2.0]], [0.5]),
            tf.nn.relu_layer(tf.constant(table), [[1.0], [-1.0]], [0.5]),
            tf.nn.in_top_k([[0.1, 0.9], [0.8, 0.2]], [1, 1], 1),
        ],
    )


def dropping_out(tf, np):
    x = tf.ones([1000])
    kept = run(tf, tf.nn.dropout(x, keep_prob=0.25, seed=1))
    return [sorted(set(np.round(kept, 4).tolist())), bool(180 < np.count_nonzero(kept) < 320)]


def dimensions(tf, np):
    three, unknown = tf.Dimension(3), tf.Dimension(None)
    return [
        (three + 1).value,
        (unknown * 2).value,
        (three // 2).value,
        (7 - three).value,
        three == 3,
        unknown == 3,
        three.is_compatible_with(unknown),
        three.merge_with(unknown).value,
        raised(lambda: three.merge_with(4)),
        raised(lambda: tf.Dimension(-1)),
        int(three),
        raised(lambda: tf.Dimension("x")),
        str(unknown),
        repr(three),
        three < 5,
    ]


def variables_that_functions_make(tf, np):
    """They belong to the graph, which initializes them."""
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable([2.0, 3.0], name="w"))
            made.append(tf.Variable(lambda: tf.zeros([]), name="b", trainable=False))
        count = made[1].assign_add(1.0)
        return made[0] * x + count

    y, z = f(tf.constant(3.0)), f(tf.constant([1.0, 2.0]))
    gradient = tf.gradients(z, made[0])[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(y), session.run([z, gradient]), session.run(made)]
    return [found, sorted(v.name for v in tf.global_variables())]


def shared_variables_in_functions(tf, np):
    @tf.function
    def f(x):
        with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
        return w * x

    y, z = f(tf.constant(3.0)), f(tf.constant([1.0, 2.0]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run([y, z]), [v.name for v in tf.global_variables()]]


PROGRAMS = [
    variables_that_functions_make,
    shared_variables_in_functions,
    reductions,
    shapes,
    casts,
    constants,
    arithmetic,
    sparse_values,
    losses_of_logits,
    normalization,
    convolutions,
    embeddings,
    dropping_out,
    dimensions,
]
