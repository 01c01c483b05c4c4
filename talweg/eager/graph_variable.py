"""GraphVariable: a variable of a TensorFlow 1 graph, whose values belong to sessions.

It knows its graph's table and nodes, not the graph or handles of tensors, so that a graph whose
collections hold it can go as soon as its user lets it go.

A variable made inside the body of a loop or branch belongs to the graph outside.  A first value
that is computed from other variables uses their first values where they have none yet, so that
variables can be initialized in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from talweg.core import dispatch
from talweg.core.dtypes import as_dtype, uint64
from talweg.core.errors import compose, invalid, type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.shapes import TensorShape, as_shape
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.variable import Variable, VariableAggregation, VariableSynchronization
from talweg.graph.handle import Handle
from talweg.graph.initial_reads import guard_reads
from talweg.graph.node import Node
from talweg.prims.state import is_initialized, read_or_initial, update_variable


def outermost(graph: Any) -> Any:
    """Return the TensorFlow 1 graph around the bodies of loops and branches; None in eager mode."""
    while graph is not None and getattr(graph, "outer", None) is not None:
        graph = graph.outer
    return graph


@contextmanager
def lift(graph: Any) -> Iterator[None]:
    """Build in `graph` itself, outside of bodies and control dependencies, inside the block."""
    with graph.as_default(), graph.control_dependencies(None):
        yield


class VariableOperation(NamedTuple):
    """The description of a variable that a function which chooses devices is given."""

    name: str
    type: str = "VarHandleOp"
    device: str = ""


class GraphVariable(Variable):
    """A variable of a graph (what `tf.Variable` makes while a graph is the default)."""

    through_creators = "graph"

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: Any = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        shape: Any = None,
        collections: Any = None,
        use_resource: Any = None,
        expected_shape: Any = None,
        experimental_enable_variable_lifting: bool = True,
    ):
        if initial_value is None:
            raise value_error("TW401", "initial_value must be specified.")
        if constraint is not None and not callable(constraint):
            raise value_error("TW401", "The `constraint` argument must be a callable.")
        if collections is not None and not isinstance(collections, (list, tuple, set)):
            raise value_error(
                "TW401",
                f"collections argument to Variable constructor must be a list, tuple, or "
                f"set. Got {collections!r} of type {type(collections)}",
            )
        base = dispatch.context.base
        graph = outermost(base)
        if base.building_function:
            base.note_variable(name or "Variable")
        graph.check_mutable()
        self._synchronization, self._aggregation = synchronization, aggregation
        self._constraint = constraint
        self._trainable = (
            synchronization != VariableSynchronization.ON_READ if trainable is None else trainable
        )
        self.table = graph.table
        self.use_resource = use_resource is not False
        self._shared = graph.unique_name(name or "Variable")
        self._name = f"{self._shared}:0"
        self._device = ""
        if graph.device_scopes:
            self._device = hooks.device_for(graph.device_scopes, VariableOperation(self._shared))
        with lift(graph):
            tensor = self._first_value(graph, initial_value, dtype)
            self._shape = self._shape_for(tensor, shape, validate_shape)
            self._dtype = tensor.dtype
            self._handle = Handle(self, self._name, self._shape, self._dtype)
            self._keep_nodes(graph, tensor)
        graph.add_variable(self, None if collections is None else list(collections))
        if dispatch.state.observer is not None:
            dispatch.state.observer.variable_made(self)

    def _first_value(self, graph: Any, initial_value: Any, dtype: Any) -> Any:
        dtype = None if dtype is None else as_dtype(dtype)
        if callable(initial_value) and not isinstance(initial_value, (Tensor, Variable)):
            before, graph.scope = graph.scope, f"{self._shared}/Initializer/"
            try:
                initial_value = initial_value()
            finally:
                graph.scope = before
        tensor = convert_to_tensor(initial_value, dtype=dtype)
        own = getattr(tensor, "node", None)
        if own is not None and own.table is not graph.table and hasattr(tensor.graph, "outer"):
            tensor = hooks.lift_initial_value(tensor)  # of a function that is traced in the graph
            own = getattr(tensor, "node", None)
        return tensor if own is not None and own.table is graph.table else graph.bring_in(tensor)

    def _shape_for(self, tensor: Any, shape: Any, validate: bool) -> TensorShape:
        """Return the shape every value has, from the first one and the arguments."""
        if shape is None:
            return tensor.shape if validate else TensorShape(None)
        shape = as_shape(shape)
        if validate and not shape.is_compatible_with(tensor.shape):
            raise value_error(
                "TW204",
                f"The initial value's shape ({tensor.shape}) is not compatible with the explicitly "
                f"supplied `shape` argument ({shape}).",
            )
        return shape

    def _keep_nodes(self, graph: Any, tensor: Any) -> None:
        """Hold the first value and the operation that assigns it; name the variable's reading."""
        safe = guard_reads(graph, tensor, GraphVariable)
        init = update_variable(safe, variable=self._handle, rule="assign")
        self._initial: Node = tensor.node
        self._safe_initial: Node = safe.node
        self._initializer: Node = init.node
        for node in (self._initial, self._safe_initial, self._initializer):
            node.holders += 1
        graph.label(init.node, f"{self._shared}/Assign/")
        reading = graph.read_variable(self._handle)
        graph.name_exactly(reading.node, self._shared)

    def begin_with(self, value: object) -> None:
        """Let `value` be the first value from now on."""
        before = self._initial, self._safe_initial, self._initializer
        graph = self.graph
        with lift(graph):
            self._keep_nodes(graph, self._first_value(graph, value, self._dtype))
        for node in before:
            node.table.release(node)

    def __del__(self) -> None:
        own = self.__dict__
        for name in _FIRST_VALUE:
            node = own.get(name)
            if node is not None:
                node.table.release(node)

    # -- what it is

    @property
    def graph(self) -> Any:
        """The graph it belongs to; RuntimeError once nobody holds that any more."""
        graph = self.table.owner()
        if graph is None:
            raise RuntimeError(
                compose(
                    "TW501",
                    f"the graph of '{self._name}' is gone; a variable does not keep it",
                    hint="keep the tf.Graph, or a tensor or session of it",
                )
            )
        return graph

    @property
    def _tensor(self) -> Any:  # type: ignore[override]
        return self.value()

    @property
    def dims(self) -> tuple:
        return self.value().dims

    @property
    def ndim(self) -> int:
        return self.value().ndim

    @property
    def device(self) -> str:
        """The device asked for; '' if none was."""
        return self._device

    @property
    def op(self) -> Any:
        """The operation of the variable."""
        graph = self.graph
        with lift(graph):
            return graph.read_variable(self._handle).op

    @property
    def initializer(self) -> Any:
        """The operation that gives it its first value."""
        return self.graph.operation_of(self._initializer)

    @property
    def initial_value(self) -> Any:
        """The tensor of its first value."""
        return self.graph.symbol(self._initial)

    # -- reading

    def _base(self) -> Any:
        """Return the graph in which operations on it are made now: the one in force if it may."""
        base = dispatch.context.base
        if base is None or (base.table is not self.table and not hasattr(base, "outer")):
            return self.graph
        return base

    def value(self) -> Any:
        """Return its value, as of the present control dependencies."""
        tensor = self._base().read_variable(self._handle)
        for recorder in dispatch.context.recorders:
            recorder.note_read(self, tensor)
        return tensor

    read_value = handle_read = value

    def numpy(self) -> Any:
        """Raise NotImplementedError: it has a value only in a session."""
        raise NotImplementedError(
            compose(
                "TW401",
                "numpy() is only available when eager execution is enabled.",
                hint="session.run(variable)",
            )
        )

    def eval(self, session: Any = None) -> Any:
        """Return its value in a session (the default one)."""
        return hooks.evaluate_in_session(self.value(), None, session)

    def load(self, value: object, session: Any = None) -> None:
        """Give it a value in a session (the default one)."""
        hooks.load_in_session(self, value, session)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the variable as a VariableDef message, which `from_proto` takes.

        Names are those inside of `export_scope`; None for a variable that is not in it.

        >>> import talweg.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     v = tf.get_variable("v", initializer=[1.0, 2.0])
        ...     tf.Variable.from_proto(v.to_proto()) is v
        True
        """
        return hooks.variable_to_proto(self, export_scope)

    def initialized_value(self) -> Any:
        """Return its value if it has one, else the initial value."""
        graph = self.graph
        with lift(graph):
            return read_or_initial(graph.symbol(self._safe_initial), variable=self._handle)

    def is_initialized(self, name: str | None = None) -> Any:
        """Return whether it has a value, as a tensor."""
        graph = self.graph
        with graph.as_default():
            controls = [graph.symbol(node) for node in graph.controls]
            return is_initialized(*controls, variable=self._handle)

    # -- writing: operations, which return the new value

    def _change(self, rule: str, *operands: object, **params: object) -> Any:
        if dispatch.context.base is None:
            self.graph.check_in_force((self.value(),))
        self._handle.updated = True
        with self._base().as_default():
            return update_variable(*operands, variable=self._handle, rule=rule, **params)

    def _finish(self, update: Any, name: str | None = None, read_value: bool = True) -> Any:
        """Return the result of an update: the variable after it, its tensor or its operation."""
        if name is not None:
            update.graph.label(update.node, name)
        if not read_value:
            return update.op
        return UnreadVariable.after(self, update) if self.use_resource else update

    def _operand(self, value: object) -> Any:
        with self._base().as_default():
            return convert_to_tensor(value, dtype=self._dtype)

    def assign(
        self,
        value: object,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Return an operation that sets the value; its result is the new value.

        ValueError if the shape does not fit.
        """
        tensor = self._operand(value)
        self._check_assigned(tensor)
        return self._finish(self._change("assign", tensor), name, read_value)

    def assign_unchecked(self, value: object, name: str | None = None) -> Any:
        """Return `assign` that lets the shape change."""
        return self._finish(self._change("assign", self._operand(value), strict=False), name)

    def _add_or_sub(self, rule: str, value: object, name: str | None, read_value: bool) -> Any:
        tensor = self._operand(value)
        if not self._dtype.is_numeric:
            raise invalid("TW102", f"Cannot {rule} to variables of dtype {self._dtype.name}")
        if not self._shape.is_compatible_with(tensor.shape):
            raise value_error(
                "TW204",
                f"Cannot {rule} a value of shape {tensor.shape} to variable '{self._name}' of "
                f"shape {self._shape}",
            )
        return self._finish(self._change(rule, tensor), name, read_value)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Return an operation that adds `delta`; its result is the new value."""
        return self._add_or_sub("add", delta, name, read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Return an operation that subtracts `delta`; its result is the new value."""
        return self._add_or_sub("sub", delta, name, read_value)

    def count_up_to(self, limit: int) -> Any:
        """Return an operation that adds 1, and the old value; OutOfRangeError at `limit`."""
        return self._change("count_up_to", convert_to_tensor(limit, dtype=self._dtype)) - 1

    def skip(self, count: Any) -> Any:
        """Move a generator's state on by `count` numbers; return the state before."""
        with self._base().as_default():
            count = convert_to_tensor(count, dtype=uint64)
        return self._change("skip", count)

    def scatter_rows(self, kind: str, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Combine `updates` [*indices.shape, ...] or a scalar into the rows `indices` by `kind`."""
        with self._base().as_default():
            indices = convert_to_tensor(indices)
        if not indices.dtype.is_integer:
            raise type_error(
                "TW104",
                f"scatter_{kind}: indices have dtype {indices.dtype.name}",
                "int32 or int64",
            )
        return self._finish(self._change(f"scatter_{kind}", indices, self._operand(updates)), name)

    def _scatter(self, kind: str, slices: IndexedSlices) -> Any:
        if not isinstance(slices, IndexedSlices):
            raise type_error(
                "TW104", f"sparse_delta is not IndexedSlices: {slices!r}", "a tf.IndexedSlices"
            )
        return self.scatter_rows(kind, slices.indices, slices.values)

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Set rows within each batch: indices [b, n], values [b, n, ...]."""
        with self._base().as_default():
            indices = convert_to_tensor(sparse_delta.indices)
        updates = self._operand(sparse_delta.values)
        return self._finish(self._change("batch_update", indices, updates), name)

    def _scatter_nd(self, kind: str, indices: Any, updates: Any) -> Any:
        with self._base().as_default():
            indices = convert_to_tensor(indices)
        return self._finish(self._change(f"scatter_nd_{kind}", indices, self._operand(updates)))

    def assign_slice(self, place: tuple, value: object, name: str | None = None) -> Any:
        """Return an operation that writes `value`, broadcast, to a place (a frozen key)."""
        return self._finish(self._change("slice", self._operand(value), place=place), name)

    # -- identity, printing

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> Any:
        return self is other

    def __ne__(self, other: object) -> Any:
        return self is not other

    def __repr__(self) -> str:
        return f"<tf.Variable '{self._name}' shape={self._shape} dtype={self._dtype.name}>"

    __str__ = __repr__

    def __deepcopy__(self, memo: dict) -> GraphVariable:
        return self

    def __iter__(self) -> Any:
        raise type_error("TW104", "'Variable' object is not iterable.")

    def __bool__(self) -> bool:
        return bool(self.value())


class UnreadVariable(GraphVariable):
    """A variable of a graph as one of its updates leaves it: what `assign` and the like return.

    A read of it, and a further update, wait for that update.  It has no first value of its own.
    """

    update: Any  # the tensor of the value after the update

    @classmethod
    def after(cls, variable: GraphVariable, update: Any) -> UnreadVariable:
        """Return `variable`, to be read behind the operation that made `update`."""
        unread = object.__new__(cls)
        fields = vars(unread)
        fields.update(vars(variable))
        for name in _FIRST_VALUE:
            fields.pop(name, None)
        unread.update = update
        unread._name = update.op.name
        return unread

    @property
    def node(self) -> Node:
        """The node of the update."""
        return self.update.node

    control_node = node  # what waits for it waits for the update

    @property
    def op(self) -> Any:
        """The operation of the update."""
        return self.update.op

    @property
    def initializer(self) -> None:  # type: ignore[override]
        """None: the variable itself has one."""
        return

    @property
    def initial_value(self) -> Any:
        """The tensor of the variable's first value."""
        return self._handle.owner().initial_value

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the variable as a VariableDef message."""
        return self._handle.owner().to_proto(export_scope)

    def value(self) -> Any:
        """Return the variable's value when the update has run."""
        with self._base().control_dependencies([self.update]):
            return super().value()

    read_value = handle_read = initialized_value = value

    def _change(self, rule: str, *operands: object, **params: object) -> Any:
        with self._base().control_dependencies([self.update]):
            return super()._change(rule, *operands, **params)


_FIRST_VALUE = ("_initial", "_safe_initial", "_initializer")  # nodes that a variable holds


def take_update(result: Any) -> Any:
    """Return the tensor of the new value, given the result of an update."""
    return result.update if isinstance(result, UnreadVariable) else result


def variable_class(graph: Any) -> type:
    """Return the class that `tf.Variable(...)` makes while `graph` is in force."""
    return Variable if outermost(graph).building_function else GraphVariable


hooks.variable_class = variable_class
