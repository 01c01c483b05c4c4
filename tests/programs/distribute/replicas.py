"""strategy.run, reductions, gathering and merges, in eager execution and in functions."""

from programs.distribute import nest_of_parts, number, parts, two_replicas
from programs.support import raised


def what_replicas_know(tf, np):
    strategy = two_replicas(tf)

    def replica():
        context = tf.distribute.get_replica_context()
        return {
            "number": number(tf),
            "count": context.num_replicas_in_sync,
            "cross": tf.distribute.in_cross_replica_context(),
            "own": tf.distribute.get_strategy() is strategy,
        }

    with strategy.scope():
        cross = [
            tf.distribute.in_cross_replica_context(),
            tf.distribute.get_replica_context() is None,
            tf.distribute.has_strategy(),
        ]
    outside = [tf.distribute.in_cross_replica_context(), tf.distribute.has_strategy()]
    found = strategy.run(replica)
    return [cross, outside, {key: parts(tf, value) for key, value in found.items()}]


def results_are_nests(tf, np):
    strategy = two_replicas(tf)
    found = strategy.run(lambda: (number(tf), [number(tf) * 2.0, "text"], None, {"a": 7}))
    return [type(found).__name__, nest_of_parts(tf, found)]


def in_a_function(tf, np):
    strategy = two_replicas(tf)

    @tf.function
    def step(x):
        return strategy.run(lambda y: y * (number(tf) + 1.0), (x,))

    return parts(tf, step(tf.constant([1.0, 2.0])))


def a_function_in_all_replicas(tf, np):
    strategy, traces = two_replicas(tf), []

    @tf.function
    def replica(x):
        traces.append(0)
        if x > 5.0:
            return x * 10.0
        return tf.distribute.get_replica_context().all_reduce("SUM", x + number(tf))

    found = [
        raised(lambda: strategy.run(replica, (tf.constant(2.0),))),
        raised(lambda: strategy.run(replica, (tf.constant(7.0),))),
    ]

    @tf.function
    def flat(x):
        traces.append(0)
        return tf.distribute.get_replica_context().all_reduce("SUM", x + number(tf))

    both = [parts(tf, strategy.run(flat, (tf.constant(v),))) for v in (2.0, 7.0)]
    return [found, both]


def values_from_function(tf, np):
    strategy = two_replicas(tf)
    make = strategy.experimental_distribute_values_from_function
    values = make(lambda c: tf.constant([1.0, 2.0]) * (c.replica_id_in_sync_group + 1))
    counts = make(lambda c: c.num_replicas_in_sync)
    nest = make(lambda c: (tf.constant(1), c.replica_id_in_sync_group))
    ran = strategy.run(lambda v, n: v * tf.cast(n, tf.float32), (values,), {"n": counts})
    local = [v.numpy() for v in strategy.experimental_local_results(values)]
    return [parts(tf, values), parts(tf, counts), nest_of_parts(tf, nest), parts(tf, ran), local]


def reductions(tf, np):
    strategy = two_replicas(tf)
    values = strategy.run(lambda: tf.reshape(tf.range(4.0), [2, 2]) * (number(tf) + 1.0))
    scalars = strategy.run(lambda: number(tf) + 2.0)
    nest = strategy.run(lambda: {"a": number(tf), "b": [tf.constant(3)]})
    return [
        strategy.reduce("SUM", values, axis=None).numpy(),
        strategy.reduce(tf.distribute.ReduceOp.MEAN, values, axis=None).numpy(),
        strategy.reduce("SUM", values, axis=0).numpy(),
        strategy.reduce("MEAN", values, axis=1).numpy(),
        strategy.reduce("sum", scalars, axis=None).numpy(),
        [x.numpy() for x in tf.nest.flatten(strategy.reduce("SUM", nest, axis=None))],
        strategy.reduce("MEAN", strategy.run(lambda: tf.cast(number(tf), tf.int32)), None).numpy(),
        strategy.reduce("MEAN", tf.constant(5.0), axis=None).numpy(),
    ]


def a_mean_along_an_axis_counts_rows(tf, np):
    strategy = two_replicas(tf)
    values = strategy.experimental_distribute_values_from_function(
        lambda c: tf.range(float(1 + 2 * c.replica_id_in_sync_group)) + 1.0
    )
    return [
        strategy.reduce("SUM", values, axis=0).numpy(),
        strategy.reduce("MEAN", values, axis=0).numpy(),
        strategy.gather(values, axis=0).numpy(),
    ]


def gathering(tf, np):
    strategy = two_replicas(tf)
    values = strategy.run(lambda: tf.ones([2, 2]) * number(tf))
    context = tf.distribute.get_replica_context
    inside = strategy.run(lambda v: context().all_gather(v, axis=1), (values,))
    return [
        strategy.gather(values, axis=0).numpy(),
        strategy.gather(values, axis=1).numpy(),
        parts(tf, inside),
        strategy.gather(tf.constant([1.0]), axis=0).numpy(),
    ]


def all_reduce_of_nests(tf, np):
    strategy = two_replicas(tf)

    def replica():
        context, x = tf.distribute.get_replica_context(), number(tf) + 1.0
        total = context.all_reduce("SUM", [x, {"a": [x * 2.0, x]}])
        mean = context.all_reduce(tf.distribute.ReduceOp.MEAN, x)
        return total, mean

    eager = nest_of_parts(tf, strategy.run(replica))
    traced = nest_of_parts(tf, tf.function(lambda: strategy.run(replica))())
    return [eager, traced]


