"""Routines of matrix products of 16-bit floats with float32 sums, by matrix registers (AMX).

AMX (Intel, "Architecture Instruction Set Extensions Programming Reference", chapter 3) has eight
registers of 16 rows of 64 bytes; TDPBF16PS adds the product of 16 x 32 and 32 x 16 numbers to
16 x 16 sums, 16 times as many products a cycle as vectors of float32 do.  A block is 32 x 32 sums
in four registers; of x and y it takes two each at a time.

* `tile_rows(turned, rows, k, x, x_step, out)`: x [rows, k] as blocks [blocks, 32, steps * 32];
* `tile_columns(turned, k, n, y, y_step, out)`: y [k, n] as panels [panels, steps, 16, 32, 2], in
  which two neighbours of a column are one word;
* `tile_product(runs, steps, blocks, panels, more, x, x_row, x_run, y, z)`: z [blocks * 32,
  panels * 32] = x y, + z if `more` is not 0.  y has runs * steps steps.  A row of x lies in memory
  as so many runs of numbers, which begin `x_run` apart, and rows begin `x_row` apart: those of a
  convolution's windows are places of the image itself.

A step is 32 numbers of k; what is missing to whole blocks, panels and steps is 0.  With `turned`
the matrix lies in memory as its transpose.  Numbers and sums below float32's normal range count as
0 in these registers.

The routines `tile_split_...` take float16: a number is the sum of two of bfloat16, and a product
the sum of four, without an error (Henry, Tang and Heinecke 2019, "Leveraging the bfloat16
artificial intelligence datatype for higher-precision computations").  They are packed side by
side: [.., steps, 2, 32] and [panels, steps, 2, 16, 32, 2].  Both have the sign of the number, and
only those of 0 are 0: then the four products of an infinite number are what its product is.  So
the first is the number times 1 - 2^-9, cut off to 8 bits; 4 bits are left for the second.

A process has to ask Linux for the registers (`request_tiles`).  Where they are not to be had
vectors do the same work (`_PLAIN`), so that code from the disk is right everywhere.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys

from talweg.execute.llvm.runtime import matrix_tile_packing as packing

EXPORTS = (
    "talweg_tile_rows_bfloat16",
    "talweg_tile_columns_bfloat16",
    "talweg_tile_product_float32",
    "talweg_tile_split_rows_bfloat16",
    "talweg_tile_split_columns_bfloat16",
    "talweg_tile_split_product_float32",
)
ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA = 158, 0x1023, 18


@functools.cache
def request_tiles() -> bool:
    """Request the matrix registers from the system; whether they are granted."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    call = ctypes.CDLL(None, use_errno=True).syscall
    return call(ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA) == 0


def text(registers: bool) -> str:
    """Return the module of the routines, with the matrix registers or without."""
    parts = [packing.text()]
    begin = end = ""
    if registers:
        begin, end = "call void @llvm.x86.ldtilecfg(ptr @configuration)", _RELEASE
        parts.append(_REGISTERS.replace("$CONFIGURATION", _configuration()))
        parts += [_register_block(split) for split in (0, 1)]
    else:
        parts += [_PLAIN, _PLAIN_SPLIT]
    product = _BLOCKS.replace("$BEGIN", begin).replace("$END", end)
    return "\n".join([*parts, *[packing.with_terms(product, split) for split in (0, 1)]])


def _configuration() -> str:
    """Return the tile configuration of LDTILECFG: palette 1, 16 rows of 64 bytes."""
    made = bytearray(64)
    made[0] = 1
    for register in range(8):
        made[16 + 2 * register] = 64
        made[48 + register] = 16
    return "".join([f"\\{byte:02X}" for byte in made])


def _register_block(split: int) -> str:
    """Return the function that makes a block of 32 x 32 sums, in registers 0 to 3.

    Registers 4 and 5 are of x, 6 and 7 of y.  Of the four pairs of terms one follows the other
    that differs by one term, so that two registers are loaded for each.
    """
    lines: list[str] = []
    pairs = ((0, 0), (2, 0), (2, 2), (0, 2)) if split else ((0, 0),)
    held: tuple = (None, None)
    for x, y in pairs:
        new_x, new_y = x != held[0], y != held[1]
        held = x, y
        if new_y:
            lines.append(_load_tile(6, f"%y.{y}", "128"))
        if new_x:
            lines.append(_load_tile(4, f"%x.{x}", "%x.step"))
        if new_y:
            lines.append(_load_tile(7, f"%y.{y + 1}", "128"))
        lines.append(_multiply_tiles(0))
        if new_x:
            lines.append(_load_tile(5, f"%x.{x + 1}", "%x.step"))
        lines += [_multiply_tiles(sums) for sums in (1, 2, 3)]
    return packing.with_terms(_REGISTER_BLOCK.replace("$PRODUCTS", "\n".join(lines)), split)


