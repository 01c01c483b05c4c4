"""DTypes: TensorFlow's names and numbers over NumPy's types.

bfloat16 and the 8-bit floats live in `ml_dtypes`, which is loaded when one of them is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.errors import NotEagerError, invalid, type_error, value_error

if TYPE_CHECKING:
    from talweg.core.dims import Size

ENUMS = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "string": 7,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "qint8": 11,
    "quint8": 12,
    "qint32": 13,
    "bfloat16": 14,
    "qint16": 15,
    "quint16": 16,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "resource": 20,
    "variant": 21,
    "uint32": 22,
    "uint64": 23,
    "float8_e5m2": 24,
    "float8_e4m3fn": 25,
    "float8_e4m3fnuz": 26,
    "float8_e4m3b11fnuz": 27,
    "float8_e5m2fnuz": 28,
    "int4": 29,
    "uint4": 30,
    "int2": 31,
    "uint2": 32,
    "float4_e2m1fn": 33,
}

NARROW = frozenset(name for name, number in ENUMS.items() if number >= 24)  # of at most 8 bits
EXTENDED = NARROW | {"bfloat16"}
_OBJECTS = frozenset(("string", "resource", "variant"))
_QUANTIZED = {"qint8": "i1", "quint8": "u1", "qint32": "i4", "qint16": "i2", "quint16": "u2"}


class DType:
    """The type of a tensor's elements.  There is one object per dtype; compare with ``==``."""

    __slots__ = (
        "_numpy",
        "as_datatype_enum",
        "is_bool",
        "is_complex",
        "is_differentiable",
        "is_floating",
        "is_integer",
        "is_numeric",
        "is_numpy_compatible",
        "is_quantized",
        "is_unsigned",
        "name",
    )

    def __init__(self, name: str):
        self.name = name
        self.as_datatype_enum = ENUMS[name]
        self._numpy: Any = None
        self.is_floating = name.startswith(("float", "bfloat"))
        self.is_complex = name.startswith("complex")
        self.is_integer = name.startswith(("int", "uint"))  # quantized ones are not
        self.is_unsigned = name.startswith("uint")
        self.is_quantized = name in _QUANTIZED
        self.is_bool = name == "bool"
        self.is_numeric = not (self.is_bool or name in _OBJECTS or name in NARROW)
        self.is_numpy_compatible = name not in ("resource", "variant")
        self.is_differentiable = self.is_floating or self.is_complex or name == "variant"

    @property
    def numpy_dtype(self) -> np.dtype:
        """The NumPy dtype that holds this type's values."""
        if self._numpy is None:
            self._numpy = np.dtype(self._find_numpy_type())
            if self.is_numpy_compatible:  # arrays of objects are strings, whoever asked for others
                _BY_NUMPY[self._numpy] = self
        return self._numpy

    def _find_numpy_type(self):
        if self.name in EXTENDED:
            import ml_dtypes

            return getattr(ml_dtypes, self.name)
        if self.name in ("string", "resource", "variant"):
            return object
        if self.name in _QUANTIZED:
            code = _QUANTIZED[self.name]
            return [(self.name, code)]
        return self.name

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy scalar type (`np.float32`), `object` for strings."""
        if self.name in _QUANTIZED:
            return self.numpy_dtype
        return self.numpy_dtype.type if self.name not in _OBJECTS else object

    @property
    def base_dtype(self) -> DType:
        """This dtype; there are no reference types here."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The type of the real part."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @property
    def size(self) -> int:
        """Bytes an element takes; 0 for strings, whose elements differ."""
        if self.name == "string":
            return 0
        return 1 if self.name in ("resource", "variant") else self.numpy_dtype.itemsize

    @property
    def min(self):
        """The smallest finite value, as a NumPy scalar; TypeError for bool and strings."""
        return self._limit("min")

    @property
    def max(self):
        """The largest finite value, as a NumPy scalar; TypeError for bool and strings."""
        return self._limit("max")

    def _limit(self, which: str):
        if self.is_quantized or not (self.is_integer or self.is_floating):
            raise type_error("TW102", f"Cannot find {which}imum value of {self}.")
        if self.name in EXTENDED:
            import ml_dtypes

            info = ml_dtypes.finfo if self.is_floating else ml_dtypes.iinfo
            return getattr(info(self.numpy_dtype), which)
        if self.is_integer:
            return int(getattr(np.iinfo(self.numpy_dtype), which))
        return getattr(np.finfo(self.numpy_dtype), which)

    @property
    def limits(self) -> tuple:
        """(smallest, largest) value, zero-clipped as image operations expect; else ValueError."""
        if self.is_quantized or self.name in NARROW:
            raise value_error("TW102", f"{self} does not have defined limits.")
        low, high = {"bool": (False, True)}.get(self.name, (None, None))
        if low is None:
            low, high = (0, 1) if self.is_floating else (self.min, self.max)
        return (0 if self.is_integer else low), high

    def is_compatible_with(self, other: Size) -> bool:
        """Return whether a tensor of `other` can stand where this dtype is asked for."""
        return self is as_dtype(other)

    def is_subtype_of(self, other: Size) -> bool:
        """Return whether this is `other`."""
        return type(other) is DType and self is other

    def most_specific_common_supertype(self, types: tuple) -> DType | None:
        """Return this dtype if all `types` equal it, else None."""
        return self if all(self is other for other in types) else None

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other is None or type(other) is DType:
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self.as_datatype_enum

    def __reduce__(self):
        return as_dtype, (self.name,)

    def __int__(self) -> int:
        return self.as_datatype_enum


