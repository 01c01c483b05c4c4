"""Functions in Python and NumPy as operations, and exchange of memory with other packages."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.shapes import ensure_shape
from talweg.api.export import export, export_value
from talweg.core import dispatch
from talweg.core.dtypes import as_dtype
from talweg.core.errors import (
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
    compose,
    invalid,
)
from talweg.core.spec import TensorSpec, TypeSpec
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.structured import as_tensor, content
from talweg.eager.tensor import EagerTensor, wrap
from talweg.graph import structure
from talweg.kernels.variants import unwrap_element
from talweg.trace.host_calls import numpy_call, python_call

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, PositionalFunction


_CLASSES = (
    ((TypeError, ValueError), InvalidArgumentError),
    (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
)


def _as_operation_error(error: Exception) -> OpError:
    """Return the error an operation raises for one raised by the user's function."""
    cls = next((found for kinds, found in _CLASSES if isinstance(error, kinds)), UnknownError)
    return cls(None, None, compose("TW209", f"{type(error).__name__}: {error}"))


@export("py_function")
def py_function(
    func: PositionalFunction | None = None,
    inp: Any = None,
    Tout: DTypeLike | None = None,
    name: str | None = None,
) -> Any:
    """Return func(*inp) on tensors, its results as tensors of the dtypes `Tout`.

    Tapes see what happens inside, so it has a gradient.  inp: tensors, or sparse and ragged ones
    and others that consist of tensors.  Tout: a dtype, or a list of as many as there are results
    ([] for none); for a result that is no tensor its spec, such as `tf.RaggedTensorSpec`.  Without
    `func` it is a decorator, `@tf.py_function(Tout=...)`.
    InvalidArgumentError if their number or dtypes differ; errors in `func` come as operation
    errors, the original as their cause.

    >>> import talweg as tf
    >>> tf.py_function(lambda x: x * 2, [tf.constant([1.0])], tf.float32).numpy()
    array([2.], dtype=float32)
    """
    if func is None:
        return _decorator(lambda func, inp: py_function(func, inp, Tout))
    given = [x if _is_composite(x) else tensor(x) for x in (inp or [])]
    taken = [getattr(x, "_type_spec", None) for x in given]
    operands = structure.flatten(given, composites=True)
    several = isinstance(Tout, (list, tuple))
    results = [t if isinstance(t, TypeSpec) else as_dtype(t) for t in (Tout if several else [Tout])]
    dtypes = [spec.dtype for result in results for spec in _part_specs(result)]

    def call(*tensors: object) -> list:
        remaining = iter(tensors)
        arguments = [_put_together(spec, remaining) for spec in taken]
        return _call(func, arguments, results, several)

    if dispatch.context.base is None:
        outputs = call(*operands)
    else:
        outputs = python_call(call, operands, dtypes, func)
        if not dtypes:
            return outputs
    remaining = iter(outputs)
    converted = [_put_together(result, remaining) for result in results]
    return converted if several else converted[0]


def _is_composite(x: Tensor) -> bool:
    return structure.kind_of(x) == structure.COMPOSITE


def _part_specs(result: object) -> list:
    """Return the specs of the tensors that a result of this dtype or spec consists of."""
    return result.part_specs() if hasattr(result, "part_specs") else [_tensor_spec(result)]


def _tensor_spec(result: object) -> TypeSpec:
    """Return the spec of a result that is a tensor."""
    return result if isinstance(result, TypeSpec) else TensorSpec(None, result)


def _put_together(spec: Any, tensors: Iterator) -> Any:
    """Return the next value of these tensors: a composite where the spec is one."""
    if not hasattr(spec, "part_specs"):
        found = next(tensors)
        if isinstance(spec, TensorSpec) and spec.shape.rank is not None:
            return ensure_shape(found, spec.shape)
        return found
    return spec.with_parts([next(tensors) for _ in spec.part_specs()])


def _decorator(apply: Callable[[Any, list], Any]) -> Callable[[Any], Any]:
    """Return a decorator that makes a function of tensors."""

    def decorate(func: Callable[..., Any]) -> Any:
        @functools.wraps(func)
        def call(*inp: object) -> Any:
            return apply(func, list(inp))

        return call

    return decorate


def _call(func: Callable[..., Any], arguments: list, wanted: list, several: bool) -> list:
    """Call the user's function; its results as the tensors that these dtypes and specs ask for."""
    try:
        results = func(*arguments)
        values = _results(results, several)
        if len(values) != len(wanted):
            raise invalid(
                "TW204",
                f"py_function returns {len(values)} values, but expects to see {len(wanted)}",
                "a result for each dtype in Tout",
            )
        return [part for x, spec in zip(values, wanted) for part in _parts_of(x, spec)]
    except OpError:
        raise
    except Exception as error:
        raise _as_operation_error(error) from error


def _parts_of(x: Tensor, spec: Any) -> list:
    """Return the tensors of a result; InvalidArgumentError if it is not what its spec says."""
    if not hasattr(spec, "part_specs"):
        return [convert_to_tensor(x, _tensor_spec(spec).dtype)]
    if not spec.is_compatible_with(x):
        raise invalid("TW208", f"py_function returns {x!r}", f"a value of {spec!r}")
    return x._flat_components()


def _results(results: Any, several: bool) -> list:
    if results is None:
        return []
    if isinstance(results, (list, tuple)):
        return list(results) if several else list(results[:1])
    return [results]


