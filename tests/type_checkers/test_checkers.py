"""Type checkers and editors see tensors, variables, signatures; pyright and mypy read programs."""

from __future__ import annotations

import doctest
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

import talweg as tf

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GUIDES = (
    *("README", "data", "doctor", "files", "from_pytorch", "functions", "gradient_answers"),
    *("gradients", "graph_def", "graphs", "saved_model", "settings", "tensorboard"),
    *(f"tutorials/{name}" for name in ("1_first_gradient", "2_why_is_it_none", "4_functions")),
    *(f"tutorials/{name}" for name in ("3_training_a_network", "5_tensorflow_1", "8_devices")),
)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


UNTYPED = ("MissingTypeStubs", "UnknownMemberType", "UnknownVariableType")
AS_AT_A_PROMPT = dict.fromkeys(("reportUnusedExpression", "reportRedeclaration"), False)


def pyright_errors(folder):
    """What pyright says of the files in a folder: (name, line, message) of every error."""
    settings = {"typeCheckingMode": "basic", "extraPaths": [str(ROOT)], **AS_AT_A_PROMPT}
    config = folder / "pyrightconfig.json"
    config.write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    found = subprocess.run([*command, "-p", str(config)], capture_output=True, text=True)
    report = json.loads(found.stdout)
    assert report["summary"]["filesAnalyzed"] == len(list(folder.glob("*.py"))), found.stdout
    return [
        (Path(each["file"]).stem, each["range"]["start"]["line"] + 1, each["message"])
        for each in report["generalDiagnostics"]
        if each["severity"] == "error"
    ]


def strict(text, *lenient):
    """A program that pyright is to check in strict mode, but for some rules; its lines stay."""
    rules = [f"{name}=false" for name in (*AS_AT_A_PROMPT, *[f"report{name}" for name in lenient])]
    return f"{text}\n# pyright: {', '.join(['strict', *rules])}\n"


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """What one pyright says of all programs, since each would read talweg's stubs anew."""
    folder = tmp_path_factory.mktemp("programs")
    programs = {module_of(name): program_of(name) for name in GUIDES}
    programs |= {name: (HERE / f"{name}.py").read_text() for name in ("program", "wrong")}
    programs["unmarked"] = programs["marked"] = "def f(x):\n    return x\n"
    programs["digits"] = strict((ROOT / "examples/digits.py").read_text(), *UNTYPED)
    for name in ("program", "readme_program", "marked"):
        programs[name] = strict(programs[name])
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
    return pyright_errors(folder)


def in_modules(errors, *names):
    return [each for each in errors if each[0] in names]


def marked_lines():
    """The numbers of the lines of wrong.py that are wrong."""
    text = (HERE / "wrong.py").read_text().splitlines()
    return [number for number, line in enumerate(text, 1) if "# WRONG" in line]


def program_of(guide):
    """The code of a guide as one program, without what is meant to raise."""
    path = ROOT / "README.md" if guide == "README" else ROOT / "docs" / f"{guide}.md"
    lines = []
    for block in BLOCK.findall(path.read_text()):
        examples = doctest.DocTestParser().get_examples(block)
        lines += [each.source for each in examples if not each.exc_msg]
        lines += [] if examples else [block]
    return "".join(lines)


def test_a_users_program_in_strict_mode(errors):
    assert in_modules(errors, "program", "readme_program") == []
    found = in_modules(errors, "wrong")
    assert sorted({line for _, line, _ in found}) == marked_lines(), found
    # the mark that makes it strict is understood, and concerns its own file
    assert in_modules(errors, "marked") and not in_modules(errors, "unmarked")


def module_of(guide):
    """The name of the module that has a guide's program."""
    return f"{guide.lower().replace('/', '_')}_program"


def test_the_programs_of_the_guides(errors):
    assert in_modules(errors, *map(module_of, GUIDES)) == []


def test_an_example_in_strict_mode(errors):
    """Matplotlib says of no keyword what it is, and scikit-learn has no types: the rest is strict.
    What pyright makes of Keras, which has none either, is not asked."""
    assert in_modules(errors, "digits") == []


def test_mypy(tmp_path):
    """Strict for the user's program, README's and examples/; guides have functions without
    annotations, and give a name to one thing after the other, as at a prompt."""
    programs = [HERE / f"{name}.py" for name in ("program", "wrong")]
    for path in (*programs, *(ROOT / "examples").glob("*.py")):
        (tmp_path / path.name).write_text(path.read_text())
    for name in GUIDES:
        (tmp_path / f"{module_of(name)}.py").write_text(program_of(name))
    guides = ",".join(module_of(name) for name in GUIDES if name != "README")
    (tmp_path / "mypy.ini").write_text(
        f"[mypy]\nstrict = True\nmypy_path = {ROOT}\n"
        f"[mypy-sklearn.*]\nignore_missing_imports = True\n[mypy-{guides}]\n"
        "disallow_untyped_defs = False\ndisallow_incomplete_defs = False\n"
        "disallow_untyped_calls = False\ndisable_error_code = assignment\n"
    )
    files = sorted(path.name for path in tmp_path.glob("*.py"))
    # Packages of stubs are looked for on Python's own path alone, as they are when installed.
    seen = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "mypy", *files]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=seen)
    errors = re.findall(r"^(\w+)\.py:(\d+): error: (.*)$", found.stdout, re.MULTILINE)
    wrong = [int(line) for name, line, _ in errors if name == "wrong"]
    assert wrong == marked_lines(), found.stdout + found.stderr
    assert [each for each in errors if each[0] != "wrong"] == []


def test_an_editable_install_is_seen(tmp_path):
    """It is a folder in a .pth file, as the layout in pyproject.toml has it, and no import hook."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["tool"]["setuptools"]["package-dir"] == {"": "."}
    venv.create(tmp_path / "env", with_pip=False)
    python = next(each for each in (tmp_path / "env").glob("*/python*") if each.is_file())
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run([str(python), "-c", ask], capture_output=True, text=True).stdout
    (Path(packages.strip()) / "__editable__.talweg.pth").write_text(f"{ROOT}\n")
    (tmp_path / "program.py").write_text(
        "import talweg as tf\nreveal_type(tf.ones([2]))\ntf.onse\n"
    )
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    commands = (
        ["mypy", "--python-executable", str(python), "--cache-dir", str(tmp_path / "cache")],
        ["pyright", "--pythonpath", str(python)],
    )
    for command in commands:
        told = subprocess.run(
            [sys.executable, "-m", *command, "program.py"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=clean,
        ).stdout
        assert re.search(r"Tensor\"", told) and '"onse"' in told, told


def test_the_program_runs():
    runpy.run_path(str(HERE / "program.py"))


@pytest.mark.parametrize("space", ["nn", "math", "linalg", "compat.v1.nn"])
def test_help_lists_functions(space):
    module = tf
    for part in space.split("."):
        module = getattr(module, part)
    assert set(module.__all__) == set(dir(module)) and len(module.__all__) > 20


def test_nothing_raises_without_keras():
    code = (
        "import sys, inspect, pydoc\n"
        "sys.modules['keras'] = None\n"
        "import talweg as tf\n"
        "assert not hasattr(tf, 'keras') and not hasattr(tf, 'losses')\n"
        "assert len(dir(tf)) > 200 and len(inspect.getmembers(tf)) > 200\n"
        "assert 'matmul(a' in pydoc.render_doc(tf, renderer=pydoc.plaintext)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert found.returncode == 0, found.stderr
