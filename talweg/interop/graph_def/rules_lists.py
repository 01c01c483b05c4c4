"""Rules of TensorArrays, TensorLists and optionals.

The elements of a TensorArray travel in its flow, which is a list here; the handle only says of what
dtype and shape they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import look_up
from talweg.api.lists.gradient_lists import GradientList
from talweg.api.lists.tensor_lists import GraphList, ListElements
from talweg.core import dtypes
from talweg.core.shapes import as_shape
from talweg.graph.symbol import Symbol
from talweg.interop.graph_def.flows import FORWARD, SUMS
from talweg.interop.graph_def.values import ArrayHandle, constant, rule, tensor
from talweg.prims import host
from talweg.prims.lists import elements, parts
from talweg.prims.lists.elements import variant_zero
from talweg.raw import arrays
from talweg.raw.operands import sizes_of
from talweg.trace.kept_operations import keep_effect

if TYPE_CHECKING:
    from talweg.interop.graph_def.building import GraphBuilder
    from talweg.interop.graph_def.reading import NodeRecord


@rule("TensorArrayV3")
def array(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return a TensorArray: its handle and its first flow."""
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


def _values(builder: Any, item: Any, inputs: list) -> GraphList:
    """Return the elements of an array, or of its gradients, that the flow of a node has.

    TensorFlow takes the flow of the array itself for its gradients, where these begin; here they
    begin with nothing, which counts as zero.
    """
    handle, flow = inputs[0], inputs[-1]
    elements = ListElements(handle.dtype, as_shape(handle.dims), False, handle.dynamic, False)
    if handle.gradient_of is None:
        return GraphList(elements, flow)
    if builder.flows.kind(item.inputs[-1]) == FORWARD:
        if handle.gradient_of.filled is None:
            handle.gradient_of.filled = flow
        flow = variant_zero()
    elif flow.dtype is not dtypes.variant:
        flow = variant_zero()
    return GradientList(elements, flow, handle.gradient_of.filled)


@rule("TensorArrayWriteV3")
def write_element(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return the flow with one more element."""
    handle, index, value, flow = inputs
    _check_dtype(item, handle, value)
    _learn(handle, value.node.aval.dims)
    return [_values(builder, item, inputs).put(index, value).flow]


def _check_dtype(item: NodeRecord, handle: Any, value: object) -> None:
    if value.dtype is not handle.dtype:
        raise item.error(f"it writes {value.dtype.name} into an array of {handle.dtype.name}")


@rule("TensorArrayReadV3")
def read(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Read one element."""
    handle, index, flow = inputs
    return [_values(builder, item, inputs).get(index)]


@rule("TensorArrayGatherV3")
def gather_elements(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Gather some elements, stacked."""
    handle, indices, flow = inputs
    _learn(handle, sizes_of(item.attributes["element_shape"]))
    return [_values(builder, item, inputs).gather(indices)]


@rule("TensorArrayScatterV3")
def scatter_rows(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return the flow with the rows of a tensor as elements."""
    handle, indices, value, flow = inputs
    _check_dtype(item, handle, value)
    dims = value.node.aval.dims
    _learn(handle, None if dims is None else dims[1:])
    return [_values(builder, item, inputs).scatter(indices, value).flow]


@rule("TensorArraySizeV3")
def size(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return the number of elements."""
    return [_values(builder, item, inputs).size()]


@rule("TensorArrayConcatV3")
def join_elements(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Join all elements one after the other, and their lengths."""
    values = _values(builder, item, inputs)
    dims = values.elements.dims
    values.elements.shape = as_shape(None if dims is None else (None, *dims[1:]))
    lengths = look_up("cast")(parts.list_lengths(values.flow), dtypes.int64)
    return [values.concat(), lengths]


@rule("TensorArraySplitV3")
def split_elements(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return the parts of a tensor as elements."""
    handle, value, lengths, flow = inputs
    _check_dtype(item, handle, value)
    return [_values(builder, item, inputs).split(value, lengths).flow]


@rule("TensorArrayCloseV3")
def close_array(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Do nothing: lists that nobody uses are freed."""
    return None


@rule("TensorArrayGradV3")
def gradient(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Return the array of the gradients of another one, and the flow, as it is."""
    handle, flow = inputs
    found = ArrayHandle(handle.dtype, handle.dims, True, handle.alike)
    found.gradient_of = handle
    return [found, flow]


@rule("StackPushV2")
def push(builder: Any, item: Any, inputs: list) -> Any:
    """Return the value that is pushed on a stack; handles of arrays are known without it."""
    handle, value = inputs
    if isinstance(value, ArrayHandle):
        builder.stacked[builder.planner.regions, builder.flows.origin(item.inputs[0])] = value
        return [value]
    if value.dtype is not dtypes.variant:
        return builder.call(item, inputs)
    given = {"handle": handle, "elem": value}
    return keep_effect(arrays.push_list, given, [dtypes.variant])


@rule("StackPopV2")
def pop(builder: Any, item: Any, inputs: list) -> Any:
    """Return the value that was pushed on a stack last."""
    stack = builder.planner.regions, builder.flows.origin(item.inputs[0])
    if stack in builder.stacked:
        return [builder.stacked[stack]]
    if builder.flows.kind((item.name, 0)) is None:
        return builder.call(item, inputs)
    given = {"handle": inputs[0], "elem_type": dtypes.variant}
    return keep_effect(arrays.pop, given, [dtypes.variant])


@rule(*SUMS)
def add_lists(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Return a sum; of lists element by element, where the number 0 is a list of nothing."""
    lists = [x for x in inputs if type(x) is Symbol and x.dtype is dtypes.variant]
    if not lists:
        return builder.call(item, [tensor(x) for x in inputs])
    total = lists[0]
    for other in lists[1:]:
        total = elements.variant_sum(total, other)
    return [total]


@rule("ZerosLike")
def zeros_of(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Make zeros; of a list or an optional, elements that are not there."""
    if inputs[0].dtype is not dtypes.variant:
        return builder.call(item, inputs)
    return [elements.list_new(elements.list_size(inputs[0]))]


# -- optionals: lists of their components, empty where there is no value


@rule("OptionalFromValue")
def optional(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return an optional with these components."""
    found = elements.list_new(constant(len(inputs), dtypes.int32))
    for number, x in enumerate(inputs):
        found = elements.list_set(found, constant(number, dtypes.int32), x, limited=True)
    return [found]


@rule("OptionalNone")
def no_value(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return an optional without a value."""
    return [elements.list_new(constant(0, dtypes.int32))]


@rule("OptionalHasValue")
def has_value(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return whether an optional has a value."""
    if inputs[0].node.prim is host.host_call:  # of an iterator
        return builder.call(item, inputs)
    return [elements.list_size(inputs[0]) > 0]


@rule("OptionalGetValue")
def components(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return the components of an optional; InvalidArgumentError when there are none."""
    if inputs[0].node.prim is host.host_call:
        return builder.call(item, inputs)
    return [
        elements.list_get(
            inputs[0], constant(number, dtypes.int32), dims=sizes_of(shape), dtype=dtype
        )
        for number, (dtype, shape) in enumerate(
            zip(item.attributes["output_types"], item.attributes["output_shapes"])
        )
    ]
