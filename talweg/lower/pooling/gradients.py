"""Lowering of derivatives of pooling.

Windows that share no elements write what they cover.  Where they overlap, first each window chooses
a tap, then each element sums over the windows that have it (`spread`): so nothing is added to in
memory, and every element of the result is made once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.lower.convolution.geometry import Line, residues
from talweg.lower.handler import s
from talweg.lower.ir.index import flat
from talweg.lower.ir.loops import Expr, Store, const, load, within
from talweg.lower.pooling.windows import WRITTEN_OUT, PoolingWindows, counts_of, divide_by_count
from talweg.passes.specialize.program import Equation

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


def _is_first(x: Expr, y: Expr) -> Expr:
    """Return whether an element is a window's maximum, or NaN."""
    equal = s.equal(x, y)
    return s.logical_or(equal, s.is_nan(x)) if x.dtype.is_floating else equal


class _Choice(PoolingWindows):
    """The lowering of max_pool_gather and max_pool_scatter: v or g, x, y."""

    def __init__(self, builder: LoweringBuilder, equation: Equation):
        _, x, y = equation.inputs
        super().__init__(builder, equation, x.dims[1:-1], y.dims[1:-1])
        self.g, self.x, self.y = [builder.buffer_of(value) for value in equation.inputs]

    def choose(self, index: tuple, values: list, none: Expr) -> Expr:
        """Return the value at the first maximum of a window, one for each of `taps`."""
        y = self.windows(self.y, index)
        found = none
        for tap, value in reversed(list(zip(self.taps, values))):
            at = self.through(index, tap)
            here = _is_first(self.element(self.x, index, at, 0), y)
            inside = self.inside(at)
            here = here if inside is None else s.logical_and(inside, here)
            found = s.select(here, value, found)
        return found


