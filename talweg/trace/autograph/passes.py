"""Rewriting of syntax trees before and between malt's own passes.

- `Plain` makes explicit what depends on where the code stands: `super()`, private names.
- `Items` turns `x[i] = y`, `x[i] += y` and `x.append(y)` of local names into assignments of `x`, so
  that they work on tensors, which cannot be changed, and on lists in loops.
- `Asserts` turns `assert` into a call.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CodeType
from typing import Any

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
CONTROL = (ast.If, ast.While, ast.For)
EXPRESSIONS = (ast.Call, ast.IfExp, ast.BoolOp, ast.Compare, ast.Assert)
JUMPS = (ast.Break, ast.Continue)


def kinds_in(tree: ast.AST) -> set[type]:
    """Return the classes of all nodes of a tree."""
    return {type(node) for node in ast.walk(tree)}


def returns_at_end(tree: ast.AST) -> bool:
    """Return whether each function of a tree returns in its last statement only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            inner = [statement for statement in node.body if statement is not node.body[-1]]
            if not isinstance(node.body[-1], ast.Return):
                inner.append(node.body[-1])
            if any(_returns(statement) for statement in inner):
                return False
    return True


def _returns(statement: ast.AST) -> bool:
    """Return whether a statement returns from the function it stands in."""
    if isinstance(statement, ast.Return):
        return True
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return False
    return any(_returns(child) for child in ast.iter_child_nodes(statement))


def call(name: str, *arguments: ast.expr) -> ast.Call:
    """Make the call of an operator."""
    function = ast.Attribute(ast.Name("ag__", ast.Load()), name, ast.Load())
    return ast.Call(function, list(arguments), [])


def at(place: ast.AST, node: ast.AST) -> Any:
    """Give `node` the position of `place`."""
    return ast.fix_missing_locations(ast.copy_location(node, place))


class Plain(ast.NodeTransformer):
    """A rewrite of `super()` to its form with arguments, and of private names to mangled ones."""

    def __init__(self, code: CodeType, qualified_name: str):
        parts = qualified_name.split(".")
        owner = parts[-2] if len(parts) > 1 else "<locals>"
        self.owner = None if owner == "<locals>" else owner.lstrip("_")
        self.firsts: list[str | None] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        arguments = [*node.args.posonlyargs, *node.args.args]
        self.firsts.append(arguments[0].arg if arguments else None)
        self.generic_visit(node)
        self.firsts.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node  # has names and a `super` of its own

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        simple = isinstance(node.func, ast.Name) and node.func.id == "super"
        if simple and not node.args and not node.keywords and self.firsts and self.firsts[-1]:
            node.args = [
                at(node, ast.Name("__class__", ast.Load())),
                at(node, ast.Name(self.firsts[-1], ast.Load())),
            ]
        return node

    def _mangle(self, name: str) -> str:
        private = name.startswith("__") and not name.endswith("__")
        return f"_{self.owner}{name}" if private and self.owner else name

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        node.attr = self._mangle(node.attr)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._mangle(node.id)
        return node


