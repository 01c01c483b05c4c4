"""GPUs as programs see them: listed, chosen, hidden; `placement_programs.py` calls CPUs so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import talweg as tf
from talweg.core import machine

pytest.importorskip("jax", reason="the third executor is an extra")

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def said():
    before = os.environ.get("PYTHONPATH", "")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), before])}
    for name in ("XLA_FLAGS", "TALWEG_EXECUTOR"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-m", "tests.execute.xla.placement_programs"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_strategy_for_the_tpus_that_jax_has(said):
    found = said["tpus"]
    assert found["none"].startswith("No TPU devices found: JAX has none on this machine")
    assert found["not begun"] == found["none"]
    place = "/job:localhost/replica:0/task:0/device:TPU:"
    assert found["devices"] == [f"{place}{number}" for number in range(4)]
    assert found["results"] == [10.0]  # all have it alike
    assert found["variable"] == 10.0
    assert found["programs"] == [1]  # for all cores


def test_gpus_are_listed_hidden_and_grow_without_jax(said):
    found = said["before_anything_runs"]
    names = ["CPU:0", "GPU:0", "GPU:1", "GPU:2"]
    assert found["physical"] == [f"/physical_device:{name}" for name in names]
    assert found["logical"] == [f"/device:{name}" for name in names]
    assert found["growth"] == [False] * 3
    assert found["grown"] == [True] * 3
    assert found["hidden"] == [[], "auto"]
    assert found["visible"] == [f"/physical_device:{name}" for name in ("CPU:0", "GPU:1", "GPU:2")]
    assert found["chosen"] == "xla"
    assert "JAX neither divides a GPU" in found["divided"]
    assert not found["jax"]


def test_functions_run_where_a_block_says(said):
    found = said["functions"]
    assert found["nowhere"] == [1, "GPU:0"]
    assert found["gpu"] == [1, "GPU:0"]
    assert found["eager"] == "GPU:0"
    assert found["cpu"] == [0, "CPU:0"]
    assert found["soft"] == [1, "GPU:0"]
    assert "'/job:localhost/replica:0/task:0/device:GPU:7'" in found["hard"]
    assert found["value"] == [5.0, 6.0]


def test_functions_run_on_the_device_that_is_named_around_or_inside(said):
    found = said["placed"]
    first, second = ["GPU:0", 1], ["GPU:1", 2]  # JAX's device 0 is a GPU that is hidden
    assert found["first"] == [first] * 9
    assert found["second"] == [second] * 9
    assert found["inside"] == [second] * 3
    assert found["mixed"] == first
    added = np.array([1.0, 0.0, -1.0])
    wanted = [float(np.sum((np.array([1, 0, 3]) + n * added) * added)) for n in range(1, 19)]
    assert found["sums"] == wanted
    assert found["value"] == [19.0, 5.0, -15.0]
    assert found["tape"] == [second, first]
    np.testing.assert_allclose(found["gradient"], np.sin(added), 1e-6)
    assert found["nested"] == [first] * 2


def test_replicas_are_on_the_gpus(said):
    assert said["replicas"] == {
        "devices": ["GPU:0", "GPU:1"],
        "value": 6.0,
        "w": 6.0,
        "programs": 1,
        "jax": [1, 2],
    }


def test_what_can_be_said_only_before(said):
    found = said["afterwards"]
    assert found["growth"] == "Physical devices cannot be modified after being initialized"
    assert found["visible"] == "Visible devices cannot be modified after being initialized"
    assert "Allocator stats not available" in found["memory"]
    assert "No matching devices" in found["no memory"]
    assert found["details"]["device_name"] == "cpu"


@pytest.mark.parametrize(
    ("visible", "plugin", "count"),
    [(None, True, 2), ("0", True, 1), ("1,0,2", True, 2), ("-1", True, 0), ("", True, 0)]
    + [("0,-1,1", True, 1), (None, False, 0)],
)
def test_gpus_are_counted_without_jax(monkeypatch, tmp_path, visible, plugin, count):
    for number in range(2):
        (tmp_path / f"0000:0{number}:00.0").mkdir()
    monkeypatch.setattr(machine, "DRIVER", str(tmp_path))
    monkeypatch.setattr(machine, "find_spec", lambda name: object() if plugin else None)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert machine.count_gpus() == count


def test_a_machine_without_a_driver_has_none(monkeypatch):
    monkeypatch.setattr(machine, "DRIVER", "/not/there")
    assert machine.count_gpus() == 0


def test_here_are_no_gpus():
    assert tf.config.list_physical_devices("GPU") == []
    with pytest.raises(ValueError, match="No matching devices"):
        tf.config.experimental.get_memory_info("GPU:0")
