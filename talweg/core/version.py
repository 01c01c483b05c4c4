"""Versions: talweg's own, and TensorFlow's whose API this is."""

RELEASE = "0.1.0"  # talweg's own
VERSION = "2.21.0"  # what tf.__version__ says: the TensorFlow API that is followed
GIT_VERSION = f"talweg-{RELEASE}"
COMPILER_VERSION = "llvm"
GRAPH_DEF_VERSION = 2434
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
