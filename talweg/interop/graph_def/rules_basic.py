"""Rules of nodes that only pass on, wait or hold a value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from talweg.api.export import look_up
from talweg.core.dtypes import int32
from talweg.core.errors import UnimplementedError, compose
from talweg.graph.symbol import Symbol
from talweg.interop.graph_def.tensor_protos import fill_shape, read_values
from talweg.interop.graph_def.values import NodeCall, base, constant, pass_on, rule
from talweg.prims import layout
from talweg.prims.bundle import bundle
from talweg.prims.opaque import whole
from talweg.prims.state import after, group
from talweg.prims.state import placeholder_with_default as with_default
from talweg.trace.opaque_calls import Hole

if TYPE_CHECKING:
    from talweg.interop.graph_def.building import GraphBuilder
    from talweg.interop.graph_def.reading import NodeRecord

SPREAD = 65536  # bytes; a larger constant of one repeated value is kept as that value


@rule("Const")
def const(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Build a constant; one value in a large shape is repeated when the graph runs."""
    values, dims = read_values(item.attributes["value"])
    dtype = item.attributes["dtype"]
    if item.attributes["value"].dtype != dtype.as_datatype_enum:
        raise item.error(f"dtype is {dtype.name}, and its value is of another dtype")
    count = math.prod(dims)
    if len(values) < count and count * max(dtype.size, 8) > SPREAD:
        if len(values) > 1:
            raise item.error(f"it holds {len(values)} values for {count} elements")
        return [layout.broadcast_to(constant(values.reshape(())), shape=dims)]
    graph = base()
    constant_tensor = graph.constant(fill_shape(values, dims), given=True)
    effects = [node for node in graph.controls if node.serial is not None or node.prim is group]
    if not effects or hasattr(graph, "outer"):
        return [constant_tensor]
    return [
        graph.apply(after, (), (constant_tensor.node, *effects))
    ]  # who uses it runs after these


@rule("Placeholder", "PlaceholderV2")
def placeholder(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return a value that is fed."""
    shape = item.attributes["shape"]
    dims = None if shape.rank is None else shape.as_tuple()
    return [base().placeholder(dims, item.attributes["dtype"])]


@rule("PlaceholderWithDefault")
def placeholder_with_default(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return a value that may be fed; what is fed may have any shape that fits the attribute."""
    (x,) = inputs
    shape = item.attributes["shape"]
    dims = None if shape.rank is None else shape.as_tuple()
    if not shape.is_compatible_with(x.shape):
        raise item.error(f"its default has shape {x.shape}, which does not fit {shape}")
    return [with_default(x, shape=dims)]


@rule("Identity", "RefIdentity", "Snapshot", "DeepCopy", "GuaranteeConst", "LoopCond")
def identity(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return the value;
    what is read from a variable of the first generation is read where it is used.
    """
    return [pass_on(inputs[0])]


@rule("StopGradient")
def stop_gradient(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return the value, as a constant for derivatives."""
    (x,) = inputs
    return [look_up("stop_gradient")(x) if x.dtype.is_numeric else pass_on(x)]


@rule("IdentityN")
def identity_n(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return the values."""
    return list(bundle(*inputs)) if all(type(x) is Symbol for x in inputs) else inputs


@rule("NoOp", "ControlTrigger")
def nothing(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Return an operation that only waits."""
    graph = base()
    if hasattr(graph, "outer"):
        return None
    controls = [graph.symbol(node) for node in graph.controls]
    with graph.control_dependencies(None):
        return group(*controls).op


@rule("Assert")
def check(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Return an error when the graph runs unless a condition holds."""
    summarize = item.attributes["summarize"]
    return look_up("debugging.Assert")(inputs[0], list(inputs[1:]), summarize=summarize)


@rule("Print", "PrintV2")
def pass_printed(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Return the value passed on; nothing is printed by an imported graph."""
    return [pass_on(inputs[0])] if item.op == "Print" else None


@rule("PyFunc", "PyFuncStateless", "EagerPyFunc")
def python_function(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Raise UnimplementedError: a GraphDef holds no code."""
    text = f"{item.described} calls a Python function, which a GraphDef does not hold"
    raise UnimplementedError(None, None, compose("TW506", text))


@rule("Shape", "ShapeN", "Size", "Rank")
def shape(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Build a vector of sizes, known or not."""
    dtype = item.attributes.get("out_type", int32)
    if item.op == "ShapeN":
        return [look_up("shape")(x, dtype) for x in inputs]
    if item.op == "Rank":
        return [look_up("rank")(inputs[0])]
    return [look_up("shape" if item.op == "Shape" else "size")(inputs[0], dtype)]


@rule("FakeParam")
def fake_parameter(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Stand for a result that a branch does not have."""
    shape = item.attributes["shape"]
    dims = [size or 0 for size in (shape.as_list() if shape.rank is not None else ())]
    return [look_up("zeros")(dims, item.attributes["dtype"])]


@rule("Reverse")
def reverse(builder: GraphBuilder, item: object, inputs: list) -> list:
    """Return the order along the axes that are flagged reversed."""
    x, flags = inputs
    axes = [axis for axis, flag in enumerate(flags._array) if flag]
    return [look_up("reverse")(x, axes)]


@rule("SparseToDense")
def dense(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Build a tensor of values at some places, and a default elsewhere."""
    indices, shape, values, default = inputs
    rank = indices.shape.rank
    if rank is None or rank < 2:
        indices = look_up("reshape")(indices, [-1, 1])
    values = look_up("broadcast_to")(values, look_up("shape")(indices)[:-1])
    whole = look_up("fill")(shape, default)
    return [look_up("tensor_scatter_nd_update")(whole, indices, values)]


def defer_function(
    item: NodeRecord, function: object, operands: tuple, arguments: tuple, *avals: object
) -> Any:
    """Return a function of arrays that is called when the graph runs; `avals` are known of its
    results.

    One result comes alone, several as a tuple.
    """
    holes = tuple([Hole(number) for number in range(len(operands))])
    call = NodeCall(function, (*holes, *arguments), item.op, item.attributes)
    found = whole(*operands, call=call, avals=tuple([(aval.dims, aval.dtype) for aval in avals]))
    return found if len(avals) > 1 else found[0]
