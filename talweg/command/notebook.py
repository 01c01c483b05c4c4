"""Notebooks: the code cells of a file `*.ipynb`, run in order as one program.

Where IPython is installed, its own transformation makes Python of each cell, and magics run in a
shell of IPython's; without it, lines that are no Python (`%matplotlib inline`, `!pip install`) are
left out, with a note.  As in a notebook, the value of a cell's last expression is printed.
"""

from __future__ import annotations

import ast
import json
import linecache
import os
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

_SPECIAL = re.compile(r"^\s*(%|!|\?)|^[^#'\"]*\?\s*$")
_ASSIGNED = re.compile(r"^\s*[\w, ]+=\s*[%!]\w")


class Cell(NamedTuple):
    """A code cell: its place among all cells, counted from 1, and its text as Python."""

    number: int
    source: str
    skipped: tuple[str, ...] = ()  # lines that are no Python

    def file(self, path: str) -> str:
        """Return the file's name in tracebacks."""
        return f"{path}[cell {self.number}]"


_FIGURES = re.compile(r"^(\s*)%matplotlib\b.*$", re.MULTILINE)


def texts(path: str) -> list[tuple[int, str]]:
    """Return the number and the text of each code cell; ValueError for a file that is no notebook.

    `%matplotlib` is left out: what is drawn is not shown.
    """
    try:
        content = json.loads(Path(path).read_text("utf-8"))
        rows = content["cells"] if "cells" in content else content["worksheets"][0]["cells"]
        codes = [(number, row) for number, row in enumerate(rows, 1) if row["cell_type"] == "code"]
        pairs = [(number, row.get("source", row.get("input", ""))) for number, row in codes]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ValueError(f"{path} is no notebook: {error}") from None
    whole = [(number, text if isinstance(text, str) else "".join(text)) for number, text in pairs]
    if any(_FIGURES.search(text) for _, text in whole):
        os.environ.setdefault("MPLBACKEND", "Agg")  # figures belong into the notebook: no windows
    return [(number, _FIGURES.sub(r"\1pass", text)) for number, text in whole]


def cells(path: str) -> list[Cell]:
    """Return the code cells as Python; ValueError for a file that is no notebook."""
    return [python_of(number, text) for number, text in texts(path)]


def python_of(number: int, text: str) -> Cell:
    """Return a cell without what only a notebook understands; lines keep their numbers.

    >>> python_of(1, "%matplotlib inline\\nx = 1\\n!ls").source.splitlines()
    ['pass', 'x = 1', 'pass']
    """
    lines = text.splitlines()
    if lines and lines[0].startswith("%%"):
        kept = re.match(r"%%(time|timeit|capture|prun|talweg\w*)\b", lines[0])
        if kept is None:
            return Cell(number, "", (lines[0],))
        lines[0] = "pass"
    skipped = []
    for line_number, line in enumerate(lines):
        if is_special(line) and not parses(text):
            skipped.append(line.strip())
            indent = line[: len(line) - len(line.lstrip())]
            lines[line_number] = f"{indent}pass"
    return Cell(number, "\n".join(lines), tuple(skipped))


def is_special(line: str) -> bool:
    """Return whether a line is a magic, a call of the shell or a question."""
    return bool(_SPECIAL.match(line) or _ASSIGNED.match(line))


def parses(text: str) -> bool:
    """Return whether a text is Python as it stands."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def run(path: str, names: dict) -> None:
    """Run the cells in order in one namespace."""
    if find_spec("IPython") is not None:
        run_in_shell(path, names)
        return
    names.setdefault("display", print)
    for cell in cells(path):
        for line in cell.skipped:
            print(
                f"talweg: cell {cell.number}: left out, it needs IPython: {line}", file=sys.stderr
            )
        run_cell(cell, cell.file(path), names)


def run_cell(cell: Cell, file: str, names: dict) -> None:
    """Run one cell, and print what its last expression gives."""
    remember(file, cell.source)
    tree = ast.parse(cell.source, file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec", dont_inherit=True), names)
    if last is None:
        return
    value = eval(compile(ast.Expression(last.value), file, "eval", dont_inherit=True), names)
    if value is not None and not cell.source.rstrip().endswith(";"):
        print(repr(value))


def run_in_shell(path: str, names: dict) -> None:
    """Run the cells with IPython's transformation; magics of lines work."""
    shell = import_module("IPython.core.interactiveshell").InteractiveShell.instance()
    names.setdefault("get_ipython", lambda: shell)
    names.setdefault("display", import_module("IPython.display").display)
    shell.user_ns, before = names, shell.user_ns
    try:
        for number, text in texts(path):
            if text.startswith("%%"):
                cell = python_of(number, text)
            else:
                cell = Cell(number, shell.transform_cell(text))
            run_cell(cell, cell.file(path), names)
    finally:
        shell.user_ns = before


def remember(file: str, source: str) -> None:
    """Let tracebacks, AutoGraph and the doctor find the text of a cell."""
    lines: Any = source.splitlines(keepends=True)
    linecache.cache[file] = (len(source), None, lines, file)
