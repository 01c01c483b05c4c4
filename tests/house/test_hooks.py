"""Hooks are declared and implemented, with the same parameters; lazy modules are what is said."""

from __future__ import annotations

import ast
import functools
import inspect
from pathlib import Path

import pytest

from talweg.api.export import import_everything
from talweg.api.table import TABLE
from talweg.core import hooks as declarations
from talweg.core.hooks import hooks
from talweg.core.primitive import Primitive

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "talweg").rglob("*.py"))


@functools.cache
def declared() -> dict[str, ast.FunctionDef | None]:
    """The declarations by name; None for those of primitives."""
    tree = ast.parse(Path(declarations.__file__).read_text())
    (cls,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    (choice,) = [node for node in cls.body if isinstance(node, ast.If)]
    found: dict[str, ast.FunctionDef | None] = {}
    for node in choice.orelse:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = None
    return found


def used() -> set[str]:
    """Names of the hooks that are called or looked at somewhere."""
    names = set()
    for path in [path for path in FILES if "core.hooks import hooks" in path.read_text()]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "hooks":
                names.add(node.attr)
    return names


@pytest.fixture(scope="module", autouse=True)
def everything() -> None:
    import_everything()


@pytest.mark.parametrize("name", sorted(declared()))
def test_a_hook_takes_what_is_declared(name):
    implementation = getattr(hooks, name)
    declaration = declared()[name]
    if declaration is None or isinstance(implementation, Primitive):
        assert isinstance(implementation, Primitive)
        return
    if inspect.isclass(implementation):
        return
    has = inspect.signature(inspect.unwrap(implementation)).parameters
    if any(p.kind is p.VAR_POSITIONAL for p in has.values()):
        return
    given = [a.arg for a in declaration.args.args]
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    places = [p.name for p in has.values() if p.kind in kinds]
    assert places[: len(given)] == given
    assert {a.arg for a in declaration.args.kwonlyargs} <= set(has)
    if declaration.args.kwarg is None:
        needed = {p.name for p in has.values() if p.default is p.empty}
        assert needed <= {*given, *(a.arg for a in declaration.args.kwonlyargs)}


def test_every_hook_is_declared_and_used():
    names = set(declared())
    assert used() - {"finder"} <= names
    assert {name.removeprefix("hook:") for name in TABLE if name.startswith("hook:")} <= names
    assert set(vars(hooks)) - {"finder"} <= names


def test_a_hook_that_nobody_implements_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no hook 'no_such_hook' is implemented"):
        hooks.no_such_hook  # noqa: B018 -- asking is the test


def test_lazy_modules_are_those_type_checkers_see():
    sources = {path: path.read_text() for path in FILES}
    for path, text in sources.items():
        if "LazyModule(" in text:
            check_lazy_modules(path, ast.parse(text))


def check_lazy_modules(path: Path, tree: ast.Module) -> None:
    """Compare what a file imports for type checkers with its lazy modules."""
    checked, lazy = {}, {}
    for choice in ast.walk(tree):
        if not isinstance(choice, ast.If) or ast.unparse(choice.test) != "TYPE_CHECKING":
            continue
        for node in choice.body:
            if isinstance(node, ast.ImportFrom):
                checked |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
        for node in choice.orelse:
            if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("LazyModule("):
                lazy[ast.unparse(node.targets[0])] = ast.literal_eval(node.value.args[0])
    assert lazy or path.name == "lazy.py", path
    assert {name: checked.get(name) for name in lazy} == lazy, path
