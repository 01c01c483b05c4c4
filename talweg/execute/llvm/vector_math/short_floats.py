"""Rounding of float32 to bfloat16 by the processor's instruction (AVX512-BF16).

The instruction rounds to the nearest, ties to even, and keeps the first bits of NaNs, quiet.  But
it takes numbers below the normal range for 0.  Vectors with such a number, which are rare, are
rounded as integers, by a call, so that loops keep no constants for them.  Source: Intel 64 and
IA-32 Architectures Software Developer's Manual, volume 2C, VCVTNEPS2BF16 and VFPCLASSPS.
"""

from __future__ import annotations

LANES = 16  # that the instruction takes
_SYMBOL = "talweg_bfloat16x"
_BASE = """\
declare <16 x bfloat> @llvm.x86.avx512bf16.cvtneps2bf16.512(<16 x float>)
declare <16 x i1> @llvm.x86.avx512.fpclass.ps.512(<16 x float>, i32)
define internal <16 x i16> @talweg_bfloat16_integers(<16 x float> %x) noinline cold nounwind {
entry:
  %bits = bitcast <16 x float> %x to <16 x i32>
  %high = lshr <16 x i32> %bits, splat (i32 16)
  %last = and <16 x i32> %high, splat (i32 1)
  %more = add <16 x i32> %last, splat (i32 32767)
  %sum = add <16 x i32> %bits, %more
  %moved = lshr <16 x i32> %sum, splat (i32 16)
  %quiet = or <16 x i32> %high, splat (i32 64)
  %absent = fcmp uno <16 x float> %x, %x
  %each = select <16 x i1> %absent, <16 x i32> %quiet, <16 x i32> %moved
  %slow = trunc <16 x i32> %each to <16 x i16>
  ret <16 x i16> %slow
}
define internal <16 x i16> @talweg_bfloat16x16(<16 x float> %x) $A {
entry:
  %small = call <16 x i1> @llvm.x86.avx512.fpclass.ps.512(<16 x float> %x, i32 32)
  %any = bitcast <16 x i1> %small to i16
  %none = icmp eq i16 %any, 0
  br i1 %none, label %normal, label %integers
normal:
  %short = call <16 x bfloat> @llvm.x86.avx512bf16.cvtneps2bf16.512(<16 x float> %x)
  %rounded = bitcast <16 x bfloat> %short to <16 x i16>
  br label %done
integers:
  %slow = call <16 x i16> @talweg_bfloat16_integers(<16 x float> %x)
  br label %done
done:
  %found = phi <16 x i16> [%rounded, %normal], [%slow, %integers]
  ret <16 x i16> %found
}
"""


def symbol(lanes: int) -> str:
    """Return the symbol of the function for a multiple of `LANES` numbers."""
    return f"{_SYMBOL}{lanes}"


def define_rounding(lanes: int, attributes: str) -> str:
    """Define the function for so many numbers: of more than `LANES`, by two of half as many."""
    if lanes == LANES:
        return _BASE.replace("$A", attributes)
    half, wide, short = lanes // 2, f"<{lanes} x float>", f"<{lanes // 2} x i16>"
    lines = [f"define internal <{lanes} x i16> @{symbol(lanes)}({wide} %x) {attributes} {{"]
    for name, first in (("low", 0), ("high", half)):
        taken = _numbers(first, half)
        lines.append(f"  %{name} = shufflevector {wide} %x, {wide} poison, {taken}")
        call = f"call {short} @{symbol(half)}(<{half} x float> %{name})"
        lines.append(f"  %{name}.short = {call}")
    joined = f"shufflevector {short} %low.short, {short} %high.short, {_numbers(0, lanes)}"
    return "\n".join([*lines, f"  %found = {joined}", f"  ret <{lanes} x i16> %found", "}\n"])


def _numbers(first: int, count: int) -> str:
    return f"<{count} x i32> <{', '.join(f'i32 {first + k}' for k in range(count))}>"
