"""The transpiler from a function to converted code: malt's passes in talweg's order.

The only module that imports malt, which happens when the first function is converted.  malt's
globals are left as they are: another library may use malt in the same process.
"""

from __future__ import annotations
import __future__

import ast
import importlib.util  # noqa: F401 -- malt uses it without importing it
from collections.abc import Callable
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

from malt.converters import (
    break_statements,
    call_trees,
    conditional_expressions,
    continue_statements,
    control_flow,
    directives,
    functions,
    logical_expressions,
    return_statements,
    variables,
)
from malt.core import config, converter
from malt.impl import api
from malt.lang import directives as malt_directives
from malt.pyct import anno, errors, inspect_utils, naming, origin_info, templates, transformer

from talweg.trace.autograph import passes
from talweg.trace.autograph.converted_code import Converted
from talweg.trace.autograph.directives import set_loop_options
from talweg.trace.autograph.source import tree_of

ORIGIN = anno.Basic.ORIGIN
STANDARD = converter.STANDARD_OPTIONS
_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
_GENERATED = (
    "if_body",
    "else_body",
    "loop_body",
    "loop_test",
    "get_state",
    "set_state",
    "extra_test",
    "ag__",
    "inner_factory",
    "outer_factory",
)
_CONVERTED = {*passes.CONTROL, *passes.EXPRESSIONS, ast.Not, ast.Subscript}
UnsupportedError = errors.UnsupportedLanguageElementError
_AS_WRITTEN = frozenset(("locals", "globals", "eval", "exec", "vars", "dir", "breakpoint"))


def _convert_tree(function: FunctionType, tree: ast.AST) -> Converted:
    """Convert a function, given its tree."""
    original = function.__code__
    tree, name = _transform_tree(function, tree)
    text = ast.unparse(ast.fix_missing_locations(tree))
    placed = ast.parse(text)
    _place(tree, placed.body[0], original.co_firstlineno)
    module = _in_factory(placed.body[0], name, original.co_freevars)
    flags = original.co_flags & _FUTURE
    compiled = compile(module, original.co_filename, "exec", flags=flags, dont_inherit=True)
    space: dict[str, Any] = {}
    exec(_rename_code(compiled, original.co_name), space)
    return Converted(text, space["outer_factory"]().__code__, original.co_name)


def is_left_alone(module: str) -> bool:
    """Return whether malt has a rule against conversion of this module's functions."""
    named = SimpleNamespace(__name__=module)
    for rule in config.CONVERSION_RULES:
        action = rule.get_action(named)
        if action is not config.Action.NONE:
            return action is config.Action.DO_NOT_CONVERT
    return False


def convert(function: FunctionType, always: bool = False) -> Converted | None:
    """Convert a function; None if nothing in it depends on conversion.

    NoSourceError without source; UnsupportedError for generators and coroutines.
    """
    tree = tree_of(function)
    if not always and not passes.kinds_in(tree) & _CONVERTED:
        return None
    return _convert_tree(function, tree)


def convert_loops(function: FunctionType) -> Converted | None:
    """Convert a function with loops, branches apart; None without loops."""
    tree = tree_of(function)
    return _convert_tree(function, tree) if passes.kinds_in(tree) & {ast.For, ast.While} else None


def _transform_tree(function: FunctionType, tree: ast.AST) -> tuple[Any, str]:
    """Return the tree of the converted function, and the name it defines."""
    original = function.__code__
    tree = passes.Plain(original, function.__qualname__).visit(tree)
    arguments = tree.args
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [x and ast.Constant(None) for x in arguments.kw_defaults]
    if isinstance(tree, ast.FunctionDef):
        tree.returns, tree.decorator_list = None, []
    _note_origins(tree, original)
    namespace = inspect_utils.getnamespace(function)
    namer = naming.Namer(namespace)
    root = "lam" if isinstance(tree, ast.Lambda) else tree.name
    name = namer.new_symbol(f"ag__{root}", ())
    info = transformer.EntityInfo(
        name=name, source_code="", source_file="<fragment>", future_features=(), namespace=namespace
    )
    program = converter.ProgramContext(options=STANDARD)
    _name_handlers(tree, lambda handled: ast.Name(handled, ast.Store()))  # as malt reads them
    tree = TRANSPILER.transform_ast(tree, transformer.Context(info, namer, program))
    _name_handlers(tree, lambda handled: handled.id)
    if isinstance(tree, ast.Lambda):
        return ast.Assign([ast.Name(name, ast.Store())], tree), name
    tree.name = name
    return tree, name


def _name_handlers(tree: ast.AST, convert_name: Callable[[Any], Any]) -> None:
    """Convert the names of `except E as name`: text in Python's trees, nodes in those of malt."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.name is not None:
            node.name = convert_name(node.name)


class Transpiler(api.PyToPy):
    """The pipeline of malt's passes that a function needs."""

    def transform_ast(self, node: Any, ctx: object) -> Any:
        kinds = passes.kinds_in(node)
        if kinds & {ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFunctionDef}:
            raise UnsupportedError("it contains a generator or a coroutine")
        controls = bool(kinds & set(passes.CONTROL))
        single = passes.returns_at_end(node)
        node = self.initial_analysis(node, ctx)
        node = functions.transform(node, ctx)
        if controls:
            node = Directives(ctx).visit(node)
        if kinds & {ast.Assert}:
            node = _map_origins(passes.Asserts(), node)
        node = _map_origins(passes.Items(), node)
        if controls:
            node = break_statements.transform(node, ctx)
            if ast.Continue in passes.kinds_in(node):
                node = continue_statements.transform(node, ctx)
            if not single:
                node = return_statements.transform(node, ctx)
        node = CallTrees.transform(node, ctx)
        if controls:
            node = control_flow.transform(node, ctx)
        node = passes.Joined(_copy_origin).join(node)
        if ast.IfExp in kinds:
            node = Ternaries(ctx).visit(node)
        if controls or kinds & {ast.BoolOp, ast.Compare, ast.Not}:
            node = logical_expressions.transform(node, ctx)
        if controls or ast.Delete in kinds:
            node = variables.transform(node, ctx)
        return node


