"""Bodies of branches, loops and calls as functions of a GraphDef's library."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from talweg.core.dims import same_dims
from talweg.core.dtypes import DType, float32, int32, resource, variant
from talweg.core.roles import Role, Trait
from talweg.graph.handle import Handle
from talweg.graph.names import default_name, scope_of
from talweg.graph.node import Node
from talweg.graph.subgraph import Body
from talweg.interop.graph_def.loop_form import LoopForm, form_of
from talweg.interop.graph_def.messages import NameAttrList
from talweg.interop.graph_def.tables import table_of
from talweg.interop.graph_def.writing import Output, WrittenNode, cannot_write
from talweg.prims import arithmetic

if TYPE_CHECKING:
    from talweg.interop.graph_def.exporting import Exporter

WITH_BODIES = (Role.BRANCH, Role.LOOP, Role.CALL, Role.AGAIN)
_ARGUMENT = re.compile("[a-z][a-z0-9_]*")
_NOT_IN_NAMES = re.compile(r"\W")


def is_lazy(node: Node) -> bool:
    """Return whether a node is written by the nodes that use it, if at all."""
    prim = node.prim
    return prim.role in (Role.PROJECTION, Role.SIZE) or Trait.RANDOM_STREAM in prim.traits


def bodies_in(node: Node) -> list[Body]:
    """Return the bodies among a node's parameters."""
    found = []
    for _, value in node.key[1]:
        for part in value if type(value) is tuple else (value,):
            if isinstance(part, Body):
                found.append(part)
    return found


def all_nodes(nodes: Iterable[Node]) -> list[Node]:
    """Return the nodes, and those of the bodies among them, however deep."""
    found: dict[Node, None] = dict.fromkeys(nodes)
    pending = list(found)
    while pending:
        node = pending.pop()
        for body in bodies_in(node):
            for inner in body.nodes:
                if inner not in found:
                    found[inner] = None
                    pending.append(inner)
    return list(found)


def handles_of(bodies: Iterable[Body]) -> list:
    """Return the variables that bodies read or write, and the tables they use, in order."""
    roots = [node for body in bodies for node in body.nodes]
    found: dict[Any, None] = {}
    for node in all_nodes(roots):
        for _, value in node.key[1]:
            thing = value if isinstance(value, Handle) else table_of(value)
            if thing is not None:
                found[thing] = None
    return list(found)


# -- what dtype and shape the elements of lists have

_Dims = tuple[Any, ...] | None


class _Classes:
    """Nodes that stand for the same list, and the dtype and shape of its elements."""

    def __init__(self) -> None:
        self.above: dict[Node, Node] = {}
        self.dtypes: dict[Node, DType] = {}
        self.written: dict[Node, _Dims] = {}  # what holds of the shapes of all that is written

    def root(self, node: Node) -> Node:
        while node in self.above:
            node = self.above[node]
        return node

    def join(self, a: Node, b: Node) -> None:
        """Join `a` and `b`: they have elements of one dtype."""
        a, b = self.root(a), self.root(b)
        if a is b:
            return
        self.above[a] = b
        known = self.dtypes.pop(a, None)
        if known is not None:
            self.dtypes.setdefault(b, known)
        if a in self.written:
            self.tell_shape(b, self.written.pop(a))

    def tell(self, node: Node, dtype: DType) -> None:
        """Note that the elements of `node` have this dtype."""
        self.dtypes.setdefault(self.root(node), dtype)

    def tell_shape(self, node: Node, dims: _Dims) -> None:
        """Note that an element of this shape is written into `node`."""
        node = self.root(node)
        if node in self.written:
            before = self.written[node]
            if dims is None or before is None or len(dims) != len(before):
                dims = None
            else:
                dims = tuple([a if same_dims((a,), (b,)) else None for a, b in zip(before, dims)])
        self.written[node] = dims

    def get(self, node: Node) -> DType:
        """Return the dtype of the elements of a list; float32 if nobody says."""
        return self.dtypes.get(self.root(node), float32)

    def shape(self, node: Node) -> _Dims:
        """Return the dimensions of the elements of a list; None if the rank is not known."""
        return self.written.get(self.root(node))


