"""Objects saved and loaded by talweg, and loaded as TensorFlow saved them, do the same."""

import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import talweg as tf

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from interop.saved_model import first_generation, programs, running

RECORDED = Path(__file__).parent / "recorded"
V1 = {f"v1_{name}": build for name, build in first_generation.MODELS.items()}


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_saved_and_loaded(name, tmp_path):
    obj, signatures, calls = programs.PROGRAMS[name](tf, tmp_path)
    folder = str(tmp_path / "model")
    tf.saved_model.save(obj, folder, signatures)
    expected = running.called(tf, tf.saved_model.load(folder), calls)
    own = [k for k, (path, _, _) in enumerate(calls) if not path.startswith("signatures/")]
    found = running.called(tf, obj, [calls[k] for k in own])
    assert not running.differences(name, [calls[k] for k in own], [expected[k] for k in own], found)
    again = tf.saved_model.load(folder)
    tf.saved_model.save(again, folder + "_again", dict(again.signatures) or None)
    third = tf.saved_model.load(folder + "_again")
    assert not running.differences(name, calls, expected, running.called(tf, third, calls))


def recorded(name, tmp_path):
    """The folder of a recorded model, and what TensorFlow computed."""
    with zipfile.ZipFile(RECORDED / f"{name}.zip") as archive:
        archive.extractall(tmp_path / name)
    arrays = np.load(tmp_path / name / "expected.npz")
    results = []
    for call in range(sum("_" not in key for key in arrays.files)):
        values = []
        for place in range(int(arrays[str(call)])):
            value = arrays.get(f"{call}_{place}")
            texts = value is not None and value.dtype.kind == "S"
            values.append(value.astype(object) if texts else value)
        results.append(values)
    return str(tmp_path / name), results


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDED.glob("*.zip")))
def test_as_tensorflow_saved_it(name, tmp_path):
    folder, expected = recorded(name, tmp_path)
    if name in V1:
        (tmp_path / "other").mkdir()
        calls = V1[name](tf.compat.v1, tmp_path, tmp_path / "other" / name)
    else:
        _, _, calls = programs.PROGRAMS[name](tf, tmp_path)
    found = running.called(tf, tf.saved_model.load(folder), calls)
    assert not running.differences(name, calls, expected, found)


@pytest.mark.parametrize("name", V1)
def test_first_generation_saved_and_loaded(name, tmp_path):
    calls = V1[name](tf.compat.v1, tmp_path, tmp_path / "model")
    _, expected = recorded(name, tmp_path)
    found = running.called(tf, tf.saved_model.load(str(tmp_path / "model")), calls)
    assert not running.differences(name, calls, expected, found)
