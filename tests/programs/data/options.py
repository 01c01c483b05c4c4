"""tf.data.Options and its parts, and the constants and specs of datasets."""

from programs.support import raised


def defaults(tf, np):
    options, kinds = tf.data.Options(), tf.data.experimental
    return [
        options.deterministic,
        options.autotune.enabled,
        options.threading.private_threadpool_size,
        options.experimental_optimization.map_fusion,
        options.experimental_distribute.auto_shard_policy == kinds.AutoShardPolicy.AUTO,
        options.experimental_distribute.num_devices,
        options.experimental_external_state_policy,
    ]


def setting_and_merging(tf, np):
    first, second, kinds = tf.data.Options(), tf.data.Options(), tf.data.experimental
    first.deterministic = False
    first.threading.max_intra_op_parallelism = 2
    first.experimental_distribute.auto_shard_policy = kinds.AutoShardPolicy.DATA
    second.threading.private_threadpool_size = 3
    second.deterministic = True
    second.autotune.cpu_budget = 5
    second.autotune.autotune_algorithm = kinds.AutotuneAlgorithm.HILL_CLIMB
    merged = first.merge(second)
    return [
        merged.deterministic,
        merged.threading.max_intra_op_parallelism,
        merged.threading.private_threadpool_size,
        merged.autotune.cpu_budget,
        merged.autotune.autotune_algorithm.name,
        merged.experimental_distribute.auto_shard_policy.name,
        first.threading.private_threadpool_size,
        merged == first,
        first == first.merge(tf.data.Options()),
    ]


def of_datasets(tf, np):
    options = tf.data.Options()
    options.deterministic = False
    options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    dataset = tf.data.Dataset.range(4).with_options(options)
    later = tf.data.Options()
    later.threading.private_threadpool_size = 1
    both = dataset.batch(2).with_options(later).options()
    return [
        dataset.options().deterministic,
        both.deterministic,
        both.threading.private_threadpool_size,
        both.experimental_external_state_policy.name,
        list(dataset.as_numpy_iterator()),
    ]


def wrong_settings(tf, np):
    options = tf.data.Options()

    def unknown():
        options.no_such_option = 1

    def text():
        options.deterministic = "yes"

    def part():
        options.threading = 3

    def inner():
        options.threading.private_threadpool_size = "many"

    return [
        raised(unknown),
        raised(text),
        raised(part),
        raised(inner),
        raised(lambda: options.merge(3)) is not None,
        raised(lambda: tf.data.Dataset.range(3).with_options(3)) is not None,
    ]


def kinds_of_settings(tf, np):
    kinds = tf.data.experimental
    return [
        {kind.name: int(kind.value) for kind in kinds.AutoShardPolicy},
        [kind.name for kind in kinds.AutotuneAlgorithm],
        [kind.name for kind in kinds.ExternalStatePolicy],
        isinstance(tf.data.Options().threading, tf.data.ThreadingOptions),
        isinstance(tf.data.Options().autotune, kinds.AutotuneOptions),
        isinstance(tf.data.Options().experimental_distribute, kinds.DistributeOptions),
        isinstance(tf.data.Options().experimental_optimization, kinds.OptimizationOptions),
    ]


def cardinalities(tf, np):
    endless = tf.data.Dataset.range(3).repeat()
    unknown = tf.data.Dataset.range(3).filter(lambda x: x > 0)
    return [
        tf.data.INFINITE_CARDINALITY,
        tf.data.UNKNOWN_CARDINALITY,
        tf.data.experimental.INFINITE_CARDINALITY,
        int(endless.cardinality()) == tf.data.INFINITE_CARDINALITY,
        int(unknown.cardinality()) == tf.data.UNKNOWN_CARDINALITY,
    ]


def specs(tf, np):
    dataset = tf.data.Dataset.range(4).batch(2)
    spec = tf.data.DatasetSpec(tf.TensorSpec([None], tf.int64))
    found = tf.data.DatasetSpec.from_value(dataset)
    iterator = tf.data.IteratorSpec(tf.TensorSpec([None], tf.int64))

    @tf.function(input_signature=[spec])
    def total(dataset):
        return dataset.reduce(np.int64(0), lambda state, x: state + tf.reduce_sum(x))

    numbers = dataset.as_numpy_iterator()
    return [
        repr(spec),
        spec == found,
        spec.is_compatible_with(dataset),
        repr(spec.element_spec),
        iterator == tf.data.IteratorSpec(tf.TensorSpec([None], tf.int64)),
        iterator.is_compatible_with(iter(dataset)),
        total(dataset).numpy(),
        [next(numbers), next(numbers)],
        raised(lambda: next(numbers)),
        isinstance(numbers, tf.data.NumpyIterator),
    ]


PROGRAMS = [
    defaults,
    setting_and_merging,
    of_datasets,
    wrong_settings,
    kinds_of_settings,
    cardinalities,
    specs,
]
