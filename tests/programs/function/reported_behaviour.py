"""Behaviour that was reported to differ from TensorFlow's, a program for each report."""

import collections
import tempfile

from programs.support import answers, raised


def sequences_as_arguments(tf, np):
    return answers(
        {
            "range": lambda: tf.function(lambda x: x[1] + 1.0)(range(5)),
            "nest": lambda: list(tf.nest.map_structure(lambda x: x * 2, range(3))),
            "flat": lambda: tf.nest.flatten(range(3)),
            "packed": lambda: tf.nest.pack_sequence_as(range(2), [5, 6]),
        }
    )


def initializers_of_eager_variables(tf, np):
    return tf.Variable(1.0).initializer


def lookups_of_ragged_ids(tf, np):
    table = tf.constant([[1.0], [3.0], [5.0]])
    ids = tf.ragged.constant([[0, 1], [1]])
    weights = tf.ragged.constant([[1.0, 2.0], [0.5]])
    nn = tf.nn
    return answers(
        {
            "sum": lambda: nn.embedding_lookup_sparse(table, ids, None, combiner="sum"),
            "mean": lambda: nn.embedding_lookup_sparse(table, ids, weights, combiner="mean"),
            "sqrtn": lambda: nn.embedding_lookup_sparse(table, ids, weights, combiner="sqrtn"),
            "safe": lambda: nn.safe_embedding_lookup_sparse(table, ids, combiner="sum"),
        }
    )


def windows_that_do_not_fit(tf, np):
    image = tf.zeros([1, 1, 1, 1])
    pool = tf.function(lambda x: tf.nn.max_pool(x, [1, 1, 2, 1], 1, "VALID"))
    mean = tf.function(lambda x: tf.nn.avg_pool(x, [1, 2, 1, 1], 1, "VALID"))
    convolve = tf.function(lambda x: tf.nn.conv2d(x, tf.ones([2, 2, 1, 1]), 1, "VALID"))
    return [raised(lambda: f(image)) for f in (pool, mean, convolve)]


def vectorized_bodies(tf, np):
    x = tf.constant([[1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]])

    def over(f):
        return lambda: tf.vectorized_map(f, tf.range(2))

    calls = {
        "cond": over(lambda i: tf.cond(i > 0, lambda: i * 2, lambda: i)),
        "roll": over(lambda i: tf.roll(x[0], i, 0)),
        "slice": over(lambda i: tf.slice(x[0], [i], [2])),
        "strided": over(lambda i: x[0][i : i + 3]),
        "switch": over(lambda i: tf.switch_case(i, [lambda: 5.0, lambda: 6.0])),
        "while": over(lambda i: tf.while_loop(lambda j: j < i, lambda j: j + 1, [0])),
        "row": lambda: tf.vectorized_map(lambda r: tf.cond(r[0] > 2, lambda: r, lambda: -r), x),
    }
    return [answers(calls), tf.function(lambda: answers(calls))()]


def ragged_tensors_through_functions_of_the_user(tf, np):
    rows = tf.ragged.constant([[1.0, 2.0], [3.0]])
    spec = tf.RaggedTensorSpec([None, None], tf.float32)

    @tf.custom_gradient
    def doubled(x):
        return x * 2.0, lambda dy: dy * 5.0

    def gradient(f):
        with tf.GradientTape() as tape:
            tape.watch(rows.flat_values)
            y = f(rows)
        return [y, tape.gradient(y.flat_values, rows.flat_values)]

    return answers(
        {
            "stop": lambda: tf.stop_gradient(rows),
            "python": lambda: tf.py_function(lambda x: x * 2.0, [rows], spec),
            "python in a function": lambda: tf.function(
                lambda r: tf.py_function(lambda x: x * 2.0, [r], spec)
            )(rows),
            "to a tensor": lambda: tf.py_function(lambda x: x.to_tensor(), [rows], tf.float32),
            "from a tensor": lambda: tf.py_function(
                lambda x: tf.RaggedTensor.from_tensor(x), [tf.ones([2, 2])], spec
            ),
            "custom": lambda: doubled(rows),
            "map": lambda: tf.map_fn(lambda r: r * 2.0, rows, fn_output_signature=spec_of_row(tf)),
            "vectorized": lambda: tf.vectorized_map(lambda r: r * 2.0, rows),
            "gradient of stop": lambda: gradient(tf.stop_gradient),
            "gradient of custom": lambda: gradient(doubled),
            "gradient of custom in a function": lambda: tf.function(lambda: gradient(doubled))(),
        }
    )


