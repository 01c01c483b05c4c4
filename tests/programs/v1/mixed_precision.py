"""Normalization of 16-bit floats with parameters of float32, and layers under mixed precision."""

from programs.support import names, run

TOLERANCE = {
    "*": {"rtol": 2e-2, "atol": 4e-2},  # a unit in the last place of bfloat16 is 1/128
    "gradients_as_operations": {"rtol": 1e-4, "atol": 1e-5},
}


def features(np, *shape):
    """Numbers that look like data."""
    return np.sin(np.arange(np.prod(shape), dtype=np.float32)).reshape(shape)


def normalized(tf, np, dtype, training):
    """y, moments and gradients of 2 y² with parameters of float32, and all dtypes."""
    x = tf.cast(tf.constant(features(np, 2, 3, 3, 2)), dtype)
    given = [1.0, 2.0], [0.5, 0.25], [0.1, 0.2], [1.0, 1.5]
    scale, offset, mean, variance = map(tf.constant, given)
    y, *moments = tf.nn.fused_batch_norm(x, scale, offset, mean, variance, is_training=training)
    loss = tf.reduce_sum(2.0 * tf.square(tf.cast(y, tf.float32)))
    gradients = tf.gradients(loss, [x, scale, offset])
    results = [y, *moments, *gradients]
    values = run(tf, [tf.cast(r, tf.float32) for r in results])
    return [r.dtype.name for r in results], values


def float16_in_training(tf, np):
    return normalized(tf, np, tf.float16, True)


def float16_with_given_moments(tf, np):
    return normalized(tf, np, tf.float16, False)


def bfloat16_in_training(tf, np):
    return normalized(tf, np, tf.bfloat16, True)


def bfloat16_with_given_moments(tf, np):
    return normalized(tf, np, tf.bfloat16, False)


def averages_that_move(tf, np):
    x = tf.cast(tf.constant(features(np, 2, 3, 3, 2)), tf.float16)
    _, mean, variance = tf.nn.fused_batch_norm(
        x, [1.0, 1.0], [0.0, 0.0], [0.1, 0.2], [1.0, 1.5], exponential_avg_factor=0.3
    )
    return [mean.dtype.name, run(tf, [mean, variance])]


def batch_of_unknown_size(tf, np):
    x = tf.placeholder(tf.float16, [None, 2, 2, 2])
    y, mean, variance = tf.nn.fused_batch_norm(x, [1.0, 2.0], [0.0, 1.0])
    (g,) = tf.gradients(tf.reduce_sum(tf.cast(y, tf.float32) ** 3), x)
    results = [tf.cast(part, tf.float32) for part in (y, mean, variance, g)]
    return run(tf, results, {x: features(np, 3, 2, 2, 2)})


def layers(tf, np):
    x = tf.cast(tf.constant(features(np, 2, 4, 4, 2)), tf.float16)
    y = tf.layers.batch_normalization(x, training=True)
    flat = tf.layers.batch_normalization(tf.reshape(x, [8, 8]), training=True)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    variables = tf.global_variables()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run([tf.cast(part, tf.float32) for part in (y, flat)])
        session.run(updates)
        kinds = [part.dtype.base_dtype.name for part in (y, flat, *variables)]
        return names(variables), kinds, values, session.run(variables)


def dense_and_convolution_of_float16(tf, np):
    x = tf.cast(tf.constant(features(np, 2, 4, 4, 2)), tf.float16)
    ones = tf.ones_initializer()
    y = tf.layers.conv2d(x, 2, 3, kernel_initializer=ones)
    z = tf.layers.dense(tf.layers.flatten(y), 2, kernel_initializer=ones)
    kinds = [part.dtype.base_dtype.name for part in (y, z, *tf.global_variables())]
    return kinds, run(tf, tf.cast(z, tf.float32))


def gradients_as_operations(tf, np):
    x = tf.constant(features(np, 2, 3, 3, 2))
    g = tf.cos(x * 3.0)
    results = []
    for training in (True, False):
        arguments = {"scale": [1.0, 2.0], "is_training": training, "epsilon": 0.01}
        forward = tf.raw_ops.FusedBatchNormV3(
            x=x, offset=[0.0, 0.0], mean=[0.1, 0.2], variance=[1.0, 1.5], **arguments
        )
        given = {
            "y_backprop": g,
            "x": x,
            "reserve_space_1": forward[3] if training else [0.1, 0.2],
            "reserve_space_2": forward[4] if training else [1.0, 1.5],
            **arguments,
        }
        results += tf.raw_ops.FusedBatchNormGrad(**given)[:3]
        results += tf.raw_ops.FusedBatchNormGradV2(**given)[:3]
        results += tf.raw_ops.FusedBatchNormGradV3(reserve_space_3=forward[5], **given)[:3]
        results.append(tf.shape(forward[5]))
    return run(tf, results)


PROGRAMS = [
    float16_in_training,
    float16_with_given_moments,
    bfloat16_in_training,
    bfloat16_with_given_moments,
    averages_that_move,
    batch_of_unknown_size,
    layers,
    dense_and_convolution_of_float16,
    gradients_as_operations,
]
