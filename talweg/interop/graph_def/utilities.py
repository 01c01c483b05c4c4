"""tf.graph_util: parts of GraphDefs, and variables turned into constants."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.core import dtypes
from talweg.core.errors import UnimplementedError, compose, type_error, value_error
from talweg.interop.graph_def.importing import check_message, variables_of
from talweg.interop.graph_def.messages import GraphDef
from talweg.interop.graph_def.tensor_protos import array_to_proto
from talweg.raw import operations

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike
    from talweg.graph.graph import Graph
    from talweg.graph.node import Node

VARIABLES = frozenset(("VarHandleOp", "VariableV2", "Variable"))
_READS = frozenset(("ReadVariableOp",))


def _source(text: str) -> str:
    """Return the name of the node that an input names."""
    return text.removeprefix("^").partition(":")[0]


@export("compat.v1.graph_util.extract_sub_graph")
@as_it_is
def extract_sub_graph(graph_def: Any, dest_nodes: Any) -> Any:
    """Return the part of a GraphDef that the nodes named `dest_nodes` need, as a GraphDef.

    TypeError if `graph_def` is none, or `dest_nodes` no list; AssertionError for missing nodes.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default() as graph:
    ...     x = tf.placeholder(tf.float32, [], name="x")
    ...     y, z = tf.exp(x, name="y"), tf.negative(x, name="z")
    >>> part = tf.graph_util.extract_sub_graph(graph.as_graph_def(), ["z"])
    >>> [node.name for node in part.node]
    ['x', 'z']
    """
    graph_def = check_message(graph_def)
    if isinstance(dest_nodes, str):
        raise type_error("TW104", f"dest_nodes must be an iterable of strings, got {dest_nodes!r}")
    nodes = {node.name: node for node in graph_def.node}
    wanted = [_source(name) for name in dest_nodes]
    for name in wanted:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph  [TW506]")
    needed: set[str] = set(wanted)
    pending = list(wanted)
    while pending:
        for text in nodes[pending.pop()].input:
            name = _source(text)
            if name not in needed and name in nodes:
                needed.add(name)
                pending.append(name)
    extracted = GraphDef()
    extracted.node.extend([node for node in graph_def.node if node.name in needed])
    extracted.library.CopyFrom(graph_def.library)
    extracted.versions.CopyFrom(graph_def.versions)
    return extracted


@export("compat.v1.graph_util.remove_training_nodes")
@as_it_is
def remove_training_nodes(input_graph: Any, protected_nodes: Any = None) -> Any:
    """Return a GraphDef without Identity and CheckNumerics nodes, except `protected_nodes`.

    Nodes that others wait for, and Identities that wait themselves, stay.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default() as graph:
    ...     x = tf.placeholder(tf.float32, [], name="x")
    ...     y = tf.exp(tf.identity(x, name="same"), name="y")
    >>> small = tf.graph_util.remove_training_nodes(graph.as_graph_def())
    >>> [node.name for node in small.node]
    ['x', 'y']
    """
    input_graph = check_message(input_graph)
    protected = set(protected_nodes or ())
    waited = {
        _source(text) for node in input_graph.node for text in node.input if text.startswith("^")
    }
    bridges: dict[str, str] = {}
    for node in input_graph.node:
        if node.name in protected or node.name in waited or not node.input:
            continue
        waits = any(text.startswith("^") for text in node.input)
        if node.op == "CheckNumerics" or (node.op == "Identity" and not waits):
            bridges[node.name] = node.input[0]
    pruned = GraphDef()
    for node in input_graph.node:
        if node.name in bridges:
            continue
        made = pruned.node.add()
        made.CopyFrom(node)
        del made.input[:]
        made.input.extend([_beyond(text, bridges) for text in node.input])
    pruned.library.CopyFrom(input_graph.library)
    pruned.versions.CopyFrom(input_graph.versions)
    return pruned


def _beyond(text: str, bridges: dict) -> str:
    seen = set()
    while text in bridges and text not in seen:
        seen.add(text)
        text = bridges[text]
    return text


@export("compat.v1.graph_util.must_run_on_cpu")
@as_it_is
def must_run_on_cpu(node: Node, pin_variables_on_cpu: bool = False) -> bool:
    """Return whether TensorFlow runs a node (NodeDef or operation) on the CPU whatever it is told.

    >>> import talweg.compat.v1 as tf
    >>> tf.graph_util.must_run_on_cpu(tf.NodeDef(name="x", op="Placeholder"))
    False
    """
    message = getattr(node, "node_def", node)
    if message.op in ("Variable", "VariableV2"):
        return pin_variables_on_cpu
    kinds = {
        "Const": ("dtype", (dtypes.string, dtypes.int32)),
        "DynamicStitch": ("T", (dtypes.int32,)),
        "ParallelDynamicStitch": ("T", (dtypes.int32,)),
        "Cast": ("SrcT", (dtypes.int32,)),
    }
    if message.op not in kinds:
        return False
    attribute, those = kinds[message.op]
    return message.attr[attribute].type in [dtype.as_datatype_enum for dtype in those]


@export("compat.v1.graph_util.tensor_shape_from_node_def_name")
@as_it_is
def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> Any:
    """Return the shape of the tensor that an input of a NodeDef names; KeyError if there is none.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default() as graph:
    ...     x = tf.placeholder(tf.float32, [None, 2], name="x")
    >>> tf.graph_util.tensor_shape_from_node_def_name(graph, "x").as_list()
    [None, 2]
    """
    name = input_name if ":" in input_name else f"{input_name}:0"
    return graph.get_tensor_by_name(name).shape


# -- freezing


@export("compat.v1.graph_util.convert_variables_to_constants")
@as_it_is
def convert_variables_to_constants(
    sess: object,
    input_graph_def: object,
    output_node_names: Sequence[str],
    variable_names_whitelist: Any = None,
    variable_names_blacklist: Any = None,
) -> Any:
    """Extract the GraphDef of `output_node_names`, variables replaced by their values in `sess`.

    Only variables of the one list, and none of the other, are replaced.  All their values are in
    the result, however large they are.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default() as graph:
    ...     v = tf.get_variable("v", initializer=[1.0, 2.0])
    ...     y = tf.negative(v, name="y")
    ...     with tf.Session() as session:
    ...         _ = session.run(tf.global_variables_initializer())
    ...         frozen = tf.graph_util.convert_variables_to_constants(
    ...             session, graph.as_graph_def(), ["y"])
    >>> [node.op for node in frozen.node if node.name == "v"]
    ['Const']
    """
    part = extract_sub_graph(input_graph_def, output_node_names)
    chosen = []
    for node in part.node:
        if node.op not in VARIABLES:
            continue
        if variable_names_whitelist is not None and node.name not in variable_names_whitelist:
            continue
        if variable_names_blacklist is not None and node.name in variable_names_blacklist:
            continue
        chosen.append(node.name)
    return _Freezer(part, _values(sess, chosen)).frozen()


def freeze(graph_def: Any, values: dict[str, np.ndarray]) -> Any:
    """Return a GraphDef whose variables of these names are constants."""
    return _Freezer(graph_def, values).frozen()


def _values(session: Any, names: list[str]) -> dict[str, np.ndarray]:
    """Return the values of variables by the names of their nodes."""
    if not names:
        return {}
    graph = session.graph
    known: dict[str, Any] = dict(variables_of(graph))
    for (_, name), owner in graph.extras.get("imported_variables", {}).items():
        known.setdefault(name, owner)
    symbols = []
    for name in names:
        if name in known:
            symbols.append(graph.reading(known[name]))
        else:
            symbols.append(graph.get_tensor_by_name(f"{name}:0"))
    return {name: np.asarray(value) for name, value in zip(names, session.run(symbols))}


class _Freezer:
    """Replaces variables by constants, in the nodes of a graph and in functions they call."""

    def __init__(self, graph_def: Any, values: dict[str, np.ndarray]):
        self.source, self.values = graph_def, values
        self.functions = {part.signature.name: part for part in graph_def.library.function}
        self.made: dict[tuple, str] = {}
        self.result = GraphDef()

    def frozen(self) -> Any:
        """Make the new GraphDef."""
        self.result.library.CopyFrom(self.source.library)
        self.result.versions.CopyFrom(self.source.versions)
        dtypes_of = {
            name: _dtype_of(node)
            for name, node in ((node.name, node) for node in self.source.node)
            if name in self.values
        }
        passing = dict(dtypes_of)
        for node in _in_order(self.source.node):
            if node.op == "Identity" and node.input and _source(node.input[0]) in passing:
                passing[node.name] = passing[_source(node.input[0])]
        for node in self.source.node:
            made = self.result.node.add()
            if node.name in self.values:
                made.name, made.op, made.device = node.name, "Const", node.device
                made.attr["dtype"].type = dtypes_of[node.name].as_datatype_enum
                value = array_to_proto(self.values[node.name], dtypes_of[node.name])
                made.attr["value"].tensor.CopyFrom(value)
                continue
            made.CopyFrom(node)
            self.replace(made, passing)
        return extract_sub_graph(self.result, [node.name for node in self.source.node])

    def replace(self, node: Node, frozen: dict) -> None:
        """Change a node that takes variables which are constants now."""
        taken = {
            number: frozen[_source(text)]
            for number, text in enumerate(node.input)
            if _source(text) in frozen and not text.startswith("^")
        }
        if not taken:
            return
        if node.op in _READS:
            dtype = taken[0]
            node.op = "Identity"
            node.attr.clear()
            node.attr["T"].type = dtype.as_datatype_enum
        elif node.op == "ResourceGather":
            _gather(node, taken[0])
        elif node.op in ("Identity", "Enter", "Switch"):
            node.attr["T"].type = taken[0].as_datatype_enum
        elif any(
            value.WhichOneof("value") == "func" or value.list.func for value in node.attr.values()
        ):
            self._call(node, taken)
        elif _takes_resources(node):
            raise UnimplementedError(
                None,
                None,
                compose(
                    "TW506",
                    f"node '{node.name}' ({node.op}) changes a variable that is to "
                    "become a constant",
                    hint="output_node_names that only read variables",
                ),
            )

    def _call(self, node: Node, taken: dict) -> None:
        first = 1 if node.op.endswith(("If", "Case")) else 0
        arguments = {place - first: dtype for place, dtype in taken.items()}
        for key in ("T", "Tin", "Tout"):
            if key not in node.attr or (key == "Tout" and node.op.lower().find("while") < 0):
                continue
            kinds = list(node.attr[key].list.type)
            for place, dtype in arguments.items():
                kinds[place] = dtype.as_datatype_enum
            del node.attr[key].list.type[:]
            node.attr[key].list.type.extend(kinds)
        for value in node.attr.values():
            for called in [value.func] if value.HasField("func") else list(value.list.func):
                called.name = self.function(called.name, arguments)

    def function(self, name: str, arguments: dict) -> str:
        """Make a function some of whose arguments are values now, no variables."""
        key = (name, tuple(sorted((number, dtype.name) for number, dtype in arguments.items())))
        if key in self.made:
            return self.made[key]
        if name not in self.functions:
            raise value_error("TW506", f"there is no function '{name}'")
        new = self.made[key] = f"{name}_frozen_{len(self.made)}"
        message = self.result.library.function.add()
        message.CopyFrom(copy.deepcopy(self.functions[name]))
        message.signature.name = new
        frozen = {}
        for number, dtype in arguments.items():
            part = message.signature.input_arg[number]
            part.type = dtype.as_datatype_enum
            frozen[part.name] = dtype
        reads = {}
        for node in _in_order(message.node_def):
            before = node.op
            if node.op == "Identity" and node.input and _source(node.input[0]) in frozen:
                frozen[node.name] = frozen[_source(node.input[0])]
            self.replace(node, frozen)
            if before in _READS and node.op == "Identity":
                reads[f"{node.name}:value"] = f"{node.name}:output"
        for node in message.node_def:
            for number, text in enumerate(node.input):
                node.input[number] = _rename(text, reads)
        for key_, text in list(message.ret.items()):
            message.ret[key_] = _rename(text, reads)
        for part in message.signature.output_arg:
            source = _source(message.ret[part.name])
            if source in frozen:
                part.type = frozen[source].as_datatype_enum
        return new


def _rename(text: str, names: dict) -> str:
    head, _, number = text.rpartition(":")
    return f"{names[head]}:{number}" if head in names else text


def _in_order(nodes: Iterable[Any]) -> list:
    return list(nodes)


def _dtype_of(node: Node) -> Any:
    return dtypes.as_dtype(int(node.attr["dtype"].type) % 100)


def _gather(node: Node, dtype: DTypeLike) -> None:
    """Rewrite ResourceGather(v, i) as Gather(v, i)."""
    kind = node.attr["Tindices"].type
    if node.attr["batch_dims"].i:
        text = f"node '{node.name}' (ResourceGather) with batch_dims"
        raise UnimplementedError(None, None, compose("TW506", f"{text} cannot be frozen"))
    node.op = "Gather"
    node.attr.clear()
    node.attr["Tparams"].type = dtype.as_datatype_enum
    node.attr["Tindices"].type = kind


def _takes_resources(node: Node) -> bool:
    operation = operations.find(node.op)
    return operation is not None and any(
        part.dtype is dtypes.resource or part.reference for part in operation.inputs
    )
