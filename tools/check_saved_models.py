"""Ask TensorFlow to load what talweg saves, and talweg what TensorFlow saves.

Two steps for each way, since they need two environments:

    python tools/check_saved_models.py write FOLDER     with the Python of the library that saves
    python tools/check_saved_models.py check FOLDER     with the Python of the other one

`write` saves the objects of `tests/interop/saved_model/programs.py`, and Keras models where Keras
is there; it takes talweg unless the variable LIBRARY is `tensorflow`.  `check` loads them, makes
the same calls, and prints where results differ.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pickle
import sys
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]
os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")


def library() -> Any:
    """Return the library to use: talweg, under TensorFlow's name, or TensorFlow."""
    if os.environ.get("LIBRARY") == "tensorflow":
        return importlib.import_module("tensorflow")
    sys.path[:0] = [str(ROOT)]
    talweg = importlib.import_module("talweg")
    if importlib.util.find_spec("keras"):
        talweg.as_tensorflow()
    return talweg


def write(folder: Path) -> int:
    """Save all objects, with the results of their calls."""
    tf = library()
    from interop.saved_model import programs, running

    found = dict(programs.PROGRAMS)
    if importlib.util.find_spec("keras"):
        from interop.saved_model import keras_programs

        found.update(keras_programs.PROGRAMS)
    folder.mkdir(parents=True, exist_ok=True)
    entries = {}
    for name, build in found.items():
        obj, signatures, calls = build(tf, folder)
        if signatures == "export":
            obj.export(str(folder / name), verbose=False)
            expected = [[obj(running.argument(tf, args[0])).numpy()] for _, args, _ in calls]
        else:
            tf.saved_model.save(obj, str(folder / name), signatures)
            usual = [call for call in calls if not call[0].startswith("signatures/")]
            if len(usual) < len(calls):
                obj = tf.saved_model.load(str(folder / name))
            expected = running.called(tf, obj, calls)
        entries[name] = (calls, expected)
    (folder / "calls.pickle").write_bytes(pickle.dumps(entries))
    print(len(entries), "saved models")
    return 0


def check(folder: Path) -> int:
    """Load all objects and make the calls; the number of problems."""
    tf = library()
    from interop.saved_model import running

    problems: list[str] = []
    for name, (calls, expected) in pickle.loads((folder / "calls.pickle").read_bytes()).items():
        try:
            loaded = tf.saved_model.load(str(folder / name))
            found = running.called(tf, loaded, calls)
            problems += running.differences(name, calls, expected, found)
        except Exception as error:  # noqa: BLE001 -- reported
            lines = traceback.format_exception(error)
            problems.append(f"{name}: {''.join(lines[-6:])}")
    print(*problems, f"{len(problems)} problems", sep="\n")
    return len(problems)


if __name__ == "__main__":
    step = {"write": write, "check": check}[sys.argv[1]]
    raise SystemExit(min(step(Path(sys.argv[2])), 1))
