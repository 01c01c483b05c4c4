"""tf.train.Optimizer: from a loss to operations that change variables.

Optimizers derive from it and say how one variable changes, for a gradient that is a tensor
(`_apply_dense`) and for one that is some rows (`_apply_sparse`); `formula.py` makes both of one
formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api import autodiff
from talweg.api.arguments import tensor
from talweg.api.array.operands import dims_or_none
from talweg.api.export import export, look_up
from talweg.compat_v1.train.slots import beside, variable_beside
from talweg.core import dispatch
from talweg.core.dtypes import bfloat16, float16, float32, float64
from talweg.core.errors import type_error, value_error
from talweg.core.tracking import Trackable
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.absence import announce
from talweg.eager.graph_variable import UnreadVariable, outermost
from talweg.eager.tape import GradientTape
from talweg.eager.variable import Variable
from talweg.graph import structure
from talweg.graph.operation import Operation
from talweg.graph.symbol import Symbol
from talweg.prims import indexing, search
from talweg.prims.state import ensure_dims, group

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.dtypes import DType
    from talweg.core.shapes import TensorShape
    from talweg.eager.graph_variable import GraphVariable
    from talweg.graph.graph import Graph
    from talweg.lower.ir.loops import Update

TRAIN_OP = "train_op"


@export("compat.v1.train.Optimizer")
class Optimizer(Trackable):
    """Base of the optimizers of `tf.compat.v1.train`; works in graphs and in eager mode.

    A class derived from it implements `_apply_dense(gradient, variable)`, perhaps `_apply_sparse`,
    `_create_slots(variables)`, `_prepare()` and `_finish(updates, name)`.
    """

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(
        self, use_locking: bool, name: str, use_own_namescope_for_non_slot_vars: bool = False
    ):
        if not name:
            raise value_error("TW207", "Must specify the optimizer name")
        self._use_locking, self._name = use_locking, name
        self._slots: dict[str, dict[int, tuple[Any, Any]]] = {}  # slot -> variable's id -> both
        self._non_slots: dict[tuple[str, int], tuple[Any, Any]] = {}
        self._saved_slots: dict[tuple[str, int], list] = {}  # of checkpoints, not made yet

    def get_name(self) -> str:
        """Return the name given, which slots are named after."""
        return self._name

    # -- gradients

    def minimize(
        self,
        loss: TensorLike,
        global_step: TensorLike | None = None,
        var_list: object = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: TensorLike | None = None,
    ) -> Any:
        """Make an operation that reduces `loss`: `compute_gradients`, then `apply_gradients`.

        In eager mode `loss` is a function and the step is done at once.  ValueError if the loss
        depends on none of the variables.
        """
        pairs = self.compute_gradients(
            loss,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )
        if all(gradient is None for gradient, _ in pairs):
            names = [variable.name for _, variable in pairs]
            raise value_error(
                "TW301",
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {names} and loss {loss}.",
            )
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: object = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: TensorLike | None = None,
    ) -> list:
        """Compute pairs of gradient and variable, for `var_list` or all trainable variables.

        A gradient is a tensor, IndexedSlices, or None where the loss does not depend on the
        variable.  RuntimeError in eager mode if `loss` is no function, ValueError if there are no
        variables or the loss has a dtype that cannot be minimized.
        """
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise value_error(
                "TW207",
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH. Not {gate_gradients}",
            )
        if callable(loss) and not isinstance(loss, (Tensor, Variable)):
            return self._by_tape(loss, var_list, grad_loss)
        if dispatch.context.base is None:
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager "
                "execution is enabled.  [TW302]"
            )
        loss = tensor(loss)
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        if var_list is None:
            variables = look_up("compat.v1.trainable_variables")()
        else:
            variables = structure.flatten(var_list)
        if not variables:
            raise value_error("TW207", "No variables to optimize.")
        gradients = autodiff.gradients(loss, variables, grad_ys=grad_loss)
        pairs = list(zip(gradients, variables))
        self._assert_valid_dtypes(
            [variable for gradient, variable in pairs if gradient is not None]
        )
        return pairs

    def _by_tape(self, loss: Callable[[], Any], var_list: object, grad_loss: object) -> list:
        with GradientTape() as tape:
            if var_list is not None:
                tape.watch(var_list)
            value = loss()
        variables = tape.watched_variables() if var_list is None else structure.flatten(var_list)
        variables = list(variables)
        found = tape.gradient(value, variables, grad_loss)
        return list(zip(found, variables))

    def apply_gradients(
        self,
        grads_and_vars: Iterable,
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Make an operation that changes the variables by their gradients, and adds 1 to
        `global_step`.

        Variables whose gradient is None are left out.  ValueError if that leaves none, TypeError
        for a gradient that is none.  In eager mode the variables are changed now.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise value_error("TW207", "No variables provided.")
        present = [(_as_gradient(g), variable) for g, variable in pairs if g is not None]
        if len(present) < len(pairs):
            announce([variable for g, variable in pairs if g is None])
        if not present:
            names = [getattr(variable, "name", variable) for _, variable in pairs]
            raise value_error("TW301", f"No gradients provided for any variable: {names}.")
        for _, variable in present:
            if not isinstance(variable, Variable):
                raise type_error("TW104", f"Variable must be a tf.Variable: {variable!r}")
        self._create_slots([variable for _, variable in present])
        with _scope(name or self._name) as scope:
            self._prepare()
            updates = []
            for gradient, variable in present:
                with _scope(f"update_{variable.name.partition(':')[0]}"):
                    updates.append(self._update(gradient, variable))
            step = self._finish(updates, scope)
            if global_step is not None:
                step = _count_step(step, global_step)
        return _list_step(step, scope)

    def _update(self, gradient: object, variable: Variable) -> Any:
        """Return the update of one variable, its constraint applied behind it."""
        if isinstance(gradient, IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError(
                    "Cannot use a constraint function on a sparse variable.  [TW401]"
                )
            values, indices = _ensure_ranks(gradient, variable)
            return self._resource_apply_sparse_duplicate_indices(values, variable, indices)
        update = self._resource_apply_dense(gradient, variable)
        if variable.constraint is None:
            return update
        with _after(update):
            return variable.assign(variable.constraint(variable.value()))

    # -- what optimizers implement

    def _create_slots(self, var_list: list) -> None:
        """Make the variables that go with each variable."""

    def _prepare(self) -> None:
        """Make tensors of the settings."""

    def _finish(self, update_ops: list, name_scope: str) -> Any:
        """Return the operation of all updates."""
        return group_updates(update_ops)

    def _apply_dense(self, grad: object, var: object) -> Any:
        """Return the update of `var` by a gradient that is a tensor."""
        raise NotImplementedError(f"{type(self).__name__} implements no _apply_dense")

    def _apply_sparse(self, grad: IndexedSlices, var: object) -> Any:
        """Return the update of `var` by a gradient of rows, none of which is named twice."""
        raise NotImplementedError(f"{type(self).__name__} implements no _apply_sparse")

    def _resource_apply_dense(self, grad: object, handle: Variable) -> Any:
        return self._apply_dense(grad, handle)

    def _resource_apply_sparse(self, grad: Tensor, handle: object, indices: Tensor) -> Any:
        return self._apply_sparse(IndexedSlices(grad, indices, None), handle)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: object, indices: Tensor
    ) -> Any:
        """Return the update by rows, of which some may be named twice: these are added."""
        return self._resource_apply_sparse(sum_rows(grad, indices), handle, indices)

    def _valid_dtypes(self) -> set:
        return {float16, bfloat16, float32, float64}

    def _assert_valid_dtypes(self, tensors: Iterable) -> None:
        valid = self._valid_dtypes()
        for each in tensors:
            dtype = getattr(each, "dtype", None)
            if dtype is not None and dtype not in valid:
                names = sorted(kind.name for kind in valid)
                raise value_error(
                    "TW102", f"Invalid type {dtype!r} for {each.name}, expected: {names}."
                )

    # -- variables of its own

    def get_slot(self, var: object, name: str) -> Any:
        """Return the variable `name` that goes with `var`; None if there is none."""
        found = self._slots.get(name, {}).get(id(var))
        return None if found is None else found[1]

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots, sorted."""
        return sorted(self._slots)

    def variables(self) -> list:
        """Return all variables it made (of the graph in force), sorted by name."""
        graph = dispatch.context.base
        found = [own for own, _ in self._non_slots.values()]
        found += [slot for slots in self._slots.values() for _, slot in slots.values()]
        if graph is not None:
            table = getattr(graph, "table", None)
            found = [v for v in found if getattr(v, "table", table) is table]
        return sorted(found, key=lambda variable: variable.name)

    def _get_or_make_slot(self, var: object, val: object, slot_name: str, op_name: str) -> Any:
        return self._slot(var, slot_name, op_name, lambda: val)

    def _get_or_make_slot_with_initializer(
        self,
        var: Any,
        initializer: Any,
        shape: TensorShape,
        dtype: DType,
        slot_name: str,
        op_name: str,
    ) -> Any:
        return self._slot(var, slot_name, op_name, lambda: initializer(shape, dtype))

    def _zeros_slot(self, var: GraphVariable, slot_name: str, op_name: str) -> Any:
        return self._make_filled_slot(var, 0, slot_name, op_name)

    def _make_filled_slot(
        self, var: GraphVariable, value: float, slot_name: str, op_name: str
    ) -> Any:
        """Return a slot of the variable's shape and dtype with one number everywhere."""
        return self._slot(var, slot_name, op_name, lambda: fill_like(var, value))

    def _slot(self, var: object, slot_name: str, op_name: str, initial: Callable[[], Any]) -> Any:
        own = self._slots.setdefault(slot_name, {})
        found = own.get(id(var))
        if found is None:
            found = own[id(var)] = var, variable_beside(var, op_name, initial)
            for position in self._saved_slots.pop((slot_name, id(var)), ()):
                position.restore(found[1])
        return found[1]

    def _create_or_restore_slot_variable(
        self, slot_variable_position: Any, slot_name: str, variable: Any
    ) -> Any:
        """Return the slot variable that a checkpoint has a value for, made if need be.

        None in a graph where it is not made yet: then it gets its value when it is.
        """
        known = self.get_slot(variable, slot_name)
        if known is None and dispatch.context.base is None:
            return self._slot(variable, slot_name, self._name, slot_variable_position.value)
        if known is None:
            waiting = self._saved_slots.setdefault((slot_name, id(variable)), [])
            waiting.append(slot_variable_position)
        return known

    def _trackable_children(self, save_type: str = "checkpoint", **options: object) -> dict:
        """Return the variables that go with no single variable, of the graph in force."""
        key = id(getattr(outermost(dispatch.context.base), "table", None))
        return {name: own for (name, table), (own, _) in self._non_slots.items() if table == key}

    def _create_non_slot_variable(
        self, initial_value: float, name: str, colocate_with: GraphVariable
    ) -> Any:
        """Return a variable for all of a graph's variables, made once."""
        key = name, id(getattr(colocate_with, "table", None))
        found = self._non_slots.get(key)
        if found is None:
            with beside(colocate_with):
                own = Variable(initial_value, trainable=False, name=name)
            found = self._non_slots[key] = own, getattr(colocate_with, "table", None)
            self._child_arrived(name, own)
        return found[0]

    def _get_non_slot_variable(self, name: str, graph: Graph | None = None) -> Any:
        found = self._non_slots.get((name, id(getattr(graph, "table", None))))
        return None if found is None else found[0]

    def _call_if_callable(self, param: object) -> Any:
        """Return a setting, which may be a function of nothing."""
        return param() if callable(param) and not isinstance(param, (Tensor, Variable)) else param


