"""Random scalar expressions for `tests/lower/programs.py`.

A number is exact if every executor gets it bit by bit; only exact numbers decide, index, and become
integers.  Others keep a bound on their size, so that errors stay small.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from talweg.core.dtypes import BY_NAME, DType, bool_, float32, int32, int64
from talweg.lower.ir.index import Axis, Element, Index
from talweg.lower.ir.loops import Buffer, Expr, const, load, number, within
from talweg.lower.ir.scalars import SCALARS

LARGEST = 16.0  # what an inexact number may grow to before it is scaled
BITS = {"int32": "float32", "int64": "float64", "uint32": "int32", "int16": "float16"}


class Number(NamedTuple):
    """An expression, a bound on its size, and whether it is exact."""

    expr: Expr
    most: float = 4.0
    exact: bool = True


def make(op: str, *args: Expr) -> Expr:
    """A scalar function of expressions."""
    dtype = bool_ if SCALARS[op].result == "bool" else args[0].dtype
    return Expr(op, args, dtype)


class Source(NamedTuple):
    """A buffer that may be read, and whether what it holds is exact."""

    buffer: Buffer
    exact: bool


class Expressions:
    """Makes expressions at a place: the values of `axes`.  `pool` has those made so far."""

    def __init__(self, choices: Any, sources: list[Source], axes: list[Axis]):
        self.choices, self.sources, self.axes = choices, sources, axes
        self.pool: list[Number] = []

    def any(self, dtype: DType, depth: int, exact: bool = False) -> Number:
        """A number of a dtype; now and then one that is there already."""
        again = [n for n in self.pool if n.expr.dtype is dtype and (n.exact or not exact)]
        if again and self.choices.chance(30):
            return self.choices.pick(again)
        if dtype.is_bool:
            found = self.logical(depth)
        elif dtype.is_integer:
            found = self.integer(dtype, depth)
        else:
            found = self.exact_float(dtype, depth) if exact else self.floating(dtype, depth)
        self.pool.append(found)
        return found

    # -- leaves

    def leaf(self, dtype: DType, exact: bool) -> Number:
        """A load, constant, or index."""
        fitting = [s for s in self.sources if s.buffer.dtype is dtype and (s.exact or not exact)]
        kind = self.choices.number(1, 10)
        if fitting and kind <= 7:
            source = self.choices.pick(fitting)
            return Number(self.load(source.buffer), 4.0, source.exact)
        if dtype.is_bool:
            x, y = self.leaf(int32, True).expr, self.leaf(int32, True).expr
            return Number(make(self.choices.pick(("less", "equal", "greater_equal")), x, y))
        others = [s for s in self.sources if s.exact and s.buffer.dtype is not dtype]
        if others and kind <= 8:
            x = self.load(self.choices.pick(others).buffer)
            if x.dtype.is_integer and dtype.is_floating:
                x = make("remainder", x, const(5, x.dtype))
            return Number(Expr("cast", (x,), dtype))
        if self.axes and kind == 9 and dtype.size > 1:
            index = Index.of(self.choices.pick(self.axes))
            if dtype.is_integer:
                return Number(number(index * self.choices.number(-2, 3) + 1, dtype))
            return Number(number(index % 4, dtype))
        if dtype.is_floating:
            return Number(const(self.choices.number(-32, 32) / 8, dtype))
        return Number(const(self.choices.number(0 if dtype.is_unsigned else -9, 9), dtype))

    def load(self, buffer: Buffer) -> Expr:
        """An element of a buffer, at an index that is inside, or guarded, or made to be inside."""
        index, size = self.index(buffer), buffer.size
        low, top = index.smallest, index.largest
        if low is not None and top is not None and low >= 0 and top < size:
            return load(buffer, index)
        if self.choices.chance(60):
            guard = within(index, 0, size)
            return load(buffer, index, guard, self.guarded(buffer.dtype))
        if low is None:  # an element: what is computed stays inside
            return load(buffer, Index(0, ((Element(self.row(size)), 1),)))
        return load(buffer, index % size)

    def guarded(self, dtype: DType) -> Expr:
        """What a guarded load gives where it does not load."""
        if dtype.is_bool:
            return const(self.choices.chance(50), dtype)
        return const(self.choices.number(0, 3), dtype)

    def index(self, buffer: Buffer) -> Index:
        """An index of this place; perhaps it leaves the buffer."""
        inner = buffer.shape[-1] if buffer.shape else 1
        kind = self.choices.number(1, 10)
        if kind <= 5 or not self.axes:  # the place itself, or its last part
            found = Index()
            for axis in self.axes[-len(buffer.shape) :] if buffer.shape else []:
                found = found * inner + Index.of(axis)
            return found
        if kind == 6 and buffer.size > 1:
            element = Index(0, ((Element(self.row(buffer.size // inner + 1)), inner),))
            return element + Index.of(self.axes[-1])
        found = Index(self.choices.number(-3, 3))
        for axis in self.axes:
            found = found + Index.of(axis) * self.choices.pick((0, 1, 1, 2, -1, inner))
        if kind == 7:
            found = found // self.choices.number(2, 5)
        return found % self.choices.number(2, 9) if kind == 8 else found

    def row(self, extent: int) -> Expr:
        """A computed number from 0 up to an extent."""
        dtype = self.choices.pick((int32, int64))
        x = self.integer(dtype, 1).expr
        return make("remainder", x, const(extent, dtype))

    # -- kinds of numbers

    def logical(self, depth: int) -> Number:
        if depth <= 0:
            return self.leaf(bool_, True)
        if self.choices.chance(50):
            x, y = self.logical(depth - 1).expr, self.logical(depth - 1).expr
            op = self.choices.pick(("logical_and", "logical_or", "xor", "not_equal", "not"))
            return Number(make(op, x) if op == "not" else make(op, x, y))
        dtype = self.choices.pick((float32, int32, BY_NAME["uint8"], BY_NAME["float64"]))
        x = self.any(dtype, depth - 1, True).expr
        if dtype.is_floating and self.choices.chance(30):
            return Number(make(self.choices.pick(("is_nan", "is_inf", "is_finite")), x))
        y = self.any(dtype, depth - 1, True).expr
        return Number(make(self.choices.pick(("less", "less_equal", "equal", "greater")), x, y))

    def integer(self, dtype: DType, depth: int) -> Number:
        if depth <= 0:
            return self.leaf(dtype, True)
        kind = self.choices.number(1, 10)
        x = self.any(dtype, depth - 1, True).expr
        if kind == 1:
            name = self.choices.pick(("float32", "float64", "int32", "int8", "uint16", "bool"))
            other = self.any(BY_NAME[name], depth - 1, True).expr
            if name.startswith("float") and self.choices.chance(50):
                other = make("mul", other, const(2.0**20, other.dtype))
            return Number(Expr("cast", (other,), dtype))
        same = [s for s in self.sources if s.exact and s.buffer.dtype.name == BITS.get(dtype.name)]
        if kind == 2 and same:
            return Number(Expr("bits", (self.load(self.choices.pick(same).buffer),), dtype))
        if kind == 3:
            condition = self.any(bool_, depth - 1).expr
            return Number(Expr("select", (condition, x, self.leaf(dtype, True).expr), dtype))
        unary = ("not",) if dtype.is_unsigned else ("neg", "abs", "not")
        if kind == 4:
            return Number(make(self.choices.pick(unary), x))
        y = self.any(dtype, depth - 1, True).expr
        ops = (
            "add",
            "sub",
            "mul",
            "floor_div",
            "remainder",
            "maximum",
            "minimum",
            "and",
            "or",
            "xor",
            "shift_left",
            "shift_right",
        )
        return Number(make(self.choices.pick(ops), x, y))

    def exact_float(self, dtype: DType, depth: int) -> Number:
        if depth <= 0:
            return self.leaf(dtype, True)
        x = self.any(dtype, depth - 1, True).expr
        op = self.choices.pick(
            (
                "neg",
                "abs",
                "floor",
                "ceil",
                "rint",
                "trunc",
                "maximum",
                "minimum",
                "select",
                "copysign",
            )
        )
        if op == "select":
            condition = self.any(bool_, depth - 1).expr
            return Number(Expr(op, (condition, x, self.leaf(dtype, True).expr), dtype))
        if op in ("maximum", "minimum", "copysign"):
            y = (
                make("abs", self.leaf(dtype, True).expr)
                if op == "copysign"
                else self.leaf(dtype, True).expr
            )
            return Number(make(op, x, y))
        return Number(make(op, x))

    def floating(self, dtype: DType, depth: int) -> Number:
        if depth <= 0:
            return self.leaf(dtype, False)
        kind = self.choices.number(1, 8)
        x = self.any(dtype, depth - 1)
        if kind <= 3:
            return bounded(self.function(x))
        if kind == 4:
            condition = self.any(bool_, depth - 1).expr
            y = self.any(dtype, depth - 1)
            expr = Expr("select", (condition, x.expr, y.expr), dtype)
            return Number(expr, max(x.most, y.most), False)
        if kind == 5 and dtype in (float32, BY_NAME["float64"]):
            other = BY_NAME["float64"] if dtype is float32 else float32
            y = self.any(other, depth - 1)
            return Number(Expr("cast", (y.expr,), dtype), y.most, False)
        y = self.any(dtype, depth - 1)
        op = self.choices.pick(("add", "sub", "mul", "div", "maximum", "minimum", "fma"))
        if op == "div":
            below = make("add", make("abs", y.expr), const(1.0, dtype))
            return Number(make("div", x.expr, below), x.most, False)
        if op == "fma":
            return bounded(
                Number(make(op, x.expr, y.expr, x.expr), x.most * y.most + x.most, False)
            )
        most = {
            "mul": x.most * y.most,
            "maximum": max(x.most, y.most),
            "minimum": max(x.most, y.most),
        }
        return bounded(Number(make(op, x.expr, y.expr), most.get(op, x.most + y.most), False))

    def function(self, x: Number) -> Number:
        """A function that keeps errors small."""
        dtype, e = x.expr.dtype, x.expr
        op = self.choices.pick(
            (
                "sin",
                "cos",
                "tanh",
                "exp",
                "sigmoid",
                "softplus",
                "erf",
                "erfc",
                "atan",
                "sqrt",
                "log",
                "log1p",
                "expm1",
                "asinh",
                "abs",
                "neg",
                "atan2",
                "pow",
                "sinh",
                "asin",
            )
        )
        near = make("minimum", make("maximum", e, const(-2.0, dtype)), const(2.0, dtype))
        size = make("add", make("abs", e), const(0.5, dtype))
        if op in ("exp", "expm1", "sinh"):
            return Number(make(op, near), 8.0, False)
        if op in ("sqrt", "log", "log1p"):
            return Number(make(op, size), x.most + 1, False)
        if op == "asin":
            return Number(make(op, make("mul", near, const(0.25, dtype))), 2.0, False)
        if op == "atan2":
            return Number(make(op, e, size), 2.0, False)
        if op == "pow":
            return Number(make(op, size, const(0.75, dtype)), x.most + 1, False)
        return Number(make(op, e), x.most + 2, False)


def bounded(x: Number) -> Number:
    """A number scaled down if it may be large."""
    factor = 1.0
    while x.most * factor > LARGEST:
        factor /= 4
    if factor == 1.0:
        return x
    scaled = make("mul", x.expr, const(factor, x.expr.dtype))
    return Number(scaled, x.most * factor, False)
