"""Convolutions in machine code for any sizes, which the interpreter calls before programs have any.

A program's own convolutions are made for its sizes, and take LLVM a while.  These two functions are
compiled once for a machine and kept on disk; NumPy's way, columns and BLAS, takes two to six times
as long where there are few channels.

* `convolve(x, y, w, ...)`: y[row, o, m] = sum over runs and k of
  x[row + run, o, k] w[run, k, m]: a register tile of `POSITIONS` o and some vectors of m, kept over
  all of the sum;
* `filters(x, g, w, ...)`: w[tap, c, m] += sum over rows and o of x[row + tap, o, c] g[row, o, m]: a
  tile of some c and vectors of m, kept over a chunk of rows;
* `images(routine, job, ...)` calls one of them for each image of a batch, which it copies where it
  needs padding.

A row is what lies along the last spatial axis; `places` says where each begins in both arrays, and
so hides how many axes there are.  The taps of the last axis and the channels are one run of memory
where they lie side by side.  Offsets and steps are in bytes.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, NamedTuple

from talweg.core.lazy import LazyModule
from talweg.execute.llvm import processor
from talweg.execute.llvm.link import code
from talweg.kernels.direct_convolution import Routines

if TYPE_CHECKING:
    from talweg.execute.llvm.link import jit
else:
    jit = LazyModule("talweg.execute.llvm.link.jit")


class RegisterTile(NamedTuple):
    """The part of a result that is kept in registers: rows, each of some vectors."""

    rows: int
    vectors: int


# By bytes of a vector, for 32 registers and for 16.
TILES = {
    64: (RegisterTile(8, 2), RegisterTile(16, 1), RegisterTile(4, 2)),
    32: (RegisterTile(4, 2), RegisterTile(8, 1)),
    16: (RegisterTile(4, 2), RegisterTile(8, 1)),
}
POINTER_EVERY = 3  # rows: the next two are reached from its pointer by one or two steps


_CONVOLVE = """
define void @talweg_convolve_$ROWS_$VECTORS(ptr %x, ptr noalias %y, ptr noalias %w,
    ptr noalias %places, i64 %rows, i64 %width, i64 %x.step, i64 %y.step, ptr noalias %offsets,
    i64 %runs, i64 %length, i64 %blocks, i64 %last, i64 %unused) {
entry:
  %final = sub i64 %blocks, 1
  %panel.rows = mul i64 %runs, %length
  %panel = mul i64 %panel.rows, $BLOCK
  %farthest = sub i64 %width, $ROWS
  %tiles.up = add i64 %width, $ROWS
  %tiles.most = sub i64 %tiles.up, 1
  %tiles = udiv i64 %tiles.most, $ROWS
  %x.step2 = mul i64 %x.step, 2
$FAR
  br label %row
row:
  %row.i = phi i64 [0, %entry], [%row.n, %row.end]
  %pair = shl i64 %row.i, 1
  %x.place.at = getelementptr i64, ptr %places, i64 %pair
  %y.place.at = getelementptr i64, ptr %x.place.at, i64 1
  %x.place = load i64, ptr %x.place.at
  %y.place = load i64, ptr %y.place.at
  %x.row = getelementptr i8, ptr %x, i64 %x.place
  %y.row = getelementptr i8, ptr %y, i64 %y.place
  br label %tile
tile:                             ; the last one may compute again what the one before has computed
  %tile.i = phi i64 [0, %row], [%tile.n, %tile.end]
  %wanted = mul i64 %tile.i, $ROWS
  %start = call i64 @llvm.umin.i64(i64 %wanted, i64 %farthest)
  %x.start = mul i64 %start, %x.step
  %y.start = mul i64 %start, %y.step
  %x.tile = getelementptr i8, ptr %x.row, i64 %x.start
  %y.tile = getelementptr i8, ptr %y.row, i64 %y.start
  br label %block
block:
  %block.i = phi i64 [0, %tile], [%block.n, %block.end]
  %w.start = mul i64 %block.i, %panel
  %w.block = getelementptr i8, ptr %w, i64 %w.start
  br label %run
run:
$RUN.SUMS
  %run.i = phi i64 [0, %block], [%run.n, %run.end]
  %w.run = phi ptr [%w.block, %block], [%w.next, %run.end]
  %offset.at = getelementptr i64, ptr %offsets, i64 %run.i
  %offset = load i64, ptr %offset.at
  %p0.run = getelementptr i8, ptr %x.tile, i64 %offset
$BASES
  br label %k
k:
$K.SUMS
  %k.i = phi i64 [%length, %run], [%k.n, %k]
  %w.k = phi ptr [%w.run, %run], [%w.next, %k]
$K.BASES
$FACTORS
$PRODUCTS
$NEXT.BASES
  %w.next = getelementptr i8, ptr %w.k, i64 $BLOCK
  %k.n = sub i64 %k.i, 1
  %k.more = icmp ne i64 %k.n, 0
  br i1 %k.more, label %k, label %run.end
run.end:
  %run.n = add i64 %run.i, 1
  %run.more = icmp ult i64 %run.n, %runs
  br i1 %run.more, label %run, label %block.end
block.end:
$MASKS
  %y.off = mul i64 %block.i, $BLOCK
  %y.block = getelementptr i8, ptr %y.tile, i64 %y.off
$STORES
  %block.n = add i64 %block.i, 1
  %block.more = icmp ult i64 %block.n, %blocks
  br i1 %block.more, label %block, label %tile.end
tile.end:
  %tile.n = add i64 %tile.i, 1
  %tile.more = icmp ult i64 %tile.n, %tiles
  br i1 %tile.more, label %tile, label %row.end
row.end:
  %row.n = add i64 %row.i, 1
  %row.more = icmp ult i64 %row.n, %rows
  br i1 %row.more, label %row, label %done
done:
  ret void
}
"""

_IMAGES = """
declare ptr @memcpy(ptr, ptr, i64)

