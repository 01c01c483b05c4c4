"""Making tensors and variables: constant, convert_to_tensor, Variable, cast, and their types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export, export_value, implement_hook
from talweg.core import dispatch, dtypes, version
from talweg.core.dtypes import DType, as_dtype
from talweg.core.errors import UnimplementedError, compose, type_error
from talweg.core.hooks import hooks
from talweg.core.shapes import TensorShape
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager import convert
from talweg.eager.tape import GradientTape, UnconnectedGradients
from talweg.eager.tensor import EagerTensor, wrap
from talweg.eager.variable import Variable, VariableAggregation, VariableSynchronization
from talweg.execute.call import quiet
from talweg.graph.symbol import Symbol, constant_of
from talweg.prims import arithmetic
from talweg.prims.complex import complex_, imag, real

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike

for _name, _dtype in dtypes.BY_NAME.items():
    if _name in dtypes.NARROW:
        export_value(_dtype, f"experimental.{_name}", f"dtypes.experimental.{_name}")
    else:
        export_value(_dtype, _name, f"dtypes.{_name}")
export_value(dtypes.QUANTIZED, "dtypes.QUANTIZED_DTYPES")
export_value(dtypes.float16, "half", "dtypes.half")
export_value(dtypes.float64, "double", "dtypes.double")
export("DType", "dtypes.DType")(DType)
export("as_dtype", "dtypes.as_dtype")(as_dtype)
export("TensorShape")(TensorShape)
export("Tensor")(Tensor)
export("IndexedSlices")(IndexedSlices)
export("Variable")(Variable)
export("VariableAggregation", "compat.v1.VariableAggregation")(VariableAggregation)
export("VariableSynchronization")(VariableSynchronization)
export("GradientTape", "autodiff.GradientTape")(GradientTape)
export("UnconnectedGradients")(UnconnectedGradients)
for _name in (
    "VERSION",
    "GIT_VERSION",
    "COMPILER_VERSION",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
):
    export_value(getattr(version, _name), f"version.{_name}")


@export("convert_to_tensor")
def convert_to_tensor(
    value: object, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Tensor:
    """Return `value` as a tensor.

    Tensors are returned as they are, variables read; Python floats become float32, ints int32
    (int64 where they need it), arrays keep their dtype, lists are stacked.  `dtype` is demanded,
    `dtype_hint` tried.  ValueError or TypeError for what cannot be converted.

    >>> import talweg as tf
    >>> tf.convert_to_tensor([[1.0, 2.0]])
    <tf.Tensor: shape=(1, 2), dtype=float32, numpy=array([[1., 2.]], dtype=float32)>
    """
    converted = convert.convert_to_tensor(value, dtype, dtype_hint)
    base = dispatch.context.base
    if base is not None and type(converted) is dispatch.state.plain:
        return base.constant(converted._array)
    return converted


@export("constant")
def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    name: str = "Const",
) -> Tensor:
    """Return a tensor of `value`; a single value fills `shape`.  TypeError if the sizes do not
    match.
    """
    dtype = None if dtype is None else as_dtype(dtype)
    if isinstance(value, Tensor) and dtype not in (None, value.dtype):
        raise type_error(
            "TW102",
            f"constant: expected a value of dtype {dtype!r}, but got a tensor of {value.dtype!r}",
            hint="tf.cast(x, dtype)",
        )
    result = convert.convert_to_tensor(value, dtype)
    if isinstance(value, Tensor) or type(result) is Symbol and constant_of(result.node) is None:
        if shape is None:
            return result
        known = TensorShape(shape)
        fills = result.shape.num_elements() == 1 and known.is_fully_defined()
        reshaped = hooks.reshape(result, [1] * (known.rank or 0) if fills else shape)
        return hooks.broadcast_to(reshaped, known.as_list()) if fills else reshaped
    array = result._array if shape is None else _filling(result._array, TensorShape(shape))
    base = dispatch.context.base
    if base is not None:
        return base.constant(array, given=True)
    return result if array is result._array else wrap(array)


def _filling(array: np.ndarray, shape: TensorShape) -> Any:
    """Reshape an array, which a single element fills."""
    dims = shape.as_tuple()
    array = np.asarray(array)
    if array.shape == dims:
        return array
    if array.size == 1:
        return np.broadcast_to(array.reshape(()), dims).copy()
    size = int(np.prod(dims))
    if array.size != size:
        raise type_error(
            "TW205",
            f"Eager execution of tf.constant with unsupported shape. Tensor of shape {array.shape} "
            f"has {array.size} elements, but got `shape` {dims} with {size} elements.",
        )
    return array.reshape(dims)


@implement_hook("cast")
@export("cast", "dtypes.cast")
def cast(x: Any, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Return `x` as `dtype`: floats to integers truncate, complex numbers to real ones drop the
    rest."""
    dtype = as_dtype(dtype)
    if type(x) is not EagerTensor:
        if isinstance(x, IndexedSlices):
            return IndexedSlices(cast(x.values, dtype), x.indices, x.dense_shape)  # type: ignore
        if hasattr(x, "with_values"):  # a sparse tensor
            return x.with_values(cast(x.values, dtype))
        x = tensor(x)
    if (x.dtype is dtypes.string) != (dtype is dtypes.string):
        text = f"Cast {x.dtype.name} to {dtype.name} is not supported"
        to_text = dtype is dtypes.string
        cure = "tf.strings.as_string(x)" if to_text else f"tf.strings.to_number(x, tf.{dtype.name})"
        raise UnimplementedError(None, None, compose("TW102", text, hint=cure))
    return x if x.dtype is dtype else arithmetic.cast(x, dtype=dtype)


