"""Merging of the values that branches of one statement assign, name by name.

What is the same object in all branches stays what it is, untouched; equal Python values stay Python
values; everything else becomes results of the branch, number by number in `rows`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.dims import Dim
from talweg.core.dtypes import DType, as_dtype, string, variant
from talweg.core.errors import type_error, value_error
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.graph import structure
from talweg.graph.operation import Operation
from talweg.prims.lists import elements
from talweg.trace.autograph.first_values import must_be_given, name_of_given, value_and_given
from talweg.trace.autograph.values import (
    PLAIN,
    HalfDefined,
    Undefined,
    UndefinedReturnValue,
    can_be_tensor,
)

if TYPE_CHECKING:
    from talweg.graph.symbol import Symbol

ABSENT = UndefinedReturnValue()  # where a branch has nothing, and nobody will look at it
Build = Callable[[list], Any]


class Merging:
    """The merge of names' values over branches."""

    def __init__(self, statement: str, fill: bool = False):
        self.statement = statement
        self.fill = fill  # names without a value in a branch count as absent
        self.rows: list[tuple[str, list]] = []  # a name, and one tensor or number for each branch

    def match(self, name: str, values: list, left: list | None = None) -> Build:
        """Match the branches' values of each name; errors name the variable.

        `left`: for each branch, whether it ends in `return`, `break` or `continue`.
        """
        first = values[0]
        if all([value is first for value in values]):
            return lambda results: first
        values = [None if isinstance(value, Operation) else value for value in values]
        if left is not None:
            # what is undefined where the rest of the block is left out is not looked at
            values = [
                ABSENT if out and isinstance(value, Undefined) else value
                for value, out in zip(values, left)
            ]
        undefined = [value for value in values if isinstance(value, Undefined)]
        if undefined and not self.fill:
            undefined_value = undefined[0] if len(undefined) == len(values) else HalfDefined(name)
            return lambda results: undefined_value
        missing = (Undefined, UndefinedReturnValue, type(None) if self.fill else Undefined)
        values = [ABSENT if isinstance(value, missing) else value for value in values]
        present = [value for value in values if value is not ABSENT]
        if not present:
            return lambda results: first
        return self._match_present(name, values, present)

    def _match_present(self, name: str, values: list, present: list) -> Build:
        first = present[0]
        if all([value is None for value in present]):
            return lambda results: None
        if any([value is None for value in present]):
            raise value_error(
                "TW208",
                f"'{name}' is None in one branch of the {self.statement} and not in the other",
                "a tensor in both branches, or None in both",
            )
        if type(first) in PLAIN and all(
            [type(value) is type(first) and value == first for value in present]
        ):
            return lambda results: first
        if any([structure.is_nested(value, composites=True) for value in present]):
            return self._match_nests(name, values, present)
        for value in present:
            if not can_be_tensor(value):
                raise type_error(
                    "TW208",
                    f"'{name}' is a Python object that differs between the branches of the "
                    f"{self.statement}: {', '.join([repr(value) for value in present])}",
                    "tensors, or the same object in both branches",
                )
        row = len(self.rows)
        pairs = [None if value is ABSENT else value_and_given(name, value) for value in values]
        if any(pairs):  # a loop around may not have given the name a value yet
            return self._match_given(name, values, pairs)
        self.rows.append((name, values))
        return lambda results: results[row]

    def _match_given(self, name: str, values: list, pairs: list) -> Build:
        place = len(self.rows)
        found = [value if pair is None else pair[0] for value, pair in zip(values, pairs)]
        given = [
            value if value is ABSENT else True if pair is None else pair[1]
            for value, pair in zip(values, pairs)
        ]
        self.rows.extend([(name, found), (name_of_given(name), given)])
        return lambda results: must_be_given(name, results[place], results[place + 1])

    def _match_nests(self, name: str, values: list, present: list) -> Build:
        first = present[0]
        for other in present[1:]:
            difference = _difference(first, other)
            if difference:
                raise type_error(
                    "TW208",
                    f"'{name}' must have the same nested structure in the branches of the "
                    f"{self.statement}: {difference}",
                )
        parts = [None if value is ABSENT else structure.children(value) for value in values]
        builds = []
        for part_number in range(len(structure.children(first))):
            inner = [ABSENT if part is None else part[part_number] for part in parts]
            builds.append(self.match(name, inner))
        return lambda results: structure.rebuild(first, [build(results) for build in builds])

    def results_of(self, branch: int) -> list:
        """Return the results of one branch as tensors, while its graph is in force."""
        return [_as_result(name, values, branch, self.statement) for name, values in self.rows]


def _difference(first: Any, other: Any) -> str:
    """Describe how two containers differ; '' if they do not."""
    kinds = [structure.kind_of(value) for value in (first, other)]
    if kinds[0] != kinds[1] or (type(first) is not type(other) and kinds[0] != structure.MAPPING):
        return f"{type(first).__name__} and {type(other).__name__}"
    if kinds[0] == structure.MAPPING and set(first) != set(other):
        return f"keys {sorted(map(str, first))} and {sorted(map(str, other))}"
    sizes = len(structure.children(first)), len(structure.children(other))
    return f"{sizes[0]} and {sizes[1]} elements" if sizes[0] != sizes[1] else ""


def common_dtype(name: str, values: list, statement: str) -> DType:
    """Return the dtype of all values; TypeError if they differ, as Python's 1 and 2.0 do."""
    dtypes = dict.fromkeys([natural_dtype(value) for value in values])
    if len(dtypes) > 1:
        names = [dtype.name for dtype in dtypes]
        raise type_error(
            "TW102",
            f"'{name}' must have the same dtype in the branches of the {statement}: it has dtype "
            f"{names[0]} in one and {names[1]} in another",
            hint=f"tf.cast({name}, tf.{names[0]})" if name.isidentifier() else "",
        )
    return next(iter(dtypes))


def natural_dtype(value: Symbol | bool) -> DType:
    """Return the dtype of a value as a tensor by itself."""
    return as_dtype(value.dtype) if hasattr(value, "dtype") else convert_to_tensor(value).dtype


def _as_result(name: str, values: list, branch: int, statement: str) -> Tensor:
    present = [value for value in values if value is not ABSENT]
    dtype = common_dtype(name, present, statement)
    value = values[branch]
    if value is ABSENT:
        return zeros_like(present[0], dtype)
    return convert_to_tensor(value)


def zeros_like(value: object, dtype: DType) -> Tensor:
    """Return a placeholder like `value` that is never read; unknown sizes are 0."""
    if dtype is variant:
        return elements.variant_zero()
    dims = find_dims(value)
    sizes = () if dims is None else tuple([0 if type(d) is Dim or d is None else d for d in dims])
    if dtype is string:
        return convert_to_tensor(np.full(sizes, b"", object), string)
    return convert_to_tensor(np.zeros(sizes, dtype.numpy_dtype), dtype)


def find_dims(value: Any) -> tuple | None:
    """Return the dimensions of a tensor or number, some symbolic; None if the rank is unknown."""
    if isinstance(value, Tensor):
        aval = getattr(value, "aval", None)
        return value.dims if aval is None else aval.dims
    return np.shape(value)


def aval_of(value: Tensor) -> Aval:
    """Return the abstract value of a tensor."""
    return Aval(find_dims(value), value.dtype)
