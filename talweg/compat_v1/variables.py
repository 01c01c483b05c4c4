"""tf.compat.v1: Variable with TensorFlow 1's arguments, lists of variables, initializing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.compat_v1.graphs import default_graph
from talweg.compat_v1.modes import is_resource
from talweg.compat_v1.partitions import SaveSliceInfo
from talweg.core import dispatch
from talweg.core.errors import compose, type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.graph_variable import GraphVariable, UnreadVariable, variable_class
from talweg.eager.variable import Variable, VariableAggregation, VariableSynchronization
from talweg.graph.collections import GLOBAL_VARIABLES, TRAINABLE_VARIABLES
from talweg.prims.arithmetic import logical_not
from talweg.prims.state import group

if TYPE_CHECKING:
    from typing import Self

    from talweg.core.annotations import DTypeLike, ShapeLike


LOCAL_VARIABLES, MODEL_VARIABLES = "local_variables", "model_variables"
MOVING_AVERAGE_VARIABLES, TABLE_INITIALIZERS = "moving_average_variables", "table_initializer"


def in_a_graph() -> bool:
    """Return whether a variable made now is one of a graph:
    also inside of a function of that graph.
    """
    base = dispatch.context.base
    return base is not None and variable_class(base) is GraphVariable


class _VariableMaker(type):
    """Makes the variable that fits where it is made; all variables are instances.

    What `assign` returns is one of `tf.Variable` only, as in TensorFlow.
    """

    def __call__(
        cls,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: str | Callable[..., Any] | None = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        expected_shape: Any = None,
        import_scope: Any = None,
        constraint: Callable[[Any], Any] | None = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: ShapeLike | None = None,
        experimental_enable_variable_lifting: bool | None = None,
    ) -> Any:
        if variable_def is not None:
            if initial_value is not None:
                text = "variable_def and initial_value are mutually exclusive."
                raise value_error("TW401", text, "one of them")
            return VariableV1.from_proto(variable_def, import_scope)
        in_graph = {"collections": collections, "use_resource": is_resource(use_resource)}
        return Variable(
            initial_value,
            trainable,
            validate_shape,
            caching_device,
            name,
            None,
            dtype,
            import_scope,
            constraint,
            synchronization,
            aggregation,
            shape,
            **(in_graph if in_a_graph() else {}),
        )

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Variable) and not isinstance(instance, UnreadVariable)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, Variable)


if TYPE_CHECKING:  # instances are variables of other classes, with everything that these have

    class _Made(Variable):
        def __new__(cls, *args: object, **kwargs: object) -> Self: ...

        def __init__(
            self,
            initial_value: Any = None,
            trainable: bool | None = None,
            collections: Sequence[str] | None = None,
            validate_shape: bool = True,
            caching_device: str | Callable[..., Any] | None = None,
            name: str | None = None,
            variable_def: Any = None,
            dtype: DTypeLike | None = None,
            expected_shape: Any = None,
            import_scope: Any = None,
            constraint: Callable[[Any], Any] | None = None,
            use_resource: bool | None = None,
            synchronization: VariableSynchronization = VariableSynchronization.AUTO,
            aggregation: VariableAggregation = VariableAggregation.NONE,
            shape: ShapeLike | None = None,
            experimental_enable_variable_lifting: bool | None = None,
        ) -> None: ...

else:

    class _Made(metaclass=_VariableMaker):
        pass


@export("compat.v1.Variable")
class VariableV1(_Made):
    """A variable; in a graph its values belong to sessions, and it must be initialized first.

    initial_value: anything convertible, or a function of nothing.  trainable: whether it is in the
    collection TRAINABLE_VARIABLES (True if None).  collections: where it is listed, the global
    variables if None.  validate_shape: False lets later values have other shapes.  dtype: the
    initial value is converted to it.  constraint: a function an optimizer applies after an update.
    caching_device, expected_shape and import_scope are accepted.  use_resource: False lets `assign`
    and the like return a tensor, else they return a variable; None: as
    `resource_variables_enabled` says.
    ValueError without an initial value.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     v = tf.Variable([1.0, 2.0], name="v")
    ...     session.run(v.initializer)
    ...     session.run(v.assign_add([1.0, 1.0]))
    array([2., 3.], dtype=float32)
    """

    SaveSliceInfo = SaveSliceInfo

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Any:
        """Find the variable of the default graph that a VariableDef names, below `import_scope`.

        KeyError for names that the graph does not have; RuntimeError in eager mode.

        >>> import talweg.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     with tf.variable_scope("a"):
        ...         v = tf.get_variable("v", initializer=[1.0, 2.0])
        ...     tf.Variable.from_proto(v.to_proto("a"), "a").name
        'a/v:0'
        """
        if not in_a_graph():
            text = "Variable.from_proto is not supported when eager execution is enabled."
            raise RuntimeError(compose("TW402", text, hint="inside of a tf.Graph"))
        return hooks.variable_from_proto(variable_def, import_scope)


# -- lists


@export("compat.v1.global_variables")
@as_it_is
def global_variables(scope: str | None = None) -> list[Any]:
    """Return the global variables, which sessions share and a saver saves.

    scope: a regular expression with which their names begin.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     v = tf.get_variable("v", [1])
    ...     tf.global_variables() == [v]
    True
    """
    return default_graph().get_collection(GLOBAL_VARIABLES, scope)


@export("compat.v1.all_variables")
@as_it_is
def all_variables() -> list[Any]:
    """Call `global_variables`, which had this name first."""
    return global_variables()


@export("compat.v1.local_variables")
@as_it_is
def local_variables(scope: str | None = None) -> list[Any]:
    """Return the local variables, which are not saved; scope as in `global_variables`."""
    return default_graph().get_collection(LOCAL_VARIABLES, scope)


@export("compat.v1.trainable_variables")
@as_it_is
def trainable_variables(scope: str | None = None) -> list[Any]:
    """Return the variables that optimizers change; scope as in `global_variables`."""
    return default_graph().get_collection(TRAINABLE_VARIABLES, scope)


@export("compat.v1.model_variables")
@as_it_is
def model_variables(scope: str | None = None) -> list[Any]:
    """Return the variables of the collection MODEL_VARIABLES; scope as in `global_variables`."""
    return default_graph().get_collection(MODEL_VARIABLES, scope)


@export("compat.v1.moving_average_variables")
@as_it_is
def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Return the variables that moving averages are kept of; scope as in `global_variables`."""
    return default_graph().get_collection(MOVING_AVERAGE_VARIABLES, scope)


