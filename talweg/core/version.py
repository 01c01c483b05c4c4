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
    """The names, sizes and times of a folder's Python files: they tell one version from another."""
    with os.scandir(folder) as files:
        found = [(file.name, file.stat()) for file in files if file.name.endswith(".py")]
    return " ".join(sorted([f"{name}:{s.st_size}:{s.st_mtime_ns}" for name, s in found]))
