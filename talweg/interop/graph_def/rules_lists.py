"""Rules of TensorArrays, TensorLists and optionals.

The elements of a TensorArray travel in its flow, which is a list here; the handle only says of what
dtype and shape they are.
"""

from __future__ import annotations

from typing import Any

from talweg.api.export import look_up
from talweg.core import dtypes
from talweg.core.errors import UnimplementedError, compose
from talweg.interop.graph_def.values import ArrayHandle, constant, rule
from talweg.prims.lists import elements, parts
from talweg.raw.operands import sizes_of


@rule("TensorArrayV3")
def array(builder: Any, item: Any, inputs: list) -> list:
    """A TensorArray: its handle and its first flow."""
    attributes = item.attributes
    handle = ArrayHandle(
        attributes["dtype"],
        sizes_of(attributes["element_shape"]),
        attributes["dynamic_size"],
        attributes["identical_element_shapes"],
    )
    return [handle, elements.list_new(inputs[0])]


def _learn(handle: Any, dims: tuple | None) -> None:
    """Note the shape of the elements, where all of them have the same one."""
    if handle.alike and handle.dims is None and dims is not None:
        handle.dims = tuple([size if type(size) is int else None for size in dims])


@rule("TensorArrayWriteV3")
def written(builder: Any, item: Any, inputs: list) -> list:
    """The flow with one more element."""
    handle, index, value, flow = inputs
    _check_dtype(item, handle, value)
    _learn(handle, value.node.aval.dims)
    return [elements.list_set(flow, index, value, limited=not handle.dynamic)]


def _check_dtype(item: Any, handle: Any, value: Any) -> None:
    if value.dtype is not handle.dtype:
        raise item.error(f"it writes {value.dtype.name} into an array of {handle.dtype.name}")


@rule("TensorArrayReadV3")
def read(builder: Any, item: Any, inputs: list) -> list:
    """One element."""
    handle, index, flow = inputs
    return [elements.list_get(flow, index, dims=handle.dims, dtype=handle.dtype)]


@rule("TensorArrayGatherV3")
def gathered(builder: Any, item: Any, inputs: list) -> list:
    """Some elements, stacked."""
    handle, indices, flow = inputs
    _learn(handle, sizes_of(item.attributes["element_shape"]))
    return [look_up("gather")(_stacked(flow, handle.dims, handle.dtype), indices)]


def _stacked(flow: Any, dims: tuple | None, dtype: Any, size: int | None = None) -> Any:
    return elements.list_stack(flow, dims=dims, dtype=dtype, size=size)


@rule("TensorArrayScatterV3")
def scattered(builder: Any, item: Any, inputs: list) -> list:
    """The flow with the rows of a tensor as elements."""
    handle, indices, value, flow = inputs
    _check_dtype(item, handle, value)
    dims = value.node.aval.dims
    _learn(handle, None if dims is None else dims[1:])
    return [parts.list_scatter(flow, indices, value, limited=not handle.dynamic)]


@rule("TensorArraySizeV3")
def size(builder: Any, item: Any, inputs: list) -> list:
    """The number of elements."""
    return [elements.list_size(inputs[1])]


@rule("TensorArrayConcatV3")
def joined(builder: Any, item: Any, inputs: list) -> list:
    """All elements one after the other, and their lengths."""
    handle, flow = inputs
    dims = None if handle.dims is None else (None, *handle.dims[1:])
    lengths = look_up("cast")(parts.list_lengths(flow), dtypes.int64)
    return [parts.list_concat(flow, dims=dims, dtype=handle.dtype), lengths]


@rule("TensorArraySplitV3")
def parted(builder: Any, item: Any, inputs: list) -> list:
    """The parts of a tensor as elements."""
    handle, value, lengths, _ = inputs
    _check_dtype(item, handle, value)
    return [parts.list_split(value, lengths)]


@rule("TensorArrayCloseV3")
def closed(builder: Any, item: Any, inputs: list) -> Any:
    """Nothing: what nobody uses goes by itself."""
    return None


@rule("TensorArrayGradV3")
def gradient(builder: Any, item: Any, inputs: list) -> Any:
    """UnimplementedError: the array of the gradients of another one."""
    raise UnimplementedError(
        None,
        None,
        compose(
            "TW506",
            f"{item.described}: the gradient of a TensorArray cannot be imported",
            hint="import what comes before it, and take tf.gradients of it",
        ),
    )


@rule("AddN")
def added(builder: Any, item: Any, inputs: list) -> Any:
    """A sum; of lists element by element."""
    if inputs[0].dtype is not dtypes.variant:
        return builder.call(item, inputs)
    total = inputs[0]
    for other in inputs[1:]:
        total = elements.variant_sum(total, other)
    return [total]


@rule("ZerosLike")
def zeros_of(builder: Any, item: Any, inputs: list) -> Any:
    """Zeros; of a list or an optional, elements that are not there."""
    if inputs[0].dtype is not dtypes.variant:
        return builder.call(item, inputs)
    return [elements.list_new(elements.list_size(inputs[0]))]


# -- optionals: lists of their components, empty where there is no value


@rule("OptionalFromValue")
def optional(builder: Any, item: Any, inputs: list) -> list:
    """An optional with these components."""
    found = elements.list_new(constant(len(inputs), dtypes.int32))
    for number, x in enumerate(inputs):
        found = elements.list_set(found, constant(number, dtypes.int32), x, limited=True)
    return [found]


@rule("OptionalNone")
def no_value(builder: Any, item: Any, inputs: list) -> list:
    """An optional without a value."""
    return [elements.list_new(constant(0, dtypes.int32))]


@rule("OptionalHasValue")
def has_value(builder: Any, item: Any, inputs: list) -> list:
    """Whether an optional has a value."""
    if inputs[0].node.prim.name == "host_call":  # of an iterator
        return builder.call(item, inputs)
    return [elements.list_size(inputs[0]) > 0]


@rule("OptionalGetValue")
def components(builder: Any, item: Any, inputs: list) -> list:
    """The components of an optional; InvalidArgumentError when there are none."""
    if inputs[0].node.prim.name == "host_call":
        return builder.call(item, inputs)
    return [
        elements.list_get(
            inputs[0], constant(number, dtypes.int32), dims=sizes_of(shape), dtype=dtype
        )
        for number, (dtype, shape) in enumerate(
            zip(item.attributes["output_types"], item.attributes["output_shapes"])
        )
    ]
