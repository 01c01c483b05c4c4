"""Order and choice: shuffle in TensorFlow's order for a seed, repeat, take, skip, shard, cache."""

from programs.data import listed
from programs.support import raised


def shuffles(tf, np):
    found = []
    for size in (1, 2, 4, 9, 10, 100):
        ds = tf.data.Dataset.range(10).shuffle(size, seed=5)
        found += [listed(ds), listed(ds)]
    return found


def shuffles_the_same(tf, np):
    ds = tf.data.Dataset.range(10).shuffle(4, seed=5, reshuffle_each_iteration=False)
    return listed(ds), listed(ds), listed(ds.repeat(2))


def shuffles_and_repeats(tf, np):
    d = tf.data.Dataset.range(5)
    first, after = d.shuffle(4, seed=5).repeat(3), d.repeat(3).shuffle(4, seed=5)
    return listed(first), listed(first), listed(after), listed(after)


def shuffles_with_global_seed(tf, np):
    tf.random.set_seed(7)
    found = []
    for _ in range(2):
        ds = tf.data.Dataset.range(6).shuffle(100)
        found += [listed(ds), listed(ds)]
    tf.random.set_seed(7)
    return found, listed(tf.data.Dataset.range(6).shuffle(3, seed=11))


def shuffles_many(tf, np):
    ds = tf.data.Dataset.range(3000).shuffle(1000, seed=1).batch(500)
    return listed(ds)


def shuffles_what_was_computed(tf, np):
    ds = tf.data.Dataset.range(9).map(lambda x: (x, x * x)).shuffle(5, seed=2).batch(4)
    other = tf.data.Dataset.range(9).filter(lambda x: x != 3).shuffle(5, seed=2)
    return listed(ds), listed(other)


def shuffles_twice(tf, np):
    ds = tf.data.Dataset.range(8).shuffle(3, seed=1).shuffle(5, seed=2).take(5)
    return listed(ds), listed(ds)


def shuffles_pairs_of_datasets(tf, np):
    x = tf.data.Dataset.from_tensor_slices(np.arange(5.0))
    y = tf.data.Dataset.range(5)
    return listed(tf.data.Dataset.zip(x, y).shuffle(5, seed=3).batch(2))


def takes_and_skips(tf, np):
    d = tf.data.Dataset.range(10)
    return [
        listed(x)
        for x in (
            d.take(3),
            d.take(-1),
            d.take(0),
            d.take(99),
            d.skip(7),
            d.skip(99),
            d.skip(0),
            d.skip(3).take(2),
            d.take(5).skip(3),
            d.repeat(2).skip(8).take(4),
        )
    ]


def skips_nothing_or_all(tf, np):
    return listed(tf.data.Dataset.range(3).skip(-1))


def shards(tf, np):
    d = tf.data.Dataset.range(11)
    found = [listed(d.shard(3, i)) for i in range(3)]
    return found, listed(d.filter(lambda x: x > 1).shard(2, 1)), raised(lambda: d.shard(2, 2))


def repeats(tf, np):
    d = tf.data.Dataset.range(3)
    return [
        listed(x)
        for x in (
            d.repeat(2),
            d.repeat(0),
            d.repeat().take(7),
            d.repeat(-1).take(4),
            d.batch(2).repeat(2),
            d.repeat(2).batch(4),
            d.take(0).repeat(3),
        )
    ]


def caches(tf, np):
    ds = tf.data.Dataset.range(5).shuffle(5, seed=1).cache()
    first = listed(ds)
    return first == listed(ds), sorted(first), listed(tf.data.Dataset.range(4).cache().take(2))


def caches_count_calls(tf, np):
    calls = []

    def note(x):
        calls.append(int(x))
        return x

    ds = tf.data.Dataset.range(3).map(lambda x: tf.py_function(note, [x], tf.int64)).cache()
    return listed(ds), listed(ds), calls


def prefetches(tf, np):
    ds = tf.data.Dataset.range(20).map(lambda x: x * 2).prefetch(3)
    return (
        listed(ds),
        listed(ds.prefetch(tf.data.AUTOTUNE).take(5)),
        listed(ds.prefetch(0).skip(18)),
    )


def unique(tf, np):
    ds = tf.data.Dataset.from_tensor_slices(["a", "b", "a", "c", "b"]).unique()
    return listed(ds), listed(tf.data.Dataset.from_tensor_slices([1, 2, 1, 3]).unique())


def enumerates(tf, np):
    d = tf.data.Dataset.from_tensor_slices(["a", "b"])
    return listed(d.enumerate()), listed(d.enumerate(start=5)), listed(d.repeat(2).enumerate())


def order_errors(tf, np):
    d = tf.data.Dataset.range(3)
    return [
        raised(call)
        for call in (
            lambda: d.shuffle(0),
            lambda: d.take("a"),
            lambda: d.prefetch(-5),
            lambda: d.batch(0),
            lambda: d.window(0),
            lambda: d.window(2, shift=0),
            lambda: d.apply(lambda x: 3),
            lambda: d.interleave(lambda x: d, cycle_length=0),
        )
    ]


PROGRAMS = [
    shuffles,
    shuffles_the_same,
    shuffles_and_repeats,
    shuffles_with_global_seed,
    shuffles_many,
    shuffles_what_was_computed,
    shuffles_twice,
    shuffles_pairs_of_datasets,
    takes_and_skips,
    skips_nothing_or_all,
    shards,
    repeats,
    caches,
    caches_count_calls,
    prefetches,
    unique,
    enumerates,
    order_errors,
]
