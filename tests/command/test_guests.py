"""talweg as a guest: magics in notebooks, the doctor in pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import talweg as tf

ROOT = Path(__file__).resolve().parents[2]


class Shell:
    """As much of an IPython shell as the magics use."""

    def __init__(self):
        self.names, self.magics = {"tf": tf}, {}
        self.execution_count, self.history_manager = 1, None

    def register_magic_function(self, function, kind, name):
        self.magics[name] = function

    def run_cell(self, text):
        exec(text, self.names)
        return self

    def raise_error(self):
        pass

    def ev(self, text):
        return eval(text, self.names)

    def push(self, names):
        self.names.update(names)


@pytest.fixture
def shell():
    shell = Shell()
    tf.load_ipython_extension(shell)
    return shell


def test_a_cell_is_examined(shell):
    shown = shell.magics["talweg_doctor"]("", "tf.square([1.0, 2.0])")
    assert "TW616" in repr(shown) and "TW616" in shown._repr_html_()


def test_a_cell_is_profiled(shell):
    shown = shell.magics["talweg_profile"]("3", "x = tf.ones([3]) * 2.0")
    assert "By operation" in repr(shown) and "By operation" in shown._repr_html_()


def test_graphs_are_shown(shell):
    shell.run_cell("f = tf.function(lambda x: x * 2.0)\nf(tf.ones([3]))")
    shown = shell.magics["talweg_graph"]("f", None)
    assert "<iframe" in shown._repr_html_() and "pictures of" in repr(shown)
    shown = shell.magics["talweg_graph"]("", "y = tf.sin(tf.ones([3]))")
    assert "at once" in repr(shown)
    assert "no graph" in repr(shell.magics["talweg_graph"]("", "y = 1"))


def test_pages_and_names(shell):
    shown = shell.magics["talweg_explain"]("TW604")
    assert "TW604" in repr(shown) and shown._repr_markdown_().startswith("# TW604")
    assert "TW604" in shell.magics["talweg_explain"]("")._repr_html_()
    assert "tf.nn.conv2d" in repr(shell.magics["talweg_ops"]("conv2d"))


def test_in_ipython_itself():
    code = (
        "from IPython.core.interactiveshell import InteractiveShell as S; s = S.instance();"
        "s.run_cell('%load_ext talweg'); s.run_cell('%talweg_tensorflow');"
        "s.run_cell('import tensorflow as tf; print(tf.ones([2]).numpy())');"
        "s.run_cell('%%talweg_doctor\\ntf.square([1.0])\\nx = 1')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "[1. 1.]" in done.stdout and "TW616" in done.stdout


TESTS = """
import numpy as np, pytest
import talweg as tf, talweg.compat.v1 as tf1

def test_fine():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x) == 2

def test_drops():
    x = tf.Variable(1.0, name="forgotten")
    with tf.GradientTape() as tape:
        y = tf.constant(2.0) * 2
    assert tape.gradient(y, x) is None

def test_bakes():
    with tf1.Graph().as_default(), tf1.Session() as session:
        session.run(tf1.reduce_sum(np.ones((500, 500))))

def test_leaks():
    with tf1.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf1.float32)
        y, kept = x, []
        for i in range(30):
            y = y + 1.0 * i
            kept.append(y)
            session.run(y, {x: 1.0})

@pytest.mark.talweg_doctor(ignore="TW301")
def test_drops_on_purpose():
    test_drops()

@pytest.mark.talweg_doctor
def test_left_alone():
    test_bakes()

def test_zero_was_asked_for():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = tf.constant(2.0) * 2
    assert tape.gradient(y, x, unconnected_gradients="zero") == 0
"""


def test_pytest_fails_tests_that_leak_bake_or_drop(tmp_path):
    (tmp_path / "test_own.py").write_text(TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "talweg_pytest",
        "test_own.py",
    ]
    # where talweg is installed, pytest would find the plugin by itself, and refuse it a second time
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    def run(*options):
        return subprocess.run(
            [*command, *options], cwd=tmp_path, env=environment, capture_output=True, text=True
        ).stdout

    out = run("--talweg-doctor")
    assert "3 failed, 4 passed" in out
    for name in ("test_drops", "test_bakes", "test_leaks"):
        assert f"FAILED test_own.py::{name} " in out
    assert "the gradient by forgotten is None" in out and "TW604" in out and "TW601" in out
    assert "1 failed, 6 passed" in run("--talweg-doctor", "--talweg-doctor-select", "604")
    assert "7 passed" in run()
