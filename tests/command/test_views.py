"""What notebooks show of tensors, variables, datasets, functions and models."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import talweg as tf
from talweg.api.views import BINS, histogram, html_view, looks_like_images

images = np.random.default_rng(0).random((12, 28, 28, 1)).astype("f4")


def shown(value):
    """The HTML, whose elements are closed."""
    text = value._repr_html_()
    ElementTree.fromstring(re.sub(r"<img ([^>]*)>", r"<img \1/>", text))
    return text


def test_numbers():
    text = shown(tf.constant([[1.0, 2.0], [3.0, float("nan")]]))
    assert "shape (2, 2), float32" in text and "1 to 3, mean 2, 1 NaN" in text
    assert "[ 3. nan]" in text and "<details>" in text and "<svg" in text


def test_scalars_and_strings():
    assert "<svg" not in shown(tf.constant(3)) and "int32" in shown(tf.constant(3))
    assert "b&#x27;a&lt;b&#x27;" in shown(tf.constant(["a<b"]))
    assert "shape (0,)" in shown(tf.zeros([0]))
    assert "bfloat16" in shown(tf.ones([3], tf.bfloat16))
    assert "complex64" in shown(tf.complex(1.0, [2.0, 3.0])) and "True" in shown(
        tf.constant([True])
    )


def test_ragged_and_sparse_tensors_and_traces():
    ragged = shown(tf.ragged.constant([[1], [], [2, 3]]))
    assert "3 rows of 0 to 2 elements" in ragged and "[2, 3]" in ragged and "(3, None)" in ragged
    assert "60 rows" in shown(tf.RaggedTensor.from_row_lengths(tf.ones([60]), [1] * 60))
    assert "RaggedTensor" in shown(tf.ragged.constant([["<a>"], [["b"]][0]]))
    sparse = shown(tf.sparse.from_dense([[0, 1], [2, 0]]))
    assert "2 of 4 elements, 50.00%" in sparse and "(0, 1)" in sparse
    assert "0 of 0" in shown(tf.sparse.from_dense(tf.zeros([0, 3])))
    w = tf.Variable([1.0], name="w")
    f = tf.function(lambda x: x * w)
    trace = shown(f.get_concrete_function(tf.TensorSpec([None])))
    assert "TensorSpec(shape=(None,), dtype=tf.float32" in trace and ">w<" in trace
    assert "traced once" in shown(f) and "traced once" in repr(f)


def test_images_have_pictures():
    text = shown(tf.constant(images))
    assert text.count("<img") == 8 and "12 in all" in text
    data = re.search(r"base64,([^\"]+)", text)[1]
    pixels = tf.io.decode_png(base64.b64decode(data)).numpy()
    np.testing.assert_array_equal(pixels, (images[0] * 255).round())
    large = tf.constant(np.zeros([500, 300, 3], np.uint8))
    assert 'width="50" height="84"' in shown(large)


@pytest.mark.parametrize(
    "shape, fits",
    [([8, 8, 3], True), ([2, 8, 8, 1], True), ([8, 8, 2], False), ([2, 3, 3], False), ([8], False)],
)
def test_what_looks_like_images(shape, fits):
    assert looks_like_images(np.zeros(shape, np.uint8)) == fits
    assert not looks_like_images(np.full(shape, 7.0))


def test_a_histogram_counts_everything():
    numbers = np.random.default_rng(0).normal(size=1000)
    counts = [int(each) for each in re.findall(r": (\d+)</title>", histogram(numbers))]
    assert len(counts) == BINS and sum(counts) == 1000


def test_variables_datasets_functions_and_modules():
    assert "tf.Variable kernel, not trainable" in shown(
        tf.Variable([1.0], name="kernel", trainable=False)
    )
    data = tf.data.Dataset.from_tensor_slices({"a": np.ones([10, 3])}).batch(2)
    assert "5 elements" in shown(data) and "(None, 3)" in shown(data)
    double = tf.function(lambda x: 2 * x)
    assert "traced 0 times" in shown(double)
    _ = double(tf.constant(1)), double(tf.constant(1.0))
    assert "traced 2 times" in shown(double) and "dtype float32, was int32" in shown(double)

    class Dense(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.zeros([3, 2]), name="w")

    assert "1 variables, 6 numbers, 6 of them trained" in shown(Dense())


def test_tensors_of_graphs_and_keras_models():
    found = []
    tf.function(lambda x: found.append(html_view(x)), autograph=False)(tf.ones([2]))
    assert "of a graph: shape (2,), float32" in found[0]
    model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
    model.build([None, 4])
    assert "2 variables, 15 numbers" in html_view(model)


def test_a_tape_does_not_notice():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        y._repr_html_()
    assert float(tape.gradient(y, x)) == 4.0


def test_columns_keep_their_font():
    """JupyterLab gives `<pre>` the font of running text: each of ours names its own."""
    w = tf.Variable([1.0, 2.0])
    step = tf.function(lambda x, n: x * n)
    step(tf.ones([2]), 3)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.round(w))
    shown = [tf.ones([3]), w, step, *step.all_traces(), tape.explain(loss, w)]
    shown.append(tf.check_gradients(tf.sin, [0.5]))
    text = "".join(each._repr_html_() for each in shown)
    assert text.count("<pre") == text.count('<pre style="font-family:ui-monospace') >= 4
    assert "x: float32[2], n: Literal[3]) -&gt; float32[2]" in text
