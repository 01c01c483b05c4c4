"""Code generation of loads and stores: whole vectors for neighbours, else lane by lane."""

from __future__ import annotations

from talweg.execute.llvm.codegen import arithmetic
from talweg.execute.llvm.codegen.builder import IRBuilder, IRValue
from talweg.execute.llvm.codegen.casts import choose, from_memory, to_memory
from talweg.execute.llvm.codegen.index import BOUND, Indices, LaneOffset
from talweg.execute.llvm.codegen.prefetch import alignment
from talweg.execute.llvm.codegen.types import SIZE, is_signed, memory, register, suffix, vector
from talweg.lower.ir.index import Index
from talweg.lower.ir.loops import Buffer


def root(buffer: Buffer) -> Buffer:
    """Return the buffer that owns the memory."""
    while buffer.part is not None:
        buffer = buffer.part
    return buffer


class MemoryEmitter:
    """The emitter of loads and stores of the present kernel."""

    def __init__(self, code: IRBuilder, indices: Indices, vector_bytes: int):
        self.code, self.indices = code, indices
        # The smallest elements of masked loads: without AVX-512BW, 2 bytes are loaded one by one.
        self.masked_bytes = 1 if vector_bytes == 64 else 4
        self.names: dict[Buffer, str] = {}  # parameters that point to them, as they are needed

    def name(self, buffer: Buffer) -> str:
        """Return the parameter that points to a buffer."""
        found = self.names.get(buffer)
        if found is None:
            found = self.names[buffer] = f"%b{len(self.names)}"
        return found

    def pointer(self, buffer: Buffer, base: IRValue | None, constant: int) -> IRValue:
        """Return the address of an element."""
        key, depth = (buffer, base, constant), 0 if base is None else base.depth
        found = self.code.recall(key, depth)
        if found is not None:
            return found
        kind = memory(buffer.dtype)
        found = IRValue(self.name(buffer))
        if base is not None:
            text = f"getelementptr {kind}, ptr {found.text}, i64 {base.text}"
            found = self.code.compute(text, 1, base.depth)
        if constant:
            text = f"getelementptr {kind}, ptr {found.text}, i64 {constant}"
            found = self.code.compute(text, 1, found.depth)
        return self.code.keep(key, found)

    def at(self, buffer: Buffer, index: IRValue) -> IRValue:
        """Return the address of the element with that number."""
        if index.text[0] != "%":
            return self.pointer(buffer, None, int(index.text))
        return self.pointer(buffer, index, 0)

    # ---------------------------------------------------------------- loads

    def load(
        self,
        buffer: Buffer,
        index: Index,
        values: dict,
        guard: IRValue | None,
        other: IRValue | None,
    ) -> IRValue:
        """Emit a load (one for each lane); `other` where the guard is false."""
        if guard is not None and other is not None:
            if guard.text == "false" or not buffer.size:
                return other
            if guard.text != "true":
                return self._load_guarded(buffer, index, values, guard, other)
        address = self.indices.place(index, values, buffer.size < BOUND)
        raw = self._raw(buffer, address)
        return from_memory(self.code, raw, buffer.dtype)

    def _raw(self, buffer: Buffer, lane_offset: LaneOffset) -> IRValue:
        """Load the stored form of a value."""
        lanes = 1 if lane_offset.uniform else self.indices.lanes
        if lane_offset.uniform or (
            lane_offset.stride == 1 and lane_offset.vector is None and not lane_offset.offsets
        ):
            return self._plain(
                buffer, self.pointer(buffer, lane_offset.base, lane_offset.constant), lanes
            )
        if lane_offset.vector is not None:
            return self._gather(buffer, lane_offset, None)
        kind = memory(buffer.dtype)
        if lane_offset.stride == -1:
            start = lane_offset.constant - lanes + 1
            loaded = self._plain(buffer, self.pointer(buffer, lane_offset.base, start), lanes)
            return self.code.shuffle(loaded, "poison", kind, list(range(lanes))[::-1])
        if lane_offset.stride == 2 and lanes > 2:
            return self._every_second(buffer, lane_offset, lanes, kind)
        parts = []
        for offset in self.indices.offsets(lane_offset):
            pointer = self.pointer(buffer, lane_offset.base, lane_offset.constant + offset)
            parts.append(self._plain(buffer, pointer, 1))
        return self.code.pack_lanes(parts, kind)

    def _plain(self, buffer: Buffer, pointer: IRValue, lanes: int) -> IRValue:
        kind = memory(buffer.dtype)
        text = f"load {vector(kind, lanes)}, ptr {pointer.text}, align {SIZE[kind]}"
        return self.code.load(text, lanes, pointer.depth, root(buffer))

    def _every_second(self, buffer: Buffer, place: LaneOffset, lanes: int, kind: str) -> IRValue:
        """Load two overlapping vectors, so that nothing beyond the last element is read."""
        first = self._plain(buffer, self.pointer(buffer, place.base, place.constant), lanes)
        start = place.constant + lanes - 1
        second = self._plain(buffer, self.pointer(buffer, place.base, start), lanes)
        mask = [2 * i if 2 * i < lanes else 2 * i + 1 for i in range(lanes)]
        types = vector(kind, lanes)
        chosen = ", ".join([f"i32 {lane}" for lane in mask])
        text = f"shufflevector {types} {first.text}, {types} {second.text}, "
        text += f"<{lanes} x i32> <{chosen}>"
        return self.code.compute(text, lanes, max(first.depth, second.depth))

    def _gather(self, buffer: Buffer, lane_offset: LaneOffset, guard: IRValue | None) -> IRValue:
        """Gather elements whose numbers are a vector; number 0 where the guard is false."""
        code, lanes = self.code, self.indices.lanes
        narrow = buffer.size < BOUND
        index = self.indices.whole(lane_offset, narrow)
        kind = "i32" if narrow else "i64"
        if guard is not None:
            index = arithmetic.select(code, guard, index, IRValue("0"), kind)
        element, size = memory(buffer.dtype), buffer.dtype.size
        types = vector(element, lanes)
        pointers = code.compute(
            f"getelementptr {element}, ptr {self.name(buffer)}, {vector(kind, lanes)} {index.text}",
            lanes,
            index.depth,
        )
        name = f"llvm.masked.gather.{suffix(element, lanes)}.v{lanes}p0"
        text = (
            f"call {types} @{name}(<{lanes} x ptr> align {size} {pointers.text}, "
            f"<{lanes} x i1> splat (i1 true), {types} poison)"
        )
        return code.load(text, lanes, pointers.depth, root(buffer))

    def _load_guarded(
        self, buffer: Buffer, index: Index, values: dict, guard: IRValue, other: IRValue
    ) -> IRValue:
        code, dtype = self.code, buffer.dtype
        address = self.indices.place(index, values, buffer.size < BOUND)
        lanes = 1 if address.uniform else self.indices.lanes
        row = address.stride == 1 and address.vector is None and address.offsets is None
        if guard.lanes == 1 and (address.uniform or (row and buffer.size >= lanes)):
            start = self.indices.total(address)
            start = arithmetic.select(code, guard, start, IRValue("0"), "i64")
            raw = self._plain(buffer, self.at(buffer, start), lanes)
        elif row and dtype.size >= self.masked_bytes:
            return self._load_masked(buffer, address, guard, other)
        elif address.uniform:
            start = self.indices.total(address)
            index_ = arithmetic.select(code, guard, start, IRValue("0"), "i64")
            index_ = index_ if index_.lanes > 1 else code.spread_value(index_, guard.lanes, "i64")
            raw = self._gather(buffer, LaneOffset(vector=index_, narrow=False), None)
        else:
            raw = self._gather(buffer, address, guard)
        loaded = from_memory(code, raw, dtype)
        return choose(code, guard, loaded, other, dtype)

    def _load_masked(
        self, buffer: Buffer, address: LaneOffset, guard: IRValue, other: IRValue
    ) -> IRValue:
        """Emit a masked load of neighbours."""
        code, lanes, kind = self.code, self.indices.lanes, memory(buffer.dtype)
        pointer = self.pointer(buffer, address.base, address.constant)
        types = vector(kind, lanes)
        mask = code.spread(guard, lanes, "i1")
        raw = to_memory(code, other, buffer.dtype)
        instead = code.spread(raw, lanes, kind)
        depth = max(pointer.depth, guard.depth, raw.depth)
        text = (
            f"call {types} @llvm.masked.load.{suffix(kind, lanes)}.p0(ptr align "
            f"{buffer.dtype.size} {pointer.text}, <{lanes} x i1> {mask}, {types} {instead})"
        )
        loaded = code.load(text, lanes, depth, root(buffer))
        return from_memory(code, loaded, buffer.dtype)

    # ---------------------------------------------------------------- stores

    def ask_for(
        self,
        buffer: Buffer,
        index: Index,
        values: dict | None = None,
        written: bool = False,
        asked: set[str] | None = None,
    ) -> None:
        """Emit prefetches of an element, except of lines in `asked`."""
        address = self.indices.place(index, values or {}, buffer.size < BOUND)
        pointer = self.pointer(buffer, address.base, address.constant)
        if asked is not None:
            if pointer.text in asked:
                return
            asked.add(pointer.text)
        use = int(written)
        self.code.line(f"call void @llvm.prefetch.p0(ptr {pointer.text}, i32 {use}, i32 3, i32 1)")

    def store(
        self,
        buffer: Buffer,
        index: Index,
        values: dict,
        value: IRValue,
        op: str | None,
        streamed: bool = False,
    ) -> None:
        """Emit a store (one for each lane), combined by `op` with the old value."""
        address = self.indices.place(index, values, buffer.size < BOUND)
        lanes = self.indices.lanes
        kind = register(buffer.dtype)
        if address.uniform:
            if value.lanes > 1 and op is None:
                value = self.code.lane(value, lanes - 1, kind)
            if op is None or lanes == 1:
                self._put(buffer, self.pointer(buffer, address.base, address.constant), value, op)
                return
        value = self.code.spread_value(value, lanes, kind)
        if address.stride == 1 and address.vector is None and address.offsets is None:
            pointer = self.pointer(buffer, address.base, address.constant)
            self._put(buffer, pointer, value, op, streamed and op is None)
            return
        for lane, pointer in enumerate(self._pointers(buffer, address)):
            self._put(buffer, pointer, self.code.lane(value, lane, kind), op)

    def _pointers(self, buffer: Buffer, place: LaneOffset) -> list[IRValue]:
        """Return the address of each lane."""
        if place.vector is None:
            offsets = self.indices.offsets(place)
            return [self.pointer(buffer, place.base, place.constant + x) for x in offsets]
        narrow = buffer.size < BOUND
        index = self.indices.whole(place, narrow)
        kind = "i32" if narrow else "i64"
        found = []
        for lane in range(self.indices.lanes):
            one = self.code.lane(index, lane, kind)
            found.append(self.at(buffer, self.indices.convert_width(one, kind, "i64", False)))
        return found

    def _put(
        self,
        buffer: Buffer,
        pointer: IRValue,
        value: IRValue,
        op: str | None,
        streamed: bool = False,
    ) -> None:
        code, dtype = self.code, buffer.dtype
        if op is not None:
            raw = self._plain(buffer, pointer, value.lanes)
            old = from_memory(code, raw, dtype)
            value = arithmetic.combine(code, op, old, value, register(dtype), is_signed(dtype))
        raw = to_memory(code, value, dtype)
        kind = vector(memory(dtype), raw.lanes)
        text = code.spread(raw, value.lanes, memory(dtype))
        how = f"align {dtype.size}"
        if streamed:
            how = f"align {alignment(dtype, value.lanes)}, !nontemporal !{{i32 1}}"
        code.line(f"store {kind} {text}, ptr {pointer.text}, {how}")
        code.invalidate((root(buffer),))
