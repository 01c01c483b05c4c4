"""Code for a fused loop nest: the kernel that holds its members' expressions, in loops.

Rows: every thread takes rows; in a row, stage by stage, one vector loop over the columns each.
Columns: a block of columns at a time, whose sums stay in registers while the rows go by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from talweg.lower.fusion.groups import Fold, Nest, is_fold_value
from talweg.lower.fusion.inline import Inliner
from talweg.lower.fusion.views import base_of
from talweg.lower.ir.index import Axis, Index, flat, unflatten
from talweg.lower.ir.loops import Buffer, Expr, For, Kernel, Store, Tile, Update, const, load, walk
from talweg.lower.ir.rewrite import merge_axes, substitute
from talweg.passes.specialize.program import Value

SCRATCH_BYTES = 1 << 16  # a row that is kept in cache by each thread
BLOCK = 64  # columns whose sums are kept in registers
SQUARE = 16  # rows and columns of a square of a transposed matrix
CONFLICT = 2048  # bytes: lines so far apart have few places in the first cache
SHARE = 8192  # elements of a plain loop that a thread takes at once


class NestBuilder:
    """The builder of one nest's kernel.

    `elsewhere(base)` is the buffer of a value made outside of the nest, None if it is not stored;
    `wanted(base)` that of a member, if somebody reads it from memory; `new(name, dtype, shape,
    kind)` a new buffer.
    """

    def __init__(self, nest: Nest, elsewhere: Callable, wanted: Callable, new: Callable):
        self.nest, self.elsewhere, self.wanted, self.new = nest, elsewhere, wanted, new
        self.also: dict[Value, list[Buffer]] = {}  # where members are stored, too
        self.loads: dict[tuple, Expr] = {}  # one load of each place
        nest.set_axes()
        self.level = 0
        self.made: dict[Value, Expr] = {}  # members so far: the element of this place
        self.tiles: dict[Value, Tile] = {}  # of reductions and of values of whole rows
        self.local: dict[Value, Buffer] = {}  # rows kept in scratch memory
        self.stages: dict[int, list[tuple[Value, Expr]]] = {}

    def build(self, name: str) -> Kernel:
        """Build the kernel."""
        nest = self.nest
        for level in sorted(set(nest.levels.values())):
            self.level = level
            inliner = Inliner(self._resolve)
            own = [value for value in nest.members if nest.levels[value] == level]
            own.sort(key=lambda value: not self._is_row(value))
            self.stages[level] = [(value, self._member(inliner, value)) for value in own]
        makers = [value.maker for value in nest.members if value.maker is not None]
        make = {"map": self._map, "rows": self._rows, "columns": self._columns}[nest.space[0]]
        kernel = Kernel(name, make(), [maker.prim.name for maker in makers])
        kernel.node = makers[0].node if makers else None
        return kernel

    def _is_fold(self, value: Value) -> bool:
        return not self.nest.final and is_fold_value(value)

    def _is_row(self, value: Value) -> bool:
        """Return whether a value consists of whole rows and is not reduced here."""
        space = self.nest.space
        return space[0] == "rows" and value.size != self.nest.total and not self._is_fold(value)

    def _member(self, inliner: Inliner, value: Value) -> Expr:
        """Return a member's element; of a reduction, the reduced element."""
        nest, maker = self.nest, value.maker
        if self._is_fold(value):
            x = maker.inputs[0]  # type: ignore[union-attr]
            expr = inliner.at(x, unflatten(nest.full(), x.dims))
            fold = Fold(maker)  # type: ignore[arg-type]
            tile = self.tiles[value] = Tile(f"s{len(self.tiles)}", value.dtype, (), fold.start)
            self.made[value] = tile.at()
            return expr
        index = unflatten(nest.place(value, False), value.dims)  # type: ignore[arg-type]
        if maker is None or self.elsewhere(value) is not None:
            expr = inliner.at(value, index)
        else:
            expr = inliner.of_equation(maker, index)
        if self._is_row(value):
            tile = self.tiles[value] = Tile(f"t{len(self.tiles)}", expr.dtype, (), expr)
            expr = tile.at()
        self.made[value] = expr
        return expr

    def _resolve(self, value: Value, index: tuple, guard: Expr | None) -> Expr | None:
        nest, base = self.nest, base_of(value)
        offset = flat(index, value.dims)
        if base not in self.made:
            buffer = self.elsewhere(base)
            if buffer is None:
                return None
            key = (buffer, offset, guard)
            if key not in self.loads:
                self.loads[key] = guard_load(buffer, offset, guard)
            return self.loads[key]
        if base in self.tiles or nest.levels[base] == self.level:
            return self.made[base]
        buffer = self.wanted(base)
        if buffer is not None:
            return load(buffer, nest.full())
        return load(self._row_buffer(base), self._column())

    def _row_buffer(self, base: Value) -> Buffer:
        """Return the buffer that passes a member from an earlier stage to later ones."""
        buffer = self.local.get(base)
        if buffer is None:
            columns = self.nest.space[2]
            buffer = self.local[base] = self.new("row", base.dtype, (columns,), "scratch")
        return buffer

    def _column(self) -> Index:
        inner = self.nest.axes[-1]
        return flat(tuple(map(Index.of, inner)), tuple([axis.extent for axis in inner]))

    def _stores(self, value: Value, expr: Expr, place: Index) -> list:
        """Return the stores of a member."""
        if self.nest.final:
            targets = [buffer for own, buffer in self.nest.targets if own is value]
            return [Store(buffer, place, expr) for buffer in targets]
        stores: list[Any] = []
        buffer = self.wanted(value)
        if buffer is not None:
            stores.append(Store(buffer, place, expr))
        stores += [Store(other, place, expr) for other in self.also.get(value, ())]
        if value in self.local:
            stores.append(Store(self.local[value], self._column(), expr))
        return stores

    def _map(self) -> list:
        nest = self.nest
        body: list[Any] = []
        for members in self.stages.values():
            for value, expr in members:
                body += self._stores(value, expr, nest.full())
        return plain_loops(list(nest.axes[0]), body)

    def _rows(self) -> list:
        outer, inner = self.nest.axes
        row = flat(tuple(map(Index.of, outer)), tuple([axis.extent for axis in outer]))
        body: list[Any] = []
        for level in sorted(self.stages):
            body += self._stage(self.stages[level], list(inner), row)
        axes, values = merge_axes(list(outer), body)
        return wrap_in_loops(axes, substitute(body, values) if values else body, "parallel")

    def _stage(self, members: list, inner: list[Axis], row: Index) -> list:
        """Emit values of whole rows, a pass over the columns, and values of that pass's sums."""
        before: list[Any] = []
        inside: list[Any] = []
        after: list[Any] = []
        for value, expr in members:
            if self._is_fold(value):
                tile = self.tiles[value]
                before.append(tile)
                inside.append(Update(tile, (), expr, Fold(value.maker).op))
                after += self._stores(value, tile.at(), row)
            elif self._is_row(value):
                before.append(self.tiles[value])
                before += self._stores(value, expr, row)
            else:
                inside += self._stores(value, expr, self.nest.full())
        if not inside:
            return before + after
        axes, values = merge_axes(inner, inside)
        inside = substitute(inside, values) if values else inside
        return [*before, *nest_in_loops(axes, inside, "vector"), *after]

    def _columns(self) -> list:
        outer, middle, inner = map(list, self.nest.axes)
        inside: list[Any] = []
        sums = []
        (members,) = self.stages.values()
        for value, expr in members:
            if self._is_fold(value):
                buffers = [self.wanted(value), *self.also.get(value, ())]
                sums += [(value.maker, expr, buffer) for buffer in buffers]
            else:
                inside += self._stores(value, expr, self.nest.full())
        return column_loops(outer, middle, inner, inside, sums)


