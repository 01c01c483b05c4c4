"""Libraries with operations in C++ say at their import why they cannot work, and what can."""

from __future__ import annotations

import importlib
import sys

import pytest

import talweg as tf


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package `tensorflow_text` on the path, as its wheel would put it there."""
    (tmp_path / "tensorflow_text").mkdir()
    (tmp_path / "tensorflow_text" / "__init__.py").write_text("import no_such_library_of_it")
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("tensorflow_text", None)
    tf.as_tensorflow()


def test_an_installed_one_is_refused(installed):
    with pytest.raises(
        ImportError, match="C\\+\\+.*tensorflow_text|tensorflow_text.*C\\+\\+"
    ) as it:
        importlib.import_module("tensorflow_text")
    assert "TextVectorization" in str(it.value) and it.value.name == "tensorflow_text"


def test_one_that_is_not_there_is_just_not_there():
    tf.as_tensorflow()
    with pytest.raises(ModuleNotFoundError, match="No module named 'tensorflow_io'$"):
        importlib.import_module("tensorflow_io")
