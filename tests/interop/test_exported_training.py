"""Training programs there and back: what talweg exports trains on with TensorFlow's numbers.

`tools/check_exports.py` has TensorFlow itself train what is written here.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from interop import exported, exported_training
from programs.v1 import meta_graphs

import talweg

tf = talweg.compat.v1
BUILDS = {build.__name__: build for build in meta_graphs.BUILDS}


@pytest.mark.parametrize("name", BUILDS)
def test_training_goes_on_after_export(name):
    """Only TensorFlow's operations are written; imported again, they give its numbers."""
    build = BUILDS[name]
    message = meta_graphs.written(tf, np, build)
    types = {node.op for node in exported.nodes(message.graph_def)}
    assert [op for op in types if op.startswith("Talweg")] == []
    fetched, _ = meta_graphs.trained(tf, np, message)
    assert exported_training.difference(build, fetched, tf) is None
