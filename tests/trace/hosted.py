"""Programs with a part that cannot be compiled: each gives (function, arguments, variables)."""

from __future__ import annotations

import numpy as np

import talweg as tf

PROGRAMS: dict = {}


def program(function):
    """Register a program by its name."""
    PROGRAMS[function.__name__] = function
    return function


def numbers(*shape, seed=0):
    """Normal numbers, always the same."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@program
def masked_loss():
    first, second = tf.Variable(numbers(20, 16) * 0.3), tf.Variable(numbers(16, 10) * 0.3)

    def step(x, labels, mask):
        with tf.GradientTape() as tape:
            logits = tf.nn.relu(x @ first) @ second
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(tf.boolean_mask(losses, mask))
        for variable, slope in zip([first, second], tape.gradient(loss, [first, second])):
            variable.assign_sub(0.1 * slope)
        return loss

    return step, (numbers(8, 20), np.arange(8), np.arange(8) % 3 > 0), [first, second]


@program
def masked_convolution():
    kernel = tf.Variable(numbers(3, 3, 2, 4) * 0.3)

    def step(images, mask):
        with tf.GradientTape() as tape:
            maps = tf.nn.relu(tf.nn.conv2d(images, kernel, 1, "SAME"))
            maps = tf.nn.max_pool2d(maps, 2, 2, "SAME")
            kept = tf.boolean_mask(maps, mask)
            loss = tf.reduce_mean(kept * kept)
        kernel.assign_sub(0.1 * tape.gradient(loss, kernel))
        return loss, kept

    return step, (numbers(4, 6, 6, 2), np.array([True, False, True, True])), [kernel]


@program
def nothing_is_left():
    def step(x, mask):
        with tf.GradientTape() as tape:
            tape.watch(x)
            kept = tf.boolean_mask(tf.tanh(x @ tf.transpose(x)), mask)
            loss = tf.reduce_sum(kept)
        return loss, kept, tape.gradient(loss, x)

    return step, (numbers(4, 3), np.zeros(4, bool)), []


@program
def where_and_gather():
    def step(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.sin(x) @ tf.transpose(x)
                places = tf.where(y > 0)
                loss = tf.reduce_sum(tf.gather_nd(y, places) ** 2)
            slope = inner.gradient(loss, x)
        return loss, slope, places, outer.gradient(slope, x)

    return step, (numbers(5, 4),), []


@program
def unique_and_segments():
    def step(ids, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            found, places = tf.unique(ids)
            sums = tf.math.unsorted_segment_sum(tf.exp(x), places, tf.size(found))
            loss = tf.reduce_sum(sums * sums)
        return found, sums, loss, tape.gradient(loss, x)

    return step, (np.array([3, 1, 3, 2, 1, 7]), numbers(6, 4)), []


@program
def embedding_with_equal_ids():
    table, weights = tf.Variable(numbers(50, 6)), tf.Variable(numbers(6, 3))
    squares = tf.Variable(np.zeros((50, 6), np.float32))

    def step(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.tanh(tf.nn.embedding_lookup(table, ids) @ weights) ** 2)
        rows, slope = tape.gradient(loss, [table, weights])
        found, places = tf.unique(rows.indices)
        values = tf.math.unsorted_segment_sum(rows.values, places, tf.shape(found)[0])
        squares.scatter_add(tf.IndexedSlices(values * values, found))
        scale = tf.sqrt(tf.gather(squares, found)) + 1e-3
        table.scatter_sub(tf.IndexedSlices(0.1 * values / scale, found))
        weights.assign_sub(0.1 * slope)
        return loss

    return step, (np.array([3, 1, 3, 2, 1, 7]),), [table, weights, squares]


@program
def strings_beside():
    def step(x, text):
        y = tf.tanh(x @ x)
        return y, tf.strings.join([text, "!"]), text, tf.strings.length(text) + 1

    return step, (numbers(5, 5), np.array([b"a", b"bc"], object)), []


@program
def a_string_of_a_number():
    def step(x):
        y = tf.reduce_sum(tf.tanh(x @ x))
        return y, tf.strings.as_string(tf.cast(y * 0, tf.int32) + 3)

    return step, (numbers(5, 5),), []


@program
def a_string_that_is_kept():
    text = tf.Variable(tf.constant("a"))

    def step(x):
        text.assign(tf.strings.join([text, "b"]))
        return tf.tanh(x @ x), text.read_value()

    return step, (numbers(4, 4),), [text]


@program
def ragged_rows_beside():
    def step(x, values, lengths):
        rows = tf.RaggedTensor.from_row_lengths(values, lengths)
        return tf.reduce_sum(rows, 1), tf.tanh(x @ x), rows.to_tensor()

    return step, (numbers(3, 3), numbers(6), np.array([1, 0, 3, 2])), []


@program
def ranges():
    def step(x, n):
        most = tf.reduce_max(tf.cast(tf.abs(x), tf.int32)) + 2
        mean = tf.reduce_mean(tf.cast(tf.range(most), tf.float32))
        return tf.reduce_sum(tf.range(0, n, 2)), mean, tf.reduce_sum(tf.tanh(x @ x))

    return step, (numbers(5, 5), np.int32(6)), []


@program
def the_best_k():
    def step(x, k):
        with tf.GradientTape() as tape:
            tape.watch(x)
            values, places = tf.math.top_k(tf.tanh(x), k)
            loss = tf.reduce_sum(values * values)
        return values, places, tape.gradient(loss, x)

    return step, (numbers(5, 9), np.int32(3)), []


@program
def shapes_by_value():
    def step(x, n):
        y = tf.tanh(x @ tf.transpose(x))
        z = tf.reshape(y, [n, -1])
        return tf.reduce_sum(z, 0), tf.reduce_mean(y[:n]), tf.reduce_sum(tf.reduce_mean(z, 1))

    return step, (numbers(6, 4), np.int32(4)), []


@program
def mean_of_a_stack():
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            array = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[4])
            i, h = tf.constant(0), x
            while tf.reduce_sum(h * h) > 0.5:
                h = 0.7 * h
                array = array.write(i, tf.sin(h))
                i += 1
            rows = array.stack()
            loss = tf.reduce_mean(rows)
        return loss, rows, tf.shape(rows), tape.gradient(loss, x)

    return step, (numbers(4),), []


@program
def parts_and_stitches():
    def step(x, parts):
        with tf.GradientTape() as tape:
            tape.watch(x)
            one, other = tf.dynamic_partition(tf.sin(x), parts, 2)
            places = tf.dynamic_partition(tf.range(6), parts, 2)
            y = tf.dynamic_stitch(places, [one * 2.0, other * other])
            loss = tf.reduce_sum(y * y)
        return y, loss, tape.gradient(loss, x)

    return step, (numbers(6, 3), np.array([0, 1, 1, 0, 1, 0], np.int32)), []


@program
def a_loop_that_grows():
    weights = tf.Variable(numbers(30, 30) * 0.1)
    shapes = (tf.TensorShape([]), tf.TensorShape([None, 2]))

    def grow(i, v):
        return i + 1, tf.concat([v, v[:1] * 0.5], 0)

    def step(x, y):
        _, v = tf.while_loop(lambda i, v: i < 5, grow, (0, y), shapes)
        count = tf.cast(tf.reduce_sum(v) * 0, tf.int32) + 3
        _, w = tf.while_loop(lambda i, v: i < count, grow, (0, y), shapes)
        return v, tf.reduce_sum(w), tf.reduce_sum(tf.tanh(x @ weights))

    return step, (numbers(30, 30), numbers(2, 2)), [weights]


@program
def a_mask_in_a_loop():
    weights = tf.Variable(numbers(6, 6) * 0.4)

    def step(x):
        with tf.GradientTape() as tape:
            h, total = x, tf.constant(0.0)
            for _ in tf.range(5):
                h = tf.tanh(h @ weights)
                total += tf.reduce_sum(tf.boolean_mask(h, h > 0))
        return total, tape.gradient(total, weights)

    return step, (numbers(4, 6),), [weights]


@program
def a_mask_in_a_loop_without_gradient():
    weights, count = tf.Variable(numbers(6, 6) * 0.4), tf.Variable(0)

    def step(x):
        h, total = x, tf.constant(0.0)
        for _ in tf.range(5):
            h = tf.tanh(h @ weights)
            positive = tf.boolean_mask(h, h > 0)
            count.assign_add(tf.size(positive))
            total += tf.reduce_sum(positive)
        return total, h

    return step, (numbers(4, 6),), [weights, count]


@program
def a_mask_in_a_branch():
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x @ tf.transpose(x)
            loss = tf.cond(
                tf.reduce_sum(x) > -100,
                lambda: tf.reduce_mean(tf.boolean_mask(y, y > 0)),
                lambda: tf.reduce_sum(y),
            )
        return loss, tape.gradient(loss, x)

    return step, (numbers(4, 6),), []


@program
def masks_one_after_the_other():
    def step(x):
        for _ in range(3):
            kept = tf.boolean_mask(x, x > 0)
            x = tf.tanh(x @ x) + tf.reduce_mean(kept) + tf.reduce_max(kept)
        return x, kept

    return step, (numbers(12, 12),), []


@program
def a_called_function_with_a_mask():
    @tf.function
    def positive(x):
        kept = tf.boolean_mask(x, x > 0)
        return kept, tf.reduce_sum(kept)

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            (a, s), (b, t) = positive(tf.sin(x @ x)), positive(x)
            loss = s * t + tf.reduce_sum(a) * tf.reduce_mean(b)
        return loss, a, tape.gradient(loss, x)

    return step, (numbers(5, 5),), []


@program
def boxes():
    corners = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 2, 1, 3.05]]

    def step(boxes, scores):
        kept = tf.image.non_max_suppression(boxes, tf.nn.sigmoid(scores), 3)
        return kept, tf.gather(boxes, kept), tf.reduce_sum(tf.gather(scores, kept))

    return step, (np.array(corners, np.float32), numbers(4)), []


@program
def random_numbers_beside():
    def step(x):
        dropped = tf.nn.dropout(x, 0.5, seed=3)
        return tf.reduce_sum(tf.boolean_mask(dropped, dropped > 0)), dropped

    return step, (numbers(8, 8),), []


@program
def random_numbers_in_a_loop_that_grows():
    def grow(i, v):
        return i + 1, tf.concat([v, tf.random.normal([1], seed=5)], 0)

    @tf.function
    def grown(count):
        shapes = (tf.TensorShape([]), tf.TensorShape([None]))
        return tf.while_loop(lambda i, v: i < count, grow, (0, tf.zeros([0])), shapes)[1]

    def step(x):
        count = tf.cast(tf.reduce_sum(x) * 0, tf.int32) + 3
        total = tf.zeros([])
        for i in tf.range(3):
            total += tf.reduce_sum(grown(count + i))
        later = tf.tanh(x @ x) * total
        return total, later, grown(tf.cast(later[0, 0] * 0, tf.int32) + 2), grown(count)

    return step, (numbers(8, 8),), []


@program
def a_variable_of_any_size():
    held = tf.Variable(np.zeros(0, np.float32), shape=tf.TensorShape([None]))

    def step(x):
        before, y = tf.reduce_sum(held), tf.reshape(x @ x, [-1])
        held.assign(tf.boolean_mask(y, y > 0))
        return before

    return step, (numbers(4, 4),), [held]


@program
def a_function_called_with_what_is_left():
    weights = tf.Variable(numbers(6, 6) * 0.4)

    @tf.function
    def model(x):
        return tf.nn.relu(tf.nn.dropout(x, 0.5, seed=2) @ weights) @ weights

    def step(x, mask):
        with tf.GradientTape() as tape:
            y = tf.tanh(x @ weights)
            loss = tf.reduce_mean(model(tf.boolean_mask(y, mask)) ** 2)
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    return step, (numbers(8, 6), np.arange(8) % 3 > 0), [weights]
