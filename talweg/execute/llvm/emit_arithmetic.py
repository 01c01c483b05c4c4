"""Scalar functions as LLVM instructions, of one lane or several.

Floats are contracted (x y + z may be rounded once) and nothing else: NaN, infinity and the sign of
zero are kept.  Integer division by zero gives 0, shifts may be longer than the number.
"""

from __future__ import annotations

from talweg.core.dtypes import DType
from talweg.execute.llvm.emit_code import Code, Value
from talweg.execute.llvm.emit_types import (
    BITS,
    MEMORY,
    SHORT,
    floating,
    is_signed,
    register,
    suffix,
    vector,
)

_FLOAT = {"add": "fadd contract", "sub": "fsub contract", "mul": "fmul contract"}
_FLOAT |= {"div": "fdiv", "fmod": "frem"}
_INTEGER = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}
_LOGICAL = {"logical_and": "and", "logical_or": "or", "and": "and", "or": "or", "xor": "xor"}
_LOGICAL |= {"maximum": "or", "minimum": "and", "mul": "and", "add": "or"}
_INTRINSIC = {
    "maximum": "maximum", "minimum": "minimum", "copysign": "copysign", "floor": "floor",
    "ceil": "ceil", "trunc": "trunc", "rint": "rint", "sqrt": "sqrt", "abs": "fabs",
    "fma": "fmuladd",
}  # fmt: skip


def binary(code: Code, word: str, x: Value, y: Value, kind: str) -> Value:
    """An instruction of two operands of one type."""
    lanes = x.lanes if x.lanes >= y.lanes else y.lanes
    depth = x.depth if x.depth >= y.depth else y.depth
    left = x.text if x.lanes == lanes else code.spread(x, lanes, kind)
    right = y.text if y.lanes == lanes else code.spread(y, lanes, kind)
    return code.compute(f"{word} {vector(kind, lanes)} {left}, {right}", lanes, depth)


def unary(code: Code, word: str, x: Value, kind: str) -> Value:
    """An instruction of one operand."""
    return code.compute(f"{word} {vector(kind, x.lanes)} {x.text}", x.lanes, x.depth)


def convert(code: Code, word: str, x: Value, source: str, target: str) -> Value:
    """A conversion."""
    lanes = x.lanes
    text = f"{word} {vector(source, lanes)} {x.text} to {vector(target, lanes)}"
    return code.compute(text, lanes, x.depth)


def select(code: Code, condition: Value, x: Value, y: Value, kind: str) -> Value:
    """One of two, lane by lane; a condition of one lane chooses for all."""
    if condition.text in ("true", "false"):
        return x if condition.text == "true" else y
    lanes = max(condition.lanes, x.lanes, y.lanes)
    depth = max(condition.depth, x.depth, y.depth)
    types = vector(kind, lanes)
    left, right = code.spread(x, lanes, kind), code.spread(y, lanes, kind)
    flags = vector("i1", condition.lanes)
    text = f"select {flags} {condition.text}, {types} {left}, {types} {right}"
    return code.compute(text, lanes, depth)


def intrinsic(code: Code, name: str, operands: list[Value], kind: str, end: str = "") -> Value:
    """A call of an LLVM intrinsic whose operands and result are of one type."""
    lanes = max([operand.lanes for operand in operands])
    depth = max([operand.depth for operand in operands])
    types = vector(kind, lanes)
    texts = ", ".join([f"{types} {code.spread(operand, lanes, kind)}" for operand in operands])
    flags = "nsz " if name in ("maximum", "minimum") else ""
    flags = "contract " if name == "fmuladd" else flags
    full = f"call {flags}{types} @llvm.{name}.{suffix(kind, lanes)}({texts}{end})"
    return code.compute(full, lanes, depth)


def combine(code: Code, op: str, x: Value, y: Value, kind: str, signed: bool) -> Value:
    """What updates and reductions do: one of the names in COMBINE, on type `kind`."""
    if kind == "i1":
        return binary(code, _LOGICAL[op], x, y, kind)
    if kind in SHORT:
        if op in _FLOAT:
            return binary(code, _FLOAT[op], x, y, kind)
        return intrinsic(code, op, [x, y], kind)
    if op in _INTEGER:
        return binary(code, op, x, y, kind)
    return intrinsic(code, ("s" if signed else "u") + op[:3], [x, y], kind)


