"""Routines of bfloat16 matrix products with float32 sums, by matrix registers (AMX).

AMX (Intel, "Architecture Instruction Set Extensions Programming Reference", chapter 3) has eight
registers of 16 rows of 64 bytes; TDPBF16PS adds the product of 16 x 32 and 32 x 16 numbers to
16 x 16 sums, 16 times as many products a cycle as vectors of float32 do.  A block is 32 x 32 sums
in four registers; of x and y it takes two each at a time.

* `tile_rows(turned, rows, k, x, x_step, out)`: x [rows, k] as blocks [blocks, 32, steps * 32];
* `tile_columns(turned, k, n, y, y_step, out)`: y [k, n] as panels [panels, steps, 16, 32, 2], in
  which two neighbours of a column are one word;
* `tile_product(steps, blocks, panels, more, x, y, z)`: z [blocks * 32, panels * 32] = x y, + z if
  `more` is not 0.

A step is 32 numbers of k; what is missing to whole blocks, panels and steps is 0.  With `turned`
the matrix lies in memory as its transpose.  Numbers and sums below float32's normal range count as
0 in these registers.

A process has to ask Linux for the registers (`request_tiles`).  Where they are not to be had
vectors do the same work (`_PLAIN`), so that code from the disk is right everywhere.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys

EXPORTS = (
    "talweg_tile_rows_bfloat16",
    "talweg_tile_columns_bfloat16",
    "talweg_tile_product_float32",
)
ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA = 158, 0x1023, 18
COUNT = 16  # rows of a register, and words in a row


@functools.cache
def request_tiles() -> bool:
    """Request the matrix registers from the system; whether they are granted."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    call = ctypes.CDLL(None, use_errno=True).syscall
    return call(ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA) == 0


def text(registers: bool) -> str:
    """Return the module of the three routines, with the matrix registers or without."""
    packers = [_packer(strided, transposed) for strided in (0, 1) for transposed in (0, 1)]
    product = _REGISTERS.replace("$CONFIGURATION", _configuration()) if registers else _PLAIN
    return "\n".join([_DECLARED, *packers, _ROWS, _COLUMNS, product])


def _configuration() -> str:
    """Return the tile configuration of LDTILECFG: palette 1, 16 rows of 64 bytes."""
    made = bytearray(64)
    made[0] = 1
    for register in range(8):
        made[16 + 2 * register] = 64
        made[48 + register] = 16
    return "".join([f"\\{byte:02X}" for byte in made])


def _packer(strided: int, transposed: int) -> str:
    """Return the packing of one register's 16 x 16 words; `strided`: pairs span two rows.

    `others` and `ks` are how many numbers there are in both directions; 16 and 32 are taken.
    """
    lines = [
        f"define private void @pack{strided}{transposed}(ptr %from, i64 %step, i64 %others, "
        "i64 %ks, ptr %to, i64 %to.step) {",
        "  %lanes = call i64 @limited(i64 %" + ("others, i64 16)" if strided else "ks, i64 32)"),
    ]
    width = 16 if strided else 32
    numbers = ", ".join([f"i64 {i}" for i in range(width)])
    lines += [
        f"  %one = insertelement <{width} x i64> poison, i64 %lanes, i64 0",
        f"  %all = shufflevector <{width} x i64> %one, <{width} x i64> poison, "
        f"<{width} x i32> zeroinitializer",
        f"  %mask = icmp slt <{width} x i64> <{numbers}>, %all",
    ]
    rows = 2 * COUNT if strided else COUNT
    for row in range(rows):
        lines += _load_row(row, width, "ks" if strided else "others")
    for row in range(COUNT):
        if strided:
            low, high = f"%r{2 * row}", f"%r{2 * row + 1}"
            lines += [
                f"  %low{row} = zext <16 x i16> {low} to <16 x i32>",
                f"  %wide{row} = zext <16 x i16> {high} to <16 x i32>",
                f"  %high{row} = shl <16 x i32> %wide{row}, splat (i32 16)",
                f"  %v0.{row} = or <16 x i32> %low{row}, %high{row}",
            ]
        else:
            lines.append(f"  %v0.{row} = bitcast <32 x i16> %r{row} to <16 x i32>")
    stage = _transpose_words(lines) if transposed else 0
    for row in range(COUNT):
        lines += [
            f"  %o{row} = mul i64 %to.step, {row}",
            f"  %t{row} = getelementptr i8, ptr %to, i64 %o{row}",
            f"  store <16 x i32> %v{stage}.{row}, ptr %t{row}, align 4",
        ]
    return "\n".join([*lines, "  ret void", "}"])