def column_loops(outer: list, middle: list, inner: list, inside: list, sums: list) -> list:
    """Emit loops that sum along `middle` for every point of `outer` and `inner`.

    `sums` are (equation, what is summed, the buffer of the sums or None).
    """
    result_axes = [*outer, *inner]
    offset = flat(tuple(map(Index.of, result_axes)), tuple([axis.extent for axis in result_axes]))
    parts: list[Any] = list(inside)
    tiles, after = [], []
    for number, (equation, expr, buffer) in enumerate(sums):
        if buffer is None:
            continue
        fold = Fold(equation)
        tile = Tile(f"s{number}", buffer.dtype, (), fold.start)
        tiles.append(tile)
        parts.append(Update(tile, (), expr, fold.op))
        after.append(Store(buffer, offset, tile.at()))
    joined = [*parts, *after]
    for axes in (outer, middle, inner):
        left, values = merge_axes(axes, joined)
        joined = substitute(joined, values) if values else joined
        axes[:] = left
    column = inner.pop() if inner else Axis("i", 1)
    loops: list[Any] = []
    shares = blocks_of(column.extent, len(sums))
    for first, number, width in shares:
        lane, block = Axis("c", width), Axis("b", number)
        made = substitute(joined, {column: Index.of(block) * width + first + lane})
        own = {tile: Tile(tile.name, tile.dtype, (width,), tile.start) for tile in tiles}
        made = [_by_lane(statement, lane, own) for statement in made]
        body = [*own.values(), *nest_in_loops([*middle, lane], made[: len(parts)], "vector")]
        body += nest_in_loops([lane], made[len(parts) :], "vector") if after else []
        part = wrap_in_loops([*outer, *inner, block], body, "parallel")
        if part is body and len(shares) > 1:  # of several loops all are shared or none
            part = [For(Axis("p", 1), body, "parallel")]
        loops += part
    return loops


