"""tf.math: the four operations, integer division, powers, and sums of several tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.math.operands import elementwise, keeping_zeros, matching, matching_tensors
from talweg.core.dtypes import (
    COMPLEX,
    INTEGER,
    NUMERIC,
    float32,
    float64,
    int32,
    int64,
)
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.convert import is_tensor_like
from talweg.prims import arithmetic, complex, guarded, rounding

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

TRUNCATED = frozenset({int32, int64, float32, float64})  # TensorFlow's truncatemod takes these


@export("math.add", "add")
def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x + y, broadcast; strings are joined.

    x, y: tensors of one numeric dtype, or what converts to one.  InvalidArgumentError if the dtypes
    differ or the shapes do not broadcast.

    >>> import talweg as tf
    >>> tf.add([1, 2], 3)
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([4, 5], dtype=int32)>
    """
    return hooks.add(x, y)


@export("math.subtract", "subtract")
def subtract(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x - y, broadcast.

    x, y: tensors of one numeric dtype, or what converts to one.  InvalidArgumentError if the dtypes
    differ or the shapes do not broadcast.

    >>> import talweg as tf
    >>> tf.subtract([3.0, 5.0], 1.0)
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([2., 4.], dtype=float32)>
    """
    return arithmetic.sub(*matching(x, y))


@export("math.multiply", "multiply")
def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x y, element by element, broadcast.

    x, y: tensors of one numeric dtype, or what converts to one.  InvalidArgumentError if the dtypes
    differ or the shapes do not broadcast.

    >>> import talweg as tf
    >>> tf.multiply([[1, 2]], [[3], [4]])
    <tf.Tensor: shape=(2, 2), dtype=int32, numpy=
    array([[3, 6],
           [4, 8]], dtype=int32)>
    """
    if isinstance(x, IndexedSlices) or isinstance(y, IndexedSlices):
        return hooks.multiply(x, y)
    return arithmetic.mul(*matching(x, y))


@export("math.divide", "divide")
def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y; the same as `tf.truediv`.

    x, y: tensors of one dtype; TypeError if the dtypes differ.

    >>> import talweg as tf
    >>> tf.divide([1, 2], [4, 4])
    <tf.Tensor: shape=(2,), dtype=float64, numpy=array([0.25, 0.5 ])>
    """
    return hooks.truediv(x, y)


@export("math.truediv", "truediv")
def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y; integers of 8 and 16 bits give float32, wider ones float64.

    x, y: tensors of one dtype; TypeError if the dtypes differ.

    >>> import talweg as tf
    >>> tf.truediv([1, 2], [4, 4])
    <tf.Tensor: shape=(2,), dtype=float64, numpy=array([0.25, 0.5 ])>
    """
    return hooks.truediv(x, y)


@export("realdiv")
def realdiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y of floats or complex numbers.  InvalidArgumentError for integers.

    >>> import talweg as tf
    >>> tf.realdiv([1.0, 2.0], 4.0)
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.25, 0.5 ], dtype=float32)>
    """
    return arithmetic.div(*matching(x, y))


@export("math.floordiv")
def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return floor(x / y), in x's dtype.

    x, y: tensors of one real dtype.  InvalidArgumentError for an integer divisor of 0, dtypes that
    differ, shapes that do not broadcast.

    >>> import talweg as tf
    >>> tf.math.floordiv([-7, 7], 2)
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([-4,  3], dtype=int32)>
    """
    return rounding.floor_div(*matching(x, y))


@export("math.floormod", "math.mod")
def floormod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x - floor(x / y) y: the remainder with the sign of y.

    x, y: tensors of one real dtype.  InvalidArgumentError for an integer divisor of 0.

    >>> import talweg as tf
    >>> tf.math.floormod([-7, 7], 3)
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([2, 1], dtype=int32)>
    """
    return rounding.mod(*matching(x, y))


@export("truncatediv")
def truncatediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y rounded toward zero, in x's dtype.

    x, y: tensors of one real dtype.  InvalidArgumentError for an integer divisor of 0.

    >>> import talweg as tf
    >>> tf.truncatediv([-7, 7], 2)
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([-3,  3], dtype=int32)>
    """
    return rounding.truncate_div(*matching(x, y))


