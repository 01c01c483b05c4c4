"""Programs of tf.distribute with two replicas on one CPU.

TensorFlow needs two logical devices for them, which `tools/record_programs.py` makes before it
runs anything.
"""


def two_replicas(tf):
    """A strategy of two replicas, which add on one device: TensorFlow's collective operations fail
    for the rest of a process after an error in one of them."""
    add = tf.distribute.ReductionToOneDevice()
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], cross_device_ops=add)


def number(tf):
    """The number of the present replica, as a float."""
    context = tf.distribute.get_replica_context()
    return tf.cast(context.replica_id_in_sync_group, tf.float32)


def parts(tf, value):
    """The values of all replicas, as arrays; what is one value in all of them, in a list."""
    if isinstance(value, tf.distribute.DistributedValues):
        return [part.numpy() if hasattr(part, "numpy") else part for part in value.values]
    return ["one value", value.numpy() if hasattr(value, "numpy") else value]


def nest_of_parts(tf, value):
    """`parts` of each leaf of a nest."""
    return [parts(tf, leaf) for leaf in tf.nest.flatten(value)]
