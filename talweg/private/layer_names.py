"""Names of layers of TensorFlow's first generation below `tensorflow.python.layers`."""

from __future__ import annotations

LAYERS = "python.layers"
KINDS = {
    "core": ("Dense", "Dropout", "Flatten", "dense", "dropout", "flatten"),
    "normalization": ("BatchNormalization", "batch_normalization"),
    "convolutional": (
        *[f"{kind}{n}D" for kind in ("Conv", "SeparableConv") for n in (1, 2)],
        *("Conv3D", "Conv2DTranspose", "Conv3DTranspose", "conv1d", "conv2d", "conv3d"),
        *("separable_conv1d", "separable_conv2d", "conv2d_transpose", "conv3d_transpose"),
    ),
    "pooling": tuple([f"{kind}Pooling{n}D" for kind in ("Max", "Average") for n in (1, 2, 3)]),
    "base": ("Layer",),
}


def layer_modules() -> dict[str, dict[str, str]]:
    """Return the modules below `tensorflow.python.layers` -> their names -> public names."""
    found = {
        f"{LAYERS}.{kind}": {name: f"compat.v1.layers.{name}" for name in names}
        for kind, names in KINDS.items()
    }
    convolutional = found[f"{LAYERS}.convolutional"]
    for name, public in list(convolutional.items()):
        if name.startswith(("Conv", "Separable")):
            convolutional[name.replace("Conv", "Convolution")] = public
    return found