@export("numpy_function")
def numpy_function(
    func: PositionalFunction | None = None,
    inp: Any = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Return func(*inp) on NumPy arrays; its results as tensors.  There is no gradient.

    A list or tuple of results gives a list of tensors, no result None.  Without `func` it is a
    decorator: `@tf.numpy_function(Tout=tf.float32)`.

    >>> import talweg as tf
    >>> tf.numpy_function(lambda x: x * 2, [tf.constant([1.0])], tf.float32).numpy()
    array([2.], dtype=float32)
    """
    if func is None:
        return _decorator(lambda func, inp: numpy_function(func, inp, Tout, stateful))
    if dispatch.context.base is not None:
        return in_graph(func, inp, Tout, "PyFunc" if stateful else "PyFuncStateless")
    results = func(*(np.array(x) for x in (inp or [])))
    if results is None:
        return None
    if isinstance(results, (list, tuple)):
        return [convert_to_tensor(x) for x in results]
    return convert_to_tensor(results)


def call_on_contents(func: Callable[..., Any], inp: list, Tout: Any) -> Any:
    """Call func(*inp) as `numpy_function` does, with variants as arrays of elements."""
    if dispatch.context.base is not None:
        return in_graph(func, inp, Tout, "PyFunc")
    values = [content(x) for x in map(tensor, inp)]
    results = func(*[np.asarray(x) for x in values])
    if isinstance(results, (list, tuple)):
        return [as_tensor(unwrap_element(x)) for x in results]
    return None if results is None else as_tensor(unwrap_element(results))


def in_graph(func: Callable[..., Any], inp: Any, Tout: Any, tf_type: str) -> Any:
    """Return the operation that calls `func` on arrays; an operation alone if `Tout` is empty."""
    several = isinstance(Tout, (list, tuple))
    dtypes = [as_dtype(t) for t in (Tout if several else [Tout])]
    operands = [tensor(x) for x in (inp or [])]
    return numpy_call(func, operands, dtypes, several, tf_type, _on_arrays)


def _on_arrays(func: Callable[..., Any], arrays: list) -> Any:
    try:
        return func(*arrays)
    except OpError:
        raise
    except Exception as error:
        raise _as_operation_error(error) from error


@export("compat.v1.py_func")
def py_func(
    func: PositionalFunction,
    inp: Any,
    Tout: DTypeLike,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Return func(*inp) on NumPy arrays, called whenever the graph runs; at once in eager
    execution.

    Tout: a dtype, or a list of as many as there are results; with [] the result is an operation.
    When it runs: InvalidArgumentError if the results have other dtypes, or are fewer or more;
    errors in `func` come as operation errors, the original as their cause.

    >>> import numpy as np
    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     session.run(tf.py_func(np.negative, [tf.constant([1.0])], tf.float32))
    array([-1.], dtype=float32)
    """
    if dispatch.context.base is None:
        return numpy_function(func, inp, Tout, stateful)
    return in_graph(func, inp, Tout, "PyFunc" if stateful else "PyFuncStateless")


@export("experimental.dlpack.to_dlpack")
def to_dlpack(tf_tensor: Any) -> Any:
    """Return a DLPack capsule of a tensor's value.

    InvalidArgumentError for what is no tensor, or has a dtype that DLPack lacks (strings).

    >>> import talweg as tf
    >>> type(tf.experimental.dlpack.to_dlpack(tf.constant([1.0]))).__name__
    'PyCapsule'
    """
    if not isinstance(tf_tensor, EagerTensor):
        raise invalid("TW104", f"to_dlpack: {tf_tensor!r} is no tensor", "an eager tensor")
    if not tf_tensor.dtype.is_numeric and not tf_tensor.dtype.is_bool:
        raise invalid("TW102", f"to_dlpack: dtype {tf_tensor.dtype.name} is not in DLPack")
    return tf_tensor.__dlpack__()


class _Capsule:
    """Adapts a DLPack capsule for NumPy, which asks an object for its capsule and device."""

    def __init__(self, capsule: Any):
        self._capsule = capsule

    def __dlpack__(self, **options: object) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple:
        return (1, 0)


@export("experimental.dlpack.from_dlpack")
def from_dlpack(dlcapsule: Any) -> Tensor:
    """Return a tensor of a DLPack capsule, or of an object with `__dlpack__`; the memory is shared.

    >>> import talweg as tf
    >>> x = tf.constant([1.0, 2.0])
    >>> tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(x)).numpy()
    array([1., 2.], dtype=float32)
    """
    given = dlcapsule if hasattr(dlcapsule, "__dlpack__") else _Capsule(dlcapsule)
    try:
        return wrap(np.from_dlpack(given))
    except (TypeError, ValueError, BufferError, RuntimeError, AttributeError) as error:
        raise invalid("TW104", f"from_dlpack: {error}", "a DLPack capsule on the CPU") from None


# -- tf.sysconfig

export_value(1, "sysconfig.CXX11_ABI_FLAG")
export_value(201703, "sysconfig.CXX_VERSION")
export_value(0, "sysconfig.MONOLITHIC_BUILD")


@export("sysconfig.get_build_info")
def get_build_info() -> dict[Any, Any]:
    """Describe the build of this package: without CUDA, ROCm and TensorRT.

    >>> import talweg as tf
    >>> tf.sysconfig.get_build_info()["is_cuda_build"]
    False
    """
    return {"is_cuda_build": False, "is_rocm_build": False, "is_tensorrt_build": False}


@export("sysconfig.get_compile_flags")
def get_compile_flags() -> list[Any]:
    """Return compiler flags for extensions in C++: none, as there is nothing to build against.

    >>> import talweg as tf
    >>> tf.sysconfig.get_compile_flags()
    []
    """
    return []


@export("sysconfig.get_link_flags")
def get_link_flags() -> list[Any]:
    """Return linker flags for extensions in C++: none; see `get_compile_flags`."""
    return []


@export("sysconfig.get_lib")
def get_lib() -> str:
    """Return the folder of this package.

    >>> import talweg as tf
    >>> tf.sysconfig.get_lib().endswith("talweg")
    True
    """
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
