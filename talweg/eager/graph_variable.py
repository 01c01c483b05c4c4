"""GraphVariable: a variable of a TensorFlow 1 graph, whose values belong to sessions.

It knows its graph's table and nodes, not the graph or handles of tensors, so that a graph whose
collections hold it can go as soon as its user lets it go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.core import dispatch
from talweg.core.dtypes import as_dtype
from talweg.core.errors import compose, invalid, type_error, value_error
from talweg.core.shapes import TensorShape, as_shape
from talweg.core.value import OPERATIONS, IndexedSlices, Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.variable import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
)
from talweg.graph.handle import Handle
from talweg.graph.node import Node
from talweg.prims.state import is_initialized, update_variable


class GraphVariable(Variable):
    """A variable of a graph (what `tf.Variable` makes while a graph is the default)."""

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
        graph = dispatch.context.base
        graph.check_mutable()
        self._synchronization, self._aggregation = synchronization, aggregation
        self._constraint = constraint
        self._trainable = (
            synchronization != VariableSynchronization.ON_READ if trainable is None else trainable
        )
        base_name = name or "Variable"
        self._shared = graph.unique_name(base_name)
        self._name = f"{self._shared}:0"
        tensor = self._first_value(graph, initial_value, dtype)
        if shape is not None:
            self._shape = as_shape(shape)
        else:
            self._shape = tensor.shape if validate_shape else TensorShape(None)
        if validate_shape and not self._shape.is_compatible_with(tensor.shape):
            raise value_error(
                "TW204",
                f"The initial value's shape ({tensor.shape}) is not compatible with the explicitly "
                f"supplied `shape` argument ({self._shape}).",
            )
        if validate_shape and shape is None and not tensor.shape.is_fully_defined():
            if tensor.shape.rank is None:
                raise value_error("TW205", f"initial_value must have a shape specified: {tensor}")
        self._dtype = tensor.dtype
        self._handle = Handle(self, self._name, self._shape, self._dtype)
        self.table = graph.table
        self._initial = tensor.node
        with graph.control_dependencies(None):
            init = update_variable(tensor, variable=self._handle, rule="assign")
        self._initializer: Node = init.node
        graph.label(init.node, f"{self._shared}/Assign/")
        for node in (self._initial, self._initializer):
            node.holders += 1
        graph.add_variable(self, collections)

    def _first_value(self, graph: Any, initial_value: Any, dtype: Any) -> Any:
        dtype = None if dtype is None else as_dtype(dtype)
        with graph.control_dependencies(None):
            if callable(initial_value) and not isinstance(initial_value, (Tensor, Variable)):
                initial_value = initial_value()
            tensor = convert_to_tensor(initial_value, dtype=dtype)
            own = getattr(tensor, "node", None)
            return (
                tensor if own is not None and own.table is graph.table else graph.bring_in(tensor)
            )

    def __del__(self) -> None:
        for node in (getattr(self, "_initial", None), getattr(self, "_initializer", None)):
            if node is not None:
                node.table.release(node)

    # -- what it is

    @property
    def graph(self) -> Any:
        """The graph it belongs to; None once that is gone."""
        return self.table.owner()

    @property
    def dims(self) -> tuple:
        return self.value().dims

    @property
    def ndim(self) -> int:
        return self.value().ndim

    @property
    def device(self) -> str:
        return ""

    @property
    def op(self) -> Any:
        """The operation of the variable."""
        return self.value().op

    @property
    def initializer(self) -> Any:
        """The operation that gives it its first value."""
        return self.graph.operation_of(self._initializer)

    @property
    def initial_value(self) -> Any:
        """The tensor of its first value."""
        return self.graph.symbol(self._initial)

    # -- reading

    def value(self) -> Any:
        """Its value, as of the present control dependencies."""
        base = dispatch.context.base
        if base is None or (base.table is not self.table and not hasattr(base, "outer")):
            base = self.graph
        tensor = base.read_variable(self._handle)
        for recorder in dispatch.context.recorders:
            recorder.note_read(self, tensor)
        return tensor

    read_value = handle_read = value

    def numpy(self) -> Any:
        """NotImplementedError: it has a value only in a session."""
        raise NotImplementedError(
            compose(
                "TW401",
                "numpy() is only available when eager execution is enabled.",
                hint="session.run(variable)",
            )  # fmt: skip
        )

    def eval(self, session: Any = None) -> Any:
        """Its value in a session (the default one)."""
        return OPERATIONS["evaluate_in_session"](self.value(), None, session)

    def load(self, value: Any, session: Any = None) -> None:
        """Give it a value in a session (the default one)."""
        OPERATIONS["load_in_session"](self, value, session)

    def initialized_value(self) -> Any:
        """Its value if it has one, else the initial value."""
        return OPERATIONS["cond"](
            self.is_initialized(), self.read_value, lambda: self.initial_value
        )

    def is_initialized(self, name: str | None = None) -> Any:
        """Whether it has a value, as a tensor."""
        graph = self.graph
        with graph.as_default():
            return is_initialized(
                *[graph.symbol(node) for node in graph.controls], variable=self._handle
            )

    # -- writing: operations, which return the new value

    def _change(self, rule: str, *operands: Any, **params: Any) -> Any:
        base = dispatch.context.base
        if base is not None and (base.table is self.table or hasattr(base, "outer")):
            return update_variable(*operands, variable=self._handle, rule=rule, **params)
        with self.graph.as_default():
            return update_variable(*operands, variable=self._handle, rule=rule, **params)

    def _operand(self, value: Any) -> Any:
        graph = dispatch.context.base
        if graph is None:
            with self.graph.as_default():
                return convert_to_tensor(value, dtype=self._dtype)
        return convert_to_tensor(value, dtype=self._dtype)

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """An operation that sets the value; its result is the new value.

        ValueError if the shape does not fit.
        """
        tensor = self._operand(value)
        self._check_assigned(tensor)
        return self._labelled(self._change("assign", tensor), name, read_value)

    def _labelled(self, result: Any, name: str | None, read_value: bool) -> Any:
        if name is not None:
            result.graph.label(result.node, name)
        return result if read_value else result.op

    def _trace_update(self, rule: str, value: Any, read_value: bool = True) -> Any:
        tensor = self._operand(value)
        if not self._dtype.is_numeric:
            raise invalid("TW102", f"Cannot {rule} to variables of dtype {self._dtype.name}")
        if not self._shape.is_compatible_with(tensor.shape):
            raise value_error(
                "TW204",
                f"Cannot {rule} a value of shape {tensor.shape} to variable '{self._name}' of "
                f"shape {self._shape}",
            )
        return self._labelled(self._change(rule, tensor), None, read_value)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """An operation that adds `delta`; its result is the new value."""
        return self._trace_update("add", delta, read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """An operation that subtracts `delta`; its result is the new value."""
        return self._trace_update("sub", delta, read_value)

    def count_up_to(self, limit: int) -> Any:
        """An operation that adds 1 and gives the value before; OutOfRangeError at `limit`."""
        return self._change("count_up_to", limit_of(limit, self._dtype)) - 1

    def _scatter(self, kind: str, slices: IndexedSlices) -> Any:
        if not isinstance(slices, IndexedSlices):
            raise type_error(
                "TW104", f"sparse_delta is not IndexedSlices: {slices!r}", "a tf.IndexedSlices"
            )
        indices = convert_to_tensor(slices.indices)
        return self._change(f"scatter_{kind}", indices, self._operand(slices.values))

    def _scatter_nd(self, kind: str, indices: Any, updates: Any) -> Any:
        operation = OPERATIONS[f"tensor_scatter_nd_{kind}"]
        return self._change("assign", operation(self.value(), indices, updates))

    def __getattribute__(self, name: str) -> Any:
        if name == "_tensor":
            return self.value()
        return object.__getattribute__(self, name)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: Any) -> Any:
        return self is other

    def __ne__(self, other: Any) -> Any:
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


def limit_of(limit: int, dtype: Any) -> Any:
    """The limit of `count_up_to` as a tensor."""
    return convert_to_tensor(limit, dtype=dtype)


def variable_class(graph: Any) -> type:
    """What `tf.Variable(...)` makes while `graph` is in force."""
    return Variable if graph.building_function else GraphVariable


OPERATIONS["variable_class"] = variable_class
