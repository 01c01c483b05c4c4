"""`distributions/talweg-as-tensorflow`: `import tensorflow` where TensorFlow is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import talweg

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "distributions" / "talweg-as-tensorflow"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with what the wheel holds, as pip puts it there."""
    folder = tmp_path_factory.mktemp("site")
    build = "import sys, stand_in_wheel; print(stand_in_wheel.build_wheel(sys.argv[1]))"
    command = [sys.executable, "-c", build, str(folder)]
    made = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True).stdout
    with zipfile.ZipFile(folder / made.strip()) as wheel:
        names = wheel.namelist()
        wheel.extractall(folder)
    assert len([name for name in names if name.endswith(".dist-info/RECORD")]) == 1
    return folder


def run(site, program, *more):
    paths = [str(site), str(ROOT), *map(str, more)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_tensorflow_is_talweg(site):
    program = """
from importlib import metadata, util
assert util.find_spec("tensorflow") is not None
import tensorflow.compat.v1 as tf1
import tensorflow as tf
from tensorflow.python.framework import ops
import talweg
assert tf is talweg and tf1 is talweg.compat.v1
print(metadata.version("tensorflow"), tf.__version__, float(tf.reduce_sum([1.0, 2.0])))
"""
    done = run(site, program)
    assert done.stdout.split() == ["2.21.0", "2.21.0", "3.0"], done.stderr


def test_beside_tensorflow_itself_it_is_refused(site, tmp_path):
    (tmp_path / "tensorflow" / "python").mkdir(parents=True)
    done = run(site, "import tensorflow", tmp_path)
    assert "uninstall one of the two" in done.stderr


def test_versions_agree():
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text("utf-8"))["project"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    assert project["version"] == talweg.__version__
    assert f"talweg-as-tensorflow=={project['version']}" in extras["tensorflow"]
