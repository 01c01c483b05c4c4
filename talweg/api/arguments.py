"""Converts the arguments of public functions to the operands and parameters of primitives.

Primitives take tensors as operands and plain Python values as parameters: axes as sorted tuples of
non-negative ints, shapes as tuples of sizes.  Functions here do that once, with errors that name
the function and the argument.  The elements of a tensor of a graph are ints where they are known
and symbolic sizes (`core/dims.py`) where they are not.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dims import Dim, Size, differ, is_symbolic, resolve_size, same_dims
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.shapes import TensorShape, normalize_axis
from talweg.core.value import Tensor
from talweg.eager import operators
from talweg.eager.convert import convert_to_tensor
from talweg.eager.tensor import EagerTensor
from talweg.eager.variable import Variable
from talweg.graph.contents import elements
from talweg.graph.symbol import Symbol, constant_of
from talweg.prims import checking

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


matching = operators.matching


def tensor(value: Any, dtype: Any = None, hint: Any = None) -> Tensor:
    """Convert `value` to a tensor."""
    if dtype is None:
        kind = type(value)
        if kind is EagerTensor:
            return value
        if kind is Variable:
            return value.value()
    return convert_to_tensor(value, dtype, hint)


def require_sizes(x: Any, given: tuple, wanted: tuple, message: str) -> Any:
    """Return `x`; where only a run knows some of the sizes, it compares `given` with `wanted`.

    InvalidArgumentError then with `message`.  What is known now the caller compares.
    """
    if same_dims(given, wanted):
        return x
    return checking.check_sizes(x, given=tuple(given), wanted=tuple(wanted), message=message)


def tensors(values: Tensor, function: str, argument: str) -> list:
    """Convert a list of values to tensors of one dtype.

    Values that have no dtype of their own take that of the first that has one.
    """
    if isinstance(values, Tensor) and values.ndim:
        return [values[position] for position in range(values.dims[0])]
    if not isinstance(values, (list, tuple)):
        raise type_error(
            "TW104", f"{function}: {argument} must be a list of tensors, got {values!r}"
        )
    hint = next((v.dtype for v in values if isinstance(v, (Tensor, Variable))), None)
    tensors_out = []
    for value in values:
        converted = convert_to_tensor(value, dtype_hint=hint)
        hint = hint or converted.dtype
        tensors_out.append(converted)
    return tensors_out


def integer(value: Any, function: str, argument: str) -> Size:
    """Convert an int, a NumPy integer or a scalar tensor to an int; TypeError otherwise.

    A symbolic size from a tensor of a graph whose value is not known.
    """
    if type(value) is int or type(value) is Dim:
        return value
    if isinstance(value, (Tensor, Variable)):
        value = content(value, function, argument)
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(())[()]
    if type(value) is Dim:
        return value
    if isinstance(value, (bool, np.bool_)):
        return int(value)  # a truth value of Python is a number, as in TensorFlow
    try:
        return operator.index(value)
    except TypeError:
        raise type_error(
            "TW104", f"{function}: {argument} must be an integer, got {value!r}"
        ) from None


def content(value: TensorLike, function: str, argument: str) -> Any:
    """Return the elements of a tensor or variable:
    an array, of ints and symbolic sizes for a symbol.
    """
    if not isinstance(value, Tensor):
        value = value.value()
    if type(value) is not Symbol:
        return value._array
    if constant_of(value.node) is not None:
        return value._array
    if not value.dtype.is_integer:
        raise type_error(
            "TW104", f"{function}: {argument} must be integers, got dtype {value.dtype.name}"
        )
    return elements(value.node)


def integers(value: object, function: str, argument: str) -> tuple[Size, ...]:
    """Convert an int, a vector of any kind, or a list that may hold tensors to a tuple of ints.

    Symbolic sizes stand for what a graph does not know.
    """
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise value_error("TW205", f"{function}: {argument}={value} is not fully known")
        return value.as_tuple()
    if isinstance(value, (Tensor, Variable)):
        value = content(value, function, argument)
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype == object:
            return tuple(integer(item, function, argument) for item in value.reshape(-1))
        if value.size and value.dtype.kind not in "iu":
            raise type_error(
                "TW104", f"{function}: {argument} must be integers, got dtype {value.dtype}"
            )
        return tuple(int(number) for number in value.reshape(-1))
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return tuple(integer(item, function, argument) for item in value)
    return (integer(value, function, argument),)


def resolve_shape(
    value: object, size: Size, function: str, argument: str = "shape"
) -> tuple[Size, ...]:
    """Resolve a shape of `size` elements in which one dimension may be -1, "whatever is left"."""
    dims = integers(value, function, argument)
    if is_symbolic(dims):
        return _resolve_symbolic(dims, size, function, argument)
    if dims.count(-1) > 1:
        raise invalid("TW205", f"{function}: {argument}={dims} has more than one -1")
    if any(n < -1 for n in dims):
        raise invalid("TW205", f"{function}: {argument}={dims} has a size below -1")
    if -1 in dims:
        rest = math.prod(n for n in dims if n != -1)
        if rest == 0 or differ(size % rest, 0):
            raise invalid(
                "TW205",
                f"{function}: input with {size} values cannot be given {argument}={dims}",
                f"a size that is a multiple of {rest}" if rest else "no -1 beside a 0",
            )
        dims = tuple(size // rest if n == -1 else n for n in dims)
    return dims


def _resolve_symbolic(dims: tuple, size: Size, function: str, argument: str) -> tuple[Size, ...]:
    """Resolve as `resolve_shape` where some dimensions are symbolic; one of those may be -1,
    too.
    """
    numbers = [n for n in dims if type(n) is int]
    if numbers.count(-1) > 1 or any(n < -1 for n in numbers):
        raise invalid("TW205", f"{function}: {argument}={dims} has several -1, or sizes below")
    if -1 in numbers:
        rest = math.prod([n for n in dims if type(n) is Dim or n != -1])
        return tuple([size // rest if type(n) is int and n == -1 else n for n in dims])
    places = range(len(dims))
    return tuple(
        [
            resolve_size(n, size, math.prod([dims[j] for j in places if j != i]))
            for i, n in enumerate(dims)
        ]
    )


def axes_argument(
    value: object, rank: int, function: str, argument: str = "axis"
) -> tuple[int, ...]:
    """Convert None (all), an int, a list or a tensor to sorted non-negative axes; no axis
    twice.
    """
    if value is None:
        return tuple(range(rank))
    given = integers(value, function, argument)
    axes = [normalize_axis(function, axis, rank, argument) for axis in given]
    if len(set(axes)) < len(axes):
        raise invalid("TW202", f"{function}: {argument}={list(given)} names an axis twice")
    return tuple(sorted(axes))


def axis_argument(
    value: object, rank: int, function: str, argument: str = "axis", by_value: bool = False
) -> int:
    """Convert one axis to a non-negative one."""
    return normalize_axis(function, integer(value, function, argument), rank, argument, by_value)
