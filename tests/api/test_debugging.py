"""tf.debugging: texts, messages, and what happens inside tapes and batches."""

import pytest

import talweg as tf

INVALID = tf.errors.InvalidArgumentError


def test_comparisons_show_where():
    with pytest.raises(INVALID) as caught:
        tf.debugging.assert_equal([1, 2, 3, 4], [1, 3, 3, 9], message="my sums", summarize=1)
    text = str(caught.value)
    assert text.startswith("my sums") and "x == y" in text and "[1, ...]" in text
    assert "2 of 4 places" in text and "test_debugging.py" in text


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("assert_equal", (1, 1), (1, 2)),
        ("assert_none_equal", (1, 2), (1, 1)),
        ("assert_less", (1, 2), (2, 2)),
        ("assert_less_equal", (2, 2), (3, 2)),
        ("assert_greater", (2, 1), (1, 1)),
        ("assert_greater_equal", (1, 1), (0, 1)),
        ("assert_near", (1.0, 1.0 + 1e-7), (1.0, 1.1)),
        ("assert_positive", (1,), (0,)),
        ("assert_negative", (-1,), (0,)),
        ("assert_non_negative", (0,), (-1,)),
        ("assert_non_positive", (0,), (1,)),
    ],
)
def test_good_and_bad(name, good, bad):
    check = getattr(tf.debugging, name)
    assert check(*good) is None
    with pytest.raises(INVALID, match=name):
        check(*bad)
    with pytest.raises(INVALID, match="^note"):
        check(*bad, message="note")


def test_near_by_dtype():
    for dtype, gap in ((tf.float16, 0.009), (tf.bfloat16, 0.05), (tf.float64, 1e-15)):
        tf.debugging.assert_near(tf.constant(1.0, dtype), tf.constant(1.0 + gap, dtype))
    with pytest.raises(ValueError, match="int32"):
        tf.debugging.assert_near(1, 1)


def test_assertions_inside_a_batch():
    def row(x):
        tf.debugging.assert_less(x, 5.0)
        return x * 2

    assert tf.vectorized_map(row, tf.constant([1.0, 2.0])).numpy().tolist() == [2.0, 4.0]
    with pytest.raises(INVALID, match="assert_less"):
        tf.vectorized_map(row, tf.constant([1.0, 7.0]))


def test_check_numerics_checks_the_gradient():
    x = tf.constant([0.0, 1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sqrt(tf.debugging.check_numerics(x, "the square"))
    with pytest.raises(INVALID, match="gradient of: the square.*Inf"):
        tape.gradient(y, x)


def test_shapes_by_symbol():
    x, y = tf.zeros([2, 3]), tf.zeros([3])
    tf.debugging.assert_shapes([(x, ("N", "M")), (y, ("M",))])
    tf.debugging.assert_shapes({"text": ()})
    tf.debugging.assert_shapes([(tf.zeros([1, 5, 2, 3]), (..., "N", 3)), (x, ("N", None))])
    with pytest.raises(ValueError, match="size 2 on axis -2"):
        tf.debugging.assert_shapes([(y, ("N",)), (x, ("N", 3))])
    with pytest.raises(ValueError, match="wrong rank"):
        tf.debugging.assert_shapes([(y, ("N", 3))])


def test_switches():
    tf.debugging.disable_traceback_filtering()
    assert not tf.debugging.is_traceback_filtering_enabled()
    tf.debugging.enable_traceback_filtering()
    tf.debugging.set_log_device_placement(True)
    assert tf.debugging.get_log_device_placement()
    tf.debugging.set_log_device_placement(False)


def test_near_without_tolerance():
    """Recorded from TensorFlow 2.21: the difference must be smaller than what is allowed."""
    with pytest.raises(INVALID, match="assert_near"):
        tf.debugging.assert_near(1.0, 1.0, rtol=0.0, atol=0.0)


def test_a_condition_in_a_graph_is_a_truth_value():
    tf.Assert(tf.constant(1.0), ["never shown"])
    with pytest.raises(TypeError, match="float32"):
        tf.function(lambda x: tf.Assert(x, ["never shown"]))(tf.constant(1.0))


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (3, "[[[1 2][3...]]...] [1 2 3...] [3] [a b]"),
        (6, "[[[1 2][3 4]][[5 6]]...] [1 2 3 4] [3] [a b]"),
        (0, "[...] [...] [...] [...]"),
        (-1, "[[[1 2][3 4]][[5 6][7 8]]] [1 2 3 4] [3] [a b]"),
    ],
)
def test_data_is_shown_as_in_tensorflow(count, text):
    """Recorded from TensorFlow 2.21."""
    cube = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    with pytest.raises(INVALID) as caught:
        tf.Assert(False, [cube, [1, 2, 3, 4], 3.0, ["a", "b"]], summarize=count)
    assert f"assertion failed: {text}\n" in str(caught.value)


def test_shapes_of_unknown_sizes_are_asserted_when_the_graph_runs():
    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])])
    def both(x, y):
        tf.debugging.assert_shapes([(x, ("N",)), (y, ("N",))])
        tf.debugging.assert_shapes([(x, (2,))])
        return x + y

    assert both([1.0, 2.0], [1.0, 2.0]).numpy().tolist() == [2.0, 4.0]
    for x, y in (([1.0, 2.0], [1.0]), ([1.0], [1.0])):
        with pytest.raises(INVALID, match="assert_shapes"):
            both(x, y)
