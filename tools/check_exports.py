"""Ask TensorFlow to run what talweg writes: every primitive, training programs, and more.

Two steps, since they need two environments:

    python tools/check_exports.py write FOLDER     with talweg's Python
    python tools/check_exports.py check FOLDER     with TensorFlow's Python

The second one prints the graphs that TensorFlow refuses or whose results differ, and fails if there
are any that are not expected to: vectors with another sign or order, and what TensorFlow has no
kernel for on a CPU.
"""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXPECTED = (
    "eig",
    "svd",
    "qr",  # vectors are determined up to a sign, eigenvalues up to their order
    "convolution_filter_gradient-1",
    "convolution_input_gradient-1",  # dilated, in groups
    "max_pool_gather",
    "max_pool_scatter",
    "max_pool_with_argmax-3",  # y is no maximum, empty
    "matrix_diag-",
    "matrix_set_diag-1",  # refused for unknown sizes
)


def write(folder: Path) -> None:
    """Write all GraphDefs with feeds and results."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    import numpy as np
    from interop import exported, test_graph_def
    from programs.v1 import meta_graphs as training

    import talweg

    entries: dict[str, Any] = {}
    for build in exported.BUILDERS:
        made = exported.written(build)
        entries[build.__name__] = (
            made.message.SerializeToString(),
            made.init,
            made.outputs,
            made.feed,
            made.expected,
        )
    for case in test_graph_def.PURE:
        for symbolic in (False, True):
            try:
                graph, names, feed = test_graph_def.written(case, symbolic)
                with talweg.compat.v1.Session(graph=graph) as session:
                    expected = session.run(names, feed)
            except Exception:  # noqa: BLE001 -- not every primitive takes unknown sizes
                continue
            message = graph.as_graph_def(include_captured=True)
            kinds = {array.dtype.name for array in feed.values()}
            if "bfloat16" in kinds or any(n.op.startswith("Talweg") for n in message.node):
                continue
            entries[f"{case.name} {'unknown' if symbolic else 'known'}"] = (
                message.SerializeToString(),
                None,
                names,
                feed,
                expected,
            )
    meta_graphs: dict[str, bytes] = {}
    for build in training.BUILDS:
        message = training.written(talweg.compat.v1, np, build)
        meta_graphs[build.__name__] = message.SerializeToString()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "meta_graphs.pickle").write_bytes(pickle.dumps(meta_graphs))
    (folder / "exports.pickle").write_bytes(pickle.dumps(entries))
    print(len(entries), "graphs")


def check(folder: Path) -> int:
    """Run all GraphDefs on TensorFlow; the number of surprises."""
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
    import numpy
    import tensorflow

    tf = tensorflow.compat.v1
    surprises = 0
    entries = pickle.loads((folder / "exports.pickle").read_bytes())
    for name, (data, init, outputs, feed, expected) in entries.items():
        message = tf.GraphDef()
        message.ParseFromString(data)
        try:
            with tf.Graph().as_default():
                tf.import_graph_def(message, name="")
                with tf.Session() as session:
                    if init:
                        session.run(init)
                    found = session.run(outputs, feed)
            for ours, theirs in zip(expected, found):
                if numpy.asarray(ours).dtype.kind in "fciu":
                    numpy.testing.assert_allclose(theirs, ours, rtol=1e-3, atol=1e-4)
        except Exception as error:  # noqa: BLE001 -- whatever TensorFlow says is what is asked
            if not name.startswith(EXPECTED):
                surprises += 1
                print(name, type(error).__name__, " ".join(str(error).split())[:300])
    print(len(entries), "graphs,", surprises, "surprises")
    return surprises + check_training(folder, tensorflow)


def check_training(folder: Path, tensorflow: Any) -> int:
    """Train what talweg exported on TensorFlow; how many do not give TensorFlow's own numbers."""
    sys.path[:0] = [str(ROOT / "tests")]
    import numpy
    from interop import exported_training
    from programs.v1 import meta_graphs as training

    tf = tensorflow.compat.v1
    surprises = 0
    written = pickle.loads((folder / "meta_graphs.pickle").read_bytes())
    for build in training.BUILDS:
        message = training.parsed(tf, written[build.__name__])
        fetched, _ = training.trained(tf, numpy, message)
        difference = exported_training.difference(build, fetched, tf)
        if difference:
            surprises += 1
            print(build.__name__, difference)
    print(len(written), "training programs,", surprises, "surprises")
    return surprises


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("write", "check"):
        sys.exit(__doc__)
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]))
    else:
        sys.exit(min(check(Path(sys.argv[2])), 1))
