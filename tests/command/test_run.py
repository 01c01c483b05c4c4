"""`talweg run`: what programs find, how they fail, what is said then."""

from __future__ import annotations

import json
import sys

import pytest

import talweg
from talweg.command.line import main


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Runs a text as a program: (exit status, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def call(source, *arguments, options=(), name="program.py"):
        (tmp_path / name).write_text(source)
        status = main(["run", *options, name, *arguments])
        printed = capfd.readouterr()
        return status, printed.out, printed.err

    return call


def test_a_program_finds_what_python_gives_it(run, tmp_path):
    (tmp_path / "beside.py").write_text("text = 'beside'\n")
    before = sys.modules.get("tensorflow")
    status, out, err = run(
        "import sys, beside, __main__\n"
        "print(__name__, __file__, sys.argv, beside.text, __main__.sys is sys)",
        "--epochs",
        "3",
        "--help",
    )
    assert out == "__main__ program.py ['program.py', '--epochs', '3', '--help'] beside True\n"
    assert (status, err) == (0, "")
    assert sys.modules.get("tensorflow") is before and str(tmp_path) not in sys.path


def test_tensorflow_is_talweg_in_all_spellings(run):
    status, out, err = run(
        "import tensorflow, tensorflow as tf\n"
        "import tensorflow.compat.v1 as tf1, tensorflow.nn as nn\n"
        "from tensorflow import math\n"
        "from tensorflow.compat import v2\n"
        "print(tf is tensorflow, tf.nn is nn, math is tf.math, tf1.Session.__name__)\n"
        "print(tf.__version__)\n"
    )
    assert (status, err) == (0, "")
    assert out == "True True True Session\n2.21.0\n"


def test_threads_may_import_while_a_program_ends(monkeypatch):
    from talweg.command import stand_in

    def is_below(name):  # a thread comes in between
        sys.modules.setdefault("made_by_a_thread", sys)
        return name == "tensorflow" or name.startswith("tensorflow.")

    monkeypatch.setattr(stand_in, "is_below", is_below)
    for _ in range(2):
        sys.modules.pop("made_by_a_thread", None)
        with stand_in.standing_in():
            sys.modules.pop("made_by_a_thread", None)
    sys.modules.pop("made_by_a_thread", None)


def test_a_module_and_a_folder(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "part.py").write_text("text = 'part'\n")
    (tmp_path / "package" / "train.py").write_text(
        "import sys\nfrom . import part\nprint(part.text, sys.argv[1:])\n"
    )
    (tmp_path / "package" / "__main__.py").write_text("from .part import text\nprint(text)\n")
    assert main(["run", "-m", "package.train", "-x"]) == 0
    assert main(["run", "-m", "package"]) == 0
    assert capfd.readouterr().out == "part ['-x']\npart\n"
    for name in [name for name in sys.modules if name.startswith("package")]:
        del sys.modules[name]


def test_a_module_whose_package_imports_tensorflow(tmp_path, monkeypatch, capfd):
    package = tmp_path / "package_of_layers"
    package.mkdir()
    (package / "__init__.py").write_text("import tensorflow as tf\nname = tf.__name__\n")
    (package / "train.py").write_text("from package_of_layers import name\nprint(name)\n")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "-m", "package_of_layers.train"]) == 0
    assert capfd.readouterr().out == "talweg\n"


def test_the_exit_status_is_the_programs(run):
    assert run("raise SystemExit(7)")[0] == 7
    assert run("import sys\nsys.exit('no data')") == (1, "", "no data\n")
    assert run("raise SystemExit")[0] == 0
    assert run("raise KeyboardInterrupt")[0] == 130
    assert main(["run", "there_is_none.py"]) == 2
    assert main(["run", "-m", "there_is_none"]) == 2
    assert main(["run"]) == 2 and main(["walk"]) == 2 and main([]) == 2


def test_a_failure_shows_the_programs_own_lines(run):
    source = (
        "import tensorflow as tf\n\ndef f(x):\n    return tf.matmul(x, x)\n\nf(tf.ones([2, 3]))"
    )
    status, _, err = run(source)
    assert status == 1
    assert err.count("  File ") == 2 and "line 6, in <module>" in err and "line 4, in f" in err
    assert "[TW204]" in err and "talweg/" not in err
    assert "talweg/" in run(source, options=["--traceback"])[2]


def test_syntax_errors_and_chained_errors(run):
    status, _, err = run("x = (1,\ny = 2\n")
    assert status == 1 and err.startswith('  File "program.py", line 1')
    _, _, err = run("try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise KeyError('x')\n")
    assert "During handling" in err and err.count("  File ") == 2


def test_a_missing_name_says_who_asked_and_what_else_is_missing(run):
    status, _, err = run(
        "import tensorflow as tf\n"
        "def f():\n"
        "    return tf.mlir.experimental.convert_function(1)\n"
        "def g():\n"
        "    return tf.no_such_thing\n"
        "f()\n"
    )
    assert status == 1
    assert "tf.mlir" in err and "not use" in err
    assert "asked for at program.py:3" in err
    assert "tf.no_such_thing  (program.py:5)" in err


