"""Sizes of shapes as TensorFlow 1 has them: `shape.dims`, and Dimensions as numbers."""

from programs.support import raised, run


def dims_of_shapes(tf, np):
    shape = tf.placeholder(tf.float32, [2, None, 3]).shape
    return {
        "values": [dim.value for dim in shape.dims],
        "numbers": [int(dim) for dim in tf.TensorShape([2, 3]).dims],
        "equal": tf.TensorShape([2, 3]).dims == [2, 3],
        "sum": sum(tf.TensorShape([2, 3]).dims).value,
        "text": [repr(dim) for dim in shape.dims] + [str(shape.dims[1])],
        "items": [shape[0] == 2, shape[1] is None or shape[1].value is None],
        "none": tf.TensorShape(None).dims,
        "truth": [bool(tf.Dimension(0)), bool(tf.Dimension(3))],
        "joined": tf.TensorShape([2]).concatenate(tf.TensorShape([3]).dims).as_list(),
    }


def dimensions_among_numbers(tf, np):
    size = tf.Dimension
    x = tf.range(12)
    y = tf.ones([2, 6])
    results = [
        tf.reshape(x, [size(3), 4]),
        tf.zeros([size(2), 3]),
        tf.tile([1], [size(2)]),
        x[: size(2)] + size(3),
        tf.range(size(3)),
        tf.stack([size(3), tf.constant(1)]),
        tf.fill([size(2)], 1),
        tf.reshape(x, y.shape.dims),
        tf.reshape(y, [y.get_shape().dims[0].value * 6]),
        tf.zeros([y.shape.dims[0] * 2, 1]),
    ]
    return [run(tf, results), raised(lambda: tf.zeros([size(None), 2]))]


PROGRAMS = [dims_of_shapes, dimensions_among_numbers]