define void @talweg_images(ptr %routine, ptr %job, i64 %first, i64 %end, ptr %buffer) {
entry:
$FIELDS
  br label %image
image:
  %i = phi i64 [%first, %entry], [%i.n, %call]
  %x.far = mul i64 %i, %x.image
  %x.at = getelementptr i8, ptr %x, i64 %x.far
  %y.far = mul i64 %i, %y.image
  %y.at = getelementptr i8, ptr %y, i64 %y.far
  %part = udiv i64 %i, %per
  %w.far = mul i64 %part, %w.part
  %w.at = getelementptr i8, ptr %w, i64 %w.far
  %copied = icmp ne i64 %copies, 0
  br i1 %copied, label %copy, label %call
copy:
  %j = phi i64 [0, %image], [%j.n, %copy]
  %pair = shl i64 %j, 1
  %from.place.at = getelementptr i64, ptr %copy.places, i64 %pair
  %to.place.at = getelementptr i64, ptr %from.place.at, i64 1
  %from.place = load i64, ptr %from.place.at
  %to.place = load i64, ptr %to.place.at
  %from = getelementptr i8, ptr %x.at, i64 %from.place
  %to = getelementptr i8, ptr %buffer, i64 %to.place
  %same = call ptr @memcpy(ptr %to, ptr %from, i64 %copy.bytes)
  %j.n = add i64 %j, 1
  %j.more = icmp ult i64 %j.n, %copies
  br i1 %j.more, label %copy, label %call
call:
  %source = phi ptr [%x.at, %image], [%buffer, %copy]
  call void %routine(ptr %source, ptr %y.at, ptr %w.at, ptr %places, i64 %rows, i64 %width,
    i64 %x.step, i64 %y.step, ptr %offsets, i64 %taps, i64 %length, i64 %blocks, i64 %last,
    i64 %most)
  %i.n = add i64 %i, 1
  %i.more = icmp ult i64 %i.n, %end
  br i1 %i.more, label %image, label %done
done:
  ret void
}
"""

_FIELDS = (  # of a job, in order
    *("ptr x", "i64 x.image", "ptr y", "i64 y.image", "ptr w", "i64 w.part", "i64 per"),
    *("i64 copies", "ptr copy.places", "i64 copy.bytes", "ptr places", "i64 rows", "i64 width"),
    *("i64 x.step", "i64 y.step", "ptr offsets", "i64 taps", "i64 length", "i64 blocks"),
    *("i64 last", "i64 most"),
)

_FILTERS = """
define void @talweg_filters_$ROWS_$VECTORS(ptr noalias %x, ptr noalias %g, ptr noalias %w,
    ptr noalias %places, i64 %rows, i64 %width, i64 %x.step, i64 %g.step, ptr noalias %offsets,
    i64 %taps, i64 %parts, i64 %blocks, i64 %last, i64 %most) {
entry:
  %final = sub i64 %blocks, 1
  %w.step = mul i64 %blocks, $BLOCK
  %w.part.step = mul i64 %w.step, $ROWS
  %chunks.up = add i64 %rows, %most
  %chunks.most = sub i64 %chunks.up, 1
  %chunks = udiv i64 %chunks.most, %most
  br label %chunk
chunk:
  %chunk.i = phi i64 [0, %entry], [%chunk.n, %chunk.end]
  %row.first = mul i64 %chunk.i, %most
  %rows.left = sub i64 %rows, %row.first
  %rows.here = call i64 @llvm.umin.i64(i64 %rows.left, i64 %most)
  %pair.first = shl i64 %row.first, 4
  %places.here = getelementptr i8, ptr %places, i64 %pair.first
  br label %tap
tap:
  %tap.i = phi i64 [0, %chunk], [%tap.n, %tap.end]
  %offset.at = getelementptr i64, ptr %offsets, i64 %tap.i
  %offset = load i64, ptr %offset.at
  %x.tap = getelementptr i8, ptr %x, i64 %offset
  %w.first = mul i64 %tap.i, %parts
  br label %part
part:
  %part.i = phi i64 [0, %tap], [%part.n, %part.end]
  %x.channel = mul i64 %part.i, $PART
  %x.part = getelementptr i8, ptr %x.tap, i64 %x.channel
  %w.number = add i64 %w.first, %part.i
  %w.off = mul i64 %w.number, %w.part.step
  %w.part = getelementptr i8, ptr %w, i64 %w.off
  br label %block
block:
  %block.i = phi i64 [0, %part], [%block.n, %block.end]
$MASKS
  %g.off = mul i64 %block.i, $BLOCK
  %w.block = getelementptr i8, ptr %w.part, i64 %g.off
  %g.block = getelementptr i8, ptr %g, i64 %g.off
$LOADS
  br label %row
row:
$RUN.SUMS
  %row.i = phi i64 [0, %block], [%row.n, %row.end]
  %pair = shl i64 %row.i, 1
  %x.place.at = getelementptr i64, ptr %places.here, i64 %pair
  %g.place.at = getelementptr i64, ptr %x.place.at, i64 1
  %x.place = load i64, ptr %x.place.at
  %g.place = load i64, ptr %g.place.at
  %x.row = getelementptr i8, ptr %x.part, i64 %x.place
  %g.row = getelementptr i8, ptr %g.block, i64 %g.place
  br label %k
k:
$K.SUMS
  %k.i = phi i64 [%width, %row], [%k.n, %k]
  %x.k = phi ptr [%x.row, %row], [%x.next, %k]
  %g.k = phi ptr [%g.row, %row], [%g.next, %k]
$FACTORS
$PRODUCTS
  %x.next = getelementptr i8, ptr %x.k, i64 %x.step
  %g.next = getelementptr i8, ptr %g.k, i64 %g.step
  %k.n = sub i64 %k.i, 1
  %k.more = icmp ne i64 %k.n, 0
  br i1 %k.more, label %k, label %row.end
row.end:
  %row.n = add i64 %row.i, 1
  %row.more = icmp ult i64 %row.n, %rows.here
  br i1 %row.more, label %row, label %block.end
block.end:
$STORES
  %block.n = add i64 %block.i, 1
  %block.more = icmp ult i64 %block.n, %blocks
  br i1 %block.more, label %block, label %part.end
part.end:
  %part.n = add i64 %part.i, 1
  %part.more = icmp ult i64 %part.n, %parts
  br i1 %part.more, label %part, label %tap.end
tap.end:
  %tap.n = add i64 %tap.i, 1
  %tap.more = icmp ult i64 %tap.n, %taps
  br i1 %tap.more, label %tap, label %chunk.end
chunk.end:
  %chunk.n = add i64 %chunk.i, 1
  %chunk.more = icmp ult i64 %chunk.n, %chunks
  br i1 %chunk.more, label %chunk, label %done
done:
  ret void
}
"""


class _TileText:
    """The parts of the text that differ with the tile: a line for each of its rows and vectors."""

    def __init__(self, lanes: int, tile: RegisterTile) -> None:
        self.lanes, self.rows, self.vectors = lanes, range(tile.rows), range(tile.vectors)
        self.kind, self.size = f"<{lanes} x float>", 4 * lanes
        self.each = [(f"s{r}.{v}", r, v) for r in self.rows for v in self.vectors]
        self.block = self.size * tile.vectors

    def masks(self) -> list[str]:
        """Return the masks of the vectors of a block: lanes below `%last` in the last block."""
        kind = f"<{self.lanes} x i64>"
        lines = [
            "%is.last = icmp eq i64 %block.i, %final",
            f"%kept = select i1 %is.last, i64 %last, i64 {self.lanes * len(self.vectors)}",
            f"%kept.in = insertelement {kind} poison, i64 %kept, i64 0",
            f"%kept.all = shufflevector {kind} %kept.in, {kind} poison, "
            f"<{self.lanes} x i32> zeroinitializer",
        ]
        for v in self.vectors:
            lanes = ", ".join([f"i64 {v * self.lanes + lane}" for lane in range(self.lanes)])
            lines.append(f"%mask{v} = icmp ult {kind} <{lanes}>, %kept.all")
        return lines

    def sums(self, suffix: str, first: str, before: str, after: str) -> list[str]:
        """Return the sums at the head of a loop; `first` with $ for a name: what they begin as."""
        return [
            f"%{name}{suffix} = phi {self.kind} [{first.replace('$', name)}, %{before}], "
            f"[%{name}.next, %{after}]"
            for name, _, _ in self.each
        ]

    def products(self, pointers: list[str]) -> list[str]:
        """Return the product of a number at each pointer with each vector, added to the sums."""
        lines = []
        kind, lanes = self.kind, self.lanes
        for r in self.rows:
            lines += [
                f"%n{r} = load float, ptr {pointers[r]}, align 4",
                f"%i{r} = insertelement {kind} poison, float %n{r}, i64 0",
                f"%b{r} = shufflevector {kind} %i{r}, {kind} poison, "
                f"<{lanes} x i32> zeroinitializer",
            ]
            for v in self.vectors:
                operands = f"{kind} %b{r}, {kind} %f{v}, {kind} %s{r}.{v}"
                lines.append(f"%s{r}.{v}.next = call {kind} @llvm.fma.v{lanes}f32({operands})")
        return lines

    def at(self, name: str, base: str, step: str) -> list[str]:
        """Return the pointers to the tile's vectors, whose rows are a step apart."""
        lines = []
        for r in self.rows:
            lines.append(f"%{name}.far{r} = mul i64 {step}, {r}")
            lines.append(f"%{name}.near{r} = getelementptr i8, ptr {base}, i64 %{name}.far{r}")
            lines += [
                f"%{name}{r}.{v} = getelementptr i8, ptr %{name}.near{r}, i64 {v * self.size}"
                for v in self.vectors
            ]
        return lines

    def fill(self, template: str, parts: dict[str, list[str]]) -> str:
        """Return a function of the tile."""
        numbers = {"ROWS": len(self.rows), "VECTORS": len(self.vectors), "BLOCK": self.block}
        numbers["PART"] = 4 * len(self.rows)
        for name, lines in parts.items():
            template = template.replace(f"\n${name}\n", "\n  " + "\n  ".join(lines) + "\n")
        for name, number in numbers.items():
            template = template.replace(f"${name}", str(number))
        return template


