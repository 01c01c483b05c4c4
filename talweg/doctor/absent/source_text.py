"""The facts that a program's text holds about a name: its assignments and its uses.

A tape sees what is computed while it records.  What happened before, after, or in a branch not
taken it cannot see; the source of the function that asked often tells.  Everything here is evidence
beside what the tape has seen, and nothing is found where the source is not at hand.
"""

from __future__ import annotations

import ast
import builtins
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

from talweg.core.provenance import Origin, line_of
from talweg.doctor.findings import Place

DATASETS = ("from_tensor_slices", "from_tensors", "from_generator", "map", "filter", "scan")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Assignment:
    """A line that gives a name a value; `value` is None where it is no plain assignment."""

    line: int
    end: int
    value: ast.AST | None

    @property
    def alias(self) -> str:
        """The name whose value it passes on, if that is all it does."""
        return format_dotted(self.value) if self.value is not None else ""


@dataclass(frozen=True)
class Mention:
    """A line that uses a name, and the `if` (or function) it stands in, if it is not reached."""

    line: int
    condition: int | None = None
    kind: str = ""


@lru_cache(maxsize=16)
def _parse_source(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def format_dotted(node: ast.AST | None) -> str:
    """Return `a.b.c` for a name or attribute, "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = format_dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""


class ProgramText:
    """The source around a piece of code."""

    def __init__(self, code: CodeType):
        self.code = code
        text = "".join(linecache.getlines(code.co_filename))
        self.tree = _parse_source(text) if text else None
        self.scope: Any = self.tree and self._scope_of(code)

    def _scope_of(self, code: CodeType) -> Any:
        """Return the function (or module) that the code belongs to."""
        if code.co_name == "<module>" or self.tree is None:
            return self.tree
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = min([node.lineno, *[d.lineno for d in node.decorator_list]])
                if node.name == code.co_name and first == code.co_firstlineno:
                    return node
        return self.tree

    def place(self, line: int) -> Place:
        """Return a line of this source."""
        around = [
            node
            for node in (ast.walk(self.tree) if self.tree else ())
            if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
        ]
        inner = max(around, key=lambda node: node.lineno, default=None)
        name = inner.name if inner is not None else "<module>" if self.tree else self.code.co_name
        return Place(self.code.co_filename, line, name)

    def assignments(self, name: str) -> list[Assignment]:
        """List the assignments of a name in the function, else in the module."""
        if "." in name:  # an attribute: any method may set it
            return _assignments(self.tree, name, everywhere=True)
        found = _assignments(self.scope, name)
        if not found and self.scope is not self.tree:
            found = _assignments(self.tree, name)
        return found

    def locate_making(self, names: list[str], before: int) -> Assignment | None:
        """Locate the line that computed the value with these names: aliases are followed."""
        for name in names:
            seen = {name}
            found = self._last(name, before)
            while found is not None and found.alias and found.alias not in seen:
                seen.add(found.alias)
                further = self._last(found.alias, found.line + 1)
                found = further
            if found is not None:
                return found
        return None

    def _last(self, name: str, before: int) -> Assignment | None:
        earlier = [one for one in self.assignments(name) if one.line < before]
        return max(earlier, key=lambda one: one.line, default=None)

    def block_at(self, origin: Origin | None) -> tuple[int, int] | None:
        """Return the first and last line of the `with` that begins at an origin in this file."""
        if origin is None or origin[0].co_filename != self.code.co_filename or not self.tree:
            return None
        line = line_of(origin)
        blocks = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, (ast.With, ast.AsyncWith))
            and node.lineno <= line <= node.body[0].lineno
        ]
        if not blocks:
            return None
        block = max(blocks, key=lambda node: node.lineno)
        return block.lineno, block.end_lineno or block.lineno

    def blocks_inside(self, start: int, end: int, method: str) -> list[tuple[int, int]]:
        """Return the `with something.method():` blocks between two lines."""
        found = []
        for node in ast.walk(self.tree) if self.tree else ():
            if isinstance(node, ast.With) and start <= node.lineno <= end:
                calls = [item.context_expr for item in node.items]
                if any(
                    isinstance(c, ast.Call)
                    and isinstance(c.func, ast.Attribute)
                    and c.func.attr == method
                    for c in calls
                ):
                    found.append((node.lineno, node.end_lineno or node.lineno))
        return found

    def mentions(self, name: str, start: int, end: int) -> list[Mention]:
        """List the uses of a name between two lines, and in the functions that are called there."""
        if not self.tree:
            return []
        mentions, visited = [], set()
        pending: list[tuple[ast.AST, int, int]] = [(self.tree, start, end)]
        while pending:
            root, first, last = pending.pop()
            for node, around in _with_parents(root):
                line = getattr(node, "lineno", None)
                if line is None or not first <= line <= last:
                    continue
                if _is_use(node, name, around):
                    mentions.append(_mention(node, around, first))
                elif isinstance(node, ast.Call):
                    for callee in self._find_called(node, visited):
                        pending.append((callee, callee.lineno, callee.end_lineno))
        return sorted(mentions, key=lambda one: one.line)

    def purpose(self, line: int) -> str:
        """Return what the statement at a line does with its values: "shown" (printed, logged,
        asserted: nothing goes on from there), "decides" (the condition of an `if`), or "".
        """
        statement: Any = None
        for node in ast.walk(self.tree) if self.tree else ():
            if not isinstance(node, ast.stmt) or isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                continue
            first, last = node.lineno, node.end_lineno or node.lineno
            if isinstance(node, (ast.If, ast.While)):
                last = node.test.end_lineno or first
            elif hasattr(node, "body"):
                last = node.body[0].lineno - 1  # type: ignore
            if first <= line <= last and (statement is None or node.lineno >= statement.lineno):
                statement = node
        if isinstance(statement, (ast.Expr, ast.Assert)):
            return "" if _collector(statement) else "shown"
        return "decides" if isinstance(statement, (ast.If, ast.While)) else ""

    def locate_evaluation(self, names: list[str]) -> Assignment | None:
        """Locate the assignment that took one of the values behind `names` out of a graph."""
        pending, seen = list(names), set()
        while pending and len(seen) < 200:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            for one in self.assignments(name):
                parts = list(ast.walk(one.value)) if one.value is not None else []
                if any(
                    isinstance(part, ast.Call)
                    and isinstance(part.func, ast.Attribute)
                    and part.func.attr in ("run", "eval")
                    for part in parts
                ):
                    return one
                pending += [part.id for part in parts if isinstance(part, ast.Name)]
        return None

    def names_behind(self, names: list[str]) -> set[str]:
        """Return the names that those of `names` are computed from, step by step, and these
        themselves; nothing where none of them is given a value here.
        """
        if not any(self.assignments(name) for name in names):
            return set()
        pending, seen = list(names), set()
        while pending and len(seen) < 500:
            name = pending.pop()
            if name not in seen:
                seen.add(name)
                values = [one.value for one in self.assignments(name) if one.value is not None]
                pending += [
                    part.id
                    for value in values
                    for part in ast.walk(value)
                    if isinstance(part, ast.Name)
                ]
        return seen

    def leads_to(self, line: int, names: list[str]) -> bool:
        """Return whether the names that a line gives values to get into those of `names`."""
        pending, seen = list(names), set()
        while pending and len(seen) < 200:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            for one in self.assignments(name):
                if one.line <= line <= one.end:
                    return True
                pending += (
                    [part.id for part in ast.walk(one.value) if isinstance(part, ast.Name)]
                    if one.value is not None
                    else []
                )
        return False

    def uses(self, node: ast.AST | None, name: str) -> bool:
        """Return whether an expression uses a name, or a part of its value."""
        return node is not None and any(
            same(format_dotted(part), name) and isinstance(getattr(part, "ctx", None), ast.Load)
            for part in ast.walk(node)
        )

    def differentiates(self, node: ast.AST | None) -> bool:
        """Return whether an expression asks for a gradient."""
        name = format_dotted(node.func) if isinstance(node, ast.Call) else ""
        return name.split(".")[-1] in ("gradient", "gradients", "jacobian", "batch_jacobian")

    def makes_variable(self, node: ast.AST | None) -> bool:
        """Return whether an expression makes a variable."""
        made = format_dotted(node.func).split(".")[-1] if isinstance(node, ast.Call) else ""
        return made in ("Variable", "get_variable", "add_weight")

    def watches(self, line: int) -> bool:
        """Return whether a line only tells the tape to watch something."""
        return ".watch(" in linecache.getline(self.code.co_filename, line)

    def values_from_before(self, block: tuple[int, int], names: list[str]) -> Iterator[tuple]:
        """Yield names used in a block whose value was computed from one of `names` before it."""
        roots = {name.split(".")[0] for name in names}
        used = dict.fromkeys(
            node.id
            for node in (ast.walk(self.tree) if self.tree else ())
            if isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Load)
            and block[0] < node.lineno <= block[1]
        )
        for name in used:
            made = self._last(name, block[0])
            inside = [one for one in self.assignments(name) if block[0] <= one.line <= block[1]]
            if made is None or inside or made.value is None or name in roots:
                continue
            if isinstance(made.value, (ast.Constant, ast.Lambda)):
                continue
            assigned = self._comes_from(made, roots)
            if assigned is not None:
                yield name, *assigned

    def _comes_from(self, made: Assignment, roots: set[str]) -> tuple[Assignment, bool] | None:
        """Return the assignment from which a value leads back to one of the names, if any does, and
        whether it comes through a dataset."""
        pending, seen, dataset = [made], set(), False
        while pending and len(seen) < 30:
            own = pending.pop()
            if own in seen or own.value is None:
                continue
            seen.add(own)
            parts = list(ast.walk(own.value))
            dataset = dataset or any(
                isinstance(part, ast.Attribute) and part.attr in DATASETS for part in parts
            )
            names = [part.id for part in parts if isinstance(part, ast.Name)]
            if roots.intersection(names) and not self.makes_variable(own.value):
                return own, dataset
            pending += [one for name in names if (one := self._last(name, own.line)) is not None]
        return None

    def _find_called(self, call: ast.Call, visited: set) -> Iterator[Any]:
        """Yield the functions of this file that a call may be of,
        each once; methods for an object.
        """
        name = format_dotted(call.func).split(".")[-1]
        functions = [
            node
            for node in (ast.walk(self.tree) if name and self.tree else ())
            if isinstance(node, ast.FunctionDef) and node not in visited
        ]
        found = [node for node in functions if node.name == name]
        if not found and isinstance(call.func, ast.Name) and name not in dir(builtins):
            found = [node for node in functions if node.name in ("call", "__call__")]
        visited.update(found)
        yield from found


def same(written: str, name: str) -> bool:
    """Return whether two spellings are of one thing: `self.w` in a method is `model.w` outside."""
    if written == name:
        return True
    own, other = written.partition("."), name.partition(".")
    return bool(own[1]) and own[2] == other[2] and "self" in (own[0], other[0])


def _assignments(scope: ast.AST | None, name: str, everywhere: bool = False) -> list[Assignment]:
    assignments = []
    pending = list(ast.iter_child_nodes(scope)) if scope is not None else []
    while pending:
        node = pending.pop()
        if isinstance(node, FUNCTIONS) and not everywhere:
            continue  # names inside are its own
        pending += ast.iter_child_nodes(node)
        end = getattr(node, "end_lineno", 0) or 0
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if same(format_dotted(target), name):
                    assignments.append(Assignment(node.lineno, end, node.value))
                elif isinstance(target, (ast.Tuple, ast.List)):
                    assignments += _unpack_targets(node, target, name)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and same(
            format_dotted(node.target), name
        ):
            plain = (
                node.value
                if isinstance(node, ast.AnnAssign)
                else ast.BinOp(node.target, node.op, node.value)
            )
            assignments.append(Assignment(node.lineno, end, plain))
        elif name in (_collector(node), isinstance(node, ast.NamedExpr) and node.target.id):
            assignments.append(Assignment(node.lineno, end, node.value))  # type: ignore
        elif isinstance(node, (ast.For, ast.comprehension)) and _binds(node.target, name):
            line = node.target.lineno
            assignments.append(Assignment(line, line, node.iter))
    return sorted(assignments, key=lambda one: one.line)


def _collector(node: ast.AST) -> str:
    """Return the list that a statement such as `losses.append(loss)` adds to; "" for others."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return ""
    adds = call.func.attr in ("append", "extend", "insert", "add", "appendleft")
    return format_dotted(call.func.value) if adds else ""


def _unpack_targets(node: ast.Assign, target: Any, name: str) -> list[Assignment]:
    values = node.value.elts if isinstance(node.value, (ast.Tuple, ast.List)) else []
    paired = len(values) == len(target.elts)
    return [
        Assignment(node.lineno, node.end_lineno or 0, values[place] if paired else None)
        for place, one in enumerate(target.elts)
        if format_dotted(one) == name
    ]


def _binds(target: ast.AST, name: str) -> bool:
    return any(format_dotted(node) == name for node in ast.walk(target))


def _with_parents(root: ast.AST) -> Iterator[tuple[ast.AST, tuple]]:
    pending: list[tuple[ast.AST, tuple]] = [(root, ())]
    while pending:
        node, around = pending.pop()
        yield node, around
        pending += [(child, (*around, node)) for child in ast.iter_child_nodes(node)]


def _is_use(node: ast.AST, name: str, around: tuple) -> bool:
    """Return whether a node takes the value of a name, and not only its shape or dtype."""
    if not isinstance(getattr(node, "ctx", None), ast.Load) or not same(format_dotted(node), name):
        return False
    parent = around[-1] if around else None
    return not (
        isinstance(parent, ast.Attribute)
        and parent.attr in ("shape", "dtype", "name", "get_shape", "assign")
    )


def _mention(node: Any, around: tuple, first: int) -> Mention:
    """Return a use, with the innermost condition around it that lies inside the block."""
    child = node
    for parent in reversed(around):
        line = getattr(parent, "lineno", 0)
        if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test and line >= first:
            return Mention(node.lineno, parent.lineno, "if")
        if isinstance(parent, (ast.While, ast.For)) and line > first and child in parent.body:
            return Mention(node.lineno, parent.lineno, "loop")
        if isinstance(parent, ast.ExceptHandler) and line > first:
            return Mention(node.lineno, parent.lineno, "except")
        if isinstance(parent, FUNCTIONS) and line > first:
            return Mention(node.lineno, line, "function")
        child = parent
    return Mention(node.lineno)


def cells_with(name: str) -> Iterator[Place]:
    """List the assignments of a name in a notebook's cells, the last cell first."""
    for file in reversed(list(linecache.cache)):
        if "ipykernel" in file or "<ipython-input" in file:
            tree = _parse_source("".join(linecache.getlines(file)))
            for found in reversed(_assignments(tree, name)):
                yield Place(file, found.line)
