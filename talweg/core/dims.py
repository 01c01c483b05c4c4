"""Symbolic dimensions: sizes that are known only when a graph runs.

A `Dim` is a polynomial with integer coefficients over atoms.  An atom is the size of one axis of a
tensor, one element of an integer tensor that is used as a size, or a function of other dimensions
(`//`, `%`, the larger, the smaller, what two dimensions broadcast to, a size asked for that may be
-1).  Arithmetic keeps the normal form, so sizes that are equal whatever the atoms are, are equal
objects: `(4 * n + 4) // 4 - 1 == n`.

Functions are hash-consed: equal ones are one atom, so a size is a DAG, which is walked in a loop
and each atom once (`core/dim_walks.py`).  A polynomial has at most `TERMS` terms: longer sums and
products are functions, too.  What a graph keeps is bounded by `HEAVY`: see `weight`.

A comparison that the polynomials do not decide raises `NeedsStaticError`, and so does using a `Dim`
as a Python integer.  Code that only wants to reject what is certainly wrong asks `differ`.
Symbolic shapes as polynomials: as in JAX's shape polymorphism and TVM's arithmetic simplifier.
"""

from __future__ import annotations

import itertools
import operator
import weakref
from collections.abc import Callable
from typing import Any

from talweg.core.errors import NeedsStaticError

_serials = itertools.count()


class Atom:
    """An unknown non-negative integer (of any sign for kind "value").

    `kind` is "size" (axis `place` of the tensor `source`), "value" (element `place` of the integer
    tensor `source`) or the name of a function of `arguments`.  It does not keep its source alive,
    since the source's own dimensions name it; nodes that use it do.
    """

    __slots__ = (
        "__weakref__",
        "_source",
        "arguments",
        "bounds",
        "kind",
        "place",
        "serial",
        "weight",
    )

    def __init__(self, kind: str, source: Any = None, place: int = 0, arguments: tuple = ()):
        self.kind, self.place, self.arguments = kind, place, arguments
        self.serial = next(_serials)
        self._source = None if source is None else weakref.ref(source)
        self.weight = 1 + sum(map(weight, arguments))
        self.bounds: tuple[int | None, int | None]
        if arguments:
            self.bounds = _function_bounds(kind, list(map(bounds, arguments)))
        else:
            self.bounds = (None, None) if kind == "value" else (0, None)

    @property
    def source(self) -> Any:
        """The tensor whose size or value it is; None for functions, and for a tensor that died."""
        return None if self._source is None else self._source()

    def __repr__(self) -> str:
        if self.arguments:
            inside = ", ".join(map(repr, self.arguments)) if self.weight <= TOLD else "..."
            return f"{self.kind}({inside})"
        return f"{'v' if self.kind == 'value' else 'd'}{self.serial}"


Size = Any  # an int or a Dim
TERMS = 64  # of a polynomial
DEGREE = 256  # of a polynomial: a shape has no more axes
HEAVY = 64  # heavier sizes are named anew by the node whose size or value they are
TOLD = 16  # atoms that a message shows
FAR = 2**64  # beyond it no bound is known, and no number is told from another


class Dim:
    """A symbolic size; see this module's docstring."""

    __slots__ = ("constant", "terms")

    def __init__(self, terms: tuple, constant: int):
        self.terms, self.constant = terms, constant  # ((atoms in order), coefficient), ...

    # -- arithmetic

    def __add__(self, other: Size) -> Size:
        if type(other) is int:
            return Dim(self.terms, self.constant + other)
        if not isinstance(other, Dim):
            other = _number(other)
            return NotImplemented if other is None else self + other
        total = dict(self.terms)
        for atoms, factor in other.terms:
            total[atoms] = total.get(atoms, 0) + factor
        found = _normal(total, self.constant + other.constant)
        return function("add", self, other) if _is_long(found) else found

    __radd__ = __add__

    def __neg__(self) -> Size:
        return self * -1

    def __sub__(self, other: Size) -> Size:
        return self + -other

    def __rsub__(self, other: Size) -> Size:
        return -self + other

    def __mul__(self, other: Size) -> Size:
        if not isinstance(other, Dim):
            other = _number(other)
            if other is None:
                return NotImplemented
            return _normal({a: f * other for a, f in self.terms}, self.constant * other)
        if _degree(self) + _degree(other) > DEGREE or len(self.terms) * len(other.terms) > TERMS:
            return function("mul", self, other)
        total: dict[tuple, int] = {}
        for left, a in _all_terms(self):
            for right, b in _all_terms(other):
                atoms = tuple(sorted(left + right, key=lambda atom: atom.serial))
                total[atoms] = total.get(atoms, 0) + a * b
        return _normal(total, 0)

    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Size:
        other = _number(other)
        if other is None:
            return NotImplemented
        quotient = _exact(self, other)
        return function("floordiv", self, other) if quotient is None else quotient

    def __rfloordiv__(self, other: Size) -> Size:
        return 0 if other == 0 else function("floordiv", other, self)

    def __mod__(self, other: Size) -> Size:
        other = _number(other)
        if other is None:
            return NotImplemented
        return 0 if _exact(self, other) is not None else function("mod", self, other)

    def __rmod__(self, other: Size) -> Size:
        return 0 if other == 0 else function("mod", other, self)

    # -- comparison: decided, or NeedsStaticError

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if not isinstance(other, Dim):
            number = _number(other)
            if number is None:
                return False
            if not _may_be(self - number):
                return False
            raise make_undecided_error(self, "==", other)
        gap = self - other
        if type(gap) is int:
            return gap == 0
        if not _may_be(gap):
            return False
        raise make_undecided_error(self, "==", other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.terms, self.constant))

    def __lt__(self, other: Size) -> bool:
        return _less(self - other, 0, self, "<", other)

    def __le__(self, other: Size) -> bool:
        return _less(self - other, 1, self, "<=", other)

    def __gt__(self, other: Size) -> bool:
        return _less(other - self, 0, self, ">", other)

    def __ge__(self, other: Size) -> bool:
        return _less(other - self, 1, self, ">=", other)

    def __bool__(self) -> bool:
        return self != 0

    def __index__(self) -> int:
        raise NeedsStaticError(f"the dimension {self!r} is not known while the graph is built")

    __int__ = __float__ = __index__

    def __repr__(self) -> str:
        parts = []
        for atoms, factor in self.terms[:TOLD]:
            text = "*".join(map(repr, atoms))
            parts.append(text if factor == 1 else f"{factor}*{text}")
        if len(self.terms) > TOLD:
            parts.append("...")
        if self.constant:
            parts.append(str(self.constant))
        return "+".join(parts).replace("+-", "-")


