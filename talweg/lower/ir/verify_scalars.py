"""The verifier of expressions: dtypes, index bounds, scopes of axes and tiles."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import DType, bool_
from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import (
    COMBINE,
    Call,
    Expr,
    For,
    Kernel,
    Pointer,
    Store,
    Tile,
    Update,
    When,
    elements,
    walk,
)
from talweg.lower.ir.ranges import inner_axes, leaves
from talweg.lower.ir.scalars import SCALARS
from talweg.lower.ir.visitors import bodies, brief, indices, refuse, roots

if TYPE_CHECKING:
    from talweg.lower.ir.scalars import Scalar

_SIDE_BY_SIDE = frozenset(("vector", "unroll"))


def check_expressions(kernel: Kernel, axes: Sequence[Axis] = ()) -> None:
    """Check all expressions and indices of a kernel; `axes` are those of repeats around it."""
    checker = _Checker(f"kernel {kernel.name}")
    checker.axes.update(dict.fromkeys(axes, "repeat"))
    checker.body(kernel.body, False)


class _Checker:
    def __init__(self, place: str):
        self.place = place
        self.loops: list[For] = []  # around this place
        self.axes: dict[Axis, str] = {}  # and their kinds
        self.tiles: dict[Tile, int] = {}  # in scope; the number of loops around them
        self.seen: set[int] = set()  # expressions that were checked in a list around this place
        self.where = place

    def body(self, body: list, conditional: bool) -> None:
        """Check a list of statements; `conditional`: it runs where a condition holds."""
        new_tiles, new_seen = [], []
        for statement in body:
            self.where = f"{self.place}: {brief(statement)}"
            for expr in walk(roots(statement)):
                if id(expr) not in self.seen:
                    self.seen.add(id(expr))
                    new_seen.append(id(expr))
                    self.expression(expr, conditional)
            for index in indices(statement):
                self.index(index)
            kind = type(statement)
            if kind is Store:
                self.store(statement, conditional)
            elif kind is Tile:
                if statement in self.tiles:
                    raise refuse(self.where, "it is in scope already")
                self._same(statement.start.dtype, statement.dtype)
                self.tiles[statement] = len(self.loops)
                new_tiles.append(statement)
            elif kind is Update:
                self.update(statement)
            elif kind is Call:
                self.call(statement, conditional)
            elif kind is For:
                self.loop(statement, conditional)
            elif kind is When:
                self.when(statement)
        for tile in new_tiles:
            del self.tiles[tile]
        self.seen.difference_update(new_seen)

    # -- statements

    def loop(self, loop: For, conditional: bool) -> None:
        if loop.axis in self.axes:
            raise refuse(self.where, "the axis is that of a loop around it")
        self.axes[loop.axis] = loop.kind
        self.loops.append(loop)
        if loop.axis.extent:
            self.body(loop.body, conditional)
        self.loops.pop()
        del self.axes[loop.axis]

    def when(self, when: When) -> None:
        self._same(when.condition.dtype, bool_)
        if any(loop.kind == "vector" for loop in self.loops):
            raise refuse(self.where, "a condition within a vector loop")
        for body in bodies(when):
            self.body(body, True)

    def store(self, store: Store, conditional: bool) -> None:
        self._same(store.value.dtype, store.buffer.dtype)
        self._combines(store.op, store.buffer.dtype)
        if not conditional:
            self.inside(store.index, store.buffer.size, store.buffer.name)

    def update(self, update: Update) -> None:
        self._same(update.value.dtype, update.tile.dtype)
        self._combines(update.op, update.tile.dtype)
        self.tile(update.tile, update.indices)

    def call(self, call: Call, conditional: bool) -> None:
        if any(loop.kind in _SIDE_BY_SIDE for loop in self.loops):
            raise refuse(self.where, "a routine is called in a vector or unrolled loop")
        for argument in call.arguments:
            if type(argument) is Pointer and not conditional:
                buffer = argument.buffer
                self.inside(argument.index, max(1, buffer.size), buffer.name)
        if call.routine == "gemm":
            if len(call.arguments) != 13:
                raise refuse(self.where, f"gemm has 13 operands, not {len(call.arguments)}")
            if not conditional:
                self._gemm(call)

    def _gemm(self, call: Call) -> None:
        """Check that the three matrices are in their buffers, where sizes are known."""
        tx, ty, m, n, k, _, x, x_step, y, y_step, _, z, z_step = call.arguments
        shapes = [(x, (m, k), tx, x_step), (y, (k, n), ty, y_step), (z, (m, n), 0, z_step)]
        for pointer, sizes, transposed, step in shapes:
            known = [Index.of(i) for i in (*sizes, transposed, step, pointer.index)]
            if any(index.terms for index in known):
                continue
            rows, columns, flipped, stride, start = [index.constant for index in known]
            if flipped:
                rows, columns = columns, rows
            if rows * columns == 0:
                continue
            if stride < columns:
                raise refuse(self.where, f"rows of {pointer.buffer} overlap")
            if start + (rows - 1) * stride + columns > pointer.buffer.size:
                raise refuse(self.where, f"{pointer.buffer} is too small")

    def _combines(self, op: str | None, dtype: DType) -> None:
        if op is None:
            return
        if op not in COMBINE:
            raise refuse(self.where, f"{op!r} is no operation to combine with")
        if op in ("and", "or") and dtype.is_floating or dtype.is_complex:
            raise refuse(self.where, f"{op} does not combine {dtype.name}")

    # -- indices

    def index(self, index: Index) -> None:
        """Check that the axes of an index are in scope and its elements are integers."""
        for axis in inner_axes(index):
            if axis not in self.axes:
                raise refuse(self.where, f"axis {axis} is used outside of its loop")
        for atom in elements(index):
            if not atom.value.dtype.is_integer:
                raise refuse(self.where, f"an index of dtype {atom.value.dtype.name}")

    def inside(self, index: Index, size: int, name: str) -> None:
        """Check that an index stays within 0, ..., size - 1."""
        found = leaves(index, size)
        if found is not None:
            raise refuse(self.where, f"index {found} is outside of {name}, of {size} elements")

    def tile(self, tile: Tile, places: tuple) -> None:
        """Check the use of a tile."""
        if tile not in self.tiles:
            raise refuse(self.where, f"tile {tile} is used outside of its list")
        if len(places) != len(tile.dims):
            raise refuse(self.where, f"{len(places)} indices for tile {tile} of {tile.dims}")
        allowed = {
            loop.axis for loop in self.loops[self.tiles[tile] :] if loop.kind in _SIDE_BY_SIDE
        }
        for index, extent in zip(places, tile.dims):
            self.index(index)
            if elements(index) or not index.axes() <= allowed:
                message = f"{tile}[{index!r}]: only vector and unrolled loops within its list"
                raise refuse(self.where, f"{message} index a tile")
            self.inside(index, extent, tile.name)

    # -- expressions

    def expression(self, expr: Expr, conditional: bool) -> None:
        """Check one expression, operands apart."""
        op, dtype = expr.op, expr.dtype
        for index in expr.indices():
            self.index(index)
        if op == "load":
            buffer, index = expr.data
            self._same(dtype, buffer.dtype)
            if expr.args:
                guard, other = expr.args
                self._same(guard.dtype, bool_)
                self._same(other.dtype, dtype)
            elif not conditional:
                self.inside(index, buffer.size, buffer.name)
        elif op == "read":
            self._same(dtype, expr.data[0].dtype)
            self.tile(*expr.data)
        elif op == "const":
            self._constant(expr.data, dtype)
        elif op == "index":
            if not (dtype.is_integer or dtype.is_floating):
                raise refuse(self.where, f"an index as {dtype.name}")
        elif op == "cast":
            self._count(expr, 1)
        elif op == "bits":
            self._count(expr, 1)
            if expr.args[0].dtype.size != dtype.size or bool_ in (dtype, expr.args[0].dtype):
                raise refuse(self.where, f"bits of {expr.args[0].dtype.name} as {dtype.name}")
        elif op == "select":
            self._count(expr, 3)
            self._same(expr.args[0].dtype, bool_)
            self._same(expr.args[1].dtype, dtype)
            self._same(expr.args[2].dtype, dtype)
        else:
            self._scalar(expr)

    def _scalar(self, expr: Expr) -> None:
        scalar = SCALARS.get(expr.op)
        if scalar is None:
            raise refuse(self.where, f"there is no scalar function {expr.op}")
        self._count(expr, _operands(scalar))
        dtype = expr.args[0].dtype
        if _kind(dtype) not in scalar.kinds:
            raise refuse(self.where, f"{expr.op} of {dtype.name}")
        for arg in expr.args[1:]:
            self._same(arg.dtype, dtype)
        self._same(expr.dtype, scalar.dtype(dtype))

    def _count(self, expr: Expr, count: int) -> None:
        if len(expr.args) != count:
            raise refuse(self.where, f"{expr.op} of {len(expr.args)} operands")

    def _same(self, dtype: DType, wanted: DType) -> None:
        if dtype is not wanted:
            raise refuse(self.where, f"{dtype.name} where there should be {wanted.name}")

    def _constant(self, value: float, dtype: DType) -> None:
        logical = isinstance(value, (bool, np.bool_))
        number = isinstance(value, (int, float, complex, np.number, np.bool_))
        number = number or np.asarray(value).dtype == dtype.numpy_dtype
        if not number or (dtype.is_bool and not logical):
            raise refuse(self.where, f"{value!r} as a constant of {dtype.name}")
        if dtype.is_integer and int(value) != value:
            raise refuse(self.where, f"{value!r} as a constant of {dtype.name}")


_counts: dict[Any, int] = {}


def _operands(scalar: Scalar) -> int:
    """Return the number of operands of a scalar function."""
    found = _counts.get(scalar)
    if found is None:
        function = scalar.numpy
        ufunc = isinstance(function, np.ufunc)
        found = function.nin if ufunc else len(inspect.signature(function).parameters)
        _counts[scalar] = found
    return found


def _kind(dtype: DType) -> str:
    """Return the kind of a dtype, f, i, u or b; "" for dtypes without computation."""
    if dtype.is_bool:
        return "b"
    if dtype.is_floating:
        return "f"
    return ("u" if dtype.is_unsigned else "i") if dtype.is_integer else "-"
