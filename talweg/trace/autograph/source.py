"""The syntax tree of a function, with the line numbers of its file."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import linecache
from types import CodeType, FunctionType


class NoSourceError(Exception):
    """The source of a function is unavailable, or differs from the compiled code."""


def tree_of(function: FunctionType) -> ast.FunctionDef | ast.Lambda:
    """Return the tree of a function or lambda; NoSourceError if there is none."""
    code = function.__code__
    lines = lines_of(function)
    if not lines or code.co_firstlineno > len(lines):
        raise NoSourceError(f"the source of {code.co_filename!r} is not available")
    try:
        if code.co_name == "<lambda>":
            return _lambda_of(code, "".join(lines))
        return _function_of(code, lines)
    except (SyntaxError, IndentationError) as error:
        raise NoSourceError(f"the source could not be parsed: {error}") from None


def lines_of(function: FunctionType) -> list[str]:
    """Return the present lines of a function's file; none if unavailable."""
    linecache.checkcache(function.__code__.co_filename)  # a module that was edited and reloaded
    return linecache.getlines(function.__code__.co_filename, function.__globals__)


def _function_of(code: CodeType, lines: list[str]) -> ast.FunctionDef:
    first = code.co_firstlineno - 1
    block = inspect.getblock(lines[first:])
    indented = block[0][:1].isspace()
    # an indented block is parsed inside of another, so that strings keep their white space
    text = "if 1:\n" + "".join(block) if indented else "".join(block)
    module = ast.parse(text)
    node = module.body[0].body[0] if indented else module.body[0]  # type: ignore[attr-defined]
    if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
        raise NoSourceError(f"line {first + 1} of {code.co_filename!r} is no longer its definition")
    ast.increment_lineno(node, first - 1 if indented else first)
    return node


@functools.lru_cache(maxsize=4)
def _lambdas(text: str) -> list[ast.Lambda]:
    """Return all lambdas of a file."""
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Lambda)]


def _lambda_of(code: CodeType, text: str) -> ast.Lambda:
    """Find the lambda of a code object, among others of its line by its columns."""
    names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    candidates = []
    for node in _lambdas(text):
        arguments = node.args
        own = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        if node.lineno <= code.co_firstlineno <= (node.end_lineno or node.lineno) and names == [
            argument.arg for argument in own
        ]:
            candidates.append(node)
    if len(candidates) > 1:
        places = [span for span in code.co_positions() if span[3]]  # those with columns
        candidates = [
            node for node in candidates if all([_holds(node.body, span) for span in places])
        ]
    if not candidates:
        raise NoSourceError(f"no lambda in line {code.co_firstlineno} of {code.co_filename!r} fits")
    innermost = max(candidates, key=lambda node: (node.lineno, node.col_offset))
    return copy.deepcopy(innermost)


def _holds(node: ast.expr, place: tuple) -> bool:
    """Return whether an instruction's position (first and last line,
    first and last column) is within.
    """
    first, last, start, end = place
    own_end = (node.end_lineno, node.end_col_offset)
    return (node.lineno, node.col_offset) <= (first, start) and (last, end) <= own_end
