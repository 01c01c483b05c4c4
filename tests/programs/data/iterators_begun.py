"""What is drawn when an iterator is made, though it is never read: orders after each of several."""

from programs.data import listed


def seeds(name):
    """Global seed and seed of the operation."""
    return {"operation": (None, 1), "global": (7, None), "both": (7, 1)}[name]


PIPELINES = {
    "shuffle": lambda ds, shuffle: shuffle(ds),
    "shuffle_batch": lambda ds, shuffle: shuffle(ds).batch(3),
    "shuffle_repeat": lambda ds, shuffle: shuffle(ds).repeat(2),
    "shuffle_repeat_once": lambda ds, shuffle: shuffle(ds).repeat(1),
    "shuffle_repeat_for_ever": lambda ds, shuffle: shuffle(ds).repeat().take(20),
    "shuffle_take_repeat": lambda ds, shuffle: shuffle(ds).take(3).repeat(3),
    "repeat_shuffle": lambda ds, shuffle: shuffle(ds.repeat(2)),
    "shuffle_take_repeat_once": lambda ds, shuffle: shuffle(ds).take(3).repeat(1),
    "shuffle_map_repeat": lambda ds, shuffle: shuffle(ds).map(lambda x: x + 1).repeat(2),
    "shuffle_filter_repeat": lambda ds, shuffle: (
        shuffle(ds.filter(lambda x: x > 2)).batch(2).repeat(2)
    ),
    "shuffle_batch_repeat_for_ever": lambda ds, shuffle: shuffle(ds).batch(3).repeat().take(7),
    "repeat_for_a_function": lambda ds, shuffle: shuffle(ds).take(2).repeat(2).repeat(2),
    "shuffle_take": lambda ds, shuffle: shuffle(ds).take(3),
    "shuffle_take_nothing": lambda ds, shuffle: shuffle(ds).take(0).concatenate(shuffle(ds)),
    "shuffle_skip": lambda ds, shuffle: shuffle(ds).skip(3),
    "shuffle_skip_all": lambda ds, shuffle: shuffle(ds).skip(-1),
    "shuffle_shard": lambda ds, shuffle: shuffle(ds).shard(2, 1),
    "shuffle_prefetch": lambda ds, shuffle: shuffle(ds).prefetch(1),
    "shuffle_map": lambda ds, shuffle: shuffle(ds).map(lambda x: x + 1),
    "shuffle_map_in_parallel": lambda ds, shuffle: shuffle(ds).map(
        lambda x: x + 1, num_parallel_calls=2
    ),
    "shuffle_filter": lambda ds, shuffle: shuffle(ds).filter(lambda x: x > 2),
    "filter_shuffle": lambda ds, shuffle: shuffle(ds.filter(lambda x: x > 2)),
    "shuffle_take_while": lambda ds, shuffle: shuffle(ds).take_while(lambda x: x < 9),
    "shuffle_enumerate": lambda ds, shuffle: shuffle(ds).enumerate(),
    "shuffle_scan": lambda ds, shuffle: shuffle(ds).scan(0, lambda s, x: (s + 1, x)),
    "shuffle_unique": lambda ds, shuffle: shuffle(ds).unique(),
    "shuffle_twice": lambda ds, shuffle: shuffle(shuffle(ds)),
    "shuffle_concatenate": lambda ds, shuffle: ds.take(2).concatenate(shuffle(ds)),
    "shuffle_concatenated": lambda ds, shuffle: shuffle(ds).concatenate(ds.take(2)),
    "shuffle_cache": lambda ds, shuffle: shuffle(ds).cache(),
    "cache_shuffle": lambda ds, shuffle: shuffle(ds.cache()),
    "shuffle_window": lambda ds, shuffle: shuffle(ds).window(3).flat_map(lambda w: w.batch(3)),
    "shuffle_unbatch": lambda ds, shuffle: shuffle(ds.batch(2)).unbatch(),
    "shuffle_padded_batch": lambda ds, shuffle: shuffle(ds).padded_batch(3),
    "shuffle_group": lambda ds, shuffle: shuffle(ds).group_by_window(
        lambda x: x % 2, lambda key, w: w.batch(2), window_size=2
    ),
    "shuffle_ignore": lambda ds, shuffle: shuffle(ds).ignore_errors(),
    "shuffle_rebatch": lambda ds, shuffle: shuffle(ds).batch(4).rebatch(3),
}


