"""The other subcommands: what they print, in which form, with which status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from talweg.command import bench, line
from talweg.command.line import COMMANDS, main, parser_of
from talweg.core import settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_suffices(name, capsys):
    text = parser_of(name).format_help()
    assert "examples:" in text and f"talweg {name}" in text and "exit status" in text
    assert main([name, "--help"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 110


def test_the_first_help_lists_every_command(capsys):
    assert main([]) == 2 and main(["--help"]) == 0 and main(["--version"]) == 0
    printed = capsys.readouterr()
    assert all(name in printed.out for name in COMMANDS)
    assert "0.1.0" in printed.out


def test_settings(capsys, monkeypatch):
    assert main(["settings"]) == 0
    assert "TALWEG_EXECUTOR=" in capsys.readouterr().out
    assert main(["settings", "--json"]) == 0
    rows = {row["variable"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["TALWEG_THREADS"]["default"] == 0


def test_explain(capsys):
    assert main(["explain"]) == 0
    assert "TW301" in capsys.readouterr().out
    assert main(["explain", "tw604"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("TW604") and "```" not in page
    assert main(["explain", "604", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["code"] == "TW604"
    assert main(["explain", "zero"]) == 0
    told = capsys.readouterr().out
    assert "TW350" in told and "TW353" in told and "TW347" not in told
    assert main(["explain", "TW999"]) == 2
    assert "no code TW999" in capsys.readouterr().err


def test_ops_finds_names(capsys):
    assert main(["ops", "conv2d"]) == 0
    assert "tf.nn.conv2d " in capsys.readouterr().out
    assert main(["ops", "tf.nn.relu"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("tf.nn.relu(features") and "talweg.api.nn.activation" in page
    assert main(["ops", "--missing", "mlir"]) == 0
    assert "tf.mlir.experimental" in capsys.readouterr().out
    assert main(["ops", "--missing", "LinearOperator"]) == 1  # all of them are there
    assert "no name of TensorFlow 2.21 with LinearOperator" in capsys.readouterr().err
    assert main(["ops", "placeholder"]) == 0  # a name of TensorFlow 1 only
    assert "tf.compat.v1.placeholder" in capsys.readouterr().out
    assert main(["ops", "no such thing at all"]) == 1
    assert main(["ops", "--json", "softmax"]) == 0
    assert any(row["name"] == "tf.nn.softmax" for row in json.loads(capsys.readouterr().out))


def test_signatures_are_as_they_are_written(capsys):
    assert main(["ops", "tf.nn.conv2d"]) == 0
    told = capsys.readouterr().out
    assert "    data_format: str = 'NHWC'," in told or "data_format: str | None = 'NHWC'" in told
    assert ": '" not in told.split("\n\n")[0]


@pytest.mark.parametrize(
    "name", ["raw_ops.ResourceGather", "compat.v1.layers.Conv2D", "compat.v1.abs", "GradientTape"]
)
def test_ops_knows_names_as_they_are_written(name, capsys):
    assert main(["ops", f"tf.{name}"]) == 0
    assert capsys.readouterr().out.startswith(f"tf.{name}(")


def test_ops_knows_what_is_not_there(capsys):
    for word in ("raw_ops.TPUCompile", "TPUCompile", "tf.tpu.experimental.Topology", "Topology"):
        assert main(["ops", word]) == 1
        assert "will not be there" in capsys.readouterr().out, word
    assert main(["ops", "reduce_summ"]) == 1
    assert "near: tf.reduce_sum" in capsys.readouterr().err


def test_ops_tells_of_names_whose_use_raises(tmp_path, capsys):
    path = tmp_path / "convert.py"
    path.write_text("import tensorflow as tf\ntf.lite.Interpreter('a.tflite')\ntf.ones([2])\n")
    assert main(["ops", "--of", str(path)]) == 1
    told = capsys.readouterr().out
    assert "missing  tf.lite.Interpreter" in told and "tf.saved_model.save" in told
    assert "1 name is there, 1 is missing" in told


def test_ops_of_a_program(tmp_path, capsys):
    path = tmp_path / "program.py"
    path.write_text("import tensorflow as tf\ntf.add(1, 2)\ntf.no_such_thing()\n")
    assert main(["ops", "--of", str(path)]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("missing  tf.no_such_thing")
    assert "there    tf.add" in printed
    path.write_text("import tensorflow as tf\ntf.Session()\n")
    assert main(["ops", "--of", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tensorflow"] == 1
    path.write_text("x = (")
    assert main(["ops", "--of", str(path)]) == 2


BAKES = """
import numpy as np
import tensorflow as tf
with tf.Session() as session:
    print(session.run(tf.reduce_sum(np.ones((500, 500)))))
