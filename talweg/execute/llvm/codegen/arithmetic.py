"""Code generation of scalar functions: LLVM instructions of one or several lanes.

Floats are contracted (x y + z may be rounded once) and nothing else: NaN, infinity and the sign of
zero are kept.  Integer division by zero gives 0, shifts may be longer than the number.
"""

from __future__ import annotations

from talweg.core.dtypes import DType
from talweg.execute.llvm.codegen.builder import IRBuilder, IRValue
from talweg.execute.llvm.codegen.types import (
    BITS,
    SHORT,
    floating,
    is_signed,
    register,
    suffix,
    vector,
)

_FLOAT = {"add": "fadd contract", "sub": "fsub contract", "mul": "fmul contract"}
_FLOAT |= {"div": "fdiv"}
_INTEGER = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}
_LOGICAL = {"logical_and": "and", "logical_or": "or", "and": "and", "or": "or", "xor": "xor"}
_LOGICAL |= {"maximum": "or", "minimum": "and", "mul": "and", "add": "or"}
_INTRINSIC = {
    "maximum": "maximum",
    "minimum": "minimum",
    "copysign": "copysign",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "rint",
    "sqrt": "sqrt",
    "abs": "fabs",
    "fma": "fmuladd",
}


def binary(code: IRBuilder, word: str, x: IRValue, y: IRValue, kind: str) -> IRValue:
    """Emit an instruction of two operands of one type."""
    lanes = x.lanes if x.lanes >= y.lanes else y.lanes
    depth = x.depth if x.depth >= y.depth else y.depth
    left = x.text if x.lanes == lanes else code.spread(x, lanes, kind)
    right = y.text if y.lanes == lanes else code.spread(y, lanes, kind)
    return code.compute(f"{word} {vector(kind, lanes)} {left}, {right}", lanes, depth)


def unary(code: IRBuilder, word: str, x: IRValue, kind: str) -> IRValue:
    """Emit an instruction of one operand."""
    return code.compute(f"{word} {vector(kind, x.lanes)} {x.text}", x.lanes, x.depth)


def convert(code: IRBuilder, word: str, x: IRValue, source: str, target: str) -> IRValue:
    """Emit a conversion."""
    lanes = x.lanes
    text = f"{word} {vector(source, lanes)} {x.text} to {vector(target, lanes)}"
    return code.compute(text, lanes, x.depth)


def select(code: IRBuilder, condition: IRValue, x: IRValue, y: IRValue, kind: str) -> IRValue:
    """Emit a selection, lane by lane; a condition of one lane chooses for all."""
    if condition.text in ("true", "false"):
        return x if condition.text == "true" else y
    lanes = max(condition.lanes, x.lanes, y.lanes)
    depth = max(condition.depth, x.depth, y.depth)
    types = vector(kind, lanes)
    left, right = code.spread(x, lanes, kind), code.spread(y, lanes, kind)
    if condition.lanes > 1:
        condition = code.spread_value(condition, lanes, "i1")
    flags = vector("i1", condition.lanes)
    text = f"select {flags} {condition.text}, {types} {left}, {types} {right}"
    return code.compute(text, lanes, depth)


def intrinsic(
    code: IRBuilder, name: str, operands: list[IRValue], kind: str, end: str = ""
) -> IRValue:
    """Emit a call of an LLVM intrinsic whose operands and result are of one type."""
    lanes = max([operand.lanes for operand in operands])
    depth = max([operand.depth for operand in operands])
    types = vector(kind, lanes)
    texts = ", ".join([f"{types} {code.spread(operand, lanes, kind)}" for operand in operands])
    flags = "nsz " if name in ("maximum", "minimum") else ""
    flags = "contract " if name == "fmuladd" else flags
    full = f"call {flags}{types} @llvm.{name}.{suffix(kind, lanes)}({texts}{end})"
    return code.compute(full, lanes, depth)


def combine(code: IRBuilder, op: str, x: IRValue, y: IRValue, kind: str, signed: bool) -> IRValue:
    """Emit the combination `op` (one of COMBINE) of updates and reductions, on type `kind`."""
    if kind == "i1":
        return binary(code, _LOGICAL[op], x, y, kind)
    if kind in SHORT:
        if op in _FLOAT:
            return binary(code, _FLOAT[op], x, y, kind)
        return intrinsic(code, op, [x, y], kind)
    if op in _INTEGER:
        return binary(code, op, x, y, kind)
    return intrinsic(code, ("s" if signed else "u") + op[:3], [x, y], kind)


def function(code: IRBuilder, op: str, operands: list[IRValue], dtype: DType) -> IRValue | None:
    """Emit a function of `lower/ir/scalars.py` on operands of `dtype`; None for others."""
    kind = register(dtype)
    if kind == "i1":
        return _of_bools(code, op, operands)
    if kind in SHORT:
        return _of_floats(code, op, operands, kind)
    return _of_integers(code, op, operands, kind, is_signed(dtype))