@export("truncatemod")
def truncatemod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute the remainder of x / y with the sign of x.

    x, y: tensors of int32, int64 or a float dtype.  InvalidArgumentError for an integer divisor of
    0.

    >>> import talweg as tf
    >>> tf.truncatemod([-7, 7], 3)
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([-1,  1], dtype=int32)>
    """
    x, y = matching(x, y)
    dtype = x.dtype if is_tensor_like(x) else y.dtype
    if dtype in INTEGER and dtype not in TRUNCATED:
        raise invalid("TW102", f"truncatemod: x has dtype {dtype.name}", "int32, int64 or floats")
    return rounding.truncate_mod(x, y)


@export("math.scalar_mul", "scalar_mul")
def scalar_mul(scalar: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return scalar · x for a scalar of rank 0; x may be an `IndexedSlices`.

    TypeError if the scalar cannot have x's dtype, ValueError if it is no scalar.

    >>> import talweg as tf
    >>> tf.math.scalar_mul(2.0, tf.constant([1.0, 3.0]))
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([2., 6.], dtype=float32)>
    """
    sparse = isinstance(x, IndexedSlices)
    values = x.values if sparse else tensor(x)
    factor = tensor(scalar, None if is_tensor_like(scalar) else values.dtype)
    if factor.dtype is not values.dtype:
        raise value_error(
            "TW102",
            f"scalar_mul: scalar has dtype {factor.dtype.name} and x has dtype {values.dtype.name}",
            "equal dtypes",
        )
    if factor.ndim:
        raise value_error("TW203", f"scalar_mul: scalar has shape {factor.shape}", "rank 0")
    product = arithmetic.mul(values, factor)
    return IndexedSlices(product, x.indices, x.dense_shape) if sparse else product  # type: ignore


# -- one operand