def _convolve(lanes: int, tile: RegisterTile) -> str:
    """Return the text of `convolve` for a tile."""
    text = _TileText(lanes, tile)
    kind = text.kind
    bases, pointers, steps = text.rows[::POINTER_EVERY], [], []
    for r in text.rows:
        base, apart = r - r % POINTER_EVERY, r % POINTER_EVERY
        pointers.append(f"%at{r}" if apart else f"%p{base}")
        step = "%x.step" if apart == 1 else "%x.step2"
        steps += [f"%at{r} = getelementptr i8, ptr %p{base}, i64 {step}"] if apart else []
    factors = [
        line
        for v in text.vectors
        for line in (
            f"%w.at{v} = getelementptr i8, ptr %w.k, i64 {v * text.size}",
            f"%f{v} = load {kind}, ptr %w.at{v}, align 4",
        )
    ]
    stores = [
        f"call void @llvm.masked.store.v{lanes}f32.p0({kind} %{name}.next, ptr align 4 "
        f"%y.at{r}.{v}, <{lanes} x i1> %mask{v})"
        for name, r, v in text.each
    ]
    parts = {
        "FAR": [f"%x.far{base} = mul i64 %x.step, {base}" for base in bases[1:]],
        "RUN.SUMS": text.sums(".run", "zeroinitializer", "block", "run.end"),
        "BASES": [
            f"%p{base}.run = getelementptr i8, ptr %p0.run, i64 %x.far{base}" for base in bases[1:]
        ],
        "K.SUMS": text.sums("", "%$.run", "run", "k"),
        "K.BASES": [f"%p{b} = phi ptr [%p{b}.run, %run], [%p{b}.next, %k]" for b in bases],
        "FACTORS": factors + steps,
        "PRODUCTS": text.products(pointers),
        "NEXT.BASES": [f"%p{b}.next = getelementptr i8, ptr %p{b}, i64 4" for b in bases],
        "MASKS": text.masks(),
        "STORES": text.at("y.at", "%y.block", "%y.step") + stores,
    }
    return text.fill(_CONVOLVE, parts)


