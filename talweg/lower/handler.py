"""The handler of `scalar` and `loops` rules of declarations: `s`.

`s.exp(x)`, `s.maximum(x, 0)` and so on apply the functions of `lower/ir/scalars.py` to scalar
expressions; a Python number beside an expression takes its dtype.  `loops` rules get operands that
are called with indices, `x(i, j)`, and say what the element of the result at given indices is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.core.dtypes import DType, bool_, float32, int64, uint64
from talweg.lower.ir.index import Element, Index, flat
from talweg.lower.ir.loops import Expr, binary, const, number, within
from talweg.lower.ir.scalars import SCALARS

if TYPE_CHECKING:
    from talweg.lower.fusion.inline import InlineOperand


class ScatterRule(NamedTuple):
    """The result of a `scatter` rule: updates combined at positions that data gives.

    For each index of an array of shape `over`, `at(index)` is (the place in the result, the
    update, the condition under which there is one, or None); indices in a place are axes of the
    updates, or computed from data and held within their limits.  `op` combines: one of
    `loops.COMBINE`, "fmax" or "fmin", which pass NaN over, or None (the last update stays).  The
    result begins with `start`: a number, or a function of the index; if `mark` is a number, places
    with updates begin with that.
    """

    over: tuple
    at: Callable[[tuple], tuple]
    op: str | None = "add"
    start: Any = 0
    mark: Any = None


class ScanRule(NamedTuple):
    """The result of a `scan` rule: a number carried along an axis, initially `start`.

    `step(carried, number, *elements)` is what is carried on from an element (the axis's `number`th
    from where the scan begins).  Results are what is carried on, or, if `exclusive`, what came.
    """

    axis: int
    step: Callable[..., Expr]
    start: Any = 0
    exclusive: bool = False
    reverse: bool = False


class RejectionRule(NamedTuple):
    """The result of a `redraw` rule: random numbers of `dtype`, some of which are drawn again.

    Numbers come in groups of `group`, as many as a block of a stream gives.  A group has `blocks`
    blocks of its own, and takes the first numbers `draw(place)` in them for which `keep(number)`
    holds; place `group * n` is where the stream's nth block begins.
    """

    group: int
    blocks: int
    draw: Callable[[Index], Expr]
    keep: Callable[[Expr], Expr]
    dtype: DType


class ScalarHandler:
    """The builder of scalar expressions, one for all rules."""

    def __getattr__(self, name: str) -> Callable[..., Expr]:
        scalar = SCALARS.get(name)
        if scalar is None:
            raise AttributeError(f"no scalar function is called {name!r}")

        same = scalar.result == "same"

        def build(*operands: object) -> Expr:
            if len(operands) == 2:
                expression = binary(name, *operands)
                return (
                    expression
                    if same
                    else Expr(name, expression.args, scalar.dtype(expression.dtype))
                )
            dtype = next(x.dtype for x in operands if isinstance(x, Expr))
            args = [x if isinstance(x, Expr) else const(x, dtype) for x in operands]
            return Expr(name, tuple(args), scalar.dtype(dtype))

        build.__name__ = name
        setattr(self, name, build)
        return build

    def select(self, condition: Expr, x: Any, y: Any) -> Expr:
        """Return x where the condition holds, y elsewhere."""
        if not isinstance(x, Expr):
            x = const(x, y.dtype)
        elif not isinstance(y, Expr):
            y = const(y, x.dtype)
        if condition.op == "const":
            return x if condition.data else y
        if x.op == y.op == "const" and repr(x.data) == repr(y.data):  # 0.0 and -0.0 are two
            return x
        return Expr("select", (condition, x, y), x.dtype)

    def number(self, value: Any, like: Any) -> Expr:
        """Return a number of a dtype, or of that of an expression."""
        return const(value, like if type(like) is DType else like.dtype)

    def index(self, index: Index, dtype: DType = int64) -> Expr:
        """Return an index as a number."""
        return number(index, dtype)

    def element(self, value: Expr) -> Index:
        """Return an integer computed from data as an index."""
        if value.op == "index":
            return value.data
        if value.op == "const":
            return Index.of(int(value.data))
        return Index(0, ((Element(value), 1),))

    def clamp(self, value: Expr, size: int) -> Index:
        """Return an integer computed from data as an index, clamped to [0, size)."""
        if value.op == "const":
            return Index.of(min(max(int(value.data), 0), size - 1))
        if size - 1 > value.dtype.max:
            value = self.cast(value, int64)
        return self.element(self.maximum(self.minimum(value, size - 1), 0))

    def square(self, x: Expr) -> Expr:
        """Return x²."""
        return Expr("mul", (x, x), x.dtype)

    def zero(self, like: InlineOperand | Expr) -> Expr:
        """Return 0, or False, in the dtype of an operand."""
        return const(False if like.dtype.is_bool else 0, like.dtype)

    def first(self, index: Index) -> Expr:
        """Return whether an index is 0."""
        return self.is_(index, 0) or const(True, bool_)

    def is_(self, index: Index, value: int) -> Expr | None:
        """Return whether an index has a value; None if that is certain."""
        return self.within(Index.of(index), value, value + 1)

    def cast(self, x: Expr, dtype: DType) -> Expr:
        """Return an expression in another dtype."""
        return x if x.dtype is dtype else Expr("cast", (x,), dtype)

    def convert(self, x: Expr, dtype: DType) -> Expr:
        """Convert as `tf.cast` does: see `kernels/casting.py`."""
        if not x.dtype.is_floating or not dtype.is_integer or dtype.size < 4:
            return self.cast(x, dtype)
        if x.dtype.size == 2:  # of which the limits are infinite
            x = self.cast(x, float32)
        if dtype.name == "uint64":
            return self._to_uint64(x)
        wide = int64 if dtype.is_unsigned else dtype
        low = -(2.0 ** (8 * dtype.size - 1))
        high = -2 * low if dtype.is_unsigned else -low
        fits = self.logical_and(self.greater_equal(x, low), self.less(x, high))
        return self.cast(self.select(fits, self.cast(x, wide), const(int(low), wide)), dtype)

    def _to_uint64(self, x: Expr) -> Expr:
        """Convert a float to uint64: from 2⁶³ on, only the excess is converted."""
        large = self.logical_and(self.greater_equal(x, 2.0**63), self.less(x, 2.0**64))
        rest = self.convert(self.select(large, x - 2.0**63, x), int64)
        top = self.select(large, const(1 << 63, uint64), const(0, uint64))
        return self.xor(self.cast(rest, uint64), top)

    def one_of(self, index: Index, choices: list[Expr]) -> Expr:
        """Select one of several expressions by an index; just it, if the index is known."""
        index = Index.of(index)
        if not index.terms:
            return choices[index.constant]
        found, place = choices[-1], number(index)
        for k, choice in reversed([*enumerate(choices[:-1])]):
            found = self.select(self.equal(place, k), choice, found)
        return found

    def place(self, index: tuple, dims: tuple) -> Index:
        """Return the row-major offset of the element at `index`."""
        return flat(index, dims)

    def bits(self, x: Expr, dtype: DType) -> Expr:
        """Reinterpret bits as another dtype of the same size."""
        return Expr("bits", (x,), dtype)

    def within(self, index: Index, low: int, high: int) -> Expr | None:
        """Return low <= index < high; None if that is certain."""
        return within(index, low, high)

    def scatter(self, over: tuple, at: Callable[[tuple], tuple], **options: Any) -> ScatterRule:
        """Make the result of a `scatter` rule."""
        return ScatterRule(over, at, **options)

    def scan(self, axis: int, step: Callable[..., Expr], **options: Any) -> ScanRule:
        """Make the result of a `scan` rule."""
        return ScanRule(axis, step, **options)

    def redraw(self, *parts: Any) -> RejectionRule:
        """Make the result of a `redraw` rule."""
        return RejectionRule(*parts)

    def all(self, *conditions: Expr | None) -> Expr | None:
        """Return the conjunction of all conditions, None if all are certain."""
        found = None
        for condition in conditions:
            if condition is not None:
                both = (found, condition)
                found = condition if found is None else self.logical_and(*both)
        return found


s = ScalarHandler()
