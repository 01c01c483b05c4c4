"""Saved models as programs of TensorFlow 1 write them, for talweg and TensorFlow alike.

Each takes `tf.compat.v1` and two folders, for files and for the model, and gives calls.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def builder_model(tf: Any, files: Path, folder: Path) -> list:
    """Variables of both kinds, a table from a file, a loop, two signatures."""
    path = files / "words.txt"
    path.write_text("zero\none\ntwo\n")
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        words = tf.placeholder(tf.string, [None], name="words")
        old = tf.get_variable("old", initializer=np.float32([[1], [2]]), use_resource=False)
        new = tf.get_variable("new", initializer=np.float32([0.5]), use_resource=True)
        fixed = tf.get_variable("fixed", initializer=np.float32(3), trainable=False)
        y = tf.identity(tf.matmul(x, old) * fixed + new, name="y")
        _, total = tf.while_loop(
            lambda i, t: i < 3, lambda i, t: (i + 1, t + tf.reduce_sum(y)), [0, 0.0]
        )
        asset = tf.constant(str(path))
        tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset)
        init = tf.lookup.TextFileInitializer(
            asset,
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        )
        found = tf.lookup.StaticHashTable(init, -1).lookup(words)
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            session.run(tf.assign(new, [0.25]))
            utils = tf.saved_model.signature_def_utils
            info = tf.saved_model.utils.build_tensor_info
            first = utils.build_signature_def(
                {"x": info(x)},
                {"y": info(y), "total": info(total)},
                tf.saved_model.signature_constants.PREDICT_METHOD_NAME,
            )
            second = utils.predict_signature_def({"words": words}, {"ids": found})
            builder = tf.saved_model.Builder(str(folder))
            builder.add_meta_graph_and_variables(
                session,
                [tf.saved_model.tag_constants.SERVING],
                {"serving_default": first, "ids": second},
                assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
                main_op=tf.tables_initializer(),
            )
            builder.save()
    texts = np.array([b"two", b"nine"], object)
    return [
        ("signatures/serving_default", [], {"x": np.float32([[1, 1], [0, 2]])}),
        ("signatures/ids", [], {"words": texts}),
    ]


def simple(tf: Any, files: Path, folder: Path) -> list:
    """`simple_save`."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [3], name="x")
        w = tf.Variable([1.0, 2.0, 3.0], name="w")
        y = tf.reduce_sum(x * w)
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder), {"x": x}, {"y": y})
    return [("signatures/serving_default", [], {"x": np.float32([1, 0, 2])})]


MODELS = {"builder_model": builder_model, "simple": simple}
