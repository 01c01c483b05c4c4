"""Record TensorFlow's public names (run it with TensorFlow's Python): tests/recorded/names.txt.

``python tools/record_names.py`` walks `tensorflow` without `compat`, `keras` and the namespaces
that Keras fills, and writes one name a line.
"""

from __future__ import annotations

import os
import types
from pathlib import Path

NAMES = Path(__file__).resolve().parent.parent / "tests" / "recorded" / "names.txt"
LEFT_OUT = {"compat", "keras", "losses", "metrics", "optimizers", "initializers"}


def names_of(module: types.ModuleType, prefix: str, seen: set[int]) -> list[str]:
    """Public names in a namespace and those below it."""
    found = []
    for name in sorted(dir(module)):
        if name.startswith("_") or (not prefix and name in LEFT_OUT):
            continue
        value = getattr(module, name, None)
        full = f"{prefix}{name}"
        if isinstance(value, types.ModuleType):
            public = "._api.v2." in value.__name__ or value.__name__ == "tensorflow.experimental"
            if public and id(value) not in seen:
                seen.add(id(value))
                found += names_of(value, f"{full}.", seen)
        else:
            found.append(full)
    return found


def main() -> None:
    """Write the list whole."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow

    names = names_of(tensorflow, "", {id(tensorflow)})
    temporary = NAMES.with_suffix(".tmp")
    temporary.write_text("\n".join(names) + "\n")
    os.replace(temporary, NAMES)
    print(len(names), "names")


if __name__ == "__main__":
    main()
