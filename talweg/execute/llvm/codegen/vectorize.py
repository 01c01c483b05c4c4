"""Vectorization of loops: lanes, unrolling, and the remainder.

The axis is cut into vectors of `width` lanes.  What is left over is a full vector that overlaps the
one before, if doing some values twice does no harm, or else a vector of fewer lanes.  Few vectors
are written out, more make a loop; long bodies are written once, and the last turn of the loop steps
back so that it ends where the axis ends.  Bodies with elementary functions take two vectors at a
time (as one of twice the lanes): they are longer chains than a core looks ahead.  Those that draw
random words take four, since what two lanes have in common is computed in half of them.

What a vector loop combines into a number of a tile is collected lane by lane (`Sum`), in several
vectors by turns if the loop has little else to do while an addition takes its time.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import TYPE_CHECKING

from talweg.execute.llvm.codegen import arithmetic
from talweg.execute.llvm.codegen.access_analysis import AccessFacts, chunks, shape
from talweg.execute.llvm.codegen.builder import IRValue
from talweg.execute.llvm.codegen.index import Along, constants
from talweg.execute.llvm.codegen.tiles import Sum
from talweg.lower.ir.loops import COMBINE, For, Tile

if TYPE_CHECKING:
    from talweg.execute.llvm.codegen.kernel import KernelEmitter

WRITTEN_OUT = 4  # vectors of a short body
TINY = 4  # the cost of a load, a product and an update
SHORT = 10  # the cost of a short body
LONG = 14  # from this cost on a body is written once
DEEP = 15  # from this cost on two vectors are computed at the same time


class VectorLoops:
    """The emitter of a kernel's vector loops."""

    def __init__(self, emitter: KernelEmitter, vector_bytes: int):
        self.emitter, self.vector_bytes = emitter, vector_bytes
        self.shapes: dict[int, tuple[int, float]] = {}
        self.ahead: dict[int, list] = {}  # what a loop asks for before it is read
        self.loop: For | None = None  # the one that is being emitted
        self.rare = False  # whether what is emitted hardly ever runs

    def shape(self, loop: For) -> tuple[int, float]:
        """Return the lanes of a full vector, and the cost of one."""
        found = self.shapes.get(id(loop))
        if found is None:
            facts = self.emitter.finder.of(loop)
            lanes, cost = shape(loop, facts, self.vector_bytes)
            if cost >= DEEP and together(loop.axis.extent, lanes):
                lanes *= 2
            if facts.draws and together(loop.axis.extent, lanes):
                lanes *= 2
            found = self.shapes[id(loop)] = (lanes, cost)
        return found

    def width(self, loop: For) -> int:
        """Return the lanes of a full vector."""
        return self.shape(loop)[0]

    def pieces(self, loop: For) -> list[tuple[int, int]]:
        """Return the vectors of an unrolled loop: the start and lanes of each."""
        return chunks(loop.axis.extent, self.width(loop))

    def run_rarely(self, body: Callable[[], None]) -> None:
        """Emit what hardly ever runs, with no vector loop written out: it is to be short."""
        before, self.rare = self.rare, True
        body()
        self.rare = before

    # ---------------------------------------------------------------- sums

    def open_sums(self, loop: For, tiles: list[Tile]) -> list[Sum]:
        """Make per-lane accumulators for those of `tiles` that all of `loop` adds to."""
        emitter = self.emitter
        facts = emitter.finder.of(loop)
        opened = []
        for tile in tiles:
            ops = facts.updates.get(tile)
            if ops is None or len(ops) != 1 or tile in facts.tiles_read:
                continue
            (op,) = ops
            inner = self.summing(loop, tile)
            if op not in COMBINE or not inner or tile in emitter.tiles.sums:
                continue
            if len({self.width(one) for one in inner}) == 1:
                copies = min([self.copies(one, tile) for one in inner])
                opened.append(emitter.tiles.open_sum(tile, op, self.width(inner[0]), copies))
        return opened

    def summing(self, loop: For, tile: Tile) -> list[For]:
        """Return the vector loops in `loop` that reduce all their values into the tile."""
        facts = self.emitter.finder.of(loop)
        if tile not in facts.updates or loop.axis.extent <= 0:
            return []
        if loop.kind == "vector" and not self.holds_vectors(loop):
            return [loop] if tile not in facts.fast and loop.axis.extent > 1 else []
        inner = [part for part in loop.body if type(part) is For]
        return [one for part in inner for one in self.summing(part, tile)]

    def holds_vectors(self, loop: For) -> bool:
        """Return whether there are vector loops within."""
        return any(self.emitter.finder.of(part).vectors for part in loop.body)

    def copies(self, loop: For, tile: Tile) -> int:
        """Return the number of accumulators per number of the tile, which hide latency."""
        size = 1
        for extent in tile.dims:
            size *= extent
        width, cost = self.shape(loop)
        full = loop.axis.extent // width
        if size > 4 or cost > LONG or full < 4:
            return 1
        most = 2 if size > 1 or cost > SHORT else 4
        if cost <= TINY and full >= 2 * most:
            return most  # what is left over is little code
        return min(range(most, 1, -1), key=lambda count: full % count)

    # ---------------------------------------------------------------- the loop

    def emit(self, loop: For) -> None:
        """Emit a vector loop."""
        emitter = self.emitter
        facts: AccessFacts = emitter.finder.of(loop)
        self.loop = loop
        tiles, extent = emitter.tiles, loop.axis.extent
        width, cost = self.shape(loop)
        outer = [tile for tile in facts.updates if tile not in facts.inner]
        opened = self.open_sums(loop, [tile for tile in outer if tile not in tiles.sums])
        copies = max([tiles.sums[tile].copies for tile in outer if tile in tiles.sums] or [1])
        full = extent // width
        again = facts.twice and not facts.writes & facts.reads
        is_short = cost <= SHORT and not self.rare
        if loop.axis in facts.axes or full <= (WRITTEN_OUT if is_short else 1):
            parts = chunks(extent, width)
            self.write_out(loop, parts, again and full > 0 and loop.axis not in facts.axes)
        elif extent % width and again and cost > LONG and not (facts.draws and extent % 4):
            self.one_loop(loop, facts, width)
        else:
            main = full - full % copies
            self.main_loop(loop, facts, width, main // copies, copies)
            self.write_out(loop, chunks(extent, width, main), again)
        for one in reversed(opened):
            tiles.close_sum(one)
        self.loop = None

    def main_loop(self, loop: For, facts: AccessFacts, width: int, trips: int, copies: int) -> None:
        """Emit the loop over full vectors, unrolled by `copies`."""
        emitter = self.emitter
        indices, tiles = emitter.indices, emitter.tiles
        step = width * copies

        def body(counter: IRValue) -> None:
            for copy in range(copies):
                indices.axes[loop.axis] = Along(counter, copy * width, step, True)
                indices.lanes, tiles.copy = width, copy
                emitter.run(loop.body)
                for buffer, index in self.ahead.get(id(loop), ()):
                    emitter.memory.ask_for(buffer, index)
            indices.lanes = 1

        emitter.emit_counted_loop(IRValue("0"), IRValue(str(trips * step)), step, facts, body)

    def one_loop(self, loop: For, facts: AccessFacts, width: int) -> None:
        """Emit a loop over all of the axis, whose last turn overlaps the one before."""
        emitter, extent = self.emitter, loop.axis.extent
        indices, tiles, code = emitter.indices, emitter.tiles, emitter.code
        summed = any(tile in tiles.sums for tile in facts.updates)

        def body(counter: IRValue) -> None:
            last = IRValue(str(extent - width))
            start = arithmetic.intrinsic(code, "umin", [counter, last], "i64")
            if summed:  # the lanes that are new
                done = arithmetic.binary(code, "sub", counter, start, "i64")
                done = arithmetic.convert(code, "trunc", done, "i64", "i32")
                ramp = constants("i32", list(range(width)))
                tiles.mask = arithmetic.binary(code, "icmp uge", ramp, done, "i32")
            indices.axes[loop.axis] = Along(start, 0, gcd(width, extent - width), True)
            indices.lanes, tiles.copy = width, 0
            emitter.run(loop.body)
            indices.lanes, tiles.mask = 1, None

        emitter.emit_counted_loop(IRValue("0"), IRValue(str(extent)), width, facts, body)

    def write_out(self, loop: For, parts: list[tuple[int, int]], again: bool) -> None:
        """Emit the vectors one by one; the last may overlap if `again`."""
        emitter = self.emitter
        indices, tiles = emitter.indices, emitter.tiles
        full = self.width(loop)
        for copy, (first, width) in enumerate(parts):
            if width < full and again:
                flags = [int(lane >= full - width) for lane in range(full)]
                tiles.mask = constants("i1", flags)
                first, width = first + width - full, full
            indices.axes[loop.axis] = Along(None, first, 0, width > 1)
            indices.lanes, tiles.copy = width, copy
            emitter.run(loop.body)
        indices.lanes, tiles.mask = 1, None


def together(extent: int, lanes: int) -> bool:
    """Return whether an axis has enough vectors to interleave two."""
    return extent % (2 * lanes) == 0 or extent >= 16 * lanes
