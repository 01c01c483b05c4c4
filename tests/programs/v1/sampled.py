"""`tf.nn.nce_loss`, `tf.nn.sampled_softmax_loss`: values and gradients for given samples."""

from programs.support import raised, run


def ramp(tf, np, *shape):
    """A constant with numbers that go up and down."""
    values = np.sin(0.3 + 1.7 * np.arange(np.prod(shape)))
    return tf.constant(values.reshape(shape).astype(np.float32))


def given(tf, np, num_true=1):
    """Weights, biases, labels, inputs, and what a sampler would give."""
    labels = tf.constant([[1, 4], [3, 1], [6, 2]][:3], tf.int64)[:, :num_true]
    sampled = (
        tf.constant([0, 3, 6, 5], tf.int64),
        tf.constant([[0.5, 0.2], [0.3, 0.5], [0.1, 0.4]])[:, :num_true],
        tf.constant([0.9, 0.3, 0.1, 0.2]),
    )
    return ramp(tf, np, 7, 4), ramp(tf, np, 7), labels, ramp(tf, np, 3, 4), sampled


def losses(tf, np, function, num_true, **options):
    w, b, labels, x, sampled = given(tf, np, num_true)
    loss = function(w, b, labels, x, 4, 7, num_true, sampled_values=sampled, **options)
    gradients = tf.gradients(loss, [w, b, x])
    return run(tf, [loss, *[tf.convert_to_tensor(g) for g in gradients]])


def nce(tf, np):
    return losses(tf, np, tf.nn.nce_loss, 1)


def nce_with_two_true_classes_without_hits(tf, np):
    return losses(tf, np, tf.nn.nce_loss, 2, remove_accidental_hits=True)


def sampled_softmax(tf, np):
    return losses(tf, np, tf.nn.sampled_softmax_loss, 1)


def sampled_softmax_with_hits(tf, np):
    return losses(tf, np, tf.nn.sampled_softmax_loss, 2, remove_accidental_hits=False)


def weights_in_parts(tf, np):
    w, b, labels, x, sampled = given(tf, np)
    parts = [w[0::2], w[1::2]]
    mod = tf.nn.nce_loss(parts, b, labels, x, 4, 7, sampled_values=sampled)
    blocks = [w[:4], w[4:]]
    div = tf.nn.sampled_softmax_loss(
        blocks, b, labels, x, 4, 7, sampled_values=sampled, partition_strategy="div"
    )
    return run(tf, [mod, div])


def accidental_hits(tf, np):
    _, _, labels, _, sampled = given(tf, np, 2)
    return run(tf, list(tf.nn.compute_accidental_hits(labels, sampled[0], 2)))


def accidental_hits_of_another_shape(tf, np):
    _, _, labels, _, sampled = given(tf, np, 2)
    hits = raised(lambda: run(tf, list(tf.nn.compute_accidental_hits(labels, sampled[0], 1))))
    return hits


PROGRAMS = [
    nce,
    nce_with_two_true_classes_without_hits,
    sampled_softmax,
    sampled_softmax_with_hits,
    weights_in_parts,
    accidental_hits,
    accidental_hits_of_another_shape,
]
