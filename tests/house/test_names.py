"""Names of primitives and operations that stand in the code as text: each one exists.

A name that nobody checks is a rule that never holds: after a renaming it would say nothing.  Read
from the syntax: what `.prim.name` is compared with and looked up in (single texts, tuples, sets and
dictionaries, from other modules too), and the names given to `later` and `REGISTRY`.
"""

from __future__ import annotations

import ast
import functools
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import talweg as tf
from talweg.core.primitive import REGISTRY

PACKAGE = Path(tf.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
HOLDERS = {"prim", "primitive"}  # names of variables and attributes that are primitives


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@functools.cache
def known() -> frozenset[str]:
    """All primitives, and what stands in their place inside the compiler."""
    for module in pkgutil.walk_packages(tf.__path__, "talweg."):
        if module.name.split(".")[1] not in ("command", "__main__"):
            import_module(module.name)
    constructs = {
        text
        for path in FILES
        if "Construct(" in path.read_text("utf-8")
        for call in calls(tree_of(path), "Construct")
        for text in texts(call.args[0], path)
    }
    return frozenset(REGISTRY) | constructs


def calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name and node.args:
            yield node


@functools.cache
def assigned(path: Path) -> dict[str, ast.expr]:
    """Names at the top of a module, and what they are."""
    found = {}
    for node in tree_of(path).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found[node.target.id] = node.value
    return found


@functools.cache
def imported(path: Path) -> dict[str, Path]:
    """Names that a module imports from others of the package, and from which."""
    found = {}
    for node in tree_of(path).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("talweg."):
            source = PACKAGE.parent.joinpath(*node.module.split("."))
            file = source.with_suffix(".py") if not source.is_dir() else source / "__init__.py"
            found.update({alias.asname or alias.name: file for alias in node.names})
    return found


def texts(node: ast.expr | None, path: Path) -> list[str]:
    """The texts an expression is made of, as far as the syntax tells."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, (ast.Tuple, ast.Set, ast.List)):
        return [text for item in node.elts for text in texts(item, path)]
    if isinstance(node, ast.Dict):  # without a key: **other
        return [
            text
            for key, value in zip(node.keys, node.values)
            for text in texts(value if key is None else key, path)
        ]
    if isinstance(node, ast.DictComp):
        return []
    if isinstance(node, ast.Starred):
        return texts(node.value, path)
    if isinstance(node, ast.BinOp):
        return texts(node.left, path) + texts(node.right, path)
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "split":
            return [word for text in texts(function.value, path) for word in text.split()]
        if getattr(function, "id", "") in ("frozenset", "set", "tuple", "dict"):
            return [text for item in node.args for text in texts(item, path)]
        return []
    if isinstance(node, ast.Name):
        if node.id in assigned(path):
            return texts(assigned(path)[node.id], path)
        if node.id in imported(path) and imported(path)[node.id].exists():
            return texts(ast.Name(node.id), imported(path)[node.id])
    return []


def is_name_of_primitive(node: ast.expr, aliases: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in aliases
    if not (isinstance(node, ast.Attribute) and node.attr == "name"):
        return False
    holder = node.value
    return getattr(holder, "id", None) in HOLDERS or getattr(holder, "attr", None) in HOLDERS


def aliases_in(scope: ast.AST) -> set[str]:
    """Variables of a function that are names of primitives, and nothing else."""
    found, others = set(), set()
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts))
                for one, value in pairs:
                    if isinstance(one, ast.Name):
                        named = is_name_of_primitive(value, set())
                        (found if named else others).add(one.id)
    return found - others


@functools.cache
def found_in(path: Path) -> frozenset[tuple[str, int]]:
    """All texts of a file that have to be names of primitives, with their lines."""
    if not re.search(r"\bprim(itive)?\.name\b|\blater\(|\bREGISTRY\[", path.read_text("utf-8")):
        return frozenset()
    return frozenset([*compared(path), *named(path)])


def compared(path: Path) -> Iterator[tuple[str, int]]:
    """Texts that names of primitives are compared with or looked up in, with their lines."""
    functions = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef)]
    scopes = [(scope, aliases) for scope in functions if (aliases := aliases_in(scope))]
    for scope, aliases in [*scopes, (tree_of(path), set())]:  # which has the others' rest
        for node in ast.walk(scope):
            sides: list[ast.expr] = []
            if isinstance(node, ast.Compare):
                pairs = [node.left, *node.comparators]
                within = type(node.ops[0]) in (ast.In, ast.NotIn)
                if within and is_name_of_primitive(pairs[-1], aliases):
                    continue  # whether a name has a part
                if any(is_name_of_primitive(side, aliases) for side in pairs):
                    sides = [side for side in pairs if not is_name_of_primitive(side, aliases)]
            elif isinstance(node, ast.Subscript) and is_name_of_primitive(node.slice, aliases):
                sides = [node.value]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                first = node.args[0] if node.args else None
                if node.func.attr == "get" and first and is_name_of_primitive(first, aliases):
                    sides = [node.func.value]
            for side in sides:
                for text in texts(side, path):
                    yield text, node.lineno


def named(path: Path) -> Iterator[tuple[str, int]]:
    """Texts that are given to `later` and `REGISTRY`, with their lines."""
    tree = tree_of(path)
    if imported(path).get("later", path).name == "primitive.py":
        for call in calls(tree, "later"):
            yield from ((text, call.lineno) for text in texts(call.args[0], path))
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "REGISTRY":
            yield from ((text, node.lineno) for text in texts(node.slice, path))


@pytest.mark.parametrize("package", sorted({p.relative_to(PACKAGE).parts[0] for p in FILES}))
def test_names_of_primitives_exist(package):
    wrong = {}
    for path in [path for path in FILES if path.relative_to(PACKAGE).parts[0] == package]:
        for text, line in found_in(path):
            if text not in known():
                wrong[f"{path.relative_to(PACKAGE)}:{line}"] = text
    assert not wrong, wrong


def test_what_is_read_is_there_to_be_read():
    """The reader sees what it is made for; otherwise it would find nothing wrong."""
    seen: dict[str, set[str]] = {}
    for path in FILES:
        for text, _ in found_in(path):
            seen.setdefault(path.relative_to(PACKAGE).parts[0], set()).add(text)
    assert len(seen["passes"]) > 20 and len(seen["doctor"]) > 40 and len(seen["lower"]) > 5
    assert {"mul", "branch", "gather_rows"} <= seen["passes"]  # a comparison, two tables
