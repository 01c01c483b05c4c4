"""Record where TensorFlow keeps its public objects (run it with TensorFlow's Python).

``python tools/record_private_names.py`` walks the modules below `tensorflow.python` that
`import tensorflow` loads, and those of `MORE`, and writes for each the names that hold an object
which is public, with the public name: talweg/private/public_names.txt.  A line is a module,
then its names; ``name=public`` where the public name ends otherwise.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NAMES = ROOT / "talweg" / "private" / "public_names.txt"
CANONICAL = NAMES.with_name("canonical_names.txt")
LEFT_OUT = {"keras", "losses", "metrics", "optimizers", "initializers"}  # Keras fills these
VALUES = (bool, int, float, str, bytes, tuple, list, dict, type(None))  # equal ones may be one
OWNERS = ("tensorflow.python.keras", "tensorflow.python.tools", "tensorflow.python.layers")
MORE = (  # not loaded by `import tensorflow`
    "python.framework.test_util",
    "python.client.timeline",
    "python.ops.clustering_ops",
    "python.ops.metrics",
    "python.platform.googletest",
    "python.tools.freeze_graph",
    "python.training.checkpoint_management",
    "python.training.evaluation",
)


def walk(module: types.ModuleType, prefix: str, found: dict[int, tuple], seen: set[int]) -> None:
    """Note the best public name of each object in a namespace and those below it."""
    for name in sorted(vars(module)):
        if (name.startswith("_") and name != "__internal__") or (not prefix and name in LEFT_OUT):
            continue
        value = vars(module)[name]
        if isinstance(value, types.ModuleType):
            public = "_api" in str(vars(value).get("__file__"))
            if public and name != "compat" and id(value) not in seen:
                seen.add(id(value))
                walk(value, f"{prefix}{name}.", found, seen)
        elif not isinstance(value, VALUES):
            note(value, prefix + name, found)


def note(value: Any, name: str, found: dict[int, tuple]) -> None:
    """Keep the name for a value unless a better one is known."""
    key = (
        name.startswith("compat"),
        name.startswith("__internal__"),
        name.startswith("raw_ops"),
        name.count("."),
        len(name),
        name,
    )
    if id(value) not in found or found[id(value)][0] > key:
        found[id(value)] = (key, name, value)


def record_canonical(found: dict[int, tuple]) -> None:
    """Write the canonical names of functions and classes that have several names."""
    tf_export = importlib.import_module("tensorflow.python.util.tf_export")
    decorators = importlib.import_module("tensorflow.python.util.tf_decorator")
    names = set()
    for _, _, value in found.values():
        target = value if isinstance(value, type) else decorators.unwrap(value)[1]
        known = getattr(target, "_tf_api_names", ())
        if len(known) > 1 or (known and known[0].startswith("__operators__")):
            names.add(tf_export.get_canonical_name_for_symbol(value))
    CANONICAL.write_text("\n".join(sorted(names - {None})) + "\n")


def main() -> None:
    """Write the table whole."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow

    for name in MORE:
        importlib.import_module(f"tensorflow.{name}")
    found: dict[int, tuple] = {}
    seen: set[int] = {id(tensorflow)}
    walk(tensorflow, "", found, seen)
    walk(tensorflow.compat.v1, "compat.v1.", found, seen)
    lines, count = [], 0
    for module_name in sorted(sys.modules):
        module = sys.modules[module_name]
        if not module_name.startswith("tensorflow.python.") or module is None:
            continue
        if module_name.startswith(OWNERS) or not isinstance(module, types.ModuleType):
            continue
        entries = []
        for name, value in sorted(vars(module).items()):
            if id(value) in found and not name.startswith("__"):
                public = found[id(value)][1]
                if public.startswith("raw_ops."):
                    continue
                same = public.rpartition(".")[2] == name
                entries.append(f"{name}={public}" if not same else public)
        if entries:
            lines.append(" ".join([module_name.removeprefix("tensorflow."), *entries]))
            count += len(entries)
    record_canonical(found)
    NAMES.write_text("\n".join(lines) + "\n")
    print(len(lines), "modules,", count, "names")


if __name__ == "__main__":
    main()
