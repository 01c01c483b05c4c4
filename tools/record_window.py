"""Record TensorFlow's convolutions, poolings and patches for tests/kernels/test_window_recorded.py.

    python tools/record_window.py

writes tests/kernels/window_values.json. Run it again after a change in window_cases.py.
"""

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "kernels"))

import numpy as np
import tensorflow as tf
import window_cases as cases


def encode(tensor):
    """Return a tensor as JSON: its shape and its elements, whole numbers as integers."""
    array = np.asarray(tensor)
    elements = [int(v) if float(v).is_integer() else float(v) for v in array.ravel()]
    return {"shape": list(array.shape), "elements": elements}


def gradients(function, *operands):
    """The value, and the gradient for an operand by formula, or null where TensorFlow has none."""
    tensors = [tf.constant(operand) for operand in operands]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(tensors)
        y = function(*tensors)
    seed = tf.constant(cases.operand(y.shape, 3))
    found = []
    for tensor in tensors:
        try:
            found.append(encode(tape.gradient(y, tensor, output_gradients=seed)))
        except (tf.errors.UnimplementedError, tf.errors.InvalidArgumentError):
            found.append(None)  # TensorFlow's CPU kernels lack some gradients
    return [encode(y), *found]


def explicit(padding):
    """TensorFlow wants batch and channels in explicit paddings."""
    return padding if isinstance(padding, str) else [[0, 0], *map(list, padding), [0, 0]]


def convolution(case):
    ndim = len(case["strides"])
    function = {1: tf.nn.conv1d, 2: tf.nn.conv2d, 3: tf.nn.conv3d}[ndim]
    strides = [1, *case["strides"], 1] if ndim == 3 else list(case["strides"])
    return gradients(
        lambda x, w: function(
            x, w, strides, explicit(case["padding"]), dilations=[1, *case["dilation"], 1]
        ),
        cases.operand(case["input"], 1),
        cases.operand(case["filter"], 2),
    )


def depthwise(case):
    return gradients(
        lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, *case["strides"], 1], case["padding"]),
        cases.operand(case["input"], 1),
        cases.operand(case["filter"], 2),
    )


def pooling(case):
    x, rest = cases.operand(case["input"], 1), (case["window"], case["strides"], case["padding"])
    plane = len(case["window"]) == 2
    largest = tf.nn.max_pool2d if plane else tf.nn.max_pool3d
    average = tf.nn.avg_pool2d if plane else tf.nn.avg_pool3d
    recorded = {
        "max": gradients(lambda x: largest(x, *rest), x),
        "average": gradients(lambda x: average(x, *rest), x),
    }
    if plane:
        recorded["argmax"] = encode(tf.nn.max_pool_with_argmax(x, *rest).argmax)
    else:  # its gradient goes to all of several maxima: see talweg/kernels/pooling.py
        recorded["max"][1] = None
    return recorded


def patches(case):
    return gradients(
        lambda x: tf.image.extract_patches(
            x,
            [1, *case["window"], 1],
            [1, *case["strides"], 1],
            [1, *case["rates"], 1],
            case["padding"],
        ),
        cases.operand(case["input"], 1),
    )


def morphology(case):
    return gradients(
        lambda x, w: tf.nn.dilation2d(
            x, w, [1, *case["strides"], 1], case["padding"], "NHWC", [1, *case["rates"], 1]
        ),
        cases.operand(case["input"], 1),
        cases.operand(case["filter"], 2),
    )


def main():
    recorded = {
        "tensorflow": tf.__version__,
        "convolutions": [convolution(case) for case in cases.CONVOLUTIONS],
        "depthwise": [depthwise(case) for case in cases.DEPTHWISE],
        "poolings": [pooling(case) for case in cases.POOLINGS],
        "patches": [patches(case) for case in cases.PATCHES],
        "morphology": [morphology(case) for case in cases.MORPHOLOGY],
    }
    lines = []
    for topic, values in recorded.items():
        if isinstance(values, list):
            rows = ",\n".join(json.dumps(value, separators=(",", ":")) for value in values)
            lines.append(f"{json.dumps(topic)}: [\n{rows}\n]")
        else:
            lines.append(f"{json.dumps(topic)}: {json.dumps(values)}")
    cases.VALUES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