def after_others(pipeline, seed_kind, reshuffle):
    """The orders of a dataset: read, begun, begun twice, begun and read in another order."""

    def program(tf, np):
        globally, own = seeds(seed_kind)
        tf.random.set_seed(globally)
        ds = tf.data.Dataset.range(8)
        made = PIPELINES[pipeline](
            ds, lambda d: d.shuffle(4, seed=own, reshuffle_each_iteration=reshuffle)
        )
        found = [listed(made)]
        iter(made)
        found.append(listed(made))
        iter(made), iter(made)
        found.append(listed(made))
        begun = [iter(made), iter(made)]
        found += [listed(made), list(begun[1]), list(begun[0]), listed(made)]
        return [[np.asarray(x).tolist() for x in row] for row in found]

    program.__name__ = f"{pipeline}_{seed_kind}_{'anew' if reshuffle else 'the_same'}"
    return program


def in_two_datasets(tf, np):
    ds = tf.data.Dataset.range(8).shuffle(4, seed=1)
    pairs = tf.data.Dataset.zip(ds, ds)
    iter(pairs)
    found = [listed(pairs)]
    iter(ds)
    return found, listed(pairs), listed(ds)


def inside_functions(tf, np):
    ds = tf.data.Dataset.range(3).flat_map(lambda i: tf.data.Dataset.range(5).shuffle(5, seed=1))
    iter(ds)
    first = listed(ds)
    woven = tf.data.Dataset.range(2).interleave(
        lambda i: tf.data.Dataset.range(5).shuffle(5, seed=1), cycle_length=2
    )
    iter(woven)
    return first, listed(ds), listed(woven), listed(woven)


def inside_traced_functions(tf, np):
    @tf.function
    def made():
        ds = tf.data.Dataset.range(6).shuffle(6, seed=1)
        digits = tf.constant(0, tf.int64)
        for x in ds.repeat(2):
            digits = 10 * digits + x
        return digits

    outer = tf.data.Dataset.range(6).shuffle(6, seed=1)

    @tf.function
    def captured():
        return outer.reduce(tf.constant(0, tf.int64), lambda s, x: 10 * s + x)

    @tf.function
    def remembered():
        ds = tf.data.Dataset.range(2).map(lambda x: tf.cast(x, tf.float32)).cache()
        first = ds.reduce(0.0, lambda s, x: s + x)
        return first + ds.reduce(0.0, lambda s, x: s + x)

    return [int(f()) for f in (made, made, captured, captured, remembered, remembered)]


def sampled(tf, np):
    a, b = tf.data.Dataset.range(9), tf.data.Dataset.range(10, 19)
    found = []
    for again in (True, False):
        ds = tf.data.Dataset.sample_from_datasets(
            [a, b], [0.5, 0.5], seed=1, rerandomize_each_iteration=again
        )
        found.append(listed(ds))
        iter(ds)
        found += [listed(ds), listed(ds)]
    return found


def random_numbers(tf, np):
    found = []
    for again in (True, False, None):
        ds = tf.data.Dataset.random(seed=4, rerandomize_each_iteration=again).take(3)
        found.append(listed(ds))
        iter(ds)
        found += [listed(ds), listed(ds)]
    return found


def resampled(tf, np):
    ds = (
        tf.data.Dataset.range(20)
        .map(lambda x: x % 2)
        .rejection_resample(
            lambda x: tf.cast(x, tf.int32), target_dist=[0.8, 0.2], initial_dist=[0.5, 0.5], seed=1
        )
    )
    first = listed(ds)
    iter(ds)
    return first, listed(ds)


def mapped_draws(tf, np):
    tf.random.set_seed(3)
    ds = tf.data.Dataset.range(3).map(lambda x: tf.random.uniform([], seed=1))
    first = listed(ds)
    iter(ds)
    return first, listed(ds)


def generators_called(tf, np):
    calls = []

    def generate():
        calls.append("called")
        yield 1

    ds = tf.data.Dataset.from_generator(generate, output_signature=tf.TensorSpec([], tf.int32))
    one = iter(ds.map(lambda x: x + 1).batch(2))
    begun = len(calls)
    next(one)
    return begun, len(calls)


PROGRAMS = [
    *[after_others(name, "operation", True) for name in PIPELINES],
    *[
        after_others(name, kind, again)
        for name in (
            "shuffle",
            "shuffle_repeat",
            "shuffle_twice",
            "shuffle_take_repeat",
            "shuffle_prefetch",
            "repeat_shuffle",
        )
        for kind in ("operation", "global", "both")
        for again in (True, False)
        if (kind, again) != ("operation", True)
    ],
    in_two_datasets,
    inside_functions,
    inside_traced_functions,
    sampled,
    random_numbers,
    resampled,
    mapped_draws,
    generators_called,
]
TOLERANCE = {"mapped_draws": {"rtol": 1e-6}}
