"""Graphs frozen by TensorFlow: networks, control flow of both generations, functions, gradients."""

from programs.frozen import imported, parsed, results_of
from programs.support import given


def weights(tf, np, name, *shape):
    """A variable with numbers that go up and down."""
    values = np.sin(0.3 + 1.7 * np.arange(np.prod(shape))).reshape(shape)
    return tf.get_variable(name, initializer=(values * 0.5).astype(np.float32))


def activations(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        labels = tf.constant([2, 0])
        return [
            tf.nn.relu(x),
            tf.nn.relu6(x * 5.0),
            tf.nn.elu(x),
            tf.nn.selu(x),
            tf.nn.softplus(x),
            tf.nn.softsign(x),
            tf.nn.leaky_relu(x, 0.3),
            tf.nn.softmax(x),
            tf.nn.log_softmax(x),
            tf.nn.sigmoid(x),
            tf.nn.crelu(x),
            tf.nn.l2_normalize(x, 1),
            tf.nn.swish(x),
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x),
            tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.one_hot(labels, 3), logits=x),
            tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.nn.sigmoid(x), logits=x),
            tf.nn.in_top_k(x, labels, 1),
            tf.nn.bias_add(x, [1.0, 2.0, 3.0]),
        ]

    return imported(tf, "activations", build, {"x:0": [[0.5, -1.0, 2.0], [1.5, 0.25, -3.0]]})


def dense_network(tf, np):
    def build():
        h = tf.placeholder(tf.float32, [None, 4], name="x")
        for layer, size in enumerate([5, 3]):
            with tf.variable_scope(f"layer_{layer}"):
                h = tf.tanh(
                    tf.matmul(h, weights(tf, np, "W", h.shape[1], size))
                    + weights(tf, np, "b", size)
                )
        return [h, tf.nn.softmax(h)]

    return imported(tf, "dense_network", build, {"x:0": np.cos(np.arange(8.0)).reshape(2, 4)})


def images(np, *shape):
    """An image with numbers that go up and down."""
    return np.cos(0.7 * np.arange(np.prod(shape))).reshape(shape)


def convolutions(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [None, 6, 5, 2], name="x")
        kernel, depthwise = weights(tf, np, "k", 3, 3, 2, 3), weights(tf, np, "d", 3, 3, 2, 2)
        return [
            tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME"),
            tf.nn.conv2d(x, kernel, [1, 2, 2, 1], "VALID"),
            tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME", dilations=[1, 2, 2, 1]),
            tf.nn.conv2d(x, kernel, [1, 1, 1, 1], [[0, 0], [1, 0], [2, 1], [0, 0]]),
            tf.nn.depthwise_conv2d(x, depthwise, [1, 1, 1, 1], "SAME"),
            tf.nn.conv2d_transpose(
                x, weights(tf, np, "t", 3, 3, 4, 2), [1, 12, 10, 4], [1, 2, 2, 1]
            ),
            tf.nn.conv1d(x[:, :, 0], weights(tf, np, "o", 3, 2, 2), 1, "SAME"),
            tf.nn.conv3d(x[:, None], weights(tf, np, "v", 1, 2, 2, 2, 2), [1, 1, 1, 1, 1], "VALID"),
        ]

    return imported(tf, "convolutions", build, {"x:0": images(np, 1, 6, 5, 2)})


def pooling_and_normalizing(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [None, 4, 4, 2], name="x")
        scale, offset = tf.constant([1.5, 0.5]), tf.constant([0.1, -0.2])
        trained = tf.nn.fused_batch_norm(x, scale, offset, epsilon=0.01)
        given_moments = tf.nn.fused_batch_norm(
            x, scale, offset, mean=offset, variance=scale, is_training=False
        )
        return [
            tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
            tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"),
            tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 1, 1, 1], "SAME"),
            trained[0],
            trained[1],
            given_moments[0],
            tf.nn.batch_normalization(x, offset, scale, offset, scale, 1e-3),
            tf.nn.local_response_normalization(x, 1, bias=1.0, alpha=0.5, beta=0.5),
            tf.space_to_depth(x, 2),
            tf.depth_to_space(tf.space_to_depth(x, 2), 2),
            tf.space_to_batch_nd(x, [2, 2], [[0, 0], [0, 0]]),
            tf.extract_image_patches(x, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"),
        ]

    return imported(tf, "pooling_and_normalizing", build, {"x:0": images(np, 2, 4, 4, 2)})


def convolutional_network(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [None, 8, 8, 1], name="x")
        h = tf.nn.relu(tf.nn.conv2d(x, weights(tf, np, "k", 3, 3, 1, 4), [1, 1, 1, 1], "SAME"))
        h = tf.nn.max_pool(
            tf.nn.bias_add(h, weights(tf, np, "b", 4)), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"
        )
        h = tf.reshape(h, [-1, 64])
        logits = tf.nn.xw_plus_b(h, weights(tf, np, "W", 64, 3), weights(tf, np, "c", 3))
        return [logits, tf.argmax(logits, 1), tf.nn.softmax(logits)]

    return imported(tf, "convolutional_network", build, {"x:0": images(np, 2, 8, 8, 1)})


