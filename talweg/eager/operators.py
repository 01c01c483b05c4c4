"""Python's operators on tensors and variables: operands are converted here, then a primitive runs.

The rules of conversion are TensorFlow's: a Python number, list or array beside a tensor takes the
tensor's dtype if it can; two tensors of different dtypes are an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core.declare import suggest_cast
from talweg.core.dtypes import (
    COMPLEX,
    EXTENDED,
    FLOATING,
    INTEGER,
    DType,
    bool_,
    float32,
    float64,
    string,
)
from talweg.core.errors import InvalidArgumentError, NeedsStaticError, invalid, type_error
from talweg.core.hooks import hooks
from talweg.core.primitive import Primitive
from talweg.core.shapes import broadcast_dims
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.eager.tensor import EagerTensor
from talweg.prims import arithmetic, bitwise, complex, contract, rounding

if TYPE_CHECKING:
    from collections.abc import Sequence

_FLOAT_LIKE = frozenset(d for d in FLOATING | COMPLEX if d.name not in EXTENDED)  # weak in NumPy
_SINGLE = frozenset(d for d in INTEGER if d.size <= 2)


def matching(x: object, y: object, hint: DType | None = None) -> tuple[Any, Any]:
    """Return two operands that must have one dtype, ready for a primitive; at least one is a
    tensor.

    What is no tensor takes the dtype of the tensor beside it (TypeError if it cannot); a plain
    number that fits stays as it is.  Of two values that are no tensors the first decides; `hint` is
    the dtype to try then.
    """
    if type(x) is EagerTensor:
        return x, (y if type(y) is EagerTensor else _beside(y, x.dtype))
    if is_tensor_like(x):
        x = convert_to_tensor(x)
        return x, _beside(y, x.dtype)
    if is_tensor_like(y):
        y = convert_to_tensor(y)
        return _beside(x, y.dtype), y
    x = convert_to_tensor(x, dtype_hint=hint)
    return x, _beside(y, x.dtype)


def matching_tensors(x: object, y: object, hint: DType | None = None) -> tuple[Tensor, Tensor]:
    """Match operands as `matching` does; plain numbers become tensors too."""
    x, y = matching(x, y, hint)
    if not isinstance(x, Tensor):
        x = convert_to_tensor(x, y.dtype)
    if not isinstance(y, Tensor):
        y = convert_to_tensor(y, x.dtype)
    return x, y


def matching_list(values: Sequence[Any], hint: DType | None = None) -> list[Tensor]:
    """Return several operands as tensors; those without a dtype of their own take the first one
    there is.

    Tensors stay as they are, so that the primitive reports two that differ.  `hint` is the dtype to
    try where no value is a tensor; TypeError for a value that the common dtype cannot hold.
    """
    if all([type(value) is EagerTensor for value in values]):
        return list(values)
    dtype = next((value.dtype for value in values if is_tensor_like(value)), None)
    tensors = []
    for value in values:
        if is_tensor_like(value):
            tensors.append(convert_to_tensor(value))
        else:
            tensors.append(convert_to_tensor(value, dtype, None if dtype else hint))
        dtype = dtype or tensors[0].dtype
    return tensors


def _beside(value: object, dtype: DType) -> Any:
    if _is_plain_number(value, dtype):
        return value
    return convert_to_tensor(value, None if is_tensor_like(value) else dtype)


def _is_plain_number(value: Any, dtype: DType) -> bool:
    kind = type(value)
    if kind is float:
        return dtype in _FLOAT_LIKE
    return kind is int and (
        dtype in _FLOAT_LIKE or (dtype in INTEGER and dtype.min <= value <= dtype.max)
    )


def _match_by_hint(x: object, y: object) -> tuple[Any, Any]:
    """Match dtypes as `matching`, but to the right of a tensor only try its dtype (`+` and `@`)."""
    if not is_tensor_like(y):
        x = convert_to_tensor(x)
        if not _is_plain_number(y, x.dtype):
            y = convert_to_tensor(y, dtype_hint=x.dtype)
        return x, y
    return matching(x, y)


def binary(prim: Primitive) -> Callable[[Any, Any], Any]:
    """Return `prim` as a function of anything convertible."""

    def apply(x: Any, y: Any) -> Any:
        return prim(*matching(x, y))

    return apply


def unary(prim: Primitive) -> Callable[[Any], Any]:
    """Return `prim` as a function of anything convertible."""
    return lambda x: prim(convert_to_tensor(x))


def add(x: Any, y: Any) -> Any:
    """Return x + y; strings are joined."""
    x, y = _match_by_hint(x, y)
    if isinstance(x, Tensor) and x.dtype is string:
        if isinstance(y, Tensor) and y.dtype is not string:
            raise invalid(
                "TW102",
                f"add: y has dtype {y.dtype.name} but x has dtype string",
                "operands of one dtype",
                "tf.strings.as_string(y)",
            )
        return bitwise.join_strings(x, y)
    return arithmetic.add(x, y)


def matmul(x: object, y: object) -> Any:
    """Return x @ y."""
    return contract.matmul(*_match_by_hint(x, y))


def truediv(x: object, y: object) -> Any:
    """Return x / y; 8- and 16-bit integers give float32, wider ones float64."""
    x, y = _same_dtype(x, y)
    dtype = x.dtype
    if not dtype.is_numeric or dtype.is_quantized:
        raise type_error("TW102", f"Invalid dtype {dtype!r} in truediv", "numbers")
    if dtype in INTEGER:
        wide = float32 if dtype in _SINGLE else float64
        x, y = arithmetic.cast(x, dtype=wide), arithmetic.cast(y, dtype=wide)
    return arithmetic.div(x, y)


def _same_dtype(x: object, y: object) -> tuple[Tensor, Tensor]:
    x, y = matching_tensors(x, y)
    if x.dtype is not y.dtype:
        raise type_error(
            "TW102",
            f"`x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}.",
            hint="tf.cast one of them",
        )
    return x, y


def absolute(x: object) -> Any:
    """Return |x|; the modulus of complex numbers."""
    x = convert_to_tensor(x)
    return complex.complex_abs(x) if x.dtype.is_complex else arithmetic.abs_(x)


def _bitwise(integers: Primitive, logical: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(x: Tensor, y: Tensor) -> Any:
        x, y = matching_tensors(x, y)
        if x.dtype is bool_:
            return logical(x, y)
        return integers(x, y)

    return apply


def logical_xor(x: Tensor, y: Tensor) -> Any:
    """Return whether exactly one of x and y is true."""
    return arithmetic.logical_and(
        arithmetic.logical_or(x, y), arithmetic.logical_not(arithmetic.logical_and(x, y))
    )


def invert(x: Tensor) -> Any:
    """Return logical not for truth values, all bits flipped for integers."""
    x = convert_to_tensor(x)
    return arithmetic.logical_not(x) if x.dtype is bool_ else bitwise.invert(x)


def _broadcasts(x: Tensor, y: Tensor) -> bool:
    """Return whether the shapes fit; the run looks at those that a graph does not know."""
    try:
        broadcast_dims("equal", x.dims, y.dims)
    except NeedsStaticError:
        return True
    except InvalidArgumentError:
        return False
    return True


def equal_operator(x: object, y: float) -> Any:
    """Return x == y: elementwise; False for None; a scalar False where shapes do not fit."""
    return False if y is None else _compare(x, y, arithmetic.equal, False)


def not_equal_operator(x: Tensor, y: Tensor) -> Any:
    """Return x != y: elementwise; True for None; a scalar True where shapes do not fit."""
    return True if y is None else _compare(x, y, arithmetic.not_equal, True)


def _compare(x: Any, y: Any, prim: Primitive, otherwise: bool) -> Any:
    x = convert_to_tensor(x)
    if not isinstance(y, Tensor):
        y = convert_to_tensor(y, None if is_tensor_like(y) else x.dtype)
    if not _broadcasts(x, y):
        return convert_to_tensor(otherwise)
    if x.dtype is not y.dtype:
        raise invalid(
            "TW102",
            f"{prim.name}: x has dtype {x.dtype.name} and y has dtype {y.dtype.name}",
            "operands of one dtype",
            suggest_cast("x", x.dtype, "y", y.dtype),
        )
    return prim(x, y)


hooks.add = add
hooks.subtract = binary(arithmetic.sub)
hooks.multiply = binary(arithmetic.mul)
hooks.truediv = truediv
hooks.floordiv = binary(rounding.floor_div)
hooks.mod = binary(rounding.mod)
hooks.pow = binary(arithmetic.pow_)
hooks.matmul = matmul
hooks.negative = unary(arithmetic.neg)
hooks.abs = absolute
hooks.invert = invert
hooks.less = binary(arithmetic.less)
hooks.less_equal = binary(arithmetic.less_equal)
hooks.greater = binary(arithmetic.greater)
hooks.greater_equal = binary(arithmetic.greater_equal)
hooks.equal_operator = equal_operator
hooks.not_equal_operator = not_equal_operator
hooks.bitwise_and = _bitwise(bitwise.bitwise_and, arithmetic.logical_and)
hooks.bitwise_or = _bitwise(bitwise.bitwise_or, arithmetic.logical_or)
hooks.bitwise_xor = _bitwise(bitwise.bitwise_xor, logical_xor)
