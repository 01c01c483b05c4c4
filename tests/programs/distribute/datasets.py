"""Datasets that are shared out among replicas, iterated in Python and in functions."""

from programs.distribute import parts, two_replicas
from programs.support import raised


def listed(tf, dataset):
    """The elements, with the values of all replicas."""
    return [[parts(tf, leaf) for leaf in tf.nest.flatten(element)] for element in dataset]


def shared(tf, dataset):
    """The elements of a dataset that two replicas share."""
    return listed(tf, two_replicas(tf).experimental_distribute_dataset(dataset))


def batches_are_divided(tf, np):
    numbers = tf.data.Dataset.range
    return [
        shared(tf, numbers(10).batch(4)),
        shared(tf, numbers(9).batch(4)),
        shared(tf, numbers(9).batch(4, drop_remainder=True)),
        shared(tf, numbers(10).batch(3)),
        shared(tf, numbers(4).batch(1)),
        shared(tf, numbers(8).batch(4).map(lambda x: (x, {"a": x * 2}))),
        shared(tf, numbers(8).batch(4).prefetch(1).repeat(2).take(3)),
        shared(tf, numbers(6).padded_batch(4)),
        shared(tf, numbers(12).batch(3).batch(2)),
    ]


def specs_and_sizes(tf, np):
    strategy = two_replicas(tf)
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(10).batch(4))
    whole = strategy.experimental_distribute_dataset(
        tf.data.Dataset.range(10).batch(4, drop_remainder=True)
    )
    return [
        repr(dataset.element_spec),
        repr(iter(dataset).element_spec),
        repr(whole.element_spec),
        isinstance(dataset, tf.distribute.DistributedDataset),
        isinstance(iter(dataset), tf.distribute.DistributedIterator),
        int(dataset.cardinality),
        raised(lambda: len(dataset)),
        raised(lambda: dataset.map(lambda x: x)),
    ]


def from_functions(tf, np):
    strategy, seen = two_replicas(tf), []

    def make(context):
        size = context.get_per_replica_batch_size(4)
        seen.append(
            [
                size,
                context.num_input_pipelines,
                context.input_pipeline_id,
                context.num_replicas_in_sync,
            ]
        )
        return tf.data.Dataset.range(9).batch(size)

    dataset = strategy.distribute_datasets_from_function(make)
    found = listed(tf, dataset)
    return [seen[0], found, isinstance(dataset, tf.distribute.DistributedDataset)]


def from_functions_with_static_sizes(tf, np):
    strategy = two_replicas(tf)

    def make(context):
        return tf.data.Dataset.range(11).batch(2, drop_remainder=True)

    return listed(tf, strategy.distribute_datasets_from_function(make))


def iterators(tf, np):
    strategy = two_replicas(tf)
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(6).batch(4))
    iterator = iter(dataset)
    first = parts(tf, iterator.get_next())
    optional = iterator.get_next_as_optional()
    second = parts(tf, optional.get_value())
    return [
        first,
        bool(optional.has_value()),
        second,
        bool(iterator.get_next_as_optional().has_value()),
        raised(iterator.get_next),
        raised(lambda: next(iterator)),
        raised(lambda: strategy.run(lambda: next(iter(dataset)))),
    ]


def loops_in_functions(tf, np):
    strategy = two_replicas(tf)
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(9).batch(4))

    @tf.function
    def total(dataset):
        found = tf.constant(0, tf.int64)
        for batch in dataset:
            sums = strategy.run(lambda x: tf.reduce_sum(x * x), (batch,))
            found += strategy.reduce("SUM", sums, axis=None)
        return found

    return [total(dataset).numpy(), total(dataset).numpy()]


def iterators_in_functions(tf, np):
    strategy = two_replicas(tf)
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4))

    @tf.function
    def step(iterator):
        return strategy.run(lambda x: x + 1, (next(iterator),))

    iterator = iter(dataset)
    found = [parts(tf, step(iterator)) for _ in range(2)]
    return [found, raised(lambda: step(iterator))]


def structures(tf, np):
    ragged = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3], [4], []]))
    sparse = tf.data.Dataset.from_tensor_slices(
        tf.sparse.from_dense([[1, 0], [0, 2], [3, 0], [0, 0]])
    )
    strategy = two_replicas(tf)
    first = next(iter(strategy.experimental_distribute_dataset(ragged.batch(4))))
    second = next(iter(strategy.experimental_distribute_dataset(sparse.batch(4))))
    return [
        [part.to_list() for part in first.values],
        [tf.sparse.to_dense(part).numpy() for part in second.values],
    ]


def errors(tf, np):
    strategy = two_replicas(tf)
    options = tf.distribute.InputOptions(
        experimental_replication_mode=tf.distribute.InputReplicationMode.PER_REPLICA
    )
    dataset = tf.data.Dataset.range(4)
    return [
        raised(lambda: strategy.experimental_distribute_dataset(dataset)) is not None,
        raised(lambda: strategy.experimental_distribute_dataset([1, 2])) is not None,
        raised(lambda: strategy.experimental_distribute_dataset(dataset.batch(2), options)),
        raised(lambda: tf.distribute.InputContext(1, 0, 2).get_per_replica_batch_size(5)),
    ]


def one_replica(tf, np):
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    default = tf.distribute.get_strategy()
    plain = tf.data.Dataset.range(4)
    return [
        [batch.numpy() for batch in dataset],
        isinstance(dataset, tf.distribute.DistributedDataset),
        default.experimental_distribute_dataset(plain) is plain,
        strategy.run(lambda x: x * 2, (tf.constant(3),)).numpy(),
        strategy.reduce("SUM", tf.constant([1.0, 2.0]), axis=0).numpy(),
        strategy.num_replicas_in_sync,
        len(strategy.extended.worker_devices),
    ]


PROGRAMS = [
    batches_are_divided,
    specs_and_sizes,
    from_functions,
    from_functions_with_static_sizes,
    iterators,
    loops_in_functions,
    iterators_in_functions,
    structures,
    errors,
    one_replica,
]
