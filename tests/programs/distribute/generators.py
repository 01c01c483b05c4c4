"""tf.random.Generator in replicas, and the hidden streams of replicas."""

import tempfile

from programs.distribute import nest_of_parts, parts, two_replicas


def one_made_in_a_scope(tf, np):
    strategy = two_replicas(tf)
    with strategy.scope():
        g = tf.random.Generator.from_seed(1)
    found = [parts(tf, strategy.run(lambda: g.normal([]))) for _ in range(2)]
    found += [parts(tf, strategy.run(lambda: g.uniform([3], 0, 100, tf.int32)))]
    return [found, parts(tf, g.state), g.state.trainable]


def one_made_in_a_scope_draws_outside_of_replicas(tf, np):
    strategy = two_replicas(tf)
    with strategy.scope():
        g = tf.random.Generator.from_seed(1)
        inside = [g.normal([]), g.normal([]), g.key, g.skip(2), g.make_seeds(1)]
    outside = g.normal([])
    then = parts(tf, strategy.run(lambda: g.normal([])))
    return [[x.numpy() for x in inside], outside.numpy(), then]


def resets(tf, np):
    strategy = two_replicas(tf)
    with strategy.scope():
        g = tf.random.Generator.from_seed(1)
        strategy.run(lambda: g.normal([]))
        g.reset_from_seed(1)
        drawn = parts(tf, strategy.run(lambda: g.normal([])))
        g.reset([1, 2, 3])
        states = [parts(tf, g.state)]
        g.reset_from_key_counter(1, [2, 3])
        states.append(parts(tf, g.state))
    return [drawn, states]


def resets_in_replicas(tf, np):
    strategy = two_replicas(tf)
    with strategy.scope():
        g = tf.random.Generator.from_seed(1)

    def replica():
        g.reset_from_seed(3)
        return g.normal([])

    return parts(tf, strategy.run(replica))


def skips_seeds_and_splits_in_replicas(tf, np):
    strategy = two_replicas(tf)
    with strategy.scope():
        g = tf.random.Generator.from_seed(1)

    def replica():
        return [g.skip(2), g.make_seeds(1), g.key] + [x.normal([]) for x in g.split(2)]

    return nest_of_parts(tf, strategy.run(replica))


def in_functions(tf, np):
    strategy = two_replicas(tf)
    with strategy.scope():
        g = tf.random.Generator.from_seed(1)
        h = tf.random.Generator.from_seed(1)

    @tf.function
    def around():
        return strategy.run(lambda: (g.normal([]), g.uniform([])))

    @tf.function
    def inside():
        return h.normal([])

    found = [nest_of_parts(tf, around()) for _ in range(2)]
    return [found, [parts(tf, strategy.run(inside)) for _ in range(2)]]


def one_made_outside(tf, np):
    strategy = two_replicas(tf)
    g = tf.random.Generator.from_seed(1)

    @tf.function
    def around():
        return strategy.run(lambda: g.normal([]))

    eager = [parts(tf, strategy.run(lambda: g.normal([]))) for _ in range(2)]
    return [eager, parts(tf, around()), g.state.numpy()]


def one_made_in_replicas(tf, np):
    strategy = two_replicas(tf)

    def replica():
        g = tf.random.Generator.from_seed(1)
        return g.normal([]), g.normal([])

    with strategy.scope():
        return nest_of_parts(tf, strategy.run(replica))


def one_of_a_single_replica(tf, np):
    found = []
    for strategy in (
        tf.distribute.MirroredStrategy(["CPU:0"]),
        tf.distribute.OneDeviceStrategy("CPU:0"),
    ):
        with strategy.scope():
            g = tf.random.Generator.from_seed(1)
        found.append([strategy.run(lambda: g.normal([])).numpy(), g.state.numpy()])
    return found


def checkpoints(tf, np):
    strategy = two_replicas(tf)
    prefix = f"{tempfile.mkdtemp()}/x"
    with strategy.scope():
        g = tf.random.Generator.from_seed(1)
        strategy.run(lambda: g.normal([3]))
        path = tf.train.Checkpoint(g=g).save(prefix)
        saved = parts(tf, strategy.run(lambda: g.normal([])))
        h = tf.random.Generator.from_seed(7)
        tf.train.Checkpoint(g=h).restore(path).assert_consumed()
        restored = parts(tf, strategy.run(lambda: h.normal([])))
    alone = tf.random.Generator.from_seed(7)
    tf.train.Checkpoint(g=alone).restore(path).assert_consumed()
    return [saved, restored, alone.normal([]).numpy()]


def hidden_streams(tf, np):
    strategy = two_replicas(tf)
    tf.random.set_seed(3)
    seeded = [parts(tf, strategy.run(lambda: tf.random.normal([], seed=2))) for _ in range(2)]
    return [seeded, tf.random.normal([], seed=2).numpy()]


PROGRAMS = [
    one_made_in_a_scope,
    one_made_in_a_scope_draws_outside_of_replicas,
    resets,
    resets_in_replicas,
    skips_seeds_and_splits_in_replicas,
    in_functions,
    one_made_outside,
    one_made_in_replicas,
    one_of_a_single_replica,
    checkpoints,
    hidden_streams,
]
