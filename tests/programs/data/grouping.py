"""Batches, windows, groups, buckets."""

from programs.data import listed, spec
from programs.support import raised


def batches(tf, np):
    d = tf.data.Dataset.range(7)
    return [
        [listed(x), spec(x)]
        for x in (
            d.batch(3),
            d.batch(3, drop_remainder=True),
            d.batch(9),
            d.take(4).batch(2).batch(2),
            d.batch(9, True),
        )
    ]


def batches_of_structures(tf, np):
    d = tf.data.Dataset.from_tensor_slices(({"a": [1, 2, 3]}, ["x", "y", "z"]))
    return listed(d.batch(2)), spec(d.batch(2))


def batches_what_was_filtered(tf, np):
    d = tf.data.Dataset.range(10).filter(lambda x: x % 3 > 0).map(lambda x: (x, [x, x]))
    return listed(d.batch(4)), spec(d.batch(4))


def batch_errors(tf, np):
    rows = tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([n], n))
    return raised(lambda: listed(rows.batch(2))), listed(rows.batch(1))


def padded(tf, np):
    rows = tf.data.Dataset.range(1, 5).map(lambda n: tf.fill([n], n))
    return [
        [listed(x), spec(x)]
        for x in (
            rows.padded_batch(2),
            rows.padded_batch(2, padded_shapes=[6]),
            rows.padded_batch(3, padded_shapes=[None], padding_values=np.int64(-1)),
            rows.padded_batch(3, drop_remainder=True),
        )
    ]


def padded_structures(tf, np):
    rows = tf.data.Dataset.range(1, 4).map(lambda n: (tf.fill([n], n), {"s": tf.fill([n, 2], "x")}))
    shapes = ([None], {"s": [4, None]})
    ds = rows.padded_batch(2, padded_shapes=shapes, padding_values=(np.int64(7), {"s": "-"}))
    return listed(ds), spec(ds), listed(rows.padded_batch(2))


def padding_errors(tf, np):
    d = tf.data.Dataset.from_tensor_slices([[1, 2, 3]])
    return [
        raised(call)
        for call in (
            lambda: d.padded_batch(2, padded_shapes=[2]),
            lambda: d.padded_batch(2, padded_shapes=[3, 1]),
            lambda: d.padded_batch(2, padding_values="a"),
        )
    ]


def unbatches(tf, np):
    d = tf.data.Dataset.from_tensor_slices((np.arange(6).reshape(3, 2), np.ones([3, 2, 1])))
    return (
        listed(d.unbatch()),
        spec(d.unbatch()),
        raised(lambda: tf.data.Dataset.range(2).unbatch()),
    )


def rebatches(tf, np):
    d = tf.data.Dataset.range(7).batch(3)
    return listed(d.rebatch(2)), listed(d.rebatch(5, drop_remainder=True))


def windows(tf, np):
    d = tf.data.Dataset.range(7)
    found = []
    for arguments in ((3,), (3, 1), (3, 2), (2, 3), (3, 1, 2), (3, None, 1, True), (2, 5), (9,)):
        found.append([listed(w) for w in d.window(*arguments)])
    return found


def windows_flattened(tf, np):
    d = tf.data.Dataset.range(7).window(3, shift=1, drop_remainder=True)
    pairs = tf.data.Dataset.from_tensor_slices(([1, 2, 3, 4], [5, 6, 7, 8])).window(2)
    joined = pairs.flat_map(lambda a, b: tf.data.Dataset.zip((a.batch(2), b.batch(2))))
    return listed(d.flat_map(lambda w: w.batch(3))), listed(joined)


def groups(tf, np):
    d = tf.data.Dataset.range(10)
    by_two = d.group_by_window(lambda x: x % 3, lambda k, w: w.batch(2), window_size=2)
    by_size = d.group_by_window(
        lambda x: x % 2, lambda k, w: w.batch(10), window_size_func=lambda k: k + 2
    )
    keyed = d.group_by_window(
        lambda x: x % 2, lambda k, w: w.map(lambda x: (k, x)).take(1), window_size=3
    )
    return listed(by_two), listed(by_size), listed(keyed)


def buckets(tf, np):
    rows = tf.data.Dataset.range(1, 9).map(lambda n: tf.fill([n % 5 + 1], n))
    length = lambda row: tf.shape(row)[0]  # noqa: E731
    plain = rows.bucket_by_sequence_length(length, [3, 5], [2, 2, 2])
    full = rows.filter(lambda r: tf.shape(r)[0] < 5).bucket_by_sequence_length(
        length, [3, 5], [2, 2, 2], pad_to_bucket_boundary=True
    )
    numbers = tf.data.Dataset.range(6).bucket_by_sequence_length(
        lambda x: tf.cast(x, tf.int32), [2, 4], [2, 1, 2], no_padding=True
    )
    return listed(plain), listed(full), listed(numbers)


def ragged_batches(tf, np):
    rows = tf.data.Dataset.range(1, 5).map(lambda n: tf.fill([n], n))
    ds = rows.ragged_batch(2)
    return [x.to_list() for x in ds], spec(ds), spec(tf.data.Dataset.range(3).ragged_batch(2))


def sparse_batches(tf, np):
    rows = tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([n], n))
    ds = rows.sparse_batch(2, [5])
    return [tf.sparse.to_dense(x).numpy() for x in ds], spec(ds)


def group_by_reducer(tf, np):
    reducer = tf.data.experimental.Reducer(
        lambda k: np.int64(0), lambda s, x: s + x, lambda s: (s, s * 10)
    )
    d = tf.data.Dataset.from_tensor_slices(np.array([5, 3, 4, 8, 1], np.int64))
    return listed(d.apply(tf.data.experimental.group_by_reducer(lambda x: x % 3, reducer)))


def pads_to_cardinality(tf, np):
    d = tf.data.Dataset.from_tensor_slices({"a": [1, 2], "z": ["x", "y"]})
    return listed(d.apply(tf.data.experimental.pad_to_cardinality(3)))


PROGRAMS = [
    batches,
    batches_of_structures,
    batches_what_was_filtered,
    batch_errors,
    padded,
    padded_structures,
    padding_errors,
    unbatches,
    rebatches,
    windows,
    windows_flattened,
    groups,
    buckets,
    ragged_batches,
    sparse_batches,
    group_by_reducer,
    pads_to_cardinality,
]
