"""Writes the checkpoint that tests/interop/test_checkpoint.py restores, with TensorFlow itself.

    python tools/record_object_checkpoint.py          (in an environment that has TensorFlow)
    python tools/record_object_checkpoint.py PATH     restores one that talweg wrote, and says so

`objects` is run with both libraries: the same program here and there.
"""

import collections
import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "interop" / "object_checkpoints"
Pair = collections.namedtuple("Pair", "x y")


def objects(tf, by=0):
    """Return a checkpoint of one object of every kind; values are `by` greater."""
    module = tf.Module()
    module.w = tf.Variable([1.0 + by, 2.0], name="w")
    module.items = [tf.Variable(3.0 + by), "text", [tf.Variable(4.0 + by)]]
    module.d = {"a/b.c": tf.Variable(5.0 + by), "n": 3}
    module.t = (tf.Variable(6.0 + by), 2)
    module.p = Pair(tf.Variable(7.0 + by), tf.Variable(8.0 + by))
    module.generator = tf.random.Generator.from_seed(3 + by)
    module.table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    module.table.insert(["a"], [5 + by])
    module.again = module.w
    module.words = tf.Variable(["b", "c"])
    step = tf.Variable(9 + by, dtype=tf.int64)
    return tf.train.Checkpoint(module=module, step=step, list=[tf.Variable(True)])


def optimized(tf, steps=0):
    """Return a checkpoint of variables and the optimizers that trained them: they have slots."""
    a, b = tf.Variable([1.0, 2.0], name="a"), tf.Variable([3.0], name="b")
    adam = tf.compat.v1.train.AdamOptimizer(0.1)
    momentum = tf.compat.v1.train.MomentumOptimizer(0.1, 0.9)
    for _ in range(steps):
        adam.minimize(lambda: tf.reduce_sum(a**2), var_list=[a])
        momentum.minimize(lambda: tf.reduce_sum(b**3), var_list=[b])
    return tf.train.Checkpoint(a=a, b=b, adam=adam, inner=[momentum])


def main():
    """Record, or restore what is named."""
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")
    import tensorflow as tf

    if len(sys.argv) > 1:
        checkpoint = optimized(tf) if "optimized" in sys.argv[1] else objects(tf)
        checkpoint.restore(sys.argv[1]).assert_consumed()
        print("restored all")
        return
    FOLDER.mkdir(exist_ok=True)
    os.chdir(FOLDER)
    objects(tf).save("tensorflow")
    optimized(tf, steps=3).save("optimized")
    (FOLDER / "checkpoint").unlink()


if __name__ == "__main__":
    main()