_ALIKE = ("list_set", "list_clear", "list_resize", "list_scatter", "after", "variant_sum")
_READERS = ("list_get", "list_take", "list_stack", "list_stack_like", "list_concat")


def list_elements(nodes: list[Node]) -> _Classes:
    """Infer the dtypes and shapes of the elements of all lists in a graph and its bodies."""
    classes = _Classes()
    for node in all_nodes(nodes):
        name = node.prim.name
        operands = node.operands
        if name in _ALIKE and node.aval.dtype is variant:
            classes.join(node, operands[0])
        if name == "variant_sum":
            classes.join(node, operands[1])
        if name in ("list_set", "list_scatter", "list_from"):
            element = operands[0 if name == "list_from" else 2].aval
            classes.tell(node, element.dtype)
            dims = element.dims
            classes.tell_shape(node, dims[1:] if dims and name != "list_set" else dims)
        elif name in _READERS:
            classes.tell(operands[0], node.aval.dtype)
        elif node.prim.role is Role.PROJECTION:
            _join_item(classes, node)
        if node.prim.role in WITH_BODIES:
            _join_bodies(classes, node)
    return classes


def _join_item(classes: _Classes, node: Node) -> None:
    source, index = node.inputs[0], node.params["index"]
    for body in bodies_in(source):
        if source.prim.role is Role.LOOP and body is source.params["cond"]:
            continue
        if index < len(body.outputs):
            classes.join(node, body.outputs[index])
    if source.prim.role is Role.LOOP and index < len(source.operands):
        classes.join(node, source.operands[index])


def _join_bodies(classes: _Classes, node: Node) -> None:
    operands = node.operands[1:] if node.prim.role is Role.BRANCH else node.operands
    for body in bodies_in(node):
        for inner, outer in zip(body.inputs, operands):
            if outer.aval.dtype is variant:
                classes.join(inner, outer)
        if node.prim.role is Role.LOOP and body is node.params["body"]:
            for inner, result in zip(body.inputs, body.outputs):
                if result.aval.dtype is variant:
                    classes.join(inner, result)


def _is_history(node: Node) -> bool:
    """Return whether a node's value is the history of a branch or loop."""
    if node.prim.role is Role.PROJECTION:
        source = node.inputs[0]
        return source.prim.role in WITH_BODIES and node.params["index"] == len(source.aval) - 1
    return node.prim.name.startswith("history_")


# -- the library


