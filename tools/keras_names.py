"""Write tests/keras_models/data/names.json: every name of TensorFlow that Keras's source uses.

Reads the source of the Keras that is installed (its tests left out): attributes of what is imported
as `tensorflow`, and names imported from it.  Run with a Python that has Keras:

    python tools/keras_names.py             write the list
    python tools/keras_names.py --check     write nothing; say what talweg has not

For each name the list says in how many files it is used, and in which parts of Keras.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.metadata
import importlib.util
import json
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "keras_models" / "data" / "names.json"
VERSION = LIST.with_name("version.txt")
sys.path.insert(0, str(ROOT))
LAZY = "module_utils"  # Keras: `from keras.src.utils.module_utils import tensorflow as tf`
NOT_TENSORFLOW = {
    "tf.available",
    "tf.initialize",
    "tf.module",
    "tf.io.gfile.available",
}  # of Keras's own lazy module


def bindings(tree: ast.AST) -> dict[str, str]:
    """What each name that a file imports from TensorFlow stands for: `tf...`."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "tensorflow":
                    whole = "tf" + alias.name.removeprefix("tensorflow")
                    found[alias.asname or "tensorflow"] = whole if alias.asname else "tf"
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module.split(".")[0] == "tensorflow":
                whole = "tf" + node.module.removeprefix("tensorflow")
                for alias in node.names:
                    found[alias.asname or alias.name] = f"{whole}.{alias.name}"
            elif node.module.endswith(LAZY):
                for alias in node.names:
                    if alias.name in ("tensorflow", "gfile"):
                        whole = {"tensorflow": "tf", "gfile": "tf.io.gfile"}[alias.name]
                        found[alias.asname or alias.name] = whole
    return found


def split_dotted(node: ast.AST) -> list[str]:
    """``a.b.c`` as its parts; [] for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


def find_names_in(path: Path) -> set[str]:
    """Return the names of TensorFlow that a file uses."""
    tree = ast.parse(path.read_text())
    known = bindings(tree)
    found = {name for name in known.values() if name != "tf"}
    for node in ast.walk(tree):
        parts = split_dotted(node) if isinstance(node, ast.Attribute) else []
        if parts and parts[0] in known:
            found.add(".".join([known[parts[0]], *parts[1:]]))
    return found - NOT_TENSORFLOW


def all_names() -> dict[str, list[str]]:
    """Map every name to the files of Keras that use it."""
    spec = importlib.util.find_spec("keras")
    if spec is None or spec.origin is None:
        raise SystemExit("Keras is not installed here")
    source = Path(spec.origin).parent / "src"
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        place = path.relative_to(source)
        # Converters to and from other backends' own formats are no part of the TensorFlow backend.
        if path.name.endswith("_test.py") or place.parts[:2] in OTHER_BACKENDS:
            continue
        for name in find_names_in(path):
            found[name].append(str(place))
    return dict(sorted(found.items()))


OTHER_BACKENDS = {("backend", name) for name in ("jax", "torch", "numpy", "openvino")}


def there(name: str) -> bool:
    """Whether talweg has the name `tf...`; attributes of objects (`tf.float32.max`) count, too."""
    talweg = importlib.import_module("talweg").as_tensorflow()
    parts = name.split(".")[1:]
    value = talweg
    for number, part in enumerate(parts):
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(".".join(["tensorflow", *parts[: number + 1]]))
            except ImportError:
                return False
    return True


def missing(names: dict[str, list[str]]) -> list[str]:
    """Return the names that talweg has not."""
    return [name for name in names if not there(name)]


def main() -> None:
    """Write the list, or compare talweg with it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="say what talweg has not")
    options = parser.parse_args()
    names = all_names()
    absent = missing(names)
    print(f"{len(names)} names, {len(absent)} of them missing")
    for name in absent:
        print(f"  {name}: {', '.join(names[name][:3])}")
    if not options.check:
        LIST.write_text(json.dumps(names, indent=0) + "\n")
        VERSION.write_text(importlib.metadata.version("keras") + "\n")


if __name__ == "__main__":
    main()
