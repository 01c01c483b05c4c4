"""Versions: talweg's own, and TensorFlow's whose API this is."""

import os

RELEASE = "0.1.0"  # talweg's own
VERSION = "2.21.0"  # what tf.__version__ says: the TensorFlow API that is followed
GIT_VERSION = f"talweg-{RELEASE}"
COMPILER_VERSION = "llvm"
GRAPH_DEF_VERSION = 2434
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0


def stamps(folder: str) -> str:
    """Return the names,
    sizes and times of the Python files in and below a folder: they tell versions apart.
    """
    parts = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                parts.append(f"{entry.name}:{status.st_size}:{status.st_mtime_ns}")
            elif entry.is_dir() and entry.name != "__pycache__":
                parts.append(f"{entry.name}({stamps(entry.path)})")
    return " ".join(sorted(parts))
