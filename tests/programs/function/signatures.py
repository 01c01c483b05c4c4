"""Input signatures, concrete functions, and how often a function is traced."""

import warnings

from programs.support import raised


def signature_fixes_the_dtype(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def double(x):
        return x * 2.0

    return [double([1, 2]).numpy(), double(np.array([1.5], np.float32)).numpy(), double(()).numpy()]


def signature_traces_once(tf, np):
    shapes = []

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def total(x):
        shapes.append(x.shape.as_list())
        return tf.reduce_sum(x)

    values = [total(tf.ones([n, 2])).numpy() for n in (1, 3, 0, 7)]
    return {"values": values, "shapes": shapes, "count": total.experimental_get_tracing_count()}


def signature_of_unknown_rank(tf, np):
    ranks = []

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
    def total(x):
        ranks.append(x.shape.rank is None)
        return tf.reduce_sum(x), tf.rank(x), tf.size(x)

    results = [total(tf.ones(shape)) for shape in ([], [3], [2, 3])]
    return {"values": [[v.numpy() for v in r] for r in results], "ranks": ranks}


def signature_with_defaults(tf, np):
    spec = tf.TensorSpec([], tf.float32)

    @tf.function(input_signature=[spec, spec])
    def add(x, y=2.0):
        return x + 10.0 * y

    return [add(1.0).numpy(), add(1.0, 3.0).numpy(), add(x=1.0, y=0.5).numpy()]


def signature_of_nests(tf, np):
    spec = tf.TensorSpec([None], tf.float64)

    @tf.function(input_signature=[{"a": spec, "b": (spec, spec)}])
    def combine(table):
        return tf.reduce_sum(table["a"]) * table["b"][0] - table["b"][1]

    x = np.arange(3.0)
    return combine({"a": x, "b": (x + 1.0, x * 2.0)}).numpy()


def signature_on_a_method(tf, np):
    class Model:
        @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
        def run(self, x):
            return x + 1

    model = Model()
    return model.run(tf.constant([1, 2])).numpy()


def signature_refuses_a_dtype(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def run(x):
        return x

    return [
        raised(lambda: run(tf.constant(1.5))),
        raised(lambda: run(tf.constant("text"))),
    ]


def signature_refuses_a_shape(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([2, None], tf.float32)])
    def run(x):
        return x

    return [raised(lambda: run(tf.ones([3, 2]))), raised(lambda: run(tf.ones([2])))]


def signature_refuses_missing_and_extra(tf, np):
    spec = tf.TensorSpec([], tf.float32)

    @tf.function(input_signature=[spec, spec])
    def add(x, y):
        return x + y

    return [
        raised(lambda: add(1.0)),
        raised(lambda: add(1.0, 2.0, 3.0)),
        raised(lambda: add(1.0, z=2.0)),
    ]


def signature_must_fit_the_function(tf, np):
    spec = tf.TensorSpec([], tf.float32)

    def one(x):
        return x

    return [
        raised(lambda: tf.function(one, input_signature=[spec, spec])(1.0)),
        raised(lambda: tf.function(one, input_signature=5)),
        raised(lambda: tf.function(one, input_signature=["float32"])),
    ]


def wrong_arguments_without_signature(tf, np):
    @tf.function
    def add(x, y):
        return x + y

    return [raised(lambda: add(1.0)), raised(lambda: add(1.0, 2.0, 3.0))]


def same_shape_traces_once(tf, np):
    @tf.function
    def double(x):
        return x * 2

    for value in range(4):
        double(tf.constant([value, value]))
    return double.experimental_get_tracing_count()


def dtypes_trace_apart(tf, np):
    dtypes = []

    @tf.function
    def double(x):
        dtypes.append(x.dtype.name)
        return x + x

    for dtype in ("int32", "float32", "int32", "float64"):
        double(tf.ones([2], dtype))
    return {"count": double.experimental_get_tracing_count(), "dtypes": dtypes}


def ranks_trace_apart(tf, np):
    @tf.function
    def total(x):
        return tf.reduce_sum(x)

    values = [total(tf.ones(shape)).numpy() for shape in ([2], [2, 2], [2], [2, 2], [])]
    return {"values": values, "count": total.experimental_get_tracing_count()}


def tensors_do_not_trace_by_value(tf, np):
    @tf.function
    def square(x):
        return x * x

    values = [square(tf.constant(float(n))).numpy() for n in range(5)]
    return {"values": values, "count": square.experimental_get_tracing_count()}


def structures_trace_apart(tf, np):
    @tf.function
    def total(nest):
        return tf.add_n(tf.nest.flatten(nest))

    one = tf.constant(1.0)
    nests = ([one, one], (one, one), {"a": one, "b": one}, [one, one], [one], {"a": one, "c": one})
    values = [total(nest).numpy() for nest in nests]
    return {"values": values, "count": total.experimental_get_tracing_count()}


def keyword_or_position_is_one_trace(tf, np):
    @tf.function
    def sub(x, y):
        return x - y

    a, b = tf.constant(5.0), tf.constant(2.0)
    values = [sub(a, b).numpy(), sub(a, y=b).numpy(), sub(y=b, x=a).numpy()]
    return {"values": values, "count": sub.experimental_get_tracing_count()}


def defaults_are_filled_in_before_tracing(tf, np):
    @tf.function
    def power(x, n=2):
        return x**n

    x = tf.constant(3.0)
    values = [power(x).numpy(), power(x, 2).numpy(), power(x, n=2).numpy()]
    return {"values": values, "count": power.experimental_get_tracing_count()}


def reduced_retracing(tf, np):
    @tf.function(reduce_retracing=True)
    def total(x):
        return tf.reduce_sum(x)

    values = [total(tf.ones([n])).numpy() for n in range(1, 7)]
    return {"values": values, "at_most_two": total.experimental_get_tracing_count() <= 2}


def reduced_retracing_keeps_known_dimensions(tf, np):
    shapes = []

    @tf.function(reduce_retracing=True)
    def total(x):
        shapes.append(x.shape.as_list())
        return tf.reduce_sum(x, axis=0)

    values = [total(tf.ones([n, 3])).numpy() for n in (2, 4, 8)]
    return {"values": values, "last": shapes[-1]}


def new_instance_traces_anew(tf, np):
    def double(x):
        return x * 2

    first, second = tf.function(double), tf.function(double)
    first(tf.constant(1))
    first(tf.constant(2))
    return [first.experimental_get_tracing_count(), second.experimental_get_tracing_count()]


def each_object_has_its_traces(tf, np):
    traces = []

    class Layer:
        def __init__(self, name):
            self.name = name

        @tf.function
        def run(self, x):
            traces.append(self.name)
            return x

    layers = [Layer("a"), Layer("b")]
    for _ in range(2):
        for layer in layers:
            layer.run(tf.constant(1.0))
    return traces


def sparse_arguments(tf, np):
    @tf.function
    def dense_sum(x):
        return tf.sparse.reduce_sum(x) + tf.reduce_sum(tf.sparse.to_dense(x)[0])

    x = tf.sparse.SparseTensor([[0, 1], [2, 0]], [3.0, 4.0], [3, 2])
    return dense_sum(x).numpy()


def ragged_arguments(tf, np):
    @tf.function
    def lengths(x):
        return x.row_lengths(), tf.reduce_sum(x.flat_values), x * 2.0

    out = lengths(tf.ragged.constant([[1.0, 2.0], [], [3.0]]))
    return [out[0].numpy(), out[1].numpy(), out[2].flat_values.numpy()]


def compile_flag_is_accepted(tf, np):
    @tf.function(jit_compile=True)
    def norm(x):
        return tf.sqrt(tf.reduce_sum(x * x))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return norm(tf.constant([3.0, 4.0])).numpy()


def autograph_flag(tf, np):
    def absolute(x):
        return -x if x < 0.0 else x

    def double(x):
        return x * 2.0

    x = tf.constant(-2.0)
    converted = tf.function(absolute, autograph=True)(x).numpy()
    return [converted, tf.function(double, autograph=False)(x).numpy()]


def exceptions_keep_their_class(tf, np):
    @tf.function
    def fail(kind):
        if kind == "value":
            raise ValueError("no")
        raise NotImplementedError("not yet")

    return [raised(lambda: fail("value")), raised(lambda: fail("other"))]


def a_failed_trace_can_be_tried_again(tf, np):
    fail = [True]

    @tf.function
    def run(x):
        if fail[0]:
            raise ValueError("first call")
        return x + 1.0

    first = raised(lambda: run(tf.constant(1.0)))
    fail[0] = False
    return [first, run(tf.constant(1.0)).numpy()]


PROGRAMS = [
    signature_fixes_the_dtype,
    signature_traces_once,
    signature_of_unknown_rank,
    signature_with_defaults,
    signature_of_nests,
    signature_on_a_method,
    signature_refuses_a_dtype,
    signature_refuses_a_shape,
    signature_refuses_missing_and_extra,
    signature_must_fit_the_function,
    wrong_arguments_without_signature,
    same_shape_traces_once,
    dtypes_trace_apart,
    ranks_trace_apart,
    tensors_do_not_trace_by_value,
    structures_trace_apart,
    keyword_or_position_is_one_trace,
    defaults_are_filled_in_before_tracing,
    reduced_retracing,
    reduced_retracing_keeps_known_dimensions,
    new_instance_traces_anew,
    each_object_has_its_traces,
    sparse_arguments,
    ragged_arguments,
    compile_flag_is_accepted,
    autograph_flag,
    exceptions_keep_their_class,
    a_failed_trace_can_be_tried_again,
]
