"""Code generation of casts, and of conversions between memory and registers."""

from __future__ import annotations

from talweg.core.dtypes import DType
from talweg.execute.llvm.codegen.arithmetic import binary, convert, intrinsic, select
from talweg.execute.llvm.codegen.builder import IRBuilder, IRValue
from talweg.execute.llvm.codegen.types import (
    BITS,
    MEMORY,
    SHORT,
    floating,
    is_signed,
    register,
    suffix,
    vector,
)

HALVES = ("float16", "bfloat16")


def cast(code: IRBuilder, x: IRValue, source: DType, target: DType) -> IRValue:
    """Emit a C conversion; float to integer saturates and gives 0 for NaN."""
    if source is target:
        return x
    before, after = register(source), register(target)
    if after not in SHORT:
        x = as_stored(code, x, source)
    if target.is_bool:
        word = "fcmp une" if before in SHORT else "icmp ne"
        return binary(code, word, x, IRValue(floating(0.0) if before in SHORT else "0"), before)
    if target.name in HALVES:
        if before == "double":
            x = _to_odd(code, x)
        elif before not in SHORT:
            x = _from_integer(code, x, source, "float")
        return from_memory(code, to_memory(code, x, target), target)
    if before in SHORT:
        if after in SHORT:
            if before == after:
                return x
            word = "fpext" if after == "double" else "fptrunc"
            return convert(code, word, x, before, after)
        return _saturate(code, x, before, after, is_signed(target))
    if after in SHORT:
        return _from_integer(code, x, source, after)
    if before == after:
        return x
    word = "trunc" if BITS[before] > BITS[after] else "sext" if is_signed(source) else "zext"
    return convert(code, word, x, before, after)


def _from_integer(code: IRBuilder, x: IRValue, source: DType, after: str) -> IRValue:
    word = "sitofp" if is_signed(source) else "uitofp"
    return convert(code, word, x, register(source), after)


def _saturate(code: IRBuilder, x: IRValue, before: str, after: str, signed: bool) -> IRValue:
    bits, lanes = BITS[after], x.lanes
    if lanes == 1 or bits == 64:  # what LLVM makes of this is slow for vectors
        sign = "s" if signed else "u"
        name = f"llvm.fpto{sign}i.sat.{suffix(after, lanes)}.{suffix(before, lanes)}"
        text = f"call {vector(after, lanes)} @{name}({vector(before, lanes)} {x.text})"
        return code.compute(text, lanes, x.depth)
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)
    last = high - 1 if bits < 32 or before == "double" else high - (128 if signed else 256)
    bottom, top = IRValue(floating(float(low))), IRValue(floating(float(last)))
    inside = select(code, binary(code, "fcmp ogt", x, bottom, before), x, bottom, before)
    inside = select(code, binary(code, "fcmp olt", inside, top, before), inside, top, before)
    word = "fptosi" if signed or bits < 32 else "fptoui"
    in_range = convert(code, word, inside, before, "i32")
    if last != high - 1:
        beyond = binary(code, "fcmp oge", x, IRValue(floating(float(high))), before)
        in_range = select(code, beyond, IRValue(str((high - 1) if signed else -1)), in_range, "i32")
    if signed:
        in_range = select(
            code, binary(code, "fcmp uno", x, x, before), IRValue("0"), in_range, "i32"
        )
    return in_range if bits == 32 else convert(code, "trunc", in_range, "i32", after)


def _to_odd(code: IRBuilder, x: IRValue) -> IRValue:
    """Convert float64 to float32 by rounding to odd, so that a second rounding is exact."""
    short = convert(code, "fptrunc", x, "double", "float")
    back = convert(code, "fpext", short, "float", "double")
    bits = convert(code, "bitcast", short, "float", "i32")
    inexact = binary(code, "fcmp one", back, x, "double")
    even = binary(
        code, "icmp eq", binary(code, "and", bits, IRValue("1"), "i32"), IRValue("0"), "i32"
    )
    size_back, size = [intrinsic(code, "fabs", [y], "double") for y in (back, x)]
    above = binary(code, "fcmp ogt", size_back, size, "double")
    step = select(code, above, IRValue("-1"), IRValue("1"), "i32")
    if step.lanes < x.lanes:
        step = code.spread_value(step, x.lanes, "i32")
    moved = binary(code, "add", bits, step, "i32")
    change = binary(code, "and", inexact, even, "i1")
    return convert(code, "bitcast", select(code, change, moved, bits, "i32"), "i32", "float")


