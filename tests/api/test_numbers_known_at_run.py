"""Functions whose numbers only the run knows look at them there, and keep what is known."""

import pytest

import talweg as tf

UNKNOWN = tf.TensorSpec([])


@pytest.fixture
def crop():
    return tf.function(
        tf.image.central_crop, input_signature=[tf.TensorSpec([2, 7, 9, 1]), UNKNOWN]
    )


@pytest.mark.parametrize(("fraction", "sizes"), [(0.3, (3, 3)), (0.5, (5, 5)), (1.0, (7, 9))])
def test_a_fraction_of_a_picture(crop, fraction, sizes):
    assert crop(tf.ones([2, 7, 9, 1]), fraction).shape == (2, *sizes, 1)
    assert crop.get_concrete_function().output_shapes.as_list() == [2, None, None, 1]


@pytest.mark.parametrize("fraction", [0.0, -0.5, 1.5, float("nan")])
def test_a_fraction_outside_is_refused(crop, fraction):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"central_fraction is not within"):
        crop(tf.ones([2, 7, 9, 1]), fraction)


def test_flags_of_values_whose_number_is_unknown():
    @tf.function
    def kept(x, flags):
        return tf.sparse.retain(tf.sparse.from_dense(x), flags).values

    x = tf.constant([3.0, 0.0, 5.0])
    assert kept(x, tf.constant([False, True])).numpy().tolist() == [5]
    with pytest.raises(tf.errors.InvalidArgumentError, match="one truth value for each value"):
        kept(x, tf.constant([True]))


def test_fields_of_unequal_rows():
    """Known while a function is traced: ValueError; known to the run: InvalidArgumentError."""

    def fields(lengths):
        rows = tf.RaggedTensor.from_row_lengths([1, 3, 4], lengths)
        made = tf.experimental.StructuredTensor.from_fields
        return made({"a": [[1, 2], [3, 4]], "b": rows}, shape=[2, None]).field_value("a")

    with pytest.raises(ValueError, match="Error in shape of b"):
        tf.function(lambda: fields([1, 2]))()
    with pytest.raises(tf.errors.InvalidArgumentError, match="Error in shape of b"):
        tf.function(fields)(tf.constant([1, 2]))