# -- initializing


@export("compat.v1.variables_initializer", "compat.v1.initializers.variables")
@as_it_is
def variables_initializer(var_list: Any, name: str = "init") -> Any:
    """Return an operation that gives the variables of a list their first values.

    The same list of variables gives the same operation.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     v = tf.get_variable("v", [1])
    ...     tf.variables_initializer([v]) == tf.variables_initializer([v])
    True
    """
    if dispatch.context.base is None:
        return None
    graph = default_graph()
    for v in var_list or ():
        if getattr(v, "initializer", None) is None:
            text = f"variables_initializer: var_list has {v!r}, which has no initializer"
            raise type_error("TW104", text, "variables of the graph")
    nodes = dict.fromkeys([v.initializer.node for v in var_list or ()])
    with graph.as_default(), graph.control_dependencies(None):
        made = group(*[graph.symbol(node) for node in nodes])
        graph.label(made.node, name)
        return made.op


@export("compat.v1.global_variables_initializer", "compat.v1.initializers.global_variables")
@as_it_is
def global_variables_initializer() -> Any:
    """Return an operation that gives all global variables their first values; None in eager mode.

    Asked for again with the same variables it is the same operation.  RuntimeError in a finalized
    graph if it was not asked for before.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     v = tf.get_variable("v", [], initializer=tf.ones_initializer())
    ...     session.run(tf.global_variables_initializer())
    ...     session.run(v)
    np.float32(1.0)
    """
    return variables_initializer(global_variables())


