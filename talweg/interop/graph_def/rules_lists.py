"""Rules of TensorArrays, TensorLists and optionals.

The elements of a TensorArray travel in its flow, which is a list here; the handle only says of what
dtype and shape they are.
"""

from __future__ import annotations

from typing import Any

from talweg.api.export import look_up
from talweg.core import dtypes
from talweg.core.errors import UnimplementedError, compose
from talweg.graph.symbol import Symbol, constant_of
from talweg.interop.graph_def.values import ArrayHandle, constant, rule
from talweg.prims.bundle import list_resize
from talweg.prims.lists import elements, parts


def _fixed(shape: Any) -> tuple | None:
    return None if shape.rank is None else tuple(shape.as_list())


@rule("TensorArrayV3")
def array(builder: Any, item: Any, inputs: list) -> list:
    """A TensorArray: its handle and its first flow."""
    attributes = item.attributes
    handle = ArrayHandle(
        attributes["dtype"],
        _fixed(attributes["element_shape"]),
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
    _learn(handle, _fixed(item.attributes["element_shape"]))
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


@rule("TensorArrayCloseV3", "StackCloseV2")
def closed(builder: Any, item: Any, inputs: list) -> Any:
    """Nothing: what nobody uses goes by itself."""
    return None


@rule("TensorArrayGradV3", "StackV2", "StackPushV2", "StackPopV2")
def gradient(builder: Any, item: Any, inputs: list) -> Any:
    """UnimplementedError: the reverse of a loop of the first generation."""
    raise UnimplementedError(
        None,
        None,
        compose(
            "TW506",
            f"{item.described}: the gradient of a loop of the first generation cannot be imported",
            hint="import the loop, and take tf.gradients of it",
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
    """Zeros; of a list, elements that are not there."""
    if inputs[0].dtype is not dtypes.variant:
        return builder.call(item, inputs)
    return [elements.list_new(elements.list_size(inputs[0]))]


# -- TensorLists


def _dims(shape: Any) -> tuple | None:
    """The element's shape that a tensor of sizes says, as far as it is known."""
    content = constant_of(shape.node) if type(shape) is Symbol else None
    if content is None or content.array.ndim != 1:
        return None
    return tuple([int(size) if size >= 0 else None for size in content.array])


@rule("TensorListReserve")
def reserved(builder: Any, item: Any, inputs: list) -> list:
    """A list of elements that are not there yet."""
    return [elements.list_new(inputs[1])]


@rule("EmptyTensorList")
def empty(builder: Any, item: Any, inputs: list) -> list:
    """A list without elements."""
    return [elements.list_new(constant(0, dtypes.int32))]


@rule("TensorListFromTensor")
def from_tensor(builder: Any, item: Any, inputs: list) -> list:
    """The rows of a tensor."""
    return [elements.list_from(inputs[0])]


@rule("TensorListGetItem")
def item_of(builder: Any, item: Any, inputs: list) -> list:
    """One element."""
    values, index, shape = inputs
    return [
        elements.list_get(values, index, dims=_dims(shape), dtype=item.attributes["element_dtype"])
    ]


@rule("TensorListSetItem")
def with_item(builder: Any, item: Any, inputs: list) -> list:
    """The list with another element."""
    values, index, x = inputs
    limited = not item.attributes["resize_if_index_out_of_bounds"]
    return [elements.list_set(values, index, x, limited=limited)]


@rule("TensorListStack")
def stacked(builder: Any, item: Any, inputs: list) -> list:
    """The elements along a new axis."""
    values, shape = inputs
    number = item.attributes["num_elements"]
    return [
        _stacked(
            values, _dims(shape), item.attributes["element_dtype"], number if number >= 0 else None
        )
    ]


@rule("TensorListGather")
def chosen(builder: Any, item: Any, inputs: list) -> list:
    """Some elements along a new axis."""
    values, indices, shape = inputs
    whole = _stacked(values, _dims(shape), item.attributes["element_dtype"])
    return [look_up("gather")(whole, indices)]


@rule("TensorListLength")
def length(builder: Any, item: Any, inputs: list) -> list:
    """The number of elements."""
    return [elements.list_size(inputs[0])]


@rule("TensorListElementShape")
def shape_of_elements(builder: Any, item: Any, inputs: list) -> list:
    """What is known of the shape of all elements: nothing, here."""
    return [constant(-1, item.attributes["shape_type"])]


@rule("TensorListPushBack")
def pushed(builder: Any, item: Any, inputs: list) -> list:
    """The list with an element more."""
    values, x = inputs
    return [elements.list_set(values, elements.list_size(values), x, limited=False)]


@rule("TensorListPopBack")
def popped(builder: Any, item: Any, inputs: list) -> list:
    """The list without its last element, and that."""
    values, shape = inputs
    last = elements.list_size(values) - 1
    x = elements.list_get(values, last, dims=_dims(shape), dtype=item.attributes["element_dtype"])
    return [list_resize(values, last), x]


@rule("TensorListResize")
def resized(builder: Any, item: Any, inputs: list) -> list:
    """The list cut or grown to a size."""
    return [list_resize(*inputs)]


@rule("TensorListScatterV2", "TensorListScatter")
def scattered_list(builder: Any, item: Any, inputs: list) -> list:
    """A list with the rows of a tensor at given places."""
    tensor, indices = inputs[:2]
    count = inputs[3] if item.op.endswith("V2") else constant(0, dtypes.int32)
    count = look_up("math.maximum")(count, constant(0, dtypes.int32))
    start = elements.list_new(count)
    return [parts.list_scatter(start, indices, tensor, limited=False)]


@rule("TensorListScatterIntoExistingList")
def scattered_into(builder: Any, item: Any, inputs: list) -> list:
    """A list with rows of a tensor in place of some elements."""
    values, tensor, indices = inputs
    return [parts.list_scatter(values, indices, tensor, limited=False)]


@rule("TensorListConcatV2")
def joined_list(builder: Any, item: Any, inputs: list) -> list:
    """All elements one after the other, and their lengths."""
    values, shape, _ = inputs
    dims = _dims(shape)
    dims = None if dims is None else (None, *dims[1:])
    lengths = look_up("cast")(parts.list_lengths(values), dtypes.int64)
    dtype = item.attributes["element_dtype"]
    return [parts.list_concat(values, dims=dims, dtype=dtype), lengths]


@rule("TensorListSplit")
def split_list(builder: Any, item: Any, inputs: list) -> list:
    """The parts of a tensor as a list."""
    return [parts.list_split(inputs[0], inputs[2])]


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
    return [elements.list_size(inputs[0]) > 0]


@rule("OptionalGetValue")
def components(builder: Any, item: Any, inputs: list) -> list:
    """The components of an optional; InvalidArgumentError when there are none."""
    return [
        elements.list_get(
            inputs[0], constant(number, dtypes.int32), dims=_fixed(shape), dtype=dtype
        )
        for number, (dtype, shape) in enumerate(
            zip(item.attributes["output_types"], item.attributes["output_shapes"])
        )
    ]
