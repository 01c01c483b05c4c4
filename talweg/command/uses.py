"""List the names of TensorFlow that a program uses, and where: from its text, nothing is run.

Follows what `import` and plain assignments bind (`import tensorflow as tf`, `from tensorflow import
keras`, `layers = tf.layers`), and the modules beside the program that it imports.  A name that a
program computes (`getattr(tf, text)`) is not seen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from talweg.api.names.known import only_second, resolve

ROOTS = {"tensorflow": "", "talweg": ""}
FIRST = "compat.v1"
MANY_FILES = 200  # beside a program that are read
_VERSION = re.compile(r"version|hasattr|\bv[12]\b|tf[12]", re.IGNORECASE)
_MISSING = re.compile(r"ImportError|ModuleNotFoundError|AttributeError")


class NameUse(NamedTuple):
    """One mention of a name: as talweg would look it up, and the line."""

    name: str  # relative to `tf`: "compat.v1.Session"
    file: str
    line: int
    text: str  # as it was written: "tf.Session"
    sure: bool = True  # not behind a question about versions, or a `try` for what may be missing


class Reading(NamedTuple):
    """The names of TensorFlow that were found in a program."""

    uses: list[NameUse]
    files: list[str]

    def first_generation(self) -> list[NameUse]:
        """Return the uses that say a program was written for TensorFlow 1; none if it was not.

        These are names that only TensorFlow 1 has, of plain `tensorflow`.  Programs that ask for
        versions have some of both: what they do only in one of them does not count, and then the
        majority does.
        """
        sure = [use for use in self.uses if use.sure]
        first = [use for use in sure if resolve(use.name).generation == 1]
        second = [use for use in sure if only_second(use.name)]
        return first if len(first) >= len(second) else []

    def missing(self, first: bool = False) -> list[NameUse]:
        """Return the uses of names that talweg does not have, one for each name and line; `first`
        if the program is served as one of TensorFlow 1.  What may be missing does not count.
        """
        found = {}
        for use in self.uses:
            place = (use.name, use.file, use.line)
            if use.sure and not resolve(use.name, first).there:
                found.setdefault(place, use)
        return list(found.values())


def read(path: str, parts: list[tuple[str, str]] | None = None) -> Reading:
    """Return the uses in a program and in the modules beside it that it imports.

    parts: (what tracebacks call it, its text) of the program's parts, if it is not just a file.
    SyntaxError in the program itself is raised; other files that are no Python are left out.
    """
    first = Path(path)
    reader = Reader(path)
    for reader.file, source in parts or [(path, first.read_text("utf-8"))]:
        reader.read(source)
    uses, files, pending = list(reader.uses), [path], list(reader.modules)
    seen = set(pending)
    while pending and len(files) < MANY_FILES:
        module = pending.pop(0)
        module_file = beside(first.parent, module)
        if module_file is None or str(module_file) in files:
            continue
        reader = Reader(
            str(module_file),
            package=module if module_file.name == "__init__.py" else module.rpartition(".")[0],
        )
        try:
            reader.read(module_file.read_text("utf-8"))
        except (SyntaxError, ValueError, OSError):
            continue
        files.append(str(module_file))
        uses += reader.uses
        pending += [name for name in reader.modules if name not in seen]
        seen.update(reader.modules)
    return Reading(uses, files)


def beside(folder: Path, module: str) -> Path | None:
    """Return the file of a module beside the program, if it is there."""
    path = folder.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


class Reader(ast.NodeVisitor):
    """Reads one file.

    >>> reader = Reader("program.py")
    >>> reader.read("import tensorflow as tf\\nx = tf.math.add(tf.placeholder(tf.float32), 1)")
    >>> [use.name for use in reader.uses]
    ['math.add', 'placeholder', 'float32']
    """

    def __init__(self, file: str, package: str = ""):
        self.file, self.package = file, package
        self.bound: dict[str, str] = {}  # a name of the program -> what it stands for
        self.uses: list[NameUse] = []
        self.modules: list[str] = []  # other modules that it imports
        self.unsure: set[ast.AST] = set()  # what stands behind questions

    def read(self, source: str) -> None:
        """Read a text: its bindings, then its uses, as functions may stand before imports."""
        tree = ast.parse(source, self.file)
        for node in ast.walk(tree):
            self.unsure.update(find_questioned(node))
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.bind_imported(node)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                self.bind_assigned(node)
        self.visit(tree)

    # -- what names stand for

    def bind_imported(self, node: ast.Import | ast.ImportFrom) -> None:
        """Note the names that an import binds."""
        for module, own, written in list_imports(node, self.package):
            head, _, rest = module.partition(".")
            if head not in ROOTS:
                self.modules += [part for part in (module, module.rpartition(".")[0]) if part]
                continue
            name = join(ROOTS[head], rest)
            if name:
                self.note(name, node, written)
            if own:
                self.bind(own, name)

    def bind(self, own: str, name: str) -> None:
        """Let a name of the program stand for one of TensorFlow's; compat.v1 wins over others, for
        programs that try both."""
        if self.bound.get(own) != FIRST:
            self.bound[own] = name

    def bind_assigned(self, node: ast.Assign) -> None:
        """Note the names that `layers = tf.layers` or `tf = tf.compat.v1` bind to namespaces."""
        chain = split_dotted(node.value)
        if chain is None or chain[0] not in self.bound:
            return
        name = join(self.bound[chain[0]], ".".join(chain[1:]))
        if resolve(name).is_namespace:
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.bind(target.id, name)

    # -- what is used

    def note(self, name: str, node: ast.AST, written: str) -> None:
        """Note a use."""
        line = getattr(node, "lineno", 0)
        self.uses.append(NameUse(name, self.file, line, written, node not in self.unsure))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Visit a chain of names, the longest one."""
        chain = split_dotted(node)
        if chain is None:
            self.generic_visit(node)
        elif chain[0] in self.bound:
            name = join(self.bound[chain[0]], ".".join(chain[1:]))
            if not isinstance(node.ctx, ast.Store):
                self.note(name, node, ".".join(chain))


