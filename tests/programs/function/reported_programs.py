"""The faults that realistic programs met, each as it was reported (numbers 1 to 10)."""


def gradient_of_transposed_logits(tf, np):
    x = tf.constant(np.sin(np.arange(8)).reshape(4, 2).astype(np.float32))
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits([0, 1], tf.transpose(x))
    return tape.gradient(loss, x)


def hessians_of_functions(tf, np):
    def doubled(i, a, x):
        return i + 1, a * x[0], x

    bodies = [
        lambda x: tf.reduce_sum(x * x * x),
        lambda x: x[0] * x[1],
        lambda x: tf.reduce_sum(tf.exp(x)),
        lambda x: tf.reduce_sum(tf.sigmoid(x)),
        lambda x: tf.reduce_sum(tf.matmul(x[None], x[:, None])),
        lambda x: tf.reduce_sum(tf.nn.softmax(x) ** 2),
        lambda x: tf.while_loop(lambda i, a, x: i < 3, doubled, [0, x[1], x])[1],
        lambda x: tf.reduce_sum(tf.linalg.cholesky(tf.linalg.diag(x + 3.0))),
    ]
    x = tf.constant([1.0, 2.0])

    def hessian(body):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.function(body)(x)
            slope = inner.gradient(y, x)
        return outer.jacobian(slope, x)

    return [hessian(body) for body in bodies]


def padded_batches_of_strings(tf, np):
    batch = next(iter(tf.data.Dataset.from_tensor_slices(["a", "bb"]).padded_batch(2)))
    named = tf.data.Dataset.from_tensor_slices({"s": ["a", "bb"]}).padded_batch(2)
    array = next(named.as_numpy_iterator())["s"]
    return [batch, tf.strings.length(batch), [text.decode() for text in array.tolist()]]


def seeds_set_again(tf, np):
    @tf.function
    def drawn():
        return tf.random.normal([2])

    found = []
    for seed in (3, 3, 4):
        tf.random.set_seed(seed)
        found += [drawn(), drawn()]
    return found


def iterators_that_are_never_read(tf, np):
    tf.random.set_seed(3)
    dataset = tf.data.Dataset.range(8).shuffle(8, seed=1)
    iter(dataset)
    return [int(value) for value in dataset]


def plain_defaults_of_columns(tf, np):
    return tf.io.decode_csv("1,b", [0, ""])


def partitions_of_a_function_of_which_one_is_used(tf, np):
    parted = tf.function(lambda x: tf.dynamic_partition(x, [1, 0], 2))
    x = tf.constant([[1.0], [2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(parted(x)[0])
    return tape.gradient(loss, x)


def branches_of_vectorized_elements(tf, np):
    def absolute(x):
        return tf.cond(x > 0, lambda: x, lambda: -x)

    return tf.vectorized_map(absolute, tf.constant([1.0, -2.0]))


def parts_of_strings_by_vectors(tf, np):
    return tf.strings.substr(["hello", "world"], [1, 2], [2, 2])


def digits_of_formatted_floats(tf, np):
    values = [0.1, 3.0, 1e10, 1e-7, float("nan"), [1.5, 2.0]]
    return [tf.strings.format("{}", tf.constant(value)) for value in values]


PROGRAMS = [
    gradient_of_transposed_logits,
    hessians_of_functions,
    padded_batches_of_strings,
    seeds_set_again,
    iterators_that_are_never_read,
    plain_defaults_of_columns,
    partitions_of_a_function_of_which_one_is_used,
    branches_of_vectorized_elements,
    parts_of_strings_by_vectors,
    digits_of_formatted_floats,
]
TOLERANCE = {"*": {"rtol": 1e-5, "atol": 1e-6}}
