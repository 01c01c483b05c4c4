"""Functions of single strings, element by element; the function is a parameter."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import ELEMENTWISE, LOOP, primitive
from talweg.core.dtypes import DType, int32, string
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Sample
from talweg.core.shapes import broadcast_dims
from talweg.kernels.strings.native import SOME


class ArrayKernel(Protocol):
    """A kernel for many elements at once: a `StringKernel`, or a kernel of a pattern."""

    def of(self, x: np.ndarray, dtype: Any, slow: Callable[[Any], Any]) -> np.ndarray | None:
        """Return the results for an array; None where Python is to give them."""
        ...


@dataclasses.dataclass(frozen=True)
class Rule:
    """The rule for each element: `apply(element, *arguments)`, with results of `dtype`.

    Rules of one function and equal arguments are equal, so that equal nodes are one.  `form` says
    what TensorFlow calls it: the type of operation, the inputs behind the elements, attributes;
    `table` is the table that the rule looks into; `whole` does all elements of an array at once,
    `kernel` many of them in machine code.
    """

    apply: Callable[..., Any]
    dtype: DType
    arguments: tuple = ()
    form: tuple | None = dataclasses.field(default=None, compare=False)
    table: Any = dataclasses.field(default=None, compare=False)
    whole: Callable[..., Any] | None = dataclasses.field(default=None, compare=False)
    kernel: ArrayKernel | None = dataclasses.field(default=None, compare=False)

    def __call__(self, array: Any) -> np.ndarray:
        """Return the rule on each element of an array."""
        array = np.asarray(array)
        if self.whole is not None:
            mapped = self.whole(array, *self.arguments)
            if mapped is not None:
                return mapped
        if self.kernel is not None and array.size >= SOME:
            mapped = self.kernel.of(array, self.dtype.numpy_dtype, self._of_element)
            if mapped is not None:
                return mapped
        flat = [self.apply(element, *self.arguments) for element in array.reshape(-1).tolist()]
        if self.dtype is not string:
            return np.array(flat, self.dtype.numpy_dtype).reshape(array.shape)
        mapped = np.empty(len(flat), object)
        mapped[:] = flat
        return mapped.reshape(array.shape)

    def _of_element(self, element: Any) -> Any:
        return self.apply(element, *self.arguments)


UNITS = ("BYTE", "UTF8_CHAR")


def check_unit(function: str, unit: str) -> None:
    """Raise InvalidArgumentError for what strings cannot be measured in."""
    if unit not in UNITS:
        raise invalid("TW207", f"{function}: unit {unit!r}", "'BYTE' or 'UTF8_CHAR'")


def characters(text: bytes) -> list[int]:
    """Locate the starts of characters: bytes that do not continue one of UTF-8."""
    return [place for place, byte in enumerate(text) if byte & 0xC0 != 0x80]


def part(text: bytes, start: int, size: int, unit: str) -> bytes:
    """Return `size` bytes or characters from `start` on;
    bytes of a negative size are all that follow.
    """
    places = range(len(text)) if unit == "BYTE" else characters(text)
    first = start + len(places) if start < 0 else start
    if not 0 <= first <= len(places):
        raise invalid("TW206", f"pos {start} out of range for string {text!r}")
    last = first + size if size >= 0 else len(places) if unit == "BYTE" else first
    ends = [*places, len(text)]
    return text[ends[first] : ends[min(last, len(places))]]


@primitive
class substring:
    """z[i] = the part of x[i] from start[i] on, of size[i]; all are broadcast."""

    operands = "x start size"
    tf_type = "Substr"
    no_gradient = NoGradient("strings have no derivative")
    batch = LOOP
    memory = "host"

    def infer(x, start, size, *, unit):
        if None not in (start.dims, size.dims) and len(start.dims) != len(size.dims):
            raise invalid("TW204", "pos and len should have the same shape", "equal shapes")
        return Aval(broadcast_dims("substr", x.dims, start.dims, size.dims), string)

    def numpy(x: np.ndarray, start, size, *, unit):
        if np.shape(start) != np.shape(size):
            raise invalid("TW204", "pos and len should have the same shape", "equal shapes")
        texts, starts, sizes = np.broadcast_arrays(np.asarray(x, object), start, size)
        found = np.empty(texts.shape, object)
        columns = [a.reshape(-1).tolist() for a in (texts, starts, sizes)]
        found.reshape(-1)[:] = [part(x, first, count, unit) for x, first, count in zip(*columns)]
        return found

    samples = (
        Sample(
            np.array([b"abc", b"de"], object),
            np.array([1, -1], np.int32),
            np.array([2, 1], np.int32),
            unit="BYTE",
            skip=("batch",),
        ),
    )


@primitive
class text_map:
    """z[i] = rule(x[i])."""

    operands = "x"
    no_gradient = NoGradient("strings have no derivative")
    batch = ELEMENTWISE
    memory = "host"

    def infer(x, *, rule):
        return Aval(x.dims, rule.dtype)

    def numpy(x, *, rule):
        return rule(x)

    samples = (
        Sample(np.array([b"Ab", b""], object), rule=Rule(len, int32)),
        Sample(np.array([[b"abc"]], object), rule=Rule(len, int32)),
    )
