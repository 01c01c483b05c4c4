"""Wrong settings in the environment are warned of at import, with the nearest right one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import talweg as tf
from talweg.core.settings import SETTINGS, check_environment
from talweg.core.version import RELEASE

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "name, value, told",
    [
        ("TALWEG_EXECUTOR", "fast", "is not one of auto, interpret, llvm"),
        ("TALWEG_EXECUTOR", "lvm", "did you mean 'llvm'?"),
        ("TALWEG_EXECUTR", "llvm", "did you mean TALWEG_EXECUTOR?"),
        ("TALWEG_THREADS", "abc", "is not a number of at least 0"),
        ("TALWEG_THREADS", "-1", "is not a number of at least 0"),
        ("TALWEG_STRICT", "maybe", "is not 0 or 1"),
        ("TALWEG_CPU", "x86-64-v9", "did you mean 'x86-64-v4'?"),
        ("TALWEG_NOTHING_LIKE_IT", "1", "talweg settings"),
    ],
)
def test_what_is_wrong_is_told(monkeypatch, name, value, told):
    monkeypatch.setenv(name, value)
    with pytest.warns(UserWarning, match=re.escape(told)):
        check_environment()


def test_what_is_right_is_not(monkeypatch, recwarn):
    for name, value in (
        ("EXECUTOR", "LLVM"),
        ("THREADS", "2"),
        ("STRICT", "on"),
        ("CPU", ""),
        ("DEBUG", ""),
    ):
        monkeypatch.setenv(f"TALWEG_{name}", value)
    monkeypatch.setenv("TALWEG_BENCH_JAX_PYTHON", "/nowhere")
    check_environment()
    assert not recwarn.list


def test_at_import_and_at_use():
    code = "import talweg as tf; tf.function(lambda x: x + 1)(tf.ones([2]))"
    environment = os.environ | {"TALWEG_EXECUTOR": "fast", "PYTHONPATH": str(ROOT)}
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert "UserWarning: TALWEG_EXECUTOR='fast'" in found.stderr
    assert found.returncode == 1 and "ValueError: TALWEG_EXECUTOR='fast'" in found.stderr


def test_all_settings_are_documented():
    text = (ROOT / "docs" / "settings.md").read_text()
    assert all(f"`{setting.variable}`" in text for setting in SETTINGS.values())


def test_talwegs_own_version():
    assert tf.__talweg_version__ == RELEASE and "__talweg_version__" in dir(tf)
