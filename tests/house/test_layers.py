"""The house keeps its rules: imports run one way, files and functions stay small."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "talweg"
LAYERS = [
    *("core", "graph", "kernels", "formats", "prims", "transform", "passes", "lower", "execute"),
    *("eager", "trace", "pipeline", "doctor", "api", "linear_operators", "numpy_api"),
    *("strategies", "feature_columns", "summaries", "testing", "raw", "compat_v1", "interop"),
    *("private", "command"),
]
FILES = sorted(PACKAGE.rglob("*.py"))
LAZY = {
    "scipy",
    "ml_dtypes",
    "rich",
    "matplotlib",
    "tensorboard",
    "google",
    "re2",
    "keras",
    "llvmlite",
    "malt",
    "PIL",
}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(tree: ast.AST) -> list[tuple[str, ast.stmt]]:
    found: list[tuple[str, ast.stmt]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append((node.module, node))
            found += [(f"{node.module}.{alias.name}", node) for alias in node.names]
    return found


def layer(module: str) -> int | None:
    parts = module.split(".")
    if parts[0] == "talweg" and len(parts) > 1 and parts[1] in LAYERS:
        return LAYERS.index(parts[1])
    return None


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_run_one_way(path):
    own = layer(".".join(path.relative_to(ROOT).with_suffix("").parts))
    if own is None:
        return
    upward = [m for m, _ in imports(ast.parse(path.read_text())) if (layer(m) or 0) > own]
    assert not upward, f"{name_of(path)} imports from a higher layer: {upward}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_hidden_imports(path):
    """Inside functions only optional or heavy packages are imported (and api's own lazy table)."""
    tree = ast.parse(path.read_text())
    top = {id(node) for node in tree.body}
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.Lambda)):
            continue
        for module, node in imports(function):
            if id(node) in top or module.split(".")[0] in LAZY:
                continue
            assert module.startswith("talweg.api.table"), f"{name_of(path)}: import of {module}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_sizes(path):
    text = path.read_text()
    lines = text.splitlines()
    assert len(lines) <= 500, f"{len(lines)} lines"
    long = [n for n, line in enumerate(lines, 1) if len(line) > 100]
    assert not long, f"lines over 100 columns: {long}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= 70, f"{node.name} has {length} lines"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_module_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text())), "no docstring"


def test_import_loads_only_numpy():
    code = (
        "import sys, talweg as tf; tf.constant(1.0) + 1; "
        f"print(sorted({LAZY!r} & set(m.split('.')[0] for m in sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=ROOT
    )
    assert (result.stdout.strip(), result.stderr) == ("[]", "")


def test_name_table_is_current():
    command = [sys.executable, "tools/namespaces.py", "--check"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_importing_talweg_makes_no_tensors_ready():
    """Tensors and what they need are loaded with the first name that is used."""
    code = "import sys, talweg; print([m for m in sys.modules if m.startswith('talweg.eager.')])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert result.stdout.strip() == "[]", result.stdout
