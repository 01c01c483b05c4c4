"""Record what Keras on TensorFlow gives for the programs of tests/keras_models/programs.

Run with a Python that has TensorFlow 2.21 and Keras 3:

    python tools/record_keras.py                 those without a value
    python tools/record_keras.py --all           all of them
    python tools/record_keras.py mlp cnn         some
"""

import argparse
import importlib
import json
import os
import sys
from pathlib import Path

os.environ.update(
    TF_CPP_MIN_LOG_LEVEL="3",
    TF_ENABLE_ONEDNN_OPTS="0",
    CUDA_VISIBLE_DEVICES="-1",
    KERAS_BACKEND="tensorflow",
)
TESTS = Path(__file__).resolve().parent.parent / "tests"
DATA = TESTS / "keras_models" / "data" / "losses.json"


def main() -> None:
    """Write tests/keras_models/data/losses.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="programs")
    parser.add_argument("--all", action="store_true", help="record all anew")
    options = parser.parse_args()
    sys.path.insert(0, str(TESTS / "keras_models"))
    programs = importlib.import_module("programs")
    for path in sorted(Path(programs.__file__).parent.glob("[a-z]*.py")):
        importlib.import_module(f"programs.{path.stem}")
    tf = importlib.import_module("tensorflow")
    two = [tf.config.LogicalDeviceConfiguration() for _ in range(2)]  # for replicas
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], two)
    keras = importlib.import_module("keras")
    known = json.loads(DATA.read_text()) if DATA.exists() else {}
    for name, function in sys.modules["programs.support"].PROGRAMS.items():
        if options.names and name not in options.names:
            continue
        if name in known and not options.all and not options.names:
            continue
        keras.utils.set_random_seed(1)
        keras.backend.clear_session()
        try:
            known[name] = [float(f"{value:.9g}") for value in function(tf, keras)]
        except Exception as error:  # noqa: BLE001 -- reported, not recorded
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        print(f"{name}: {len(known[name])} numbers, {known[name][:4]}")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(known[name])}" for name in sorted(known))
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
