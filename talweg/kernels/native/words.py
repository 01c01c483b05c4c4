"""Words that the language of `translate.py` has beside those of Python, which lacks them."""

from __future__ import annotations

from typing import Any


def _none(*given: object) -> Any:
    raise NotImplementedError("this is a word of machine code")


def load8(place: int) -> int:
    """Return a byte at an address."""
    return _none()


def load32(place: int) -> int:
    """Return four bytes at an address."""
    return _none()


def load64(place: int) -> int:
    """Return eight bytes at an address."""
    return _none()


def store8(place: int, value: int) -> int:
    """Write a byte to an address."""
    return _none()


def store32(place: int, value: int) -> int:
    """Write four bytes to an address."""
    return _none()


def store64(place: int, value: int) -> int:
    """Write eight bytes to an address."""
    return _none()


def each(element: int, out: int, a: int, b: int, c: int) -> int:
    """Stand for the function that a driver applies to each element."""
    return _none()


def new_bytes(data: int, size: int) -> int:
    """Make a `bytes` object of the bytes at an address; of arbitrary bytes, at 0."""
    return _none()


def increase(item: int) -> int:
    """Count a reference to an object."""
    return _none()


def decrease(item: int) -> int:
    """Uncount a reference to an object."""
    return _none()


def scratch(size: int) -> int:
    """Return the address of memory that is there until the function returns."""
    return _none()


def float_bits(number: int) -> int:
    """Return the bits of the float64 that is a whole number."""
    return _none()


def add_floats(x: int, y: int) -> int:
    """Return the bits of the sum of two float64."""
    return _none()


def multiply_floats(x: int, y: int) -> int:
    """Return the bits of the product of two float64."""
    return _none()


def divide_floats(x: int, y: int) -> int:
    """Return the bits of the quotient of two float64."""
    return _none()


def float32_bits(x: int) -> int:
    """Return the bits of the float32 next to a float64."""
    return _none()


def shift_product(x: int, y: int, places: int) -> int:
    """Return the product of two numbers in 128 bits, shifted right."""
    return _none()


def shift_rest(x: int, y: int, places: int) -> int:
    """Return the bits that `shift_product` drops, in 64 bits."""
    return _none()
