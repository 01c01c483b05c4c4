"""Functions of elements: map, filter, scan, reduce, take_while, random numbers, Python, errors."""

from programs.data import listed, spec
from programs.support import raised


def maps(tf, np):
    d = tf.data.Dataset.range(4)
    return [
        listed(x)
        for x in (
            d.map(lambda x: x * x),
            d.map(lambda x: (x, -x)),
            d.map(lambda x: {"a": x, "b": [x, x]}),
            d.map(lambda x: [x, x + 1]),
            d.map(lambda x: 7),
            d.map(lambda x: (x, (x, "s"))),
        )
    ]


def maps_of_tuples(tf, np):
    d = tf.data.Dataset.from_tensor_slices(([1, 2], [3, 4]))
    nested = tf.data.Dataset.from_tensor_slices(([1, 2], ([3, 4], [5, 6])))
    return listed(d.map(lambda x, y: x + y)), listed(nested.map(lambda a, b: a + b[0] * b[1]))


def maps_a_dict(tf, np):
    d = tf.data.Dataset.from_tensor_slices({"a": [1, 2], "b": [3.0, 4.0]})
    return listed(d.map(lambda e: {**e, "c": tf.cast(e["a"], tf.float32) * e["b"]}))


def maps_with_control_flow(tf, np):
    def collatz(x):
        steps = 0
        while x > 1:
            if x % 2 == 0:
                x = x // 2
            else:
                x = 3 * x + 1
            steps += 1
        return steps

    return listed(tf.data.Dataset.range(1, 10).map(collatz))


def maps_images(tf, np):
    x = np.arange(2 * 4 * 4 * 1, dtype=np.uint8).reshape(2, 4, 4, 1)

    def prepare(image, label):
        image = tf.cast(image, tf.float32) / 255.0
        return tf.reverse(image, [1])[1:, ..., 0], tf.one_hot(label, 3)

    ds = tf.data.Dataset.from_tensor_slices((x, [0, 2])).map(prepare).batch(2)
    return listed(ds), spec(ds)


def maps_reductions(tf, np):
    x = np.random.RandomState(0).rand(6, 5).astype(np.float32)
    ds = tf.data.Dataset.from_tensor_slices(x)
    ds = ds.map(lambda r: (tf.nn.softmax(r), tf.reduce_sum(r), tf.linalg.norm(r)))
    return listed(ds.batch(4))


def map_is_traced_once(tf, np):
    traces = []

    def note(x):
        traces.append(1)
        return x + 1

    ds = tf.data.Dataset.range(5).map(note)
    return listed(ds), listed(ds), len(traces)


def maps_in_parallel(tf, np):
    d = tf.data.Dataset.range(12)
    first = d.map(lambda x: x * 2, num_parallel_calls=tf.data.AUTOTUNE)
    second = d.map(
        lambda x: tf.numpy_function(lambda v: v + 1, [x], tf.int64), num_parallel_calls=4
    )
    return listed(first), listed(second)


def maps_random_numbers(tf, np):
    tf.random.set_seed(3)
    d = tf.data.Dataset.range(3)
    plain = d.map(lambda x: tf.random.uniform([]))
    own = d.map(lambda x: tf.random.normal([2], seed=1))
    return listed(plain), listed(plain), listed(plain.repeat(2)), listed(own), listed(own)


def maps_python(tf, np):
    d = tf.data.Dataset.range(3)
    eager = d.map(lambda x: tf.py_function(lambda v: v.numpy() * 2.5, [x], tf.float64))
    arrays = d.map(lambda x: tf.numpy_function(lambda v: (v, v + 1), [x], [tf.int64, tf.int64]))
    return listed(eager), spec(eager), listed(arrays)


def maps_variables(tf, np):
    v = tf.Variable(2, dtype=tf.int64)
    ds = tf.data.Dataset.range(3).map(lambda x: x * v)
    first = listed(ds)
    v.assign(5)
    return first, listed(ds)


