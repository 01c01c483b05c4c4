"""Register allocation of tiles: the registers that hold a tile's numbers at this point.

Three forms.  A tile declared outside of vector loops is cut in pieces of neighbouring numbers, a
piece for each vector by which it is read and updated.  One declared inside a vector loop has a
vector (a number for each lane) in place of each number.  A `Sum` collects what a vector loop
combines into one number of a tile, lane by lane, until it is folded into the tile.

There are no variables in LLVM, so loops begin with phi instructions for what they change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.execute.llvm.codegen import arithmetic
from talweg.execute.llvm.codegen.builder import IRBuilder, IRValue
from talweg.execute.llvm.codegen.index import Along, Indices
from talweg.execute.llvm.codegen.types import identity, is_signed, register
from talweg.lower.ir.index import Axis
from talweg.lower.ir.loops import Tile

if TYPE_CHECKING:
    from collections.abc import Callable

NOWHERE = Along(IRValue("undef"))


class TileState:
    """The registers of a tile (or of its accumulators)."""

    __slots__ = ("kind", "lanewise", "pieces", "size", "strides")

    def __init__(self, kind: str, strides: tuple[int, ...], lanewise: int):
        self.kind, self.strides, self.size = kind, strides, 1
        self.lanewise = lanewise  # 0, or the lanes of the vector loop it is declared in
        self.pieces: dict[int, IRValue] = {}  # by the number of their first element

    def width(self, value: IRValue) -> int:
        """Return the number of elements of a piece."""
        return 1 if self.lanewise else value.lanes

    def get(self, code: IRBuilder, offset: int, lanes: int) -> IRValue:
        """Return `lanes` elements from `offset` on."""
        found = self.pieces.get(offset)
        if found is not None and (self.lanewise or found.lanes == lanes):
            return found
        return code.pack_lanes([self.element(code, offset + i) for i in range(lanes)], self.kind)

    def element(self, code: IRBuilder, offset: int) -> IRValue:
        """Extract one element, from the piece that has it."""
        found = self.pieces.get(offset)
        if found is not None:
            return code.lane(found, 0, self.kind)
        start = max([first for first in self.pieces if first < offset])
        return code.lane(self.pieces[start], offset - start, self.kind)

    def put(self, code: IRBuilder, offset: int, value: IRValue) -> None:
        """Replace elements from `offset` on."""
        lanes = self.width(value)
        found = self.pieces.get(offset)
        if found is None or self.width(found) != lanes:
            for first, piece in list(self.pieces.items()):
                width = self.width(piece)
                if first < offset + lanes and offset < first + width:
                    del self.pieces[first]
                    for i in range(width):
                        if not offset <= first + i < offset + lanes:
                            self.pieces[first + i] = code.lane(piece, i, self.kind)
        self.pieces[offset] = value


INTEGER = {"float": "i32", "double": "i64"}  # of the same size
NAN = IRValue("0x7FF8000000000000")
_ORDER = {"maximum": "ogt", "minimum": "olt"}
LOGICAL = {"add": "or", "maximum": "or", "or": "or", "mul": "and", "minimum": "and", "and": "and"}


class Sum:
    """A reduction of vector loops into a tile: `copies` accumulators for each of its numbers.

    For maxima and minima of floats these pass NaN over, which takes one instruction instead of
    three; `strays` has NaN in the lanes where there was one.
    """

    __slots__ = ("copies", "lanes", "op", "state", "strays", "tile")

    def __init__(self, tile: Tile, op: str, lanes: int, copies: int, kind: str):
        self.tile, self.op, self.lanes, self.copies = tile, op, lanes, copies
        self.state = TileState(kind, (), lanes)
        self.strays = TileState(kind, (), lanes) if op in _ORDER and kind in INTEGER else None


class TileRegisters:
    """The live tiles."""

    def __init__(self, code: IRBuilder, indices: Indices, vector_bytes: int):
        self.code, self.indices, self.vector_bytes = code, indices, vector_bytes
        self.states: dict[Tile, TileState] = {}
        self.sums: dict[Tile, Sum] = {}
        self.copy = 0  # the number of the vector within an iteration of the vector loop
        self.mask: IRValue | None = None  # the lanes that sums collect; None: all

    def declare(self, tile: Tile, start: IRValue, fast: int | None, chunks: list) -> None:
        """Begin a tile's life.

        `fast` is the dim that runs along lanes, whose numbers are neighbours, in `chunks` (first
        number, how many).
        """
        order = [dim for dim in range(len(tile.dims)) if dim != fast]
        order += [fast] if fast is not None else []
        strides, size = [0] * len(tile.dims), 1
        for dim in reversed(order):
            strides[dim] = size
            size *= tile.dims[dim]
        lanes, kind = self.indices.lanes, register(tile.dtype)
        state = TileState(kind, tuple(strides), lanes if lanes > 1 else 0)
        state.size = size
        if fast is None or lanes > 1:
            for offset in range(size):
                state.pieces[offset] = start
        else:
            for row in range(0, size, tile.dims[fast]):
                for first, width in chunks:
                    piece = self.code.spread_value(start, width, kind)
                    state.pieces[row + first] = piece
        self.states[tile] = state

    def place(self, tile: Tile, indices: tuple) -> tuple[int, int]:
        """Return (first element, stride by lane)."""
        offset = stride = 0
        axes, strides = self.indices.axes, self.states[tile].strides
        for index, step in zip(indices, strides):
            offset += step * index.constant
            for atom, factor in index.terms:
                along = axes[atom] if type(atom) is Axis else NOWHERE
                if along.value is not None:
                    raise NotImplementedError(f"{tile}[{index}] has no fixed place in registers")
                offset += step * factor * along.constant
                if along.lanes:
                    stride += step * factor
        return offset, stride

    def read(self, tile: Tile, indices: tuple) -> IRValue:
        """Return a tile's present numbers."""
        state = self.states[tile]
        offset, stride = self.place(tile, indices)
        if state.lanewise or stride == 0:
            return state.get(self.code, offset, 1)
        lanes = self.indices.lanes
        if stride == 1:
            return state.get(self.code, offset, lanes)
        found = [state.element(self.code, offset + stride * lane) for lane in range(lanes)]
        return self.code.pack_lanes(found, state.kind)

    def update(self, tile: Tile, indices: tuple, value: IRValue, op: str | None):
        """Write numbers of a tile, combined by `op` with the old ones."""
        state, lanes = self.states[tile], self.indices.lanes
        offset, stride = self.place(tile, indices)
        if lanes > 1 and stride == 0 and not state.lanewise:
            if op is not None:
                self.collect(tile, offset, value)
                return
            value = self.code.lane(value, lanes - 1, state.kind)
        width = lanes if stride else 1
        if op is not None:
            old = self.read(tile, indices)
            signed = is_signed(tile.dtype)
            value = arithmetic.combine(self.code, op, old, value, state.kind, signed)
        if stride in (0, 1):
            value = value if state.lanewise else self.code.spread_value(value, width, state.kind)
            state.put(self.code, offset, value)
            return
        for lane in range(lanes):
            one = self.code.lane(value, lane, state.kind)
            state.put(self.code, offset + stride * lane, one)

    # ---------------------------------------------------------------- sums over lanes

    def open_sum(self, tile: Tile, op: str, lanes: int, copies: int) -> Sum:
        """Make the accumulators, all with the identity of `op`."""
        kind = register(tile.dtype)
        if kind == "i1":
            kind, op = f"i{max(8, 8 * self.vector_bytes // lanes)}", LOGICAL[op]
        made = Sum(tile, op, lanes, copies, kind)
        start = IRValue(identity(op, kind, is_signed(tile.dtype)))
        start = self.code.spread_value(start, lanes, kind)
        for piece in range(self.states[tile].size * copies):
            made.state.pieces[piece] = start
            if made.strays is not None:
                zero = IRValue(identity("add", kind, True))
                made.strays.pieces[piece] = self.code.spread_value(zero, lanes, kind)
        self.sums[tile] = made
        return made

    def collect(self, tile: Tile, offset: int, value: IRValue) -> None:
        """Combine a vector into the accumulators of element `offset`."""
        total = self.sums[tile]
        op = total.op
        kind, code, lanes = total.state.kind, self.code, self.indices.lanes
        if tile.dtype.is_bool:
            value = code.spread_value(value, lanes, "i1")
            value = arithmetic.convert(code, "sext", value, "i1", kind)
        value = code.spread_value(value, lanes, kind)
        if self.mask is not None:
            start = IRValue(identity(op, kind, is_signed(tile.dtype)))
            value = arithmetic.select(code, self.mask, value, start, kind)
        piece = offset * total.copies + self.copy % total.copies
        old = total.state.pieces[piece]
        if lanes < total.lanes:
            value = self._pad(total, value, lanes, op, is_signed(tile.dtype))
        if total.strays is not None:
            strays = total.strays.pieces
            strays[piece] = self._either_stray(total, strays[piece], value)
        total.state.pieces[piece] = self._combine(total, old, value)

    def _pad(self, found: Sum, value: IRValue, lanes: int, op: str, signed: bool) -> IRValue:
        kind, code = found.state.kind, self.code
        rest = f"splat ({kind} {identity(op, kind, signed)})"
        if lanes == 1:
            types = f"<{found.lanes} x {kind}>"
            text = f"insertelement {types} {rest}, {kind} {value.text}, i64 0"
            return code.compute(text, found.lanes, value.depth)
        mask = [lane if lane < lanes else lanes for lane in range(found.lanes)]
        return code.shuffle(value, rest, kind, mask)

    def _either_stray(self, found: Sum, x: IRValue, y: IRValue) -> IRValue:
        """Emit NaN where x or y is; 0 elsewhere."""
        code, kind = self.code, found.state.kind
        integer = INTEGER[kind]
        either = arithmetic.binary(code, "fcmp uno", x, y, kind)
        bits = arithmetic.convert(code, "sext", either, "i1", integer)
        return arithmetic.convert(code, "bitcast", bits, integer, kind)

    def _combine(self, found: Sum, x: IRValue, y: IRValue) -> IRValue:
        kind = found.state.kind
        if found.strays is not None:
            further = arithmetic.binary(self.code, f"fcmp {_ORDER[found.op]}", y, x, kind)
            return arithmetic.select(self.code, further, y, x, kind)
        signed = is_signed(found.tile.dtype)
        return arithmetic.combine(self.code, found.op, x, y, kind, signed)

    def close_sum(self, sum_state: Sum) -> None:
        """Fold the accumulators into the tile."""
        tile, code, kind = sum_state.tile, self.code, sum_state.state.kind
        del self.sums[tile]
        state = self.states[tile]
        for offset in range(len(sum_state.state.pieces) // sum_state.copies):
            total = self._total(sum_state, sum_state.state, offset, self._combine)
            if sum_state.strays is not None:
                stray = self._total(sum_state, sum_state.strays, offset, self._either_stray)
                flag = arithmetic.binary(code, "fcmp uno", stray, stray, kind)
                total = arithmetic.select(code, flag, NAN, total, kind)
            if tile.dtype.is_bool:
                total = arithmetic.convert(code, "trunc", total, kind, "i1")
            old = state.element(code, offset)
            signed = is_signed(tile.dtype)
            made = arithmetic.combine(code, sum_state.op, old, total, state.kind, signed)
            state.put(code, offset, made)

    def _total(self, sum_state: Sum, state: TileState, offset: int, combined: Callable) -> IRValue:
        """Combine all copies and lanes."""
        first = offset * sum_state.copies
        parts = [state.pieces[first + copy] for copy in range(sum_state.copies)]
        while len(parts) > 1:
            half = len(parts) // 2
            pairs = zip(parts[:half], parts[half:])
            parts = [combined(sum_state, x, y) for x, y in pairs] + parts[2 * half :]
        value, kind, lanes = parts[0], sum_state.state.kind, sum_state.lanes
        while lanes > 1:
            lanes //= 2
            low = self.code.shuffle(value, "poison", kind, list(range(lanes)))
            high = self.code.shuffle(value, "poison", kind, list(range(lanes, 2 * lanes)))
            if lanes == 1:
                low = self.code.lane(value, 0, kind)
                high = self.code.lane(value, 1, kind)
            value = combined(sum_state, low, high)
        return value


def everything(tiles: TileRegisters, updated: dict) -> list[TileState]:
    """Return the states that statements which update these tiles may change."""
    found = [tiles.states[tile] for tile in updated if tile in tiles.states]
    sums = [tiles.sums[tile] for tile in updated if tile in tiles.sums]
    found += [one.state for one in sums]
    return found + [one.strays for one in sums if one.strays is not None]
