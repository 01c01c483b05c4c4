"""Iterators, and datasets in functions: loops, gradients, iterators as arguments."""

from programs.support import raised


def iterators(tf, np):
    iterator = iter(tf.data.Dataset.range(3))
    return [
        int(next(iterator)),
        int(iterator.get_next()),
        int(next(iterator)),
        raised(lambda: next(iterator)),
        raised(iterator.get_next),
        next(iterator, None),
        repr(iterator.element_spec),
    ]


def optionals(tf, np):
    iterator = iter(tf.data.Dataset.range(1))
    first, second = iterator.get_next_as_optional(), iterator.get_next_as_optional()
    own = tf.experimental.Optional.from_value((1, "a"))
    none = tf.experimental.Optional.empty(tf.TensorSpec([], tf.int32))
    return [
        first.has_value(),
        first.get_value(),
        second.has_value(),
        raised(second.get_value),
        own.get_value(),
        none.has_value(),
        repr(own.element_spec),
    ]


def two_iterators(tf, np):
    ds = tf.data.Dataset.range(4)
    a, b = iter(ds), iter(ds)
    return [int(next(a)), int(next(a)), int(next(b)), int(next(a))]


def loops_in_functions(tf, np):
    @tf.function
    def total(ds):
        found = tf.constant(0, tf.int64)
        for x in ds:
            found += x
        return found

    made = tf.data.Dataset.range
    return [total(d).numpy() for d in (made(5), made(0), made(3).map(lambda x: x * x))]


def breaks_and_continues(tf, np):
    @tf.function
    def some(ds):
        found = tf.constant(0, tf.int64)
        for x in ds:
            if x > 5:
                break
            if x % 2 == 0:
                continue
            found += x
        return found

    return [some(tf.data.Dataset.range(n)).numpy() for n in (10, 3)]


def loops_over_structures(tf, np):
    @tf.function
    def total(ds):
        found = 0.0
        for x, y in ds:
            found += x * y["w"]
        return found

    ds = tf.data.Dataset.from_tensor_slices(([1.0, 2.0], {"w": [3.0, 4.0]}))
    return total(ds).numpy()


def loops_over_batches(tf, np):
    @tf.function
    def rows(ds):
        count, found = 0, tf.zeros([2])
        for x in ds:
            count += tf.shape(x)[0]
            found += tf.reduce_sum(x, 0)
        return count, found

    ds = tf.data.Dataset.from_tensor_slices(np.arange(10, dtype=np.float32).reshape(5, 2)).batch(2)
    return [x.numpy() for x in rows(ds)]


def enumerates_and_zips(tf, np):
    @tf.function
    def both(a, b):
        found = tf.constant(0, tf.int64)
        for i, x in enumerate(a):
            found += i * x
        for x, y in zip(a, b):
            found += x * y
        return found

    return both(tf.data.Dataset.range(4), tf.data.Dataset.range(5, 9)).numpy()


def iterators_as_arguments(tf, np):
    @tf.function
    def two(iterator):
        return next(iterator) * 10 + next(iterator)

    @tf.function
    def several(iterator, n):
        found = tf.constant(0, tf.int64)
        for _ in tf.range(n):
            found += next(iterator)
        return found

    iterator = iter(tf.data.Dataset.range(10))
    found = [
        two(iterator).numpy(),
        several(iterator, tf.constant(3)).numpy(),
        two(iterator).numpy(),
        int(next(iterator)),
    ]
    return found, raised(lambda: two(iterator)), two.experimental_get_tracing_count()


def loops_over_iterators(tf, np):
    @tf.function
    def until_above(iterator, limit):
        found = tf.constant(0, tf.int64)
        for x in iterator:
            found += x
            if found > limit:
                break
        return found

    iterator = iter(tf.data.Dataset.range(10))
    return until_above(iterator, 3).numpy(), int(next(iterator)), until_above(iterator, 99).numpy()


def datasets_made_in_functions(tf, np):
    @tf.function
    def total(n, scale):
        ds = tf.data.Dataset.range(n).map(lambda x: x * scale).batch(2)
        return ds.reduce(tf.constant(0, tf.int64), lambda s, x: s + tf.reduce_sum(x))

    @tf.function
    def made(x):
        return tf.data.Dataset.from_tensor_slices(x).map(lambda y: y + 1)

    found = [total(tf.constant(n, tf.int64), tf.constant(3, tf.int64)).numpy() for n in (4, 5)]
    return found, [int(x) for x in made(tf.constant([1, 2, 3]))]


def training_in_a_function(tf, np):
    x = np.random.RandomState(0).rand(32, 3).astype(np.float32)
    y = x @ np.array([[1.0], [2.0], [3.0]], np.float32)
    w = tf.Variable(tf.zeros([3, 1]))

    @tf.function
    def epoch(ds):
        steps = 0
        for a, b in ds:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((a @ w - b) ** 2)
            w.assign_sub(0.2 * tape.gradient(loss, w))
            steps += 1
        return steps

    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(32, seed=1).batch(8)
    steps = [int(epoch(ds)) for _ in range(3)]
    return steps, w.numpy()


def eager_loops_with_gradients(tf, np):
    w = tf.Variable([1.0, -1.0])
    ds = tf.data.Dataset.from_tensor_slices([[1.0, 2.0], [3.0, 4.0]]).map(lambda x: x * 2)
    with tf.GradientTape() as tape:
        loss = sum(tf.reduce_sum(w * x) for x in ds)
    return tape.gradient(loss, w).numpy()


def end_of_input_in_functions(tf, np):
    @tf.function
    def third(ds):
        iterator = iter(ds)
        next(iterator)
        next(iterator)
        return next(iterator)

    return int(third(tf.data.Dataset.range(3))), raised(lambda: third(tf.data.Dataset.range(2)))


def optionals_in_functions(tf, np):
    @tf.function
    def last(iterator):
        found = tf.constant(-1, tf.int64)
        optional = iterator.get_next_as_optional()
        while optional.has_value():
            found = optional.get_value()
            optional = iterator.get_next_as_optional()
        return found

    return int(last(iter(tf.data.Dataset.range(5))))


PROGRAMS = [
    iterators,
    optionals,
    two_iterators,
    loops_in_functions,
    breaks_and_continues,
    loops_over_structures,
    loops_over_batches,
    enumerates_and_zips,
    iterators_as_arguments,
    loops_over_iterators,
    datasets_made_in_functions,
    training_in_a_function,
    eager_loops_with_gradients,
    end_of_input_in_functions,
    optionals_in_functions,
]
TOLERANCE = {"training_in_a_function": {"rtol": 1e-5}}
