"""Every example in a docstring or a document runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import talweg

ROOT = Path(__file__).resolve().parents[2]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = sorted(m.name for m in pkgutil.walk_packages(talweg.__path__, "talweg."))
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    report: list[str] = []
    for test in finder.find(module, name):
        if test.examples:
            runner.run(test, out=report.append, clear_globs=False)
    assert runner.failures == 0, "".join(report)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_documents(path, tmp_path, monkeypatch):
    """Blocks of one document run in order, in one namespace."""
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    report: list[str] = []
    text = path.read_text()
    for match in BLOCK.finditer(text):
        block, line = match.group(1), text.count("\n", 0, match.start()) + 1
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, names, path.name, str(path), line)
            runner.run(test, out=report.append, clear_globs=False)
            names.update(test.globs)
        else:
            exec(compile(block, f"{path.name}:{line}", "exec"), names)
    names.clear()
    if not talweg.executing_eagerly():  # a document about TensorFlow 1
        talweg.compat.v1.reset_default_graph()
        talweg.compat.v1.enable_v2_behavior()
    assert runner.failures == 0, "".join(report)
