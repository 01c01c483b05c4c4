"""Record the signatures of TensorFlow's public names: tests/recorded/signatures.txt.

Run it with TensorFlow's Python: ``python tools/record_signatures.py``.  One line a name, those of
tf and those of tf.compat.v1, without Keras, tf.raw_ops (`record_operations.py` has them) and what
stands in no list of names:

    nn.relu function(features, name=None)
    Graph class()
    float32 value

The parameters are as Python writes them; a default that is no plain value is `...`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "tests" / "recorded" / "signatures.txt"
sys.path.insert(0, str(ROOT / "tests"))

from recorded.signatures import describe  # noqa: E402


def names() -> list[str]:
    """Return the names to ask for."""
    recorded = ROOT / "tests" / "recorded"
    own = (recorded / "names.txt").read_text().split()
    first = (recorded / "names_v1.txt").read_text().split()
    found = [name for name in own if not name.startswith("raw_ops.")]
    return found + [f"compat.v1.{name}" for name in first]


def main() -> None:
    """Write the file whole."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow

    lines = []
    for name in names():
        value = tensorflow
        try:
            for part in name.split("."):
                value = getattr(value, part)
        except (AttributeError, ImportError):
            continue
        lines.append(f"{name} {describe(value)}")
    temporary = TARGET.with_suffix(".tmp")
    temporary.write_text("\n".join(lines) + "\n", "utf-8")
    os.replace(temporary, TARGET)
    print(len(lines), "names")


if __name__ == "__main__":
    main()
