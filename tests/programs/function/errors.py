"""Mistakes in traced functions, by the class of the exception."""

from programs.support import raised


def branches_of_different_dtype(tf, np):
    @tf.function
    def run(x):
        if x > 0:
            y = x
        else:
            y = tf.constant(1.5)
        return y

    return raised(lambda: run(tf.constant(1)))


def branches_of_different_structure(tf, np):
    @tf.function
    def run(x):
        if x > 0:
            y = (x, x)
        else:
            y = x
        return y

    return raised(lambda: run(tf.constant(1)))


def returns_of_different_dtype(tf, np):
    @tf.function
    def run(x):
        if x > 0:
            return x
        else:
            return tf.cast(x, tf.float32)

    return raised(lambda: run(tf.constant(1)))


def none_from_one_branch(tf, np):
    @tf.function
    def run(x):
        y = None
        if x > 0:
            y = x
        return y

    return raised(lambda: run(tf.constant(1)))


def loop_variable_changes_dtype(tf, np):
    @tf.function
    def run(n):
        x = 0
        for i in tf.range(n):
            x = tf.cast(i, tf.float32)
        return x

    return raised(lambda: run(tf.constant(3)))


def loop_variable_changes_shape(tf, np):
    @tf.function
    def run(n):
        x = tf.zeros([1])
        while tf.size(x) < n:
            x = tf.concat([x, x], axis=0)
        return x

    return raised(lambda: run(tf.constant(3)))


def loop_variable_changes_structure(tf, np):
    @tf.function
    def run(n):
        x = tf.zeros([1])
        for _ in tf.range(n):
            x = (x, x)
        return x

    return raised(lambda: run(tf.constant(3)))


def none_before_a_loop(tf, np):
    @tf.function
    def run(n):
        x = None
        for i in tf.range(n):
            x = i
        return x

    return run(tf.constant(3)).numpy()


def defined_only_in_a_loop(tf, np):
    @tf.function
    def run(n):
        for i in tf.range(n):
            square = i * i
        return square

    return run(tf.constant(3)).numpy()


def undefined_after_a_branch(tf, np):
    @tf.function
    def run(x):
        if x > 0:
            y = x
        else:
            z = x
        return y + z

    return raised(lambda: run(tf.constant(1)))


def leaked_through_a_list(tf, np):
    leaked = []

    @tf.function
    def first(x):
        leaked.append(x * 2.0)
        return x

    @tf.function
    def second(x):
        return x + leaked[0]

    first(tf.constant(1.0))
    return raised(lambda: second(tf.constant(1.0)))


def leaked_and_used_eagerly(tf, np):
    leaked = []

    @tf.function
    def run(x):
        leaked.append(x * 2.0)
        return x

    run(tf.constant(1.0))
    return [raised(lambda: leaked[0] + 1.0), raised(lambda: leaked[0].numpy())]


def leaked_from_a_branch(tf, np):
    @tf.function
    def run(x):
        leaked = []

        def taken():
            leaked.append(x * 2.0)
            return x

        y = tf.cond(x > 0.0, taken, lambda: -x)
        return y + leaked[0]

    return raised(lambda: run(tf.constant(1.0)))


def leaked_from_a_loop(tf, np):
    @tf.function
    def run(x):
        leaked = []

        def body(i, y):
            leaked.append(y)
            return i + 1, y * 2.0

        tf.while_loop(lambda i, y: i < 3, body, (0, x))
        return leaked[0] * 2.0

    return raised(lambda: run(tf.constant(1.0)))


def leaked_through_an_attribute(tf, np):
    class Layer:
        state = None

        @tf.function
        def run(self, x):
            if self.state is None:
                self.state = x * 0.0
            return x + self.state

    layer = Layer()
    layer.run(tf.constant([1.0]))
    return raised(lambda: layer.run(tf.constant([1.0, 2.0])))


def bool_in_a_loop_without_autograph(tf, np):
    """Every trip asks once more: no number of traced paths is enough."""

    @tf.function(autograph=False)
    def run(x):
        while x > 0:
            x = x - 1
        return x

    return raised(lambda: run(tf.constant(1)))


def iteration_without_autograph(tf, np):
    @tf.function(autograph=False)
    def run(x):
        return sum(value for value in x)

    return raised(lambda: run(tf.constant([1, 2])))


def index_of_a_python_list(tf, np):
    @tf.function
    def run(i):
        return [10, 20, 30][i]

    return raised(lambda: run(tf.constant(1)))


def numpy_in_a_trace(tf, np):
    @tf.function
    def method(x):
        return x.numpy()

    @tf.function
    def function(x):
        return np.asarray(x)

    return [raised(lambda: method(tf.constant(1))), raised(lambda: function(tf.constant(1)))]


def conversions_in_a_trace(tf, np):
    @tf.function(autograph=False)
    def number(x):
        return float(x)

    @tf.function(autograph=False)
    def length(x):
        return len(x)

    return [raised(lambda: number(tf.constant(1.0))), raised(lambda: length(tf.constant([1.0])))]


def item_assignment_of_a_tensor(tf, np):
    @tf.function(autograph=False)
    def run(x):
        x[0] = 1.0
        return x

    return raised(lambda: run(tf.constant([1.0, 2.0])))


def shape_mismatch_while_tracing(tf, np):
    @tf.function
    def run(x):
        return tf.matmul(x, tf.ones([3, 2]))

    return raised(lambda: run(tf.ones([2, 2])))


