"""The models that several benchmarks train: equal starting values and data for every peer."""

from __future__ import annotations

RATE = 0.01


def two_layers(np):
    """Parameters of 100-64-10 and a batch of 32: (w1, b1, w2, b2), features, labels."""
    random = np.random.default_rng(0)
    parameters = [
        scaled(random, (100, 64)),
        random.normal(size=64).astype("float32") * 0.1,
        scaled(random, (64, 10)),
        random.normal(size=10).astype("float32") * 0.1,
    ]
    features = random.normal(size=(32, 100)).astype("float32")
    return parameters, features, random.integers(0, 10, 32)


def convolutional(np):
    """The network of design.md section 4, NHWC: conv 32, conv 64, dense 128, dense 10; batch 64."""
    random = np.random.default_rng(0)
    shapes = [(3, 3, 1, 32), (32,), (3, 3, 32, 64), (64,), (1600, 128), (128,), (128, 10), (10,)]
    parameters = [scaled(random, shape) for shape in shapes]
    images = random.normal(size=(64, 28, 28, 1)).astype("float32")
    return parameters, images, random.integers(0, 10, 64)


def channels_first(parameters):
    """The same network's parameters for a library with NCHW images and [out, in] kernels."""
    conv1, bias1, conv2, bias2, dense1, *rest = parameters
    dense1 = dense1.reshape(5, 5, 64, 128).transpose(2, 0, 1, 3).reshape(1600, 128)
    kernels = [kernel.transpose(3, 2, 0, 1).copy() for kernel in (conv1, conv2)]
    return [kernels[0], bias1, kernels[1], bias2, dense1, *rest]


def scaled(random, shape):
    """Normal values with the variance that keeps activations near one."""
    fan_in = 1
    for size in shape[:-1]:
        fan_in *= size
    return (random.normal(size=shape) * (2.0 / fan_in) ** 0.5).astype("float32")


def moved(np, before, after, rate):
    """How far steps have moved each parameter, over the rate: the sum of its gradients.

    This is what training steps are compared by, since a loss says little about gradients.  Times
    1,000, so that small gradients are not lost in the tolerance of the comparison.
    """
    return [
        (np.asarray(_detached(now)) - old) / np.float32(rate / 1000)
        for old, now in zip(before, after, strict=True)
    ]


def _detached(value):
    return value.detach() if hasattr(value, "detach") else value