def spec_of_row(tf):
    return tf.RaggedTensorSpec([None], tf.float32, ragged_rank=0)


def sparse_tensors_through_functions_of_the_user(tf, np):
    sparse = tf.sparse.from_dense([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    spec = tf.SparseTensorSpec([None, None], tf.float32)
    row = tf.SparseTensorSpec([None], tf.float32)

    @tf.custom_gradient
    def doubled(x):
        return tf.sparse.map_values(lambda v: v * 2.0, x), lambda dy: dy

    def twice(x):
        return tf.sparse.map_values(lambda v: v * 2.0, x)

    return answers(
        {
            "stop": lambda: tf.stop_gradient(sparse),
            "python": lambda: tf.py_function(twice, [sparse], spec),
            "python to a tensor": lambda: tf.py_function(tf.sparse.to_dense, [sparse], tf.float32),
            "python in a function": lambda: tf.function(lambda s: tf.py_function(twice, [s], spec))(
                sparse
            ),
            "custom": lambda: doubled(sparse),
            "map": lambda: tf.map_fn(twice, sparse, fn_output_signature=row),
            "map to sums": lambda: tf.map_fn(
                tf.sparse.reduce_sum, sparse, fn_output_signature=tf.float32
            ),
            "map from tensors": lambda: tf.map_fn(
                tf.sparse.from_dense, tf.constant([[1.0, 0.0], [0.0, 2.0]]), fn_output_signature=row
            ),
            "vectorized to sparse": lambda: tf.vectorized_map(
                tf.sparse.from_dense, tf.constant([[1.0, 0.0], [0.0, 2.0]])
            ),
        }
    )


def checks_of_composites(tf, np):
    sparse = tf.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]])
    ragged = tf.ragged.constant([[1.0], [2.0, 3.0]])
    check = tf.debugging

    def calls(sparse, ragged):
        return {
            "shapes": lambda: check.assert_shapes([(sparse, ("N", "N"))]),
            "wrong shapes": lambda: check.assert_shapes([(sparse, ("N", 3))]),
            "one element": lambda: check.assert_shapes([(tf.constant([1.0, 2.0]), ())]),
            "scalars": lambda: check.assert_shapes([(tf.constant(1.0), (2,))]),
            "type": lambda: check.assert_type(sparse, tf.float32),
            "type of ragged": lambda: check.assert_type(ragged, tf.float32),
            "wrong type": lambda: check.assert_type(sparse, tf.int32),
        }

    def outcome(sparse, ragged):
        return {name: raised(call) for name, call in calls(sparse, ragged).items()}

    found = []
    tf.function(lambda s, r: found.append(outcome(s, r)))(sparse, ragged)
    return [outcome(sparse, ragged), found]


def printed_composites(tf, np):
    path = tempfile.mktemp()
    ragged = tf.ragged.constant([[1.0], [2.0, 3.0]])
    sparse = tf.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]])
    words = tf.sparse.from_dense(["a", "", "b"])
    long = {"b" * 40: tf.range(9), "a" * 40: tf.ragged.range([8, 1]), "{}": "{}"}

    def show(ragged, sparse, words):
        tf.print(ragged, output_stream=f"file://{path}")
        tf.print("sparse:", sparse, [sparse, 1], output_stream=f"file://{path}")
        tf.print({"a": sparse, "b": ragged}, words, long, output_stream=f"file://{path}")

    show(ragged, sparse, words)
    tf.function(show)(ragged, sparse, words)
    with open(path, encoding="utf-8") as file:
        return file.read()


def repeated_values_of_protos(tf, np):
    return tf.make_ndarray(tf.make_tensor_proto([10.0], shape=[3, 4]))


