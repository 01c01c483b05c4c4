"""Bits of integers, and joining strings: what has no derivative."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from talweg.core.declare import elementwise
from talweg.core.dtypes import INTEGER, string
from talweg.core.primitive import NoGradient, Reject, Sample

if TYPE_CHECKING:
    from collections.abc import Callable

BITS = NoGradient("integers have no derivative")
TEXT = NoGradient("strings have no derivative")
INTS = np.array([5, -7, 0, 123], np.int32)
BYTES = np.array([[3], [200]], np.uint8), np.array([1, 255, 7], np.uint8)
TWO = (Sample(INTS, INTS[::-1].copy()), Sample(*BYTES), Sample(INTS[:0], INTS[:1]))
REJECTS = (
    Reject([2], [2], code="TW102"),
    Reject(INTS, np.array([True]), code="TW102"),
    Reject(INTS, INTS[:3], code="TW201"),
)


def _bitwise(name: str, kernel: Callable, text: str, scalar: Callable | str, operands: str = "x y"):
    body = type(name, (), {"__doc__": text, "operands": operands, "no_gradient": BITS})
    one = operands == "x"
    samples = (Sample(INTS), Sample(BYTES[0])) if one else TWO
    rejects = REJECTS[:1] if not one else (Reject([2], code="TW102"),)
    make = elementwise(
        numpy=kernel, accepts=INTEGER, samples=samples, rejects=rejects, scalar=scalar
    )
    return make(body)


def _amount(x: np.ndarray, y: np.ndarray):
    """Return shift amounts held within 0 ... bits - 1, as TensorFlow does."""
    return np.clip(y, 0, x.dtype.itemsize * 8 - 1).astype(x.dtype, copy=False)


def _amount_of_element(s, y):
    return s.minimum(s.maximum(y, 0), y.dtype.size * 8 - 1)


bitwise_and = _bitwise("bitwise_and", np.bitwise_and, "z = the bits set in both x and y.", "and")
bitwise_or = _bitwise("bitwise_or", np.bitwise_or, "z = the bits set in x or y.", "or")
bitwise_xor = _bitwise("bitwise_xor", np.bitwise_xor, "z = the bits set in one of x and y.", "xor")
invert = _bitwise("invert", np.invert, "y = all bits of x flipped.", "not", "x")
left_shift = _bitwise(
    "left_shift",
    lambda x, y: np.left_shift(x, _amount(x, y)),
    "z = x 2ʸ, bits that leave are lost.",
    lambda s, x, y: s.shift_left(x, _amount_of_element(s, y)),
)
right_shift = _bitwise(
    "right_shift",
    lambda x, y: np.right_shift(x, _amount(x, y)),
    "z = floor(x / 2ʸ).",
    lambda s, x, y: s.shift_right(x, _amount_of_element(s, y)),
)


def _join(x: np.ndarray, y: np.ndarray):
    result = np.empty(np.broadcast_shapes(np.shape(x), np.shape(y)), object)
    np.add(x, y, out=result)
    return result


@elementwise(
    numpy=_join,
    accepts=frozenset({string}),
    # The check of batching subtracts results, which strings cannot.
    samples=(Sample(np.array([b"a", b"bc"], object), np.array([b"x"], object), skip=("batch",)),),
)
class join_strings:
    """z = the bytes of x followed by those of y."""

    operands = "x y"
    tf_type = "StringJoin"
    no_gradient = TEXT
