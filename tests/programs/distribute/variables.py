"""Variables of several replicas: which part is read and written, and how writes are combined."""

import copy
import tempfile
from pathlib import Path

from programs.distribute import number, parts, two_replicas
from programs.support import raised


def make(tf, strategy, **options):
    """A variable of the strategy, 1.0."""
    with strategy.scope():
        return tf.Variable(1.0, name="v", **options)


def outcome(tf, function):
    """The values of what a function gives, or the class of its error."""
    try:
        return parts(tf, function())
    except Exception as error:  # the class is what is asked about
        return type(error).__name__


def kind(tf, np):
    v = make(tf, two_replicas(tf))
    return [
        type(v).__name__,
        isinstance(v, tf.Variable),
        isinstance(v, tf.distribute.DistributedValues),
        tf.is_tensor(v),
        v.name,
        [part.name for part in v.values],
        [part.device for part in v.values],
        v.device,
        str(v.dtype),
        v.shape.as_list(),
        v.trainable,
        v.aggregation.name,
        v.synchronization.name,
        str(v),
    ]


def reading(tf, np):
    strategy = two_replicas(tf)
    v = make(tf, strategy)
    with strategy.scope():
        m = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    return [
        v.numpy(),
        (v + 1.0).numpy(),
        v.read_value().numpy(),
        v.value().numpy(),
        tf.convert_to_tensor(v).numpy(),
        (m @ m).numpy(),
        m[0].numpy(),
        tf.gather(m, [1]).numpy(),
        np.array(m),
        len(strategy.experimental_local_results(v)),
        parts(tf, strategy.run(lambda: v.value())),
        parts(tf, strategy.run(lambda: v + number(tf))),
        strategy.run(lambda: v) is v,
        bool(v == 1.0),
        strategy.reduce("MEAN", v, axis=None).numpy(),
    ]


def writes(tf, aggregation, synchronization):
    """A variable of a kind, written and read in replicas and outside of them."""
    strategy = two_replicas(tf)
    options = {
        "aggregation": getattr(tf.VariableAggregation, aggregation),
        "synchronization": getattr(tf.VariableSynchronization, synchronization),
    }
    v = make(tf, strategy, **options)
    function = tf.function(lambda: v.assign_sub(number(tf) + 1.0))
    found = [[type(v).__name__, v.trainable, v.synchronization.name]]
    for change in (
        lambda: strategy.run(lambda: v.assign(number(tf) + 2.0)),
        lambda: strategy.run(lambda: v.assign_add(number(tf) * 0.0 + 1.0)),
        lambda: strategy.run(lambda: v.assign_add(1.0)),
        lambda: v.assign(8.0),
        lambda: v.assign_add(1.0),
        lambda: strategy.run(function),
        lambda: tf.function(lambda: strategy.run(lambda: v.assign_sub(number(tf) + 1.0)))(),
        lambda: strategy.extended.update(v, lambda u, x: u.assign_add(x), args=(1.0,)),
    ):
        failed = raised(change)
        values = [part.numpy() for part in v.values]
        found.append([failed, values, outcome(tf, v.read_value)])
    return found


def without_aggregation(tf, np):
    return writes(tf, "NONE", "AUTO")


def with_sums(tf, np):
    return writes(tf, "SUM", "ON_WRITE")


def with_means(tf, np):
    return writes(tf, "MEAN", "AUTO")


def with_the_first_replica(tf, np):
    return writes(tf, "ONLY_FIRST_REPLICA", "AUTO")


def on_read_without_aggregation(tf, np):
    return writes(tf, "NONE", "ON_READ")


def on_read_with_sums(tf, np):
    return writes(tf, "SUM", "ON_READ")


def on_read_with_means(tf, np):
    return writes(tf, "MEAN", "ON_READ")


def on_read_with_the_first_replica(tf, np):
    return writes(tf, "ONLY_FIRST_REPLICA", "ON_READ")


def no_synchronization(tf, np):
    strategy = two_replicas(tf)
    none = tf.VariableSynchronization.NONE
    return raised(lambda: make(tf, strategy, synchronization=none))


