"""sin, cos, tan: x = k pi / 2 + r, with pi in three parts and FMA, and a polynomial of r.

The reduction is that of Cody and Waite ("Software Manual for the Elementary Functions", 1980).
k times the first part is exact in an FMA, and so is its difference from x, so that r is right to
about half an ulp also near multiples of pi, up to `LIMIT`.  Above that, a function that is called
only then asks the C library, lane by lane.
"""

from __future__ import annotations

from talweg.execute.llvm.vector_math.builder import FormulaBuilder, VectorValue

LIMIT = {"float32": 2.0**17, "float64": 2.0**28}
HALF_PI = {
    "float32": (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    "float64": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
}
# (sin(r) - r) / r^3 by r^2, |r| <= pi / 4; 2^-27.8, 2^-57.9
SINE = {
    "float32": (-1.6666654e-01, 8.332106e-03, -1.9507883e-04),
    "float64": (
        -0.1666666666666663,
        0.00833333333332184,
        -0.00019841269829358544,
        2.755731353852484e-06,
        -2.5050734391672397e-08,
        1.5895433472242205e-10,
    ),
}
# (cos(r) - 1 + r^2 / 2) / r^4 by r^2, |r| <= pi / 4; 2^-33.1, 2^-64.2
COSINE = {
    "float32": (4.1666646e-02, -1.3887301e-03, 2.443067e-05),
    "float64": (
        0.0416666666666666,
        -0.001388888888887447,
        2.4801587289666875e-05,
        -2.755731439924108e-07,
        2.0875728988209584e-09,
        -1.1359916863152245e-11,
    ),
}
# (tan(r) - r) / r^3 by r^2, |r| <= pi / 4; 2^-29.6, 2^-56.2
TANGENT = {
    "float32": (
        3.333335e-01,
        1.3332675e-01,
        5.4058913e-02,
        2.1286208e-02,
        1.0827444e-02,
        9.824663e-05,
        4.372696e-03,
    ),
    "float64": (
        0.33333333333332776,
        0.13333333333414815,
        0.0539682539265766,
        0.021869489611198164,
        0.008863219133034273,
        0.0035922893638717776,
        0.0014547562099951551,
        0.0005950722480805889,
        0.0002223574017944061,
        0.00013657211651813922,
        -2.6452227190870002e-05,
        8.951333234807515e-05,
        -4.49096093974894e-05,
        2.0871232766207707e-05,
    ),
}


def _nearest(f: FormulaBuilder, x: VectorValue) -> tuple[VectorValue, VectorValue]:
    """Return (i, k): 2 x / pi rounded to a whole number k, and an integer with its low bits."""
    magic = 1.5 * 2.0**f.mantissa
    shifted = f.fma(x, 0.6366197723675814, magic)
    return f.bits(shifted), shifted - magic


def _reduce_range(f: FormulaBuilder, x: VectorValue) -> tuple[VectorValue, VectorValue]:
    """Return (i, r): x = k pi / 2 + r, |r| <= pi / 4, and i with the low bits of k."""
    i, k = _nearest(f, x)
    for part in HALF_PI[f.dtype.name]:
        x = f.fma(k, -part, x)
    return i, x


def _reduce_in_two_parts(
    f: FormulaBuilder, x: VectorValue
) -> tuple[VectorValue, VectorValue, VectorValue]:
    """Return (i, r, rest): x = k pi / 2 + r + rest, `rest` the rounding error of r."""
    i, k = _nearest(f, x)
    first, second, third = HALF_PI[f.dtype.name]
    exact = f.fma(k, -first, x)
    product = k * second
    r = exact - product
    return i, r, f.fma(k, -third, exact - r - product - f.fma(k, second, -product))


def _cubic(f: FormulaBuilder, r: VectorValue, tail: tuple, add: VectorValue) -> VectorValue:
    """Compute r^3 P(r^2) + add."""
    square = r * r
    return f.fma(r * square, f.polynomial(square, tail), add)


def _quarter(f: FormulaBuilder, i: VectorValue, r: VectorValue) -> VectorValue:
    """Compute sin(i pi / 2 + r)."""
    name = f.dtype.name
    sine = _cubic(f, r, SINE[name], r)
    cosine = f.polynomial(r * r, (1.0, -0.5, *COSINE[name]))
    value = f.select((i & 1).equals(0), sine, cosine)
    return f.of_bits(f.bits(value) ^ (i << (f.bits_wide - 2) & f.sign))


def _beyond(f: FormulaBuilder, name: str, x: VectorValue, value: VectorValue) -> VectorValue:
    """Return `value` where |x| <= LIMIT, else that of the C library."""
    size = f.abs(x)
    rare = (size > LIMIT[f.dtype.name]) & (size < float("inf"))
    symbol = f"talweg_{name}_beyond_{f.dtype.name}x{f.lanes}"
    f.definitions[symbol] = _lane_by_lane(f, name, symbol)
    return f.patch(rare, symbol, [x], value)


def _lane_by_lane(f: FormulaBuilder, name: str, symbol: str) -> str:
    """Return the text of a function that calls the C library for each lane."""
    number, kind = f.number, f.type(f.number)
    intrinsic = f"@llvm.{name}.{'f32' if f.single else 'f64'}"
    lines, made = [], "poison"
    for lane in range(f.lanes):
        operand = "%x"
        if f.lanes > 1:
            lines.append(f"%x{lane} = extractelement {kind} %x, i32 {lane}")
            operand = f"%x{lane}"
        lines.append(f"%y{lane} = call {number} {intrinsic}({number} {operand})")
        if f.lanes > 1:
            lines.append(f"%z{lane} = insertelement {kind} {made}, {number} %y{lane}, i32 {lane}")
        made = f"%z{lane}" if f.lanes > 1 else "%y0"
    body = "\n".join(f"  {line}" for line in lines)
    how = "noinline cold nounwind willreturn memory(none)"
    return (
        f"define internal {kind} @{symbol}({kind} %x) {how} {{\n{body}\n  ret {kind} {made}\n}}\n"
    )


def sin(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute sin(r), cos(r), -sin(r) or -cos(r), by the quarter of the circle."""
    i, r = _reduce_range(f, x)
    return _beyond(f, "sin", x, f.select(x.equals(0.0), x, _quarter(f, i, r)))


def cos(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute sin(x + pi / 2)."""
    i, r = _reduce_range(f, x)
    return _beyond(f, "cos", x, _quarter(f, i + 1, r))


def tan(f: FormulaBuilder, x: VectorValue) -> VectorValue:
    """Compute tan(r), or its negative inverse for odd k, plus tan(r)'s rounding error."""
    i, r, rest = _reduce_in_two_parts(f, x)
    tail = _cubic(f, r, TANGENT[f.dtype.name], rest)
    value = r + tail
    odd = (i & 1).equals(1)
    lost = f.select(odd, r - value + tail, 0.0)
    value = f.select(odd, -1.0, value) / f.select(odd, value, 1.0)
    value = f.fma(value, value * lost, value)
    return _beyond(f, "tan", x, f.select(x.equals(0.0), x, value))