def _load_row(row: int, width: int, limit: str) -> list[str]:
    """Emit the load of a row, of zeros where it is absent."""
    kind = f"<{width} x i16>"
    return [
        f"  %there{row} = icmp sgt i64 %{limit}, {row}",
        f"  %m{row} = select i1 %there{row}, <{width} x i1> %mask, <{width} x i1> zeroinitializer",
        f"  %s{row} = mul i64 %step, {row}",
        f"  %a{row} = getelementptr i8, ptr %from, i64 %s{row}",
        f"  %r{row} = call {kind} @llvm.masked.load.v{width}i16.p0(ptr align 2 %a{row}, "
        f"<{width} x i1> %m{row}, {kind} zeroinitializer)",
    ]


def _transpose_words(lines: list[str]) -> int:
    """Return the transpose of 16 x 16 words: halves change places, then quarters, and so on."""
    stage, distance = 0, COUNT // 2
    while distance:
        for row in range(COUNT):
            if row & distance:
                continue
            first, second = f"%v{stage}.{row}", f"%v{stage}.{row + distance}"
            for target, high in ((row, 0), (row + distance, distance)):
                mask = [
                    (lane & ~distance | high) + (COUNT if lane & distance else 0)
                    for lane in range(COUNT)
                ]
                order = ", ".join([f"i32 {source}" for source in mask])
                lines.append(
                    f"  %v{stage + 1}.{target} = shufflevector <16 x i32> {first}, "
                    f"<16 x i32> {second}, <16 x i32> <{order}>"
                )
        stage, distance = stage + 1, distance // 2
    return stage


_DECLARED = """
declare <16 x i16> @llvm.masked.load.v16i16.p0(ptr, <16 x i1>, <16 x i16>)
declare <32 x i16> @llvm.masked.load.v32i16.p0(ptr, <32 x i1>, <32 x i16>)
declare i64 @llvm.smin.i64(i64, i64)

define private i64 @limited(i64 %count, i64 %most) alwaysinline {
  %found = call i64 @llvm.smin.i64(i64 %count, i64 %most)
  ret i64 %found
}

define private i64 @pieces(i64 %count) alwaysinline {
  %more = add i64 %count, 31
  %found = lshr i64 %more, 5
  ret i64 %found
}
"""