BY_NAME: dict[str, DType] = {name: DType(name) for name in ENUMS}
_BY_ENUM = {dtype.as_datatype_enum: dtype for dtype in BY_NAME.values()}
_BY_NUMPY: dict[Any, DType] = {}

bool_ = BY_NAME["bool"]
float16, float32, float64 = BY_NAME["float16"], BY_NAME["float32"], BY_NAME["float64"]
bfloat16 = BY_NAME["bfloat16"]
int8, int16, int32, int64 = (BY_NAME[f"int{n}"] for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (BY_NAME[f"uint{n}"] for n in (8, 16, 32, 64))
complex64, complex128 = BY_NAME["complex64"], BY_NAME["complex128"]
string, resource, variant = BY_NAME["string"], BY_NAME["resource"], BY_NAME["variant"]

SIGNED = frozenset((int8, int16, int32, int64))
UNSIGNED = frozenset((uint8, uint16, uint32, uint64))
INTEGER = SIGNED | UNSIGNED
FLOATING = frozenset((float16, bfloat16, float32, float64))
COMPLEX = frozenset((complex64, complex128))
INEXACT = FLOATING | COMPLEX
REAL = FLOATING | INTEGER
NUMERIC = REAL | COMPLEX
ANY = NUMERIC | {bool_}
QUANTIZED = frozenset(BY_NAME[name] for name in _QUANTIZED)
EVERYTHING = ANY | QUANTIZED | {BY_NAME[name] for name in NARROW} | {string, variant, resource}

for _dtype in sorted((ANY | QUANTIZED) - {bfloat16}, key=int):
    _BY_NUMPY[_dtype.numpy_dtype] = _dtype
_BY_NUMPY[np.dtype(object)] = string
_PYTHON = {
    float: float32,
    bool: bool_,
    object: string,
}  # int and str are no dtypes, as in TensorFlow
_NO_DTYPES = frozenset((int, complex, str, bytes))
_ALIASES = {"half": float16, "float": float32, "double": float64, "np.bool": bool_, "bool_": bool_}


def is_known(dtype: np.dtype) -> bool:
    """Return whether there is a DType of a NumPy dtype."""
    try:
        of_numpy(dtype)
    except TypeError:
        return False
    return True


def integer_view(array: Any) -> Any:
    """Return an array of a quantized dtype as the integers that it holds; any other as it is."""
    if array.dtype is VARIANT or array.dtype == VARIANTS:
        text = "Cannot convert a Tensor of dtype variant to a NumPy array."
        raise invalid("TW102", text, "a tensor of another dtype")
    if array.dtype.names is None:
        return array
    return np.asarray(array).view(array.dtype[0])


class _VariantKind:
    """The placeholder of a NumPy dtype for values that are no arrays."""

    kind, name, itemsize = "O", "variant", 1


VARIANT: Any = _VariantKind()
_BY_NUMPY[VARIANT] = variant
# The NumPy dtype of tensors of rank 1 or more whose elements are no arrays.
VARIANTS: Any = np.dtype([("variant", object)])
_BY_NUMPY[VARIANTS] = variant


def of_numpy(dtype: np.dtype) -> DType:
    """Return the DType of a NumPy dtype; TypeError if there is none."""
    known = _BY_NUMPY.get(dtype)
    if known is not None:
        return known
    if isinstance(dtype, DType):
        raise NotEagerError
    if dtype.kind in "SU":
        return string
    known = BY_NAME.get(dtype.name)
    if known is None and dtype.newbyteorder("=") in _BY_NUMPY:
        return _BY_NUMPY[dtype.newbyteorder("=")]
    if known is None:
        raise type_error("TW102", f"Cannot convert value {dtype!r} to a TensorFlow DType.")
    _BY_NUMPY[known.numpy_dtype] = known
    return known


def as_dtype(type_value: Any) -> DType:
    """Return `type_value` (DType, name, number, NumPy type, float, bool) as a DType; else
    TypeError."""
    kind = type(type_value)
    if kind is DType:
        return type_value
    dtype = None
    if kind is str:
        dtype = BY_NAME.get(type_value) or _ALIASES.get(type_value)
    elif kind is int:
        dtype = _BY_ENUM.get(type_value)
        if dtype is None:
            raise _no_dtype(type_value)
    elif kind is type and type_value in _NO_DTYPES:
        raise _no_dtype(type_value)
    elif kind is type:
        dtype = _PYTHON.get(type_value)
    if dtype is not None:
        return dtype
    inner = type_value if kind is type else getattr(type_value, "dtype", type_value)
    if type(inner) is DType:
        return inner
    if inner is None:
        raise _no_dtype(type_value)
    try:
        return of_numpy(np.dtype(inner))
    except (TypeError, ValueError):
        raise _no_dtype(type_value) from None


def _no_dtype(value: object) -> TypeError:
    return type_error(
        "TW102",
        f"Cannot convert value {value!r} to a TensorFlow DType.",
        "a tf.DType, its name or number, a NumPy dtype, float or bool",
    )
