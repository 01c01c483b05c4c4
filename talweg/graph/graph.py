"""Graph, the user's handle of a graph under construction: an interpreter that builds nodes.

Two kinds: the graph of TensorFlow 1 (`tf.Graph`), and `FunctionGraph`, the body of a function, a
branch or a loop, which captures what it uses from outside as inputs of its own.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.errors import compose, type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.provenance import describe
from talweg.core.roles import Role
from talweg.core.tracebacks import boundary
from talweg.core.value import Tensor
from talweg.graph.collections import Collections
from talweg.graph.elements import GraphElements
from talweg.graph.handle import Handle
from talweg.graph.names import Names
from talweg.graph.node import Content, Node, NodeTable, aval_of_array
from talweg.graph.operation import Operation, OperationTable
from talweg.graph.subgraph import asking
from talweg.graph.symbol import Symbol

if TYPE_CHECKING:
    from talweg.core.dtypes import DType
    from talweg.core.primitive import Primitive

_NUMBERS = frozenset((int, float, complex, bool))
OVERRIDDEN: dict[str, str] = {}  # types of operations with other derivatives in all new graphs


def freeze(value: object) -> Any:
    """Return a hashable form of a parameter."""
    if type(value) is list:
        return tuple(map(freeze, value))
    return value


class Graph(Names, OperationTable, GraphElements, Collections):
    """A computation under construction (`tf.Graph`).

    Equal operations are one node, and what nothing refers to any more is gone; see `stats`.

    >>> import talweg.compat.v1 as tf
    >>> graph = tf.Graph()
    >>> with graph.as_default():
    ...     x = tf.placeholder(tf.float32, [None, 3])
    ...     a, b = x + 1.0, x + 1.0
    >>> a is b, a.shape.as_list()
    (True, [None, 3])
    """

    building_function = False
    replaced: tuple | None = None  # the application that tapes record for the last one
    closed = False  # whether it is a body that is complete
    shares_collections = False  # whether its collections are those of the graph around

    def _get_control_flow_context(self) -> None:
        """Return None: control flow of TensorFlow 1 has graphs of its own here."""

    @property
    def _variable_creator_stack(self) -> list:
        """The creators of `tf.variable_creator_scope`, as libraries ask for them."""
        return list(dispatch.context.creators)

    @property
    def _graph_key(self) -> str:
        """The key by which optimizers group variables."""
        return f"graph-{id(self)}"

    def __init__(self) -> None:
        base = dispatch.context.base
        outer = base.level if base is not None and self.building_function else 0
        self.level = 1 + max(outer, dispatch.context.batch_level)
        self.table = NodeTable(self)
        self.frozen = False
        self.collections: dict[Any, list] = {}
        self.controls: tuple[Node, ...] = ()
        self.extras: dict[str, Any] = {}  # what upper layers keep with a graph
        self.overrides: dict[str, str] = dict(OVERRIDDEN)  # type of operation -> its derivative
        self.numbers: dict[tuple, Node] = {}  # Python numbers met lately
        self._scalars: dict[tuple, Node] = {}
        self._arrays: Any = weakref.WeakValueDictionary()  # contents of constants, by digest
        self.seed: int | None = None
        self.start_names()
        self.start_operations()
        self.start_elements()

    def __del__(self) -> None:
        self.forget_names()
        if not self.shares_collections:
            self.collections.clear()
        self.table.clear()

    # -- building

    def bind(self, prim: Primitive, operands: tuple, params: dict) -> Any:
        """Return the node(s) of `prim` on `operands`, as tensors."""
        if dispatch.context.base is None:
            self.check_in_force(operands)
        nodes = self.nodes_of(operands)
        items = tuple([(key, freeze(value)) for key, value in params.items()])
        if self.overrides:
            made = self.apply(prim, items, nodes)
            return hooks.with_registered_gradient(self, made, self.overrides)
        return self.apply(prim, items, nodes)

    def check_in_force(self, operands: tuple) -> None:
        """Raise TypeError: an operand is a tensor of this graph, used where it is not in force."""
        symbol = next(operand for operand in operands if type(operand) is Symbol)
        raise type_error(
            "TW502",
            f"{symbol!r} is out of scope and cannot be used here: it belongs to a graph, where it "
            f"was made at {describe(symbol.node.origin)}, and no graph is in force",
            "operations on it inside of `with graph.as_default():`",
            "session.run(tensor) for its value",
        )

    def apply(self, prim: Any, params: tuple, nodes: tuple, aval: Aval | None = None) -> Any:
        """Build nodes like `bind`, from nodes of this graph and frozen parameters."""
        table = self.table
        node = table.intern(prim, params, nodes, aval)
        if self.controls:
            node = self._after_controls(node)
        if self.device_scopes:
            self.note_device(node)
        if prim.role is Role.INNER_VALUE:
            inner = node.params["inner"]
            with asking:
                inner.table.requested[node] = inner
        if prim.multiple:
            return tuple(self.results_of(node))
        handle = node.handle
        symbol = handle() if handle is not None else None
        return Symbol(node, self) if symbol is None else symbol

    def results_of(self, node: Node) -> list[Symbol]:
        """Return the results of a primitive with several; pure ones wait for controls."""
        intern, item = self.table.intern, hooks.item_p
        frozen, self.frozen = self.frozen, False
        try:
            parts = [
                intern(item, (("index", index),), (node,), part)
                for index, part in enumerate(node.aval)
            ]
            if self.controls and node.prim.effect is None:
                after = hooks.after_p
                parts = [intern(after, (), (part, *self.controls), part.aval) for part in parts]
        finally:
            self.frozen = frozen
        return [self.symbol(part) for part in parts]

    def _after_controls(self, node: Node) -> Node:
        """Make `node` wait for the operations of the enclosing `control_dependencies`."""
        prim = node.prim
        if prim.role in _FREE or prim.multiple or prim.effect is not None:
            self._tie(node)
            return node
        members = self.extras.setdefault("controlled", weakref.WeakKeyDictionary())
        if any(members.get(source) == self.controls for source in node.inputs):
            members[node] = self.controls
        return node if members.get(node) == self.controls else self._behind_controls(node)

    def _behind_controls(self, node: Node) -> Node:
        after = self.table.intern(hooks.after_p, (), (node, *self.controls), node.aval)
        self.extras.setdefault("controlled", weakref.WeakKeyDictionary())[after] = self.controls
        return after

    def _tie(self, node: Node) -> None:
        """Add the present controls as control inputs of a node with an effect."""
        if node.prim.effect is not None:
            self.tie(node, self.controls)

    def tie(self, node: Node, controls: tuple) -> None:
        """Add `controls` as control inputs of `node`: it runs after them."""
        present = self.table.controls.get(node, ())
        fresh = tuple([control for control in controls if control not in present])
        if fresh:
            for control in fresh:
                control.holders += 1
            self.table.controls[node] = present + fresh

    def symbol(self, node: Node) -> Symbol:
        """Return the symbol of a node."""
        handle = node.handle
        found = handle() if handle is not None else None
        return Symbol(node, self) if found is None else found

    def nodes_of(self, operands: tuple) -> tuple:
        """Return the operands as nodes of this graph."""
        table = self.table
        nodes = []
        for operand in operands:
            if type(operand) is Symbol and operand.node.table is table:
                nodes.append(operand.node)
            elif type(operand) in _NUMBERS:
                nodes.append(None)
            else:
                nodes.append(self.bring_in(operand).node)
        if None in nodes:
            dtype = next(node.aval.dtype for node in nodes if node is not None)
            nodes = [
                self.scalar(operand, dtype) if node is None else node
                for node, operand in zip(nodes, operands)
            ]
        return tuple(nodes)

    def scalar(self, value: float, dtype: DType) -> Node:
        """Return a constant node of a Python number."""
        key = (value, type(value), dtype.name)
        node = self.numbers.get(key)
        if node is None or node.holders <= 0 or not value:  # 0 and -0.0 are equal keys
            node = self.constant_node(dtype.numpy_dtype.type(value))
            if len(self.numbers) > 1000:
                self.numbers.clear()
            self.numbers[key] = node
        return node

    def constant_node(self, array: Any, given: bool = False) -> Node:
        """Return the node of a constant array; `given`: the user made it by `tf.constant`."""
        if array.ndim == 0 and array.dtype != object and not given:
            key = (array.dtype, array.tobytes())
            node = self._scalars.get(key)
            if node is not None and node.holders > 0:
                return node
            node = self._new_constant(array, False)
            if len(self._scalars) > 1000:
                self._scalars.clear()
            self._scalars[key] = node
            return node
        return self._new_constant(array, given)

    def _new_constant(self, array: Any, given: bool) -> Node:
        content = Content(array, given)
        if given:
            earlier = self._arrays.setdefault(content.digest, content)
            if earlier is not content and earlier.has_array(content):
                content.array = earlier.array
        params = (("value", content),)
        return self.table.intern(hooks.constant_p, params, (), aval_of_array(array))

    def set_apart(self, symbol: Symbol) -> Symbol:
        """Return a copy of `symbol` that equals no other tensor, where tensors can be fed.

        The zeros that a recurrent network begins with are the place where programs feed its last
        state; equal zeros made elsewhere must not see that.
        """
        in_body = self.building_function or hasattr(self, "outer")
        if in_body or dispatch.context.recorders or symbol.node.table is not self.table:
            return symbol  # nothing is fed there, and tapes know the tensor that was made
        return self.symbol(self.table.set_apart(symbol.node))

    def constant(self, array: Any, given: bool = False) -> Symbol:
        """Return a constant as a tensor of this graph; outside of bodies it waits as others do."""
        node = self.constant_node(array, given)
        if self.controls and not self.building_function and not hasattr(self, "outer"):
            node = self._behind_controls(node)
        if given and self.device_scopes:
            self.note_device(node)
        return self.symbol(node)

    def bring_in(self, value: Any) -> Symbol:
        """Return a tensor from outside as one of this graph; ValueError if it has another graph."""
        if type(value) is dispatch.state.plain:
            return self.symbol(self.constant_node(value._array))
        if type(value) is Symbol:
            raise value_error(
                "TW501",
                f"{value!r} must be from the same graph as the other operands "
                f"(it was made at {value.where_made()})",
                "tensors of one tf.Graph",
            )
        if isinstance(value, Tensor):
            raise value_error("TW501", f"{value!r} cannot be used in a graph")
        raise type_error("TW104", f"{value!r} is not a tensor")

    def placeholder(self, dims: tuple | None, dtype: DType, **params: Any) -> Symbol:
        """Make an input; each unknown dimension (None) gets a symbol of its own."""
        items = tuple(params.items())
        node = self.table.intern(hooks.placeholder_p, items, (), Aval(dims, dtype))
        if self.controls:
            self._tie(node)
        if self.device_scopes:
            self.note_device(node)
        return self.symbol(node)

    def check_mutable(self) -> None:
        """Raise RuntimeError if the graph is finalized."""
        if self.frozen:
            raise RuntimeError(compose("TW501", "Graph is finalized and cannot be modified."))

    def finalize(self) -> None:
        """Forbid new nodes; nodes that exist can still be looked up."""
        self.frozen = True

    @contextmanager
    def unlock(self) -> Iterator[None]:
        """Allow nodes in a finalized graph, inside the block, that only give access to others."""
        before, self.frozen = self.frozen, False
        try:
            yield
        finally:
            self.frozen = before

    @property
    def finalized(self) -> bool:
        """Whether `finalize` was called."""
        return self.frozen

    # -- state

    def read_variable(self, handle: Handle) -> Symbol:
        """Return the value of a variable, as of the present control dependencies."""
        params = (("variable", handle),)
        nodes = tuple(dict.fromkeys(self.controls))
        aval = Aval(variable_dims(handle), handle.dtype)
        node = self.table.intern(hooks.read_variable_p, params, nodes, aval)
        return self.symbol(node)

    # -- in force

    @contextmanager
    def as_default(self) -> Iterator[Any]:
        """Build operations that name no graph in this one, inside the block.

        AssertionError if blocks are left in another order than they were entered.
        """
        before = dispatch.context.base
        dispatch.context.base = self
        dispatch.enter()
        try:
            yield self
        finally:
            dispatch.leave()
            if dispatch.context.base is not self:
                raise AssertionError(
                    compose("TW501", "Nesting violated for default stack of tf.Graph objects")
                )
            dispatch.context.base = before

    @contextmanager
    def control_dependencies(self, controls: list[Operation] | None) -> Iterator[None]:
        """Run operations made in the block after `controls` (operations, tensors, variables).

        None clears the dependencies of enclosing blocks.
        """
        before = self.controls
        if controls is None:
            self.controls = ()
        else:
            fresh = [self.control_node(control) for control in controls]
            self.controls = tuple(dict.fromkeys((*before, *[f for f in fresh if f is not None])))
        try:
            yield
        finally:
            self.controls = before

    def control_node(self, control: Any) -> Node | None:
        """Return the node to wait for."""
        if isinstance(control, Node):
            return control
        if type(control) is Symbol:
            return control.node if control.node.table is self.table else self.bring_in(control).node
        if hasattr(control, "control_node"):
            if control.node.table is self.table:
                return control.control_node
            return self.bring_in(control.graph.symbol(control.control_node)).node
        if isinstance(control, Tensor):
            return None  # it has a value already
        if hasattr(control, "handle_read"):
            return self.read_variable(control.handle).node
        if hasattr(control, "_flat_components"):
            return self.control_node(control._flat_components()[0])
        raise type_error(
            "TW104", f"control_dependencies: {control!r} is no operation, tensor or variable"
        )

    def truth_of(self, symbol: Symbol) -> bool:
        """Raise OperatorNotAllowedInGraphError: a symbolic tensor is no Python bool."""
        raise symbol._refuse(
            "Using a symbolic tensor as a Python bool is not allowed",
            "tf.cond(x, ...), tf.where(x, a, b), or a tf.function, where `if` and `while` work",
        )

    @property
    def version(self) -> int:
        """The number of nodes that were ever made; it grows with every new one."""
        return self.table.built

    def switch_to_thread_local(self) -> None:
        """Accept the request without effect: a graph's scopes are not kept by thread."""

    @contextmanager
    def gradient_override_map(self, op_type_map: dict) -> Iterator[None]:
        """Give operations made in the block derivatives registered by `tf.RegisterGradient`.

        op_type_map: from types of operations to the names of derivatives.
        """
        texts = (*op_type_map.keys(), *op_type_map.values()) if type(op_type_map) is dict else (0,)
        if not all(isinstance(text, str) for text in texts):
            raise type_error("TW104", "op_type_map must be a dictionary mapping strings to strings")
        before = self.overrides
        self.overrides = {**before, **op_type_map}
        try:
            yield
        finally:
            self.overrides = before

    @property
    def graph_def_versions(self) -> Any:
        """The versions of GraphDef this graph can be written in, as a VersionDef message."""
        return hooks.graph_def(self).versions

    @boundary
    def as_graph_def(
        self, from_version: int | None = None, add_shapes: bool = False, **options: object
    ) -> Any:
        """Return the graph as a GraphDef message; it needs `tensorboard` (talweg[graphdef]).

        Arrays above 1024 bytes are not in it unless `include_captured=True` is given, or a GraphDef
        was imported into the graph: a Placeholder stands for each, whose attribute
        `_talweg_captured_bytes` says how large it is.  With `add_shapes` nodes say the shapes of
        their results.  ImportError without the package.
        """
        return hooks.graph_def(self, from_version, add_shapes, **options)

    def report(self, session: object = None, loss: object = None) -> Any:
        """Return the doctor's findings in this graph as a `talweg.doctor.Report`.

        session: to see which variables have no value in it.  loss: a tensor, to see which trainable
        variables it does not depend on.

        >>> import talweg.compat.v1 as tf
        >>> with tf.Graph().as_default() as graph:
        ...     w, unused = tf.Variable(1.0, name="w"), tf.Variable(2.0, name="unused")
        ...     loss = tf.square(w)
        >>> [finding.title for finding in graph.report()]
        ['never read: `unused:0`']
        """
        return hooks.graph_report(self, session, loss)

    def shared_work(self) -> list[str]:
        """List the operations that hash-consing shares, those requested most often first.

        >>> import talweg.compat.v1 as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.placeholder(tf.float32)
        ...     a, b = tf.sqrt(x), tf.sqrt(x)
        >>> graph.shared_work()[0].split(":")[0]
        'Sqrt, asked for 2 times'
        """
        counts = self.table.asked.items()
        asked = [(n, x) for x, n in counts if x.operands and x.prim.role is not Role.PROJECTION]
        asked.sort(key=lambda pair: -pair[0])
        return [
            f"{self.operation_name(node)}, asked for {count} times: {describe(node.origin)}"
            for count, node in asked
        ]

    def stats(self) -> dict:
        """Count the nodes that exist, existed, were shared and were released; bytes of constants.

        >>> import talweg.compat.v1 as tf
        >>> with tf.Graph().as_default() as graph:
        ...     a = tf.constant([1.0, 2.0])
        ...     b = a * a
        ...     c = a * a
        >>> graph.stats()["live"], graph.stats()["merged"]
        (2, 1)
        """
        table = self.table
        live = len(table.nodes)
        contents = [
            node.params["value"] for node in table.nodes.values() if node.prim.role is Role.CONSTANT
        ]
        return {
            "live": live,
            "merged": table.merged,
            "collected": table.built - live,
            "peak": max(table.peak, live),
            "built": table.built,
            "literal_bytes": sum(c.array.nbytes for c in contents if not c.captured),
            "captured_bytes": sum(c.array.nbytes for c in contents if c.captured),
        }


_FREE = frozenset((Role.CONSTANT, Role.PLACEHOLDER, Role.PROJECTION, Role.READ, Role.ORDER))


def variable_dims(variable: Handle) -> tuple | None:
    """Return the dimensions every value of a variable has, None where they may change."""
    shape = variable.shape
    return None if shape.rank is None else shape.as_tuple()