_ROWS = """
define void @talweg_tile_rows_bfloat16(i64 %turned, i64 %rows, i64 %k, ptr %x, i64 %x.step,
    ptr %out) {
entry:
  %steps = call i64 @pieces(i64 %k)
  %blocks = call i64 @pieces(i64 %rows)
  %groups = shl i64 %blocks, 1
  %is.turned = icmp ne i64 %turned, 0
  %step = shl i64 %x.step, 1
  %by.group = select i1 %is.turned, i64 32, i64 %step
  %by.step = select i1 %is.turned, i64 %step, i64 2
  %to.step = shl i64 %steps, 6
  br label %group
group:
  %g = phi i64 [0, %entry], [%g.next, %group.end]
  %first = shl i64 %g, 4
  %others = sub i64 %rows, %first
  %from.row = mul i64 %first, %step
  %from.column = shl i64 %first, 1
  %from.group = select i1 %is.turned, i64 %from.column, i64 %from.row
  %to.group = mul i64 %first, %to.step
  br label %step.begin
step.begin:
  %s = phi i64 [0, %group], [%s.next, %step.end]
  %k.first = shl i64 %s, 5
  %ks = sub i64 %k, %k.first
  %from.k = mul i64 %k.first, %by.step
  %from.at = add i64 %from.group, %from.k
  %from = getelementptr i8, ptr %x, i64 %from.at
  %to.k = shl i64 %s, 6
  %to.at = add i64 %to.group, %to.k
  %to = getelementptr i8, ptr %out, i64 %to.at
  br i1 %is.turned, label %other, label %straight
straight:
  call void @pack00(ptr %from, i64 %step, i64 %others, i64 %ks, ptr %to, i64 %to.step)
  br label %step.end
other:
  call void @pack11(ptr %from, i64 %step, i64 %others, i64 %ks, ptr %to, i64 %to.step)
  br label %step.end
step.end:
  %s.next = add i64 %s, 1
  %more.steps = icmp ult i64 %s.next, %steps
  br i1 %more.steps, label %step.begin, label %group.end
group.end:
  %g.next = add i64 %g, 1
  %more.groups = icmp ult i64 %g.next, %groups
  br i1 %more.groups, label %group, label %done
done:
  ret void
}
"""

_COLUMNS = """
define void @talweg_tile_columns_bfloat16(i64 %turned, i64 %k, i64 %n, ptr %y, i64 %y.step,
    ptr %out) {
entry:
  %steps = call i64 @pieces(i64 %k)
  %panels = call i64 @pieces(i64 %n)
  %is.turned = icmp ne i64 %turned, 0
  %step = shl i64 %y.step, 1
  %by.column = select i1 %is.turned, i64 %step, i64 2
  %by.k = select i1 %is.turned, i64 2, i64 %step
  br label %panel
panel:
  %p = phi i64 [0, %entry], [%p.next, %panel.end]
  %to.panel = mul i64 %p, %steps
  br label %step.begin
step.begin:
  %s = phi i64 [0, %panel], [%s.next, %step.end]
  %k.first = shl i64 %s, 5
  %ks = sub i64 %k, %k.first
  %from.k = mul i64 %k.first, %by.k
  %to.number = add i64 %to.panel, %s
  %to.step = shl i64 %to.number, 11
  br label %half
half:
  %h = phi i64 [0, %step.begin], [1, %half.end]
  %p.first = shl i64 %p, 5
  %h.first = shl i64 %h, 4
  %first = add i64 %p.first, %h.first
  %others = sub i64 %n, %first
  %from.column = mul i64 %first, %by.column
  %from.at = add i64 %from.k, %from.column
  %from = getelementptr i8, ptr %y, i64 %from.at
  %to.half = shl i64 %h, 6
  %to.at = add i64 %to.step, %to.half
  %to = getelementptr i8, ptr %out, i64 %to.at
  br i1 %is.turned, label %other, label %straight
straight:
  call void @pack10(ptr %from, i64 %step, i64 %others, i64 %ks, ptr %to, i64 128)
  br label %half.end
other:
  call void @pack01(ptr %from, i64 %step, i64 %others, i64 %ks, ptr %to, i64 128)
  br label %half.end
half.end:
  %more.halves = icmp eq i64 %h, 0
  br i1 %more.halves, label %half, label %step.end
step.end:
  %s.next = add i64 %s, 1
  %more.steps = icmp ult i64 %s.next, %steps
  br i1 %more.steps, label %step.begin, label %panel.end
panel.end:
  %p.next = add i64 %p, 1
  %more.panels = icmp ult i64 %p.next, %panels
  br i1 %more.panels, label %panel, label %done
done:
  ret void
}
"""

