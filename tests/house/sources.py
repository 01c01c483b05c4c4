"""What the house's rules ask of the files: imports, definitions, functions.

Each file is parsed and walked once in a process, for all rules; its tree is not kept.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SCOPES = (ast.FunctionDef, ast.Lambda)  # whose imports are hidden


class Source:
    """The facts of one file, anywhere in it.

    `imports` are all its import statements, `hidden` those inside of functions; `defined` are the
    names that it binds, `functions` the name, first and last line of each.
    """

    def __init__(self, tree: ast.Module):
        self.docstring = ast.get_docstring(tree)
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self.hidden: list[ast.Import | ast.ImportFrom] = []
        self.defined: set[str] = set()
        self.functions: list[tuple[str, int, int]] = []
        waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
        while waiting:
            node, is_inside = waiting.pop()
            self._note(node, is_inside)
            is_inside = is_inside or isinstance(node, SCOPES)
            waiting += [(child, is_inside) for child in ast.iter_child_nodes(node)]

    def _note(self, node: ast.AST, is_inside: bool) -> None:
        if isinstance(node, ast.Name):
            if type(node.ctx) is ast.Store:
                self.defined.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self.defined |= {(a.asname or a.name).split(".")[0] for a in node.names}
            self.imports.append(node)
            if is_inside:
                self.hidden.append(node)
        elif isinstance(node, DEFINITIONS):
            self.defined.add(node.name)
            if isinstance(node, ast.FunctionDef):
                self.functions.append((node.name, node.lineno, node.end_lineno or 0))


@cache
def source_of(path: Path) -> Source:
    """Return the facts of a file."""
    return Source(ast.parse(path.read_text(encoding="utf-8")))


def imported_modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the modules that an import names, `from` a module also with each name in it."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not node.module:
        return []
    return [node.module, *[f"{node.module}.{alias.name}" for alias in node.names]]