def fields_of_protos(tf, np):
    """Which field holds the values: the bytes of all, or some, of which the last is repeated."""

    def fields(*arguments, **options):
        made = tf.make_tensor_proto(*arguments, **options)
        found = {}
        for field, value in made.ListFields():
            if field.name == "tensor_shape":
                value = [dim.size for dim in value.dim]
            plain = isinstance(value, (int, bytes))
            found[field.name] = value if plain else list(value)
        return [found, tf.make_ndarray(made)]

    float8 = tf.dtypes.experimental.float8_e4m3fn
    calls = [
        ([1.0, 2.0, 3.0],),
        (1.0,),
        (np.ones([2, 2], np.float32),),
        (np.ones([0], np.float32),),
        ([1, 2], tf.uint8),
        ([1, 2], tf.uint32),
        (np.full([2, 2], 7, np.int16),),
        ([True, False],),
        ("abc",),
        ([b"a", b"bb"],),
        ([1 + 2j], tf.complex64),
        (np.array([1 + 2j, 3], np.complex64),),
        ([1.0, 2.0], tf.float16),
        (1.0, tf.float16),
        (1.0, tf.bfloat16),
    ]
    short = [[10.0], [1.0, 2.0], ["a"], [True], [1j], [1]]
    found = [fields(*call) for call in calls]
    found += [fields(values, shape=[2, 2]) for values in short]
    found += [fields([1.0], tf.float16, shape=[3]), fields([1], tf.int64, shape=[3])]
    found += [fields(np.array([1.0, 2.0], np.float32), shape=[4]), fields([], tf.int32, shape=[2])]
    for made in (tf.make_tensor_proto(1.0, float8), tf.make_tensor_proto([1.0], float8, shape=[3])):
        found.append([made.float8_val, made.tensor_content])
    wrong = [None, object(), [1, "a"], [1, None], [[1], [2, 3]]]
    found += [raised(lambda v=v: tf.make_tensor_proto(v)) for v in wrong]
    found.append(raised(lambda: tf.make_tensor_proto([1.0, 2.0, 3.0], shape=[2])))
    found.append(raised(lambda: tf.make_tensor_proto([1.0], shape=[3], verify_shape=True)))
    return found


def dropout_of_several_rates(tf, np):
    x = tf.ones([2])
    return [
        raised(lambda: tf.nn.dropout(x, [0.1, 0.2])),
        raised(lambda: tf.nn.dropout(x, 1.5)),
        raised(lambda: tf.nn.dropout(x, 0.5, noise_shape=[3])),
        raised(lambda: tf.function(lambda v: tf.nn.dropout(v, 0.5, noise_shape=[3]))(x)),
    ]


def checks_of_ranks_and_shapes(tf, np):
    sorted_row = tf.constant([[1.0, 2.0]])
    calls = {
        "searchsorted of a scalar": lambda: tf.searchsorted(tf.constant(1.0), [1.0]),
        "searchsorted of other ranks": lambda: tf.searchsorted(sorted_row, [1.0]),
        "searchsorted of other rows": lambda: tf.searchsorted(sorted_row, tf.ones([2, 1])),
        "searchsorted of a scalar value": lambda: tf.searchsorted([1.0, 2.0], 1.0),
        "lower_bound": lambda: tf.raw_ops.LowerBound(sorted_inputs=[1.0], values=[[1.0]]),
        "lower_bound of rows": lambda: tf.raw_ops.LowerBound(
            sorted_inputs=tf.ones([2, 2]), values=tf.ones([3, 2])
        ),
        "upper_bound": lambda: tf.raw_ops.UpperBound(sorted_inputs=[1.0], values=[[1.0]]),
        "cross entropy of scalars": lambda: tf.nn.softmax_cross_entropy_with_logits(1.0, 1.0),
        "cross entropy of vectors": lambda: tf.nn.softmax_cross_entropy_with_logits(
            [1.0, 0.0], [1.0, 0.0]
        ),
        "cross entropy of other shapes": lambda: tf.nn.softmax_cross_entropy_with_logits(
            tf.ones([2, 3]), tf.ones([2, 4])
        ),
        "raw cross entropy": lambda: tf.raw_ops.SoftmaxCrossEntropyWithLogits(
            features=tf.ones([3]), labels=tf.ones([3])
        ),
        "sparse cross entropy": lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(
            [[0]], [[1.0, 2.0]]
        ),
        "sparse cross entropy of a scalar": lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(
            0, 1.0
        ),
    }
    in_function = [raised(lambda c=c: tf.function(c)()) is not None for c in calls.values()]
    return [answers(calls), in_function]