def test_a_missing_module_says_so(run):
    status, _, err = run("import tensorflow.lite.python.interpreter")
    assert status == 1 and "ModuleNotFoundError" in err and "program.py:1" in err
    status, _, err = run("from tensorflow.nn import rellu")
    assert status == 1 and "ImportError" in err and "did you mean tf.nn.relu" in err


V1 = """
import tensorflow as tf
from tensorflow.nn import relu
import tensorflow.nn
x = tf.placeholder(tf.float32, [None])
y = relu(x) + tf.reduce_sum(x, keep_dims=True)
with tf.Session() as session:
    print(session.run(y, {x: [1.0, -2.0]}), tf.nn.relu is relu, tf.get_variable.__name__)
"""


def test_a_program_for_tensorflow_1_is_recognised_and_served(run):
    status, out, err = run(V1)
    assert (status, out, err) == (0, "[ 0. -1.] True get_variable\n", "")
    assert talweg.executing_eagerly()
    assert run(V1, options=["--v1"])[0] == 0
    status, _, err = run(V1, options=["--v2"])
    assert status == 1 and "talweg run --v1" in err


def test_a_program_may_switch_to_graphs_itself(run):
    source = "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\n" + V1[V1.index("x =") :]
    status, out, _ = run(source.replace("relu(x)", "tf.nn.relu(x)").replace("is relu", "is None"))
    assert (status, out) == (0, "[ 0. -1.] False get_variable\n")
    assert talweg.executing_eagerly()


def test_a_helper_beside_a_program_for_tensorflow_1_gets_it_too(run, tmp_path):
    (tmp_path / "own_helper.py").write_text(
        "import tensorflow as tf\ndef make():\n    return tf.placeholder(tf.float32, name='p')\n"
    )
    status, out, _ = run("import own_helper\nprint(own_helper.make().name)")
    assert (status, out) == (0, "p:0\n")
    sys.modules.pop("own_helper", None)


def test_a_notebook_runs_as_a_program(tmp_path, capfd):
    cells = [
        {"cell_type": "markdown", "source": ["# text"]},
        {"cell_type": "code", "source": "%matplotlib inline\nimport tensorflow as tf"},
        {
            "cell_type": "code",
            "source": [
                "@tf.function\n",
                "def f(a):\n",
                "  if a > 0:\n",
                "    return a * 2\n",
                "  return -a\n",
                "\n",
                "f(tf.constant(2.0)).numpy()",
            ],
        },
        {"cell_type": "code", "source": ["'not shown';\n", "x = 1\n", "x;"]},
        {"cell_type": "code", "source": ["tf.no_such_thing"]},
    ]
    path = tmp_path / "book.ipynb"
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "metadata": {}}))
    assert main(["run", str(path)]) == 1
    printed = capfd.readouterr()
    assert printed.out == "np.float32(4.0)\n"
    assert f"{path}[cell 5]" in printed.err and "no name of TensorFlow" in printed.err
    assert main(["ops", "--of", str(path)]) == 1
    assert f"{path}[cell 5]:1" in capfd.readouterr().out
    path.write_text("this is no notebook")
    assert main(["run", str(path)]) == 1


def test_what_went_before_is_put_back(run):
    argv, path, main_module = list(sys.argv), list(sys.path), sys.modules["__main__"]
    run("import sys\nsys.argv.append('x')\n1/0")
    assert (sys.argv, sys.path, sys.modules["__main__"]) == (argv, path, main_module)


def test_threads_of_the_program_are_waited_for(run):
    status, out, _ = run(
        "import threading, time\n"
        "def late():\n"
        "    time.sleep(0.2)\n"
        "    import tensorflow as tf\n"
        "    print(tf.ones([2]).numpy())\n"
        "threading.Thread(target=late).start()\n"
    )
    assert (status, out) == (0, "[1. 1.]\n")


SPAWNS = """
import multiprocessing
import tensorflow as tf
def work(x):
    return float(tf.reduce_sum(tf.ones([x]))), tf.__name__, __name__
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(work, [2, 3]))
"""


def test_processes_that_the_program_starts_anew_have_talweg_too(run):
    status, out, err = run(SPAWNS)
    assert (status, err) == (0, "")
    assert out == "[(2.0, 'talweg', '__mp_main__'), (3.0, 'talweg', '__mp_main__')]\n"
    first = SPAWNS.replace("tf.__name__", "tf.placeholder.__name__")
    first = first.replace("float(tf.reduce_sum(tf.ones([x])))", "tf.Session().run(tf.ones([x]))[0]")
    assert "'placeholder'" in run(first)[1]


def test_where_tensorflow_itself_was_imported_it_is_refused(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", type(sys)("tensorflow"))
    status, _, err = run("print(1)")
    assert status == 2 and "cannot answer to the name" in err and "[TW403]" in err