# Loops over the blocks and panels; `@block` makes one of 32 x 32.
_BLOCKS = """
define void @talweg_tile_product_float32(i64 %steps, i64 %blocks, i64 %panels, i64 %more, ptr %x,
    ptr %y, ptr %z) {
entry:
  %again = icmp ne i64 %more, 0
  %x.block = shl i64 %steps, 11
  %z.step = shl i64 %panels, 7
  %z.block = shl i64 %z.step, 5
  $BEGIN
  br label %panel
panel:
  %p = phi i64 [0, %entry], [%p.next, %panel.end]
  %y.at = mul i64 %p, %x.block
  %y.here = getelementptr i8, ptr %y, i64 %y.at
  %z.column = shl i64 %p, 7
  br label %block
block:
  %b = phi i64 [0, %panel], [%b.next, %block]
  %x.at = mul i64 %b, %x.block
  %x.here = getelementptr i8, ptr %x, i64 %x.at
  %z.row = mul i64 %b, %z.block
  %z.at = add i64 %z.row, %z.column
  %z.here = getelementptr i8, ptr %z, i64 %z.at
  call void @block(i64 %steps, i1 %again, ptr %x.here, ptr %y.here, ptr %z.here, i64 %z.step)
  %b.next = add i64 %b, 1
  %more.blocks = icmp ult i64 %b.next, %blocks
  br i1 %more.blocks, label %block, label %panel.end
panel.end:
  %p.next = add i64 %p, 1
  %more.panels = icmp ult i64 %p.next, %panels
  br i1 %more.panels, label %panel, label %done
done:
  $END
  ret void
}
"""

_REGISTERS = """
declare void @llvm.x86.ldtilecfg(ptr)
declare void @llvm.x86.tilerelease()
declare void @llvm.x86.tilezero(i8)
declare void @llvm.x86.tileloadd64(i8, ptr, i64)
declare void @llvm.x86.tilestored64(i8, ptr, i64)
declare void @llvm.x86.tdpbf16ps(i8, i8, i8)

@configuration = private constant [64 x i8] c"$CONFIGURATION", align 64

define private void @block(i64 %steps, i1 %again, ptr %x, ptr %y, ptr %z, i64 %z.step) {
entry:
  %x.step = shl i64 %steps, 6
  %x.second = shl i64 %x.step, 4
  %z.half = shl i64 %z.step, 4
  %z.1 = getelementptr i8, ptr %z, i64 64
  %z.2 = getelementptr i8, ptr %z, i64 %z.half
  %z.3 = getelementptr i8, ptr %z.2, i64 64
  br i1 %again, label %load, label %clear
load:
  call void @llvm.x86.tileloadd64(i8 0, ptr %z, i64 %z.step)
  call void @llvm.x86.tileloadd64(i8 1, ptr %z.1, i64 %z.step)
  call void @llvm.x86.tileloadd64(i8 2, ptr %z.2, i64 %z.step)
  call void @llvm.x86.tileloadd64(i8 3, ptr %z.3, i64 %z.step)
  br label %step
clear:
  call void @llvm.x86.tilezero(i8 0)
  call void @llvm.x86.tilezero(i8 1)
  call void @llvm.x86.tilezero(i8 2)
  call void @llvm.x86.tilezero(i8 3)
  br label %step
step:
  %s = phi i64 [0, %load], [0, %clear], [%s.next, %step]
  %x.at = shl i64 %s, 6
  %x.0 = getelementptr i8, ptr %x, i64 %x.at
  %x.1 = getelementptr i8, ptr %x.0, i64 %x.second
  %y.at = shl i64 %s, 11
  %y.0 = getelementptr i8, ptr %y, i64 %y.at
  %y.1 = getelementptr i8, ptr %y.0, i64 64
  call void @llvm.x86.tileloadd64(i8 6, ptr %y.0, i64 128)
  call void @llvm.x86.tileloadd64(i8 4, ptr %x.0, i64 %x.step)
  call void @llvm.x86.tileloadd64(i8 7, ptr %y.1, i64 128)
  call void @llvm.x86.tdpbf16ps(i8 0, i8 4, i8 6)
  call void @llvm.x86.tileloadd64(i8 5, ptr %x.1, i64 %x.step)
  call void @llvm.x86.tdpbf16ps(i8 1, i8 4, i8 7)
  call void @llvm.x86.tdpbf16ps(i8 2, i8 5, i8 6)
  call void @llvm.x86.tdpbf16ps(i8 3, i8 5, i8 7)
  %s.next = add i64 %s, 1
  %more = icmp ult i64 %s.next, %steps
  br i1 %more, label %step, label %done
done:
  call void @llvm.x86.tilestored64(i8 0, ptr %z, i64 %z.step)
  call void @llvm.x86.tilestored64(i8 1, ptr %z.1, i64 %z.step)
  call void @llvm.x86.tilestored64(i8 2, ptr %z.2, i64 %z.step)
  call void @llvm.x86.tilestored64(i8 3, ptr %z.3, i64 %z.step)
  ret void
}
""" + _BLOCKS.replace("$BEGIN", "call void @llvm.x86.ldtilecfg(ptr @configuration)").replace(
    "$END", "call void @llvm.x86.tilerelease()"
)

