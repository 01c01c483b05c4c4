"""Rules of variables of both generations.

A variable of a GraphDef is a handle that sessions have values for.  `VarHandleOp` gives a resource,
`VariableV2` a reference: who takes it as a tensor reads it, in the order of its own controls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.array.slicing import frozen_key, plan
from talweg.api.export import look_up
from talweg.eager.convert import convert_to_tensor
from talweg.graph.handle import Handle
from talweg.graph.symbol import constant_of
from talweg.interop.graph_def.values import ResourceEdge, base, rule
from talweg.prims.state import group, is_initialized, update_variable

if TYPE_CHECKING:
    from talweg.graph.graph import Graph
    from talweg.interop.graph_def.building import GraphBuilder
    from talweg.interop.graph_def.reading import NodeRecord

SCATTERS = ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max")


class Owner:
    """Keeps the handle of an imported variable."""

    def __init__(self, name: str, shape: Any, dtype: Any):
        self.handle = Handle(self, f"{name}:0", shape, dtype)
        self.name, self.shape, self.dtype = name, shape, dtype

    def value(self) -> Any:
        """Read the value of the variable in the graph in force."""
        return base().read_variable(self.handle)


def outermost(graph: Graph) -> Any:
    """Return the graph around functions and bodies."""
    while getattr(graph, "outer", None) is not None:
        graph = graph.outer
    return graph


@rule("VarHandleOp", "VariableV2", "Variable")
def variable(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Build a variable; equal shared names are one variable."""
    attributes = item.attributes
    prefix = builder.namer.prefix if builder.namer is not None else ""
    shared = attributes["shared_name"] or attributes["container"] and item.name
    name = shared or f"{prefix}{item.name}"
    key = (attributes["container"], name)
    owners = outermost(base()).extras.setdefault("imported_variables", {})
    existing = builder.present.get(f"{prefix}{item.name}")
    if existing is None:
        existing = owners.get(key)
    if existing is None:
        existing = builder.present.get(name)
    if existing is None:
        existing = owners[key] = Owner(name, attributes["shape"], attributes["dtype"])
    if existing.dtype is not attributes["dtype"]:
        raise item.error(f"variable '{name}' is {existing.dtype.name} elsewhere")
    return [ResourceEdge(existing.handle, item.op != "VarHandleOp")]


@rule("ReadVariableOp")
def read(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return a variable's value."""
    return [base().read_variable(inputs[0].handle)]


@rule("VarIsInitializedOp", "IsVariableInitialized")
def check_initialized(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return whether a variable has a value."""
    graph = base()
    controls = [graph.symbol(node) for node in graph.controls]
    return [is_initialized(*controls, variable=inputs[0].handle)]


@rule("VariableShape")
def shape(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return the shape of a variable's value."""
    return [look_up("shape")(inputs[0].read(), item.attributes["out_type"])]


@rule("DestroyResourceOp", "DisableCopyOnRead")
def destroy(builder: GraphBuilder, item: object, inputs: list) -> Any:
    """Do nothing: values belong to sessions, and are copied when they are written."""
    return group().op


def change(resource: Any, kind: str, *values: object) -> Any:
    """Return the new value of a variable."""
    strict = {"strict": True} if kind == "assign" else {}
    resource.handle.updated = True
    return update_variable(*values, variable=resource.handle, rule=kind, **strict)


_KINDS = {
    "AssignVariableOp": "assign",
    "AssignAddVariableOp": "add",
    "AssignSubVariableOp": "sub",
    "Assign": "assign",
    "AssignAdd": "add",
    "AssignSub": "sub",
}


@rule(*_KINDS)
def assign(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Give a variable a value, or a sum or difference."""
    updated = change(inputs[0], _KINDS[item.op], inputs[1])
    return updated if item.op.endswith("Op") else [ResourceEdge(inputs[0].handle, True, updated)]


@rule("CountUpTo")
def count_up(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return a variable grows by 1 up to a limit; its value before."""
    limit = convert_to_tensor(item.attributes["limit"], inputs[0].handle.dtype)
    return [change(inputs[0], "count_up_to", limit) - 1]


@rule(*[f"{prefix}Scatter{kind}" for prefix in ("Resource", "") for kind in SCATTERS])
def scatter_rows(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Change rows of a variable."""
    resource, indices, updates = inputs
    kind = item.op.removeprefix("Resource").removeprefix("Scatter").lower()
    updated = change(resource, f"scatter_{kind}", indices, updates)
    return updated if item.op.startswith("R") else [ResourceEdge(resource.handle, True, updated)]


@rule("ResourceGather")
def gather_rows(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Gather rows of a variable."""
    return [
        look_up("gather")(inputs[0].read(), inputs[1], batch_dims=item.attributes["batch_dims"])
    ]


@rule("ResourceGatherNd")
def gather_slices(builder: GraphBuilder, item: object, inputs: list) -> list:
    """Gather slices of a variable."""
    return [look_up("gather_nd")(inputs[0].read(), inputs[1])]


@rule(
    "ResourceScatterNdAdd",
    "ResourceScatterNdSub",
    "ResourceScatterNdUpdate",
    "ResourceScatterNdMin",
    "ResourceScatterNdMax",
)
def scatter_slices(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Change slices of a variable."""
    kind = item.op.removeprefix("ResourceScatterNd").lower()
    function = look_up(f"tensor_scatter_nd_{kind}")
    return change(inputs[0], "assign", function(inputs[0].read(), inputs[1], inputs[2]))


@rule("ResourceStridedSliceAssign", "StridedSliceAssign")
def assign_slice(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Assign a part of a variable, which constants name."""
    resource, *bounds, value = inputs
    arrays = [constant_of(x.node) for x in bounds]
    if None in arrays:
        raise item.error("the part of the variable that it changes is not constant")
    begins, ends, strides = [content.array for content in arrays]
    masks = {name: value for name, value in item.attributes.items() if name.endswith("_mask")}

    def part(number: int) -> Any:
        has = {name: bool(mask >> number & 1) for name, mask in masks.items()}
        if has["ellipsis_mask"]:
            return Ellipsis
        if has["new_axis_mask"]:
            return None
        if has["shrink_axis_mask"]:
            return int(begins[number])
        return slice(
            None if has["begin_mask"] else int(begins[number]),
            None if has["end_mask"] else int(ends[number]),
            int(strides[number]),
        )

    key = tuple([part(number) for number in range(len(begins))])
    dims = resource.handle.shape.as_tuple()
    resource.handle.updated = True
    updated = update_variable(
        value, variable=resource.handle, rule="slice", place=frozen_key(plan(key, dims).key)
    )
    return updated if item.op.startswith("R") else [ResourceEdge(resource.handle, True, updated)]