def loop_variables_that_change_their_form(tf, np):
    sparse = tf.sparse.from_dense([1.0, 0.0])
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]), tf.constant([4, 2]))

    def loop(body, first):
        return lambda: tf.function(
            lambda: tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, body(x)), [0, first])[1]
        )()

    def wider(s):
        return tf.SparseTensor([[0, 0]], [1.0], [2, 2])

    return answers(
        {
            "sparse": loop(lambda s: tf.sparse.map_values(lambda v: v * 2.0, s), sparse),
            "sparse of another rank": loop(wider, sparse),
            "indexed": loop(
                lambda s: tf.IndexedSlices(s.values * 2.0, s.indices, s.dense_shape), slices
            ),
            "indexed to dense": loop(lambda s: tf.ones([4, 2]), slices),
            "dense to sparse": loop(lambda s: sparse, tf.ones([2])),
            "another shape": loop(lambda x: tf.concat([x, x], 0), tf.ones([2])),
            "another dtype": loop(lambda x: tf.cast(x, tf.int32), tf.ones([2])),
        }
    )


def elements_of_arrays_twice(tf, np):
    def twice_written():
        array = tf.TensorArray(tf.float32, 2)
        array = array.write(0, 1.0)
        return array.write(0, 2.0).stack()

    def twice_read(clear):
        def run():
            array = tf.TensorArray(tf.float32, 2, clear_after_read=clear)
            array = array.write(0, 1.0).write(1, 2.0)
            return array.read(0) + array.read(0)

        return run

    def read_before_writing():
        return tf.TensorArray(tf.float32, 2, element_shape=[]).read(0)

    def half_written():
        return tf.TensorArray(tf.float32, 2, element_shape=[]).write(0, 1.0).stack()

    def beyond():
        return tf.TensorArray(tf.float32, 2).write(2, 1.0).stack()

    calls = {
        "written": twice_written,
        "read": twice_read(True),
        "read and kept": twice_read(False),
        "unwritten": read_before_writing,
        "half": half_written,
        "beyond": beyond,
    }
    return [answers(calls), answers({k: tf.function(c) for k, c in calls.items()})]


def values_that_become_tensors(tf, np):
    class Wrapped:
        array = np.ones([2], np.float32)
        __array_interface__ = array.__array_interface__

    class Numbers(collections.abc.Sequence):
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return [1, 2][i]

    class Adds:
        def __radd__(self, other):
            return "radd"

        def __rmul__(self, other):
            return "rmul"

    x = tf.constant([1.0, 2.0])
    return answers(
        {
            "interface": lambda: tf.constant(Wrapped()),
            "sequence": lambda: tf.constant(Numbers()),
            "radd": lambda: x + Adds(),
            "rmul": lambda: x * Adds(),
            "empty segments": lambda: tf.sparse.segment_sum(x, [], []),
            "int16 ids": lambda: tf.math.unsorted_segment_sum(x, tf.constant([0, 0], tf.int16), 1),
            "huge": lambda: tf.constant([10**400], tf.float64),
            "object": lambda: tf.constant(object()),
        }
    )


def decorated_methods(tf, np):
    class Scale:
        factor = 3.0

        @tf.custom_gradient
        def scaled(self, x):
            return x * self.factor, lambda dy: (None, dy * 7.0)

        @tf.numpy_function(Tout=tf.float32)
        def hosted(x):
            return np.float32(x * 2)

    @tf.numpy_function(Tout=tf.float32)
    def doubled(x):
        return x * np.float32(2)

    @tf.py_function(Tout=tf.float32)
    def tripled(x):
        return x * 3.0

    x = tf.constant(2.0)

    def gradient():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = Scale().scaled(x)
        return [y, tape.gradient(y, x)]

    return answers(
        {
            "numpy": lambda: doubled(x),
            "python": lambda: tripled(x),
            "in a function": lambda: tf.function(lambda v: [doubled(v), tripled(v)])(x),
            "value": lambda: Scale().scaled(x),
            "gradient": gradient,
        }
    )


def shapes_known_through_calls(tf, np):
    @tf.function
    def fill(n):
        return tf.fill(tf.stack([5, n]), 1.0)

    @tf.function
    def outer():
        return fill(4)

    found = []

    @tf.function
    def parts():
        a, b = tf.split(tf.constant([1, 2, 3, 4]), 2)
        found.append([tf.get_static_value(a), tf.get_static_value(b)])
        found.append(tf.get_static_value(tf.stack([1, tf.unstack(tf.constant([5, 6]))[1]])))
        return a

    parts()
    return [outer.get_concrete_function().output_shapes.as_list(), found]


def einsum_of_repeated_labels(tf, np):
    x = tf.constant([1.0, 2.0])
    return answers(
        {
            "output": lambda: tf.raw_ops.Einsum(inputs=[x], equation="a->aa"),
            "input": lambda: tf.raw_ops.Einsum(inputs=[tf.ones([2, 2])], equation="aa->a"),
            "public": lambda: tf.einsum("a->aa", x),
        }
    )


