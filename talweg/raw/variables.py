"""The operations on variables among tf.raw_ops; `table.txt` calls them `variables.*`.

They take variables of either generation, their handles, or what `VarHandleOp` gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.array.creating import zeros
from talweg.api.array.gathering import gather, gather_nd
from talweg.api.export import look_up
from talweg.api.tensors import cast
from talweg.core import dispatch
from talweg.core.dtypes import bool_
from talweg.core.errors import FailedPreconditionError, OutOfRangeError, compose, invalid
from talweg.eager.graph_variable import take_update
from talweg.eager.variable import Variable
from talweg.raw.operands import (
    VariableCell,
    get_shared_handle,
    handle_content,
    handle_of,
    of_array,
    variable_of,
)

if TYPE_CHECKING:
    import numpy as np

    from talweg.core.annotations import DTypeLike, ShapeLike, WindowLike
    from talweg.core.value import Tensor

_temporary: dict[str, Any] = {}


def handle(
    dtype: Any,
    shape: Any,
    container: str = "",
    shared_name: str = "",
    debug_name: str = "",
    allowed_devices: object = (),
) -> Any:
    """Make the handle of a variable that has no value yet; of one name there is one."""
    graph = dispatch.context.base
    if graph is not None:
        known = graph.extras.setdefault("raw_variables", {})
        if shared_name not in known or not shared_name:
            start = zeros(
                [n or 0 for n in (shape.as_list() if shape.rank is not None else [])], dtype
            )
            make = look_up("compat.v1.Variable")
            known[shared_name] = make(
                start, collections=[], name=shared_name or None, trainable=False, shape=shape
            )
        return known[shared_name].handle
    name = shared_name or debug_name or "variable"
    make = lambda: handle_of(VariableCell(dtype, shape, name))  # noqa: E731
    return get_shared_handle("variable", container, shared_name, make)


def reference(
    shape: ShapeLike, dtype: DTypeLike, container: str = "", shared_name: str = ""
) -> Any:
    """Return a variable of the first generation without a value, for graphs."""
    if dispatch.context.base is None:
        raise RuntimeError("a variable of the first generation needs a graph")
    return handle(dtype, shape, container, shared_name)


def _cell(resource: object) -> Any:
    found = handle_content(resource)
    return found if isinstance(found, VariableCell) else None


def read(resource: object, dtype: DTypeLike | None = None) -> Any:
    """Return the value of a variable."""
    return variable_of(resource).read_value()


def assign(resource: object, value: Tensor, validate_shape: bool = False) -> Any:
    """Give a variable a value."""
    cell = _cell(resource)
    if cell is None or cell.variable is not None:
        _check(variable_of(resource), value)
        return variable_of(resource).assign(value, read_value=False)
    if value.dtype is not cell.dtype:
        raise invalid(
            "TW102", f"Trying to assign {value.dtype.name} to a {cell.dtype.name} variable"
        )
    if validate_shape and not cell.shape.is_compatible_with(value.shape):
        raise invalid("TW204", f"a value of shape {value.shape}", f"shape {cell.shape}")
    cell.variable = Variable(value, shape=cell.shape, trainable=False)
    return None


def _check(variable: Any, value: Tensor) -> None:
    if value.dtype is not variable.dtype:
        raise invalid(
            "TW102", f"a value of dtype {value.dtype.name}", f"dtype {variable.dtype.name}"
        )


def assign_add(resource: Any, value: Tensor) -> Any:
    """Add to a variable."""
    return variable_of(resource).assign_add(value, read_value=False)


def assign_sub(resource: object, value: object) -> Any:
    """Subtract from a variable."""
    return variable_of(resource).assign_sub(value, read_value=False)


def assign_ref(ref: object, value: object, validate_shape: bool, use_locking: bool) -> Any:
    """Return the variable with a new value."""
    return take_update(look_up("compat.v1.assign")(variable_of(ref), value, validate_shape))


def assign_add_ref(ref: object, value: object, use_locking: bool) -> Any:
    """Return the variable with something added."""
    return take_update(variable_of(ref).assign_add(value))


def assign_sub_ref(ref: object, value: object, use_locking: bool) -> Any:
    """Return the variable with something subtracted."""
    return take_update(variable_of(ref).assign_sub(value))


def is_initialized(resource: object) -> Any:
    """Return whether a variable has a value."""
    cell = _cell(resource)
    if cell is not None:
        return of_array(cell.variable is not None, bool_)
    return look_up("compat.v1.is_variable_initialized")(variable_of(resource))


def shape(input: list[Any], out_type: DTypeLike) -> Any:
    """Return the shape of a variable's value."""
    return look_up("shape")(variable_of(input).read_value(), out_type)


def destroy(resource: object, ignore_lookup_error: bool) -> None:
    """Forget the value of a variable, or nothing of another resource."""
    cell = _cell(resource)
    if cell is not None:
        if cell.variable is None and not ignore_lookup_error:
            raise FailedPreconditionError(None, None, compose("TW401", f"no variable {cell.name}"))
        cell.variable = None


def nothing(resource: object) -> None:
    """Do nothing: variables here copy when they must."""


def count_up(ref: object, limit: int) -> Any:
    """Return the value of a counter, which goes on; OutOfRangeError at its limit."""
    variable = variable_of(ref)
    if dispatch.context.base is None and int(variable.numpy()) >= limit:
        raise OutOfRangeError(None, None, compose("TW206", f"Reached limit of {limit}"))
    return look_up("compat.v1.count_up_to")(variable, limit)


