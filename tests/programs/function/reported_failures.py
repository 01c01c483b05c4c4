"""Programs that crashed, hung or raised errors from inside, a program for each report."""

import threading
from multiprocessing.pool import ThreadPool

from programs.support import answers, raised


def functions_called_from_threads(tf, np):
    @tf.function(reduce_retracing=False)
    def constant(thing):
        return tf.constant(1.0)

    things = [object() for _ in range(100)]
    with ThreadPool(8) as pool:
        values = pool.map(lambda thing: float(constant(thing)), things)
    return sum(values)


def concrete_functions_from_threads(tf, np):
    @tf.function
    def f(x):
        return x * 2.0

    found, start = [], threading.Barrier(20)

    def ask():
        start.wait()
        found.append(f.get_concrete_function(tf.TensorSpec([], tf.float32)))

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [len(found), len({id(each.graph) for each in found})]


def jacobians_of_scans_in_functions(tf, np):
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

    def jacobian(loop, batch):
        @tf.function
        def run(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = loop(x)
            return tape.batch_jacobian(y, x) if batch else tape.jacobian(y, x)

        return run(x)

    def scan(x):
        return tf.scan(lambda a, b: a * b, x)

    def fold(x):
        return tf.foldl(lambda a, b: a * b, x)

    def columns(x):
        return tf.transpose(tf.scan(lambda a, b: a * b, tf.transpose(x)))

    return [
        jacobian(scan, False),
        jacobian(scan, True),
        jacobian(fold, False),
        jacobian(columns, True),
    ]


def vectorized_lists_and_windows(tf, np):
    def listed(row):
        rows = tf.TensorArray(tf.float32, 2)
        rows = rows.write(0, row * 2.0).write(1, row * 3.0)
        return rows.stack()

    def pooled_gradient(image):
        with tf.GradientTape() as tape:
            tape.watch(image)
            y = tf.nn.max_pool2d(image[None], 2, 2, "VALID")
        return tape.gradient(y, image)

    images = tf.reshape(tf.range(32.0), [2, 4, 4, 1])

    @tf.function
    def run():
        return [
            tf.vectorized_map(listed, tf.constant([[1.0, 2.0], [3.0, 4.0]])),
            tf.vectorized_map(pooled_gradient, images),
        ]

    return run()


def hessian_of_a_function(tf, np):
    bodies = [
        lambda x: tf.reduce_sum(x * x * x),
        lambda x: x[0] * x[1],
        lambda x: tf.reduce_sum(tf.sigmoid(x)),
        lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x[0]), (0, x[1]))[1],
    ]
    results = []
    for body in bodies:
        f, x = tf.function(body), tf.constant([1.0, 2.0])
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            g = inner.gradient(y, x)
        results.append(outer.jacobian(g, x))
    return results


def refused_windows_and_paddings(tf, np):
    image = tf.ones([1, 2, 2, 1])
    return answers(
        {
            "window": lambda: tf.raw_ops.AvgPool(
                value=image, ksize=[1, 2**30, 2**30, 1], strides=[1, 1, 1, 1], padding="VALID"
            ),
            "paddings": lambda: tf.raw_ops.MirrorPadGrad(
                input=tf.ones([2, 2]), paddings=[[0x77F00000, 0], [0, 0]], mode="REFLECT"
            ),
        }
    )


def sizes_out_of_range(tf, np):
    n = tf.constant(-1)

    @tf.function
    def zeros(n):
        return tf.zeros(tf.stack([n, 2]))

    @tf.function
    def fill(n):
        return tf.fill(tf.stack([n]), 1.0)

    return answers(
        {
            "zeros": lambda: tf.zeros([-1, 2]),
            "zeros in a function": lambda: zeros(n),
            "fill": lambda: tf.fill([-1], 1.0),
            "fill in a function": lambda: fill(n),
            "random": lambda: tf.random.normal([-1]),
            "reshape": lambda: tf.reshape(tf.ones([4]), [-2, -2]),
            "reshape to minus two": lambda: tf.reshape(tf.ones([4]), [-2]),
            "tile": lambda: tf.tile(tf.ones([2]), [-1]),
            "eye": lambda: tf.eye(-1),
            "broadcast": lambda: tf.broadcast_to(1.0, [-1]),
        }
    )


def offsets_of_a_join(tf, np):
    def offset(axis):
        shapes = [tf.constant([2, 3]), tf.constant([2, 5])]
        return tf.raw_ops.ConcatOffset(concat_dim=axis, shape=shapes)

    return [raised(lambda: offset(4)), raised(lambda: offset(-3)), offset(1), offset(-1)]


def sizes_that_are_maxima(tf, np):
    @tf.function
    def mask(i):
        return tf.sequence_mask(i)

    @tf.function
    def segments(i):
        return tf.math.segment_sum(tf.ones([200, 3]), i)

    @tf.function
    def zeros(i):
        return tf.zeros([tf.reduce_max(i) + 1])

    ids = tf.constant(np.arange(200) * 5 // 200, tf.int32)
    return [
        [tf.reduce_sum(tf.cast(mask(ids), tf.int32)), segments(ids), zeros(ids)] for _ in range(4)
    ][-1]


def impossible_shapes_of_the_run(tf, np):
    @tf.function
    def reshape(x, s):
        return tf.reshape(x, tf.stack([s, -1]))

    segment = tf.function(lambda i: tf.math.segment_sum(tf.ones([2]), i))
    unsorted = tf.function(lambda n: tf.math.unsorted_segment_sum(tf.ones([2]), [0, 1], n))
    x = tf.ones([4])
    return answers(
        {
            "to no rows": lambda: reshape(x, tf.constant(0)),
            "to minus one": lambda: reshape(x, tf.constant(-1)),
            "segments": lambda: raised(lambda: segment(tf.constant([0, 2**62], tf.int64))) is None,
            "segments of no number": lambda: unsorted(tf.constant(-1)),
        }
    )


def updates_from_threads(tf, np):
    v, w = tf.Variable(tf.zeros([1000])), tf.Variable(0.0)

    @tf.function
    def increase():
        v.assign_add(tf.ones([1000]))
        return v.read_value()

    def work():
        for _ in range(50):
            increase()
            w.assign_add(1.0)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [v[0], w]


def datasets_from_threads(tf, np):
    data = tf.data.Dataset.range(100).shuffle(10)
    with ThreadPool(8) as pool:
        return pool.map(lambda _: sum(int(x) for x in data), range(16))


def places_beyond_any_row(tf, np):
    row = tf.function(lambda x, i: x[2 * i])
    x = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0])
    return [row(x, tf.constant(1, tf.int64)), raised(lambda: row(x, tf.constant(2**62, tf.int64)))]


def casts_out_of_range(tf, np):
    values = tf.constant([-300.0, 300.0] * 36)
    cast = tf.function(lambda x: tf.cast(x, tf.uint8))
    large = tf.constant([float("nan"), float("inf"), 1e20])
    return [tf.cast(values, tf.uint8)[:2], cast(values)[:2], tf.cast(large, tf.int32)]


PROGRAMS = [
    functions_called_from_threads,
    concrete_functions_from_threads,
    jacobians_of_scans_in_functions,
    vectorized_lists_and_windows,
    hessian_of_a_function,
    refused_windows_and_paddings,
    sizes_out_of_range,
    offsets_of_a_join,
    sizes_that_are_maxima,
    impossible_shapes_of_the_run,
    updates_from_threads,
    datasets_from_threads,
    places_beyond_any_row,
    casts_out_of_range,
]