@export("saturate_cast", "dtypes.saturate_cast")
def saturate_cast(value: object, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Return `value` as `dtype`, clipped to the finite numbers of `dtype`, and of its own.

    Numbers of any shape and numeric dtype; complex numbers lose their imaginary part where `dtype`
    is real, and are clipped in both parts where it is complex.

    >>> import talweg as tf
    >>> tf.saturate_cast([300, -1, 7], tf.uint8).numpy()
    array([255,   0,   7], dtype=uint8)
    """
    dtype, x = as_dtype(dtype), tensor(value)
    if dtype.is_bool or x.dtype is dtype and not (dtype.is_floating or dtype.is_complex):
        return cast(x, dtype)
    if dtype.is_complex and x.dtype.is_complex:
        if dtype.size >= x.dtype.size:
            return cast(x, dtype)
        parts = [saturate_cast(part(x), dtype.real_dtype) for part in (real, imag)]
        return complex_(*parts)
    if dtype.is_complex:
        return cast(saturate_cast(x, dtype.real_dtype), dtype)
    if x.dtype.is_complex:
        x = cast(x, x.dtype.real_dtype)
    kind = x.dtype.numpy_dtype
    low, high = (_finite(_limit_in(end, kind), x.dtype) for end in (dtype.min, dtype.max))
    return cast(arithmetic.minimum(arithmetic.maximum(x, wrap(low)), wrap(high)), dtype)


def _finite(limit: np.generic, dtype: dtypes.DType) -> Any:
    """Return a limit, or that of the dtype itself if it is beyond."""
    own = dtype.numpy_dtype.type
    if not dtype.is_floating:
        return limit
    return own(min(max(float(limit), float(dtype.min)), float(dtype.max)))


def _limit_in(limit: int | np.generic, kind: np.dtype) -> Any:
    """Return the value of NumPy dtype `kind` nearest to a limit, from within."""
    if kind.kind in "iu":
        info = np.iinfo(kind)
        return kind.type(min(max(int(limit), info.min), info.max))
    found = quiet(kind.type, limit)
    if np.isfinite(found) and isinstance(limit, int) and int(found) > limit:
        return np.nextafter(found, kind.type(0))
    return found
