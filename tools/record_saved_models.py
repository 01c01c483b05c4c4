"""Record saved models as TensorFlow writes them, with the results of their functions.

Run it with TensorFlow's Python: ``python tools/record_saved_models.py`` writes
`tests/interop/saved_model/recorded/NAME.zip`, a folder of a saved model and `expected.npz`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "tests" / "interop" / "saved_model" / "recorded"
sys.path[:0] = [str(ROOT / "tests")]
NAMES = (
    "dense",
    "counter",
    "flows",
    "polymorphic",
    "containers",
    "tables",
    "composites",
    "convolutions",
)


def record(name: str, folder: Path, results: list) -> None:
    """Put a saved model and its results into an archive."""
    import numpy
    from tensorflow.core.protobuf import saved_model_pb2

    path = folder / "saved_model.pb"
    message = saved_model_pb2.SavedModel()
    message.ParseFromString(path.read_bytes())
    for meta_graph in message.meta_graphs:
        meta_graph.meta_info_def.stripped_op_list.Clear()  # what TensorFlow knows anyway
    path.write_bytes(message.SerializeToString(deterministic=True))
    arrays: dict[str, Any] = {}
    for call, values in enumerate(results):
        arrays[f"{call}"] = numpy.array(len(values))
        for place, value in enumerate(values):
            if value is not None:
                texts = value.dtype == object
                arrays[f"{call}_{place}"] = value.astype("S") if texts else value
    numpy.savez(folder / "expected.npz", **arrays)
    TARGET.mkdir(exist_ok=True)
    with zipfile.ZipFile(TARGET / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                made = zipfile.ZipInfo(str(file.relative_to(folder)))
                archive.writestr(made, file.read_bytes(), zipfile.ZIP_DEFLATED, 9)


def main() -> int:
    """Record all."""
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
    import tensorflow as tf
    from interop.saved_model import first_generation, programs, running

    with tempfile.TemporaryDirectory() as temporary:
        files = Path(temporary)
        for name in NAMES:
            obj, signatures, calls = programs.PROGRAMS[name](tf, files)
            folder = files / name
            tf.saved_model.save(obj, str(folder), signatures)
            loaded = tf.saved_model.load(str(folder))
            record(name, folder, running.called(tf, loaded, calls))
        for name, build in first_generation.MODELS.items():
            folder = files / f"v1_{name}"
            calls = build(tf.compat.v1, files, folder)
            loaded = tf.saved_model.load(str(folder))
            record(f"v1_{name}", folder, running.called(tf, loaded, calls))
    print(len(NAMES) + len(first_generation.MODELS), "saved models")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
