"""Index expressions: the position of an element in a buffer, an integer function of loop axes.

An `Index` is a constant plus terms `coefficient * atom`.  An atom is an `Axis` (the variable of a
loop), a `Quotient` or `Remainder` of an index by a positive number, or an `Element`: an integer
that is computed from data (a gathered row).  All values are bounded, except for elements that are
not held within limits, so `(4 i + j) // 4` is `i` where j runs over 0..3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


class Axis:
    """The variable of a loop, over 0, ..., extent - 1."""

    __slots__ = ("extent", "name")
    smallest = 0

    def __init__(self, name: str, extent: int):
        self.name, self.extent = name, extent

    @property
    def largest(self) -> int:
        """The last value."""
        return self.extent - 1

    def __repr__(self) -> str:
        return self.name


class Quotient:
    """The quotient index // divisor, rounded down."""

    __slots__ = ("divisor", "index", "key")

    def __init__(self, index: Index, divisor: int):
        self.index, self.divisor = index, divisor
        self.key = ("//", index.key, divisor)

    @property
    def smallest(self) -> int | None:
        """The smallest possible value, None if unknown."""
        low = self.index.smallest
        return None if low is None else low // self.divisor

    @property
    def largest(self) -> int | None:
        """The largest possible value, None if unknown."""
        top = self.index.largest
        return None if top is None else top // self.divisor

    def __eq__(self, other: object) -> bool:
        return type(other) is Quotient and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"({self.index!r})//{self.divisor}"


class Remainder:
    """The remainder index % divisor."""

    __slots__ = ("divisor", "index", "key")
    smallest = 0

    def __init__(self, index: Index, divisor: int):
        self.index, self.divisor = index, divisor
        self.key = ("%", index.key, divisor)

    @property
    def largest(self) -> int:
        """The largest possible value."""
        low, top = self.index.smallest, self.index.largest
        most = self.divisor - 1
        return most if top is None or low is None or low < 0 else min(top, most)

    def __eq__(self, other: object) -> bool:
        return type(other) is Remainder and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"({self.index!r})%{self.divisor}"


