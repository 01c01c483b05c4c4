"""Inlining of producers: the element of a value as an expression of stored elements.

Pulling goes from a result to its operands: elementwise functions, views, padding and the like take
no loop of their own, their expressions stand where they are used.  It ends at values that are
stored (`resolve` says what to read there) and at constants.  One `Pull` makes equal parts once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.core.dtypes import DType
from talweg.core.primitive import Primitive
from talweg.lower.handler import s
from talweg.lower.ir.index import ZERO, Index, Places, unflatten
from talweg.lower.ir.loops import Expr, const, walk
from talweg.lower.ir.scalars import SCALARS
from talweg.passes.specialize.program import Equation, Value
from talweg.passes.specialize.stack_primitives import is_endless


class UnloweredError(Exception):
    """A refusal: a primitive or dtype has no form in loops."""


class InlineOperand:
    """An operand of a rule: called with indices it returns the element there."""

    __slots__ = ("_inliner", "_value")

    def __init__(self, inliner: Inliner, value: Value):
        self._inliner, self._value = inliner, value

    @property
    def dims(self) -> tuple:
        """The sizes."""
        return self._value.dims

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._value.dtype

    def __call__(self, *index: object) -> Expr:
        return self._inliner.at(self._value, tuple(map(Index.of, index)))

    def only(self, condition: Expr | None, *index: object) -> Expr:
        """Return the element where the condition holds; any where the index is out of range."""
        if condition is None:
            return self(*index)
        inliner = self._inliner
        before = inliner.guard
        inliner.guard = condition if before is None else s.all(before, condition)
        try:
            return self(*index)
        finally:
            inliner.guard = before

    def where(self, condition: Expr | None, other: Expr | int, *index: object) -> Expr:
        """Return the element where the condition holds, `other` elsewhere."""
        found = self.only(condition, *index)
        return found if condition is None else s.select(condition, found, other)

    def at_place(self, place: Index) -> Expr:
        """Return the element at a position in row-major order."""
        return self._inliner.at(self._value, unflatten(place, self._value.dims))


class Inliner:
    """The inliner of producers; `resolve(value, index)` reads stored values, or gives None."""

    def __init__(self, resolve: Callable[[Value, tuple, Expr | None], Expr | None]):
        self.resolve = resolve
        self.guard: Expr | None = None  # what must hold where loads are made
        self.made: dict[tuple, Expr] = {}

    def at(self, value: Value, index: tuple) -> Expr:
        """Return the element of `value` at `index` as an expression."""
        key = (value, index, self.guard)
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = self._element(value, index)
        return found

    def _element(self, value: Value, index: tuple) -> Expr:
        content = value.content
        if content is not None and content.size == 1:
            return const(content.reshape(-1)[0].item(), value.dtype)
        stored = self.resolve(value, index, self.guard)
        if stored is not None:
            return stored
        equation = value.maker
        if equation is None:
            raise UnloweredError(f"{value} is not stored")
        return self.of_equation(equation, index)

    def of_equation(self, equation: Equation, index: tuple) -> Expr:
        """Return the element of an equation's result, from its operands."""
        prim, params = equation.prim, equation.params
        rule = prim.lowering.get("loops")
        if callable(rule):
            operands = [InlineOperand(self, x) for x in equation.inputs]
            element: Any = rule(s, index, *operands, **params)
            return element
        parts = [self.at(x, align_index(index, x.dims)) for x in equation.inputs]
        return scalar_of(prim, parts, params, equation.output.dtype)


def align_index(index: tuple, dims: tuple) -> tuple:
    """Return the index into an operand of sizes `dims` that is broadcast to the result."""
    if type(index) is Places and index.dims == dims:
        return index
    lead = len(index) - len(dims)
    return tuple([ZERO if size == 1 else i for i, size in zip(index[lead:], dims)])


def scalar_of(prim: Primitive, parts: list, params: dict, dtype: DType) -> Expr:
    """Apply an elementwise function to scalar expressions."""
    rule = prim.lowering.get("scalar")
    if callable(rule):
        element: Any = rule(s, *parts, **params)
        return element
    scalar = SCALARS.get(rule)  # type: ignore[arg-type]
    if scalar is None:
        raise UnloweredError(f"{prim.name} has no scalar form")
    return Expr(scalar.name, tuple(parts), dtype)


MOST_OPERANDS = 8  # of an operation whose result is pulled: of more, one copy each costs less
_PLAIN = frozenset(
    (
        "bool",
        "float16",
        "float32",
        "float64",
        "bfloat16",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
    )
)


def is_plain(dtype: DType) -> bool:
    """Return whether loops can compute with numbers of this dtype."""
    return dtype.name in _PLAIN


def kind_of(dtype: DType) -> str:
    """Return the kind of a dtype: f, i, u or b."""
    if dtype.is_bool:
        return "b"
    if dtype.is_floating:
        return "f"
    return "u" if dtype.is_unsigned else "i"


def can_inline(equation: Equation) -> bool:
    """Return whether rules give an equation's element as a function of its operands' elements."""
    prim = equation.prim
    if prim.multiple or prim.effect is not None:
        return False
    if not all(is_plain(x.dtype) for x in (*equation.inputs, *equation.outputs)):
        return False
    if len(equation.inputs) > MOST_OPERANDS or any(map(is_endless, equation.inputs)):
        return False
    if callable(prim.lowering.get("loops")):
        return "cost" not in prim.lowering or loops_cost(equation) is not None
    if "scalar" not in prim.lowering:
        return False
    return scalar_cost(equation) is not None


def loops_cost(equation: Equation) -> float | None:
    """Return the declared cost of an element of a `loops` rule; None if the rule does not apply."""
    return equation.prim.lowering["cost"](*equation.inputs, **equation.params)


_costs: dict[tuple, float | None] = {}


def scalar_cost(equation: Equation) -> float | None:
    """Return the cost of an element of a `scalar` rule; None if it does not apply to the dtypes."""
    prim, dtypes = equation.prim, tuple([x.dtype for x in equation.inputs])
    key = (prim, dtypes, *[v for v in equation.params.values() if isinstance(v, DType)])
    if key not in _costs:
        parts = [Expr("probe", (), dtype) for dtype in dtypes]
        _costs[key] = None
        try:
            tree = scalar_of(prim, parts, equation.params, equation.output.dtype)
            exprs = [] if tree is NotImplemented else walk([tree])
            if exprs and tree.dtype is equation.output.dtype and all(map(_is_sound, exprs)):
                _costs[key] = sum([_cost(expr.op) for expr in exprs])
        except UnloweredError:
            pass
    return _costs[key]


def _cost(op: str) -> float:
    if op in SCALARS:
        return SCALARS[op].cost
    return 0.0 if op in ("probe", "const") else 1.0


def _is_sound(expr: Expr) -> bool:
    scalar = SCALARS.get(expr.op)
    return scalar is None or all(kind_of(x.dtype) in scalar.kinds for x in expr.args)
