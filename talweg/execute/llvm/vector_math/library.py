"""The vector math library: elementary functions as LLVM IR, where LLVM has none.

LLVM's own `llvm.exp` and the like become one call of the C library for each number.  These
functions have no branches and no tables, and are inlined into the loops that use them.  They follow
NumPy (C's Annex F) in NaNs, infinities, signed zeros, overflow and underflow, and are right to the
number of ulps (units of the last place of the true value) in `BOUNDS`, checked by
tests/execute/test_vector_math*.py and tools/ulps.py.
"""

from __future__ import annotations

from collections.abc import Callable

from talweg.core.dtypes import DType
from talweg.execute.llvm.vector_math import error as errors
from talweg.execute.llvm.vector_math import (
    exponential,
    hyperbolic,
    inverse,
    logarithm,
    power,
    remainder,
    short_floats,
    trigonometry,
)
from talweg.execute.llvm.vector_math.builder import FormulaBuilder, VectorValue

FUNCTIONS: dict[str, Callable[..., VectorValue]] = {
    "exp": exponential.exp,
    "exp_below": exponential.exp_below,
    "expm1": exponential.expm1,
    "sigmoid": exponential.sigmoid,
    "log": logarithm.log,
    "log1p": logarithm.log1p,
    "softplus": logarithm.softplus,
    "sin": trigonometry.sin,
    "cos": trigonometry.cos,
    "tan": trigonometry.tan,
    "asin": inverse.asin,
    "acos": inverse.acos,
    "atan": inverse.atan,
    "atan2": inverse.atan2,
    "sinh": hyperbolic.sinh,
    "cosh": hyperbolic.cosh,
    "tanh": hyperbolic.tanh,
    "asinh": hyperbolic.asinh,
    "acosh": hyperbolic.acosh,
    "atanh": hyperbolic.atanh,
    "erf": errors.erf,
    "erfc": errors.erfc,
    "pow": power.pow,
    "fmod": remainder.fmod,
}
BINARY = frozenset(("atan2", "pow", "fmod"))
ATTRIBUTES = "alwaysinline nounwind willreturn memory(none)"

# largest errors in ulps: float32, float64
BOUNDS: dict[str, tuple[float, float]] = {
    "exp": (0.9, 0.9),
    "exp_below": (0.9, 0.9),
    "expm1": (1.6, 1.9),
    "sigmoid": (2.5, 1.0),
    "log": (0.85, 0.85),
    "log1p": (1.5, 1.4),
    "softplus": (1.9, 1.9),
    "sin": (1.6, 1.6),
    "cos": (1.6, 1.6),
    "tan": (1.9, 1.6),
    "asin": (1.7, 1.7),
    "acos": (1.2, 1.2),
    "atan": (1.3, 1.3),
    "atan2": (1.7, 1.7),
    "sinh": (1.7, 1.7),
    "cosh": (1.4, 1.4),
    "tanh": (2.7, 2.7),
    "asinh": (1.6, 1.6),
    "acosh": (1.6, 1.5),
    "atanh": (1.6, 1.6),
    "erf": (1.7, 1.6),
    "erfc": (2.7, 2.4),
    "pow": (0.51, 0.9),
    "fmod": (0.0, 0.0),
}


class VectorMathLibrary:
    """The functions that one module calls.

    rounds_bfloat16: whether the processor has an instruction for that.
    """

    def __init__(self, rounds_bfloat16: bool = False) -> None:
        self.rounds_bfloat16 = rounds_bfloat16
        self._definitions: dict[str, str] = {}

    def symbol(self, name: str, dtype: DType, lanes: int) -> str:
        """Return the symbol of a function of `lanes` numbers (1: scalars), added to `text`.

        Raises KeyError for a function that is not here (LLVM has an instruction for it), and for
        dtypes other than float32 and float64.
        """
        if dtype.name not in ("float32", "float64"):
            raise KeyError(f"no vector function {name} for {dtype.name}")
        symbol = f"talweg_{name}_{dtype.name}x{lanes}"
        if symbol not in self._definitions:
            block = FormulaBuilder(dtype, lanes)
            names = ("%x", "%y") if name in BINARY else ("%x",)
            operands = [VectorValue(block, operand, block.number) for operand in names]
            result = FUNCTIONS[name](block, *operands)
            self._definitions |= block.definitions
            self._definitions[symbol] = block.function(symbol, operands, result, ATTRIBUTES)
        return symbol

    def rounding(self, lanes: int) -> str | None:
        """Return the symbol of a function from float32 to bfloat16; None for that many numbers."""
        few = lanes < short_floats.LANES or lanes & (lanes - 1)
        if few or not self.rounds_bfloat16:
            return None
        part = short_floats.LANES
        while part <= lanes:
            if short_floats.symbol(part) not in self._definitions:
                text = short_floats.define_rounding(part, ATTRIBUTES)
                self._definitions[short_floats.symbol(part)] = text
            part *= 2
        return short_floats.symbol(lanes)

    def text(self) -> str:
        """Return the definitions of all functions asked for, each once."""
        return "\n".join(self._definitions.values())