def function(code: Code, op: str, operands: list[Value], dtype: DType) -> Value | None:
    """A function of `lower/scalars.py` on operands of `dtype`; None if it is none of these."""
    kind = register(dtype)
    if kind == "i1":
        return _of_bools(code, op, operands)
    if kind in SHORT:
        return _of_floats(code, op, operands, kind)
    return _of_integers(code, op, operands, kind, is_signed(dtype))


def _of_bools(code: Code, op: str, operands: list[Value]) -> Value | None:
    if op in ("logical_not", "not"):
        return binary(code, "xor", operands[0], Value("true"), "i1")
    if op in _LOGICAL:
        return binary(code, _LOGICAL[op], *operands, "i1")
    return None


def _of_floats(code: Code, op: str, operands: list[Value], kind: str) -> Value | None:
    if op in _FLOAT:
        return binary(code, _FLOAT[op], *operands, kind)
    if op in _INTRINSIC:
        return intrinsic(code, _INTRINSIC[op], operands, kind)
    x = operands[0]
    if op == "neg":
        return unary(code, "fneg", x, kind)
    if op == "is_nan":
        return binary(code, "fcmp uno", x, x, kind)
    if op in ("is_inf", "is_finite"):
        size = intrinsic(code, "fabs", [x], kind)
        word = "fcmp oeq" if op == "is_inf" else "fcmp one"
        return binary(code, word, size, Value(floating(float("inf"))), kind)
    return None


def _of_integers(code: Code, op: str, operands: list, kind: str, signed: bool) -> Value | None:
    if op in _INTEGER:
        return binary(code, op, *operands, kind)
    if op in ("maximum", "minimum"):
        return combine(code, op, *operands, kind, signed)
    x = operands[0]
    if op == "neg":
        return binary(code, "sub", Value("0"), x, kind)
    if op == "not":
        return binary(code, "xor", x, Value("-1"), kind)
    if op == "abs":
        return intrinsic(code, "abs", [x], kind, ", i1 false") if signed else x
    if op == "fma":
        return binary(code, "add", binary(code, "mul", *operands[:2], kind), operands[2], kind)
    if op in ("shift_left", "shift_right"):
        return _shift(code, op, *operands, kind, signed)
    if op in ("floor_div", "remainder"):
        return _divide(code, op, *operands, kind, signed)
    return None


def _shift(code: Code, op: str, x: Value, y: Value, kind: str, signed: bool) -> Value:
    """Shifts by any amount; a negative one counts as a huge one."""
    bits = BITS[kind]
    if op == "shift_right" and signed:
        y = intrinsic(code, "umin", [y, Value(str(bits - 1))], kind)
        return binary(code, "ashr", x, y, kind)
    made = binary(code, "shl" if op == "shift_left" else "lshr", x, y, kind)
    fits = binary(code, "icmp ult", y, Value(str(bits)), kind)
    return select(code, fits, made, Value("0"), kind)


def _divide(code: Code, op: str, x: Value, y: Value, kind: str, signed: bool) -> Value:
    """x // y or x % y, rounded down; 0 for y = 0, and no trap."""
    zero = Value("0")
    if y.text[0] != "%" and y.lanes == 1:
        divisor = int(y.text)
        if divisor == 0:
            return zero
        if divisor == -1 and signed:
            return binary(code, "sub", zero, x, kind) if op == "floor_div" else zero
        return _divide_safe(code, op, x, y, kind, signed)
    absent = binary(code, "icmp eq", y, zero, kind)
    unsafe = absent
    if signed:
        minus = binary(code, "icmp eq", y, Value("-1"), kind)
        unsafe = binary(code, "or", absent, minus, "i1")
    made = _divide_safe(code, op, x, select(code, unsafe, Value("1"), y, kind), kind, signed)
    if op == "remainder":  # by 1, instead of 0 or -1, is 0
        return made
    if signed:
        made = select(code, minus, binary(code, "sub", zero, x, kind), made, kind)
    return select(code, absent, zero, made, kind)


def _divide_safe(code: Code, op: str, x: Value, y: Value, kind: str, signed: bool) -> Value:
    if not signed:
        return binary(code, "udiv" if op == "floor_div" else "urem", x, y, kind)
    zero = Value("0")
    rest = binary(code, "srem", x, y, kind)
    differs = binary(code, "icmp slt", binary(code, "xor", rest, y, kind), zero, kind)
    inexact = binary(code, "icmp ne", rest, zero, kind)
    down = binary(code, "and", differs, inexact, "i1")
    if op == "remainder":
        return select(code, down, binary(code, "add", rest, y, kind), rest, kind)
    part = binary(code, "sdiv", x, y, kind)
    return binary(code, "add", part, convert(code, "sext", down, "i1", kind), kind)


