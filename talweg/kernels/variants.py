"""Values of dtype variant: lists of tensors, and the residuals of branches and loops.

Both are pure values: writing an element of a `List` gives a new list, and the old one stays what it
was.  The newest version owns the elements, an older one remembers the one element in which it
differs from the next.  So writing is O(1) whoever else holds the list, a loop that keeps all
versions of a list needs memory for their differences only, and reading them in reverse order is
O(1) again.  Baker, "Shallow binding makes functional arrays fast", 1991.

An absent element is None, and None in place of a value is a zero: cotangents and tangents mostly
consist of these.

Compiled programs pass both to each other as arrays (`ResidualArrays`); the elements are only made
of these when somebody else looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from talweg.core.dtypes import VARIANT, VARIANTS
from talweg.core.transfers import fetch


class ResidualArrays:
    """The residuals that one compiled program gives another: arrays, and their structure.

    The form is equal for what a program can be given in the same way; `form.rebuild(arrays)` is the
    list or history, and `form.size(arrays)` how many elements it has, or trips it stands for.
    """

    __slots__ = ("arrays", "form")

    def __init__(self, form: Any, arrays: list):
        self.form, self.arrays = form, arrays


class Tree:
    """A structure of values: a list, the residuals of a loop, and the compiler's values for them.

    Where a part is no tree it is a value, or None for one that is absent.
    """

    __slots__ = ()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return array_of_variant(self)

    def map_parts(self, function: Callable[[Any], Any]) -> Any:
        """Return the same structure with `function` of each of its parts in the part's place."""
        raise NotImplementedError

    def form(self, part_form: Callable[[Any], Any]) -> tuple:
        """Return the form that structures with other values share, from that of the parts."""
        raise NotImplementedError


def array_of_variant(value: Any) -> np.ndarray:
    """Return a variant as the element of an array of rank 0, for kernels that move elements."""
    array: Any = np.empty(1, VARIANTS)
    array["variant"][0] = value  # as it is: with no index NumPy asks for its array, this one
    return array.reshape(())