def lists_that_grow_in_loops(tf, np):
    @tf.function
    def grows(n):
        items = [tf.constant(0)]
        for _ in tf.range(n):
            items = items + [tf.constant(0)]
        return items

    @tf.function
    def other_keys(x):
        if x > 0:
            made = {"a": 1.0}
        else:
            made = {"b": 2.0}
        return made

    @tf.function
    def longer(x):
        if x > 0:
            made = (1.0,)
        else:
            made = (1.0, 2.0)
        return made

    return [
        raised(lambda: grows(tf.constant(2))),
        raised(lambda: other_keys(tf.constant(1))),
        raised(lambda: longer(tf.constant(1))),
    ]


def branches_of_different_dtypes(tf, np):
    @tf.function
    def chosen(x):
        if x > 0:
            y = 1
        else:
            y = 2.0
        return y

    return raised(lambda: chosen(tf.constant(1)))


def initial_values_that_depend_on_arguments(tf, np):
    class Mean:
        v = None

        @tf.function
        def __call__(self, x):
            if self.v is None:
                self.v = tf.Variable(tf.cast(tf.reduce_mean(x), tf.float32))
            return self.v + x

    mean = Mean()
    return [mean(tf.constant(3.0)), mean(tf.constant(5.0)), mean.v]


def errors_of_calls_in_functions(tf, np):
    return [
        raised(tf.function(lambda: tf.slice(tf.ones([2]), [1], [5]))),
        raised(lambda: tf.function(lambda n: tf.slice(tf.ones([2]), [n], [5]))(tf.constant(1))),
        raised(tf.function(lambda: tf.pad(tf.ones([2]), [[5, 5]], "REFLECT"))),
        raised(
            lambda: tf.function(lambda p: tf.pad(tf.ones([2]), p, "REFLECT"))(tf.constant([[5, 5]]))
        ),
        raised(lambda: tf.constant(object())),
    ]


def structured_outputs_of_signatures(tf, np):
    @tf.function
    def f(x, n):
        return {"y": x * n, "z": [x]}

    concrete = f.get_concrete_function(tf.TensorSpec([None], tf.float32), 2)
    outputs = concrete.structured_outputs
    return [
        sorted(outputs),
        [t.shape.as_list() for t in tf.nest.flatten(outputs)],
        [t.dtype for t in tf.nest.flatten(outputs)],
    ]


def numbers_as_predicates(tf, np):
    def chosen(p):
        return tf.cond(p, lambda: tf.constant(1), lambda: tf.constant(2))

    given = {"three": 3, "none": 0, "half": 0.5, "tensor": tf.constant(2), "one": tf.constant([7])}
    return [
        answers({name: lambda p=p: chosen(p) for name, p in given.items()}),
        answers({name: lambda p=p: tf.function(chosen)(p) for name, p in given.items()}),
    ]


def calls_that_leave_python_values_out(tf, np):
    @tf.function
    def f(x, n, k=3):
        return x * n * k

    c, x = f.get_concrete_function(tf.constant(1.0), 2), tf.constant(3.0)
    return answers(
        {
            "both": lambda: c(x),
            "default": lambda: c(x, 2),
            "by name": lambda: c(x=x, n=2),
            "all": lambda: c(x, 2, 3),
            "another": lambda: c(x, 5),
            "another default": lambda: c(x, 2, 4),
        }
    )


PROGRAMS = [
    numbers_as_predicates,
    calls_that_leave_python_values_out,
    sequences_as_arguments,
    initializers_of_eager_variables,
    lookups_of_ragged_ids,
    windows_that_do_not_fit,
    vectorized_bodies,
    ragged_tensors_through_functions_of_the_user,
    sparse_tensors_through_functions_of_the_user,
    checks_of_composites,
    printed_composites,
    repeated_values_of_protos,
    fields_of_protos,
    dropout_of_several_rates,
    checks_of_ranks_and_shapes,
    loop_variables_that_change_their_form,
    elements_of_arrays_twice,
    values_that_become_tensors,
    decorated_methods,
    shapes_known_through_calls,
    einsum_of_repeated_labels,
    lists_that_grow_in_loops,
    branches_of_different_dtypes,
    initial_values_that_depend_on_arguments,
    errors_of_calls_in_functions,
    structured_outputs_of_signatures,
]
