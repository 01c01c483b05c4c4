"""`tf.TensorArray` in functions: written in loops, read back, split, joined, differentiated."""

from programs.support import raised


def filled_in_a_loop(tf, np):
    @tf.function
    def squares(n):
        array = tf.TensorArray(tf.int32, size=n)
        for i in tf.range(n):
            array = array.write(i, i * i)
        return array.stack()

    return [squares(tf.constant(5)).numpy(), squares(tf.constant(1)).numpy()]


def grows(tf, np):
    @tf.function
    def collatz(n):
        path = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        while n != 1:
            path = path.write(path.size(), n)
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
        return path.stack(), path.size()

    return [t.numpy() for t in collatz(tf.constant(6))]


def grows_past_gaps(tf, np):
    @tf.function
    def run():
        array = tf.TensorArray(tf.float32, size=1, dynamic_size=True, element_shape=[2])
        array = array.write(3, [1.0, 2.0])
        return array.stack(), array.size()

    return [t.numpy() for t in run()]


def unwritten_elements_are_zero(tf, np):
    @tf.function
    def run():
        array = tf.TensorArray(tf.float64, size=3, element_shape=[])
        return array.write(1, tf.constant(5.0, tf.float64)).stack()

    return run().numpy()


def appended_in_autograph(tf, np):
    @tf.function
    def running(x):
        results = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        total = 0.0
        for i in tf.range(tf.shape(x)[0]):
            total += x[i]
            results = results.write(i, total)
        return results.stack()

    return running(tf.constant([1.0, 2.0, 3.0])).numpy()


def read_back_within_the_loop(tf, np):
    @tf.function
    def fibonacci(n):
        array = tf.TensorArray(tf.int32, size=n, clear_after_read=False)
        array = array.write(0, 1)
        array = array.write(1, 1)
        for i in tf.range(2, n):
            array = array.write(i, array.read(i - 1) + array.read(i - 2))
        return array.stack()

    return fibonacci(tf.constant(10)).numpy()


def unstacked_and_read(tf, np):
    @tf.function
    def run(x):
        array = tf.TensorArray(tf.float32, size=3).unstack(x)
        return array.read(2) - array.read(0)

    return run(tf.constant([[1.0, 2.0], [3.0, 4.0], [6.0, 8.0]])).numpy()


def gathered(tf, np):
    @tf.function
    def run(x, rows):
        return tf.TensorArray(tf.float32, size=0, dynamic_size=True).unstack(x).gather(rows)

    return run(tf.constant([[1.0], [2.0], [3.0]]), tf.constant([2, 0])).numpy()


def scattered(tf, np):
    @tf.function
    def run(x, rows):
        array = tf.TensorArray(tf.float32, size=4, element_shape=[2])
        return array.scatter(rows, x).stack()

    return run(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([3, 1])).numpy()


def split_and_joined(tf, np):
    @tf.function
    def run(x, lengths):
        array = tf.TensorArray(tf.float32, size=3, infer_shape=False)
        array = array.split(x, lengths)
        return array.read(0), array.read(1), array.concat()

    x = tf.constant([[1.0], [2.0], [3.0], [4.0]])
    lengths = tf.constant([1, 2, 1])

    @tf.function
    def joined(x, lengths):
        array = tf.TensorArray(tf.float32, size=3, infer_shape=False)
        return array.split(x, lengths).concat()

    return [t.numpy() for t in run(x, lengths)[:2]] + [joined(x, lengths).numpy()]


def joined_from_pieces_of_unequal_length(tf, np):
    @tf.function
    def run(n):
        array = tf.TensorArray(tf.int32, size=n, infer_shape=False, element_shape=[None])
        for i in tf.range(n):
            array = array.write(i, tf.range(i + 1) * 10)
        return array.concat()

    return run(tf.constant(4)).numpy()


def sizes(tf, np):
    @tf.function
    def run(n):
        fixed = tf.TensorArray(tf.float32, size=n)
        growing = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        growing = growing.write(n, 1.0)
        return fixed.size(), growing.size()

    return [t.numpy() for t in run(tf.constant(4))]


def static_properties(tf, np):
    seen = []

    @tf.function
    def run(x):
        array = tf.TensorArray(tf.float32, size=2, element_shape=[3, None])
        seen.extend([array.dtype.name, array.element_shape.as_list()])
        array = array.write(0, x).write(1, x)
        seen.append(array.stack().shape.as_list())
        return array.read(1)

    return [run(tf.ones([3, 2])).numpy(), seen]


def through_a_while_loop(tf, np):
    @tf.function
    def run(n):
        array = tf.TensorArray(tf.float32, size=n)
        _, array, last = tf.while_loop(
            lambda i, array, x: i < n,
            lambda i, array, x: (i + 1, array.write(i, x), x * 2.0),
            (0, array, 1.0),
        )
        return array.stack(), last

    return [t.numpy() for t in run(tf.constant(5))]


def through_a_branch(tf, np):
    @tf.function
    def run(x, forward):
        array = tf.TensorArray(tf.float32, size=2)
        if forward:
            array = array.write(0, x)
            array = array.write(1, 2.0 * x)
        else:
            array = array.write(1, x)
            array = array.write(0, -x)
        return array.stack()

    x = tf.constant(3.0)
    return [run(x, tf.constant(True)).numpy(), run(x, tf.constant(False)).numpy()]


