"""Vector loops: how many lanes, how often, what to do with the rest.

The axis is cut into vectors of `width` lanes; what is left over is one vector with fewer lanes or,
if doing some values twice does no harm, a full one that overlaps the one before.  Few vectors are
written out, more make a loop.
"""

from __future__ import annotations

from typing import Any

from talweg.execute.llvm.emit_code import Value
from talweg.execute.llvm.emit_facts import IDEMPOTENT, Facts, fingers, lanes
from talweg.execute.llvm.emit_index import Along
from talweg.execute.llvm.emit_tiles import Sum
from talweg.lower.loops import COMBINE, For, Tile

WRITTEN_OUT = 4  # vectors, or fewer if the body is long


class VectorLoops:
    """Emits the vector loops of a kernel."""

    def __init__(self, emitter: Any, vector_bytes: int):
        self.emitter, self.vector_bytes = emitter, vector_bytes
        self.widths: dict[int, int] = {}

    def width(self, loop: For) -> int:
        """The lanes of a full vector."""
        found = self.widths.get(id(loop))
        if found is None:
            facts = self.emitter.finder.of(loop)
            found = self.widths[id(loop)] = lanes(loop, facts, self.vector_bytes)
        return found

    def pieces(self, loop: For) -> list[tuple[int, int]]:
        """Where its vectors begin and their lanes, if written out."""
        return fingers(loop.axis.extent, self.width(loop))

    # ---------------------------------------------------------------- sums

    def open_sums(self, loop: For, tiles: list[Tile]) -> list[Sum]:
        """Begins to collect lane by lane for those of `tiles` that all of `loop` adds to."""
        facts = self.emitter.finder.of(loop)
        found = []
        for tile in tiles:
            ops = facts.updates.get(tile)
            if ops is None or len(ops) != 1 or tile in facts.tiles_read:
                continue
            (op,) = ops
            inner = self.summing(loop, tile)
            if op not in COMBINE or not inner or tile in self.emitter.tiles.sums:
                continue
            widths = {self.width(one) for one in inner}
            if len(widths) == 1:
                (width,) = widths
                copies = self.copies(inner, tile)
                found.append(self.emitter.tiles.open_sum(tile, op, width, copies))
        return found

    def summing(self, loop: For, tile: Tile) -> list[For]:
        """The vector loops in `loop` that combine all their values into one of the tile's."""
        facts = self.emitter.finder.of(loop)
        if tile not in facts.updates or loop.axis.extent <= 0:
            return []
        if loop.kind == "vector" and not any(
            self.emitter.finder.of(part).vectors for part in loop.body
        ):
            fast = facts.fast.get(tile)
            return [loop] if fast is None and loop.axis.extent > 1 else []
        inner = [part for part in loop.body if type(part) is For]
        return [one for part in inner for one in self.summing(part, tile)]

    def copies(self, loops: list[For], tile: Tile) -> int:
        """How many vectors collect for each number of the tile, to hide their latency."""
        size = 1
        for extent in tile.dims:
            size *= extent
        wanted = 4 if size == 1 else 2 if size <= 4 else 1
        vectors = min([loop.axis.extent // self.width(loop) for loop in loops])
        return max(1, min(wanted, vectors))

    # ---------------------------------------------------------------- the loop

    def emit(self, loop: For) -> None:
        """A vector loop."""
        emitter = self.emitter
        facts: Facts = emitter.finder.of(loop)
        tiles, width = emitter.tiles, self.width(loop)
        outer = [tile for tile in facts.updates if tile not in facts.inner]
        missing = [tile for tile in outer if tile not in tiles.sums]
        opened = self.open_sums(loop, missing)
        copies = max([tiles.sums[tile].copies for tile in outer if tile in tiles.sums] or [1])
        extent = loop.axis.extent
        chunks = fingers(extent, width)
        full = extent // width
        limit = WRITTEN_OUT if sum(map(len, facts.exprs)) < 32 else 1
        if loop.axis in facts.axes or full <= max(limit, 1):
            self.write_out(loop, chunks)
        else:
            main = full - full % copies
            self.main_loop(loop, facts, width, main // copies, copies)
            left = chunks[main:]
            if extent % width and self.repeatable(facts, outer):
                left[-1] = (extent - width, width)
            self.write_out(loop, left)
        for one in reversed(opened):
            tiles.close_sum(one)

    def repeatable(self, facts: Facts, outer: list[Tile]) -> bool:
        """Whether values of the axis may be done twice."""
        harmless = all(facts.updates[tile] <= set(IDEMPOTENT) for tile in outer)
        return facts.twice and harmless and not facts.writes & facts.reads

    def main_loop(self, loop: For, facts: Facts, width: int, trips: int, copies: int) -> None:
        """The loop over full vectors, `copies` at a time."""
        emitter = self.emitter
        indices, tiles = emitter.indices, emitter.tiles
        step = width * copies

        def body(counter: Value) -> None:
            for copy in range(copies):
                indices.axes[loop.axis] = Along(counter, copy * width, step, True)
                indices.lanes, tiles.copy = width, copy
                emitter.run(loop.body)
            indices.lanes = 1

        emitter.counted(Value("0"), Value(str(trips * step)), step, facts, body)

    def write_out(self, loop: For, chunks: list[tuple[int, int]]) -> None:
        """Each of the vectors by itself."""
        emitter = self.emitter
        indices, tiles = emitter.indices, emitter.tiles
        for copy, (first, width) in enumerate(chunks):
            indices.axes[loop.axis] = Along(None, first, 0, width > 1)
            indices.lanes, tiles.copy = width, copy
            emitter.run(loop.body)
        indices.lanes = 1