def all_reduce_of_slices(tf, np):
    strategy = two_replicas(tf)

    def replica():
        rows = tf.IndexedSlices(
            tf.ones([1, 2]) * (number(tf) + 1.0),
            tf.cast([number(tf)], tf.int32),
            tf.constant([3, 2]),
        )
        found = tf.distribute.get_replica_context().all_reduce("MEAN", rows)
        return tf.convert_to_tensor(found)

    return parts(tf, strategy.run(replica))


def a_tensor_that_all_replicas_share_counts_once(tf, np):
    strategy, shared = two_replicas(tf), tf.constant(3.0)
    context = tf.distribute.get_replica_context
    found = strategy.run(lambda: context().all_reduce("SUM", shared))
    own = strategy.run(lambda: context().all_reduce("SUM", tf.constant(3.0)))
    return [parts(tf, found)[-1], parts(tf, own)]


def merges(tf, np):
    strategy, seen = two_replicas(tf), []

    def merge(given, x, factor=1.0):
        seen.append([given is strategy, tf.distribute.in_cross_replica_context()])
        return given.reduce("SUM", x, axis=None) * factor, x

    def replica():
        context = tf.distribute.get_replica_context()
        total, own = context.merge_call(merge, (number(tf) + 1.0,), {"factor": 10.0})
        return total + own

    return [parts(tf, strategy.run(replica)), seen]


def replicas_take_turns(tf, np):
    strategy, order = two_replicas(tf), []

    def replica():
        context = tf.distribute.get_replica_context()
        me = int(context.replica_id_in_sync_group)
        order.append(f"before {me}")
        context.merge_call(lambda strategy: order.append("merge"))
        order.append(f"after {me}")

    strategy.run(replica)
    return order


def scopes_of_different_strategies(tf, np):
    strategy = two_replicas(tf)
    other = tf.distribute.OneDeviceStrategy("CPU:0")

    def nested():
        with strategy.scope(), other.scope():
            pass

    def twice():
        with strategy.scope(), strategy.scope():
            return tf.distribute.get_strategy() is strategy

    return [raised(nested), twice()]


def errors(tf, np):
    strategy = two_replicas(tf)
    context = tf.distribute.get_replica_context
    values = strategy.run(lambda: number(tf))

    def uneven():
        if float(number(tf)) > 0:
            context().merge_call(lambda strategy: None)

    def in_control_flow(x):
        return tf.cond(x > 0.0, lambda: context().all_reduce("SUM", x), lambda: x)

    return [
        raised(lambda: strategy.run(lambda: 1 / 0)),
        raised(lambda: strategy.run(lambda x: x)),
        raised(lambda: strategy.run(3)),
        raised(lambda: strategy.run(uneven)),
        raised(lambda: strategy.run(lambda: strategy.run(lambda: 1))),
        raised(lambda: strategy.run(lambda: strategy.scope().__enter__())),
        raised(lambda: strategy.run(lambda: context().all_reduce("no", number(tf)))),
        raised(lambda: strategy.reduce("SUM", tf.constant(1.0), axis=None)),
        raised(lambda: strategy.reduce("no", values, axis=None)),
        raised(lambda: strategy.reduce("SUM", values)),
        raised(lambda: strategy.gather(values, axis=0)) is not None,
        raised(lambda: tf.reduce_sum(values)),
        raised(lambda: values + 1.0),
        raised(lambda: float(values)),
        raised(lambda: tf.function(lambda x: strategy.run(in_control_flow, (x,)))(values)),
    ]


def per_replica_values(tf, np):
    strategy = two_replicas(tf)
    values = strategy.run(lambda: number(tf))
    kinds = tf.types.experimental.distributed
    doubled = tf.function(lambda v: strategy.run(lambda x: x * 2.0, (v,)))(values)
    used_inside = strategy.run(lambda: tf.reduce_sum(values) + 1.0)
    return [
        isinstance(values, tf.distribute.DistributedValues),
        isinstance(values, kinds.PerReplica),
        isinstance(values, kinds.Mirrored),
        str(values),
        len(tf.nest.flatten(values)),
        len(tf.nest.flatten(values, expand_composites=True)),
        parts(tf, doubled),
        parts(tf, used_inside),
    ]


def a_function_that_replicas_call(tf, np):
    strategy = two_replicas(tf)
    with strategy.scope():
        v = tf.Variable(1.0)

    @tf.function
    def add(x):
        v.assign_add(x)
        return v.read_value()

    found = [parts(tf, strategy.run(lambda: add(number(tf) + 1.0))) for _ in range(2)]
    return [found, parts(tf, v), add(tf.constant(100.0)).numpy(), parts(tf, v)]


PROGRAMS = [
    what_replicas_know,
    results_are_nests,
    in_a_function,
    a_function_in_all_replicas,
    values_from_function,
    reductions,
    a_mean_along_an_axis_counts_rows,
    gathering,
    all_reduce_of_nests,
    all_reduce_of_slices,
    a_tensor_that_all_replicas_share_counts_once,
    merges,
    replicas_take_turns,
    scopes_of_different_strategies,
    errors,
    per_replica_values,
    a_function_that_replicas_call,
]
