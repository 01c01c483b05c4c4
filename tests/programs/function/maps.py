"""`map_fn`, `scan`, `foldl`, `foldr` and `vectorized_map` in functions, and their gradients."""


def mapped(tf, np):
    @tf.function
    def run(x):
        return tf.map_fn(lambda row: tf.reduce_sum(row) * row, x)

    return run(tf.constant([[1.0, 2.0], [3.0, 4.0]])).numpy()


def mapped_to_another_dtype(tf, np):
    @tf.function
    def run(x):
        return tf.map_fn(lambda v: v > 2, x, fn_output_signature=tf.bool)

    return run(tf.constant([1, 2, 3])).numpy()


def mapped_nests(tf, np):
    @tf.function
    def run(x, y):
        return tf.map_fn(
            lambda pair: {"sum": pair[0] + pair[1], "both": (pair[0], pair[1])},
            (x, y),
            fn_output_signature={"sum": tf.float32, "both": (tf.float32, tf.float32)},
        )

    out = run(tf.constant([1.0, 2.0]), tf.constant([10.0, 20.0]))
    return [t.numpy() for t in tf.nest.flatten(out)]


def mapped_over_an_unknown_batch(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float64)])
    def run(x):
        return tf.map_fn(lambda row: row[0] ** 2 + row[1], x)

    return [run(np.arange(2.0 * n).reshape(n, 2)).numpy() for n in (1, 4)]


def mapped_with_a_branch(tf, np):
    @tf.function
    def run(x):
        return tf.map_fn(lambda v: tf.cond(v > 0, lambda: v * 2, lambda: -v), x)

    return run(tf.constant([3, -3, 0])).numpy()


def mapped_with_a_loop(tf, np):
    def power(pair):
        base, n = pair
        result = tf.ones_like(base)
        for _ in tf.range(n):
            result *= base
        return result

    @tf.function
    def run(x, n):
        return tf.map_fn(power, (x, n), fn_output_signature=tf.float64)

    return run(tf.constant([2.0, 3.0, 4.0], tf.float64), tf.constant([3, 0, 2])).numpy()


def gradient_of_map(tf, np):
    w = tf.Variable([1.0, 2.0], dtype=tf.float64)

    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.map_fn(lambda row: tf.reduce_sum(tf.sin(row * w)), x)
            loss = tf.reduce_sum(y**2)
        return tape.gradient(loss, [x, w])

    return [g.numpy() for g in run(tf.constant([[0.1, 0.2], [0.3, 0.4]], tf.float64))]


def scanned(tf, np):
    @tf.function
    def run(x):
        return tf.scan(lambda total, v: total + v, x), tf.scan(lambda p, v: p * v, x, reverse=True)

    return [t.numpy() for t in run(tf.constant([1.0, 2.0, 3.0, 4.0]))]


def scanned_from_a_start(tf, np):
    @tf.function
    def run(x, start):
        return tf.scan(lambda a, v: 0.5 * a + v, x, initializer=start)

    return run(tf.constant([1.0, 2.0, 3.0]), tf.constant(8.0)).numpy()


def scanned_nests(tf, np):
    @tf.function
    def run(n):
        start = (tf.constant(0), tf.constant(1))
        return tf.scan(lambda ab, _: (ab[1], ab[0] + ab[1]), tf.range(n), initializer=start)

    return [t.numpy() for t in run(tf.constant(8))]


def gradient_of_scan(tf, np):
    @tf.function
    def run(x, w):
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            states = tf.scan(lambda h, v: tf.tanh(w * h + v), x, tf.constant(0.0, tf.float64))
            loss = tf.reduce_sum(states**2)
        return tape.gradient(loss, [x, w])

    x = tf.constant([0.5, -0.3, 0.8], tf.float64)
    return [g.numpy() for g in run(x, tf.constant(0.7, tf.float64))]