def gather(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    made = _Choice(builder, equation)

    def body(index: tuple) -> list:
        values = [made.element(made.g, index, made.through(index, tap), 0) for tap in made.taps]
        found = made.choose(index, values, const(0, made.value.dtype))
        return builder.results(made.value, index, found)

    return [made.kernel(name, made.loops(body))]


def scatter(builder: LoweringBuilder, equation: Equation, name: str) -> list | None:
    made = _Choice(builder, equation)
    if all((line.taps - 1) * line.step < line.scale for line in made.lines):
        return [made.kernel(name, _apart(made))]
    if len(made.taps) > WRITTEN_OUT:
        return None
    return _overlapping(made, name)


def _apart(made: _Choice) -> list:
    """Emit disjoint windows: each writes its elements, and the gaps behind it."""
    loops: list[Any] = []
    choices: list[list] = [[]]
    for line in made.lines:
        choices = [[*before, run] for before in choices for run in _cells(line)]
    for runs in choices:
        counts = tuple([count for _, count, _, _ in runs])

        def body(index: tuple, runs: list = runs) -> list:
            places: list[list] = [[]]
            for offset in [offsets for _, _, offsets, _ in runs]:
                places = [[*before, k] for before in places for k in offset]
            cell = [i + first for i, (first, *_) in zip(index[1:-1], runs)]
            index = (index[0], *cell, index[-1])
            taken = all(window for _, _, _, window in runs)
            return _cell(made, index, places, taken)

        loops += made.loops(body, counts)
    return loops


def _cells(line: Line) -> list[tuple]:
    """Cut the axis into cells, one for each window and for the elements behind the last.

    Cell o has the places from o * scale + origin on, up to the next.  Gives (first cell, how many,
    offsets that are in x, whether they are windows) of neighbours that are alike.
    """
    cells: list[list] = []
    number = 0
    while number * line.scale + line.origin < line.size:
        start = number * line.scale + line.origin
        offsets = tuple([k for k in range(line.scale) if 0 <= start + k < line.size])
        kind = (offsets, number < line.outs)
        if cells and (cells[-1][2], cells[-1][3]) == kind:
            cells[-1][1] += 1
        elif offsets:
            cells.append([number, 1, *kind])
        number += 1
    return [tuple(run) for run in cells]


def _cell(made: _Choice, index: tuple, places: list, taken: bool) -> list:
    """Return the contribution of a window to each element of its cell."""
    value = made.value
    zero = const(0, value.dtype)
    stores: list[Any] = []
    y = made.windows(made.y, index) if taken else None
    g = made.windows(made.g, index) if taken else None
    seen: Expr | None = None  # whether an earlier tap is the maximum
    for offsets in places:
        at = [
            i * line.scale + line.origin + k for i, k, line in zip(index[1:-1], offsets, made.lines)
        ]
        covered = all(
            k % line.step == 0 and k // line.step < line.taps
            for k, line in zip(offsets, made.lines)
        )
        total = zero
        if y is not None and g is not None and covered:
            here = _is_first(made.element(made.x, index, at, 0), y)
            fresh = here if seen is None else s.logical_and(here, s.logical_not(seen))
            seen = here if seen is None else s.logical_or(seen, here)
            total = s.select(fresh, g, zero)
        stores += made.builder.results(value, (index[0], *at, index[-1]), total)
    return stores


def _overlapping(made: _Choice, name: str) -> list:
    """Emit overlapping windows: first the tap that each has chosen, then sums over windows."""
    dtype = made.value.dtype
    dims = (made.batch, *made.outs, made.channels)
    choice = made.builder.new("choice", dtype, dims, "temporary")
    none = const(len(made.taps), dtype)

    def choose(index: tuple) -> list:
        numbers: list = [const(k, dtype) for k in range(len(made.taps))]
        chosen = made.choose(index, numbers, none)
        return [Store(choice, flat(index, dims), chosen)]

    def take(index: tuple, tap: tuple, guard: Expr | None) -> Expr:
        offset = flat(index, dims)
        number = const(made.taps.index(tap), dtype)
        zero = const(0, dtype)
        if guard is None:
            here = s.equal(load(choice, offset), number)
            return s.select(here, load(made.g, offset), zero)
        here = s.equal(load(choice, offset, guard, none), number)
        return s.select(here, load(made.g, offset, guard, zero), zero)

    return [
        made.kernel(f"{name}choice", made.loops(choose)),
        made.kernel(name, spread(made, take)),
    ]


# -- sums over the windows that have an element


def spread(
    made: PoolingWindows,
    part: Callable[[tuple, tuple, Expr | None], Expr],
    emit_epilogue: Callable[[Expr], Expr] = lambda total: total,
) -> list:
    """Emit for each element of x the sum of part(window, tap, guard) over its windows."""
    loops: list[Any] = []
    choices: list[list[Line]] = [[]]
    for line in made.lines:
        lines = residues(line.size, line.outs, line.taps, line.scale, -line.origin, line.step)
        choices = [[*before, one] for before in choices for one in lines]
    touching = set(made.taps)
    for lines in choices:

        def body(index: tuple, lines: list = lines) -> list:
            numbers: list[tuple] = [()]
            for line in lines:
                numbers = [(*before, j) for before in numbers for j in range(line.taps)]
            total: Expr | None = None
            for number in sorted(numbers, reverse=True):
                tap = tuple(
                    [line.tap_first + j * line.tap_stride for j, line in zip(number, lines)]
                )
                if tap not in touching:
                    continue
                window = [
                    i + j * line.step + line.origin
                    for i, j, line in zip(index[1:-1], number, lines)
                ]
                guard = s.all(*[within(o, 0, line.size) for o, line in zip(window, lines)])
                one = part((index[0], *window, index[-1]), tap, guard)
                total = one if total is None else total + one
            if total is None:
                total = const(0, made.value.dtype)
            else:
                total = emit_epilogue(total)
            places = [i * line.stride + line.first for i, line in zip(index[1:-1], lines)]
            return made.builder.results(made.value, (index[0], *places, index[-1]), total)

        loops += made.loops(body, tuple([line.outs for line in lines]))
    return loops


def avg_pool_transpose(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    """Emit each g, divided by the number of its window's elements, for all of them."""
    (g,) = equation.inputs
    pooling_windows = PoolingWindows(builder, equation, equation.output.dims[1:-1], g.dims[1:-1])
    buffer, counts, dims = builder.buffer_of(g), counts_of(pooling_windows), g.dims
    zero = const(0, g.dtype)

    def part(index: tuple, tap: tuple, guard: Expr | None) -> Expr:
        offset = flat(index, dims)
        one = load(buffer, offset) if guard is None else load(buffer, offset, guard, zero)
        return one if type(counts) is int else divide_by_count(one, index, counts, guard)

    def emit_epilogue(total: Expr) -> Expr:
        return divide_by_count(total, (), counts) if type(counts) is int else total

    return [pooling_windows.kernel(name, spread(pooling_windows, part, emit_epilogue))]


def patches_transpose(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    """Emit the sum of each patch's elements at their origin."""
    (g,) = equation.inputs
    made = PoolingWindows(builder, equation, equation.output.dims[1:-1], g.dims[1:-1])
    buffer, dims = builder.buffer_of(g), g.dims
    zero = const(0, g.dtype)

    def part(index: tuple, tap: tuple, guard: Expr | None) -> Expr:
        channel = flat(tap, made.window) * made.channels + index[-1]
        place = flat((*index[:-1], channel), dims)
        return load(buffer, place) if guard is None else load(buffer, place, guard, zero)

    return [made.kernel(name, spread(made, part))]
