"""Numbers as text, in C's formats, and numbers read from text."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from talweg.core.dtypes import DType, bool_, complex64, complex128, float32, string
from talweg.core.errors import invalid

BLANKS = b" \t\n\v\f\r"
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_FLOAT = re.compile(
    rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan(?:\(\w*\))?)",
    re.IGNORECASE,
)
_HEXADECIMAL = re.compile(
    rb"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?"
)


def _not_read(text: bytes) -> Exception:
    shown = text.decode(errors="replace")
    return invalid(
        "TW207", f"StringToNumberOp could not correctly convert string: {shown}", "a number"
    )


def read_float(text: bytes) -> float:
    """Return a number in decimal or hexadecimal digits, inf or nan;
    blanks around it do not count.
    """
    plain = text.strip(BLANKS)
    if _FLOAT.fullmatch(plain):
        return float(plain.split(b"(")[0])
    if _HEXADECIMAL.fullmatch(plain):
        try:
            return float.fromhex(plain.decode())
        except OverflowError:
            return float("-inf") if plain.startswith(b"-") else float("inf")
    raise _not_read(text)


def read_float32(text: bytes) -> Any:
    """Read a number as `read_float`, rounded once."""
    value = read_float(text)
    rounded = np.float32(value)
    if not np.isfinite(rounded) or float(rounded) == value:
        return rounded
    return _round_once(text.strip(BLANKS), value, rounded)


def _round_once(text: bytes, value: float, rounded: Any) -> Any:
    """Return the float32 next to a decimal number of which `value` is the float64 next to it.

    The two roundings differ from one only where the first ends halfway between two float32.
    """
    for other in (np.nextafter(rounded, np.float32(-np.inf)), np.nextafter(rounded, np.inf)):
        if (float(rounded) + float(other)) / 2 == value:
            hexadecimal = _HEXADECIMAL.fullmatch(text)
            exact = Fraction(value) if hexadecimal else Fraction(text.decode())
            if exact != Fraction(value):
                above = exact > Fraction(value)
                return max(rounded, other) if above else min(rounded, other)
    return rounded


def integer_reader(dtype: DType) -> Callable[[bytes], int]:
    """Return a function that reads whole numbers which the dtype has."""
    low, high, unsigned = int(dtype.min), int(dtype.max), int(dtype.min) == 0

    def read(text: bytes) -> int:
        plain = text.strip(BLANKS)
        if not _INTEGER.fullmatch(plain) or unsigned and plain[:1] == b"-":
            raise _not_read(text)
        digits = plain.lstrip(b"+-").lstrip(b"0")
        value = int(plain) if len(digits) < 21 else high + 1
        if not low <= value <= high:
            raise _not_read(text)
        return value

    return read


def reader(dtype: DType) -> Callable[[bytes], Any]:
    """Return a function of text that gives a number of this dtype."""
    if dtype.is_integer:
        return integer_reader(dtype)
    return read_float32 if dtype is float32 else read_float


def format_of(
    dtype: DType, precision: int, scientific: bool, shortest: bool, width: int, fill: str
) -> Callable[[Any], bytes]:
    """Return a function that writes numbers of a dtype;
    InvalidArgumentError for what does not apply.
    """
    number = dtype.is_floating or dtype.is_complex
    if len(fill.encode()) > 1 or fill not in " +-0#":
        raise invalid("TW207", f"as_string: fill {fill!r}", "' ', '+', '-', '0', '#' or ''")
    places = f"{width}" if width > -1 else ""
    if scientific and shortest:
        raise invalid("TW207", "as_string: both scientific and shortest", "one of them")
    if dtype is string:
        form_of_text = f"%{fill if fill == '-' else ''}{places}s".encode()
        return lambda value: form_of_text % value
    if (scientific or shortest) and not number:
        raise invalid("TW207", f"as_string: scientific or shortest of {dtype.name}", "floats")
    if precision >= 0 and not number:
        raise invalid("TW207", f"as_string: precision of {dtype.name}", "floats")
    digits = f".{precision}" if precision > -1 else ""
    letter = "e" if scientific else "g" if shortest else "f"
    if dtype in (complex64, complex128):
        form = f"(%{fill}{places}{digits}{letter},%{fill}{places}{digits}{letter})"
        return lambda value: (form % (value.real, value.imag)).encode()
    if dtype is bool_:
        return lambda value: b"true" if value else b"false"
    if number:
        return _float_writer(f"%{fill}{places}{digits}{letter}")
    if fill in "+ " and dtype.is_unsigned:
        fill = ""
    form = f"%{fill}{places}d"
    return lambda value: (form % value).encode()


def _float_writer(form: str) -> Callable[[Any], bytes]:
    unpadded = form.replace("%0", "%", 1)

    def write(value: float) -> bytes:
        return ((form if np.isfinite(value) else unpadded) % value).encode()

    return write if unpadded != form else lambda value: (form % value).encode()