def _load_tile(register: int, pointer: str, step: str) -> str:
    return f"  call void @llvm.x86.tileloadd64(i8 {register}, ptr {pointer}, i64 {step})"


def _multiply_tiles(sums: int) -> str:
    return f"  call void @llvm.x86.tdpbf16ps(i8 {sums}, i8 {4 + sums // 2}, i8 {6 + sums % 2})"


# Loops over the blocks and panels; `@block` makes one of 32 x 32.
_BLOCKS = """
define void @talweg_tile_$SPLITproduct_float32(i64 %runs, i64 %steps, i64 %blocks, i64 %panels,
    i64 %more, ptr %x, i64 %x.row, i64 %x.run, ptr %y, ptr %z) {
entry:
  %again = icmp ne i64 %more, 0
  %all.steps = mul i64 %runs, %steps
  %y.panel = shl i64 %all.steps, $STEP
  %x.block = shl i64 %x.row, 6
  %x.step = shl i64 %x.row, 1
  %x.apart = shl i64 %x.run, 1
  %z.step = shl i64 %panels, 7
  %z.block = shl i64 %z.step, 5
  $BEGIN
  br label %panel
panel:
  %p = phi i64 [0, %entry], [%p.next, %panel.end]
  %y.at = mul i64 %p, %y.panel
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
  call void @$SPLITblock(i64 %runs, i64 %steps, i1 %again, ptr %x.here, i64 %x.step,
    i64 %x.apart, ptr %y.here, ptr %z.here, i64 %z.step)
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
"""

_REGISTER_BLOCK = """
define private void @$SPLITblock(i64 %runs, i64 %steps, i1 %again, ptr %x, i64 %x.step,
    i64 %x.apart, ptr %y, ptr %z, i64 %z.step) {
entry:
  %y.run = shl i64 %steps, $STEP
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
  br label %run
clear:
  call void @llvm.x86.tilezero(i8 0)
  call void @llvm.x86.tilezero(i8 1)
  call void @llvm.x86.tilezero(i8 2)
  call void @llvm.x86.tilezero(i8 3)
  br label %run
run:
  %q = phi i64 [0, %load], [0, %clear], [%q.next, %run.end]
  %x.first = mul i64 %q, %x.apart
  %x.here = getelementptr i8, ptr %x, i64 %x.first
  %y.first = mul i64 %q, %y.run
  %y.here = getelementptr i8, ptr %y, i64 %y.first
  br label %step
step:
  %s = phi i64 [0, %run], [%s.next, %step]
  %x.at = shl i64 %s, $ROW
  %x.0 = getelementptr i8, ptr %x.here, i64 %x.at
  %x.1 = getelementptr i8, ptr %x.0, i64 %x.second
  %x.2 = getelementptr i8, ptr %x.0, i64 64
  %x.3 = getelementptr i8, ptr %x.1, i64 64
  %y.at = shl i64 %s, $STEP
  %y.0 = getelementptr i8, ptr %y.here, i64 %y.at
  %y.1 = getelementptr i8, ptr %y.0, i64 64
  %y.2 = getelementptr i8, ptr %y.0, i64 2048
  %y.3 = getelementptr i8, ptr %y.0, i64 2112
$PRODUCTS
  %s.next = add i64 %s, 1
  %more = icmp ult i64 %s.next, %steps
  br i1 %more, label %step, label %run.end
run.end:
  %q.next = add i64 %q, 1
  %more.runs = icmp ult i64 %q.next, %runs
  br i1 %more.runs, label %run, label %done
done:
  call void @llvm.x86.tilestored64(i8 0, ptr %z, i64 %z.step)
  call void @llvm.x86.tilestored64(i8 1, ptr %z.1, i64 %z.step)
  call void @llvm.x86.tilestored64(i8 2, ptr %z.2, i64 %z.step)
  call void @llvm.x86.tilestored64(i8 3, ptr %z.3, i64 %z.step)
  ret void
}
"""
_RELEASE = "call void @llvm.x86.tilerelease()"

