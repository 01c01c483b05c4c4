"""Random state in functions: generators, and what `tf.random.set_seed` does to traces."""

import tempfile


def every_kind(tf, np):
    g = tf.random.Generator.from_seed(1)

    @tf.function
    def f():
        drawn = g.normal([2]), g.uniform([], 0, 10, tf.int32), g.binomial([2], 5.0, 0.5)
        return (*drawn, g.make_seeds(1), g.key)

    return [[x.numpy() for x in f()] for _ in range(3)] + [g.state.numpy()]


def resets(tf, np):
    g = tf.random.Generator.from_seed(1)

    @tf.function
    def f(x, seed):
        g.reset(x)
        a = g.normal([])
        g.reset_from_seed(4)
        b = g.normal([])
        g.reset_from_key_counter(x[0], x[1:])
        c = g.normal([])
        old = g.skip(2)
        g.skip(x[0])
        now = g.state.read_value()
        g.reset_from_seed(seed)
        return a, b, c, old, now, g.key

    found = f(tf.constant([1, 2, 3], tf.int64), tf.constant([5, 6]))
    return [[x.numpy() for x in found], g.state.numpy()]


def made_in_a_function(tf, np):
    made = []

    @tf.function
    def f():
        if not made:
            made.append(tf.random.Generator.from_seed(1))
        return made[0].normal([2])

    return [f().numpy(), f().numpy(), made[0].state.numpy()]


def in_loops_and_branches(tf, np):
    g = tf.random.Generator.from_seed(1)

    @tf.function
    def f(n):
        total = 0.0
        for i in tf.range(n):
            if i % 2 == 0:
                total += g.normal([])
        return total

    return [f(tf.constant(5)).numpy(), f(tf.constant(2)).numpy(), g.state.numpy()]


def checkpoints(tf, np):
    prefix = f"{tempfile.mkdtemp()}/x"
    g = tf.random.Generator.from_seed(1)
    f = tf.function(lambda: g.normal([3]))
    f()
    path = tf.train.Checkpoint(g=g).save(prefix)
    saved = f().numpy()
    h = tf.random.Generator.from_seed(7)
    tf.train.Checkpoint(g=h).restore(path).assert_consumed()
    return [saved, h.normal([3]).numpy()]


def eager_state(tf, np):
    g = tf.random.Generator.from_seed(1)
    found = [g.skip(3), g.key, g.make_seeds(2), *[x.state for x in g.split(2)]]
    found += [tf.random.create_rng_state(tf.constant([5, 6]), "philox")]
    found += [tf.random.create_rng_state([5, 6, 7, 8], "threefry")]
    return [x.numpy() for x in found] + [g.state.numpy()]


def a_seed_restarts_traces(tf, np):
    @tf.function
    def f():
        return tf.random.normal([]), tf.random.uniform([], seed=3)

    found = []
    for seed in (3, 3, 5):
        tf.random.set_seed(seed)
        found.append([[x.numpy() for x in f()] for _ in range(2)])
    return found


def a_seed_restarts_what_runs_inside(tf, np):
    @tf.function
    def inner(x):
        return x + tf.random.normal([])

    @tf.function
    def f(n):
        total = tf.zeros([])
        for _ in tf.range(n):
            total = inner(total)
        return total

    @tf.function
    def g(n):
        return f(n) + tf.random.uniform([])

    found = []
    for _ in range(2):
        tf.random.set_seed(9)
        found.append([g(tf.constant(3)).numpy() for _ in range(6)])
    return bool(np.allclose(found[0], found[1], rtol=1e-5))


def traces_without_a_seed(tf, np):
    tf.random.set_seed(None)
    f = tf.function(lambda: tf.random.normal([4]))
    first = f().numpy()
    tf.random.set_seed(3)
    return bool(np.any(first == f().numpy()))


PROGRAMS = [
    every_kind,
    resets,
    made_in_a_function,
    in_loops_and_branches,
    checkpoints,
    eager_state,
    a_seed_restarts_traces,
    a_seed_restarts_what_runs_inside,
    traces_without_a_seed,
]
