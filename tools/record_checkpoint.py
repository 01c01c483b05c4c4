"""Writes the checkpoint that tests/interop/test_checkpoints.py reads, with TensorFlow itself.

    python tools/record_checkpoint.py            (in an environment that has TensorFlow)
    python tools/record_checkpoint.py PATH       says what TensorFlow reads in a checkpoint

The test demands of talweg the same bytes for the same tensors, so what talweg writes is what
TensorFlow reads.
"""

import os
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "interop" / "checkpoints"
KINDS = (
    "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool "
    "complex64 complex128"
)


def record():
    """Write the checkpoint."""
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")
    import tensorflow as tf

    v1 = tf.compat.v1
    FOLDER.mkdir(exist_ok=True)
    with tf.Graph().as_default(), v1.Session() as session:
        for kind in KINDS.split():
            tf.Variable(np.array([[1, 0], [3, 1]], kind), name=f"kind/{kind}")
        tf.Variable(tf.cast([1.5, 2.5], tf.bfloat16), name="kind/bfloat16")
        tf.Variable([b"text", b"", b"and more\x00\xff"], name="string")
        tf.Variable(3.5, name="scalar")
        tf.Variable(np.zeros((0, 3), np.float32), name="empty")
        tf.Variable(np.arange(600, dtype=np.float32), name="long")
        for number in range(30):
            tf.Variable(np.float32(number), name=f"layer/with/a/name_{number:02d}/weights")
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(
            session, str(FOLDER / "tensorflow"), write_meta_graph=False, write_state=False
        )


def show(path):
    """Print what TensorFlow reads in a checkpoint."""
    import tensorflow as tf

    reader = tf.train.load_checkpoint(path)
    for name in sorted(reader.get_variable_to_shape_map()):
        print(name, reader.get_tensor(name))


if __name__ == "__main__":
    show(sys.argv[1]) if len(sys.argv) > 1 else record()