def shape_mismatch_while_running(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
    def run(x):
        return tf.matmul(x, tf.ones([3, 2]))

    return [run(tf.ones([1, 3])).numpy(), raised(lambda: run(tf.ones([2, 2])))]


def dtype_mismatch_while_tracing(tf, np):
    @tf.function
    def run(x):
        return x + tf.constant(1.5)

    return raised(lambda: run(tf.constant(1)))


def index_out_of_range_while_running(tf, np):
    @tf.function
    def run(x, i):
        return x[i]

    x = tf.constant([1, 2, 3])
    return [run(x, tf.constant(-1)).numpy(), raised(lambda: run(x, tf.constant(3)))]


def gather_out_of_range_while_running(tf, np):
    @tf.function
    def run(x, i):
        return tf.gather(x, i)

    return raised(lambda: run(tf.constant([1, 2, 3]), tf.constant([0, 5])))


def failure_in_a_numpy_function(tf, np):
    def fail(x):
        raise ValueError("inside")

    @tf.function
    def run(x):
        return tf.numpy_function(fail, [x], tf.float32)

    return raised(lambda: run(tf.constant(1.0)))


def numerics_are_checked(tf, np):
    @tf.function
    def run(x):
        return tf.debugging.check_numerics(tf.math.log(x), "logarithm")

    return [run(tf.constant(1.0)).numpy(), raised(lambda: run(tf.constant(-1.0)))]


def returned_object_is_not_a_tensor(tf, np):
    class Box:
        pass

    @tf.function
    def run(x):
        return Box()

    return raised(lambda: run(tf.constant(1.0)))


def assigned_value_of_wrong_shape(tf, np):
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def run(x):
        v.assign(x)

    return raised(lambda: run(tf.constant([1.0, 2.0, 3.0])))


def gradient_of_an_unwatched_output(tf, np):
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            y = x * 2.0
        return tape.gradient(y, x)

    return run(tf.constant(1.0)) is None


def called_with_an_unhashable_object(tf, np):
    @tf.function
    def run(x, extra):
        return x

    class Weird:
        __hash__ = None

        def __eq__(self, other):
            return True

    return raised(lambda: run(tf.constant(1.0), Weird()))


def tensors_of_a_graph_outside(tf, np):
    with tf.Graph().as_default() as graph:
        x, v = tf.constant([1.0]), tf.Variable(1.0)
        y = x + 1.0
    uses = [
        lambda: x + 1.0,
        lambda: y + 1.0,
        lambda: tf.exp(x),
        lambda: tf.add_n([x, tf.constant([1.0])]),
        lambda: tf.concat([x, y], 0),
        lambda: y[0],
        lambda: tf.Variable(x),
        lambda: tf.Variable(y),
        lambda: v + 1.0,
        lambda: v.assign(2.0),
        lambda: tf.function(lambda a: a + 1.0)(y),
        lambda: tf.function(lambda a: a + 1.0)(x),
        lambda: tf.cond(y[0] > 0, lambda: 1, lambda: 2),
    ]
    with tf.compat.v1.Session(graph=graph) as session:
        value = session.run(y)
    return [[raised(use) for use in uses], value, tf.convert_to_tensor(x) is x]


def arguments_that_are_changed(tf, np):
    """Lists and dictionaries among the arguments stay as they are; copies may be changed."""
    one = tf.constant(1.0)

    def append(x):
        x.append(one)
        return x[0]

    def exchange(x):
        x[0] = x[0] + 1.0
        return x[0]

    def reverse(x):
        x.reverse()
        return x[0]

    def add_key(x):
        x["z"] = one
        return x["a"]

    def set_key(x):
        x["a"] = x["a"] + 1.0
        return x["a"]

    def inside(x):
        x["a"].append(3)
        return x["b"]

    def restore(x):
        x.append(one)
        return x.pop()

    def copy(x):
        x = list(x)
        x.append(one)
        return x[0]

    uses = [
        (append, [one]),
        (exchange, [one]),
        (reverse, [one, one + 1.0]),
        (add_key, {"a": one}),
        (set_key, {"a": one}),
        (lambda x: x.pop("a"), {"a": one}),
        (inside, {"a": [1], "b": one}),
        (lambda x: [x.append(1), one][1], [1, 2]),
        (restore, [one]),
        (copy, [one]),
        (lambda x: x[0], [one]),
    ]
    found = [raised(lambda f=f, x=x: tf.function(f)(x)) for f, x in uses]
    given = [one]
    again = [raised(lambda: tf.function(append)(given)), len(given)]
    return [found, again, raised(lambda: tf.function(append, autograph=False)([one]))]


PROGRAMS = [
    arguments_that_are_changed,
    tensors_of_a_graph_outside,
    branches_of_different_dtype,
    branches_of_different_structure,
    returns_of_different_dtype,
    none_from_one_branch,
    loop_variable_changes_dtype,
    loop_variable_changes_shape,
    loop_variable_changes_structure,
    none_before_a_loop,
    defined_only_in_a_loop,
    undefined_after_a_branch,
    leaked_through_a_list,
    leaked_and_used_eagerly,
    leaked_from_a_branch,
    leaked_from_a_loop,
    leaked_through_an_attribute,
    bool_in_a_loop_without_autograph,
    iteration_without_autograph,
    index_of_a_python_list,
    numpy_in_a_trace,
    conversions_in_a_trace,
    item_assignment_of_a_tensor,
    shape_mismatch_while_tracing,
    shape_mismatch_while_running,
    dtype_mismatch_while_tracing,
    index_out_of_range_while_running,
    gather_out_of_range_while_running,
    failure_in_a_numpy_function,
    numerics_are_checked,
    returned_object_is_not_a_tensor,
    assigned_value_of_wrong_shape,
    gradient_of_an_unwatched_output,
    called_with_an_unhashable_object,
]
