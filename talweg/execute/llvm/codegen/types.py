"""LLVM's types and constants for talweg's dtypes.

A dtype has a type in memory and one in registers: bool is i8 and i1, the 16-bit floats are computed
as float.
"""

from __future__ import annotations

import math
import struct

import numpy as np

from talweg.core.dtypes import DType

REGISTER = {
    "float16": "float",
    "bfloat16": "float",
    "float32": "float",
    "float64": "double",
    "bool": "i1",
    "int8": "i8",
    "uint8": "i8",
    "int16": "i16",
    "uint16": "i16",
    "int32": "i32",
    "uint32": "i32",
    "int64": "i64",
    "uint64": "i64",
}
MEMORY = {**REGISTER, "float16": "half", "bfloat16": "i16", "bool": "i8"}
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "half": 16, "float": 32, "double": 64}
SHORT = {"float": "f32", "double": "f64", "half": "f16"}  # in the names of intrinsics


SIZE = {"half": 2, "float": 4, "double": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8}


def register(dtype: DType) -> str:
    """Return the type of a value of this dtype in an expression."""
    return REGISTER[dtype.name]


def memory(dtype: DType) -> str:
    """Return the type of an element of a buffer."""
    return MEMORY[dtype.name]


def is_float(dtype: DType) -> bool:
    """Return whether values are float or double."""
    return dtype.is_floating


def is_signed(dtype: DType) -> bool:
    """Return whether integers of this dtype have a sign."""
    return dtype.is_integer and not dtype.is_unsigned


_VECTORS: dict[tuple[str, int], str] = {}


def vector(scalar: str, lanes: int) -> str:
    """Return `<lanes x scalar>`, or the scalar type itself for one lane."""
    found = _VECTORS.get((scalar, lanes))
    if found is None:
        found = _VECTORS[scalar, lanes] = scalar if lanes == 1 else f"<{lanes} x {scalar}>"
    return found


def suffix(scalar: str, lanes: int) -> str:
    """Return the type as in the names of intrinsics: `v8f32`, `i64`."""
    short = SHORT.get(scalar, scalar)
    return short if lanes == 1 else f"v{lanes}{short}"


def literal(value: float | np.generic, dtype: DType) -> str:
    """Return a number as a constant of the dtype's register type, exactly."""
    if dtype.is_bool:
        return "true" if value else "false"
    if not dtype.is_floating:
        bits = dtype.size * 8
        number = int(value) & ((1 << bits) - 1)
        return str(number - (1 << bits) if number >> (bits - 1) else number)
    with np.errstate(over="ignore"):
        return floating(float(dtype.numpy_dtype.type(value)))


def floating(value: float) -> str:
    """Return an exact float in LLVM's notation: the bits of the double."""
    if math.isnan(value):
        return "0x7FF8000000000000"
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def identity(op: str, scalar: str, signed: bool) -> str:
    """Return the identity element of `op`, as a constant of type `scalar`."""
    if scalar in SHORT:
        values = {"add": -0.0, "mul": 1.0, "maximum": -math.inf, "minimum": math.inf}
        return floating(values[op])
    bits = BITS[scalar]
    low, high = (-1 << (bits - 1), (1 << (bits - 1)) - 1) if signed else (0, -1)
    return str({"add": 0, "or": 0, "mul": 1, "and": -1, "maximum": low, "minimum": high}[op])
