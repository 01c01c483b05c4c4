"""Code generation of expressions, as instructions of one or several lanes.

A value that does not differ between lanes is computed once, as a scalar, and spread where a vector
is needed.  Whether it does is found on the way: loads and indices know, everything else has as many
lanes as its operands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import DType, float32, float64
from talweg.execute.llvm.codegen import arithmetic, casts
from talweg.execute.llvm.codegen.builder import IRBuilder, IRValue
from talweg.execute.llvm.codegen.index import BOUND, Indices, LaneOffset
from talweg.execute.llvm.codegen.memory import MemoryEmitter
from talweg.execute.llvm.codegen.random import words
from talweg.execute.llvm.codegen.types import SHORT, is_signed, literal, register, vector
from talweg.lower.ir.loops import Expr

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.execute.llvm.codegen.tiles import TileRegisters

COMPARE = {
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
}


class ValueEmitter:
    """The emitter of expressions at the kernel's present point."""

    def __init__(
        self,
        code: IRBuilder,
        indices: Indices,
        memory: MemoryEmitter,
        library: Any,
        tiles: TileRegisters,
        order: Callable,
    ):
        self.code, self.indices, self.memory = code, indices, memory
        self.library, self.tiles = library, tiles
        self.order = order  # expressions below some, operands first
        self.known: dict[int, IRValue] = {}  # what was computed in the lists that are being run
        self.log: list[int] = []  # the keys of `known` in the order in which they came

    def evaluate(self, roots: tuple[Expr, ...]) -> dict[int, IRValue]:
        """Emit all expressions below `roots` and return their values by id."""
        known, log = self.known, self.log
        for expr in self.order(roots):
            key = id(expr)
            if key not in known:
                method = _METHODS.get(expr.op)
                known[key] = method(self, expr, known) if method else self.function(expr, known)
                log.append(key)
        for root in roots:
            known[id(root)] = self.full(known[id(root)], root.dtype)
        return known

    def forget(self, mark: int) -> None:
        """Forget values of the statement list that began when `log` was that long."""
        for key in self.log[mark:]:
            del self.known[key]
        del self.log[mark:]

    def one(self, root: Expr) -> IRValue:
        """Emit one expression."""
        if root.op == "const":
            return IRValue(literal(root.data, root.dtype))
        return self.evaluate((root,))[id(root)]

    def full(self, value: IRValue, dtype: DType) -> IRValue:
        """Return a value with a number for each lane, unless it is uniform."""
        if value.lanes in (1, self.indices.lanes):
            return value
        return self.code.spread_value(value, self.indices.lanes, register(dtype))

    # ---------------------------------------------------------------- leaves

    def const(self, expr: Expr, values: dict) -> IRValue:
        """Emit a number."""
        return IRValue(literal(expr.data, expr.dtype))

    def load(self, expr: Expr, values: dict) -> IRValue:
        """Emit the load of an element."""
        buffer, index = expr.data
        guard = other = None
        if expr.args:
            guard, other = [self.full(values[id(x)], x.dtype) for x in expr.args]
        return self.memory.load(buffer, index, values, guard, other)

    def read(self, expr: Expr, values: dict) -> IRValue:
        """Read a number of a tile."""
        tile, indices = expr.data
        return self.tiles.read(tile, indices)

    def index(self, expr: Expr, values: dict) -> IRValue:
        """Emit an index as a number."""
        index: Any = expr.data
        place = self.indices.place(index, values)
        low, top = index.smallest, index.largest
        small = low is not None and top is not None and low >= -BOUND and top < BOUND
        kind = register(expr.dtype)
        if kind in SHORT:
            return self._index_float(place, small, kind)
        narrow = not place.uniform and (small or kind != "i64")
        whole = self.indices.whole(place, narrow)
        source = "i32" if narrow else "i64"
        if whole.text[0] != "%" and whole.lanes == 1:
            return IRValue(literal(int(whole.text), expr.dtype))
        return self.indices.convert_width(whole, source, kind, False)

    def _index_float(self, place: LaneOffset, small: bool, kind: str) -> IRValue:
        narrow = not place.uniform and small
        whole = self.indices.whole(place, narrow)
        source = "i32" if narrow else "i64"
        lanes = whole.lanes
        text = f"sitofp {vector(source, lanes)} {whole.text} to {vector(kind, lanes)}"
        return self.code.compute(text, lanes, whole.depth)

    # ---------------------------------------------------------------- functions

    def cast(self, expr: Expr, values: dict) -> IRValue:
        """Emit a cast to another dtype."""
        (x,) = expr.args
        return casts.cast(self.code, values[id(x)], x.dtype, expr.dtype)

    def bits(self, expr: Expr, values: dict) -> IRValue:
        """Emit a bit cast to another dtype."""
        (x,) = expr.args
        stored = casts.to_memory(self.code, values[id(x)], x.dtype)
        return casts.from_memory(
            self.code, casts.bitcast(self.code, stored, x.dtype, expr.dtype), expr.dtype
        )

    def select(self, expr: Expr, values: dict) -> IRValue:
        """Emit a selection."""
        c, x, y = [values[id(arg)] for arg in expr.args]
        return casts.choose(self.code, c, x, y, expr.dtype)

    def compare(self, expr: Expr, values: dict) -> IRValue:
        """Emit an order or equality; of indices in 32 bits where that is enough."""
        x, y = expr.args
        left, right = values[id(x)], values[id(y)]
        kind = register(x.dtype)
        if kind == "i64" and x.op in ("index", "const") and y.op in ("index", "const"):
            small = self._small(x, left, values), self._small(y, right, values)
            if small[0] is not None and small[1] is not None:
                left, right, kind = small[0], small[1], "i32"
        if not (_is_zero(x) or _is_zero(y)):  # rounding keeps signs
            left = casts.as_stored(self.code, left, x.dtype)
            right = casts.as_stored(self.code, right, y.dtype)
        word = COMPARE[expr.op]
        if kind in SHORT:
            word = "fcmp " + ("u" if word == "ne" else "o") + word
        else:
            sign = "" if word in ("eq", "ne") else "s" if is_signed(x.dtype) else "u"
            word = f"icmp {sign}{word}"
        return self.code_binary(word, left, right, kind)

    def _small(self, expr: Expr, value: IRValue, values: dict) -> IRValue | None:
        """Return a 64-bit index or number in 32 bits; None if it may not fit."""
        if expr.op == "const":
            return value if -BOUND <= int(value.text) < BOUND else None
        index: Any = expr.data
        low, top = index.smallest, index.largest
        if low is None or top is None or low < -BOUND or top >= BOUND:
            return None
        return self.indices.whole(self.indices.place(index, values), True)

    def code_binary(self, word: str, x: IRValue, y: IRValue, kind: str) -> IRValue:
        """Emit an instruction of two operands."""
        return arithmetic.binary(self.code, word, x, y, kind)

    def words(self, expr: Expr, values: dict) -> IRValue:
        """Emit random words."""
        return words(self.code, self.indices, expr, values)

    def function(self, expr: Expr, values: dict) -> IRValue:
        """Emit any other function."""
        operands = [values[id(arg)] for arg in expr.args]
        dtype: DType = expr.args[0].dtype
        if expr.op in _JUMPS:
            operands = [casts.as_stored(self.code, x, dtype) for x in operands]
        made = arithmetic.function(self.code, expr.op, operands, dtype)
        if made is None:
            made = self.call(expr.op, operands, dtype)
        return made

    def call(self, name: str, operands: list[IRValue], dtype: DType) -> IRValue:
        """Emit a call of the vector math library; lanes are padded to a power of two."""
        kind, code = register(dtype), self.code
        lanes = max([operand.lanes for operand in operands])
        full = 1 << (lanes - 1).bit_length()
        depth = max([operand.depth for operand in operands])
        types = vector(kind, full)
        texts = []
        for operand in operands:
            if full != lanes and operand.lanes == lanes:
                mask = [*range(lanes), *[-1] * (full - lanes)]
                operand = code.shuffle(operand, "poison", kind, mask)
            texts.append(f"{types} {code.spread(operand, full, kind)}")
        symbol = self.library.symbol(name, float64 if kind == "double" else float32, full)
        made = code.compute(f"call {types} @{symbol}({', '.join(texts)})", full, depth)
        return made if full == lanes else code.shuffle(made, "poison", kind, list(range(lanes)))


def _is_zero(expr: Expr) -> bool:
    return expr.op == "const" and expr.data == 0


_JUMPS = frozenset(("floor", "ceil", "trunc", "rint", "fmod", "is_inf", "is_finite"))
_METHODS = {
    "const": ValueEmitter.const,
    "load": ValueEmitter.load,
    "read": ValueEmitter.read,
    "index": ValueEmitter.index,
    "cast": ValueEmitter.cast,
    "bits": ValueEmitter.bits,
    "select": ValueEmitter.select,
    **dict.fromkeys(COMPARE, ValueEmitter.compare),
    "philox32": ValueEmitter.words,
    "philox64": ValueEmitter.words,
}