def _number(value: object) -> Any:
    """Return `value` as an int or a Dim; None if it is neither."""
    if isinstance(value, Dim) or type(value) is int:
        return value
    try:
        return value.__index__()
    except AttributeError:
        return None


def _is_long(size: Size) -> bool:
    return type(size) is Dim and len(size.terms) > TERMS


def _degree(dim: Dim) -> int:
    return max([len(atoms) for atoms, _ in dim.terms])


def weight(size: Size) -> int:
    """Count the atoms of a size written out as a tree, large coefficients counted in."""
    if type(size) is not Dim:
        return 0
    total = 0
    for atoms, factor in size.terms:
        total += factor.bit_length() >> 6
        for atom in atoms:
            total += atom.weight
    return total + (size.constant.bit_length() >> 6)


def _all_terms(dim: Dim) -> list:
    return [*dim.terms, ((), dim.constant)] if dim.constant else list(dim.terms)


def _normal(total: dict, constant: int) -> Size:
    constant += total.pop((), 0)
    terms = tuple(
        sorted(
            ((atoms, factor) for atoms, factor in total.items() if factor),
            key=lambda term: [atom.serial for atom in term[0]],
        )
    )
    return Dim(terms, constant) if terms else constant


def _exact(dim: Dim, divisor: Size) -> Size | None:
    """Return dim / divisor where that is a polynomial; else None."""
    if type(divisor) is int:
        if divisor and all(f % divisor == 0 for _, f in _all_terms(dim)):
            return _normal({a: f // divisor for a, f in dim.terms}, dim.constant // divisor)
        return None
    if len(divisor.terms) != 1 or divisor.constant:
        return 1 if dim.terms == divisor.terms and dim.constant == divisor.constant else None
    (by, factor) = divisor.terms[0]
    quotient: dict[tuple, int] = {}
    for atoms, coefficient in _all_terms(dim):
        rest = list(atoms)
        for atom in by:
            if atom not in rest:
                return None
            rest.remove(atom)
        if coefficient % factor:
            return None
        quotient[tuple(rest)] = coefficient // factor
    return _normal(quotient, 0)


def bounds(size: Size) -> tuple[int | None, int | None]:
    """Return the least and the greatest value `size` can have; None where there is no bound."""
    if type(size) is not Dim:
        return size, size
    low: int | None = size.constant
    high: int | None = size.constant
    for atoms, factor in size.terms:
        least, most = atoms[0].bounds
        for atom in atoms[1:]:
            a, b = atom.bounds
            if a is None or a < 0 or least is None or least < 0:
                return None, None
            least *= a
            most = None if b is None or most is None else most * b
        if factor < 0:
            least, most = most, least
        low = None if low is None or least is None else low + factor * least
        high = None if high is None or most is None else high + factor * most
    return _near(low), _near(high)


def _near(bound: int | None) -> int | None:
    return None if bound is None or abs(bound) > FAR else bound


def _function_bounds(kind: str, parts: list) -> tuple[int | None, int | None]:
    (low, high), (other_low, other_high) = parts[:2]
    if kind == "resolved":
        return 0, None
    if kind == "mod" and other_low is not None and other_low > 0:
        return 0, None if other_high is None else other_high - 1
    if kind == "floordiv" and other_low is not None and other_low >= 0 and low is not None:
        divisor = max(other_low, 1)
        least = 0 if low >= 0 else low // divisor
        return least, None if high is None else max(high, 0) // divisor
    if kind == "add":
        return _apply_to_bounds(operator.add, low, other_low), _apply_to_bounds(
            operator.add, high, other_high
        )
    if kind == "mul" and low is not None and low >= 0 and other_low is not None and other_low >= 0:
        return _near(low * other_low), _apply_to_bounds(operator.mul, high, other_high)
    lows: list = [low, other_low]
    highs: list = [high, other_high]
    if kind == "max":
        known = [n for n in lows if n is not None]
        return max(known, default=None), None if None in highs else max(highs)
    if kind == "min":
        known = [n for n in highs if n is not None]
        return None if None in lows else min(lows), min(known, default=None)
    if kind == "broadcast":
        return None if None in lows else min(lows), None if None in highs else max(highs)
    return None, None


def _apply_to_bounds(apply: Callable, a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else _near(apply(a, b))


def _may_be(gap: Dim) -> bool:
    """Return whether `gap` may be 0."""
    low, high = bounds(gap)
    if (low is not None and low > 0) or (high is not None and high < 0):
        return False
    divisor = 0
    for _, factor in gap.terms:
        divisor = factor if not divisor else _gcd(divisor, factor)
    return gap.constant % divisor == 0


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return abs(a)


def _less(gap: Size, limit: int, left: Dim, sign: str, right: Size) -> bool:
    """Return whether gap < limit."""
    if type(gap) is int:
        return gap < limit
    low, high = bounds(gap)
    if high is not None and high < limit:
        return True
    if low is not None and low >= limit:
        return False
    raise make_undecided_error(left, sign, right)


def make_undecided_error(left: Dim, sign: str, right: Size) -> NeedsStaticError:
    """Return the error of a comparison that depends on sizes that are not known."""
    return NeedsStaticError(
        f"whether {left!r} {sign} {right!r} is not known while the graph is built"
    )


def function(name: str, *arguments: Size) -> Dim:
    """Return a function of sizes, as it is: the one atom for this name and these arguments."""
    written = [(x.terms, x.constant) if type(x) is Dim else x for x in arguments]
    key = (name, *written)  # without Dims in it, of which == may not be known
    atom = _known_functions.get(key)
    if atom is None:
        atom = _known_functions.setdefault(key, Atom(name, arguments=arguments))
    return of_atom(atom)


_known_functions: Any = weakref.WeakValueDictionary()  # one atom for equal functions, so one order


# -- what other modules use


def of_atom(atom: Atom) -> Dim:
    """Return the dimension that is just this atom."""
    return Dim((((atom,), 1),), 0)


def is_symbolic(dims: tuple) -> bool:
    """Return whether a tuple of dimensions holds one that is not a plain number."""
    return any(type(size) is Dim for size in dims)


def differ(a: Size, b: Size) -> bool:
    """Return whether two sizes certainly differ."""
    try:
        return a != b
    except NeedsStaticError:
        return False


def same(a: Size, b: Size) -> bool:
    """Return whether two sizes are certainly equal."""
    try:
        return a == b
    except NeedsStaticError:
        return False


def same_dims(left: tuple, right: tuple) -> bool:
    """Return whether two shapes are certainly equal."""
    return left is right or (len(left) == len(right) and all(map(same, left, right)))


def below(a: Size, b: Size) -> bool:
    """Return whether a < b for certain."""
    try:
        return a < b
    except NeedsStaticError:
        return False


def dims_differ(left: tuple, right: tuple) -> bool:
    """Return whether two shapes certainly differ."""
    return len(left) != len(right) or any(map(differ, left, right))


def largest(a: Size, b: Size) -> Size:
    """Return max(a, b)."""
    return _choose_extreme("max", a, b)


def smallest(a: Size, b: Size) -> Size:
    """Return min(a, b)."""
    return _choose_extreme("min", a, b)


def _choose_extreme(name: str, a: Size, b: Size) -> Size:
    """Return the larger or the smaller of two sizes, else what decides it when the graph runs."""
    for left, right in ((a, b), (b, a)):
        try:
            above = left >= right
        except NeedsStaticError:
            continue
        return left if above == (name == "max") else right
    return function(name, a, b)


def broadcast(a: Size, b: Size) -> Size:
    """Return the sizes that a and b broadcast to, if they do."""
    if same(a, b) or same(b, 1):
        return a
    if same(a, 1):
        return b
    if type(a) is int or type(b) is int:
        return a if type(a) is int else b  # the other one is 1 or equal to it
    first, second = sorted((a, b), key=lambda dim: dim.terms[0][0][0].serial)
    return function("broadcast", first, second)


def resolve_size(n: Size, total: Size, others: Size, dims: tuple = (), around: tuple = ()) -> Size:
    """Return n, a size asked for in a reshape to others * n == total elements; -1 stands for the
    rest.

    `dims` is the shape before, `around` the other sizes asked for: if there are no elements, n is
    what the sizes other than 0 leave.
    """
    low, high = bounds(n)
    if low is not None and low >= 0:
        return n
    least, _ = bounds(others)
    if high == low == -1:
        if least is not None and least > 0:
            return total // others
        if type(others) is Dim and type(total) is Dim:
            quotient = _exact(total, others)
            if quotient is not None:
                return quotient
    return function("resolved", n, total, others, len(dims), *dims, *around)