"""


def test_doctor_reports_and_sets_the_status(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(BAKES)
    (tmp_path / "good.py").write_text("import tensorflow as tf\nprint(tf.ones([2]) + 1.0)\n")
    assert main(["doctor", "bad.py"]) == 1
    printed = capfd.readouterr().out
    assert "250000.0" in printed and "TW604" in printed and "bad.py:5" in printed
    assert main(["doctor", "--json", "--html", "report.html", "bad.py"]) == 1
    data = json.loads(capfd.readouterr().out)
    assert [finding["code"] for finding in data["findings"]] == ["TW604"]
    assert "TW604" in (tmp_path / "report.html").read_text()
    capfd.readouterr()
    assert main(["doctor", "--github", "bad.py"]) == 1
    assert "::warning file=bad.py,line=5,title=TW604::" in capfd.readouterr().err
    assert main(["doctor", "--ignore", "604", "bad.py"]) == 0
    assert main(["doctor", "--select", "TW601", "bad.py"]) == 0
    assert main(["doctor", "--exit-zero", "bad.py"]) == 0
    assert main(["doctor", "good.py"]) == 0
    (tmp_path / "fails.py").write_text(BAKES + "1 / 0\n")
    assert main(["doctor", "fails.py"]) == 3
    printed = capfd.readouterr()
    assert "TW604" in printed.out and "ZeroDivisionError" in printed.err


def test_run_with_doctor_and_profile(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(BAKES)
    with settings.executor("interpret"):  # the profile is by operation
        assert main(["run", "--doctor", "--profile", "bad.py"]) == 0
    err = capfd.readouterr().err
    assert "TW604" in err and "By operation" in err


def test_dump_tells_what_it_wrote(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(
        "import tensorflow as tf\ntf.function(lambda x: tf.exp(x) * 2)(tf.ones([3]))\n"
    )
    assert main(["dump", "--to", "stages", "--json", "program.py"]) == 0
    (files,) = json.loads(capfd.readouterr().out).values()
    assert any(name.endswith("loops.txt") for name in files)
    (tmp_path / "eager.py").write_text("import tensorflow as tf\ntf.ones([3]) * 2\n")
    assert main(["dump", "--to", "none", "eager.py"]) == 1


def test_what_is_nearly_right(capsys):
    assert main(["rum", "train.py"]) == 2
    assert "did you mean run?" in capsys.readouterr().err
    assert main(["explain", "TW399"]) == 2
    assert "near: TW3" in capsys.readouterr().err


def test_bench_measures(monkeypatch):
    monkeypatch.setattr(bench, "LEAST", 0.002)
    rows = {row.name: row for row in bench.eager_costs()}
    assert all(0 < row.value < 1e6 for row in rows.values())
    step, x = bench.network()
    assert step(x).shape == ()


def test_bench_of_a_program(tmp_path, capsys):
    path = tmp_path / "program.py"
    path.write_text("import sys, tensorflow as tf\nassert sys.argv[1] == 'x'\ntf.ones([3])\n")
    status, seconds, peak = bench.child([str(path), "x"], "interpret")
    assert status == 0 and 0 < seconds < 60 and peak > 1000
    status, _, _ = bench.child([str(path), "y"], "interpret")
    assert status == 1 and "AssertionError" in capsys.readouterr().err


def test_nothing_of_it_is_imported_by_talweg():
    code = (
        "import sys, talweg, talweg_pytest as plugin; talweg.ones([2]) + 1; "
        "print([name for name in sys.modules if name.startswith('talweg.command')])\n"
    )
    shim = "import sys, talweg_pytest; print('talweg' in sys.modules)"
    for text, printed in ((code, "[]"), (shim, "False")):
        done = subprocess.run(
            [sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True
        )
        assert (done.stdout.strip(), done.stderr) == (printed, "")


def test_the_shell_gets_the_status(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import sys\nprint('out')\nsys.exit(5)\n")
    done = subprocess.run(
        [sys.executable, "-m", "talweg", "run", str(path)], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (5, "out\n")
    assert line.main(["explain", "nonsense"]) == 2