def from_memory(code: IRBuilder, x: IRValue, dtype: DType) -> IRValue:
    """Convert a loaded element to the value of an expression.

    Of a short float it is known by which stored one it was made: that is what is stored again.
    """
    name = dtype.name
    if name == "bool":
        return binary(code, "icmp ne", x, IRValue("0"), "i8")
    if name == "float16":
        single = convert(code, "fpext", x, "half", "float")
    elif name == "bfloat16":
        wide = convert(code, "zext", x, "i16", "i32")
        bits = binary(code, "shl", wide, IRValue("16"), "i32")
        single = convert(code, "bitcast", bits, "i32", "float")
    else:
        return x
    code.stored[single.text] = name, x
    return single


def to_memory(code: IRBuilder, x: IRValue, dtype: DType) -> IRValue:
    """Convert the value of an expression to its stored form."""
    name = dtype.name
    known = code.stored.get(x.text)
    if known is not None and known[0] == name:
        return known[1]
    if name == "bool":
        if x.text in ("true", "false"):
            return IRValue("1" if x.text == "true" else "0")
        return convert(code, "zext", x, "i1", "i8")
    if name == "float16":
        return convert(code, "fptrunc", x, "float", "half")
    if name == "bfloat16":
        symbol = code.library.rounding(x.lanes) if code.library is not None else None
        if symbol is not None:
            call = f"call {vector('i16', x.lanes)} @{symbol}({vector('float', x.lanes)} {x.text})"
            return code.compute(call, x.lanes, x.depth)
        bits = convert(code, "bitcast", x, "float", "i32")
        high = binary(code, "lshr", bits, IRValue("16"), "i32")
        last = binary(code, "and", high, IRValue("1"), "i32")
        more = binary(code, "add", last, IRValue("32767"), "i32")
        rounded = binary(code, "lshr", binary(code, "add", bits, more, "i32"), IRValue("16"), "i32")
        quiet = binary(code, "or", high, IRValue("64"), "i32")
        absent = binary(code, "fcmp uno", x, x, "float")
        return convert(code, "trunc", select(code, absent, quiet, rounded, "i32"), "i32", "i16")
    return x


def choose(code: IRBuilder, condition: IRValue, x: IRValue, y: IRValue, dtype: DType) -> IRValue:
    """Emit a selection; of short floats as they are stored, if both are: then none is rounded."""
    if dtype.name in HALVES:
        left, right = [_stored_form(code, value, dtype) for value in (x, y)]
        if left is not None and right is not None:
            chosen = select(code, condition, left, right, MEMORY[dtype.name])
            return from_memory(code, chosen, dtype)
    return select(code, condition, x, y, register(dtype))


def _stored_form(code: IRBuilder, x: IRValue, dtype: DType) -> IRValue | None:
    """Return the stored form of a short float, or of a number, if it is at hand."""
    known = code.stored.get(x.text)
    if known is not None:
        return known[1] if known[0] == dtype.name else None
    return to_memory(code, x, dtype) if x.lanes == 1 and x.text[0] != "%" else None


def as_stored(code: IRBuilder, x: IRValue, dtype: DType) -> IRValue:
    """Round the value of an expression to its dtype, as a stored one is.

    Expressions of short floats are computed in float32.  Where a function jumps, the difference
    counts: a maximum that was stored equals none of the elements that it was taken from.
    """
    if dtype.name not in HALVES or x.text[0] != "%":
        return x
    known = code.stored.get(x.text)
    if known is not None and known[0] == dtype.name:
        return x
    return from_memory(code, to_memory(code, x, dtype), dtype)


def bitcast(code: IRBuilder, x: IRValue, source: DType, target: DType) -> IRValue:
    """Reinterpret a stored element as one of another dtype of that size."""
    before, after = MEMORY[source.name], MEMORY[target.name]
    return x if before == after else convert(code, "bitcast", x, before, after)
