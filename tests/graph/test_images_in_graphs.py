"""Functions of images in graphs that know no size: what is checked, is checked when they run."""

import subprocess
import sys

import numpy as np
import pytest

import talweg.compat.v1 as tf
from talweg.api.image.boxes import draw_bounding_boxes

REFUSED = {  # a function of images, and the shape of one that it refuses
    "adjust_hue": (lambda x: tf.image.adjust_hue(x, 0.1), (4, 5, 4)),
    "grayscale_to_rgb": (tf.image.grayscale_to_rgb, (4, 5, 2)),
    "random_crop": (lambda x: tf.image.random_crop(x, [3, 6, 1]), (4, 5, 1)),
    "draw_bounding_boxes": (
        lambda x: draw_bounding_boxes(x[None], np.zeros((1, 1, 4), "f"), None),
        (4, 5, 2),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_when_run(name):
    """InvalidArgumentError, though nothing was known while the graph was built."""
    function, shape = REFUSED[name]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None, None])
        found = function(x)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(found, {x: np.ones(shape, np.float32)})


@pytest.mark.parametrize("shape", [(3, 9, 2), (8, 4, 1), (5, 6, 3)])
def test_sizes_asked_for_are_known(shape):
    """The graph knows the sizes that were asked for, and any image gets them."""
    image = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None, None])
        found = tf.image.resize_with_crop_or_pad(x, 5, 6)
        assert found.shape.as_list()[:2] == [5, 6]
        middle = tf.image.central_crop(x, 0.6)
        given = session.run([found, middle], {x: image})
    rows, columns = [min(pair) for pair in zip(shape, (5, 6))]
    cut = [max((own - new) // 2, 0) for own, new in zip(shape, (5, 6))]
    wanted = image[cut[0] : cut[0] + rows, cut[1] : cut[1] + columns]
    before = [(new - own) // 2 for own, new in zip((rows, columns), (5, 6))]
    inside = given[0][before[0] : before[0] + rows, before[1] : before[1] + columns]
    np.testing.assert_array_equal(inside, wanted)
    assert given[0].sum() == wanted.sum()
    margins = [int((own - own * 0.6) / 2) for own in shape[:2]]
    cropped = image[margins[0] : shape[0] - margins[0], margins[1] : shape[1] - margins[1]]
    np.testing.assert_array_equal(given[1], cropped)


def test_boxes_drawn_one_after_another():
    """Any number of boxes: later ones cover earlier ones; what is covered has no derivative."""
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 0.5, 0.5]]], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None] * 4)
        given = tf.placeholder(tf.float32, [None] * 3)
        found = draw_bounding_boxes(x, given, [[2.0], [3.0]])
        (slope,) = tf.gradients(found, [x])
        feeds = {x: np.zeros((1, 5, 5, 1), np.float32), given: boxes}
        drawn, slopes = session.run([found[0, :, :, 0], slope[0, :, :, 0]], feeds)
    assert drawn[0].tolist() == [3, 3, 3, 2, 2]
    assert drawn[1].tolist() == [3, 0, 3, 0, 2]
    np.testing.assert_array_equal(slopes, drawn == 0)


def test_examples_before_any_ragged_tensor():
    """Ragged features are parsed in a function that nothing else prepared for ragged tensors."""
    program = """
import talweg as tf
numbers = tf.train.Feature(int64_list=tf.train.Int64List(value=[3, 4]))
text = tf.train.Example(features=tf.train.Features(feature={"k": numbers})).SerializeToString()
parse = lambda texts: tf.io.parse_example(texts, {"k": tf.io.RaggedFeature(tf.int64)})["k"]
print(tf.function(parse)(tf.constant([text, b""])).to_list())
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout.strip() == "[[3, 4], []]", found.stderr[-500:]


def test_padding_to_sizes_that_are_tensors():
    """The result has TensorFlow's values, with ranks known or not; what does not fit is refused."""
    image = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    wanted = np.zeros((4, 6, 2), np.float32)
    wanted[1:3, 2:5] = image
    for shape in (None, [None, None, None], [2, 3, 2]):
        with tf.Graph().as_default(), tf.Session() as session:
            x, sizes = tf.placeholder(tf.float32, shape), tf.placeholder(tf.int32, [2])
            found = tf.image.pad_to_bounding_box(x, 1, 2, sizes[0], sizes[1])
            np.testing.assert_array_equal(session.run(found, {x: image, sizes: [4, 6]}), wanted)
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(found, {x: image, sizes: [2, 6]})