def values_of_each_replica_are_assigned(tf, np):
    strategy = two_replicas(tf)
    v = make(tf, strategy)
    values = strategy.run(lambda: number(tf) + 5.0)
    v.assign(values)
    return parts(tf, v)


def updating(tf, np):
    strategy = two_replicas(tf)
    v, other = make(tf, strategy), make(tf, strategy)
    other.assign(strategy.run(lambda: number(tf) + 3.0))
    x = strategy.run(lambda: number(tf))

    def change(part, x):
        cross = tf.distribute.in_cross_replica_context()
        part.assign(x + other * 10.0)
        return cross

    found = strategy.extended.update(v, change, args=(x,), group=False)
    plain = tf.Variable(1.0)
    return [
        found,
        parts(tf, v),
        raised(lambda: strategy.extended.update(plain, change, args=(x,))) is not None,
        strategy.extended.variable_created_in_scope(plain),
        strategy.extended.variable_created_in_scope(v),
        strategy.extended.value_container(v.values[1]) is v,
    ]


def rows(tf, np):
    strategy = two_replicas(tf)
    with strategy.scope():
        m = tf.Variable(tf.zeros([3, 2]))

    def slices(value):
        return tf.IndexedSlices(tf.ones([1, 2]) * value, tf.constant([1]))

    m.scatter_add(slices(1.0))
    first = parts(tf, m)
    strategy.run(lambda: m.scatter_update(slices(number(tf) + 2.0)))
    return [first, parts(tf, m)]


def made_in_replicas(tf, np):
    strategy, made = two_replicas(tf), []

    def replica():
        made.append(tf.Variable(number(tf) + 4.0, name="inside"))
        return made[-1] + 0.0

    found = strategy.run(replica)
    return [
        parts(tf, found),
        [type(v).__name__ for v in made],
        made[0] is made[1],
        [part.name for part in made[0].values],
    ]


def made_on_the_first_call_of_a_function(tf, np):
    strategy, made = two_replicas(tf), []

    @tf.function
    def step():
        def replica():
            if not made:
                made.append(tf.Variable(3.0))
            return made[0].assign_add(1.0 + number(tf))

        return strategy.run(replica)

    step()
    step()
    return parts(tf, made[0])


def copies(tf, np):
    strategy = two_replicas(tf)
    v = make(tf, strategy)
    other = copy.deepcopy(v)
    other.assign(5.0)
    return [type(other).__name__, parts(tf, v), parts(tf, other)]


def in_modules_and_checkpoints(tf, np):
    strategy = two_replicas(tf)

    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.v = make(tf, strategy)
            self.count = make(
                tf,
                strategy,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )

    model = Model()
    model.v.assign(3.0)
    strategy.run(lambda: model.count.assign(number(tf) + 1.0))
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(model=model).save(str(Path(folder) / "ck"))
        names = [name for name, _ in tf.train.list_variables(path)]
        model.v.assign(0.0)
        model.count.assign(0.0)
        tf.train.Checkpoint(model=model).restore(path)
    return [
        len(model.variables),
        len(model.trainable_variables),
        names,
        parts(tf, model.v),
        parts(tf, model.count),
    ]


def a_strategy_in_force_everywhere(tf, np):
    strategy = two_replicas(tf)
    tf.distribute.experimental_set_strategy(strategy)
    try:
        found = [
            type(tf.Variable(1.0)).__name__,
            tf.distribute.get_strategy() is strategy,
            tf.distribute.in_cross_replica_context(),
        ]
    finally:
        tf.distribute.experimental_set_strategy(None)
    return [*found, tf.distribute.has_strategy()]


PROGRAMS = [
    kind,
    reading,
    without_aggregation,
    with_sums,
    with_means,
    with_the_first_replica,
    on_read_without_aggregation,
    on_read_with_sums,
    on_read_with_means,
    on_read_with_the_first_replica,
    no_synchronization,
    values_of_each_replica_are_assigned,
    updating,
    rows,
    made_in_replicas,
    made_on_the_first_call_of_a_function,
    copies,
    in_modules_and_checkpoints,
    a_strategy_in_force_everywhere,
]
