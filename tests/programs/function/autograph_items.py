"""AutoGraph: assignment to elements of tensors, arrays, lists and dictionaries.

TensorFlow converts `x[i] = y` of tensors only when asked for the feature `LISTS`.
"""

from programs.function import truth


def element_of_a_tensor_as_a_feature(tf, np):
    @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.LISTS)
    def run(x, i):
        x[i] = 10
        return x

    return run(tf.constant([1, 2, 3]), tf.constant(1)).numpy()


def elements_in_a_loop_as_a_feature(tf, np):
    @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.LISTS)
    def run(x):
        for i in tf.range(3):
            x[i] = i * i
        return x

    return run(tf.zeros([3], tf.int32)).numpy()


def row_of_a_matrix_as_a_feature(tf, np):
    @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.LISTS)
    def run(x, row):
        x[1] = row
        return x

    return run(tf.zeros([3, 2]), tf.constant([5.0, 6.0])).numpy()


def element_of_an_array_as_a_feature(tf, np):
    @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.LISTS)
    def run(n):
        array = tf.TensorArray(tf.int32, size=3)
        for i in tf.range(n):
            array[i] = i * 2
        return array.stack()

    return run(tf.constant(3)).numpy()


@truth(lambda np: np.int32([1, 10, 3]))
def element_of_a_tensor(tf, np):
    @tf.function
    def run(x, i):
        x[i] = 10
        return x

    return run(tf.constant([1, 2, 3]), tf.constant(1)).numpy()


@truth(lambda np: np.int32([0, 1, 4]))
def elements_in_a_loop(tf, np):
    @tf.function
    def run(x):
        for i in tf.range(3):
            x[i] = i * i
        return x

    return run(tf.zeros([3], tf.int32)).numpy()


@truth(lambda np: np.int32([7, 0, 8]))
def element_in_a_branch(tf, np):
    @tf.function
    def run(x, first):
        x[2] = 8
        if first:
            x[0] = 7
        else:
            x[1] = 7
        return x

    return run(tf.zeros([3], tf.int32), tf.constant(True)).numpy()


def argument_outside_is_left_alone(tf, np):
    @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.LISTS)
    def run(x):
        x[0] = 9
        return x

    x = tf.constant([1, 2])
    return [run(x).numpy(), x.numpy()]


def gradient_of_an_assigned_element(tf, np):
    @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.LISTS)
    def run(x, y):
        x[1] = y * 3.0
        return tf.reduce_sum(x * x)

    x, y = tf.constant([1.0, 2.0, 3.0], tf.float64), tf.constant(5.0, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = run(x, y)
    return [g.numpy() for g in tape.gradient(z, [x, y])]


def element_of_a_python_list(tf, np):
    @tf.function
    def run(x):
        values = [x, x * 2, x * 3]
        values[1] = -x
        values[-1] += 100
        return values

    return [t.numpy() for t in run(tf.constant(5))]


def element_of_a_list_in_a_branch(tf, np):
    @tf.function
    def run(x):
        values = [x, x * 2]
        if x > 0:
            values[0] = values[0] + 100
        return values

    return [[t.numpy() for t in run(tf.constant(x))] for x in (5, -5)]


def entries_of_a_dictionary_in_a_loop(tf, np):
    @tf.function
    def run(n):
        table = {"sum": tf.constant(0), "product": tf.constant(1)}
        for i in tf.range(1, n):
            table["sum"] = table["sum"] + i
            table["product"] = table["product"] * i
        return table

    return [t.numpy() for t in tf.nest.flatten(run(tf.constant(5)))]


def attributes_in_a_loop(tf, np):
    class State:
        pass

    @tf.function
    def run(n):
        state = State()
        state.total = tf.constant(0)
        for i in tf.range(n):
            state.total = state.total + i
        return state.total

    return run(tf.constant(5)).numpy()


def tuple_unpacking(tf, np):
    @tf.function
    def run(x):
        a, (b, *rest) = x[0], (x[1], x[2], x[3])
        a, b = b, a
        if a > b:
            a, b = b, a
        return a, b, rest[0] + rest[1]

    return [t.numpy() for t in run(tf.constant([1, 5, 2, 3]))]


def augmented_assignment(tf, np):
    @tf.function
    def run(x):
        y = x
        y += 2
        y *= 3
        y -= x
        y //= 2
        y **= 2
        return x, y

    return [t.numpy() for t in run(tf.constant(4))]


def named_expression(tf, np):
    @tf.function
    def run(x):
        y = x * 2
        z = (w := y + 1) * w
        return z, w

    return [t.numpy() for t in run(tf.constant(4))]


PROGRAMS = [
    element_of_a_tensor_as_a_feature,
    elements_in_a_loop_as_a_feature,
    row_of_a_matrix_as_a_feature,
    element_of_an_array_as_a_feature,
    element_of_a_tensor,
    elements_in_a_loop,
    element_in_a_branch,
    argument_outside_is_left_alone,
    gradient_of_an_assigned_element,
    element_of_a_python_list,
    element_of_a_list_in_a_branch,
    entries_of_a_dictionary_in_a_loop,
    attributes_in_a_loop,
    tuple_unpacking,
    augmented_assignment,
    named_expression,
]