class Asserts(ast.NodeTransformer):
    """A rewrite of `assert test, message` to a call."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        message = node.msg if node.msg is not None else ast.Constant(None)
        nothing = ast.arguments([], [], None, [], [], None, [])
        thunk = ast.Lambda(nothing, message)
        return at(node, ast.Expr(call("assert_stmt", node.test, thunk)))


class Items(ast.NodeTransformer):
    """A rewrite of changes to parts of a local name to assignments of the name.

    `x[i] = y` becomes `x = ag__.own(x)` and itself, until the analysis has seen that both `x` and
    `x[i]` change; `Joined` then makes one call of the two.
    """

    def __init__(self) -> None:
        self.locals: list[set[str]] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.locals.append(_local_names(node))
        self.generic_visit(node)
        self.locals.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def _is_local(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and bool(self.locals) and node.id in self.locals[-1]

    def _make_own(self, name: Any) -> ast.stmt:
        value = call("own", ast.Name(name.id, ast.Load()))
        return at(name, ast.Assign([ast.Name(name.id, ast.Store())], value))

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        target = node.targets[0]
        single = len(node.targets) == 1 and isinstance(target, ast.Subscript)
        if single and self._is_local(target.value):
            return [self._make_own(target.value), node]
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if isinstance(node.target, ast.Subscript) and self._is_local(node.target.value):
            return [self._make_own(node.target.value), node]  # type: ignore[arg-type]
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        self.generic_visit(node)
        value = node.value
        if (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Attribute)
            and value.func.attr == "append"
            and self._is_local(value.func.value)
            and len(value.args) == 1
            and not value.keywords
            and not isinstance(value.args[0], ast.Starred)
        ):
            name = value.func.value.id  # type: ignore[attr-defined]
            appended = call("list_append", ast.Name(name, ast.Load()), value.args[0])
            return at(node, ast.Assign([ast.Name(name, ast.Store())], appended))
        return node


def _local_names(function: ast.FunctionDef) -> set[str]:
    """Return the parameters and the names assigned in a function."""
    arguments = function.args
    names = {a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
    names |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None}
    elsewhere: set[str] = set()

    def look(node: ast.AST) -> None:
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            elsewhere.update(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp)):
            return
        if not isinstance(node, ast.GeneratorExp):
            for child in ast.iter_child_nodes(node):
                look(child)

    for statement in function.body:
        look(statement)
    return names - elsewhere


def find_owned_name(node: ast.AST) -> str | None:
    """Return the x of a statement `x = ag__.own(x)`."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        function = node.value.func
        if isinstance(function, ast.Attribute) and function.attr == "own":
            base = function.value
            if isinstance(base, ast.Name) and base.id == "ag__":
                return node.targets[0].id  # type: ignore[attr-defined]
    return None


class Joined(ast.NodeTransformer):
    """A rewrite of `x = ag__.own(x)` and `x[i] = y` to `x = ag__.set_item(x, i, y)`.

    The functions that read and write the state of a branch or loop reach `x[i]` through
    `ag__.place(x)` and `ag__.written(x)`, which are nowhere if x is a tensor.
    """

    def __init__(self, copied: Callable[[ast.AST, ast.AST], None]):
        self.copied = copied  # hands on where a node comes from
        self.names: set[str] = set()

    def join(self, tree: ast.AST) -> Any:
        """Return the tree with all pairs joined."""
        self.names = {
            name for node in ast.walk(tree) if (name := find_owned_name(node)) is not None
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("get_state"):
                self._redirect(node, ast.Load, "place")
            elif isinstance(node, ast.FunctionDef) and node.name.startswith("set_state"):
                self._redirect(node, ast.Store, "written")
        return self.visit(tree) if self.names else tree

    def _redirect(self, function: ast.FunctionDef, context: type, method: str) -> None:
        """Redirect reads of items of the names, and all writes of items and attributes."""
        kinds = ast.Subscript if context is ast.Load else (ast.Subscript, ast.Attribute)
        for part in ast.walk(function):
            if isinstance(part, kinds) and isinstance(part.ctx, context):
                owned = isinstance(part.value, ast.Name) and part.value.id in self.names
                if owned or context is ast.Store:
                    part.value = call(method, part.value)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, self._join_block(block))
        return node

    def _join_block(self, block: list) -> list:
        found: list = []
        for statement in block:
            name = find_owned_name(found[-1]) if found else None
            changed = None if name is None else _change_call(name, statement)
            if name is None or changed is None:
                found.append(statement)
                continue
            assigned = ast.Assign([ast.Name(name, ast.Store())], changed)
            self.copied(statement, assigned)
            found[-1] = assigned
        return found


def _change_call(name: str, statement: ast.AST) -> ast.expr | None:
    """Make the call for `x[i] = y` or `x[i] += y`, where x is `name`."""
    if isinstance(statement, ast.Assign):
        target, method = statement.targets[0], "set_item"
    elif isinstance(statement, ast.AugAssign):
        target, method = statement.target, "update_item"
    else:
        return None
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
        return None
    if target.value.id != name:
        return None
    parts = [ast.Name(name, ast.Load()), _index(target.slice)]
    if isinstance(statement, ast.AugAssign):
        parts.append(ast.Constant(type(statement.op).__name__))
    return call(method, *parts, statement.value)  # type: ignore[attr-defined]


def _index(node: ast.expr) -> ast.expr:
    """Return an index as an expression: slices become calls."""
    if isinstance(node, ast.Slice):
        ends = [node.lower, node.upper, node.step]
        return call("slice", *[ast.Constant(None) if end is None else end for end in ends])
    if isinstance(node, ast.Tuple):
        return ast.Tuple([_index(element) for element in node.elts], ast.Load())
    return node