def find_questioned(node: ast.AST) -> list[ast.AST]:
    """Find the nodes that run for some versions only: both sides of a question, and tries."""
    parts: list[ast.AST] = []
    if isinstance(node, ast.IfExp) and _VERSION.search(ast.unparse(node.test)):
        parts = [node.body, node.orelse]
    elif isinstance(node, ast.If) and _VERSION.search(ast.unparse(node.test)):
        parts = [*node.body, *node.orelse]
    elif isinstance(node, ast.Try) and any(catches_missing(node, each) for each in node.handlers):
        parts = [*node.body, *node.orelse, *[x for h in node.handlers for x in h.body]]
    return [inner for part in parts for inner in ast.walk(part)]


def catches_missing(node: ast.Try, handler: ast.ExceptHandler) -> bool:
    """Return whether a handler catches the absence of a name that a version may lack."""
    if handler.type is not None:
        return bool(_MISSING.search(ast.unparse(handler.type)))
    return all(isinstance(each, (ast.Import, ast.ImportFrom)) for each in node.body)


def list_imports(
    node: ast.Import | ast.ImportFrom, package: str = ""
) -> Iterator[tuple[str, str, str]]:
    """Yield (module or name, the name it is bound to or "",
    as written) of each part of an import.
    """
    if isinstance(node, ast.Import):
        for alias in node.names:
            head = alias.name.partition(".")[0]
            if alias.asname:
                yield alias.name, alias.asname, f"import {alias.name}"
            else:
                yield alias.name, "", f"import {alias.name}"
                yield head, head, f"import {alias.name}"
        return
    base = node.module or ""
    if node.level:
        parts = package.split(".") if package else []
        base = ".".join([*parts[: len(parts) - node.level + 1], *([base] if base else [])])
    for alias in node.names:
        if alias.name == "*":
            yield base, "", f"from {base} import *"
        else:
            yield (
                join(base, alias.name),
                alias.asname or alias.name,
                f"from {base} import {alias.name}",
            )


def split_dotted(node: ast.AST) -> list[str] | None:
    """Return `a.b.c` as its parts; None for other expressions."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return [node.id, *reversed(parts)]


def join(prefix: str, name: str) -> str:
    """Return two parts of a dotted name, either of which may be empty."""
    return f"{prefix}.{name}" if prefix and name else prefix or name
