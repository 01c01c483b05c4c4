"""`graph.as_graph_def()`: every operation of a graph as a NodeDef, bodies as functions.

One primitive is often several of TensorFlow's operations (axes and shapes are tensors there), and a
constant that merely stands in an expression is written where it is first used.  What has no form in
a GraphDef is written as a node of type `Talweg...`, which says what it is and cannot be imported.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import implement_hook
from talweg.api.lookup.tables import Table
from talweg.core.dtypes import DType
from talweg.core.errors import NeedsStaticError, UnimplementedError
from talweg.core.provenance import describe as where
from talweg.core.roles import Role, Trait
from talweg.graph.handle import Handle
from talweg.graph.names import default_name
from talweg.graph.node import Node
from talweg.interop.graph_def import attributes
from talweg.interop.graph_def.bodies import (
    WITH_BODIES,
    FunctionLibrary,
    is_lazy,
    list_elements,
    nodes_to_write,
)
from talweg.interop.graph_def.expressions import describe
from talweg.interop.graph_def.messages import PRODUCER, GraphDef
from talweg.interop.graph_def.special_writers import SPECIAL
from talweg.interop.graph_def.tables import creation
from talweg.interop.graph_def.tensor_protos import array_to_proto
from talweg.interop.graph_def.writing import (
    Output,
    Writer,
    cannot_write,
    note_output_shapes,
    static_shape,
)
from talweg.interop.graph_def.writing_rules import RULES
from talweg.prims import indexing, search
from talweg.raw import operations

if TYPE_CHECKING:
    from talweg.graph.graph import Graph

CAPTURED = "_talweg_captured_bytes"
IMPORTED = "imported"  # in a graph's extras: a GraphDef was imported into it


class Exporter(Writer):
    """Writes the nodes of one graph or body."""

    def __init__(
        self,
        nodes: Any,
        library: FunctionLibrary,
        inside: bool,
        taken: Iterable[str] = (),
        shapes: bool = False,
        captured: bool = False,
    ):
        super().__init__(nodes, inside, taken, shapes)
        self.library, self.captured = library, captured
        self.names: dict[Node, str] = {}  # node -> name of the operation to wait for
        self.handles: dict[Any, Output] = {}  # variable -> its resource
        self.folded: dict[Node, Node] = {}  # what is written with who waits -> who waits
        self.captured_variables: dict[Node, Any] = {}  # inputs that are the values of variables
        self.renamed: dict[Node, str] = {}  # reads that cannot have the name of their variable
        self.histories: dict[Node, dict] = {}  # operation with bodies -> inner node -> its values
        self.trips: dict[Node, Output] = {}  # loop -> how many iterations it made
        self.filled: set[Output] = set()  # what loops take already

    def element_dtype(self, node: Node) -> DType:
        """Return the dtype of the elements of a list."""
        return self.library.elements.get(node)

    def element_dims(self, node: Node) -> tuple[Any, ...] | None:
        """Return the dimensions of what is written into a list; None if the rank is not known."""
        return self.library.elements.shape(node)

    # -- values

    def value(self, node: Node) -> Output:
        """Return the (first) output of a node, written now if it was left to its users."""
        written = self.values.get(node) or self.constants.get(node)
        if written is not None:
            return written if isinstance(written, Output) else written[0]
        role = node.prim.role
        if role is Role.PROJECTION:
            source = node.inputs[0]
            if source not in self.values:
                self.value(source)
            return self.values[source][node.params["index"]]
        if role is Role.CONSTANT:
            return self.literal(node, self.unique(self.near("Const")))
        if role is Role.WRITE:
            return self._read_again(node)
        if is_lazy(node):
            self.write(node, self.unique(self.near(default_name(node))))
            return self.values[node][0]
        raise cannot_write(f"a use of {node!r}")

    def operand(self, node: Node, label: str) -> Output:
        """Return an input of an operation; a number that stands there is named after its place."""
        if (
            node.prim.role is Role.CONSTANT
            and node not in self.values
            and (node not in self.constants)
        ):
            return self.literal(node, self.unique(label))
        return self.value(node)

    def literal(self, node: Node, name: str) -> Output:
        """Return a constant;
        a large array is left out, unless asked for: its place is a Placeholder.
        """
        content = node.params["value"]
        array = content.array
        if content.captured and not self.captured:
            given = {"dtype": node.aval.dtype, "shape": static_shape(array.shape)}
            result = self.node("Placeholder", name, [], given)[0]
            self.note_attribute(CAPTURED, attributes.write(int(array.nbytes), "int"))
        else:
            given = {"value": array_to_proto(array), "dtype": node.aval.dtype}
            result = self.node("Const", name, [], given)[0]
        self.constants[node] = result
        self.values[node] = [result]
        self.names[node] = name
        return result

    def handle(self, variable: Any) -> Output:
        """Write the resource of a variable."""
        handle = self.handles.get(variable)
        if handle is None:
            if self.inside:
                raise cannot_write(f"the variable {variable.name!r} in a function")
            if isinstance(variable, Table):
                return self._table(variable)
            name = variable.name.partition(":")[0]
            if any(name == other.node for other in self.handles.values()):
                name = self.unique(name)  # two variables outside may have one name
            given = {"dtype": variable.dtype, "shape": variable.shape, "shared_name": name}
            self.taken[name.lower()] = None
            handle = self.node("VarHandleOp", name, [], given)[0]
            self.handles[variable] = handle
        return handle

    def _table(self, table: Table) -> Output:
        op, given = creation(table)
        found = self.node(op, self.unique(table.name), [], given)[0]
        self.handles[table] = found
        return found

    def _read_again(self, node: Node) -> Output:
        """Return the value of a variable after it was changed."""
        name = self.names[node]
        variable = node.params["variable"]
        given = {"dtype": variable.dtype}
        found = self.node(
            "ReadVariableOp",
            self.unique(f"{name}/ReadVariableOp"),
            [self.handle(variable)],
            given,
            [name],
        )
        self.values[node] = found
        return found[0]

    # -- operations

    def controls_of(self, node: Node) -> list[str]:
        """Return the operations that a node waits for."""
        sources = list(node.table.controls.get(node, ()))
        if node.prim.role in (Role.READ, Role.GROUP, Role.INITIALIZED):
            sources += node.inputs
        if node.prim.role is Role.ORDER:
            sources += node.inputs[1:]
        return [name for name in map(self.control, sources) if name]

    def control(self, node: Node) -> str | None:
        """Return the name of the operation to wait for."""
        while node.prim.role is Role.PROJECTION:
            node = node.inputs[0]
        if node not in self.names and node.prim.role is Role.CONSTANT:
            return None
        return self.names.get(node)

    def write(self, node: Node, name: str, controls: Iterable[str] = ()) -> None:
        """Write an operation under this name."""
        controls = [*self.controls_of(node), *controls]
        before, self.place = self.place, name
        try:
            self._write(node, name, controls)
        finally:
            self.place = before

    def _write(self, node: Node, name: str, controls: list[str]) -> None:
        start = len(self.nodes)
        noted: tuple[dict[Any, Any], ...] = (self.constants, self.sizes, self.taken)
        counts = [len(part) for part in noted]
        try:
            special = SPECIAL.get(node.prim.name)
            if special is not None:
                outputs = special(self, node, name, controls)
            else:
                outputs = self._describe_node(node, name, controls)
        except (UnimplementedError, NeedsStaticError, TypeError) as error:
            if isinstance(error, TypeError) and not _unknown_rank(node):
                raise
            del self.nodes[start:]
            for part, count in zip(noted, counts):
                while len(part) > count:
                    gone: Any = part.popitem()[0]  # the youngest
                    if part is self.constants:
                        del self.values[gone], self.names[gone]
            outputs = self._unknown(node, name, controls, error)
        self.names[node] = name
        if outputs is not None:
            self.values[node] = outputs
        if self.shapes:
            self._note_shapes(node, self.renamed.get(node, name))

    def _describe_node(self, node: Node, name: str, controls: list) -> list[Output]:
        operation = operations.find(node.prim.type_of([x.aval for x in node.operands], node.params))
        labels = [] if operation is None else [part.name for part in operation.inputs]
        if len(labels) != len(node.operands):
            labels = ["Const"] * len(node.operands)
        operands = [
            None if Trait.RANDOM_STREAM in x.prim.traits else self.operand(x, f"{name}/{label}")
            for x, label in zip(node.operands, labels)
        ]
        rule = RULES.get(node.prim.name)
        if None in operands and rule is None:
            raise cannot_write("a stream of random numbers")
        made = (
            rule(self, node, operands, node.params)
            if rule is not None
            else (describe(self, node, operands))
        )
        if made is None:
            raise cannot_write(node.prim.name)
        outputs = self.realise(made, name, controls)
        avals = node.aval if type(node.aval) is tuple else (node.aval,)
        if len(outputs) < len(avals):
            raise cannot_write(node.prim.name)
        if any(x.dtype is not a.dtype for x, a in zip(outputs, avals)):
            raise cannot_write(f"{node.prim.name} of {avals}")
        return outputs

    def _unknown(self, node: Node, name: str, controls: list, error: Exception) -> list[Output]:
        """Write a node for an operation without a form, which nobody can import."""
        inputs = [self.operand(x, f"{name}/Const") for x in node.operands]
        message = self.nodes.add()
        message.name = name
        message.op = "Talweg" + "".join(part.title() for part in node.prim.name.split("_"))
        message.input.extend([*map(self.text, inputs), *[f"^{c}" for c in dict.fromkeys(controls)]])
        text = f"{error}; it was made at {where(node.origin)}".splitlines()[0]
        message.attr["_talweg_reason"].CopyFrom(attributes.write(text, "string"))
        avals = node.aval if type(node.aval) is tuple else (node.aval,)
        return [Output(name, k, f"{name}:output:{k}", a.dtype) for k, a in enumerate(avals)]

    def _note_shapes(self, node: Node, name: str) -> None:
        message = next((m for m in reversed(self.nodes) if m.name == name), None)
        if message is None or node.prim.role in (Role.GROUP, Role.WRITE):
            return
        avals = node.aval if type(node.aval) is tuple else (node.aval,)
        if node.prim.role in WITH_BODIES:
            if "output_shapes" in message.attr:
                message.attr["_output_shapes"].CopyFrom(message.attr["output_shapes"])
                return
            avals = avals[:-1]  # what it keeps of its inside is no output
        shapes = [static_shape(getattr(aval, "dims", None)) for aval in avals]
        note_output_shapes(message, shapes[: len(self.values.get(node, shapes))])


def _unknown_rank(node: Node) -> bool:
    """Return whether the rank of an operand or result is not known."""
    avals = node.aval if type(node.aval) is tuple else (node.aval,)
    return any(
        getattr(aval, "dims", ()) is None
        for aval in (*avals, *[source.aval for source in node.operands])
    )


# -- whole graphs


@implement_hook("graph_def")
@as_it_is
def graph_def(
    graph: Graph,
    from_version: int | None = None,
    add_shapes: bool = False,
    include_captured: bool | None = None,
    **unknown: object,
) -> Any:
    """Write a graph as a GraphDef; see `Graph.as_graph_def`.

    Arrays above 1024 bytes are not in it unless `include_captured`: a Placeholder stands for each,
    whose attribute `_talweg_captured_bytes` says how large it is.  None: they are in it if a
    GraphDef was imported into the graph, as into that of a frozen function.
    """
    if unknown.keys() - {"use_pybind11_proto"}:
        raise TypeError(f"as_graph_def() got unexpected arguments {sorted(unknown)}")
    message = GraphDef()
    message.versions.producer = PRODUCER
    if include_captured is None:
        include_captured = IMPORTED in graph.extras
    _write(graph, message, add_shapes, include_captured)
    return message


def write_with_handles(graph: Graph) -> tuple[Any, dict[str, Any]]:
    """Return a function's graph as a GraphDef with all its arrays,
    and its variables by their nodes.
    """
    message = GraphDef()
    message.versions.producer = PRODUCER
    _, writer = _write(graph, message, True, True)
    return message, {found.node: variable for variable, found in writer.handles.items()}


def _write(graph: Graph, message: Any, shapes: bool, captured: bool) -> tuple[list, Exporter]:
    nodes, folded = nodes_to_write(list(graph.table.nodes.values()))
    graph.name_all()
    names = {node: graph.names_of(node) for node in nodes}

    def writer_of(nodes: object) -> Exporter:
        return Exporter(nodes, library, True, (), shapes, captured)

    library = FunctionLibrary(message, list_elements(list(graph.table.nodes.values())), writer_of)
    library.find_requested(list(graph.table.nodes.values()))
    taken = [name for own in names.values() for name in own]
    writer = Exporter(message.node, library, False, taken, shapes, captured)
    writer.folded = folded
    writer.captured_variables = _find_captured_variables(graph)
    fused = _distinct_values(nodes)
    for node in nodes:
        if node in writer.values:
            continue
        own: Any = names[fused.get(node, node)]
        first, *others = own
        start = len(message.node)
        if node in fused:
            _write_unique(writer, node, fused[node], first)
        else:
            writer.write(node, first)
        writer.names[node] = str(writer.renamed.get(node, first))
        for other in others:
            _write_second_name(writer, node, other)
        device = graph.device_of(node)
        for made in message.node[start:] if device else ():
            made.device = device
    return nodes, writer


def _find_captured_variables(graph: Graph) -> dict[Node, Any]:
    """Return the inputs of a function's graph that are values of variables outside."""
    found = {}
    for outside, inside in getattr(graph, "captured", {}).values():
        if type(outside) is Handle:
            found[inside] = outside
    return found