class FunctionLibrary:
    """The functions of a GraphDef under construction."""

    def __init__(self, message: Any, elements: _Classes, writer_of: Callable[[Any], Any]):
        self.message, self.elements = message, elements
        self.writer_of = writer_of  # what writes the nodes of a function into a message
        self.called: dict[tuple, str] = {}  # bodies of calls -> their functions
        self.written: list[Body] = []  # a body for each function
        self.requested: dict[Node, tuple] = {}  # operation -> inner nodes asked for from outside
        self.counters_read: set[Node] = set()  # loops whose first variable is used behind them

    def find_requested(self, nodes: list[Node]) -> None:
        """Note which inner values, and which loops' first variables, are asked for."""
        requested: dict[Node, dict[Node, None]] = {}
        for node in all_nodes(nodes):
            if node.prim.role is Role.PROJECTION and node.params["index"] == 0:
                self.counters_read.add(node.inputs[0])
            history = node.inputs[0] if node.inputs else None
            if history is None or history.prim.role is not Role.PROJECTION:
                continue
            if node.prim.role is Role.INNER_VALUE:
                requested.setdefault(history.inputs[0], {})[node.params["inner"]] = None
        self.requested = {node: tuple(inner) for node, inner in requested.items()}

    def find_residuals(self, node: Node) -> tuple:
        """Return the inner values asked for that can be kept:
        histories of inner operations cannot.
        """
        return tuple([x for x in self.requested.get(node, ()) if not _is_history(x)])

    def attribute(self, name: str) -> Any:
        """Return a function as an attribute."""
        return NameAttrList(name=name)

    def call(self, body: Body, handles: list, kept: tuple) -> str:
        """Return the body of a call as a function, which all calls of it share."""
        key = (body, tuple(handles), kept)
        if key not in self.called:
            self.called[key] = self.branch(body.name, body, handles, kept)
        return self.called[key]

    def branch(self, label: str, body: Body, handles: list, kept: tuple) -> str:
        """Return a body as a function of its inputs; inner values kept are results, too."""
        return self._function(label, body, handles, kept)

    def loop_form(self, node: Node) -> LoopForm:
        """Return how a loop is written."""
        return form_of(node, self.find_residuals(node), node in self.counters_read)

    def condition(self, label: str, body: Body, handles: list, form: LoopForm) -> str:
        """Return the condition of a loop."""
        return self._function(f"{label}_cond", body, handles, (), form)

    def loop_body(self, label: str, body: Body, handles: list, form: LoopForm) -> str:
        """Write the body of a loop, which also gives back its loop invariants."""
        return self._function(f"{label}_body", body, handles, (), form, True)

    def _function(
        self,
        label: str,
        body: Body,
        handles: list,
        kept: tuple,
        form: LoopForm | None = None,
        goes_on: bool = False,
    ) -> str:
        """Write a body as a function; return its name, that of the operation it is for with a
        number.

        Branches and loops have functions of their own, even if others have equal ones: converters
        change functions together with the operation that has them.
        """
        label = _NOT_IN_NAMES.sub("_", label.rpartition("/")[2])
        name = f"{label}_{len(self.written)}"
        start, before = len(self.message.library.function), len(self.written)
        self.written.append(body)
        try:
            self._write_function(name, body, handles, kept, form, goes_on)
        except BaseException:
            gone = {part.signature.name for part in self.message.library.function[start:]}
            del self.message.library.function[start:], self.written[before:]
            self.called = {key: other for key, other in self.called.items() if other not in gone}
            raise
        return name

    def _write_function(
        self,
        name: str,
        body: Body,
        handles: list,
        kept: tuple,
        form: LoopForm | None,
        goes_on: bool,
    ) -> None:
        message = self.message.library.function.add()
        message.signature.name = name
        writer = self.writer_of(message.node_def)
        arguments = self._arguments(message, writer, body, handles, form)
        effects = write_nodes(writer, body)
        results = [writer.value(node) for node in body.outputs]
        if form is not None and goes_on:
            results = next_variables(writer, results, arguments, form)
        for inner in kept:
            results.append(_inner_or_nothing(writer, inner, body))
        note_results(message, results, effects)

    def _arguments(
        self, message: Any, writer: Exporter, body: Body, handles: list, form: LoopForm | None
    ) -> list[Output]:
        def add(label: str, dtype: DType) -> Output:
            label = writer.unique(label)
            part = message.signature.input_arg.add()
            part.name, part.type = label, dtype.as_datatype_enum
            arguments.append(Output(label, 0, label, dtype))
            return arguments[-1]

        def stand_for(node: Node, output: Output) -> None:
            writer.values[node] = [output]
            writer.names[node] = output.node

        arguments: list[Output] = []
        numbers: Iterable[int] = range(len(body.inputs))
        if form is not None:
            numbers = form.numbers
            front = [add("loop_counter", int32), add("maximum_iterations", int32)]
            for operand, output in zip(form.in_front, front):
                stand_for(body.inputs[operand], output)
        for number in numbers:
            node = body.inputs[number]
            stand_for(node, add(name_of_argument(node) or f"arg_{number}", node.aval.dtype))
        for handle in handles:
            writer.handles[handle] = add(f"arg_{len(arguments)}", resource)
        for _ in form.kept if form is not None else ():
            add(f"arg_{len(arguments)}", variant)
        return arguments


def next_variables(
    writer: Exporter, results: list[Output], arguments: list[Output], form: LoopForm
) -> list[Output]:
    """Return what the body of a loop gives back: a value for each of its arguments."""
    counter, limit = arguments[:2]
    moving = [results[number] for number in form.numbers if number < form.count]
    if form.in_front:
        counter = results[0]
    else:
        grown = WrittenNode("AddV2", (counter, writer.integers(1)), {})
        counter = writer.one(grown, "loop_counter/next")
    lists = arguments[len(arguments) - len(form.kept) :]
    grown_lists = [
        writer.one(WrittenNode("TensorListPushBack", (values, writer.value(inner)), {}), "kept")
        for inner, values in zip(form.kept, lists)
    ]
    fixed = arguments[2 + len(moving) : len(arguments) - len(form.kept)]
    return [counter, limit, *moving, *fixed, *grown_lists]