def count_up_resource(resource: object, limit: int, T: DTypeLike) -> Any:
    """Return the value of a counter, which goes on; OutOfRangeError at its limit."""
    return count_up(resource, limit)


def temporary(shape: ShapeLike, dtype: DTypeLike, var_name: str) -> Any:
    """Return a variable until `DestroyTemporaryVariable`."""
    found = _temporary[var_name] = handle(dtype, shape, "temporary", var_name)
    return found


def destroy_temporary(ref: object, var_name: str) -> Any:
    """Return the last value of a temporary variable, which goes."""
    _temporary.pop(var_name, None)
    return read(ref)


# -- parts of variables


def gather_rows(
    resource: object, indices: np.ndarray, dtype: DTypeLike, batch_dims: int, validate_indices: bool
) -> Any:
    """Gather rows of a variable."""
    axis = batch_dims
    return gather(variable_of(resource), indices, axis=axis, batch_dims=batch_dims)


def gather_places(resource: object, indices: np.ndarray, dtype: DTypeLike) -> Any:
    """Gather elements or slices of a variable."""
    return gather_nd(variable_of(resource).read_value(), indices)


_ROWS = {
    "add": "tensor_scatter_nd_add",
    "sub": "tensor_scatter_nd_sub",
    "max": "tensor_scatter_nd_max",
    "min": "tensor_scatter_nd_min",
    "update": "tensor_scatter_nd_update",
}


def _rows_changed(variable: Any, kind: str, indices: np.ndarray, updates: np.ndarray) -> Any:
    """Return the value with rows changed; products and quotients one row after the other."""
    value = variable.read_value()
    flat = look_up("reshape")(indices, [-1])
    tail = look_up("shape")(value)[1:]
    wanted = look_up("concat")([look_up("shape")(indices), tail], 0)
    rows = look_up("broadcast_to")(updates, wanted)
    rows = look_up("reshape")(rows, look_up("concat")([[-1], tail], 0))
    if kind in _ROWS:
        return look_up(_ROWS[kind])(value, flat[:, None], rows)
    count = look_up("shape")(value)[0]
    factors = look_up("math.unsorted_segment_prod")(rows, flat, count)
    return value * factors if kind == "mul" else look_up("math.divide")(value, factors)


def scatter(kind: str, resource: object, indices: np.ndarray, updates: np.ndarray) -> Any:
    """Change rows of a variable."""
    variable = variable_of(resource)
    new = _rows_changed(variable, kind, indices, updates)
    return variable.assign(cast(new, variable.dtype), read_value=False)


def scatter_ref(
    kind: str, ref: object, indices: np.ndarray, updates: np.ndarray, use_locking: bool
) -> Any:
    """Return the variable with rows changed."""
    variable = variable_of(ref)
    new = cast(_rows_changed(variable, kind, indices, updates), variable.dtype)
    return take_update(variable.assign(new))


def scatter_places(
    kind: str, ref: object, indices: np.ndarray, updates: np.ndarray, use_locking: bool, policy: str
) -> Any:
    """Change elements or slices of a variable."""
    variable = variable_of(ref)
    new = look_up(_ROWS[kind])(variable.read_value(), indices, updates)
    return variable.assign(new, read_value=False)


def scatter_places_ref(
    kind: str, ref: object, indices: np.ndarray, updates: np.ndarray, use_locking: bool, policy: str
) -> Any:
    """Return the variable with elements or slices changed."""
    variable = variable_of(ref)
    new = look_up(_ROWS[kind])(variable.read_value(), indices, updates)
    return take_update(variable.assign(new))


def _overwritten(
    x: object, begin: int, end: str, strides: WindowLike, value: object, **masks: int
) -> Any:
    """Return a tensor with a slice replaced: its elements know their places."""
    size = look_up("size")(x)
    places = look_up("reshape")(look_up("range")(size), look_up("shape")(x))
    chosen = look_up("strided_slice")(places, begin, end, strides, **masks)
    flat = look_up("reshape")(chosen, [-1, 1])
    rows = look_up("reshape")(look_up("broadcast_to")(value, look_up("shape")(chosen)), [-1])
    whole = look_up("tensor_scatter_nd_update")(look_up("reshape")(x, [-1]), flat, rows)
    return look_up("reshape")(whole, look_up("shape")(x))


def with_slice(
    input: list[Any], begin: int, end: str, strides: WindowLike, value: object, **masks: int
) -> Any:
    """Return a tensor with a slice replaced."""
    return _overwritten(input, begin, end, strides, value, **masks)


def assign_slice(
    ref: object, begin: int, end: str, strides: WindowLike, value: object, **masks: int
) -> Any:
    """Replace a slice of a variable."""
    variable = variable_of(ref)
    new = _overwritten(variable.read_value(), begin, end, strides, value, **masks)
    return variable.assign(new, read_value=False)


def assign_slice_ref(
    ref: object, begin: int, end: str, strides: WindowLike, value: object, **masks: int
) -> Any:
    """Return the variable with a slice replaced."""
    variable = variable_of(ref)
    new = _overwritten(variable.read_value(), begin, end, strides, value, **masks)
    return take_update(variable.assign(new))
