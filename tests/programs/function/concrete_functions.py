"""Concrete functions: one trace, its inputs, outputs, captures and graph."""

import tempfile

from programs.support import raised


def concrete_function(tf, np):
    @tf.function
    def square(x):
        return x * x

    concrete = square.get_concrete_function(tf.TensorSpec([None], tf.float32))
    return [concrete(tf.constant([1.0, 2.0])).numpy(), concrete(tf.constant([3.0])).numpy()]


def concrete_function_of_a_signature(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def norm(x):
        return tf.reduce_sum(x * x, axis=1)

    concrete = norm.get_concrete_function()
    return {
        "value": concrete(tf.ones([2, 3])).numpy(),
        "outputs": concrete.output_shapes.as_list(),
        "dtype": concrete.output_dtypes.name,
    }


def concrete_function_with_python_values(tf, np):
    @tf.function
    def power(x, n):
        return x**n

    cube = power.get_concrete_function(tf.TensorSpec([], tf.float32), 3)
    return [cube(tf.constant(2.0)).numpy(), cube(x=tf.constant(3.0)).numpy()]


def concrete_structured_outputs(tf, np):
    @tf.function
    def pair(x):
        return {"sum": tf.reduce_sum(x), "rest": [x, tf.cast(x, tf.int32)]}

    concrete = pair.get_concrete_function(tf.TensorSpec([2, None], tf.float32))
    outputs = concrete.structured_outputs
    return {
        "keys": sorted(outputs),
        "shapes": [t.shape.as_list() for t in tf.nest.flatten(outputs)],
        "dtypes": [t.dtype.name for t in tf.nest.flatten(outputs)],
    }


def structured_outputs_are_tensors(tf, np):
    @tf.function
    def pair(x):
        return {"b": x * 2.0, "a": (x, [x + 1.0, None])}

    concrete = pair.get_concrete_function(tf.TensorSpec([2], tf.float32))
    found = concrete.structured_outputs
    tf.nest.assert_same_structure(found, {"b": 0, "a": (0, [0, None])}, check_types=False)
    tensors = [x for x in tf.nest.flatten(found) if x is not None]
    single = tf.function(lambda x: x + 1).get_concrete_function(1).structured_outputs
    return {
        "tensors": [isinstance(x, tf.Tensor) for x in (*tensors, single)],
        "of the graph": [x.graph is concrete.graph for x in tensors],
        "same": [x is y for x, y in zip(tensors, concrete.outputs)],
    }


def structured_outputs_of_a_signature(tf, np):
    class Doubling(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def two(self, x):
            return {"b": x * 2.0, "a": x}

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def one(self, x):
            return x * 2.0

    module = Doubling()
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, {"two": module.two, "one": module.one})
        signatures = tf.saved_model.load(folder).signatures
        return {
            key: {name: [spec.name, spec.shape, spec.dtype] for name, spec in found.items()}
            for key in ("one", "two")
            for found in [signatures[key].structured_outputs]
        }


def concrete_structured_signature(tf, np):
    @tf.function
    def add(x, y=1.0):
        return x + y

    concrete = add.get_concrete_function(tf.TensorSpec([3], tf.float32, name="first"))
    args, kwargs = concrete.structured_input_signature
    return [args[0].shape.as_list(), args[0].dtype.name, args[0].name, len(kwargs)]


def concrete_captured_inputs(tf, np):
    weights = tf.constant([1.0, 2.0])
    offset = tf.Variable(3.0)

    @tf.function
    def line(x):
        return x * weights + offset

    concrete = line.get_concrete_function(tf.TensorSpec([], tf.float32))
    return {
        "captured": len(concrete.captured_inputs),
        "inputs": len(concrete.inputs),
        "variables": [v.numpy() for v in concrete.variables],
        "trainable": len(concrete.trainable_variables),
        "value": concrete(tf.constant(2.0)).numpy(),
    }


def concrete_functions_are_cached(tf, np):
    @tf.function
    def double(x):
        return x * 2

    spec = tf.TensorSpec([2], tf.float32)
    first, second = double.get_concrete_function(spec), double.get_concrete_function(spec)
    double(tf.constant([1.0, 2.0]))
    return [first is second, double.experimental_get_tracing_count()]


def concrete_function_checks_its_inputs(tf, np):
    @tf.function
    def double(x):
        return x * 2

    concrete = double.get_concrete_function(tf.TensorSpec([2], tf.float32))
    return [
        raised(lambda: concrete(tf.constant([1, 2]))),
        raised(lambda: concrete()),
        raised(lambda: concrete(tf.constant([1.0, 2.0]), tf.constant(1.0))),
    ]


def concrete_function_needs_specs(tf, np):
    @tf.function
    def add(x, y):
        return x + y

    return raised(lambda: add.get_concrete_function(tf.TensorSpec([], tf.float32)))


def concrete_function_inside_a_function(tf, np):
    @tf.function
    def square(x):
        return x * x

    concrete = square.get_concrete_function(tf.TensorSpec([], tf.float64))

    @tf.function
    def outer(x):
        return concrete(x) + concrete(x + 1.0)

    return outer(tf.constant(2.0, tf.float64)).numpy()


def concrete_function_under_a_tape(tf, np):
    @tf.function
    def cube(x):
        return x**3

    concrete = cube.get_concrete_function(tf.TensorSpec([None], tf.float64))
    x = tf.constant([1.0, 2.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = concrete(x)
    return tape.gradient(y, x).numpy()


def graph_of_a_concrete_function(tf, np):
    @tf.function
    def double(x):
        return x * 2

    concrete = double.get_concrete_function(tf.TensorSpec([], tf.float32))
    operations = concrete.graph.get_operations()
    return ["Mul" in [op.type for op in operations], isinstance(concrete.graph, tf.Graph)]


def printed_signature(tf, np):
    @tf.function
    def scale(values, factor=3):
        return values * factor

    concrete = scale.get_concrete_function(tf.TensorSpec([None, 2], tf.float32))
    text = concrete.pretty_printed_signature()
    return [word in text for word in ("values", "factor", "(None, 2)", "float32", "3")]


def spec_from_a_tensor(tf, np):
    @tf.function
    def double(x):
        return x * 2.0

    spec = tf.TensorSpec.from_tensor(tf.zeros([2, 3]))
    concrete = double.get_concrete_function(spec)
    return [concrete.inputs[0].shape.as_list(), concrete.outputs[0].shape.as_list()]


PROGRAMS = [
    concrete_function,
    concrete_function_of_a_signature,
    concrete_function_with_python_values,
    concrete_structured_outputs,
    structured_outputs_are_tensors,
    structured_outputs_of_a_signature,
    concrete_structured_signature,
    concrete_captured_inputs,
    concrete_functions_are_cached,
    concrete_function_checks_its_inputs,
    concrete_function_needs_specs,
    concrete_function_inside_a_function,
    concrete_function_under_a_tape,
    graph_of_a_concrete_function,
    printed_signature,
    spec_from_a_tensor,
]