@export("compat.v1.initialize_variables")
@as_it_is
def initialize_variables(var_list: Any, name: str = "init") -> Any:
    """Call `variables_initializer`, which had this name first."""
    return variables_initializer(var_list, name)


@export("compat.v1.local_variables_initializer", "compat.v1.initializers.local_variables")
@as_it_is
def local_variables_initializer() -> Any:
    """Return an operation that gives all local variables their first values."""
    return variables_initializer(local_variables())


@export("compat.v1.initialize_local_variables")
@as_it_is
def initialize_local_variables() -> Any:
    """Call `local_variables_initializer`, which had this name first."""
    return local_variables_initializer()


@export("compat.v1.initialize_all_variables")
@as_it_is
def initialize_all_variables() -> Any:
    """Call `global_variables_initializer`, which had this name first."""
    return global_variables_initializer()


@export("compat.v1.tables_initializer", "compat.v1.initializers.tables_initializer")
@as_it_is
def tables_initializer(name: str = "init_all_tables") -> Any:
    """Return an operation that fills the look-up tables of the graph.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     session.run(tf.tables_initializer())
    """
    if dispatch.context.base is None:
        return None
    graph = default_graph()
    found = graph.get_collection(TABLE_INITIALIZERS)
    with graph.as_default(), graph.control_dependencies(None):
        made = group(*[graph.symbol(item.node) for item in found])
        graph.label(made.node, name)
        return made.op


@export("compat.v1.initialize_all_tables")
@as_it_is
def initialize_all_tables(name: str = "init_all_tables") -> Any:
    """Call `tables_initializer`, which had this name first."""
    return tables_initializer(name)


@export("compat.v1.is_variable_initialized")
def is_variable_initialized(variable: Any) -> Tensor:
    """Return whether a variable has a value, a boolean scalar.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     v = tf.get_variable("v", [1])
    ...     bool(session.run(tf.is_variable_initialized(v)))
    False
    """
    return variable.is_initialized()


def _as_list(var_list: Any) -> list:
    return global_variables() + local_variables() if var_list is None else list(var_list)


@export("compat.v1.report_uninitialized_variables")
@as_it_is
def report_uninitialized_variables(
    var_list: Any = None, name: str = "report_uninitialized_variables"
) -> Any:
    """Return the names of those variables (global and local ones if None) that have no value, a
    vector.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     v = tf.get_variable("v", [1])
    ...     session.run(tf.report_uninitialized_variables())
    array([b'v'], dtype=object)
    """
    variables = _as_list(var_list)
    names = np.array([v.name.split(":")[0].encode() for v in variables], object)
    if not variables:
        graph = dispatch.context.base
        empty = convert_to_tensor(np.array([], object))
        return empty if graph is None or hasattr(empty, "node") else graph.bring_in(empty)
    flags = [logical_not(v.is_initialized()) for v in variables]
    return hooks.boolean_mask(convert_to_tensor(names), hooks.stack(flags))


@export("compat.v1.assert_variables_initialized")
@as_it_is
def assert_variables_initialized(var_list: Any = None) -> Any:
    """Return an operation that fails with FailedPreconditionError if a variable has no value.

    None if there are no variables.  var_list: the global and local ones if None.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     v = tf.get_variable("v", [1])
    ...     check = tf.assert_variables_initialized()
    ...     session.run(tf.global_variables_initializer())
    ...     session.run(check)
    """
    variables = [v for v in _as_list(var_list) if isinstance(v, GraphVariable)]
    if not variables:
        return None
    graph = default_graph()
    with graph.as_default(), graph.control_dependencies(None):
        return group(*[v.read_value() for v in variables]).op
