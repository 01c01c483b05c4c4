"""`import tensorflow` gives talweg where it was asked for, and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(code: str, folder: Path | None = None) -> str:
    """What a fresh process prints; its error if it fails."""
    path = [str(ROOT), *([str(folder)] if folder else [])]
    program = f"import sys; sys.path[:0] = {path!r}\n{code}"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else result.stderr


@pytest.fixture
def installed(tmp_path):
    """A folder in which another TensorFlow is installed."""
    package = tmp_path / "tensorflow"
    package.mkdir()
    (package / "__init__.py").write_text("real = True\n")
    (package / "python.py").write_text("real = True\n")
    return tmp_path


@pytest.mark.parametrize(
    "statement, value",
    [
        ("import tensorflow as tf", "tf is talweg"),
        ("import tensorflow.nn", "tensorflow.nn is talweg.nn"),
        ("import tensorflow.compat.v1 as tf1", "tf1 is talweg.compat.v1 and tf1.Session"),
        ("from tensorflow import math, nn", "math is talweg.math"),
        ("from tensorflow.math import softplus", "softplus is talweg.math.softplus"),
        ("from tensorflow.python.ops.math_ops import is_nan", "is_nan is talweg.math.is_nan"),
        ("import importlib as i; m = i.import_module('tensorflow.linalg')", "m is talweg.linalg"),
    ],
)
def test_modules_are_talwegs_own(statement, value):
    assert (
        run(f"import talweg; talweg.as_tensorflow()\n{statement}\nprint(bool({value}))") == "True"
    )


def test_nothing_answers_before_it_is_asked(installed):
    code = "import talweg, tensorflow; print(tensorflow.real)"
    assert run(code, installed) == "True"
    code = "import talweg, importlib.util as u; print(u.find_spec('tensorflow').origin)"
    assert run(code, installed) == str(installed / "tensorflow" / "__init__.py")


def test_one_that_is_installed_is_not_seen(installed):
    code = "import talweg; talweg.as_tensorflow(); import tensorflow as t; print(t is talweg)"
    assert run(code, installed) == "True"
    # nor are modules of it that talweg has not
    code = "import talweg; talweg.as_tensorflow(); import tensorflow.nowhere"
    assert "talweg has no such module yet" in run(code, installed)


def test_one_that_is_imported_is_refused(installed):
    text = run("import tensorflow, talweg\ntalweg.as_tensorflow()", installed)
    assert "ImportError: talweg cannot answer to the name `tensorflow`" in text
    assert str(installed) in text and "[TW403]" in text


def test_a_folder_of_talwegs_own_is_no_module_of_tensorflow():
    text = run("import talweg; talweg.as_tensorflow(); import tensorflow.execute")
    assert "No module named 'tensorflow.execute'" in text and "[TW402]" in text


def test_twice_is_once():
    code = "import talweg as t; n = len(sys.meta_path); t.as_tensorflow(); t.as_tensorflow()"
    assert run(code + "; print(len(sys.meta_path) - n)") == "1"


def test_a_name_that_is_missing_says_so():
    code = "import talweg as t; t.as_tensorflow(); import tensorflow as tf; tf.no_such_name"
    assert "AttributeError: tf.no_such_name is no name of TensorFlow 2.21" in run(code)


def test_importing_talweg_imports_no_keras():
    code = "import talweg, sys; print([m for m in sys.modules if m.split('.')[0] == 'keras'])"
    assert run(code) == "[]"


def test_the_backend_asked_for_is_kept():
    code = "import os; os.environ['KERAS_BACKEND'] = 'jax'; import talweg; talweg.as_tensorflow()"
    assert run(code + "; print(os.environ['KERAS_BACKEND'])") == "jax"
    code = "import talweg, os; talweg.as_tensorflow(); print(os.environ['KERAS_BACKEND'])"
    assert run(code) == "tensorflow"
