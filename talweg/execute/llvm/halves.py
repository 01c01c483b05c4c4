"""Conversions of 16-bit floats for processors without instructions for it (x86-64 without F16C).

LLVM calls these functions there, under the names of its runtime library (compiler-rt), which is
not in the process.  They become part of each module that has halves in it (`jit.parse`).  All round
to the nearest, ties to even; NaN stays NaN, quiet, with the first bits of its payload.

A half is a sign, 5 bits of exponent (bias 15) and 10 of significand.  A number below 2^-14, the
smallest normal one, is rounded to a multiple of 2^-24 by adding a power of two whose last place
that is.  Source: IEEE 754-2019, 4.3.1 and 6.2.3.
"""

from __future__ import annotations

TYPE = "half"  # as modules name it
_EXTEND = """
define weak_odr float @__extendhfsf2(half %x) {
  %short = bitcast half %x to i16
  %bits = zext i16 %short to i32
  %sign = and i32 %bits, 32768
  %sign.at = shl i32 %sign, 16
  %size = and i32 %bits, 32767
  %wide = shl i32 %size, 13
  %normal = add i32 %wide, 939524096
  %special = or i32 %wide, 2139095040
  %is.nan = icmp ugt i32 %size, 31744
  %quiet = select i1 %is.nan, i32 4194304, i32 0
  %special.quiet = or i32 %special, %quiet
  %units = uitofp i32 %size to float
  %small = fmul float %units, 0x3E70000000000000
  %small.bits = bitcast float %small to i32
  %is.special = icmp uge i32 %size, 31744
  %is.small = icmp ult i32 %size, 1024
  %large = select i1 %is.special, i32 %special.quiet, i32 %normal
  %found = select i1 %is.small, i32 %small.bits, i32 %large
  %signed = or i32 %found, %sign.at
  %result = bitcast i32 %signed to float
  ret float %result
}
"""

# $F: the float's LLVM type and letter; $I its bits; the numbers follow from its format.
_TRUNCATE = """
define weak_odr half @__trunc$Lfhf2($F %x) {
  %bits = bitcast $F %x to $I
  %top = lshr $I %bits, $TO_SIGN
  %sign = and $I %top, 32768
  %size = and $I %bits, $SIZE
  %plain = bitcast $I %size to $F
  %moved = fadd $F %plain, $MAGIC
  %moved.bits = bitcast $F %moved to $I
  %magic.bits = bitcast $F $MAGIC to $I
  %small = sub $I %moved.bits, %magic.bits
  %last = lshr $I %size, $LOST
  %odd = and $I %last, 1
  %half = add $I %size, $BELOW_HALF
  %rounded = add $I %half, %odd
  %kept = lshr $I %rounded, $LOST
  %normal = sub $I %kept, $BIAS
  %payload = and $I %last, 1023
  %nan = or $I %payload, 32256
  %is.small = icmp ult $I %size, $SMALLEST
  %is.large = icmp uge $I %size, $LARGEST
  %is.nan = icmp ugt $I %size, $INFINITY
  %finite = select i1 %is.small, $I %small, $I %normal
  %number = select i1 %is.large, $I 31744, $I %finite
  %found = select i1 %is.nan, $I %nan, $I %number
  %signed = or $I %found, %sign
  %short = trunc $I %signed to i16
  %result = bitcast i16 %short to half
  ret half %result
}
"""


def _truncation(letter: str, kind: str, bits: int, significand: int, magic: str) -> str:
    """Return a conversion to halves, of floats with `significand` bits after the point."""
    bias = (1 << (bits - significand - 2)) - 1
    lost = significand - 10
    largest = ((bias + 15) << significand) + (2047 << (significand - 11))  # 65520
    values = {
        "$LOST": lost,
        "$LARGEST": largest,
        "$L": letter,
        "$F": kind,
        "$INFINITY": ((2 * bias + 1) << significand),
        "$I": f"i{bits}",
        "$TO_SIGN": bits - 16,
        "$SIZE": (1 << (bits - 1)) - 1,
        "$SMALLEST": (bias - 14) << significand,
        "$MAGIC": magic,
        "$BELOW_HALF": (1 << (lost - 1)) - 1,
        "$BIAS": (bias - 15) << 10,
    }
    text = _TRUNCATE
    for name, value in values.items():
        text = text.replace(name, str(value))
    return text


TEXT = (
    _EXTEND
    + _truncation("s", "float", 32, 23, "0x3FE0000000000000")  # 0.5: its last place is 2^-24
    + _truncation("d", "double", 64, 52, "0x41B0000000000000")  # 2^28
)
