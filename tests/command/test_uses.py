"""Reading which names a program uses, and which TensorFlow it was written for."""

from __future__ import annotations

from pathlib import Path

import pytest

from talweg.api.names.known import describe, resolve
from talweg.command.uses import Reader, read


def names(source):
    reader = Reader("program.py")
    reader.read(source)
    return [use.name for use in reader.uses]


@pytest.mark.parametrize(
    "source, found",
    [
        ("import tensorflow as tf\ntf.math.add(1, 2)", ["math.add"]),
        ("import tensorflow\ntensorflow.nn.relu", ["nn.relu"]),
        ("import tensorflow.compat.v1 as tf\ntf.Session", ["compat.v1", "compat.v1.Session"]),
        ("from tensorflow.compat import v1 as tf\ntf.Session", ["compat.v1", "compat.v1.Session"]),
        ("from tensorflow import nn as n\nn.relu(1)", ["nn", "nn.relu"]),
        ("from tensorflow.nn import relu\nrelu(1)", ["nn.relu"]),
        ("import tensorflow as tf\nlayers = tf.nn\nlayers.relu", ["nn", "nn.relu"]),
        (
            "import tensorflow as tf\ntf = tf.compat.v1\ntf.Session",
            ["compat.v1.compat.v1", "compat.v1.Session"],
        ),
        ("import numpy as np\nnp.add(1, 2)", []),
        ("import tensorflow as tf\ntf.own = 3", []),
    ],
)
def test_names_that_are_used(source, found):
    assert [name for name in names(source) if name] == found


def test_lines_are_those_of_the_use(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import tensorflow as tf\n\n\ndef f():\n    return tf.no_such_thing(1)\n")
    (use,) = read(str(path)).missing()
    assert (use.line, use.text, use.file) == (5, "tf.no_such_thing", str(path))


@pytest.mark.parametrize(
    "source, first",
    [
        ("import tensorflow as tf\ntf.Session()", True),
        ("import tensorflow as tf\nx = tf.placeholder(tf.float32)", True),
        ("import tensorflow as tf\ntf.train.AdamOptimizer(0.1)", True),
        ("import tensorflow as tf\ntf.contrib.layers.fully_connected", True),
        ("from tensorflow import placeholder", True),
        ("import tensorflow.contrib.slim as slim", True),
        ("import tensorflow.compat.v1 as tf\ntf.Session()", False),
        ("import tensorflow as tf\ntf.compat.v1.Session()", False),
        ("import tensorflow as tf\nwith tf.GradientTape() as tape: pass", False),
        ("import tensorflow as tf\ntf.keras.layers.Dense(3)", False),
        ("import tensorflow as tf\ntf.nonsense()", False),
        (
            "try:\n    import tensorflow.compat.v1 as tf\nexcept ImportError:\n"
            "    import tensorflow as tf\ntf.Session()",
            False,
        ),
    ],
)
def test_the_generation_is_recognised(tmp_path, source, first):
    path = tmp_path / "program.py"
    path.write_text(source)
    assert bool(read(str(path)).first_generation()) is first


VERSIONS = """
import tensorflow as tf
if tf.__version__.startswith("1."):
    tf.set_random_seed(1)
    session = tf.Session()
try:
    from tensorflow.contrib import rnn
except ImportError:
    rnn = None
tf.function(lambda x: x)
"""


def test_questions_about_versions_decide_nothing(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(VERSIONS + "x = tf.no_such(1) if hasattr(tf, 'no_such') else 2\n")
    assert not read(str(path)).first_generation() and not read(str(path)).missing()
    path.write_text(VERSIONS + "x = tf.placeholder(tf.float32)\n")
    assert [use.text for use in read(str(path)).first_generation()] == ["tf.placeholder"]
    path.write_text(
        "import tensorflow as tf\ntf.random.set_seed(1)\ntf.data.AUTOTUNE\n"
        "tf.random.set_seed(2)\ntf.get_variable('x', [2])\n"
    )
    assert not read(str(path)).first_generation()


def test_modules_beside_the_program_are_read(tmp_path):
    (tmp_path / "program.py").write_text("import helper\nfrom package import part\n")
    (tmp_path / "helper.py").write_text("import tensorflow as tf\ntf.placeholder(tf.float32)\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("from . import deep\n")
    (tmp_path / "package" / "deep.py").write_text("import tensorflow as tf\ntf.Session\n")
    (tmp_path / "package" / "part.py").write_text("this is no Python")
    found = read(str(tmp_path / "program.py"))
    assert {use.text for use in found.first_generation()} == {"tf.placeholder", "tf.Session"}
    assert len(found.files) == 4


def test_what_is_said_of_names():
    assert "there" in describe("nn.relu")
    assert "not use" in describe("mlir.experimental.convert_function")
    assert "not in talweg yet" in describe("raw_ops.EncodeProto")
    assert "did you mean tf.nn.relu" in describe("nn.rellu")
    assert "--v1" in describe("placeholder")
    assert "went with TensorFlow 2" in describe("contrib.slim")
    assert resolve("float32.max").name == "float32"
    assert not resolve("nn.nothing").there


def test_no_name_of_the_second_generation_is_proof_of_the_first():
    names = (Path(__file__).parent.parent / "recorded" / "names.txt").read_text().split()
    wrong = [name for name in names if resolve(name).generation == 1]
    assert not wrong, wrong


def test_a_program_with_float8_is_of_the_second_generation(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import tensorflow as tf\nprint(tf.cast([1.0], tf.experimental.float8_e5m2))\n")
    assert not read(str(path)).first_generation()


@pytest.mark.parametrize("name", ["addons", "hub", "probability", "text", "datasets"])
def test_packages_beside_tensorflow(name):
    """They are named for what they are, and prove no generation."""
    assert "a package of its own" in describe(f"{name}.layers")
    assert resolve(f"{name}.layers").generation == 2