class Element:
    """An integer computed from data: `value` is an `Expr` of an integer dtype."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    @property
    def smallest(self) -> int | None:
        """A lower bound, where the value is a maximum with a number."""
        return _limit(self.value, "maximum", max)

    @property
    def largest(self) -> int | None:
        """An upper bound, where the value is a minimum with a number."""
        return _limit(self.value, "minimum", min)

    def __eq__(self, other: object) -> bool:
        return type(other) is Element and self.value is other.value

    def __hash__(self) -> int:
        return hash((Element, id(self.value)))

    def __repr__(self) -> str:
        return f"[{self.value!r}]"


def _limit(value: Any, op: str, tighter: Any) -> int | None:
    """Return the bound of an expression at the top of nested maximums or minimums `op`."""
    if value.op == "const":
        return int(value.data)
    if value.op not in ("maximum", "minimum"):
        return None
    found = [
        bound for bound in [_limit(arg, op, tighter) for arg in value.args] if bound is not None
    ]
    if value.op == op:
        return tighter(found) if found else None
    return None if len(found) < 2 else (min if tighter is max else max)(found)


class Index:
    """The affine index constant + sum of coefficient * atom; immutable, equal by content."""

    __slots__ = ("constant", "key", "terms")

    def __init__(self, constant: int = 0, terms: tuple = ()):
        self.constant, self.terms = constant, terms
        self.key = (constant, frozenset(terms))

    @staticmethod
    def of(value: Any) -> Index:
        """Make an index from an int, an atom or an index."""
        if type(value) is Index:
            return value
        if isinstance(value, int):
            return Index(value)
        if type(value) is Axis and value.extent == 1:
            return ZERO
        return Index(0, ((value, 1),))

    @property
    def largest(self) -> int | None:
        """An upper bound, None if there is none."""
        top = self.constant
        for atom, factor in self.terms:
            bound = atom.largest if factor > 0 else atom.smallest
            if bound is None:
                return None
            top += factor * bound
        return top

    @property
    def smallest(self) -> int | None:
        """A lower bound, None if there is none."""
        low = self.constant
        for atom, factor in self.terms:
            bound = atom.smallest if factor > 0 else atom.largest
            if bound is None:
                return None
            low += factor * bound
        return low

    def __add__(self, other: object) -> Index:
        other = Index.of(other)
        if not other.terms:
            return Index(self.constant + other.constant, self.terms) if other.constant else self
        return _sum(self.constant + other.constant, (*self.terms, *other.terms))

    __radd__ = __add__

    def __sub__(self, other: object) -> Index:
        return self + Index.of(other) * -1

    def __rsub__(self, other: TensorLike) -> Index:
        return Index.of(other) - self

    def __mul__(self, factor: int) -> Index:
        if factor == 1:
            return self
        if factor == 0:
            return ZERO
        return Index(self.constant * factor, tuple([(a, f * factor) for a, f in self.terms]))

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Index:
        if divisor == 1:
            return self
        whole, rest = self._split(divisor)
        top, low = rest.largest, rest.smallest
        if top is not None and low is not None and low >= 0 and top < divisor:
            return whole
        if low is None or low < 0:
            return Index(0, ((Quotient(self, divisor), 1),))
        return whole + _quotient(rest, divisor)

    def __mod__(self, divisor: int) -> Index:
        if divisor == 1:
            return ZERO
        _, rest = self._split(divisor)
        top, low = rest.largest, rest.smallest
        if top is not None and low is not None and low >= 0 and top < divisor:
            return rest
        return _remainder(rest, divisor)

    def _split(self, divisor: int) -> tuple[Index, Index]:
        """Return (whole, rest) with self = whole * divisor + rest, term by term."""
        whole, rest = [], []
        for atom, factor in self.terms:
            (whole if factor % divisor == 0 else rest).append((atom, factor))
        quotient, remainder = divmod(self.constant, divisor)
        parts = tuple([(atom, factor // divisor) for atom, factor in whole])
        return Index(quotient, parts), Index(remainder, tuple(rest))

    def coefficient(self, axis: Axis) -> int | None:
        """Return the coefficient of `axis`, None where it is not constant."""
        found = 0
        for atom, factor in self.terms:
            if atom is axis:
                found = factor
            elif depends(atom, axis):
                return None
        return found

    def replace(self, values: dict) -> Index:
        """Substitute indices for axes."""
        result = Index(self.constant)
        for atom, factor in self.terms:
            result = result + _substitute(atom, values) * factor
        return result

    def axes(self) -> set[Axis]:
        """Return the axes it depends on."""
        found: set[Axis] = set()
        for atom, _ in self.terms:
            found |= axes_of(atom)
        return found

    def __eq__(self, other: object) -> bool:
        return type(other) is Index and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        parts = [f"{factor}*{atom!r}" if factor != 1 else repr(atom) for atom, factor in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


ZERO = Index()


def _sum(constant: int, terms: tuple) -> Index:
    """Sum terms with equal atoms merged."""
    found: dict[Any, int] = {}
    for atom, factor in terms:
        found[atom] = found.get(atom, 0) + factor
    return _join_quotient(constant, {atom: factor for atom, factor in found.items() if factor})


def _join_quotient(constant: int, terms: dict) -> Index:
    """Simplify n (x // n) + x % n to x."""
    for atom, factor in terms.items():
        if type(atom) is Quotient and factor % atom.divisor == 0:
            other = Remainder(atom.index, atom.divisor)
            times = factor // atom.divisor
            if terms.get(other) == times:
                left = {a: f for a, f in terms.items() if a != atom and a != other}
                return _join_quotient(constant, left) + atom.index * times
    return Index(constant, tuple(terms.items()))


def _quotient(index: Index, divisor: int) -> Index:
    if len(index.terms) == 1 and not index.constant:
        ((atom, factor),) = index.terms
        if type(atom) is Quotient and factor == 1:  # (x // m) // n
            return atom.index // (atom.divisor * divisor)
        if divisor % factor == 0 and factor > 1:
            return Index.of(atom) // (divisor // factor)
    return Index(0, ((Quotient(index, divisor), 1),))


def _remainder(index: Index, divisor: int) -> Index:
    if len(index.terms) == 1 and not index.constant:
        ((atom, factor),) = index.terms
        if factor > 1 and divisor % factor == 0:  # (f x) % (f n) = f (x % n)
            return (Index.of(atom) % (divisor // factor)) * factor
        if type(atom) is Remainder and factor == 1 and atom.divisor % divisor == 0:
            return atom.index % divisor
    return Index(0, ((Remainder(index, divisor), 1),))


def _substitute(atom: Any, values: dict) -> Index:
    if type(atom) is Axis:
        return Index.of(values.get(atom, atom))
    if type(atom) is Quotient:
        return atom.index.replace(values) // atom.divisor
    if type(atom) is Remainder:
        return atom.index.replace(values) % atom.divisor
    return Index(0, ((Element(atom.value.replace(values)), 1),))


def axes_of(atom: Any) -> set[Axis]:
    """Return the axes an atom depends on."""
    if type(atom) is Axis:
        return {atom}
    if type(atom) is Element:
        return atom.value.axes()
    return atom.index.axes()


def depends(atom: object, axis: Axis) -> bool:
    """Return whether an atom's value changes with `axis`."""
    return axis in axes_of(atom)


class Places(tuple):
    """An index made from a row-major position, which it remembers."""

    place: Index
    dims: tuple


def flat(index: tuple, dims: tuple) -> Index:
    """Return the row-major offset of the element at `index`."""
    if type(index) is Places and index.dims == dims:
        return index.place
    place = ZERO
    for i, size in zip(index, dims):
        place = place * size + i
    return place


def unflatten(place: Index, dims: tuple) -> tuple:
    """Return the index of an element from its row-major position."""
    if 0 in dims:
        return (ZERO,) * len(dims)
    found = []
    stride = 1
    for size in reversed(dims):
        part = place // stride
        found.append(part % size)
        stride *= size
    index = Places(reversed(found))
    index.place, index.dims = place, dims
    return index
