"""The scalar functions of expressions in the loop program.

Each is defined by NumPy's function of the same meaning; generators of machine code give the same to
rounding.  `result` says what the dtype of the result is: "same" as the operands', or its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from talweg.core.dtypes import BY_NAME, DType
from talweg.kernels.random.philox import words_at


class Scalar:
    """A scalar function: its NumPy meaning, the kinds of dtypes (f i u b) it takes, its cost.

    `cost` is that of one float32 value in a vector loop, counted in multiplications.
    """

    __slots__ = ("cost", "kinds", "name", "numpy", "result")

    def __init__(self, name: str, numpy: Callable[..., Any], kinds: str, cost: float, result: str):
        self.name, self.numpy, self.kinds, self.cost = name, numpy, kinds, cost
        self.result = result

    def dtype(self, operand: DType) -> DType:
        """Return the dtype of the result for operands of a dtype."""
        return operand if self.result == "same" else BY_NAME[self.result]

    def __repr__(self) -> str:
        return f"<scalar {self.name}>"


def _sigmoid(x: NDArray) -> NDArray:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small)).astype(x.dtype)


def _softplus(x: NDArray) -> NDArray:
    return (np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))).astype(x.dtype)


def _erf(x: NDArray) -> NDArray:
    from scipy.special import erf

    return erf(x)


def _erfc(x: NDArray) -> NDArray:
    from scipy.special import erfc

    return erfc(x)


def _fma(x: NDArray, y: NDArray, z: NDArray) -> NDArray:
    return x * y + z


def _philox32(low: NDArray, high: NDArray, key: NDArray, block: NDArray, word: NDArray) -> NDArray:
    return words_at(low, high, key, block, word, np.uint32)


def _philox64(low: NDArray, high: NDArray, key: NDArray, block: NDArray, word: NDArray) -> NDArray:
    return words_at(low, high, key, block, word, np.uint64)


_TABLE: list[tuple[str, Callable[..., Any], str, float]] = [
    # name, NumPy, dtype kinds, cost
    ("add", np.add, "fiu", 1),
    ("sub", np.subtract, "fiu", 1),
    ("mul", np.multiply, "fiu", 1),
    ("div", np.true_divide, "f", 4),
    ("floor_div", np.floor_divide, "iu", 20),  # by zero: 0, as NumPy; integers only
    ("remainder", np.remainder, "iu", 20),  # sign of the divisor; by zero: 0; integers only
    ("fmod", np.fmod, "f", 30),  # x - trunc(x / y) y, exact
    ("fma", _fma, "f", 1),  # x y + z, rounded once or twice
    ("neg", np.negative, "fi", 1),
    ("abs", np.abs, "fi", 1),
    ("maximum", np.maximum, "fiu", 1),  # NaN if either is
    ("minimum", np.minimum, "fiu", 1),
    ("copysign", np.copysign, "f", 1),
    ("floor", np.floor, "f", 1),
    ("ceil", np.ceil, "f", 1),
    ("trunc", np.trunc, "f", 1),
    ("rint", np.rint, "f", 1),  # to the nearest, ties to even
    ("sqrt", np.sqrt, "f", 5),
    ("and", np.bitwise_and, "iub", 1),
    ("or", np.bitwise_or, "iub", 1),
    ("xor", np.bitwise_xor, "iub", 1),
    ("not", np.invert, "iub", 1),
    ("shift_left", np.left_shift, "iu", 1),  # 0 for a shift by the width or more
    ("shift_right", np.right_shift, "iu", 1),  # arithmetic for signed integers
    ("exp", np.exp, "f", 12),
    ("exp_below", np.exp, "f", 10),  # of numbers that are not above 0
    ("expm1", np.expm1, "f", 16),
    ("log", np.log, "f", 15),
    ("log1p", np.log1p, "f", 18),
    ("sin", np.sin, "f", 18),
    ("cos", np.cos, "f", 18),
    ("tan", np.tan, "f", 25),
    ("asin", np.arcsin, "f", 20),
    ("acos", np.arccos, "f", 20),
    ("atan", np.arctan, "f", 18),
    ("atan2", np.arctan2, "f", 25),
    ("sinh", np.sinh, "f", 20),
    ("cosh", np.cosh, "f", 20),
    ("tanh", np.tanh, "f", 15),
    ("asinh", np.arcsinh, "f", 25),
    ("acosh", np.arccosh, "f", 25),
    ("atanh", np.arctanh, "f", 22),
    ("sigmoid", _sigmoid, "f", 16),
    ("softplus", _softplus, "f", 30),
    ("erf", _erf, "f", 20),
    ("erfc", _erfc, "f", 25),
    ("pow", np.power, "f", 35),
]
_TESTS: list[tuple[str, Callable[..., Any], str, float]] = [
    ("equal", np.equal, "fiub", 1),
    ("not_equal", np.not_equal, "fiub", 1),
    ("less", np.less, "fiub", 1),
    ("less_equal", np.less_equal, "fiub", 1),
    ("greater", np.greater, "fiub", 1),
    ("greater_equal", np.greater_equal, "fiub", 1),
    ("logical_and", np.logical_and, "b", 1),
    ("logical_or", np.logical_or, "b", 1),
    ("logical_not", np.logical_not, "b", 1),
    ("is_nan", np.isnan, "f", 1),
    ("is_inf", np.isinf, "f", 1),
    ("is_finite", np.isfinite, "f", 1),
]
# Word `word` of the random block that lies `block` behind number high 2^64 + low, under a key: one
# of 4, or of 2 of 64 bits, lower half first.  Neighbours share blocks; the cost is that of a word.
_WORDS: list[tuple] = [
    ("philox32", _philox32, "u", 12, "uint32"),
    ("philox64", _philox64, "u", 24, "uint64"),
]
SCALARS: dict[str, Scalar] = {row[0]: Scalar(*row, "same") for row in _TABLE}
SCALARS.update({row[0]: Scalar(*row, "bool") for row in _TESTS})
SCALARS.update({row[0]: Scalar(*row) for row in _WORDS})