# A row of 32 sums at a time: both numbers of a word are the upper half of a float32.
_PLAIN = """
define private void @block(i64 %runs, i64 %steps, i1 %again, ptr %x, i64 %x.step, i64 %x.apart,
    ptr %y, ptr %z, i64 %z.step) {
entry:
  %pairs = shl i64 %steps, 4
  %y.run = shl i64 %steps, 11
  br label %row
row:
  %m = phi i64 [0, %entry], [%m.next, %row.end]
  %z.at = mul i64 %m, %z.step
  %z.row = getelementptr i8, ptr %z, i64 %z.at
  %x.at = mul i64 %m, %x.step
  %x.row = getelementptr i8, ptr %x, i64 %x.at
  %old = load <32 x float>, ptr %z.row, align 4
  %start = select i1 %again, <32 x float> %old, <32 x float> zeroinitializer
  br label %run
run:
  %q = phi i64 [0, %row], [%q.next, %run.end]
  %before = phi <32 x float> [%start, %row], [%second, %run.end]
  %x.first = mul i64 %q, %x.apart
  %x.here = getelementptr i8, ptr %x.row, i64 %x.first
  %y.first = mul i64 %q, %y.run
  %y.here = getelementptr i8, ptr %y, i64 %y.first
  br label %pair
pair:
  %i = phi i64 [0, %run], [%i.next, %pair]
  %sum = phi <32 x float> [%before, %run], [%second, %pair]
  %x.word = getelementptr i32, ptr %x.here, i64 %i
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
  %y.row = getelementptr i8, ptr %y.here, i64 %y.at
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
  br i1 %more, label %pair, label %run.end
run.end:
  %q.next = add i64 %q, 1
  %more.runs = icmp ult i64 %q.next, %runs
  br i1 %more.runs, label %run, label %row.end
row.end:
  store <32 x float> %second, ptr %z.row, align 4
  %m.next = add i64 %m, 1
  %more.rows = icmp ult i64 %m.next, 32
  br i1 %more.rows, label %row, label %done
done:
  ret void
}
"""

# The four products of the terms, a step at a time.
_PLAIN_SPLIT = """
define private void @split_block(i64 %runs, i64 %steps, i1 %again, ptr %x, i64 %x.step,
    i64 %x.apart, ptr %y, ptr %z, i64 %z.step) {
entry:
  %last = shl i64 %steps, 2
  %y.run = shl i64 %steps, 12
  br label %run
run:
  %q = phi i64 [0, %entry], [%q.next, %run.end]
  %x.start = mul i64 %q, %x.apart
  %x.run = getelementptr i8, ptr %x, i64 %x.start
  %y.start = mul i64 %q, %y.run
  %y.all = getelementptr i8, ptr %y, i64 %y.start
  br label %one
one:
  %i = phi i64 [0, %run], [%i.next, %one]
  %s = lshr i64 %i, 2
  %x.term = and i64 %i, 1
  %twice = and i64 %i, 2
  %x.at = shl i64 %s, 7
  %x.first = getelementptr i8, ptr %x.run, i64 %x.at
  %x.term.at = shl i64 %x.term, 6
  %x.here = getelementptr i8, ptr %x.first, i64 %x.term.at
  %y.at = shl i64 %s, 12
  %y.first = getelementptr i8, ptr %y.all, i64 %y.at
  %y.apart = shl i64 %twice, 10
  %y.here = getelementptr i8, ptr %y.first, i64 %y.apart
  %earlier = or i64 %i, %q
  %later = icmp ne i64 %earlier, 0
  %adds = or i1 %again, %later
  call void @block(i64 1, i64 1, i1 %adds, ptr %x.here, i64 %x.step, i64 0, ptr %y.here, ptr %z,
    i64 %z.step)
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %last
  br i1 %more, label %one, label %run.end
run.end:
  %q.next = add i64 %q, 1
  %more.runs = icmp ult i64 %q.next, %runs
  br i1 %more.runs, label %run, label %done
done:
  ret void
}
"""
