"""Views: values that reinterpret the memory of other values.

A reshape shares memory as it is.  A product can also read its operands through transposes, slices
and reshapes, where rows and columns still lie at constant strides (`matrix_view`).
"""

from __future__ import annotations

import math

from talweg.core.dtypes import DType, bfloat16, float32
from talweg.core.roles import Trait
from talweg.lower.convolution.geometry import geometry_of
from talweg.lower.convolution.matrix_tiles_selection import (
    SINGLE,
    SPLIT,
    beats_vectors,
    gradient_beats_vectors,
)
from talweg.lower.fusion.inline import Inliner, UnloweredError
from talweg.lower.ir.index import Axis, Index, flat
from talweg.lower.ir.loops import Expr
from talweg.lower.ir.registers import registers
from talweg.passes.optimize.loop_products import HALVES, rounds, widens
from talweg.passes.specialize.program import Equation, Value
from talweg.prims import arithmetic

SEEN = frozenset((Trait.SAME_MEMORY, Trait.MATRICES_IN_PLACE))
BLAS = frozenset(("float32", "float64"))
FEWEST, NARROWEST = 2, 8  # rows; columns, and numbers of k: of products by matrix registers
DEEPEST, LONGEST = 16, 64  # channels and products of a result, of convolutions to few channels
FEWEST_SPLIT = 32  # rows and columns of float16, which take four times the work
LARGEST = 7 << 20  # bytes of y in products by loops
LEAST_ROWS = 48  # of x, that a copy of a larger y is worth while for


def base_of(value: Value) -> Value:
    """Return the value whose memory this one shares: itself, or the operand of its reshapes."""
    while value.content is None and value.maker is not None:
        if Trait.SAME_MEMORY not in value.maker.prim.traits:
            break
        value = value.maker.inputs[0]
    return value


class MatrixView:
    """A view of matrices [..., rows, columns] in the memory of `base`.

    Their elements are at `start` + row * `stride`, + column; or the other way round if `turned`.
    `axes` are those of the leading dimensions, on which `start` depends.  `casts` are the dtypes to
    which an element is converted after it is read, one after the other.
    """

    __slots__ = ("axes", "base", "casts", "start", "stride", "turned")

    def __init__(
        self,
        base: Value,
        axes: list[Axis],
        start: Index,
        stride: int,
        turned: bool,
        casts: tuple[DType, ...] = (),
    ):
        self.base, self.axes, self.start = base, axes, start
        self.stride, self.turned, self.casts = stride, turned, casts


def matrix_view(value: Value) -> MatrixView:
    """Return a view of a value's matrices, in the memory of its operand if possible."""
    chain = [value]
    while chain[-1].maker is not None and chain[-1].content is None:
        maker = chain[-1].maker
        if SEEN.isdisjoint(maker.prim.traits) or maker.prim.multiple:
            break
        chain.append(maker.inputs[0])
    for root in reversed(chain[1:]):
        found = _view(value, base_of(root))
        if found is not None:
            return found
    found = _view(value, base_of(value))
    assert found is not None
    return found


def _view(value: Value, root: Value) -> MatrixView | None:
    axes = [Axis(f"v{k}", size) for k, size in enumerate(value.dims)]
    index = tuple(map(Index.of, axes))
    if value.content is not None:
        return _strides(value, value, axes, flat(index, value.dims))

    def resolve(other: Value, index: tuple, guard: Expr | None) -> Expr | None:
        if base_of(other) is not root:
            return None
        return Expr(
            "place", () if guard is None else (guard,), other.dtype, flat(index, other.dims)
        )

    try:
        element = Inliner(resolve).at(value, index)
    except UnloweredError:
        return None
    if element.op != "place" or element.args:
        return None
    offset: Index = element.data
    if any(offset.coefficient(axis) is None for axis in axes):
        return None
    return _strides(value, root, axes, offset)


def _strides(value: Value, root: Value, axes: list, place: Index) -> MatrixView | None:
    rows, columns = value.dims[-2:]
    by_row, by_column = place.coefficient(axes[-2]) or 0, place.coefficient(axes[-1]) or 0
    start = place.replace({axes[-2]: 0, axes[-1]: 0})
    if (by_column == 1 or columns == 1) and (by_row >= columns or rows == 1):
        return MatrixView(root, axes[:-2], start, max(by_row, columns, 1), False)
    if (by_row == 1 or rows == 1) and (by_column >= rows or columns == 1):
        return MatrixView(root, axes[:-2], start, max(by_column, rows, 1), True)
    return None


def is_product(equation: Equation) -> bool:
    """Return whether an equation is a product that BLAS computes."""
    return (
        equation.prim.lowering.get("call") == "matmul"
        and equation.output.dtype.name in BLAS
        and all(size > 0 for x in equation.inputs for size in x.dims)
    )


