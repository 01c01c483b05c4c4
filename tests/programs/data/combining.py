"""Several datasets: zip, concatenate, flat_map, interleave, sampling."""

from programs.data import listed, spec
from programs.support import raised


def zips(tf, np):
    a, b = tf.data.Dataset.range(3), tf.data.Dataset.range(5, 9).batch(2)
    made = tf.data.Dataset.zip
    return [
        [listed(x), spec(x)]
        for x in (
            made(a, b),
            made((a, (b, a))),
            made({"x": a, "y": b}),
            made(datasets=(a, a)),
            made(a),
            made(a.shuffle(3, seed=1), a),
            made(a.repeat(), b),
        )
    ]


def concatenates(tf, np):
    a = tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]])
    b = tf.data.Dataset.from_tensors([5, 6, 7])
    ds = a.concatenate(b)
    return listed(ds), spec(ds), listed(a.take(1).concatenate(a).repeat(2))


def flat_maps(tf, np):
    d = tf.data.Dataset.range(1, 4)
    made = tf.data.Dataset
    return [
        listed(x)
        for x in (
            d.flat_map(lambda x: made.range(x)),
            d.flat_map(lambda x: made.from_tensors(x).repeat(x)),
            d.flat_map(lambda x: made.from_tensor_slices([x, x * x])),
            d.flat_map(lambda x: made.zip(made.range(x), made.from_tensors(x).repeat())),
            d.batch(2).flat_map(made.from_tensor_slices),
            d.flat_map(lambda x: made.range(4).filter(lambda y: y > x).map(lambda y: (x, y))),
            d.flat_map(lambda x: made.range(x).flat_map(lambda y: made.range(y))),
            d.flat_map(lambda x: made.range(3).batch(x, drop_remainder=True)),
        )
    ]


def interleaves(tf, np):
    d = tf.data.Dataset.range(1, 6)
    made = tf.data.Dataset
    found = []
    for cycle, block in ((1, 1), (2, 4), (3, 1), (5, 2), (9, 3)):
        ds = d.interleave(lambda x: made.from_tensors(x).repeat(6), cycle, block)
        found.append(listed(ds))
    uneven = d.interleave(lambda x: made.from_tensors(x).repeat(x), cycle_length=3)
    parallel = d.interleave(lambda x: made.range(x), cycle_length=2, num_parallel_calls=2)
    return found, listed(uneven), listed(parallel)


def chooses(tf, np):
    a, b = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 12)
    choice = tf.data.Dataset.from_tensor_slices(np.array([0, 1, 0, 1, 1, 0], np.int64))
    made = tf.data.Dataset.choose_from_datasets
    return listed(made([a, b], choice)), listed(made([a, b], choice, stop_on_empty_dataset=False))


def samples(tf, np):
    tf.random.set_seed(1)
    a, b = tf.data.Dataset.range(6), tf.data.Dataset.range(10, 15)
    made = tf.data.Dataset.sample_from_datasets
    weights = tf.data.Dataset.from_tensors([0.3, 0.7]).repeat()
    return [
        listed(x)
        for x in (
            made([a, b], [0.5, 0.5], seed=3),
            made([a, b], seed=3),
            made([a, b], [1.0, 0.0], seed=3),
            made([a, b.repeat()], [0.2, 0.8], seed=5, stop_on_empty_dataset=True),
            made([a, b], weights, seed=2),
        )
    ]


def single_elements(tf, np):
    d = tf.data.Dataset.range(3)
    return [
        int(d.take(1).get_single_element()),
        raised(d.get_single_element),
        raised(d.take(0).get_single_element),
        int(tf.data.experimental.at(d, 2)),
        raised(lambda: tf.data.experimental.at(d, 5)),
    ]


def asserts_cardinality(tf, np):
    d = tf.data.Dataset.range(5).filter(lambda x: True)
    right = d.apply(tf.data.experimental.assert_cardinality(5))
    wrong = d.apply(tf.data.experimental.assert_cardinality(6))
    return listed(right), int(right.cardinality()), raised(lambda: listed(wrong))


def applies(tf, np):
    d = tf.data.Dataset.range(8)
    e = tf.data.experimental
    return [
        listed(d.apply(f))
        for f in (
            e.enumerate_dataset(3),
            e.take_while(lambda x: x < 3),
            e.unique(),
            e.scan(np.int64(0), lambda s, x: (s + x, s)),
            e.map_and_batch(lambda x: x + 1, 3),
            e.parallel_interleave(lambda x: tf.data.Dataset.range(2), 2),
            e.dense_to_ragged_batch(3),
            lambda x: x.batch(2).apply(e.unbatch()),
        )
    ]


def options(tf, np):
    first, second = tf.data.Options(), tf.data.Options()
    first.deterministic = False
    first.threading.private_threadpool_size = 3
    second.experimental_optimization.map_fusion = True
    ds = tf.data.Dataset.range(3).with_options(first).map(lambda x: x).with_options(second).batch(2)
    found = ds.options()
    return [
        found.deterministic,
        found.threading.private_threadpool_size,
        found.experimental_optimization.map_fusion,
        found.autotune.enabled,
        found.experimental_distribute.auto_shard_policy.name
        if found.experimental_distribute.auto_shard_policy is not None
        else None,
        raised(lambda: setattr(first, "deterministic", 1)),
        raised(lambda: setattr(first, "nonsense", 1)),
    ]


PROGRAMS = [
    zips,
    concatenates,
    flat_maps,
    interleaves,
    chooses,
    samples,
    single_elements,
    asserts_cardinality,
    applies,
    options,
]