def _filters(lanes: int, tile: RegisterTile) -> str:
    """Return the text of `filters` for a tile."""
    text = _TileText(lanes, tile)
    kind, factors = text.kind, []
    for v in text.vectors:
        factors += [
            f"%g.at{v} = getelementptr i8, ptr %g.k, i64 {v * text.size}",
            f"%f{v} = call {kind} @llvm.masked.load.v{lanes}f32.p0(ptr align 4 %g.at{v}, "
            f"<{lanes} x i1> %mask{v}, {kind} zeroinitializer)",
        ]
    factors += [f"%at{r} = getelementptr i8, ptr %x.k, i64 {4 * r}" for r in text.rows]
    parts = {
        "MASKS": text.masks(),
        "LOADS": text.at("w.at", "%w.block", "%w.step")
        + [f"%{name}.block = load {kind}, ptr %w.at{r}.{v}, align 4" for name, r, v in text.each],
        "RUN.SUMS": text.sums(".row", "%$.block", "block", "row.end"),
        "K.SUMS": text.sums("", "%$.row", "row", "k"),
        "FACTORS": factors,
        "PRODUCTS": text.products([f"%at{r}" for r in text.rows]),
        "STORES": [
            f"store {kind} %{name}.next, ptr %w.at{r}.{v}, align 4" for name, r, v in text.each
        ],
    }
    return text.fill(_FILTERS, parts)


