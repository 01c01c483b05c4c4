"""Datasets of tensors, numbers and generators; structures of elements."""

import collections

from programs.data import listed, spec
from programs.support import raised

Pair = collections.namedtuple("Pair", "x y")


def slices(tf, np):
    ds = tf.data.Dataset.from_tensor_slices(([1, 2, 3], {"a": [[1.0], [2.0], [3.0]]}))
    return listed(ds), spec(ds), len(ds)


def slices_of_namedtuple(tf, np):
    ds = tf.data.Dataset.from_tensor_slices(Pair([1, 2], ["a", "b"]))
    ds = ds.map(lambda p: Pair(p.x + 1, {"q": p.y}))
    return [[p.x, p.y] for p in listed(ds)], spec(ds)


def lists_are_tensors(tf, np):
    ds = tf.data.Dataset.from_tensors([[1, 2], [3, 4]])
    rows = tf.data.Dataset.from_tensor_slices(([1, 2], [[3, 4], [5, 6]]))
    return listed(ds), spec(ds), listed(rows), spec(rows)


def none_in_elements(tf, np):
    ds = tf.data.Dataset.from_tensors((1, None)).map(lambda a, b: (b, a))
    return spec(ds), [int(x[1]) for x in ds]


def strings(tf, np):
    ds = tf.data.Dataset.from_tensor_slices(["a", "b", "c"])
    return listed(ds), listed(ds.batch(2)), listed(ds.map(lambda x: (x, x)).skip(1))


def dtypes(tf, np):
    kinds = ["bool", "uint8", "int16", "int64", "float16", "float64", "complex64"]
    return [
        listed(tf.data.Dataset.from_tensor_slices(np.arange(2).astype(k)).batch(2)) for k in kinds
    ]


def ranges(tf, np):
    made = tf.data.Dataset.range
    return [
        listed(d)
        for d in (
            made(3),
            made(2, 5),
            made(1, 10, 4),
            made(5, 1, -2),
            made(0),
            made(3, output_type=tf.int32),
        )
    ]


def counters(tf, np):
    return listed(tf.data.Dataset.counter(5, 3).take(3)), listed(
        tf.data.experimental.Counter(2, -1).take(3)
    )


def random_numbers(tf, np):
    same = tf.data.Dataset.random(seed=4).take(5)
    other = tf.data.Dataset.random(seed=4, rerandomize_each_iteration=True).take(3)
    return listed(same), listed(same), listed(other), listed(other)


def generators(tf, np):
    def numbers(count):
        for n in range(count):
            yield n, [float(n)] * n

    signature = (tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.float32))
    ds = tf.data.Dataset.from_generator(numbers, args=[3], output_signature=signature)
    older = tf.data.Dataset.from_generator(lambda: iter([1, 2]), tf.int64, [])
    return listed(ds), listed(ds), spec(ds), listed(older), spec(older), int(ds.cardinality())


def generator_of_dicts(tf, np):
    def rows():
        yield {"a": 1, "b": "x"}
        yield {"a": 2, "b": "y"}

    signature = {"a": tf.TensorSpec([], tf.int64), "b": tf.TensorSpec([], tf.string)}
    return listed(tf.data.Dataset.from_generator(rows, output_signature=signature))


def generator_errors(tf, np):
    made = tf.data.Dataset.from_generator

    def failing():
        yield 1
        raise KeyError("missing")

    scalar = tf.TensorSpec([], tf.int32)
    after_one = iter(made(failing, output_signature=scalar))
    return [
        int(next(after_one)),
        raised(lambda: made(3)),
        raised(lambda: made(lambda: [1])),
        raised(lambda: made(lambda: [1], output_types=tf.int32, output_signature=scalar)),
        raised(lambda: listed(made(lambda: iter(["a"]), output_signature=scalar))),
        raised(lambda: listed(made(lambda: iter([[1, 2]]), output_signature=scalar))),
        raised(lambda: listed(made(lambda: iter([(1, 2)]), output_signature=(scalar,)))),
    ]


def ragged_slices(tf, np):
    ds = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [], [3]]))
    batches = ds.batch(2)
    return [x.numpy() for x in ds], spec(ds), [x.to_list() for x in batches], spec(batches)


def sparse_slices(tf, np):
    x = tf.SparseTensor([[0, 1], [2, 0]], [5.0, 6.0], [3, 2])
    ds = tf.data.Dataset.from_tensor_slices(x)
    dense = ds.map(tf.sparse.to_dense)
    return listed(dense), [tf.sparse.to_dense(b).numpy() for b in ds.batch(2)], spec(ds)


def from_list(tf, np):
    ds = tf.data.experimental.from_list([(1, "a"), (2, "b")])
    return listed(ds), spec(ds)


def cardinalities(tf, np):
    d = tf.data.Dataset.range(10)
    return [
        int(x.cardinality())
        for x in (
            d,
            d.batch(3),
            d.batch(3, drop_remainder=True),
            d.repeat(),
            d.repeat(3),
            d.take(4),
            d.skip(7),
            d.skip(20),
            d.shard(3, 1),
            d.filter(lambda x: x > 1),
            d.shuffle(3).map(abs),
            d.concatenate(d),
            d.concatenate(d.repeat()),
            tf.data.Dataset.zip(d, d.take(2)),
            tf.data.Dataset.zip(d, d.repeat()),
            d.window(3),
            d.window(3, drop_remainder=True),
            d.window(2, shift=1),
            d.batch(2).unbatch(),
            d.prefetch(1).cache(),
            d.take(-1),
            d.flat_map(lambda x: tf.data.Dataset.range(2)),
            d.repeat(0),
            d.unique(),
        )
    ]


def lengths(tf, np):
    d = tf.data.Dataset.range(3)
    return len(d), raised(lambda: len(d.repeat())), raised(lambda: len(d.filter(lambda x: x > 0)))


def reprs(tf, np):
    d = tf.data.Dataset.range(4)
    found = [
        d,
        d.batch(2),
        d.map(lambda x: x),
        d.shuffle(2),
        d.repeat(2),
        d.take(1),
        d.prefetch(1),
        d.cache(),
        tf.data.Dataset.from_tensors(1),
        d.filter(lambda x: x > 0),
    ]
    return [repr(x) for x in found]


def making_errors(tf, np):
    made = tf.data.Dataset
    return [
        raised(call)
        for call in (
            lambda: made.from_tensor_slices(3),
            lambda: made.from_tensor_slices(([1], [1, 2])),
            lambda: made.range(),
            lambda: made.range(1, 2, 3, 4),
            lambda: made.zip([made.range(1)]),
            lambda: made.zip(),
            lambda: made.zip(3),
            lambda: made.range(1).concatenate(made.from_tensors(1.0)),
        )
    ]


PROGRAMS = [
    slices,
    slices_of_namedtuple,
    lists_are_tensors,
    none_in_elements,
    strings,
    dtypes,
    ranges,
    counters,
    random_numbers,
    generators,
    generator_of_dicts,
    generator_errors,
    ragged_slices,
    sparse_slices,
    from_list,
    cardinalities,
    lengths,
    reprs,
    making_errors,
]
