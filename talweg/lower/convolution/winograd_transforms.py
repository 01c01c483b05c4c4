"""Winograd's transforms F(m x m, 3 x 3): the matrices, and sums by them.

m neighbouring results of a filter of three taps are coefficients of a product of polynomials, which
is known by its values at m + 2 points (one of them infinity): so many products in place of 3 m
(Toom 1963; Winograd 1980, "Arithmetic complexity of computations"; in two dimensions for
convolutions Lavin and Gray 2016, "Fast algorithms for convolutional neural networks").

    z = Aᵀ [(G w Gᵀ) ∘ (Bᵀ x B)] A       x [m + 2, m + 2], w [3, 3], z [m, m]
    w̄ = Gᵀ [(A z̄ Aᵀ) ∘ (Bᵀ x B)] G       its transpose by w

Points are 0 and pairs ±p: the rows of a pair share the sum over even columns and, but for the
sign, that over odd ones.  The pairs decide how much rounding errors grow.  With ±5/8 and ±5/4
m = 4 has 2.2 times the error of a plain sum of products, with ±1 and ±2 4.2 times (normal data, 64
channels, root mean square); so these are exact numbers near one that lie apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from talweg.lower.ir.loops import Expr

TAPS = 3
PAIRS = {2: (Fraction(1),), 4: (Fraction(5, 8), Fraction(5, 4))}  # by m

EXACT = 1 << 16  # multiples of one part of this are exact in all dtypes

Matrix = tuple[tuple[float, ...], ...]


class WinogradTransform(NamedTuple):
    """The matrices for m results; `size` is m + 2.

    The first row (of `spread_results` and so on) belongs to 0, the last to infinity, those between
    to p, -p, ...
    """

    results: int
    spread_input: Matrix  # Bᵀ [size, size]
    spread_filter: Matrix  # G [size, 3]
    spread_results: Matrix  # A [size, m]

    @property
    def size(self) -> int:
        """The number of points, and of numbers read along an axis."""
        return self.results + TAPS - 1

    @property
    def products(self) -> int:
        """The number of products for m x m results."""
        return self.size**2


@cache
def form_of(results: int) -> WinogradTransform:
    """Return the transform for this many results."""
    points = [Fraction(0)]
    for pair in PAIRS[results]:
        points += [pair, -pair]
    size = results + TAPS - 1
    inputs, filters = [], []
    for point in points:
        others = [other for other in points if other != point]
        norm = _product([point - other for other in others])
        inputs.append(_coefficients(others, size))
        filters.append([point**k / norm for k in range(TAPS)])
    inputs.append(_coefficients(points, size))
    filters.append([Fraction(int(k == TAPS - 1)) for k in range(TAPS)])
    powers = [[point**k for k in range(results)] for point in points]
    powers.append([Fraction(int(k == results - 1)) for k in range(results)])
    return WinogradTransform(results, _floats(inputs), _floats(filters), _floats(powers))


def _product(factors: list[Fraction]) -> Fraction:
    found = Fraction(1)
    for factor in factors:
        found *= factor
    return found


def _coefficients(roots: list[Fraction], size: int) -> list[Fraction]:
    """Return the coefficients of the polynomial with these roots, lowest power first."""
    found = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *found]
        found = [x - root * y for x, y in zip(shifted, [*found, Fraction(0)])]
    return found + [Fraction(0)] * (size - len(found))


def _floats(rows: list[list[Fraction]]) -> Matrix:
    return tuple([tuple([float(number) for number in row]) for row in rows])


def spread(matrix: Matrix, values: Sequence[Expr]) -> list[Expr]:
    """Multiply a matrix [size, n] by values [n]; rows of a pair share their sums."""
    found = [_sum(matrix[0], values)]
    for row in matrix[1:-1:2]:
        even, factor = _sum(row[::2], values[::2]), _divisor(row[1::2])
        odd = _sum([number / factor for number in row[1::2]], values[1::2])
        odd = odd if factor == 1 else odd * factor
        found += [even + odd, even - odd]
    return [*found, _sum(matrix[-1], values)]


def _divisor(factors: Sequence[float]) -> float:
    """Return a common exact divisor, which saves one product; or 1."""
    for factor in factors:
        if factor and all([(other / factor * EXACT).is_integer() for other in factors]):
            return factor
    return 1.0


def apply_transpose(matrix: Matrix, values: Sequence[Expr]) -> list[Expr]:
    """Multiply the transpose of a matrix [size, n] by values [size]."""
    pairs = list(zip(values[1:-1:2], values[2:-1:2]))
    sums = [[x + y for x, y in pairs], [x - y for x, y in pairs]]
    found = []
    for column in range(len(matrix[0])):
        factors = [row[column] for row in (matrix[0], *matrix[1:-1:2], matrix[-1])]
        found.append(_sum(factors, [values[0], *sums[column % 2], values[-1]]))
    return found


def _sum(factors: Sequence[float], values: Sequence[Expr]) -> Expr:
    """Emit Σ factor value, bare terms first, so that others become fused multiply-adds."""
    terms = [(factor, value) for factor, value in zip(factors, values) if factor]
    terms.sort(key=lambda term: (term[0] != 1, abs(term[0]) != 1))
    found: Expr | None = None
    for factor, value in terms:
        if found is None:
            found = value if factor == 1 else value * factor
        elif abs(factor) == 1:
            found = found + value if factor == 1 else found - value
        else:
            found = found + value * factor
    assert found is not None
    return found
