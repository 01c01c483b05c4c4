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


def main():
    """Record, or restore what is named."""
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")
    import tensorflow as tf

    if len(sys.argv) > 1:
        checkpoint = objects(tf)
        checkpoint.restore(sys.argv[1]).assert_consumed()
        print("restored:", checkpoint.module.w.numpy(), int(checkpoint.step))
        return
    FOLDER.mkdir(exist_ok=True)
    os.chdir(FOLDER)
    objects(tf).save("tensorflow")
    (FOLDER / "checkpoint").unlink()


if __name__ == "__main__":
    main()