def maps_with_tables_of_values(tf, np):
    table = tf.constant([10.0, 20.0, 30.0])
    ds = tf.data.Dataset.from_tensor_slices([2, 0, 1]).map(lambda i: tf.gather(table, i))
    return listed(ds), listed(ds.batch(3))


def filters(tf, np):
    d = tf.data.Dataset.range(10)
    pairs = tf.data.Dataset.zip(d, d.map(lambda x: x * x))
    return [
        listed(x)
        for x in (
            d.filter(lambda x: x % 3 == 0),
            pairs.filter(lambda a, b: b > 30),
            d.filter(lambda x: False),
            d.filter(lambda x: x > 4).batch(2),
            d.map(lambda x: x + 1).filter(lambda x: x > 8),
            d.filter(lambda x: x % 2 == 0).take(2),
            d.shuffle(10, seed=1).filter(lambda x: x < 5),
        )
    ]


def takes_while(tf, np):
    d = tf.data.Dataset.range(10)
    return listed(d.take_while(lambda x: x < 4)), listed(d.skip(5).take_while(lambda x: x < 4))


def scans(tf, np):
    d = tf.data.Dataset.range(5)
    sums = d.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s + x))
    pairs = d.scan((tf.constant(0, tf.int64), 1.0), lambda s, x: ((s[0] + x, s[1] * 2), s[1]))
    growing = d.take(3).scan(tf.zeros([0], tf.int64), lambda s, x: (tf.concat([s, [x]], 0), s))
    return listed(sums), listed(pairs), listed(growing)


def reduces(tf, np):
    d = tf.data.Dataset.range(5)
    first = d.reduce(np.int64(0), lambda s, x: s + x)
    second = d.reduce((np.int64(0), 0.0), lambda s, x: (s[0] + x, s[1] + 1.0))
    none = d.take(0).reduce(3.0, lambda s, x: s)
    return first.numpy(), [x.numpy() for x in second], none.numpy()


def errors_come_at_their_element(tf, np):
    d = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 0.0, 4.0])
    d = d.map(lambda x: tf.debugging.check_numerics(1.0 / x, "bad"))
    found = []
    for ds in (d, d.prefetch(1), d.map(lambda x: x, num_parallel_calls=2)):
        iterator = iter(ds)
        for _ in range(5):
            try:
                found.append(float(next(iterator)))
            except Exception as error:
                found.append(type(error).__name__)
    return found


def ignores_errors(tf, np):
    d = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 0.0, 4.0])
    d = d.map(lambda x: tf.debugging.check_numerics(1.0 / x, "bad"))
    return listed(d.ignore_errors()), listed(d.apply(tf.data.experimental.ignore_errors()))


def integer_division(tf, np):
    d = tf.data.Dataset.from_tensor_slices([4, 0, 2]).map(lambda x: 8 // x)
    iterator, found = iter(d), []
    for _ in range(4):
        try:
            found.append(int(next(iterator)))
        except Exception as error:
            found.append(type(error).__name__)
    return found


def mapping_errors(tf, np):
    d = tf.data.Dataset.range(3)
    fails = d.map(lambda x: tf.py_function(lambda v: 1 // 0, [x], tf.int64))
    return [
        raised(call)
        for call in (
            lambda: d.map(3),
            lambda: d.map(lambda x: object()),
            lambda: d.filter(lambda x: x),
            lambda: listed(fails),
            lambda: d.reduce(0, lambda s, x: s + x),
            lambda: d.map(lambda x, y: x),
            lambda: d.scan(0, lambda s, x: s),
        )
    ]


PROGRAMS = [
    maps,
    maps_of_tuples,
    maps_a_dict,
    maps_with_control_flow,
    maps_images,
    maps_reductions,
    map_is_traced_once,
    maps_in_parallel,
    maps_random_numbers,
    maps_python,
    maps_variables,
    maps_with_tables_of_values,
    filters,
    takes_while,
    scans,
    reduces,
    errors_come_at_their_element,
    ignores_errors,
    integer_division,
    mapping_errors,
]
