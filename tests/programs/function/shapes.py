"""Shapes that are not known while tracing: what is known then, what comes out at run time."""

from programs.support import raised, static


def matrix_product_with_a_batch(tf, np):
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def run(x):
        y = tf.matmul(x, tf.ones([3, 2]))
        seen.extend([static(x), static(y), static(tf.transpose(y)), static(y[0]), static(y[:, 0])])
        return y

    return [run(tf.ones([2, 3])).numpy(), run(tf.ones([0, 3])).numpy(), seen]


def shape_at_run_time(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([None, 4, None], tf.float32)])
    def run(x):
        return tf.shape(x), tf.size(x), tf.rank(x), tf.shape(x)[0] * 2, tf.shape(x, tf.int64)

    return [[t.numpy() for t in run(tf.zeros(s))] for s in ([2, 4, 3], [0, 4, 1])]


def reshaped(tf, np):
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, 6], tf.float32)])
    def run(x):
        results = [
            tf.reshape(x, [-1]),
            tf.reshape(x, [-1, 2, 3]),
            tf.reshape(x, [tf.shape(x)[0], 3, 2]),
            tf.reshape(x, tf.stack([3, tf.shape(x)[0] * 2])),
            tf.reshape(x, [-1, 1, 6]),
        ]
        seen.extend([static(r) for r in results])
        return results

    return [[r.numpy() for r in run(tf.reshape(tf.range(12.0), [2, 6]))], seen]


def flattened_per_example(tf, np):
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, 2, 3], tf.float32)])
    def run(x):
        y = tf.reshape(x, [tf.shape(x)[0], -1])
        seen.append(static(y)[0])
        return y

    return [run(tf.ones([n, 2, 3])).numpy().shape for n in (1, 4)] + [seen]


def broadcast_between_unknown_dimensions(tf, np):
    seen = []
    spec = tf.TensorSpec([None], tf.float32)

    @tf.function(input_signature=[spec, spec])
    def run(x, y):
        z = x * 10.0 + y
        seen.append(static(z))
        return z

    three, one = tf.constant([1.0, 2.0, 3.0]), tf.constant([5.0])
    values = [
        run(a, b).numpy() for a, b in ((three, three), (three, one), (one, three), (one, one))
    ]
    return [values, seen, run.experimental_get_tracing_count()]


def broadcast_fails_at_run_time(tf, np):
    spec = tf.TensorSpec([None], tf.float32)

    @tf.function(input_signature=[spec, spec])
    def run(x, y):
        return x + y

    return raised(lambda: run(tf.ones([2]), tf.ones([3])))


def gradient_when_broadcast_at_run_time(tf, np):
    spec = tf.TensorSpec([None, None], tf.float64)

    @tf.function(input_signature=[spec, spec])
    def run(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            loss = tf.reduce_sum(x * y * y)
        return tape.gradient(loss, [x, y])

    def matrix(rows, columns):
        return tf.constant(np.arange(1.0, rows * columns + 1.0).reshape(rows, columns))

    pairs = [
        ((2, 3), (2, 3)),
        ((2, 3), (1, 3)),
        ((2, 1), (2, 3)),
        ((1, 3), (2, 1)),
        ((1, 1), (2, 3)),
    ]
    return [[g.numpy() for g in run(matrix(*a), matrix(*b))] for a, b in pairs]


def reductions(tf, np):
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float64)])
    def run(x):
        results = [
            tf.reduce_sum(x),
            tf.reduce_mean(x, axis=0),
            tf.reduce_max(x, axis=1),
            tf.reduce_sum(x, axis=1, keepdims=True),
            tf.argmax(x, axis=0),
            tf.reduce_prod(x, axis=[0, 1]),
        ]
        seen.append([static(r) for r in results])
        return results

    return [[r.numpy() for r in run(tf.ones([n, 3], tf.float64) * 2.0)] for n in (1, 4)] + seen


def mean_of_an_unknown_batch(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float64)])
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_mean(x * x)
        return y, tape.gradient(y, x)

    return [[t.numpy() for t in run(tf.range(float(n), dtype=tf.float64))] for n in (1, 2, 5)]


def variance_and_softmax(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64)])
    def run(x):
        mean, variance = tf.nn.moments(x, axes=[0])
        return tf.nn.softmax(x), mean, variance, tf.math.reduce_std(x, axis=1)

    x = np.sin(np.arange(6.0))
    return [[t.numpy() for t in run(tf.constant(x.reshape(s)))] for s in ((2, 3), (3, 2), (1, 6))]


