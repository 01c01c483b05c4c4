"""Every name that is imported from talweg, its tests and its tools is there.

Pyright is told to leave unknown attributes alone, and unknown imports with them; an import inside
of a function, in a tool that no test runs, would be missed until somebody runs it.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.house.sources import Source, source_of

ROOT = Path(__file__).resolve().parents[2]
OWN = ("talweg", "tests", "tools", "benchmarks")


def find_module(name: str) -> Path | None:
    """The file of a module, or the folder of a package without `__init__.py`."""
    path = ROOT.joinpath(*name.split("."))
    for each in (path / "__init__.py", path.parent / f"{path.name}.py"):
        if each.exists():
            return each
    return path if path.is_dir() else None


def is_absent(module: str, name: str) -> bool:
    """Whether a module is certain to have no such name."""
    path = find_module(module)
    if path is None or find_module(f"{module}.{name}") is not None:
        return path is None
    return path.is_file() and not {name, "__getattr__"} & source_of(path).defined


def absent_imports(source: Source) -> list[str]:
    """The imports of a file that name what is not there."""
    return [
        f"line {node.lineno}: from {node.module} import {alias.name}"
        for node in source.imports
        if isinstance(node, ast.ImportFrom)
        if not node.level and (node.module or "").split(".")[0] in OWN
        for alias in node.names
        if is_absent(node.module or "", alias.name)
    ]


@pytest.mark.parametrize("package", OWN)
def test_imported_names_are_there(package: str) -> None:
    found = []
    for path in sorted((ROOT / package).rglob("*.py")):
        found += [f"{path.relative_to(ROOT)}, {text}" for text in absent_imports(source_of(path))]
    assert not found, "\n".join(found)


def test_an_absent_name_is_seen() -> None:
    tree = ast.parse("def f():\n    from talweg.prims.rows import in_front, no_such_name")
    assert absent_imports(Source(tree)) == ["line 2: from talweg.prims.rows import no_such_name"]
