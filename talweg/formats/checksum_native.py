"""CRC-32C by the processor's own instruction, where it has one and llvmlite is there.

The function is a few instructions of LLVM: eight bytes a step, then one by one.  It is compiled
when much is to be summed (`checksum.py` decides), which takes a few milliseconds.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from talweg.kernels.native import engine

_TEXT = """
declare {wide} @{by_eight}({wide}, i64)
declare i32 @{by_one}(i32, {byte})
define i32 @checksum(ptr %data, i64 %count, i32 %start) {{
entry:
  %eights = lshr i64 %count, 3
  %first = {to_wide}
  br label %eight_test
eight_test:
  %i = phi i64 [0, %entry], [%i_next, %eight]
  %sum = phi {wide} [%first, %entry], [%sum_next, %eight]
  %more = icmp ult i64 %i, %eights
  br i1 %more, label %eight, label %rest
eight:
  %place = getelementptr i64, ptr %data, i64 %i
  %word = load i64, ptr %place, align 1
  %sum_next = call {wide} @{by_eight}({wide} %sum, i64 %word)
  %i_next = add i64 %i, 1
  br label %eight_test
rest:
  %short = {from_wide}
  %done = shl i64 %eights, 3
  br label %one_test
one_test:
  %j = phi i64 [%done, %rest], [%j_next, %one]
  %total = phi i32 [%short, %rest], [%total_next, %one]
  %left = icmp ult i64 %j, %count
  br i1 %left, label %one, label %end
one:
  %spot = getelementptr i8, ptr %data, i64 %j
  %loaded = load i8, ptr %spot
  %item = {to_byte}
  %total_next = call i32 @{by_one}(i32 %total, {byte} %item)
  %j_next = add i64 %j, 1
  br label %one_test
end:
  ret i32 %total
}}
"""
_KINDS = {
    "x86_64": (
        "sse4.2",
        {
            "wide": "i64",
            "byte": "i8",
            "by_eight": "llvm.x86.sse42.crc32.64.64",
            "by_one": "llvm.x86.sse42.crc32.32.8",
            "to_wide": "zext i32 %start to i64",
            "from_wide": "trunc i64 %sum to i32",
            "to_byte": "add i8 %loaded, 0",
        },
    ),
    "aarch64": (
        "crc",
        {
            "wide": "i32",
            "byte": "i32",
            "by_eight": "llvm.aarch64.crc32cx",
            "by_one": "llvm.aarch64.crc32cb",
            "to_wide": "add i32 %start, 0",
            "from_wide": "add i32 %sum, 0",
            "to_byte": "zext i8 %loaded to i32",
        },
    ),
}


@cache
def native_checksum() -> Callable[[Any, int], int] | None:
    """Make a native function of bytes and a register that gives the register after them; None if
    there is none.

    The register is as it is inside: the caller complements it before and after.
    """
    known = engine.processor()
    if known is None:
        return None
    triple, features = known
    kind = _KINDS.get("aarch64" if triple.startswith("arm64") else triple.split("-")[0])
    if kind is None or not features.get(kind[0], False):
        return None
    addresses = engine.addresses(_TEXT.format(**kind[1]), ("checksum",))
    if addresses is None:
        return None
    kinds = [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_int64, ctypes.c_uint32]
    entry = ctypes.CFUNCTYPE(*kinds)(addresses["checksum"])
    return lambda data, register: entry(bytes(data), len(data), register)