def ranges(tf, np):
    seen = []

    @tf.function
    def run(n):
        results = [
            tf.range(n),
            tf.range(1, n, 2),
            tf.range(n, 0, -1),
            tf.cast(tf.range(n), "float32"),
        ]
        seen.append([static(r) for r in results])
        return results

    return [[r.numpy() for r in run(tf.constant(n))] for n in (1, 6)] + seen


def filled(tf, np):
    seen = []

    @tf.function
    def run(n, value):
        results = [
            tf.zeros([n, 2]),
            tf.ones([2, n], tf.int32),
            tf.fill([n], value),
            tf.eye(n),
            tf.linspace(0.0, 1.0, n),
        ]
        seen.append([static(r)[-1] for r in results])
        return results

    return [[r.numpy() for r in run(tf.constant(n), tf.constant(7.0))] for n in (1, 3)] + seen


def like_another_tensor(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
    def run(x):
        return tf.zeros_like(x), tf.ones_like(x, dtype=tf.int32), tf.fill(tf.shape(x), 2.0)

    return [t.numpy() for t in run(tf.ones([2, 3]))]


def tiled_and_repeated(tf, np):
    @tf.function
    def run(x, n):
        return tf.tile(x, [n, 2]), tf.repeat(x, n, axis=0), tf.broadcast_to(x, [n, 2, 2])

    x = tf.constant([[1, 2], [3, 4]])
    return [[t.numpy() for t in run(x, tf.constant(n))] for n in (1, 2)]


def one_hot_of_unknown_depth(tf, np):
    @tf.function
    def run(labels, depth):
        return tf.one_hot(labels, depth)

    return [run(tf.constant([0, 2]), tf.constant(d)).numpy() for d in (3, 4)]


def sliced_by_tensors(tf, np):
    seen = []

    @tf.function
    def run(x, start, stop):
        results = [x[start:stop], x[:stop, 1], x[start], x[::-1][:start], x[..., start:]]
        seen.append([static(r) for r in results])
        return results

    x = tf.reshape(tf.range(12), [4, 3])
    return [[r.numpy() for r in run(x, tf.constant(1), tf.constant(3))]] + seen


def joined_and_split(tf, np):
    seen = []
    spec = tf.TensorSpec([None, 2], tf.float32)

    @tf.function(input_signature=[spec, spec])
    def run(x, y):
        joined = tf.concat([x, y, x], axis=0)
        wide = tf.concat([x, x], axis=1)
        left, right = tf.split(wide, 2, axis=1)
        seen.extend([static(joined), static(wide), static(left), static(tf.stack([x, x]))])
        return joined, wide, left - right

    return [t.numpy() for t in run(tf.ones([1, 2]), tf.zeros([2, 2]))] + [seen]


def axes_added_and_removed(tf, np):
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, 1, 3], tf.float32)])
    def run(x):
        results = [tf.squeeze(x, 1), x[:, tf.newaxis], tf.expand_dims(x, -1), x[..., None, :]]
        seen.extend([static(r) for r in results])
        return results

    return [[r.numpy().shape for r in run(tf.ones([2, 1, 3]))], seen]


def transposed_and_multiplied(tf, np):
    spec = tf.TensorSpec([None, None, None], tf.float64)

    @tf.function(input_signature=[spec, spec])
    def run(x, y):
        return tf.matmul(x, y, transpose_b=True), tf.einsum("bij,bkj->bik", x, y)

    x = tf.constant(np.arange(12.0).reshape(2, 2, 3))
    return [t.numpy() for t in run(x, x + 1.0)] + [run(x[:1], x[1:])[0].numpy()]


def gathered_rows(tf, np):
    seen = []

    @tf.function(
        input_signature=[tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([None], tf.int32)]
    )
    def run(x, rows):
        y = tf.gather(x, rows)
        seen.append(static(y))
        return y, tf.boolean_mask(x, x[:, 0] > 2.0), tf.where(x > 3.0)

    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    return [[t.numpy() for t in run(x, tf.constant(r, tf.int32))] for r in ([2, 2, 0], [])] + seen


def number_of_results_depends_on_values(tf, np):
    seen = []

    @tf.function
    def run(x):
        positive = x[x > 0]
        unique, index = tf.unique(x)
        seen.extend([static(positive), static(unique), static(index)])
        return positive, unique, index, tf.size(positive)

    return [t.numpy() for t in run(tf.constant([3, -1, 3, 0, 5, -1]))] + [seen]