def folded(tf, np):
    @tf.function
    def run(x):
        left = tf.foldl(lambda a, v: a * 10 + v, x)
        right = tf.foldr(lambda a, v: a * 10 + v, x)
        started = tf.foldl(lambda a, v: a - v, x, initializer=100)
        return left, right, started

    return [t.numpy() for t in run(tf.constant([1, 2, 3]))]


def gradient_of_fold(tf, np):
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.foldl(lambda a, v: tf.sin(a) * v, x)
        return y, tape.gradient(y, x)

    return [t.numpy() for t in run(tf.constant([0.5, 1.5, 2.5], tf.float64))]


def vectorized(tf, np):
    @tf.function
    def run(matrices, vectors):
        return tf.vectorized_map(lambda mv: tf.linalg.matvec(mv[0], mv[1]), (matrices, vectors))

    matrices = tf.constant(np.arange(12.0).reshape(3, 2, 2))
    return run(matrices, tf.constant(np.arange(6.0).reshape(3, 2))).numpy()


def vectorized_closure_over_an_argument(tf, np):
    @tf.function
    def run(x, w):
        return tf.vectorized_map(lambda row: tf.reduce_sum(row * w) * row, x)

    return run(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([0.5, 2.0])).numpy()


def per_example_gradients(tf, np):
    w = tf.Variable([0.5, -0.25], dtype=tf.float64)

    def gradient(example):
        x, y = example
        with tf.GradientTape() as tape:
            loss = (tf.reduce_sum(w * x) - y) ** 2
        return tape.gradient(loss, w)

    @tf.function
    def run(x, y):
        return tf.vectorized_map(gradient, (x, y))

    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], tf.float64)
    return run(x, tf.constant([1.0, 0.0, 2.0], tf.float64)).numpy()


def gradient_of_vectorized_map(tf, np):
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.vectorized_map(lambda row: tf.reduce_prod(tf.sin(row)), x)
            loss = tf.reduce_sum(y * y)
        return tape.gradient(loss, x)

    return run(tf.constant([[0.5, 1.0], [1.5, 2.0]], tf.float64)).numpy()


def second_derivative_of_map(tf, np):
    @tf.function
    def run(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.map_fn(lambda v: v**3, x))
            first = inner.gradient(y, x)
        return first, outer.gradient(first, x)

    return [t.numpy() for t in run(tf.constant([1.0, 2.0], tf.float64))]


def map_of_a_function(tf, np):
    @tf.function
    def cube(v):
        return v**3

    @tf.function
    def run(x):
        return tf.map_fn(cube, x) + tf.vectorized_map(cube, x)

    return run(tf.constant([1.0, 2.0, 3.0])).numpy()


def map_within_a_loop(tf, np):
    @tf.function
    def run(x, n):
        for _ in tf.range(n):
            x = tf.map_fn(lambda row: row / tf.reduce_sum(row), x)
            x = tf.transpose(x)
        return x

    return run(tf.constant([[1.0, 3.0], [2.0, 2.0]], tf.float64), tf.constant(3)).numpy()


def scan_of_matrices(tf, np):
    @tf.function
    def run(matrices):
        return tf.scan(tf.matmul, matrices)[-1], tf.foldr(tf.matmul, matrices)

    return [t.numpy() for t in run(tf.constant(np.cos(np.arange(12.0)).reshape(3, 2, 2)))]


PROGRAMS = [
    mapped,
    mapped_to_another_dtype,
    mapped_nests,
    mapped_over_an_unknown_batch,
    mapped_with_a_branch,
    mapped_with_a_loop,
    gradient_of_map,
    scanned,
    scanned_from_a_start,
    scanned_nests,
    gradient_of_scan,
    folded,
    gradient_of_fold,
    vectorized,
    vectorized_closure_over_an_argument,
    per_example_gradients,
    gradient_of_vectorized_map,
    second_derivative_of_map,
    map_of_a_function,
    map_within_a_loop,
    scan_of_matrices,
]