def _distinct_values(nodes: list[Node]) -> dict[Node, Node]:
    """Pair `unique` with the gathering of the values at the first places: together a
    UniqueWithCounts.
    """
    users: dict[Node, list[Node]] = {}
    for node in nodes:
        for source in node.operands:
            users.setdefault(source, []).append(node)
    gatherings = {}
    for projection, takers in users.items():
        unique = projection.inputs[0] if projection.prim.role is Role.PROJECTION else None
        if unique is None or unique.prim is not search.unique or projection.params["index"]:
            continue
        taker = takers[0]
        gathers = len(takers) == 1 and taker.prim in (indexing.gather, indexing.gather_rows)
        if gathers and taker.operands[0] is unique.operands[0]:
            gatherings[unique] = taker
    return gatherings


def _write_unique(writer: Exporter, node: Node, gather: Node, name: str) -> None:
    x = writer.operand(node.operands[0], f"{name}/x")
    outputs = writer.node("UniqueWithCounts", name, [x], {"out_idx": node.params["dtype"]})
    writer.values[gather], writer.values[node] = outputs[:1], outputs
    writer.names[gather] = writer.names[node] = name


def _write_second_name(writer: Exporter, node: Node, name: str) -> None:
    """Write a node that passes on the outputs of another one, under a second name."""
    if name in {handle.node for handle in writer.handles.values()}:
        return
    if node.prim.role in (Role.GROUP, Role.WRITE, Role.ACT):
        writer.node("NoOp", name, [], {}, [writer.names[node]])
    elif node.prim.multiple:
        outputs = [x for x in writer.values[node] if x.node]
        writer.node("IdentityN", name, [outputs], {})
    else:
        writer.node("Identity", name, [writer.values[node][0]], {})


@implement_hook("node_def")
@as_it_is
def node_def(node: Node, graph: Graph) -> Any:
    """Write one operation as a NodeDef."""
    message = GraphDef()
    _write(graph, message, False, False)
    name = graph.operation_name(node)
    return next(part for part in message.node if part.name == name)