@export("math.negative", "negative")
def negative(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute -x.

    x: a tensor of numbers; InvalidArgumentError for unsigned integers, truth values and strings.

    >>> import talweg as tf
    >>> tf.negative([1, -2])
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([-1,  2], dtype=int32)>
    """
    return keeping_zeros(arithmetic.neg, x)


@export("math.abs", "abs")
def absolute(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute |x|; for complex numbers the modulus, in the real dtype.

    x: a tensor of numbers; InvalidArgumentError for unsigned integers, truth values and strings.
    The derivative at 0 is 0.

    >>> import talweg as tf
    >>> tf.abs([-1.5, 2.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1.5, 2. ], dtype=float32)>
    >>> tf.abs(tf.constant([3 + 4j]))
    <tf.Tensor: shape=(1,), dtype=float64, numpy=array([5.])>
    """
    return keeping_zeros(_absolute, x)


def _absolute(x: Tensor) -> Any:
    return complex.complex_abs(x) if x.dtype in COMPLEX else arithmetic.abs_(x)


@export("math.sign", "sign")
def sign(x: TensorLike, name: str | None = None) -> Tensor:
    """Return -1, 0 or 1; for complex numbers x / |x|, and 0 for 0.

    x: a tensor of numbers; InvalidArgumentError for unsigned integers, truth values and strings.

    >>> import talweg as tf
    >>> tf.sign([-2.5, 0.0, 4.0])
    <tf.Tensor: shape=(3,), dtype=float32, numpy=array([-1.,  0.,  1.], dtype=float32)>
    """
    return keeping_zeros(_sign, x)


def _sign(x: Tensor) -> Any:
    return complex.direction(x) if x.dtype in COMPLEX else arithmetic.sign(x)


@export("math.square", "square")
def square(x: TensorLike, name: str | None = None) -> Tensor:
    """Return x², element by element.

    x: a tensor of numbers; InvalidArgumentError for truth values and strings.

    >>> import talweg as tf
    >>> tf.square([2.0, -3.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([4., 9.], dtype=float32)>
    """
    return keeping_zeros(arithmetic.square, x)


@export("math.sqrt", "sqrt")
def sqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute √x; NaN for negative numbers.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.sqrt([4.0, 9.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([2., 3.], dtype=float32)>
    """
    return keeping_zeros(arithmetic.sqrt, x)


@export("math.rsqrt")
def rsqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 / √x.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.rsqrt([4.0, 0.25])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.5, 2. ], dtype=float32)>
    """
    return elementwise(arithmetic.rsqrt, x)


@export("math.reciprocal")
def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 / x.

    x: a tensor of floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.reciprocal([4.0, 0.5])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.25, 2.  ], dtype=float32)>
    """
    return elementwise(guarded.reciprocal, x)


@export("math.reciprocal_no_nan")
def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 / x, and 0 where x = 0.

    x: a tensor of floats or complex numbers; InvalidArgumentError for integers, TypeError for truth
    values and strings.

    >>> import talweg as tf
    >>> tf.math.reciprocal_no_nan([4.0, 0.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.25, 0.  ], dtype=float32)>
    """
    x = tensor(x)
    if x.dtype not in NUMERIC:
        raise type_error("TW102", f"reciprocal_no_nan: x has dtype {x.dtype.name}", "numbers")
    return guarded.div_no_nan(arithmetic.one_like(x), x)


# -- two operands


@export("math.pow", "pow")
def power(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return xʸ, broadcast.

    x, y: tensors of one dtype: signed integers, floats or complex numbers.  InvalidArgumentError
    for negative integer exponents of integers and for dtypes that differ.  The derivative by y is
    0 where x <= 0.

    >>> import talweg as tf
    >>> tf.pow([2, 3], [3, 2])
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([8, 9], dtype=int32)>
    """
    return arithmetic.pow_(*matching(x, y))


@export("math.squared_difference")
def squared_difference(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return (x - y)²; for complex numbers |x - y|², in the complex dtype.

    x, y: tensors of one dtype: int32, int64, floats or complex numbers.  InvalidArgumentError
    otherwise.

    >>> import talweg as tf
    >>> tf.math.squared_difference([1.0, 4.0], 2.0)
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 4.], dtype=float32)>
    """
    x, y = matching(x, y)
    if (x if is_tensor_like(x) else y).dtype in COMPLEX:
        difference = arithmetic.sub(x, y)
        return difference * complex.conj(difference)
    return guarded.squared_difference(x, y)


@export("math.divide_no_nan")
def divide_no_nan(x: TensorLike, y: object, name: str | None = None) -> Tensor:
    """Return x / y, and 0 where y = 0; the derivatives are 0 there too.

    x, y: tensors of one dtype (TypeError otherwise); integers give floats as in `tf.truediv`.

    >>> import talweg as tf
    >>> tf.math.divide_no_nan([1.0, 2.0], [0.0, 4.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0. , 0.5], dtype=float32)>
    """
    x, y = matching_tensors(x, y)
    for value, argument in ((x, "x"), (y, "y")):
        if value.dtype is not x.dtype or value.dtype not in NUMERIC:
            raise type_error(
                "TW102",
                f"divide_no_nan: {argument} has dtype {value.dtype.name} and x has dtype "
                f"{x.dtype.name}",
                "numbers of one dtype",
            )
    if x.dtype in INTEGER:
        wide = float32 if x.dtype.size <= 2 else float64
        x, y = arithmetic.cast(x, dtype=wide), arithmetic.cast(y, dtype=wide)
    return guarded.div_no_nan(x, y)


@export("math.multiply_no_nan")
def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x y, and 0 where y = 0 even if x is infinite or NaN.

    x, y: tensors of one dtype, floats or complex numbers.  ValueError if the dtypes differ,
    InvalidArgumentError for other dtypes.

    >>> import talweg as tf
    >>> tf.math.multiply_no_nan([float("inf"), 2.0], [0.0, 4.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0., 8.], dtype=float32)>
    """
    x, y = matching_tensors(x, y)
    if x.dtype is not y.dtype:
        raise value_error(
            "TW102",
            f"multiply_no_nan: y has dtype {y.dtype.name} and x has dtype {x.dtype.name}",
            "equal dtypes",
            f"tf.cast(y, tf.{x.dtype.name})",
        )
    return guarded.mul_no_nan(x, y)


@export("math.xdivy")
def xdivy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y, and 0 where x = 0.

    x, y: tensors of one dtype, floats or complex numbers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.xdivy([0.0, 1.0], [0.0, 4.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.  , 0.25], dtype=float32)>
    """
    return guarded.xdivy(*matching_tensors(x, y))