# -------------------------------------------------------------------- dtypes


def cast(code: Code, x: Value, source: DType, target: DType) -> Value:
    """C conversion; float to integer saturates and gives 0 for NaN."""
    if source is target:
        return x
    before, after = register(source), register(target)
    if target.is_bool:
        word = "fcmp une" if before in SHORT else "icmp ne"
        return binary(code, word, x, Value(floating(0.0) if before in SHORT else "0"), before)
    if target.name in ("float16", "bfloat16"):
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
        return _saturated(code, x, before, after, is_signed(target))
    if after in SHORT:
        return _from_integer(code, x, source, after)
    if before == after:
        return x
    word = "trunc" if BITS[before] > BITS[after] else "sext" if is_signed(source) else "zext"
    return convert(code, word, x, before, after)


def _from_integer(code: Code, x: Value, source: DType, after: str) -> Value:
    word = "sitofp" if is_signed(source) else "uitofp"
    return convert(code, word, x, register(source), after)


def _saturated(code: Code, x: Value, before: str, after: str, signed: bool) -> Value:
    lanes = x.lanes
    name = f"llvm.fpto{'s' if signed else 'u'}i.sat.{suffix(after, lanes)}.{suffix(before, lanes)}"
    text = f"call {vector(after, lanes)} @{name}({vector(before, lanes)} {x.text})"
    return code.compute(text, lanes, x.depth)


def _to_odd(code: Code, x: Value) -> Value:
    """float64 to float32, inexact results made odd, so that rounding once more rounds right."""
    short = convert(code, "fptrunc", x, "double", "float")
    back = convert(code, "fpext", short, "float", "double")
    bits = convert(code, "bitcast", short, "float", "i32")
    inexact = binary(code, "fcmp one", back, x, "double")
    even = binary(code, "icmp eq", binary(code, "and", bits, Value("1"), "i32"), Value("0"), "i32")
    sizes = [intrinsic(code, "fabs", [y], "double") for y in (back, x)]
    above = binary(code, "fcmp ogt", *sizes, "double")
    step = select(code, above, Value("-1"), Value("1"), "i32")
    if step.lanes < x.lanes:
        step = code.spread_value(step, x.lanes, "i32")
    moved = binary(code, "add", bits, step, "i32")
    change = binary(code, "and", inexact, even, "i1")
    return convert(code, "bitcast", select(code, change, moved, bits, "i32"), "i32", "float")


def from_memory(code: Code, x: Value, dtype: DType) -> Value:
    """An element as loaded, as the value of an expression."""
    name = dtype.name
    if name == "bool":
        return binary(code, "icmp ne", x, Value("0"), "i8")
    if name == "float16":
        return convert(code, "fpext", x, "half", "float")
    if name == "bfloat16":
        wide = convert(code, "zext", x, "i16", "i32")
        return convert(
            code, "bitcast", binary(code, "shl", wide, Value("16"), "i32"), "i32", "float"
        )
    return x


def to_memory(code: Code, x: Value, dtype: DType) -> Value:
    """The value of an expression as it is stored."""
    name = dtype.name
    if name == "bool":
        if x.text in ("true", "false"):
            return Value("1" if x.text == "true" else "0")
        return convert(code, "zext", x, "i1", "i8")
    if name == "float16":
        return convert(code, "fptrunc", x, "float", "half")
    if name == "bfloat16":
        bits = convert(code, "bitcast", x, "float", "i32")
        high = binary(code, "lshr", bits, Value("16"), "i32")
        last = binary(code, "and", high, Value("1"), "i32")
        more = binary(code, "add", last, Value("32767"), "i32")
        rounded = binary(code, "lshr", binary(code, "add", bits, more, "i32"), Value("16"), "i32")
        quiet = binary(code, "or", high, Value("64"), "i32")
        absent = binary(code, "fcmp uno", x, x, "float")
        return convert(code, "trunc", select(code, absent, quiet, rounded, "i32"), "i32", "i16")
    return x


def bitcast(code: Code, x: Value, source: DType, target: DType) -> Value:
    """A stored element as one of another dtype of that size."""
    before, after = MEMORY[source.name], MEMORY[target.name]
    return x if before == after else convert(code, "bitcast", x, before, after)