class Directives(directives.DirectivesTransformer):
    """The pass of directives, `set_loop_options` among them."""

    def visit_Expr(self, node: Any) -> Any:
        node = super().visit_Expr(node)
        if node is None or not isinstance(node.value, ast.Call):
            return node
        called = anno.getanno(node.value.func, directives.STATIC_VALUE, default=None)
        if called is not None and called is set_loop_options:
            self._process_statement_directive(node.value, malt_directives.set_loop_options)
            return None
        return node


class Ternaries(conditional_expressions.ConditionalExpressionTransformer):
    """The pass of conditional expressions, nested ones too."""

    def visit_IfExp(self, node: Any) -> Any:
        node = self.generic_visit(node)
        return super().visit_IfExp(node)


class CallTrees(call_trees.CallTreeTransformer):
    """The pass of calls, except those that inspect the calling frame."""

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id in _AS_WRITTEN:
            return self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "print":
            return self._call_of_print(node)
        return super().visit_Call(node)

    def _call_of_print(self, node: Any) -> Any:
        """Convert a call of `print`, which the running trace's features decide on.

        malt decides it here, by its options; but converted code is kept for all options.
        """
        node = self.generic_visit(node)
        return templates.replace_as_expression(
            "ag__.call_print(func, args, kwargs)",
            func=node.func,
            args=self._args_to_tuple(node),
            kwargs=self._kwargs_to_dict(node),
        )

    @classmethod
    def transform(cls, node: ast.AST, ctx: object) -> Any:
        """Return the tree with its calls converted."""
        return cls(ctx).visit(call_trees.qual_names.resolve(node))


TRANSPILER = Transpiler()


# -- lines


def _note_origins(tree: ast.AST, code: CodeType) -> None:
    """Annotate every node with its position, as malt passes it on."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", None)
        if line is not None:
            place = origin_info.Location(code.co_filename, line, node.col_offset)
            anno.setanno(node, ORIGIN, origin_info.OriginInfo(place, code.co_name, "", None))


def _copy_origin(source: ast.AST, made: ast.AST) -> None:
    origin = anno.getanno(source, ORIGIN, default=None)
    if origin is not None:
        for node in ast.walk(made):
            if not anno.hasanno(node, ORIGIN):
                anno.setanno(node, ORIGIN, origin)


def _map_origins(rewriter: ast.NodeTransformer, tree: ast.AST) -> Any:
    """Rewrite the tree and annotate new statements with their origin."""
    tree = rewriter.visit(tree)
    for statement in ast.walk(tree):
        if isinstance(statement, ast.stmt) and not anno.hasanno(statement, ORIGIN):
            line = getattr(statement, "lineno", None)
            if line is not None:
                place = origin_info.Location("", line, statement.col_offset)
                anno.setanno(statement, ORIGIN, origin_info.OriginInfo(place, "", "", None))
    return tree


def _place(before: ast.AST | None, after: ast.AST, line: int) -> None:
    """Give a parsed tree the lines of the tree that it was printed from.

    What was generated stands in the line of what it is a part of.
    """
    if before is not None:
        origin = anno.getanno(before, ORIGIN, default=None)
        if origin is not None:
            line = origin.loc.lineno
    if hasattr(after, "lineno"):
        after.lineno = after.end_lineno = line  # type: ignore[attr-defined]
        after.col_offset = after.end_col_offset = -1  # type: ignore[attr-defined]
    for field in after._fields:
        child, source = getattr(after, field, None), getattr(before, field, None)
        if isinstance(child, list):
            sources = list(source) if isinstance(source, (list, tuple)) else []
            if len(sources) != len(child):
                sources = [None] * len(child)
            for one, other in zip(child, sources):
                if isinstance(one, ast.AST):
                    _place(other if type(other) is type(one) else None, one, line)
        elif isinstance(child, ast.AST):
            _place(source if type(source) is type(child) else None, child, line)


def _in_factory(node: ast.stmt, name: str, freevars: tuple[str, ...]) -> ast.Module:
    """Return a module with a function whose inner function makes the converted one.

    The outer function has the free variables as its own, so that the compiler makes cells of them;
    the cells of the original are put in their place.
    """
    text = "def outer_factory():\n"
    text += "".join([f"    {variable} = None\n" for variable in freevars])
    text += f"    def inner_factory(ag__):\n        return {name}\n    return inner_factory\n"
    module = ast.parse(text)
    inner = module.body[0].body[-2]  # type: ignore[attr-defined]
    inner.body.insert(0, node)
    return module


def _rename_code(code: CodeType, name: str) -> CodeType:
    """Return a code object in which generated functions have the enclosing function's name."""
    own = name if code.co_name.startswith(_GENERATED) else code.co_name
    constants = tuple(
        [
            _rename_code(constant, own if own != "<module>" else name)
            if isinstance(constant, CodeType) and not constant.co_name.startswith("<")
            else constant
            for constant in code.co_consts
        ]
    )
    qualified = own if own != code.co_name else code.co_qualname
    return code.replace(co_name=own, co_qualname=qualified, co_consts=constants)