def note_results(message: Any, results: list[Output], effects: list[str]) -> None:
    """Have a function return these outputs, after these effects."""
    for number, output in enumerate(results):
        part = message.signature.output_arg.add()
        part.name, part.type = f"out_{number}", output.dtype.as_datatype_enum
        message.ret[part.name] = output.inner
    for number, name in enumerate(effects):
        label = f"effect_{number}"
        message.signature.control_output.append(label)
        message.control_ret[label] = name
    message.signature.is_stateful = bool(effects)


def nodes_to_write(nodes: list[Node]) -> tuple[list[Node], dict[Node, Node]]:
    """Select nodes: (the operations, those that are written with the nodes that wait with
    them).
    """
    users: dict[Node, int] = {}
    for node in nodes:
        for source in node.inputs:
            users[source] = users.get(source, 0) + 1
    folded, own = {}, set(nodes)
    for node in nodes:
        if node.prim.role is Role.ORDER:
            inner = node.inputs[0]
            if (
                users[inner] == 1
                and inner in own
                and not (is_lazy(inner) or inner.prim.role is Role.ORDER)
                and (not inner.prim.multiple)
            ):
                folded[inner] = node
    hidden = _indices(nodes, users)
    left = [
        node
        for node in nodes
        if node not in folded
        and node not in hidden
        and not is_lazy(node)
        and not (node.prim.role is Role.CONSTANT and not node.params["value"].given)
    ]
    return left, folded


def name_of_argument(node: Node | None) -> str | None:
    """Return the name that a user gave an input, if a function's argument can have it."""
    names = None if node is None else node.table.labels.get(node)
    name = names[0].lower() if names else ""
    return name if _ARGUMENT.fullmatch(name) else None


def _indices(nodes: list[Node], users: dict[Node, int]) -> set[Node]:
    """Find nodes that only turn a truth value into a body's number; the truth value is written as
    it is.
    """
    found: set[Node] = set()
    for node in nodes:
        index = node.operands[0] if node.prim.role is Role.BRANCH else None
        if index is not None and is_negated(index):
            pair = (index, index.operands[0])
            if all(users.get(part) == 1 and part.holders <= 1 for part in pair):
                found.update(pair)
    return found


def is_negated(index: Node) -> bool:
    """Return whether the number of a body is the opposite of a truth value as a number."""
    return index.prim is arithmetic.cast and index.operands[0].prim is arithmetic.logical_not


def name_in_body(node: Node) -> str:
    """Return the name of a node of a body, before it is numbered:
    its own, or what its type is called.
    """
    names = node.table.labels.get(node)
    return names[0] if names else scope_of(node) + default_name(node)


def write_nodes(writer: Exporter, body: Body, before: dict | None = None) -> list[str]:
    """Write the nodes of a body, effects in order; the names of those that must happen.

    `before` has the names of reads that are written already, by variable.
    """
    own = set(body.inputs)
    nodes, writer.folded = nodes_to_write([node for node in body.nodes if node not in own])
    last: list[str] = []
    effects: list[str] = []
    reads: dict[Any, list[str]] = dict(before or {})
    for node in nodes:
        name = writer.unique(name_in_body(node).replace(" ", "_"))
        controls: list[str] = []
        acts = node.serial is not None and node.prim.effect not in ("read", "input")
        if acts:
            controls = [*last, *reads.pop(node.params.get("variable"), ())]
        writer.write(node, name, controls)
        name = writer.names[node] = writer.renamed.get(node, name)
        if acts:
            last = [name]
            effects.append(name)
        elif node.prim.role is Role.READ:
            reads.setdefault(node.params["variable"], []).append(name)
    return effects


def _inner_or_nothing(writer: Exporter, inner: Node, body: Body) -> Output:
    """Return the value of an inner node; something of its dtype in a body that does not have it."""
    if inner in writer.values or inner in set(body.nodes):
        return writer.value(inner)
    dtype = inner.aval.dtype
    if dtype is variant:
        raise cannot_write("a list inside one of several branches")
    return writer.constant(dtype.numpy_dtype.type(0), "absent")