def segments(tf, np):
    @tf.function
    def run(x, groups, count):
        return tf.math.unsorted_segment_sum(x, groups, count), tf.math.segment_max(x, groups)

    x, groups = tf.constant([1.0, 2.0, 3.0, 4.0]), tf.constant([0, 0, 1, 2])
    return [t.numpy() for t in run(x, groups, tf.constant(4))]


def padded(tf, np):
    @tf.function
    def run(x, length):
        return tf.pad(x, [[0, length - tf.shape(x)[0]]], constant_values=-1)

    return [run(tf.range(n), tf.constant(5)).numpy() for n in (2, 5)]


def shape_is_asserted(tf, np):
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
    def run(x):
        y = tf.ensure_shape(x, [None, 3])
        seen.append(static(y))
        return y * 2.0

    return [run(tf.ones([1, 3])).numpy(), raised(lambda: run(tf.ones([1, 2]))), seen]


def shape_is_set(tf, np):
    seen = []

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
    def run(x):
        seen.append(static(x))
        x.set_shape([2, None])
        seen.append(static(x))
        return tf.reduce_sum(x, axis=1)

    return [run(tf.ones([2, 3])).numpy(), seen]


def python_reads_the_known_part(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def run(x):
        if x.shape[0] is None:
            scale = 10.0
        else:
            scale = 1.0
        return x * scale + float(x.shape[1]) + float(x.shape.rank)

    return run(tf.ones([1, 3])).numpy()


def length_of_unknown_is_an_error(tf, np):
    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
    def run(x):
        return tf.constant(x.shape.as_list())

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def unrolled(x):
        return tf.unstack(x)

    return [raised(lambda: run(tf.ones([2]))), raised(lambda: unrolled(tf.ones([2])))]


def masked_mean_of_ragged_batches(tf, np):
    @tf.function(
        input_signature=[tf.TensorSpec([None, None], tf.float64), tf.TensorSpec([None], tf.int32)]
    )
    def run(x, lengths):
        mask = tf.sequence_mask(lengths, tf.shape(x)[1], dtype=tf.float64)
        return tf.reduce_sum(x * mask, axis=1) / tf.reduce_sum(mask, axis=1)

    first = run(tf.constant([[1.0, 2.0, 9.0], [3.0, 9.0, 9.0]], tf.float64), tf.constant([2, 1]))
    second = run(tf.constant([[1.0, 2.0]], tf.float64), tf.constant([2]))
    return [first.numpy(), second.numpy(), run.experimental_get_tracing_count()]


def pairwise_distances(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float64)])
    def run(x):
        difference = x[:, None, :] - x[None, :, :]
        return tf.reduce_sum(difference**2, axis=-1)

    x = np.arange(6.0).reshape(3, 2) ** 1.5
    with tf.GradientTape() as tape:
        v = tf.Variable(x)
        y = run(v)
        loss = tf.reduce_sum(tf.sqrt(y + 1.0))
    return [run(tf.constant(x[:1])).numpy(), y.numpy(), tape.gradient(loss, v).numpy()]


def convolution_of_an_unknown_batch(tf, np):
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, 4, 4, 1], tf.float32)])
    def run(x):
        y = tf.nn.conv2d(x, tf.ones([2, 2, 1, 2]), strides=1, padding="VALID")
        z = tf.nn.max_pool2d(y, 3, 1, "VALID")
        seen.extend([static(y), static(z)])
        return tf.reshape(z, [-1, 2])

    x = tf.reshape(tf.range(32.0), [2, 4, 4, 1])
    return [run(x).numpy(), run(x[:1]).numpy(), seen]


PROGRAMS = [
    matrix_product_with_a_batch,
    shape_at_run_time,
    reshaped,
    flattened_per_example,
    broadcast_between_unknown_dimensions,
    broadcast_fails_at_run_time,
    gradient_when_broadcast_at_run_time,
    reductions,
    mean_of_an_unknown_batch,
    variance_and_softmax,
    ranges,
    filled,
    like_another_tensor,
    tiled_and_repeated,
    one_hot_of_unknown_depth,
    sliced_by_tensors,
    joined_and_split,
    axes_added_and_removed,
    transposed_and_multiplied,
    gathered_rows,
    number_of_results_depends_on_values,
    segments,
    padded,
    shape_is_asserted,
    shape_is_set,
    python_reads_the_known_part,
    length_of_unknown_is_an_error,
    masked_mean_of_ragged_batches,
    pairwise_distances,
    convolution_of_an_unknown_batch,
]
