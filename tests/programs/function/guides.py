"""What TensorFlow's guides do with functions, extension types, replicas and meshes."""

import tempfile
from collections import Counter

from programs.support import answers


def texts_of_signatures(tf, np):
    @tf.function
    def f(x, n=2):
        return x * n

    f(tf.constant(1.0))
    f(tf.constant([1.0]), 3)
    text = f.pretty_printed_concrete_signatures()
    concrete = f.get_concrete_function(tf.TensorSpec([None]), 2)
    inference = concrete.inference_fn
    return [
        text,
        f.pretty_printed_concrete_signatures(verbose=False),
        tf.function(lambda *xs, k=None: {"a": [xs[0], k]})
        .get_concrete_function(tf.TensorSpec([]), {"q": 1}, k="s")
        .pretty_printed_signature(),
        [hasattr(inference, name) for name in ("name", "graph", "function_type")],
    ]


def pair_type(tf):
    class Pair(tf.experimental.BatchableExtensionType):
        values: tf.Tensor
        count: tf.Tensor

        class Encoder(tf.experimental.ExtensionTypeBatchEncoder):
            def batch(self, spec, batch_size):
                return specs(spec, lambda shape: [batch_size, *shape])

            def unbatch(self, spec):
                return specs(spec, lambda shape: shape[1:])

            def encode(self, spec, value, minimum_rank=0):
                return [value.values, value.count]

            def encoding_specs(self, spec):
                return [spec.values, spec.count]

            def decode(self, spec, encoded):
                return Pair(*encoded)

        __batch_encoder__ = Encoder()

    def specs(spec, changed):
        parts = (spec.values, spec.count)
        return Pair.Spec(
            *[tf.TensorSpec(changed(part.shape.as_list()), part.dtype) for part in parts]
        )

    return Pair


def types_with_batch_encoders(tf, np):
    Pair = pair_type(tf)
    pairs = Pair(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([1, 2]))
    row = Pair.Spec(tf.TensorSpec([2]), tf.TensorSpec([], tf.int32))
    slices = tf.data.Dataset.from_tensor_slices(pairs)

    def scaled(p):
        return p.values * tf.cast(p.count, tf.float32)

    mapped = tf.map_fn(lambda p: Pair(p.values * 2.0, p.count), pairs, fn_output_signature=row)
    return [
        [(p.values, p.count) for p in slices],
        [(p.values, p.count) for p in slices.batch(2)],
        tf.map_fn(scaled, pairs, fn_output_signature=tf.TensorSpec([2])),
        [mapped.values, mapped.count],
        tf.vectorized_map(scaled, pairs),
    ]


def saved_functions_of_extension_types(tf, np):
    class Masked(tf.experimental.ExtensionType):
        __name__ = "programs.guides.Masked"
        values: tf.Tensor
        mask: tf.Tensor
        times: int = 3

    spec = Masked.Spec(tf.TensorSpec([None]), tf.TensorSpec([None], tf.bool), 3)

    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.default = tf.Variable(2.0)
            self.generator = tf.random.Generator.from_seed(3)

        @tf.function(input_signature=[spec])
        def filled(self, x):
            return tf.where(x.mask, x.values, self.default)

        @tf.function(input_signature=[spec])
        def grown(self, x):
            return {"masked": Masked(x.values * x.times, x.mask, x.times)}

        @tf.function(input_signature=[])
        def draw(self):
            return self.generator.normal([2])

    x = Masked([1.0, 5.0], [True, False])
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(Model(), folder)
        loaded = tf.saved_model.load(folder)
        grown = loaded.grown(x)["masked"]
        kind = [type(grown).__name__, grown.values, grown.mask, grown.times]
        return [loaded.filled(x), kind, loaded.draw(), loaded.draw()]


def unnamed_extension_types_are_not_saved(tf, np):
    class Unnamed(tf.experimental.ExtensionType):
        values: tf.Tensor

    class Model(tf.Module):
        @tf.function(input_signature=[Unnamed.Spec(tf.TensorSpec([None]))])
        def sum(self, x):
            return tf.reduce_sum(x.values)

    try:
        with tempfile.TemporaryDirectory() as folder:
            tf.saved_model.save(Model(), folder)
    except Exception:  # TensorFlow's class has no public name
        return "refused"
    return "saved"


def ragged_shapes(tf, np):
    rows = tf.ragged.constant([[1, 2], [3, 4]])
    shape = tf.experimental.DynamicRaggedShape
    return answers(
        {
            "to ragged": lambda: tf.reshape(tf.range(6), shape.from_lengths([2, (2, 4)])),
            "to a vector": lambda: tf.reshape(rows, [4]),
            "to uniform": lambda: tf.reshape(rows, shape.from_lengths([2, 2])),
            "to another's": lambda: tf.reshape(
                tf.ragged.constant([[1], [2, 3]]), tf.shape(tf.ragged.constant([[1, 2], [3]]))
            ),
            "broadcast": lambda: tf.broadcast_to(5, tf.shape(rows)),
        }
    )


def values_of_replicas_as_arguments(tf, np):
    strategy = tf.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
    values = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(float(context.replica_id_in_sync_group + 1))
    )

    @tf.function
    def doubled(x):
        return strategy.run(lambda y: y * 2.0, args=(x,))

    @tf.function
    def total(x):
        return strategy.reduce("SUM", doubled(x), axis=None)

    found = [strategy.experimental_local_results(doubled(values)), total(values), total(values)]
    concrete = total.get_concrete_function(values)
    return [found, total.experimental_get_tracing_count(), concrete(values)]


def meshes_of_several_devices(tf, np):
    dtensor = tf.experimental.dtensor
    mesh = dtensor.create_mesh([("x", 2)], devices=["CPU:0", "CPU:1"])
    layout = dtensor.Layout(["x", dtensor.UNSHARDED], mesh)
    tensor = dtensor.call_with_layout(tf.ones, layout, (6, 4))
    packed = dtensor.pack([tf.constant([i, i]) for i in range(2)], dtensor.Layout(["x"], mesh))
    variable = dtensor.DVariable(dtensor.call_with_layout(tf.ones, layout, (2, 2)))
    variable.assign_add(dtensor.call_with_layout(tf.ones, layout, (2, 2)))
    return [
        [mesh.size, mesh.dim_names, mesh.num_local_devices(), mesh.dim_size("x")],
        [part.shape.as_list() for part in dtensor.unpack(tensor)],
        dtensor.fetch_layout(tensor).sharding_specs,
        dtensor.relayout(packed, dtensor.Layout.replicated(mesh, rank=1)),
        variable.layout.sharding_specs,
        dict(Counter(str(device).rpartition(":")[2] for device in mesh.local_devices())),
    ]


PROGRAMS = [
    texts_of_signatures,
    types_with_batch_encoders,
    saved_functions_of_extension_types,
    unnamed_extension_types_are_not_saved,
    ragged_shapes,
    values_of_replicas_as_arguments,
    meshes_of_several_devices,
]
