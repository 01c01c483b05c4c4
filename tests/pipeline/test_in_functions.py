"""What functions of talweg do with datasets beyond TensorFlow, and errors with the user's line."""

import gc
import weakref

import numpy as np
import pytest

import talweg as tf

Dataset = tf.data.Dataset


def test_gradients_flow_through_loops_over_datasets():
    w = tf.Variable(2.0)

    @tf.function
    def slope(dataset):
        with tf.GradientTape() as tape:
            loss = 0.0
            for x in dataset:
                if x > 2.5:
                    continue
                loss += w * w * x
        return loss, tape.gradient(loss, w)

    loss, gradient = slope(Dataset.from_tensor_slices([1.0, 2.0, 3.0]))
    assert (float(loss), float(gradient)) == (12.0, 12.0)


def test_second_derivatives_through_loops():
    w = tf.Variable(3.0)

    @tf.function
    def curvature(dataset):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = 0.0
                for x in dataset:
                    loss += w**3 * x
            first = inner.gradient(loss, w)
        return outer.gradient(first, w)

    assert float(curvature(Dataset.from_tensor_slices([1.0, 2.0]))) == 54.0


def test_return_in_a_loop():
    @tf.function
    def first_above(dataset, limit):
        for x in dataset:
            if x > limit:
                return x
        return tf.constant(-1, tf.int64)

    dataset = Dataset.range(6)
    assert [int(first_above(dataset, n)) for n in (3, 30)] == [4, -1]


def test_one_trace_serves_all_datasets_of_a_structure():
    @tf.function
    def total(dataset):
        return dataset.reduce(tf.constant(0, tf.int64), lambda s, x: s + x)

    found = [int(total(d)) for d in (Dataset.range(4), Dataset.range(5).map(lambda x: x * 2))]
    assert found == [6, 20]
    assert total.experimental_get_tracing_count() == 1
    total(Dataset.from_tensors(tf.constant(7, tf.int64)).repeat(2))
    assert total.experimental_get_tracing_count() == 1


def test_datasets_go_through_functions_and_branches():
    @tf.function
    def pick(flag, a, b):
        return tf.cond(flag, lambda: a.take(2), lambda: b.take(2))

    a, b = Dataset.range(5), Dataset.range(10, 15)
    assert [int(x) for x in pick(tf.constant(True), a, b)] == [0, 1]
    assert [int(x) for x in pick(tf.constant(False), a, b)] == [10, 11]


def test_errors_name_the_line_of_the_function():
    def bad(x):
        return tf.debugging.check_numerics(1.0 / x, "divided")  # the line

    dataset = Dataset.from_tensor_slices([1.0, 0.0]).map(bad).batch(1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="test_in_functions.py") as error:
        list(dataset)
    assert "the line" in str(error.value)


def test_batch_error_names_shapes():
    rows = Dataset.range(1, 3).map(lambda n: tf.fill([n], n))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"shape \[1\] and element 1 .* \[2\]"):
        list(rows.batch(2))


def test_a_graph_tensor_outside_of_its_graph():
    kept = []

    @tf.function
    def leak(n):
        kept.append(Dataset.range(n))
        return n

    leak(tf.constant(3, tf.int64))
    with pytest.raises(TypeError, match="tensor of a graph"):
        list(kept[0])


def test_a_dataset_goes_with_its_last_reference():
    class Marker:
        pass

    marker = Marker()
    gone = weakref.ref(marker)
    dataset = Dataset.range(3).map(lambda x, m=marker: x + 1).shuffle(2).batch(2)
    list(dataset)
    del marker, dataset
    gc.collect()
    assert gone() is None


def test_pipelines_of_a_million_elements():
    total = (
        Dataset.range(1_000_000)
        .map(lambda x: x * 2)
        .batch(10_000)
        .reduce(np.int64(0), lambda s, x: s + tf.reduce_sum(x))
    )
    assert int(total) == 999_999_000_000


def test_strange_uses_say_what_is_wrong():
    dataset = Dataset.range(3)
    for call, kind, text in (
        (lambda: dataset.map(lambda x: x).batch("two"), TypeError, "batch_size"),
        (lambda: dataset.flat_map(lambda x: x), TypeError, "tf.data.Dataset"),
        (lambda: Dataset.from_tensor_slices({}), ValueError, "not be empty"),
        (lambda: dataset.padded_batch(2, padded_shapes=[1]), ValueError, "padded shape"),
        (lambda: Dataset.zip([dataset]), TypeError, "tuple"),
        (lambda: dataset.interleave(lambda x: x), TypeError, "tf.data.Dataset"),
    ):
        with pytest.raises(kind, match=text):
            call()


def test_bucketize_in_a_pipeline():
    edges = [0.0, 1.5, 3.0]
    dataset = Dataset.from_tensor_slices([[-1.0, 1.5], [2.0, 9.0]])
    dataset = dataset.map(lambda x: tf.raw_ops.Bucketize(input=x, boundaries=edges)).batch(2)
    assert next(iter(dataset)).numpy().tolist() == [[0, 2], [2, 3]]
    whole = tf.raw_ops.Bucketize(input=tf.constant([16777217, -5]), boundaries=[16777216.0])
    assert whole.numpy().tolist() == [1, 0]


def test_sizes_computed_as_floats():
    def shaped(x):
        size = tf.convert_to_tensor((2, 3), dtype=tf.float32)
        return tf.reshape(x, (size[0], size[1], 1))

    dataset = Dataset.from_tensors(tf.ones([6])).map(shaped)
    assert next(iter(dataset)).shape == (2, 3, 1)


def test_loops_that_are_not_converted_say_so():
    @tf.function(autograph=False)
    def total(dataset):
        found = tf.constant(0, tf.int64)
        for x in dataset:
            found += x
        return found

    with pytest.raises(TypeError, match="AutoGraph"):
        total(Dataset.range(3))
    first = tf.function(lambda dataset: next(iter(dataset)), autograph=False)
    assert int(first(Dataset.range(3))) == 0


def test_a_step_that_runs_out_writes_nothing_after_it():
    before, after = tf.Variable(0), tf.Variable(0)

    @tf.function
    def step(iterator):
        before.assign_add(1)
        found = iterator.get_next()
        after.assign_add(1)
        return found

    iterator = iter(Dataset.range(1))
    step(iterator)
    with pytest.raises(tf.errors.OutOfRangeError):
        step(iterator)
    assert (int(before), int(after)) == (2, 1)  # TensorFlow: (2, 2)


def test_operations_on_datasets_in_a_graph_of_a_session():
    """The dataset is an operation of the graph, whether or not it uses tensors of it."""
    v1 = tf.compat.v1
    zero = np.int64(0)
    with tf.Graph().as_default(), v1.Session() as session:
        dataset = tf.data.Dataset.range(4)
        total = dataset.reduce(zero, lambda a, b: a + b)
        ask = v1.placeholder(tf.bool)
        branch = tf.cond(ask, lambda: dataset.reduce(zero, lambda a, b: a * 2 + b), lambda: total)
        single = dataset.skip(3).get_single_element()
        count, unknown = dataset.cardinality(), dataset.filter(lambda x: x > 2).cardinality()
        for _ in range(2):
            assert session.run([total, single, count, unknown]) == [6, 3, 4, -2]
        assert [session.run(branch, {ask: flag}) for flag in (True, False)] == [11, 6]
