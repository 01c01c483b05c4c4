"""fmod: the exact remainder of a division, by one multiplication where the quotient is short."""

from __future__ import annotations

from talweg.execute.llvm.vector_math.builder import FormulaBuilder, VectorValue


def fmod(f: FormulaBuilder, x: VectorValue, y: VectorValue) -> VectorValue:
    """Compute x - trunc(x / y) y, which is always a number of the format.

    A quotient of fewer bits than the format holds is rounded to a whole number at worst, which is
    then one too large: the remainder, that an FMA has exactly, is negative.  Longer quotients are
    left to the C library.
    """
    size, step = f.abs(x), f.abs(y)
    quotient = f.trunc(size / step)
    rest = f.fma(-quotient, step, size)
    rest = f.select(rest < 0.0, rest + step, rest)
    rest = f.select(size < step, size, rest)  # also by infinity
    long = quotient >= 2.0 ** (f.mantissa + 1)
    rare = long & (step > 0.0) & (size < float("inf"))
    symbol = f"talweg_fmod_beyond_{f.dtype.name}x{f.lanes}"
    f.definitions[symbol] = _divide_long(f, symbol)
    return f.copysign(f.patch(rare, symbol, [size, step], rest), x)


def _divide_long(f: FormulaBuilder, symbol: str) -> str:
    """Return the text of a function that leaves the division to LLVM."""
    kind = f.type(f.number)
    how = "noinline cold nounwind willreturn memory(none)"
    return (
        f"define internal {kind} @{symbol}({kind} %x, {kind} %y) {how} {{\n"
        f"  %z = frem {kind} %x, %y\n  ret {kind} %z\n}}\n"
    )