# A row of 32 sums at a time: both numbers of a word are the upper half of a float32.
_PLAIN = """
define private void @block(i64 %steps, i1 %again, ptr %x, ptr %y, ptr %z, i64 %z.step) {
entry:
  %pairs = shl i64 %steps, 4
  %x.step = shl i64 %steps, 6
  br label %row
row:
  %m = phi i64 [0, %entry], [%m.next, %row.end]
  %z.at = mul i64 %m, %z.step
  %z.row = getelementptr i8, ptr %z, i64 %z.at
  %x.at = mul i64 %m, %x.step
  %x.row = getelementptr i8, ptr %x, i64 %x.at
  %old = load <32 x float>, ptr %z.row, align 4
  %start = select i1 %again, <32 x float> %old, <32 x float> zeroinitializer
  br label %pair
pair:
  %i = phi i64 [0, %row], [%i.next, %pair]
  %sum = phi <32 x float> [%start, %row], [%second, %pair]
  %x.word = getelementptr i32, ptr %x.row, i64 %i
  %x.two = load i32, ptr %x.word, align 4
  %x.shifted = shl i32 %x.two, 16
  %x.masked = and i32 %x.two, -65536
  %x.low = bitcast i32 %x.shifted to float
  %x.high = bitcast i32 %x.masked to float
  %x.low.one = insertelement <32 x float> poison, float %x.low, i64 0
  %x.high.one = insertelement <32 x float> poison, float %x.high, i64 0
  %x.low.all = shufflevector <32 x float> %x.low.one, <32 x float> poison,
    <32 x i32> zeroinitializer
  %x.high.all = shufflevector <32 x float> %x.high.one, <32 x float> poison,
    <32 x i32> zeroinitializer
  %y.at = shl i64 %i, 7
  %y.row = getelementptr i8, ptr %y, i64 %y.at
  %y.two = load <32 x i32>, ptr %y.row, align 4
  %y.shifted = shl <32 x i32> %y.two, splat (i32 16)
  %y.masked = and <32 x i32> %y.two, splat (i32 -65536)
  %y.low = bitcast <32 x i32> %y.shifted to <32 x float>
  %y.high = bitcast <32 x i32> %y.masked to <32 x float>
  %product.low = fmul <32 x float> %x.low.all, %y.low
  %first = fadd <32 x float> %sum, %product.low
  %product.high = fmul <32 x float> %x.high.all, %y.high
  %second = fadd <32 x float> %first, %product.high
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %pairs
  br i1 %more, label %pair, label %row.end
row.end:
  store <32 x float> %second, ptr %z.row, align 4
  %m.next = add i64 %m, 1
  %more.rows = icmp ult i64 %m.next, 32
  br i1 %more.rows, label %row, label %done
done:
  ret void
}
""" + _BLOCKS.replace("$BEGIN\n", "").replace("$END\n", "")