def _of_bools(code: IRBuilder, op: str, operands: list[IRValue]) -> IRValue | None:
    if op in ("logical_not", "not"):
        return binary(code, "xor", operands[0], IRValue("true"), "i1")
    if op in _LOGICAL:
        return binary(code, _LOGICAL[op], operands[0], operands[1], "i1")
    return None


def _of_floats(code: IRBuilder, op: str, operands: list[IRValue], kind: str) -> IRValue | None:
    if op in _FLOAT:
        return binary(code, _FLOAT[op], operands[0], operands[1], kind)
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
        return binary(code, word, size, IRValue(floating(float("inf"))), kind)
    return None


def _of_integers(
    code: IRBuilder, op: str, operands: list, kind: str, signed: bool
) -> IRValue | None:
    x, y = operands[0], operands[-1]
    if op in _INTEGER:
        return binary(code, op, x, y, kind)
    if op in ("maximum", "minimum"):
        return combine(code, op, x, y, kind, signed)
    if op == "neg":
        return binary(code, "sub", IRValue("0"), x, kind)
    if op == "not":
        return binary(code, "xor", x, IRValue("-1"), kind)
    if op == "abs":
        return intrinsic(code, "abs", [x], kind, ", i1 false") if signed else x
    if op == "fma":
        return binary(code, "add", binary(code, "mul", x, operands[1], kind), y, kind)
    if op in ("shift_left", "shift_right"):
        return _shift(code, op, x, y, kind, signed)
    if op in ("floor_div", "remainder"):
        return _divide(code, op, x, y, kind, signed)
    return None


def _shift(code: IRBuilder, op: str, x: IRValue, y: IRValue, kind: str, signed: bool) -> IRValue:
    """Emit a shift by any amount; a negative one counts as a huge one."""
    bits = BITS[kind]
    if op == "shift_right" and signed:
        y = intrinsic(code, "umin", [y, IRValue(str(bits - 1))], kind)
        return binary(code, "ashr", x, y, kind)
    made = binary(code, "shl" if op == "shift_left" else "lshr", x, y, kind)
    fits = binary(code, "icmp ult", y, IRValue(str(bits)), kind)
    return select(code, fits, made, IRValue("0"), kind)


def _divide(code: IRBuilder, op: str, x: IRValue, y: IRValue, kind: str, signed: bool) -> IRValue:
    """Emit x // y or x % y, rounded down; 0 for y = 0, and no trap."""
    zero = IRValue("0")
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
        minus = binary(code, "icmp eq", y, IRValue("-1"), kind)
        unsafe = binary(code, "or", absent, minus, "i1")
    quotient = _divide_safe(code, op, x, select(code, unsafe, IRValue("1"), y, kind), kind, signed)
    if op == "remainder":  # by 1, instead of 0 or -1, is 0
        return quotient
    if signed:
        quotient = select(code, minus, binary(code, "sub", zero, x, kind), quotient, kind)
    return select(code, absent, zero, quotient, kind)


def _divide_safe(
    code: IRBuilder, op: str, x: IRValue, y: IRValue, kind: str, signed: bool
) -> IRValue:
    """Emit a division by a number not 0, nor -1 if the result might overflow."""
    if max(x.lanes, y.lanes) > 1 and BITS[kind] < 64 and y.text[0] == "%":
        return _divide_floats(code, op, x, y, kind, signed)
    if not signed:
        return binary(code, "udiv" if op == "floor_div" else "urem", x, y, kind)
    zero = IRValue("0")
    rest = binary(code, "srem", x, y, kind)
    differs = binary(code, "icmp slt", binary(code, "xor", rest, y, kind), zero, kind)
    inexact = binary(code, "icmp ne", rest, zero, kind)
    down = binary(code, "and", differs, inexact, "i1")
    if op == "remainder":
        return select(code, down, binary(code, "add", rest, y, kind), rest, kind)
    part = binary(code, "sdiv", x, y, kind)
    return binary(code, "add", part, convert(code, "sext", down, "i1", kind), kind)


def _divide_floats(
    code: IRBuilder, op: str, x: IRValue, y: IRValue, kind: str, signed: bool
) -> IRValue:
    """Emit an integer division by floats, since vectors have no other.

    x / y is not nearer than 1 / |y| to a whole number unless it is one, and the rounding error is
    below 2^(bits - digits) / |y|: so rounding down gives the true quotient.
    """
    wide = "double" if BITS[kind] == 32 else "float"
    word = "si" if signed else "ui"
    x_float, y_float = [convert(code, word + "tofp", value, kind, wide) for value in (x, y)]
    quotient = intrinsic(code, "floor", [binary(code, "fdiv", x_float, y_float, wide)], wide)
    middle = kind if BITS[kind] == 32 else "i32"
    as_integer = convert(
        code, "fptosi" if BITS[kind] < 32 else f"fpto{word}", quotient, wide, middle
    )
    if middle != kind:
        as_integer = convert(code, "trunc", as_integer, middle, kind)
    if op == "floor_div":
        return as_integer
    return binary(code, "sub", x, binary(code, "mul", as_integer, y, kind), kind)