def _by_lane(statement: Any, lane: Axis, tiles: dict[Tile, Tile]) -> Any:
    """Return the statement with tiles of its own, indexed by the vector axis."""
    if isinstance(statement, Update):
        return Update(tiles[statement.tile], (lane,), statement.value, statement.op)
    if isinstance(statement, Store) and statement.value.op == "read":
        tile = tiles.get(statement.value.data[0])
        if tile is not None:
            return Store(statement.buffer, statement.index, tile.at(lane), statement.op)
    return statement


def blocks_of(size: int, sums: int) -> list[tuple[int, int, int]]:
    """Return blocks of columns summed at once: (first column, number of blocks, width).

    They are equal, unless the size has no fitting divisor: then the last one is wider.
    """
    width = block_of(size, sums)
    if width >= 16 or size <= width:
        return [(0, size // width, width)]
    width = BLOCK if sums < 2 else BLOCK // 2
    first = (size // width - 1) * width
    return [(0, size // width - 1, width), (first, 1, size - first)]


def block_of(size: int, sums: int) -> int:
    """Return the columns summed at once: all, or the largest divisor that fits, at least 1."""
    most = BLOCK if sums < 2 else BLOCK // 2
    if size <= 2 * most:
        return max(1, size)
    for width in range(most, 7, -1):
        if size % width == 0 and width % 8 == 0:
            return width
    for width in range(2 * most, 3, -1):
        if size % width == 0:
            return width
    return 1


def general_loops(equation: Any, buffer: Buffer, inliner: Inliner) -> list:
    """Emit a reduction along any axes, by itself."""
    x = equation.inputs[0]
    fold = Fold(equation)
    axes = [Axis(f"a{k}", size) for k, size in enumerate(x.dims)]
    reduced = equation.params["axes"]
    reduced = range(len(axes)) if reduced is None else reduced
    result_axes = [axis for k, axis in enumerate(axes) if k not in reduced]
    summed = [axis for k, axis in enumerate(axes) if k in reduced]
    expr = inliner.at(x, tuple(map(Index.of, axes)))
    if axes and axes[-1] not in summed and axes[-1].extent > 1:
        return column_loops(
            result_axes[:-1], summed, result_axes[-1:], [], [(equation, expr, buffer)]
        )
    offset = flat(tuple(map(Index.of, result_axes)), tuple([axis.extent for axis in result_axes]))
    tile = Tile("s", buffer.dtype, (), fold.start)
    inside = nest_in_loops(summed, [Update(tile, (), expr, fold.op)], "vector")
    return wrap_in_loops(result_axes, [tile, *inside, Store(buffer, offset, tile.at())], "parallel")


def guard_load(buffer: Buffer, place: Index, guard: Expr | None) -> Expr:
    """Return a load that reads memory only where the guard holds."""
    if guard is None:
        return load(buffer, place)
    return load(buffer, place, guard, const(False if buffer.dtype.is_bool else 0, buffer.dtype))


def wrap_in_loops(axes: Sequence[Axis], body: list, kind: str) -> list:
    """Nest `body` in loops over all axes, of one kind."""
    for axis in reversed(axes):
        if axis.extent != 1:
            body = [For(axis, body, kind)]
    return body


def nest_in_loops(axes: Sequence[Axis], body: list, kind: str) -> list:
    """Nest `body` in serial loops, the innermost of the given kind."""
    axes = [axis for axis in axes if axis.extent != 1]
    if not axes:
        return body
    return wrap_in_loops(axes[:-1], [For(axes[-1], body, kind)], "serial")


def in_squares(axes: list[Axis], body: list) -> list | None:
    """Tile loops in squares, where lanes would read lines of one cache set.

    So it is with transposed matrices of 1,024 columns: each line is needed again for the next row,
    and is gone by then.  A square's lines stay (1024 x 1024: 7.3 ms, now 0.7).
    """
    near = _conflict(axes, body)
    if near is None:
        return None
    lane = axes[-1]
    parts = {axis: (Axis("p", axis.extent // SQUARE), Axis("i", SQUARE)) for axis in (near, lane)}
    places = {axis: Index.of(part) * SQUARE + one for axis, (part, one) in parts.items()}
    inner: list[Any] = [For(parts[lane][1], substitute(body, places), "vector")]
    inner = [For(parts[lane][0], [For(parts[near][1], inner, "serial")], "serial")]
    outer = [parts[axis][0] if axis is near else axis for axis in axes[:-1]]
    return wrap_in_loops(outer, inner, "parallel")


def _conflict(axes: list[Axis], body: list) -> Axis | None:
    """Return the axis of neighbours that are read in lanes far from each other, if any."""
    if len(axes) < 2 or axes[-1].extent % SQUARE or axes[-1].extent < 4 * SQUARE:
        return None
    values = [statement.value for statement in body if type(statement) is Store]
    if len(values) < len(body):
        return None
    for part in walk(values):
        if part.op != "load":
            continue
        buffer, index = part.data
        step = index.coefficient(axes[-1]) or 0
        if not step or step * buffer.dtype.size % CONFLICT:
            continue
        for axis in axes[:-1]:
            if index.coefficient(axis) == 1 and not axis.extent % SQUARE:
                return axis
    return None


def plain_loops(axes: list[Axis], body: list) -> list:
    """Emit loops over all axes whose iterations are independent."""
    axes, values = merge_axes(axes, body)
    body = substitute(body, values) if values else body
    squares = in_squares(axes, body)
    if squares is not None:
        return squares
    if len(axes) != 1 or axes[0].extent < 2 * SHARE:
        return wrap_in_loops(axes[:-1], nest_in_loops(axes[-1:], body, "vector"), "parallel")
    (axis,) = axes
    count, rest = divmod(axis.extent, SHARE)
    part, lane = Axis("p", count), Axis(axis.name, SHARE)
    full_parts = substitute(body, {axis: Index.of(part) * SHARE + lane})
    loops: list[Any] = [For(part, [For(lane, full_parts, "vector")], "parallel")]
    if rest:
        lane = Axis(axis.name, rest)
        left = substitute(body, {axis: Index.of(lane) + count * SHARE})
        loops.append(For(Axis("p", 1), [For(lane, left, "vector")], "parallel"))
    return loops