def text(vector_bytes: int) -> str:
    """Return the module of all functions."""
    lanes = vector_bytes // 4
    kind, bits = f"<{lanes} x float>", f"<{lanes} x i1>"
    declared = [
        f"declare {kind} @llvm.fma.v{lanes}f32({kind}, {kind}, {kind})",
        f"declare {kind} @llvm.masked.load.v{lanes}f32.p0(ptr, {bits}, {kind})",
        f"declare void @llvm.masked.store.v{lanes}f32.p0({kind}, ptr, {bits})",
        "declare i64 @llvm.umin.i64(i64, i64)",
    ]
    made = [make(lanes, tile) for make in (_convolve, _filters) for tile in TILES[vector_bytes]]
    fields = []
    for number, field in enumerate(_FIELDS):
        kind, name = field.split()
        fields.append(f"  %{name}.in = getelementptr i64, ptr %job, i64 {number}")
        fields.append(f"  %{name} = load {kind}, ptr %{name}.in")
    images = _IMAGES.replace("$FIELDS", "\n".join(fields))
    return "\n".join([*declared, *made, images])


def load(vector_bytes: int) -> Routines:
    """Return the functions, from the disk or compiled."""
    tiles = TILES[vector_bytes]
    names = {
        (name, *tile): f"talweg_{name}_{tile.rows}_{tile.vectors}"
        for tile in tiles
        for name in ("convolve", "filters")
    }
    loaded = code.compile_module(text(vector_bytes), {}, [*names.values(), "talweg_images"])
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    images = ctypes.CFUNCTYPE(None, pointer, pointer, number, number, pointer)
    addresses = {key: loaded.addresses[name] for key, name in names.items()}
    _loaded.append(loaded)
    lanes = vector_bytes // 4
    return Routines(lanes, tiles, addresses, images(loaded.addresses["talweg_images"]))


_loaded: list[code.LoadedCode] = []  # which live for ever
_routines: dict[str, Routines | None] = {}  # by the processor's level


def routines() -> Routines | None:
    """Return the functions; None where they cannot be compiled, or not without waiting for LLVM."""
    level = processor.name()
    if level in _routines:
        return _routines[level]
    try:
        if not jit.lock.acquire(blocking=False):
            return None
        try:
            _routines[level] = load(jit.vector_bytes())
        finally:
            jit.lock.release()
    except ImportError:  # there is no LLVM
        _routines[level] = None
    except MemoryError:
        return None
    return _routines[level]
