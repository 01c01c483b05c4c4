"""tf.compat.v1: the default graph, its scopes and collections."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from talweg.api import scopes
from talweg.api.device import device as eager_device
from talweg.api.export import export, implement_hook
from talweg.core import dispatch
from talweg.core.errors import compose, type_error, value_error
from talweg.core.thread_context import carry_context
from talweg.eager import graph_operators, graph_variable, operators
from talweg.graph.graph import Graph
from talweg.graph.operation import Operation
from talweg.graph.symbol import Symbol
from talweg.prims import checking
from talweg.prims.state import group
from talweg.trace import control_rules, opaque_calls, paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import TensorLike

export("Graph")(Graph)
export("Operation")(Operation)
IN_FORCE = (
    graph_operators,
    operators,
    graph_variable,
    opaque_calls,
    control_rules,
    paths,
)  # imported for what they register


class _Bottom(threading.local):
    """The graph in force where none was entered; each thread has its own."""

    graph: Any = None


_bottom = carry_context(_Bottom())


@export("compat.v1.get_default_graph")
def get_default_graph() -> Any:
    """Return the graph operations go to: the one entered last, or this thread's own, made on first
    use; that of the function while one is traced.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default() as graph:
    ...     tf.get_default_graph() is graph
    True
    """
    base = dispatch.context.base
    return default_graph() if base is None else base


@implement_hook("default_graph")
def default_graph() -> Any:
    """Return the graph entered last outside of functions,
    or this thread's own, made on first use.
    """
    base = dispatch.context.base
    while base is not None and base.building_function:
        base = base.outer
    if base is not None:
        return base
    if _bottom.graph is None:
        _bottom.graph = Graph()
    return _bottom.graph


def new_bottom() -> Graph:
    """Return a fresh graph for where none is entered in this thread."""
    _bottom.graph = Graph()
    return _bottom.graph


@export("compat.v1.reset_default_graph")
def reset_default_graph() -> None:
    """Let go of this thread's own graph and begin another; AssertionError inside a graph's block.

    >>> import talweg.compat.v1 as tf
    >>> before = tf.get_default_graph()
    >>> tf.reset_default_graph()
    >>> tf.get_default_graph() is before
    False
    """
    base = dispatch.context.base
    if base is not None and base is not _bottom.graph:
        raise AssertionError(
            compose(
                "TW501",
                "Do not use tf.reset_default_graph() to clear nested graphs.",
                hint="leave the block of the graph, or make a new tf.Graph()",
            )
        )
    _bottom.graph = None
    if base is not None:
        dispatch.context.base = new_bottom()


# -- scopes


@export("compat.v1.name_scope")
class name_scope:
    """Puts a name and a slash before the names of operations made inside.

    name: None for `default_name`; one that ends in a slash is entered again as it is, "" leaves all
    scopes.  A name in use gets a number.  Entering gives the whole prefix.  `values` is accepted.
    TypeError for what is no string or if all is None, ValueError for other characters than letters,
    digits and ``_.\\/>-``.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.name_scope("layer") as scope:
    ...     scope, tf.placeholder(tf.float32, name="x").name
    ('layer/', 'layer/x:0')
    """

    def __init__(
        self, name: str | None, default_name: str | None = None, values: TensorLike | None = None
    ):
        for given in (name, default_name):
            if given is not None and not isinstance(given, str):
                raise type_error(
                    "TW104", f"name_scope: {given!r} of type {type(given)}", "a string"
                )
        if name is None and default_name is None and values is not None:
            raise value_error(
                "TW104",
                f"At least one of name ({name}) and default_name ({default_name}) should be given "
                "where there are values",
            )
        self._name = default_name if name is None else name
        self._entered: list = []

    @property
    def name(self) -> Any:
        """The name."""
        return self._name

    def __enter__(self) -> str:
        context = scopes.name_scope(self._name or "")
        found = context.__enter__()
        self._entered.append(context)
        return found

    def __exit__(self, *error: object) -> None:
        self._entered.pop().__exit__(*error)


@export("compat.v1.op_scope")
@contextmanager
def op_scope(values: TensorLike, name: str, default_name: str | None = None) -> Iterator[Any]:
    """Call `name_scope` with its arguments in another order."""
    with name_scope(name, default_name, values) as scope:
        yield scope


@export("compat.v1.device")
@contextmanager
def device(device_name_or_function: object) -> Iterator[None]:
    """Return a context whose operations note a device (`Operation.device`); all run on the CPU.

    A string, a function of the operation, or None, which forgets the devices of outer blocks.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.device("/cpu:0"):
    ...     tf.placeholder(tf.float32).device
    '/device:CPU:0'
    """
    base = dispatch.context.base
    if base is None:
        with eager_device(device_name_or_function):
            yield
        return
    with base.device(device_name_or_function):
        yield


@export("compat.v1.colocate_with")
@contextmanager
def colocate_with(op: str, ignore_existing: bool = False) -> Iterator[None]:
    """Do nothing; everything is on one device."""
    yield


@export("compat.v1.container")
@contextmanager
def container(container_name: str) -> Iterator[str]:
    """Do nothing; a session keeps the values of all its variables itself."""
    yield container_name


@export("compat.v1.control_dependencies")
@contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """Return a context whose operations run after `control_inputs`: operations, tensors, variables.

    None forgets those of outer blocks.  TypeError for other things, ValueError for those of another
    graph.  Without a graph in force nothing is done.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     a = tf.placeholder(tf.float32, name="a")
    ...     with tf.control_dependencies([a]):
    ...         [op.name for op in tf.constant(2.0).op.control_inputs]
    ['a']
    """
    base = dispatch.context.base
    if base is None:
        with scopes.control_dependencies(control_inputs):
            yield
        return
    with base.control_dependencies(control_inputs):
        yield


# -- collections


@export("compat.v1.GraphKeys")
class GraphKeys:
    """Names of the collections that functions fill and read."""

    GLOBAL_VARIABLES = "variables"
    VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"


@export("compat.v1.add_to_collection")
def add_to_collection(name: str, value: TensorLike) -> None:
    """Put `value` at the end of a collection of the default graph.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.add_to_collection("losses", 1.0)
    ...     tf.get_collection("losses")
    [1.0]
    """
    default_graph().add_to_collection(name, value)


@export("compat.v1.add_to_collections")
def add_to_collections(names: Sequence[str], value: TensorLike) -> None:
    """Put `value` into several collections of the default graph."""
    default_graph().add_to_collections(names, value)


@export("compat.v1.get_collection")
def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """List the members of a collection of the default graph; see `Graph.get_collection`."""
    return default_graph().get_collection(key, scope)


@export("compat.v1.get_collection_ref")
def get_collection_ref(key: str) -> Any:
    """Return a collection of the default graph itself, to be changed."""
    return default_graph().get_collection_ref(key)


# -- operations on all of a graph


@export("compat.v1.add_check_numerics_ops")
def add_check_numerics_ops() -> Any:
    """Return an operation that raises InvalidArgumentError if any tensor made so far is not finite.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     y = tf.log(tf.constant(2.0))
    ...     session.run(tf.add_check_numerics_ops())
    """
    graph = default_graph()
    checks = []
    for made in graph.get_operations():
        for tensor in made.outputs:
            if type(tensor) is Symbol and tensor.dtype.is_floating:
                checks.append(checking.check_numerics(tensor, message=tensor.name))
    with graph.as_default():
        return group(*checks).op
