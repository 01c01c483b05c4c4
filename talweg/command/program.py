"""A user's program, run as Python itself would: a file, a module (`-m`), or a notebook.

The program is `__main__`, finds the modules beside it, and sees its own arguments; what it was
before is put back when it ends, so that a test or a notebook can run programs, too.  The module
stays, so that what is to be looked at afterwards is still there.
"""

from __future__ import annotations

import importlib.util
import io
import os
import sys
import tokenize
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

from talweg.command import child, notebook
from talweg.command.stand_in import standing_in


class UsageError(Exception):
    """The command cannot follow its options: no such file, an option that is wrong."""


class UserProgram(NamedTuple):
    """The program to run, and how it was called."""

    path: str  # of the file
    arguments: tuple[str, ...] = ()
    module: str = ""  # if it was named as one

    @property
    def name(self) -> str:
        """The program's name in reports."""
        return self.module or self.path

    @property
    def is_notebook(self) -> bool:
        """Whether it is a Jupyter notebook."""
        return self.path.endswith(".ipynb")

    def parts(self) -> list[tuple[str, str]]:
        """Return its text, with what tracebacks call it;
        a notebook's cells one by one, as Python.
        """
        if self.is_notebook:
            return [(cell.file(self.path), cell.source) for cell in notebook.cells(self.path)]
        return [(self.path, decode_source(Path(self.path).read_bytes()))]


def find(name: str, arguments: tuple[str, ...] = (), module: bool = False) -> UserProgram:
    """Return the program of a file's or a module's name; UsageError if there is none."""
    if not module:
        path = Path(name)
        if path.is_dir() and (path / "__main__.py").is_file():
            return UserProgram(str(path / "__main__.py"), arguments)
        if not path.is_file():
            raise UsageError(f"there is no file {name!r}")
        return UserProgram(name, arguments)
    with search_first(os.getcwd()), standing_in():  # its package may import tensorflow
        try:
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.submodule_search_locations is not None:
                spec = importlib.util.find_spec(f"{name}.__main__")
        except (ImportError, ValueError) as error:
            raise UsageError(f"there is no module {name!r} ({error})") from None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        raise UsageError(f"there is no module {name!r} that could be run")
    return UserProgram(spec.origin, arguments, spec.name)


def run(program: UserProgram, first: bool = False) -> ModuleType:
    """Run it to its end; its `__main__`.  What it raises is raised, SystemExit too.

    first: whether its TensorFlow is that of TensorFlow 1, for processes that it starts.
    """
    main = ModuleType("__main__")
    with as_main(program, main, first):
        if program.is_notebook:
            notebook.run(program.path, main.__dict__)
        else:
            exec(compile_source(program), main.__dict__)
    return main


def compile_source(program: UserProgram) -> CodeType:
    """Return the program as code; SyntaxError with its own file and line."""
    return compile(Path(program.path).read_bytes(), program.path, "exec", dont_inherit=True)


@contextmanager
def as_main(program: UserProgram, main: ModuleType, first: bool = False) -> Iterator[None]:
    """Give a program the main module's state: `__main__`, `sys.argv`, `sys.path`."""
    before, arguments = sys.modules["__main__"], sys.argv
    main.__dict__.update(__file__=program.path, __builtins__=sys.modules["builtins"])
    package = program.module.rpartition(".")[0]
    if program.module:
        main.__package__ = package
    if not program.is_notebook:
        main.__spec__ = child.spec()
        child.announce(program.path, package, first)
    folder = os.getcwd() if program.module else os.path.dirname(os.path.abspath(program.path))
    sys.modules["__main__"] = main
    sys.argv = [program.path, *program.arguments]
    try:
        with search_first(folder):
            yield
    finally:
        sys.modules["__main__"], sys.argv = before, arguments


@contextmanager
def search_first(folder: str) -> Iterator[None]:
    """Look for modules in `folder` first, in the block."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def decode_source(data: bytes) -> str:
    """Return Python's text, in the encoding it names."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return io.TextIOWrapper(io.BytesIO(data), encoding).read()


@contextmanager
def printing_to(stream: object) -> Iterator[None]:
    """Send the program's output to `stream`, so that the command's own output is alone."""
    before, sys.stdout = sys.stdout, stream
    try:
        yield
    finally:
        sys.stdout = before
