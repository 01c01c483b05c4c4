"""The operations that pass on, branch, repeat and call among tf.raw_ops; `table.txt` calls them
`flow.*`.

Functions among their arguments are what `tf.function` gives, or any Python function of tensors.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.creating import zeros
from talweg.api.autodiff import gradients
from talweg.api.control import cond, switch_case, while_loop
from talweg.api.export import look_up
from talweg.core import dispatch
from talweg.core.dtypes import int32
from talweg.core.errors import InvalidArgumentError, OpError, compose, invalid
from talweg.core.value import IndexedSlices
from talweg.eager.tape import GradientTape
from talweg.raw.operands import integers_of, numbers_of, of_array, scalar_of

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike
    from talweg.core.dtypes import DType
    from talweg.core.shapes import TensorShape
    from talweg.core.value import Tensor
    from talweg.graph.handle import Handle


def constant(value: object, dtype: DTypeLike) -> Any:
    """Return a constant, from its message or its value."""
    if hasattr(value, "tensor_shape"):
        value = look_up("make_ndarray")(value)
    return look_up("constant")(value, dtype)


def nothing() -> Any:
    """Make no operation."""
    return look_up("no_op")()


def print_values(input: list[Any], data: list, message: str, first_n: int, summarize: int) -> Any:
    """Print values, and return `input`."""
    return look_up("compat.v1.Print")(input, data, message, first_n, summarize)


def print_text(input: list[Any], output_stream: str, end: str) -> Any:
    """Print a scalar string."""
    if output_stream.startswith("file://"):
        output_stream = f"file://{output_stream[7:]}"
    stream = {"stderr": sys.stderr, "stdout": sys.stdout}.get(output_stream, output_stream)
    return look_up("print")(input, output_stream=stream, end=end)


def abort(error_msg: str, exit_without_error: bool) -> None:
    """End the process."""
    if exit_without_error:
        os._exit(0)
    raise OpError(None, None, compose("TW209", error_msg), 10)


# -- functions


def _as_list(results: object) -> list:
    """Return the tensors that a function gives."""
    if results is None:
        return []
    found = look_up("nest.flatten")(results)
    return [look_up("convert_to_tensor")(x) for x in found]


def _call(function: Callable[..., Any], arguments: list) -> list:
    if isinstance(function, str):
        raise InvalidArgumentError(
            None, None, compose("TW104", f"'{function}' is no function", hint="give the function")
        )
    return _as_list(function(*arguments))


def choose(cond_: object, input: list, then_branch: Any, else_branch: Any) -> list:
    """Return the results of one of two functions."""
    predicate = _truth(cond_)
    return cond(predicate, lambda: _call(then_branch, input), lambda: _call(else_branch, input))


def _truth(x: object) -> Any:
    return look_up("raw_ops.ToBool")(input=x)


def choose_by_number(branch_index: object, input: list, branches: list) -> list:
    """Return the results of one of several functions."""
    return switch_case(branch_index, [lambda f=f: _call(f, input) for f in branches])


def repeat(
    input: list, cond: Callable[..., Any], body: Callable[..., Any], parallel_iterations: int
) -> list:
    """Return a function again and again, while another one gives true."""
    shapes = [look_up("TensorShape")(None)] * len(input)
    graph = dispatch.context.base is not None
    found = while_loop(
        lambda *x: _truth(_call(cond, list(x))[0]),
        lambda *x: _call(body, list(x)),
        list(input),
        shape_invariants=shapes if graph else None,
        parallel_iterations=parallel_iterations,
    )
    return list(found) if isinstance(found, (list, tuple)) else [found]


def count(start: int, limit: int, delta: float, input: list, body: Callable[..., Any]) -> list:
    """Return a function for each number of a range."""

    def step(i: Any, *x: object) -> list:
        return [i + delta, *_call(body, [i, *x])]

    return list(while_loop(lambda i, *x: i < limit, step, [start, *input]))[1:]


def call(args: list, f: Callable[..., Any]) -> list:
    """Return the results of a function."""
    return _call(f, args)


def gradient_of(input: list, Tout: list, f: Callable[..., Any]) -> list:
    """Return the gradient of a function: its arguments, then cotangents of its results."""
    own = input[: len(Tout)]
    if dispatch.context.base is not None:
        targets = _call(f, own)
        found = gradients(targets, own, input[len(Tout) :])
    else:
        with GradientTape() as tape:
            tape.watch(own)
            targets = _call(f, own)
        found = tape.gradient(targets, own, list(input[len(Tout) :]))
    return [zeros_like(x) if g is None else _dense(g) for g, x in zip(found, own)]


def zeros_like(x: Tensor) -> Any:
    """Make zeros of a shape."""
    return look_up("zeros_like")(x)


def _dense(g: tuple[Any, ...]) -> Any:
    return look_up("convert_to_tensor")(g) if isinstance(g, IndexedSlices) else g


def python(input: list, token: str, Tout: list) -> list:
    """Return a Python function that was registered for `token`."""
    function = registered.get(token)
    if function is None:
        text = f"callback {token} is not found"
        raise InvalidArgumentError(None, None, compose("TW104", text, hint="tf.numpy_function"))
    found = look_up("numpy_function")(function, input, Tout)
    return [] if found is None else found


registered: dict[str, Callable[..., Any]] = {}  # Python functions by their tokens


# -- values that flow, or do not


def switch(data: list[Any], pred: object) -> tuple:
    """Return (data if `pred` is false, data if it is true): the other one holds nothing
    (zeros).
    """
    taken = bool(scalar_of(pred))
    dead = look_up("zeros_like")(data)
    return (dead, data) if taken else (data, dead)


def merge(inputs: list) -> tuple:
    """Return (the first input, its number)."""
    return inputs[0], of_array(0, int32)


def ref_select(index: int, inputs: list) -> Any:
    """Return one of several variables."""
    return inputs[int(scalar_of(index))]


def placeholder(dtype: object, shape: ShapeLike) -> Any:
    """Return a value that is fed."""
    return look_up("compat.v1.placeholder")(dtype, shape)


def placeholder_with_default(input: list[Any], shape: ShapeLike) -> Any:
    """Return a value that may be fed."""
    return look_up("compat.v1.placeholder_with_default")(input, shape)


def fake(dtype: DType, shape: TensorShape) -> Any:
    """Stand for a result that a branch does not have."""
    return zeros([n or 0 for n in (shape.as_list() if shape.rank is not None else [])], dtype)


def fact() -> Any:
    """Return a truth."""
    return look_up("constant")("0! = 1")


def device_index(device_names: list) -> Any:
    """Return the number of the CPU among names of devices; their number if it is not there."""
    names = [str(name).upper() for name in device_names]
    return of_array(names.index("CPU") if "CPU" in names else len(names), int32)


def tile_grad(input: Tensor, multiples: object) -> Any:
    """Return the gradient of `tf.tile`: the sum of the copies."""
    times = integers_of(multiples)
    shape = [n for size, k in zip(input.dims, times) for n in (k, size // k)]
    return look_up("reduce_sum")(
        look_up("reshape")(input, shape), list(range(0, 2 * len(times), 2))
    )


def fingerprint(data: list[Any], method: str) -> Any:
    """Return eight bytes that stand for each row."""
    function = look_up("fingerprint")
    return function(data, scalar_of(method).decode())


def isotonic(input: list[Any], output_dtype: DTypeLike) -> tuple:
    """Compute (the decreasing rows nearest to those given, the number of each element's block)."""
    y, segments = look_up("nn.isotonic_regression")(input)
    return look_up("cast")(y, output_dtype), segments


def map_file(dtype: DType, shape: TensorShape, memory_region_name: str) -> Any:
    """Return a tensor whose elements stand in a file."""
    array = np.fromfile(memory_region_name, dtype.numpy_dtype)
    return of_array(array.reshape(shape.as_list()))


# -- debugging


def nan_count(input: list[Any]) -> Any:
    """Count the elements that are NaN."""
    x = numbers_of(input)
    return of_array(np.isnan(x).sum() if x.dtype.kind in "fc" else 0, look_up("int64"))


def numeric_summary(input: Tensor, lower_bound: float, upper_bound: float) -> Any:
    """Return counts of kinds of elements, extremes, moments, the dtype and the shape."""
    x = numbers_of(input).astype(np.float64)
    flat = x.reshape(-1)
    finite = flat[np.isfinite(flat)]
    low, high = finite <= lower_bound, finite >= upper_bound
    inner = finite[~low & ~high]
    kinds = [
        1.0,
        flat.size,
        np.isnan(flat).sum(),
        (flat == -np.inf).sum() + low.sum(),
        (inner < 0).sum(),
        (inner == 0).sum(),
        (inner > 0).sum(),
        (flat == np.inf).sum() + high.sum(),
    ]
    moments = (
        [finite.min(), finite.max(), finite.mean(), finite.var()]
        if finite.size
        else [
            np.inf,
            -np.inf,
            np.nan,
            np.nan,
        ]
    )
    numbers = [*kinds, *moments, input.dtype.as_datatype_enum, x.ndim, *x.shape]
    return of_array(np.array(numbers, np.float64))


# -- values kept between runs

_kept: dict[bytes, Any] = {}


def keep(value: object) -> Any:
    """Return a handle of a value, for later runs."""
    handle = f"GetSessionHandle;{len(_kept)};/cpu:0".encode()
    _kept[handle] = value
    return look_up("constant")(handle)


def handle_value(handle: Handle, dtype: DTypeLike) -> Any:
    """Return the value of a handle; InvalidArgumentError if there is none."""
    key = scalar_of(handle)
    if key not in _kept:
        raise invalid("TW104", f"the tensor of the handle {key!r} is not in the session store")
    return _kept[key]


def forget(handle: Handle) -> None:
    """Forget the value of a handle."""
    _kept.pop(scalar_of(handle), None)
