"""Every example in a docstring or a document runs and prints what it says, on every machine.

Examples that print fractions run three times: as they are, and with every kernel's last bits moved
up and down (`moved.py`), as NumPy's loops for another processor may have them.  One that prints
something else then has to print fewer digits (`.numpy().round(4)`), or take numbers whose results
are exact.
"""

from __future__ import annotations

import doctest
import importlib
import math
import pkgutil
import re
import subprocess
import sys
import textwrap
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import talweg as tf
from talweg.api import registered_gradients
from talweg.core.primitive import REGISTRY
from tests.house.moved import moved

ROOT = Path(__file__).resolve().parents[2]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = sorted(m.name for m in pkgutil.walk_packages(tf.__path__, "talweg."))
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FRACTION = re.compile(r"\d\.|True|False")
MOVES = (None, math.inf, -math.inf)


def moving(direction):
    return nullcontext() if direction is None else moved(direction)


def checked(runner, report, direction):
    where = "" if direction is None else f"with last bits moved towards {direction}: "
    assert runner.failures == 0, where + "".join(report)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name, monkeypatch):
    module = importlib.import_module(name)
    found = doctest.DocTestFinder(exclude_empty=True).find(module, name)
    tests = [test for test in found if test.examples]
    fractions = [test for test in tests if any(FRACTION.search(e.want) for e in test.examples)]
    for direction in MOVES:
        runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
        report: list[str] = []
        monkeypatch.setattr(registered_gradients, "_registered", {})  # names are taken but once
        with moving(direction):
            for test in tests if direction is None else fractions:
                names = dict(test.globs)
                runner.run(test, out=report.append, clear_globs=False)
                test.globs = names
        checked(runner, report, direction)


@pytest.mark.parametrize("direction", MOVES, ids=["as it is", "moved up", "moved down"])
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_documents(path, direction, tmp_path, monkeypatch):
    """Blocks of one document run in order, in one namespace."""
    text = path.read_text()
    if direction is not None and ">>>" not in text:
        return  # nothing that is compared
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    report: list[str] = []
    with moving(direction):
        for match in BLOCK.finditer(text):
            block, line = match.group(1), text.count("\n", 0, match.start()) + 1
            if ">>>" in block:
                test = doctest.DocTestParser().get_doctest(block, names, path.name, str(path), line)
                runner.run(test, out=report.append, clear_globs=False)
                names.update(test.globs)
            else:
                exec(compile(block, f"{path.name}:{line}", "exec"), names)
    names.clear()
    if not tf.executing_eagerly():  # a document about TensorFlow 1
        tf.compat.v1.reset_default_graph()
        tf.compat.v1.enable_v2_behavior()
    checked(runner, report, direction)


def test_the_operation_of_contributing():
    """The declaration that CONTRIBUTING.md shows works as it stands, value and derivative."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    program = f"""
import numpy as np, talweg as tf
from talweg.core.declare import elementwise
from talweg.core.dtypes import INEXACT
{textwrap.dedent(block)}
x = tf.Variable([0.5, 3e38])
with tf.GradientTape() as tape:
    y = bump(tf.convert_to_tensor(x))
print(y.numpy().round(4), tape.gradient(y, x).numpy().round(4))
"""
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert found.stdout == "[0.7788 0.    ] [-0.7788 -0.    ]\n", found.stderr


@pytest.mark.parametrize("direction", [math.inf, -math.inf])
def test_what_is_moved(direction):
    """Numbers that machines may round otherwise; not exact ones, nor those that are passed on."""
    kernels = {name: prim.numpy for name, prim in REGISTRY.items()}
    third = np.float32(1) / np.float32(3)
    plain = [
        tf.exp([0.0, 1.0]),
        tf.abs([third, -third]),
        tf.reduce_sum([0.5, 2.0]),
        tf.signal.fft(tf.constant([1.0, third], tf.complex64)),
    ]
    with moved(direction):
        other = [
            tf.exp([0.0, 1.0]),
            tf.abs([third, -third]),
            tf.reduce_sum([0.5, 2.0]),
            tf.signal.fft(tf.constant([1.0, third], tf.complex64)),
        ]
        names: dict = {"tf": tf}
        fragile = doctest.DocTestParser().get_doctest(
            ">>> tf.exp(1.0).numpy().round(7)\n" + repr(tf.exp(1.0).numpy().round(7)),
            names,
            "fragile",
            None,
            0,
        )
    sign = math.copysign(1, direction)
    distance = (other[0].numpy().view("i4") - plain[0].numpy().view("i4")).tolist()
    assert distance == [0, 2 * sign]
    np.testing.assert_array_equal(other[1], plain[1])
    np.testing.assert_array_equal(other[2], plain[2])
    assert np.all(other[3].numpy().real != plain[3].numpy().real)
    assert {name: REGISTRY[name].numpy for name in kernels} == kernels
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(fragile, out=lambda text: None)
    assert runner.failures == 1
