"""The window problems whose answers are recorded from TensorFlow, and their operands by formula.

Read by `tools/record_window.py` (in TensorFlow's environment) and by `test_window_recorded.py`.
Operands are small integers, so that every recorded answer is exact and short to write down.
"""

from pathlib import Path

import numpy as np

VALUES = Path(__file__).parent / "window_values.json"


def operand(shape, salt):
    """Small integers without a simple pattern, ties included."""
    count = int(np.prod(shape))
    index = np.arange(count, dtype=np.int64)
    return ((index * index * 7 + index * 13 + salt * 5) % 11 - 5).reshape(shape).astype(np.float32)


def _convolution(name, sizes, kernel, depth, results, strides, padding, dilation=None, groups=1):
    return {
        "name": name,
        "input": (2, *sizes, depth * groups),
        "filter": (*kernel, depth, results * groups),
        "strides": strides,
        "padding": padding,
        "dilation": dilation or (1,) * len(sizes),
        "groups": groups,
    }


CONVOLUTIONS = [
    _convolution("line valid", (7,), (3,), 2, 3, (1,), "VALID"),
    _convolution("line same stride", (8,), (3,), 2, 2, (2,), "SAME"),
    _convolution("valid", (5, 4), (2, 3), 2, 3, (1, 1), "VALID"),
    _convolution("same even kernel", (5, 4), (2, 4), 1, 2, (1, 1), "SAME"),
    _convolution("same stride 2", (5, 6), (3, 3), 2, 2, (2, 2), "SAME"),
    _convolution("stride beyond kernel", (7, 7), (2, 2), 1, 2, (3, 3), "VALID"),
    _convolution("explicit", (4, 3), (3, 2), 2, 2, (2, 1), ((2, 1), (0, 1))),
    _convolution("dilated", (7, 6), (2, 3), 2, 2, (1, 1), "SAME", (3, 2)),
    _convolution("pointwise", (3, 3), (1, 1), 3, 2, (1, 1), "VALID"),
    _convolution("pointwise stride", (5, 4), (1, 1), 3, 2, (2, 3), "SAME"),
    _convolution("groups", (4, 4), (2, 2), 2, 2, (1, 1), "VALID", None, 2),
    _convolution("many channels", (3, 3), (2, 2), 6, 2, (1, 1), "SAME"),
    _convolution("volume valid", (3, 4, 3), (2, 2, 3), 2, 2, (1, 1, 1), "VALID"),
    _convolution("volume same stride", (4, 3, 5), (3, 2, 3), 1, 2, (2, 1, 2), "SAME"),
]


def _depthwise(name, sizes, kernel, depth, multiplier, strides, padding):
    return {
        "name": name,
        "input": (2, *sizes, depth),
        "filter": (*kernel, depth, multiplier),
        "strides": strides,
        "padding": padding,
    }


DEPTHWISE = [
    _depthwise("valid", (5, 4), (3, 2), 3, 1, (1, 1), "VALID"),
    _depthwise("same stride, two results", (6, 5), (3, 3), 3, 2, (2, 2), "SAME"),
]


def _pooling(name, sizes, channels, window, strides, padding):
    return {
        "name": name,
        "input": (2, *sizes, channels),
        "window": window,
        "strides": strides,
        "padding": padding,
    }


POOLINGS = [
    _pooling("tiles", (4, 6), 2, (2, 3), (2, 3), "VALID"),
    _pooling("rest is dropped", (5, 5), 1, (2, 2), (2, 2), "VALID"),
    _pooling("overlapping same", (5, 6), 2, (3, 3), (2, 2), "SAME"),
    _pooling("dense", (4, 4), 1, (3, 2), (1, 1), "SAME"),
    _pooling("gaps", (7, 7), 1, (2, 2), (3, 3), "SAME"),
    _pooling("volume", (4, 3, 4), 2, (2, 2, 2), (2, 2, 2), "SAME"),
    _pooling("volume overlapping", (4, 3, 3), 1, (3, 2, 2), (1, 1, 2), "VALID"),
]

PATCHES = [
    {
        "input": (1, 5, 4, 2),
        "window": (2, 3),
        "strides": (1, 2),
        "rates": (1, 1),
        "padding": "VALID",
    },
    {
        "input": (1, 5, 6, 1),
        "window": (3, 2),
        "strides": (2, 2),
        "rates": (2, 1),
        "padding": "SAME",
    },
]

MORPHOLOGY = [
    {
        "input": (1, 5, 4, 2),
        "filter": (2, 3, 2),
        "strides": (1, 1),
        "rates": (1, 1),
        "padding": "VALID",
    },
    {
        "input": (1, 6, 5, 2),
        "filter": (3, 2, 2),
        "strides": (2, 1),
        "rates": (1, 2),
        "padding": "SAME",
    },
]