def short_operands(equation: Equation) -> list[Value] | None:
    """Return the 16-bit values whose casts are operands of a product or convolution.

    None for others, and where no matrix registers multiply these.
    """
    way = SHORT.get(equation.prim.lowering.get("call", ""))
    if way is None or not registers().matrix_tiles or equation.output.dtype is not float32:
        return None
    found = [value for value in map(before_cast, equation.inputs) if value is not None]
    if len(found) < len(equation.inputs) or len({value.dtype for value in found}) > 1:
        return None
    return found if way(equation, found[0].dtype) else None


def _product_fits(equation: Equation, dtype: DType) -> bool:
    x, y = equation.inputs
    if min(x.dims[-2:]) < FEWEST or min(x.dims[-1], y.dims[-1]) < NARROWEST:
        return False
    one = y.size == math.prod(y.dims[-2:])  # then matrices of x are one tall matrix
    rows = math.prod(x.dims[:-1]) if one else x.dims[-2]
    return dtype is bfloat16 or min(rows, y.dims[-1]) >= FEWEST_SPLIT


def _convolution_fits(equation: Equation, dtype: DType) -> bool:
    sizes = [value.size for value in (*equation.inputs, equation.output)]
    if not all(sizes):
        return False
    geometry, name = geometry_of(equation), equation.prim.name
    times = SINGLE if dtype is bfloat16 else SPLIT
    surely = dtype is bfloat16 and geometry.groups == 1  # else windows are not gathered
    if name == "convolution_filter_gradient":
        if geometry.width * geometry.groups < NARROWEST:
            return False
        return surely or gradient_beats_vectors(geometry.forward(), times)
    forward = name == "convolution"
    width, depth = geometry.width, geometry.depth
    if not forward:
        width, depth = depth, width
    long = depth >= DEEPEST and depth * math.prod(geometry.taps) >= LONGEST
    if not long and min(width, geometry.width) < NARROWEST:
        return False
    each = [geometry.forward()] if forward else geometry.backward()
    return surely or all(beats_vectors(windows, times) for windows in each if windows.reduced)


SHORT = {"matmul": _product_fits, "convolution": _convolution_fits}


def before_cast(value: Value) -> Value | None:
    """Return the 16-bit value whose cast this one is, None for any other."""
    maker = value.maker
    if value.content is not None or maker is None or maker.prim is not arithmetic.cast:
        return None
    return maker.inputs[0] if maker.inputs[0].dtype in HALVES else None


def product_operands(equation: Equation) -> list[Value]:
    """Return the values that a product or convolution reads."""
    return short_operands(equation) or _converted_operands(equation) or list(equation.inputs)


def _converted_operands(equation: Equation) -> list[Value] | None:
    """Return the operands of a convolution, with 16-bit images before their casts."""
    if equation.prim.lowering.get("call") != "convolution" or not equation.output.size:
        return None
    filters = None if equation.prim.name == "convolution_filter_gradient" else equation.inputs[1]
    return [x if x is filters else _before_widening(x) for x in equation.inputs]


def _before_widening(value: Value) -> Value:
    maker = value.maker
    return maker.inputs[0] if value.content is None and maker and widens(maker) else value


def product_views(equation: Equation) -> list[MatrixView]:
    """Return the views of the matrices that a product reads.

    Where y is copied into panels, the copy converts 16-bit weights, and rounds float32 weights to
    16 bits: a copy of all of them in float32 would go through memory twice.
    """
    x, y = [matrix_view(value) for value in product_operands(equation)]
    return [x, _before_casts(y) if _packs_columns(equation) else y]


def _packs_columns(equation: Equation) -> bool:
    """Return whether a product by vectors copies its y."""
    x, y = equation.inputs
    (rows, k), n = x.dims[-2:], y.dims[-1]
    if short_operands(equation) is not None or rows < FEWEST or n < NARROWEST:
        return False
    small = k * n * y.dtype.size <= LARGEST
    return small or (y.size == k * n and x.size // k >= LEAST_ROWS)


def _before_casts(view: MatrixView) -> MatrixView:
    """Return the view of a program's input that a matrix is the cast of, or else this one."""
    base = view.base
    if base.content is not None or base.maker is None or not widens(base.maker):
        return view
    root = base_of(base.maker.inputs[0])
    casts: tuple[DType, ...] = (base.dtype,)
    if root.maker is not None and rounds(root.maker):
        casts = (root.dtype, *casts)
        root = base_of(root.maker.inputs[0])
    elif view.turned:  # 16-bit numbers are not gathered
        return view
    if root.maker is not None or root.content is not None:
        return view
    return MatrixView(root, view.axes, view.start, view.stride, view.turned, casts)


def operands_of(equation: Equation) -> list[Value]:
    """Return the operands that a block reads from memory."""
    if is_product(equation):
        return [view.base for view in product_views(equation)]
    return product_operands(equation)
