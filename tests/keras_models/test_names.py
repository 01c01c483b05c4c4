"""Every name of TensorFlow that Keras uses is there (tools/keras_names.py wrote the list)."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

import talweg

ROOT = Path(__file__).resolve().parents[2]
NAMES = json.loads((ROOT / "tests" / "keras_models" / "data" / "names.json").read_text())

sys.path.insert(0, str(ROOT / "tools"))
keras_names = importlib.import_module("keras_names")


@pytest.mark.parametrize("name", NAMES)
def test_name(name):
    assert keras_names.there(name), f"Keras uses it in {', '.join(NAMES[name][:3])}"


def test_the_list_is_that_of_the_keras_here():
    recorded = Path(ROOT / "tests" / "keras_models" / "data" / "version.txt").read_text().strip()
    if talweg.keras.__version__ == recorded:
        assert sorted(keras_names.all_names()) == sorted(NAMES)
    else:  # another Keras: what it uses beyond the list is there, too
        new = {n: f for n, f in keras_names.all_names().items() if n not in NAMES}
        assert not keras_names.missing(new)
