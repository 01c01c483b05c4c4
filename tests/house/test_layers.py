"""The house keeps its rules: imports run one way, files and functions stay small."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.sources import Source, imported_modules, source_of

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


def layer(module: str) -> int | None:
    parts = module.split(".")
    if parts[0] == "talweg" and len(parts) > 1 and parts[1] in LAYERS:
        return LAYERS.index(parts[1])
    return None


def packages() -> dict[str, list[Path]]:
    """The files of each package of talweg."""
    found: dict[str, list[Path]] = {}
    for path in FILES:
        found.setdefault(path.relative_to(PACKAGE).parts[0], []).append(path)
    return found


def upward_imports(path: Path, source: Source) -> list[str]:
    """Imports from a higher layer."""
    own = layer(".".join(path.relative_to(ROOT).with_suffix("").parts))
    if own is None:
        return []
    modules = [module for node in source.imports for module in imported_modules(node)]
    upward = [module for module in modules if (layer(module) or 0) > own]
    return [f"{name_of(path)} imports from a higher layer: {module}" for module in upward]


def hidden_imports(path: Path, source: Source) -> list[str]:
    """Imports inside of functions, but of optional or heavy packages (and api's own lazy table)."""
    return [
        f"{name_of(path)}: import of {module}"
        for node in source.hidden
        for module in imported_modules(node)
        if module.split(".")[0] not in LAZY and not module.startswith("talweg.api.table")
    ]


def oversizes(path: Path, source: Source) -> list[str]:
    """What is too long: the file, a line, a function."""
    lines = path.read_text().splitlines()
    found = [f"{name_of(path)} has {len(lines)} lines"] if len(lines) > 500 else []
    found += [f"{name_of(path)}:{n} is too long" for n, x in enumerate(lines, 1) if len(x) > 100]
    for name, first, last in source.functions:
        if last - first >= 70:
            found.append(f"{name_of(path)}: {name} has more than 70 lines")
    return found


def silence(path: Path, source: Source) -> list[str]:
    """A module that does not say what it is for."""
    return [] if source.docstring else [f"{name_of(path)} has no docstring"]


@pytest.mark.parametrize("package", packages())
def test_the_files_of_a_package_keep_the_rules(package):
    broken = []
    for path in packages()[package]:
        for rule in (upward_imports, hidden_imports, oversizes, silence):
            broken += rule(path, source_of(path))
    assert not broken, "\n".join(broken)


def read(text: str) -> Source:
    return Source(ast.parse(text))


def test_the_rules_see_what_breaks_them():
    path = PACKAGE / "core" / "errors.py"
    short = read("from talweg.eager import tape\ndef f():\n    import talweg.api" + "\n" * 3)
    assert len(upward_imports(path, short)) == 3 and len(hidden_imports(path, short)) == 1
    assert oversizes(path, read("def f():\n" + "    x\n" * 70)) and silence(path, short)


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