def with_first_control_flow(tf, build):
    """Call with the control flow of TensorFlow's first generation (Switch, Merge, Enter...)."""

    def first():
        tf.disable_control_flow_v2()
        try:
            return build()
        finally:
            tf.enable_control_flow_v2()

    return first


def branches(tf):
    """Results of branches that depend on a number fed."""
    n = tf.placeholder(tf.int32, [], name="n")
    x = tf.constant([1.0, 2.0])
    y = tf.cond(n > 0, lambda: x * 2.0, lambda: x - 1.0)
    z = tf.cond(n > 1, lambda: tf.cond(n > 2, lambda: y + 10.0, lambda: y), lambda: tf.exp(x))
    return [y, z]


def loops(tf):
    """Results of loops whose length is fed."""
    n = tf.placeholder(tf.int32, [], name="n")
    x = tf.constant([1.0, 2.0])
    i, y = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 0.5 + x), [0, x])

    def outer(i, total):
        _, inner = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + j), [0, total])
        return i + 1, inner

    _, total = tf.while_loop(lambda i, t: i < n, outer, [0, 0])
    return [i, y, total]


def arrays(tf):
    """Results that go through tensor arrays."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    doubled = tf.map_fn(lambda row: row * 2.0 + tf.reduce_sum(row), x)
    sums = tf.scan(lambda a, row: a + row, x)
    return [doubled, sums, tf.foldl(lambda a, row: a * 0.5 + row, x)]


def branches_of_the_second_generation(tf, np):
    return imported(tf, "branches_second", lambda: branches(tf), {"n:0": 3})


def branches_of_the_first_generation(tf, np):
    build = with_first_control_flow(tf, lambda: branches(tf))
    return imported(tf, "branches_first", build, {"n:0": 2})


def loops_of_the_second_generation(tf, np):
    return imported(tf, "loops_second", lambda: loops(tf), {"n:0": 4})


def loops_of_the_first_generation(tf, np):
    return imported(tf, "loops_first", with_first_control_flow(tf, lambda: loops(tf)), {"n:0": 4})


def gradients_of_loops_of_the_first_generation(tf, np):
    def build():
        n = tf.placeholder(tf.int32, [], name="n")
        x = tf.placeholder(tf.float32, [2], name="x")
        w = tf.constant([[0.5, -0.25], [0.75, 1.0]])

        def body(i, a):
            return i + 1, a * a * x + tf.sin(tf.linalg.matvec(w, a))

        y = tf.while_loop(lambda i, a: i < n, body, [0, x])[1]
        z = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, tf.tanh(a) * y), [0, y])[1]
        return [y, z, *tf.gradients(y, [x, w]), *tf.gradients(z, x)]

    feed = {"n:0": 3, "x:0": [0.5, -0.75]}
    return imported(tf, "loop_gradients", with_first_control_flow(tf, build), feed)


def arrays_of_the_second_generation(tf, np):
    feed = {"x:0": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}
    return imported(tf, "arrays_second", lambda: arrays(tf), feed)


def arrays_of_the_first_generation(tf, np):
    feed = {"x:0": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}
    return imported(tf, "arrays_first", with_first_control_flow(tf, lambda: arrays(tf)), feed)


def recurrent_network(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [None, None, 3], name="x")
        lengths = tf.placeholder(tf.int32, [None], name="lengths")
        cell = tf.nn.rnn_cell.LSTMCell(2, initializer=tf.constant_initializer(0.3))
        outputs, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
        return [outputs, state.c, state.h]

    feed = {"x:0": images(np, 2, 4, 3), "lengths:0": [2, 4]}
    return imported(tf, "recurrent_network", build, feed)


def recurrent_network_of_the_first_generation(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [None, None, 3], name="x")
        cell = tf.nn.rnn_cell.GRUCell(2, kernel_initializer=tf.constant_initializer(0.3))
        outputs, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
        return [outputs, state]

    first = with_first_control_flow(tf, build)
    return imported(tf, "recurrent_network_first", first, {"x:0": images(np, 2, 4, 3)})


def functions(tf, np):
    def build():
        @tf.function
        def inner(a, b):
            return a * b + 1.0, a - b

        x = tf.placeholder(tf.float32, [2], name="x")
        first, second = inner(x, x * 2.0)
        return [first, inner(second, first)[0]]

    return imported(tf, "functions", build, {"x:0": [1.0, 3.0]})


def gradients(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        W = weights(tf, np, "W", 3, 2)
        loss = tf.reduce_mean(tf.square(tf.nn.relu(tf.matmul(x, W)) - 1.0)) + tf.reduce_max(x)
        return [loss, *tf.gradients(loss, [x]), tf.gradients(tf.nn.softmax(tf.tanh(x))[:, 0], x)[0]]

    return imported(tf, "gradients", build, {"x:0": images(np, 4, 3)})


def gradients_of_a_convolution(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [1, 6, 6, 2], name="x")
        kernel = tf.placeholder(tf.float32, [3, 3, 2, 2], name="kernel")
        y = tf.nn.max_pool(
            tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME"), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"
        )
        y = tf.nn.avg_pool(tf.nn.elu(y), [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
        return [y, *tf.gradients(tf.reduce_sum(y * y), [x, kernel])]

    feed = {"x:0": images(np, 1, 6, 6, 2), "kernel:0": images(np, 3, 3, 2, 2) * 0.3}
    return imported(tf, "gradients_of_a_convolution", build, feed)


def resized_images(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [1, 3, 4, 1], name="x")
        return [
            tf.image.resize_bilinear(x, [6, 8]),
            tf.image.resize_nearest_neighbor(x, [6, 8]),
            tf.image.resize_bilinear(x, [5, 3], align_corners=True),
            tf.image.resize_bilinear(x, [5, 3], half_pixel_centers=True),
        ]

    return imported(tf, "resized_images", build, {"x:0": images(np, 1, 3, 4, 1)})


def quantized_weights(tf, np):
    def build():
        x = tf.placeholder(tf.float32, [5], name="x")
        return [tf.quantization.fake_quant_with_min_max_args(x, -1.0, 1.0, num_bits=4)]

    return imported(tf, "quantized_weights", build, {"x:0": [-2.0, -0.3, 0.0, 0.44, 5.0]})


def variables_not_frozen(tf, np):
    def make():
        with tf.Graph().as_default() as graph:
            v = tf.get_variable("v", initializer=np.float32([1, 2]))
            w = tf.get_variable("w", initializer=3.0, use_resource=False)
            tf.multiply(v, w, name="y")
            tf.assign_add(v, [1.0, 1.0], name="grow")
            tf.global_variables_initializer()
            return graph.as_graph_def().SerializeToString(deterministic=True)

    tf.import_graph_def(parsed(tf, given("variables_not_frozen", make)), name="")
    with tf.Session() as session:
        session.run("init")
        return [session.run("y:0"), session.run("w:0")]


def reference_variables_not_frozen(tf, np):
    def make():
        tf.disable_resource_variables()
        try:
            with tf.Graph().as_default() as graph:
                v = tf.get_variable("v", initializer=np.float32([1, 2]))
                grown = tf.assign_add(v, [1.0, 1.0], name="grow")
                with tf.control_dependencies([grown]):
                    tf.identity(tf.multiply(v, 10.0), name="y")
                tf.global_variables_initializer()
                return graph.as_graph_def().SerializeToString(deterministic=True)
        finally:
            tf.enable_resource_variables()

    tf.import_graph_def(parsed(tf, given("reference_variables_not_frozen", make)), name="")
    with tf.Session() as session:
        session.run("init")
        return [session.run("grow:0"), session.run("y:0"), session.run("v:0")]


def training_step_not_frozen(tf, np):
    def make():
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [None, 2], name="x")
            W = weights(tf, np, "W", 2, 1)
            loss = tf.reduce_mean(tf.square(tf.matmul(x, W) - 1.0), name="loss")
            tf.train.AdamOptimizer(0.1).minimize(loss, name="step")
            tf.global_variables_initializer()
            return graph.as_graph_def().SerializeToString(deterministic=True)

    tf.import_graph_def(parsed(tf, given("training_step_not_frozen", make)), name="")
    feed = {"x:0": [[1.0, 2.0], [0.5, -1.0]]}
    with tf.Session() as session:
        session.run("init")
        return [session.run(["loss:0", "step"], feed)[0] for _ in range(4)]


def older_nodes(tf, np):
    def make():
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [2, 3], name="x")
            raw = tf.raw_ops
            made = [
                raw.Add(x=x, y=x),
                raw.Div(x=x, y=x),
                raw.Gather(params=x, indices=[1]),
                raw.Concat(concat_dim=0, values=[x, x]),
                raw.Select(condition=x > 0.0, x=x, y=-x),
                raw.BatchMatMul(x=x, y=x, adj_y=True),
                raw.Pad(input=x, paddings=[[0, 0], [1, 0]]),
                raw.ResizeBilinear(images=x[None, :, :, None], size=[4, 6]),
                raw.Reverse(tensor=x, dims=[True, False]),
            ]
            for number, y in enumerate(made):
                tf.identity(y, name=f"out_{number:02}")
            return graph.as_graph_def().SerializeToString(deterministic=True)

    graph_def = parsed(tf, given("older_nodes", make))
    return results_of(tf, graph_def, {"x:0": [[0.5, -1.0, 2.0], [1.5, 0.25, -3.0]]})


TOLERANCE = {"*": {"rtol": 1e-4, "atol": 1e-5}}

PROGRAMS = [
    activations,
    dense_network,
    convolutions,
    pooling_and_normalizing,
    convolutional_network,
    branches_of_the_second_generation,
    branches_of_the_first_generation,
    loops_of_the_second_generation,
    loops_of_the_first_generation,
    gradients_of_loops_of_the_first_generation,
    arrays_of_the_second_generation,
    arrays_of_the_first_generation,
    recurrent_network,
    recurrent_network_of_the_first_generation,
    functions,
    gradients,
    gradients_of_a_convolution,
    resized_images,
    quantized_weights,
    variables_not_frozen,
    reference_variables_not_frozen,
    training_step_not_frozen,
    older_nodes,
]
