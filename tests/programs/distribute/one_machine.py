"""What of tf.distribute means something on one machine, and what libraries ask of it."""

from programs.distribute import number, parts, two_replicas
from programs.support import raised


def strategies_of_one_replica(tf, np):
    made = tf.distribute
    found = []
    for strategy in (
        made.OneDeviceStrategy("CPU:0"),
        made.MultiWorkerMirroredStrategy(),
        made.experimental.MultiWorkerMirroredStrategy(),
        made.experimental.CentralStorageStrategy(["CPU:0"]),
        made.MirroredStrategy(["CPU:0"]),
    ):
        with strategy.scope():
            v = tf.Variable(2.0)
        result = strategy.run(lambda x, v=v: v * x, (tf.constant(3.0),))
        total = strategy.run(
            lambda: tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(4.0))
        )
        found.append(
            [
                strategy.num_replicas_in_sync,
                isinstance(strategy, made.Strategy),
                result.numpy(),
                strategy.reduce("MEAN", result, axis=None).numpy(),
                total.numpy(),
                len(strategy.experimental_local_results(v)),
                list(strategy.extended.worker_devices),
                isinstance(strategy.extended, made.StrategyExtended),
            ]
        )
    return found


def the_default_strategy(tf, np):
    strategy, context = tf.distribute.get_strategy(), tf.distribute.get_replica_context()
    v = tf.Variable(1.0)
    merged = context.merge_call(lambda strategy, x: x + 1.0, (tf.constant(1.0),))
    return [
        strategy.num_replicas_in_sync,
        isinstance(context, tf.distribute.ReplicaContext),
        int(context.replica_id_in_sync_group),
        context.num_replicas_in_sync,
        merged.numpy(),
        strategy.run(lambda: v + 1.0).numpy(),
        strategy.extended.update(v, lambda v, x: v.assign_add(x), args=(2.0,)).numpy(),
    ]


def ways_of_reducing(tf, np):
    made, found = tf.distribute, []
    for kind in (made.ReductionToOneDevice, made.HierarchicalCopyAllReduce, made.NcclAllReduce):
        found.append([isinstance(kind(), made.CrossDeviceOps)])
    strategy = made.MirroredStrategy(["CPU:0", "CPU:1"], made.HierarchicalCopyAllReduce())
    context = made.get_replica_context
    total = strategy.run(lambda: context().all_reduce("SUM", number(tf) + 1.0))
    return [found, parts(tf, total)]


def reduce_to(tf, np):
    strategy = two_replicas(tf)
    with strategy.scope():
        v = tf.Variable(1.0)
    values = strategy.run(lambda: number(tf) + 1.0)
    extended = strategy.extended
    everywhere = extended.reduce_to("SUM", values, destinations=v)
    several = extended.batch_reduce_to("MEAN", [(values, v), (values, v)])
    extended.update(v, lambda part, x: part.assign(x), args=(everywhere,))
    return [
        parts(tf, everywhere),
        isinstance(everywhere, tf.types.experimental.distributed.Mirrored),
        extended.reduce_to("SUM", values, destinations="CPU:0").numpy(),
        [parts(tf, value) for value in several],
        parts(tf, v),
        parts(tf, extended.call_for_each_replica(lambda: number(tf) * 2.0)),
    ]


def contexts_of_values_and_inputs(tf, np):
    value = tf.distribute.experimental.ValueContext(1, 4)
    context = tf.distribute.InputContext(2, 1, 8)
    return [
        value.replica_id_in_sync_group,
        value.num_replicas_in_sync,
        str(context),
        context.get_per_replica_batch_size(16),
        context.input_pipeline_id,
        tf.distribute.ReduceOp.from_variable_aggregation(tf.VariableAggregation.SUM).name,
        tf.distribute.ReduceOp.from_variable_aggregation(tf.VariableAggregation.MEAN).name,
        raised(
            lambda: tf.distribute.ReduceOp.from_variable_aggregation(tf.VariableAggregation.NONE)
        ),
    ]


def merging_as_libraries_do(tf, np):
    interim = tf.__internal__.distribute.interim
    strategy = two_replicas(tf)

    def replica():
        return interim.maybe_merge_call(
            lambda strategy, x, factor: strategy.reduce("SUM", x, axis=None) * factor,
            strategy,
            number(tf) + 1.0,
            factor=2.0,
        )

    default = tf.distribute.get_strategy()
    alone = interim.maybe_merge_call(lambda strategy, x: x + 1.0, default, tf.constant(1.0))
    kinds = tf.__internal__
    values = strategy.run(lambda: number(tf))
    with strategy.scope():
        without = kinds.distribute.strategy_supports_no_merge_call()
    return [
        parts(tf, strategy.run(replica))[-1],
        alone.numpy(),
        without,
        isinstance(values, kinds.CompositeTensor),
        isinstance(tf.constant(1), kinds.CompositeTensor),
        isinstance(tf.sparse.from_dense([[1]]), kinds.CompositeTensor),
    ]


def other_internals(tf, np):
    made = tf.__internal__

    @tf.function
    def run(x):
        with made.eager_context.eager_mode():
            found = tf.executing_eagerly()
        return tf.constant(found), tf.executing_eagerly()

    class Holder(tf.Module):
        @made.tracking.no_automatic_dependency_tracking
        def keep(self):
            self.hidden = [tf.Variable(1.0)]

    holder = Holder()
    holder.keep()
    inner, outer = run(tf.constant(1.0))
    graph = tf.function(lambda x: x).get_concrete_function(tf.constant(1.0)).graph
    checkpoint = tf.train.Checkpoint(holder=holder)
    return [
        bool(inner),
        bool(outer),
        isinstance(graph, made.FuncGraph),
        isinstance(holder, made.tracking.Trackable),
        isinstance(checkpoint.holder, Holder),
    ]


def clusters_that_are_this_machine(tf, np):
    filters = tf.config.experimental.ClusterDeviceFilters()
    filters.set_device_filters("worker", 0, ["/job:ps"])
    config = tf.config.experimental
    hints = tf.distribute.experimental.CollectiveHints(bytes_per_pack=5, timeout_seconds=1.0)
    return [
        config.enable_mlir_bridge(),
        config.disable_mlir_bridge(),
        hints.bytes_per_pack,
        hints.timeout_seconds,
    ]


def meshes_and_layouts(tf, np):
    made = tf.experimental.dtensor
    mesh = made.create_mesh([("batch", 1), ("other", 1)], devices=["CPU:0"])
    layout = made.Layout(["batch", made.UNSHARDED], mesh)
    same = made.Layout(["batch", made.UNSHARDED], mesh)
    return [
        list(mesh.dim_names),
        mesh.dim_size("batch"),
        mesh.size,
        list(mesh.shape()),
        layout.rank,
        list(layout.sharding_specs),
        layout == same,
        layout.mesh == mesh,
        layout == made.Layout([made.UNSHARDED, made.UNSHARDED], mesh),
        made.UNSHARDED,
        raised(lambda: made.Layout(["nobody"], mesh)),
        raised(lambda: mesh.dim_size("nobody")),
    ]


PROGRAMS = [
    strategies_of_one_replica,
    the_default_strategy,
    ways_of_reducing,
    reduce_to,
    contexts_of_values_and_inputs,
    merging_as_libraries_do,
    other_internals,
    clusters_that_are_this_machine,
    meshes_and_layouts,
]