def on_elements(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a kernel that moves elements of arrays, for variants."""

    def run(*operands: Any, **params: Any) -> Any:
        moved = [np.asarray(x) if is_variant(x) else x for x in operands]
        return unwrap_element(kernel(*moved, **params))

    return run


def is_variant(value: Any) -> bool:
    """Return whether a value is a variant, or what an eager tensor holds it in."""
    return isinstance(value, Tree) or getattr(value, "dtype", None) is VARIANT


def unwrap_element(value: Any) -> Any:
    """Return the variant that is the element of an array of rank 0; other values as they are."""
    if isinstance(value, (np.void, np.ndarray)) and not value.ndim and value.dtype == VARIANTS:
        return value["variant"] if type(value) is np.void else value["variant"][()]
    return value


def kind_of(value: Any) -> Any:
    """Return the shape of an array, or the form of residuals; None for other values."""
    if type(value) in (List, History):
        return None if value.residuals is None else value.residuals.form
    return getattr(value, "shape", None)


def is_opaque(value: Any) -> bool:
    """Return whether a value has neither shape nor structure: an iterator, say, that calls take."""
    plain = value is None or type(value) in (List, History, Rows)
    return not plain and kind_of(value) is None


class List(Tree):
    """`size` elements, some of them absent (None)."""

    __slots__ = ("_change", "_elements", "dims", "residuals", "size")

    def __init__(self, size: int, elements: dict | list, residuals: ResidualArrays | None = None):
        self.size = size
        self.dims: tuple | None = None  # of an element, for stacking none, where that is known
        self._elements: Any = elements  # a list, or a dict where few are present; None if older
        self._change: Any = None  # of an older version: (place, value, the next version)
        self.residuals = residuals  # what it is made of when somebody asks for an element

    @classmethod
    def absent(cls, size: int, dims: tuple | None = None) -> List:
        """Return a list of absent elements, which would have this shape."""
        absent = cls(size, [None] * size)
        absent.dims = dims
        return absent

    @classmethod
    def of(cls, values: list) -> List:
        """Return a list of these values."""
        return cls(len(values), values)

    @classmethod
    def sparse(cls) -> List:
        """Return an empty list of which few elements will be present."""
        return cls(0, {})

    def __len__(self) -> int:
        return self.size

    def _own(self) -> Any:
        """Return the elements, after making this version the one that owns them."""
        if self._elements is not None:
            return self._elements
        chain, version = [], self
        while version._elements is None:
            if version._change is None:
                version._elements = version.residuals.form.rebuild(
                    version.residuals.arrays
                ).values()
                break
            chain.append(version)
            version = version._change[2]
        elements: Any = version._elements
        for older in reversed(chain):
            index, value, _ = older._change
            version._change = (index, _read(elements, index), older)
            version._elements = None
            _write(elements, index, value)
            version = older
        self._elements, self._change = elements, None
        return elements

    def get(self, place: int) -> Any:
        """Return element `place`, None if it is absent."""
        return _read(self._own(), place) if 0 <= place < self.size else None

    def put(self, place: int, value: object) -> List:
        """Return the list with `value` as element `place`."""
        elements = self._own()
        newer = List(max(self.size, place + 1), elements)
        newer.dims = self.dims
        self._change = (place, _read(elements, place), newer)
        self._elements = None
        _write(elements, place, value)
        return newer

    def present(self) -> Iterator[tuple[int, Any]]:
        """Return the elements that are not absent, with their places;
        changes meanwhile do no harm.
        """
        elements = self._own()
        if type(elements) is dict:
            return iter(sorted(elements.items()))
        return iter([pair for pair in enumerate(elements[: self.size]) if pair[1] is not None])

    def values(self) -> list:
        """Return all elements."""
        elements = self._own()
        if type(elements) is dict:
            return [elements.get(place) for place in range(self.size)]
        return elements[: self.size] + [None] * (self.size - len(elements))

    def map_parts(self, function: Callable[[Any], Any]) -> List:
        """Return the list of `function` of each element."""
        return List.of([function(part) for part in self.values()])

    def form(self, part_form: Callable[[Any], Any]) -> tuple:
        """Return the forms of the elements."""
        return ("list", *map(part_form, self.values()))

    @property
    def weight(self) -> int:
        """Return the number of parts to go through."""
        return len(self._own())

    def __repr__(self) -> str:
        return f"List({self.values()!r})"


def _read(elements: dict | list, place: int) -> Any:
    if type(elements) is dict:
        return elements.get(place)
    return elements[place] if place < len(elements) else None


def _write(elements: Any, place: int, value: Any) -> None:
    if type(elements) is dict:
        if value is None:
            elements.pop(place, None)
        else:
            elements[place] = value
        return
    if place >= len(elements):
        elements.extend([None] * (place + 1 - len(elements)))
    elements[place] = value


class History(Tree):
    """The residuals of a branch or loop: its trip count, and values by inner node.

    Its cotangent and its tangent are histories, too.
    """

    __slots__ = ("_values", "near", "residuals", "trips")

    def __init__(self, trips: int, values: Any, residuals: ResidualArrays | None = None):
        self.trips, self._values, self.residuals = trips, values, residuals
        self.near: dict | None = None  # the values as a device has them, if it does

    @classmethod
    def on_device(cls, values: dict) -> History:
        """Return the residuals of a call, of which a device has some, until somebody looks."""
        history = cls(1, None)
        history.near = values
        return history

    @property
    def values(self) -> dict:
        """The residuals, by inner node."""
        if self._values is None and self.near is not None:
            self._values = {node: fetch(value) for node, value in self.near.items()}
        if self._values is None:
            assert self.residuals is not None
            self._values = self.residuals.form.rebuild(self.residuals.arrays).values
        return self._values

    def map_parts(self, function: Callable[[Any], Any]) -> History:
        """Return the residuals with `function` of each value;
        of the trips, if they are no number.
        """
        values = {node: function(part) for node, part in self.values.items()}
        return History(self.trips if type(self.trips) is int else function(self.trips), values)

    def form(self, part_form: Callable[[Any], Any]) -> tuple:
        """Return the trips, the nodes, and the forms of their residuals."""
        trips = self.trips if type(self.trips) is int else part_form(self.trips)
        return ("history", trips, *[(node, part_form(x)) for node, x in self.values.items()])

    def __repr__(self) -> str:
        return f"History({self.trips}, {self.values!r})"


class Rows:
    """One value for each slice of a batch, where these differ in structure (`kernels/rows.py`)."""

    __slots__ = ("rows",)

    def __init__(self, rows: list):
        self.rows = rows

    def __repr__(self) -> str:
        return f"Rows({self.rows!r})"


def total(a: Any, b: Any) -> Any:
    """Return the sum of two values, arrays or variants; None is zero."""
    if a is None or b is None:
        return b if a is None else a
    if type(a) is List:
        return _total_lists(a, b)
    if type(a) is Rows or type(b) is Rows:
        rows = [list(x.rows) if isinstance(x, Rows) else list(x) for x in (a, b)]
        return Rows([total(x, y) for x, y in zip(*rows)])
    if type(a) is History:
        values = dict(a.values)
        for key, value in b.values.items():
            values[key] = total(values.get(key), value)
        return History(a.trips, values)
    return np.add(a, b)


def _total_lists(a: List, b: List) -> List:
    """Return the sum of two lists; costs as much as the one with less in it."""
    if a.weight < b.weight:
        a, b = b, a
    size = max(a.size, b.size)
    for place, value in list(b.present()):
        a = a.put(place, total(a.get(place), value))
    return a if a.size == size else List.put(a, size - 1, a.get(size - 1))