def two_arrays_in_one_loop(tf, np):
    @tf.function
    def split(x):
        small = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        large = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for value in x:
            if value < 3.0:
                small = small.write(small.size(), value)
            else:
                large = large.write(large.size(), value)
        return small.stack(), large.stack()

    return [t.numpy() for t in split(tf.constant([5.0, 1.0, 3.0, 2.0, 9.0]))]


def cumulative_matrix_products(tf, np):
    @tf.function
    def run(matrices):
        n = tf.shape(matrices)[0]
        array = tf.TensorArray(tf.float64, size=n, element_shape=[2, 2])
        product = tf.eye(2, dtype=tf.float64)
        for i in tf.range(n):
            product = product @ matrices[i]
            array = array.write(i, product)
        return array.stack()

    return run(tf.constant(np.arange(12.0).reshape(3, 2, 2))).numpy()


def gradient_of_a_filled_array(tf, np):
    @tf.function
    def powers(x, n):
        array = tf.TensorArray(tf.float64, size=n)
        value = tf.ones_like(x)
        for i in tf.range(n):
            value = value * x
            array = array.write(i, value)
        return array.stack()

    x = tf.constant(2.0, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = powers(x, tf.constant(4))
        loss = tf.reduce_sum(y * [1.0, 10.0, 100.0, 1000.0])
    return tape.gradient(loss, x).numpy()


def gradient_of_reads(tf, np):
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            array = tf.TensorArray(tf.float64, size=3, clear_after_read=False).unstack(x)
            y = array.read(0) * array.read(2) + array.read(0) ** 2
        return tape.gradient(y, x)

    return run(tf.constant([2.0, 3.0, 5.0], tf.float64)).numpy()


def gradient_of_a_growing_array(tf, np):
    @tf.function
    def run(x, n):
        array = tf.TensorArray(tf.float64, size=0, dynamic_size=True, element_shape=[])
        while tf.cast(array.size(), tf.float64) < n:
            array = array.write(array.size(), tf.sin(x * tf.cast(array.size() + 1, tf.float64)))
        return tf.reduce_sum(array.stack() ** 2)

    x = tf.constant(0.7, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(x, tf.constant(4.0, tf.float64))
    return [y.numpy(), tape.gradient(y, x).numpy()]


def gradient_of_gather_and_scatter(tf, np):
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            rows = tf.TensorArray(tf.float64, size=3).unstack(x).gather([2, 1])
            y = tf.TensorArray(tf.float64, size=2).scatter([1, 0], rows * rows).stack()
            loss = tf.reduce_sum(y * [[1.0], [10.0]])
        return tape.gradient(loss, x)

    return run(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], tf.float64)).numpy()


def gradient_of_concat_and_split(tf, np):
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            array = tf.TensorArray(tf.float64, size=2, infer_shape=False, element_shape=[None])
            array = array.split(x, [1, 3])
            y = tf.reduce_sum(array.concat() ** 3)
        return tape.gradient(y, x)

    return run(tf.constant([1.0, 2.0, 3.0, 4.0], tf.float64)).numpy()


def second_derivative_of_an_array(tf, np):
    @tf.function
    def run(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                array = tf.TensorArray(tf.float64, size=3)
                for i in tf.range(3):
                    array = array.write(i, x ** (tf.cast(i, tf.float64) + 2.0))
                y = tf.reduce_sum(array.stack())
            first = inner.gradient(y, x)
        return first, outer.gradient(first, x)

    return [t.numpy() for t in run(tf.constant(1.5, tf.float64))]


def element_shape_is_checked(tf, np):
    @tf.function
    def run(x):
        array = tf.TensorArray(tf.float32, size=2, element_shape=[2])
        return array.write(0, x).stack()

    return raised(lambda: run(tf.constant([1.0, 2.0, 3.0])))


def recurrent_cell(tf, np):
    weights = tf.Variable(np.array([[0.5, -0.2], [0.3, 0.8]]))

    @tf.function(input_signature=[tf.TensorSpec([None, None, 2], tf.float64)])
    def run(x):
        x = tf.transpose(x, [1, 0, 2])
        steps = tf.shape(x)[0]
        states = tf.TensorArray(tf.float64, size=steps)
        state = tf.zeros([tf.shape(x)[1], 2], tf.float64)
        for t in tf.range(steps):
            state = tf.tanh(x[t] + state @ weights)
            states = states.write(t, state)
        return tf.transpose(states.stack(), [1, 0, 2])

    results = []
    for batch, steps in ((1, 3), (2, 2)):
        x = np.cos(np.arange(batch * steps * 2.0)).reshape(batch, steps, 2)
        with tf.GradientTape() as tape:
            y = run(tf.constant(x))
        results += [y.numpy(), tape.gradient(y, weights).numpy()]
    return results


PROGRAMS = [
    filled_in_a_loop,
    grows,
    grows_past_gaps,
    unwritten_elements_are_zero,
    appended_in_autograph,
    read_back_within_the_loop,
    unstacked_and_read,
    gathered,
    scattered,
    split_and_joined,
    joined_from_pieces_of_unequal_length,
    sizes,
    static_properties,
    through_a_while_loop,
    through_a_branch,
    two_arrays_in_one_loop,
    cumulative_matrix_products,
    gradient_of_a_filled_array,
    gradient_of_reads,
    gradient_of_a_growing_array,
    gradient_of_gather_and_scatter,
    gradient_of_concat_and_split,
    second_derivative_of_an_array,
    element_shape_is_checked,
    recurrent_cell,
]
