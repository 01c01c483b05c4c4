"""An embedded language for formulas, printed as LLVM IR for vectors of any number of lanes.

A `Block` collects the instructions of one function of float32 or float64 lanes; a `Value` is one
of its results and has Python's operators, so that a function of vector_math_*.py reads like its
formula.  Comparisons are ordered: false where an operand is NaN.  Nothing here is reassociated or
contracted: where a multiplication and an addition are to be rounded once, the formula says `fma`,
and many rely on that.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from talweg.core.dtypes import DType, float64

Operand = Any  # a Value, or a Python number


class VectorValue:
    """A value in a block: a vector (one lane: a scalar) of `element`s, an LLVM type."""

    __slots__ = ("block", "element", "name")

    def __init__(self, block: FormulaBuilder, name: str, element: str):
        self.block, self.name, self.element = block, name, element

    def _binary(self, other: Operand, number: str, integer: str = "") -> VectorValue:
        block = self.block
        code = number if self.element == block.number else integer
        return block.emit(
            self.element,
            f"{code} {block.type(self.element)} {self.name}, {block.operand(other, self.element)}",
        )

    def _compare(self, code: str, other: Operand) -> VectorValue:
        block = self.block
        signed = "" if code in ("eq", "ne") else "s"
        kind = "fcmp o" if self.element == block.number else f"icmp {signed}"
        return block.emit(
            "i1",
            f"{kind}{code} {block.type(self.element)} {self.name}, "
            f"{block.operand(other, self.element)}",
        )

    def __add__(self, other: Operand) -> VectorValue:
        return self._binary(other, "fadd", "add")

    def __sub__(self, other: Operand) -> VectorValue:
        return self._binary(other, "fsub", "sub")

    def __mul__(self, other: Operand) -> VectorValue:
        return self._binary(other, "fmul", "mul")

    def __truediv__(self, other: Operand) -> VectorValue:
        return self._binary(other, "fdiv")

    def __radd__(self, other: Operand) -> VectorValue:
        return self + other

    def __rsub__(self, other: Operand) -> VectorValue:
        return self.block.constant(other, self.element) - self

    def __rmul__(self, other: Operand) -> VectorValue:
        return self * other

    def __rtruediv__(self, other: Operand) -> VectorValue:
        return self.block.constant(other, self.element) / self

    def __neg__(self) -> VectorValue:
        return self.block.emit(self.element, f"fneg {self.block.type(self.element)} {self.name}")

    def __and__(self, other: Operand) -> VectorValue:
        return self._binary(other, "", "and")

    def __or__(self, other: Operand) -> VectorValue:
        return self._binary(other, "", "or")

    def __xor__(self, other: Operand) -> VectorValue:
        return self._binary(other, "", "xor")

    def __invert__(self) -> VectorValue:
        return self ^ -1

    def __lshift__(self, other: Operand) -> VectorValue:
        return self._binary(other, "", "shl")

    def __rshift__(self, other: Operand) -> VectorValue:
        """Emit the logical shift: AVX2 has no arithmetic one of 64 bits."""
        return self._binary(other, "", "lshr")

    def __lt__(self, other: Operand) -> VectorValue:
        return self._compare("lt", other)

    def __le__(self, other: Operand) -> VectorValue:
        return self._compare("le", other)

    def __gt__(self, other: Operand) -> VectorValue:
        return self._compare("gt", other)

    def __ge__(self, other: Operand) -> VectorValue:
        return self._compare("ge", other)

    def equals(self, other: Operand) -> VectorValue:
        """Return self == other, as a mask."""
        return self._compare("eq", other)

    def differs(self, other: Operand) -> VectorValue:
        """Return self != other, as a mask; false where one is NaN."""
        return self._compare("ne", other)


class FormulaBuilder:
    """The builder of one function; `single` says whether numbers are float32.

    `mantissa` and `bias` are those of the format, `smallest` its smallest normal number, `largest`
    its largest finite one.  `definitions` are further functions that this one calls.
    """

    def __init__(self, dtype: DType, lanes: int):
        self.dtype, self.lanes = dtype, lanes
        self.single = dtype.size == 4
        self.number, self.integer = ("float", "i32") if self.single else ("double", "i64")
        self.mantissa, self.bias = (23, 127) if self.single else (52, 1023)
        self.smallest = 2.0 ** (1 - self.bias)
        self.largest = 2.0**self.bias * (2 - 2.0**-self.mantissa)
        self.bits_wide = 8 * dtype.size
        self.sign = -(1 << (self.bits_wide - 1))
        self.lines: list[str] = []
        self.labels = ["entry"]
        self.definitions: dict[str, str] = {}

    def widen(self) -> FormulaBuilder:
        """Make a builder of float64 numbers within this one; `wide.take(x)` converts."""
        wide = FormulaBuilder(float64, self.lanes)
        wide.lines, wide.labels, wide.definitions = self.lines, self.labels, self.definitions
        return wide

    def type(self, element: str) -> str:
        """Return the LLVM type of a value of these elements."""
        return element if self.lanes == 1 else f"<{self.lanes} x {element}>"

    def emit(self, element: str, text: str) -> VectorValue:
        """Emit an instruction and return its result."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return VectorValue(self, name, element)

    def _number_text(self, value: float, element: str) -> str:
        if element == "float":
            value = struct.unpack("f", struct.pack("f", value))[0]
        return f"0x{struct.unpack('Q', struct.pack('d', value))[0]:016X}"

    def operand(self, value: Operand, element: str) -> str:
        """Return the text of an operand without its type."""
        if isinstance(value, VectorValue):
            return value.name
        if element in ("float", "double"):
            text = self._number_text(float(value), element)
        else:
            text = str(int(value)) if element != "i1" else ("true" if value else "false")
        return text if self.lanes == 1 else f"splat ({element} {text})"

    def constant(self, value: Operand, element: str = "") -> VectorValue:
        """Return a number as a value."""
        if isinstance(value, VectorValue):
            return value
        element = element or self.number
        return VectorValue(self, self.operand(value, element), element)

    def _intrinsic(self, name: str, *operands: Operand) -> VectorValue:
        kind = self.type(self.number)
        suffix = "f32" if self.single else "f64"
        suffix = suffix if self.lanes == 1 else f"v{self.lanes}{suffix}"
        listed = ", ".join(f"{kind} {self.operand(x, self.number)}" for x in operands)
        return self.emit(self.number, f"call {kind} @llvm.{name}.{suffix}({listed})")

    def fma(self, x: Operand, y: Operand, z: Operand) -> VectorValue:
        """Emit x y + z, rounded once."""
        return self._intrinsic("fma", x, y, z)

    def sqrt(self, x: VectorValue) -> VectorValue:
        """Return the square root, correctly rounded."""
        return self._intrinsic("sqrt", x)

    def abs(self, x: VectorValue) -> VectorValue:
        """Emit |x|."""
        return self._intrinsic("fabs", x)

    def trunc(self, x: VectorValue) -> VectorValue:
        """Round x towards 0."""
        return self._intrinsic("trunc", x)

    def copysign(self, x: Operand, sign: VectorValue) -> VectorValue:
        """Emit |x| with the sign of `sign`."""
        return self._intrinsic("copysign", x, sign)

    def select(self, mask: VectorValue, x: Operand, y: Operand) -> VectorValue:
        """Select x where the mask is true, y elsewhere."""
        first = x if isinstance(x, VectorValue) else y
        element = first.element if isinstance(first, VectorValue) else self.number
        kind, test = self.type(element), f"{self.type('i1')} {mask.name}"
        pair = f"{kind} {self.operand(x, element)}, {kind} {self.operand(y, element)}"
        return self.emit(element, f"select {test}, {pair}")

    def at_most(self, x: VectorValue, limit: Operand) -> VectorValue:
        """Emit the smaller one; NaN where x is."""
        return self.select(x > limit, limit, x)

    def at_least(self, x: VectorValue, limit: Operand) -> VectorValue:
        """Emit the larger one; NaN where x is."""
        return self.select(x < limit, limit, x)

    def is_nan(self, x: VectorValue) -> VectorValue:
        """Return whether x is NaN."""
        return self.emit("i1", f"fcmp uno {self.type(x.element)} {x.name}, {x.name}")

    def _cast(self, code: str, x: VectorValue, element: str) -> VectorValue:
        return self.emit(element, f"{code} {self.type(x.element)} {x.name} to {self.type(element)}")

    def bits(self, x: VectorValue) -> VectorValue:
        """Return the bits of a number as an integer."""
        return self._cast("bitcast", x, self.integer)

    def of_bits(self, x: VectorValue) -> VectorValue:
        """Return the number of these bits."""
        return self._cast("bitcast", x, self.number)

    def bits_of(self, value: float) -> int:
        """Return the bits of a Python number in this format."""
        code = "fi" if self.single else "dq"
        return struct.unpack(code[1], struct.pack(code[0], value))[0]

    def take(self, x: VectorValue) -> VectorValue:
        """Return a number of the other format in this one."""
        if x.element == self.number:
            return x
        return self._cast("fptrunc" if self.single else "fpext", x, self.number)

    def polynomial(self, x: VectorValue, coefficients: Sequence[Operand]) -> VectorValue:
        """Evaluate a polynomial, coefficients lowest power first (Horner's scheme)."""
        *rest, value = coefficients
        for coefficient in reversed(rest):
            value = self.fma(value, x, coefficient)
        return value

    def polynomial_in_halves(self, x: VectorValue, coefficients: Sequence[Operand]) -> VectorValue:
        """Evaluate even(x²) + x odd(x²): half the latency, a little less exact.

        Knuth, "The Art of Computer Programming", 4.6.4.
        """
        square = x * x
        even, odd = [self.polynomial(square, coefficients[first::2]) for first in (0, 1)]
        return self.fma(odd, x, even)

    def two_sum(self, x: Operand, y: Operand) -> tuple[VectorValue, VectorValue]:
        """Return x + y rounded, and the rounding error (Knuth's algorithm)."""
        x, y = self.constant(x), self.constant(y)
        total = x + y
        second = total - x
        return total, (x - (total - second)) + (y - second)

    def ones(self, mask: VectorValue) -> VectorValue:
        """Emit 1 where the mask is true, 0 elsewhere."""
        return self.select(mask, self.constant(1.0), 0.0)

    def patch(
        self, mask: VectorValue, function: str, operands: list[VectorValue], usual: VectorValue
    ) -> VectorValue:
        """Emit `usual`, but function(*operands) where the mask (hardly ever true) holds."""
        flag = mask.name
        if self.lanes > 1:
            kind = self.type("i1")
            reduce = f"call i1 @llvm.vector.reduce.or.v{self.lanes}i1({kind} {flag})"
            flag = self.emit("i1", reduce).name
        flag = self.emit("i1", f"call i1 @llvm.expect.i1(i1 {flag}, i1 false)").name
        kind, before, number = self.type(self.number), self.labels[-1], len(self.labels)
        self.lines.append(f"br i1 {flag}, label %rare{number}, label %done{number}")
        self.lines.append(f"rare{number}:")
        listed = ", ".join(f"{kind} {x.name}" for x in operands)
        slow = self.emit(self.number, f"call {kind} @{function}({listed})")
        mixed = self.select(mask, slow, usual)
        self.lines.append(f"br label %done{number}")
        self.lines.append(f"done{number}:")
        self.labels.append(f"done{number}")
        return self.emit(
            self.number, f"phi {kind} [ {usual.name}, %{before} ], [ {mixed.name}, %rare{number} ]"
        )

    def function(
        self, name: str, operands: Sequence[VectorValue], result: VectorValue, how: str
    ) -> str:
        """Return the text of the whole function; `how` are its attributes."""
        kind = self.type(self.number)
        listed = ", ".join(f"{kind} {x.name}" for x in operands)
        body = "\n".join(line if line.endswith(":") else f"  {line}" for line in self.lines)
        return (
            f"define internal {kind} @{name}({listed}) {how} {{\n"
            f"entry:\n{body}\n  ret {kind} {result.name}\n}}\n"
        )