@contextmanager
def _scope(name: str) -> Iterator[str]:
    """Enter a name scope of the graph in force; in eager mode only the name."""
    graph = dispatch.context.base
    if graph is None:
        yield name
        return
    with graph.name_scope(name) as scope:
        yield scope


def fill_like(variable: Any, value: float) -> Any:
    """Fill the shape and dtype of a variable with one number."""
    if not variable.shape.is_fully_defined():
        zeros = look_up("zeros_like")(variable)
        return zeros + value if value else zeros
    dims = variable.shape.as_tuple()
    return np.full(dims, value, variable.dtype.numpy_dtype)


def _ensure_ranks(gradient: IndexedSlices, variable: Any) -> tuple:
    """Set the ranks of a sparse gradient's values and indices, if only the variable tells them."""
    values, indices = gradient.values, gradient.indices
    if dims_or_none(indices) is None or dims_or_none(values) is None:
        rest = variable.shape.as_list()[1:] if variable.shape.rank else []
        return ensure_dims(values, shape=(None, *rest)), ensure_dims(indices, shape=(None,))
    return values, indices


def sum_rows(values: Tensor, indices: Tensor) -> Any:
    """Sum for each row all rows of the same index: equal indices get equal rows."""
    numbers = search.unique(indices, dtype=indices.dtype)[1]
    count = indices.dims[0]
    sums = indexing.scatter_rows(values, numbers, axis=0, batch_dims=0, rows=count)
    return indexing.gather(sums, numbers, axis=0, batch_dims=0)


