"""Graphs that crashed, hung or raised errors from inside, a program for each report."""

from programs.support import raised, run


def gradient_of_a_gather_of_unknown_rank(tf, np):
    gather = tf.function(
        lambda p, i: tf.gather(p, i, axis=0),
        input_signature=[tf.TensorSpec(None, tf.float64), tf.TensorSpec(None, tf.int32)],
    )
    x, i = tf.placeholder(tf.float64), tf.placeholder(tf.int32)
    gradient = tf.convert_to_tensor(tf.gradients(gather(x, i), x)[0])
    with tf.Session() as session:
        feeds = {x: np.ones([3, 2]), i: [0, 2, 2]}
        return session.run(gradient, feeds)


def batched_updates_out_of_range(tf, np):
    v = tf.get_variable("v", initializer=tf.zeros([2, 3]), use_resource=True)
    update = tf.batch_scatter_update(v, [[0], [7]], [[1.0], [2.0]])
    return raised(lambda: run(tf, update))


PROGRAMS = [
    gradient_of_a_gather_of_unknown_rank,
    batched_updates_out_of_range,
]
