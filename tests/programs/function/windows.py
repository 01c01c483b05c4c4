"""Windows that are larger than what they slide over: refused when a graph is built."""

from programs.support import raised


def builds(tf, np):
    """Calls with a zero tensor of a shape, or with what `z` makes of the shape."""
    nn = tf.nn
    v2 = [1, 1, 1, 1]
    return {
        "max_pool": lambda z: nn.max_pool(z([1, 1, 1, 1]), [1, 1, 2, 1], 1, "VALID"),
        "max_pool2d": lambda z: nn.max_pool2d(z([1, 2, 3, 1]), 3, 1, "VALID"),
        "exact": lambda z: nn.max_pool2d(z([1, 3, 3, 1]), 3, 1, "VALID"),
        "strided": lambda z: nn.max_pool2d(z([1, 2, 2, 1]), 3, 3, "VALID"),
        "far": lambda z: nn.max_pool2d(z([1, 2, 2, 1]), 7, 3, "VALID"),
        "empty": lambda z: nn.max_pool2d(z([1, 0, 0, 1]), 1, 1, "VALID"),
        "no pictures": lambda z: nn.max_pool2d(z([0, 3, 3, 1]), 2, 1, "VALID"),
        "same": lambda z: nn.max_pool2d(z([1, 2, 2, 1]), 3, 1, "SAME"),
        "empty same": lambda z: nn.max_pool2d(z([1, 0, 0, 1]), 2, 1, "SAME"),
        "avg_pool1d": lambda z: nn.avg_pool1d(z([1, 2, 1]), 3, 1, "VALID"),
        "avg_pool2d": lambda z: nn.avg_pool2d(z([1, 2, 2, 1]), 3, 1, "VALID"),
        "avg_pool3d": lambda z: nn.avg_pool3d(z([1, 2, 2, 2, 1]), 3, 1, "VALID"),
        "max_pool3d": lambda z: nn.max_pool3d(z([1, 2, 2, 2, 1]), 3, 1, "VALID"),
        "pool": lambda z: nn.pool(
            z([1, 4, 4, 1]), [3, 3], "MAX", padding="VALID", dilations=[2, 2]
        ),
        "argmax": lambda z: nn.max_pool_with_argmax(z([1, 2, 2, 1]), 3, 1, "VALID")[0],
        "conv1d": lambda z: nn.conv1d(z([1, 2, 1]), z([3, 1, 1]), 1, "VALID"),
        "conv2d": lambda z: nn.conv2d(z([1, 1, 1, 1]), z([2, 2, 1, 1]), 1, "VALID"),
        "dilated": lambda z: nn.conv2d(z([1, 4, 4, 1]), z([3, 3, 1, 1]), 1, "VALID", dilations=2),
        "explicit": lambda z: nn.conv2d(
            z([1, 1, 1, 1]), z([4, 4, 1, 1]), 1, [[0, 0], [1, 1], [1, 1], [0, 0]]
        ),
        "explicit that fits": lambda z: nn.conv2d(
            z([1, 1, 1, 1]), z([3, 3, 1, 1]), 1, [[0, 0], [1, 1], [1, 1], [0, 0]]
        ),
        "conv3d": lambda z: nn.conv3d(z([1, 2, 2, 2, 1]), z([3, 3, 3, 1, 1]), [1] * 5, "VALID"),
        "depthwise": lambda z: nn.depthwise_conv2d(z([1, 2, 2, 1]), z([3, 3, 1, 1]), v2, "VALID"),
        "separable": lambda z: nn.separable_conv2d(
            z([1, 2, 2, 1]), z([3, 3, 1, 1]), z([1, 1, 1, 1]), v2, "VALID"
        ),
        "atrous": lambda z: nn.atrous_conv2d(z([1, 4, 4, 1]), z([3, 3, 1, 1]), 2, "VALID"),
        "dilation2d": lambda z: nn.dilation2d(
            z([1, 2, 2, 1]), z([3, 3, 1]), v2, "VALID", "NHWC", v2
        ),
        "patches": lambda z: tf.image.extract_patches(
            z([1, 2, 2, 1]), [1, 3, 3, 1], v2, v2, "VALID"
        ),
    }


def shape_or_error(call, *args):
    """The static shape of what a call makes; the class of its error."""
    found = []
    error = raised(lambda: found.append(call(*args).shape.as_list()))
    return found[0] if error is None else error


def in_functions(tf, np):
    def shape(build):
        return shape_or_error(tf.function(lambda: build(tf.zeros), autograph=False))

    return {name: shape(build) for name, build in builds(tf, np).items()}


def in_graphs(tf, np):
    def symbolic(shape):
        return tf.compat.v1.placeholder(tf.float32, shape)

    with tf.Graph().as_default():
        return {name: shape_or_error(build, symbolic) for name, build in builds(tf, np).items()}


def pooled_eagerly(tf, np):
    """TensorFlow is no guide for convolutions and volumes: other shapes, or the process ends."""
    names = ("max_pool2d", "avg_pool2d", "strided", "far", "empty", "same", "argmax")
    return {name: shape_or_error(builds(tf, np)[name], tf.zeros) for name in names}


def sizes_known_when_it_runs(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([None, None, None, 1])])
    def pool(x):
        return tf.nn.max_pool2d(x, 3, 1, "VALID")

    return [tf.shape(pool(tf.zeros([1, n, n, 1]))) for n in (2, 3, 5)]


PROGRAMS = [in_functions, in_graphs, pooled_eagerly, sizes_known_when_it_runs]
