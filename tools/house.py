"""Measure the house: sizes of packages and folders, names, types and joints; a table to compare.

    python tools/house.py [--root DIR] [--json]

The figures: files and lines of each package, the largest folder, functions over 70 lines, class
names that stand for two or more classes, look-ups of functions by a string, comparisons with the
name of a primitive outside of declarations, locals of functions over 15 lines named `found` or
`place`, the share of parameters without a type (`Any` or none),
`# fmt: skip` comments.  Types themselves are pyright's to check.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections import Counter, defaultdict
from pathlib import Path

LONG = 70  # lines of a function
SHORT = 15  # lines of a function that a reader has in view at once
VAGUE = {"found", "place"}  # names of anything
NO_VERBS = frozenset(
    ["A", "An", "It", "One", "Something", "That", "The", "These", "This", "Those"]
    + ["What", "Whether", "Which", "Who"]
)
LOOK_UPS = {
    "OPERATIONS[...]": r"\bOPERATIONS\[\"",
    "look_up_export(...)": r"\bhooks\.look_up_export\(\"",
    "later(...)": r"\blater\(\"",
    "import_module(talweg...)": r"import_module\(f?\"talweg",
}


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    """Return the parameters of a function that a type could be given for, self and cls left out."""
    a = function.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *[x for x in (a.vararg, a.kwarg) if x]]
    return [p for n, p in enumerate(every) if not (n == 0 and p.arg in ("self", "cls"))]


def is_any(annotation: ast.expr | None) -> bool:
    """Whether an annotation says nothing."""
    return isinstance(annotation, ast.Name) and annotation.id == "Any"


def is_rule(path: Path, in_class: bool) -> bool:
    """Whether a function is a rule in a declaration, whose parameters have no types by design."""
    return path.parts[1] == "prims" and in_class


def outer_functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the functions and methods that stand in no other function."""
    functions = []
    for part in ast.iter_child_nodes(tree):
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions.append(part)
        else:
            functions += outer_functions(part)
    return functions


def vague_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Names that a long function binds, and that do not say what they hold."""
    if (function.end_lineno or 0) - function.lineno < SHORT:
        return set()
    bound = {part.arg for part in ast.walk(function) if isinstance(part, ast.arg)}
    for part in ast.walk(function):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            bound.add(part.id)
    return bound & VAGUE


def begins_without_verb(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a docstring begins with an article or pronoun; those of properties may."""
    if any(ast.unparse(mark).endswith(("property", "setter")) for mark in function.decorator_list):
        return False
    return (ast.get_docstring(function) or "").split(" ")[0] in NO_VERBS


def compares_name(node: ast.AST) -> bool:
    """Whether a node compares the name of a primitive, which its declaration should say."""
    if not isinstance(node, ast.Compare):
        return False
    sides = [side for side in (node.left, *node.comparators) if isinstance(side, ast.Attribute)]
    return any(s.attr == "name" and ast.unparse(s.value).endswith("prim") for s in sides)


def measure(root: Path) -> dict:
    """Return all figures of the package `talweg` below `root`."""
    files = sorted((root / "talweg").rglob("*.py"))
    packages: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    folders: Counter[str] = Counter()
    classes: dict[str, set[str]] = defaultdict(set)
    look_ups: Counter[str] = Counter()
    long: list[str] = []
    vague: list[str] = []
    verbless: list[str] = []
    total, untyped, bare, skips, compared = 0, 0, 0, 0, 0
    for path in files:
        name, text = path.relative_to(root), path.read_text("utf-8")
        package = name.parts[1] if len(name.parts) > 2 else "."
        packages[package][0] += 1
        packages[package][1] += text.count("\n")
        folders[str(name.parent)] += 1
        skips += text.count("# fmt: skip")
        for kind, pattern in LOOK_UPS.items():
            look_ups[kind] += len(re.findall(pattern, text))
        tree = ast.parse(text)
        in_class = {id(f) for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for f in c.body}
        if package != "prims":  # whose rules have the names of parameters
            for function in outer_functions(tree):
                vague += [f"{name}:{function.lineno} {word}" for word in vague_names(function)]
        for node in ast.walk(tree):
            compared += package != "prims" and compares_name(node)
            if isinstance(node, ast.ClassDef):
                classes[node.name].add(str(name))
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if begins_without_verb(node):
                    verbless.append(f"{name}:{node.lineno} {node.name}")
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > LONG:
                    long.append(f"{name}:{node.lineno} {node.name} ({length})")
                if is_rule(name, id(node) in in_class):
                    continue
                for parameter in parameters(node):
                    total += 1
                    untyped += is_any(parameter.annotation)
                    bare += parameter.annotation is None
    doubled = {name: sorted(at) for name, at in classes.items() if len(at) > 1}
    largest, most = folders.most_common(1)[0]
    return {
        "packages": {name: tuple(sizes) for name, sizes in sorted(packages.items())},
        "files": len(files),
        "lines": sum(lines for _, lines in packages.values()),
        "largest folder": f"{largest} ({most} files)",
        "folders over 40 files": sum(n > 40 for n in folders.values()),
        "folders over 20 files": sum(n > 20 for n in folders.values()),
        f"functions over {LONG} lines": long,
        "doubled class names": doubled,
        "look-ups by string": dict(look_ups),
        "comparisons with prim.name": compared,
        "vague locals in long functions": vague,
        "docstrings of functions without a verb": verbless,
        "parameters": total,
        "parameters annotated Any": untyped,
        "parameters bare": bare,
        "share without a type": round((untyped + bare) / max(total, 1), 3),
        "fmt: skip": skips,
    }


def main() -> int:
    """Print the figures as a table or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    options = parser.parse_args()
    found = measure(options.root)
    if options.json:
        print(json.dumps(found, indent=1))
        return 0
    print(f"{'package':12} {'files':>6} {'lines':>8}")
    for package, (count, lines) in found.pop("packages").items():
        print(f"{package:12} {count:6} {lines:8}")
    for name, value in found.items():
        shown = len(value) if isinstance(value, list) else value
        if name == "doubled class names":
            shown = f"{len(value)}: {' '.join(sorted(value))}"
        print(f"{name}: {shown}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