def group_updates(updates: Iterable) -> Any:
    """Return an operation that does all updates; None in eager mode, where they are done."""
    base = dispatch.context.base
    if base is None:
        return None
    nodes = [
        base.control_node(update)
        for update in updates
        if isinstance(update, (Symbol, Operation, UnreadVariable))
    ]
    return group(*[base.symbol(node) for node in nodes if node is not None]).op


def together(updates: list) -> Any:
    """Return updates of one variable as one: a group if there are several."""
    return updates[0] if len(updates) == 1 else group_updates(updates)


def _after(update: Update) -> Any:
    """Return a context whose operations wait for an update."""
    base = dispatch.context.base
    return look_up("control_dependencies")([] if base is None else [update])


def _as_gradient(gradient: object) -> Any:
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(
            tensor(gradient.values), tensor(gradient.indices), gradient.dense_shape
        )
    try:
        return tensor(gradient)
    except (TypeError, ValueError):
        raise type_error(
            "TW104",
            f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {gradient}",
        ) from None


def _count_step(step: Operation, global_step: GraphVariable) -> Any:
    """Return the step, and behind it one more in `global_step`."""
    if step is None:
        global_step.assign_add(1)
        return None
    with dispatch.context.base.control_dependencies([step]):
        counted = global_step.assign_add(1, read_value=False)
    return group_updates([step]) if counted is None else counted


def _list_step(step: Operation | None, name: str) -> Any:
    """Return the step under its name, in the collection of such operations."""
    graph = dispatch.context.base
    if graph is not None and isinstance(step, Operation) and not graph.building_function:
        graph.label(step.node, name)
        look_up("compat.v1.add_to_collection")(TRAIN_OP, step)
    return step
