"""Contexts and helpers that matter inside graphs; in eager execution most of them do nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export
from talweg.core import dispatch, scope
from talweg.core.dtypes import float64
from talweg.core.errors import type_error, value_error
from talweg.core.value import Tensor
from talweg.eager.convert import CONVERTERS, convert_to_tensor
from talweg.eager.tensor import wrap
from talweg.graph import structure
from talweg.prims import state
from talweg.prims.arithmetic import identity
from talweg.trace.host_calls import numpy_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.dtypes import DType


@export("executing_eagerly")
def executing_eagerly() -> bool:
    """Return whether operations run at once.

    >>> import talweg as tf
    >>> tf.executing_eagerly()
    True
    """
    return dispatch.context.base is None


@export("inside_function")
def inside_function() -> bool:
    """Return whether a function is being traced, or a body of a branch or loop.

    Code that builds a `tf.Graph` is inside no function.

    >>> import talweg as tf
    >>> tf.inside_function()
    False
    """
    base = dispatch.context.base
    return base is not None and (base.building_function or hasattr(base, "outer"))


@export("name_scope")
class name_scope:
    """A context that puts its name and a slash before the names of variables made inside.

    name: a string; one that ends in a slash is taken as a whole, "" leaves all scopes.  ValueError
    for what is no string.

    >>> import talweg as tf
    >>> with tf.name_scope("layer"):
    ...     tf.Variable(1.0, name="w").name
    'layer/w:0'
    """

    def __init__(self, name: str):
        if not isinstance(name, str):
            raise value_error("TW104", f"name for name_scope must be a string, got {name!r}")
        self._name = name
        self._before: list[tuple] = []

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    def __enter__(self) -> str:
        graph = dispatch.context.base
        self._before.append((scope.current.prefix, graph, None if graph is None else graph.scope))
        if graph is not None:
            graph.scope = graph.inner_scope(self._name)
        if self._name.endswith("/") or not self._name:
            scope.current.prefix = self._name
        else:
            scope.current.prefix = f"{scope.current.prefix}{self._name}/"
        return scope.current.prefix if graph is None else graph.scope

    def __exit__(self, *error: object) -> None:
        scope.current.prefix, graph, prefix = self._before.pop()
        if graph is not None:
            graph.scope = prefix


@export("control_dependencies")
@contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """Return a context whose operations run after `control_inputs`; in eager execution they do
    anyway.

    control_inputs: operations, tensors, variables; functions among them are called.  In a graph
    None forgets those of outer blocks.

    >>> import talweg as tf
    >>> with tf.control_dependencies([tf.constant(1)]):
    ...     int(tf.constant(2))
    2
    """
    base = dispatch.context.base
    if base is not None:
        with base.control_dependencies(control_inputs):
            yield
        return
    for one in control_inputs or ():
        if callable(one):
            one()
    yield


@export("init_scope")
@contextmanager
def init_scope() -> Iterator[None]:
    """Return a context outside of any function that is being traced; name scopes stay in force.

    >>> import talweg as tf
    >>> with tf.init_scope():
    ...     tf.executing_eagerly()
    True
    """
    base, prefix = dispatch.context.base, scope.current.prefix
    outer = base
    while outer is not None and hasattr(outer, "outer"):
        outer = outer.outer
    inside = get_current_name_scope()
    dispatch.context.base, scope.current.prefix = outer, f"{inside}/" if inside else ""
    before = None if outer is None else outer.scope
    if outer is not None and outer is not base:
        outer.scope = scope.current.prefix
    try:
        with dispatch.only(()):
            yield
    finally:
        dispatch.context.base, scope.current.prefix = base, prefix
        if outer is not None:
            outer.scope = before


@export("no_op")
def no_op(name: str | None = None) -> Any:
    """Do nothing; in a graph it makes an operation that does nothing.

    >>> import talweg as tf
    >>> tf.no_op()
    """
    return None if dispatch.context.base is None else state.group().op


@export("group")
def group(*inputs: object, **kwargs: object) -> Any:
    """Group `inputs`: in a graph, into an operation that runs them; eager ones have run already.

    inputs: operations, tensors, variables and nests of these.  ValueError for keywords other than
    name, TypeError for other inputs.

    >>> import talweg as tf
    >>> tf.group(tf.constant(1), tf.constant(2))
    """
    kwargs.pop("name", None)
    if kwargs:
        raise value_error("TW104", f"group: unknown keyword arguments {sorted(kwargs)}")
    graph = dispatch.context.base
    if graph is None:
        return None
    nodes = _nodes_to_await(graph, structure.flatten(list(inputs)))
    return state.group(*[graph.symbol(node) for node in nodes]).op


def _nodes_to_await(graph: Any, items: list) -> list:
    """Return the nodes to wait for, each once."""
    for item in items:
        if item is None:
            raise type_error("TW104", "Expected Operation, Tensor, or Variable, got None")
    nodes = [graph.control_node(item) for item in items]
    return list(dict.fromkeys([node for node in nodes if node is not None]))


@export("tuple")
def tuple_(tensors: Any, control_inputs: Any = None, name: str | None = None) -> list[Any]:
    """Return `tensors` as a list; in a graph each of them is there when all are.

    control_inputs: what has to run besides.

    >>> import talweg as tf
    >>> tf.tuple([1, 2])
    [1, 2]
    """
    graph = dispatch.context.base
    if graph is None:
        return list(tensors)
    gates = [item for item in tensors if item is not None] + list(control_inputs or ())
    with graph.control_dependencies(None):
        waiting = _nodes_to_await(graph, gates)
    with graph.control_dependencies(waiting):
        return [None if item is None else _wait_for(item) for item in tensors]


def _wait_for(item: object) -> Any:
    if hasattr(item, "_flat_components"):
        return item._with_components([_wait_for(part) for part in item._flat_components()])
    return identity(convert_to_tensor(item))


@export("timestamp")
def timestamp(name: str | None = None) -> Tensor:
    """Return the seconds since 1970 began, as a float64 scalar.

    >>> import talweg as tf
    >>> bool(tf.timestamp() > 1e9)
    True
    """
    if dispatch.context.base is not None:
        now = numpy_call(time.time, [], [float64], False, "Timestamp", lambda clock, _: clock())
        now.set_shape([])
        return now
    return wrap(np.float64(time.time()))


@export("register_tensor_conversion_function")
def register_tensor_conversion_function(
    base_type: Any, conversion_func: object, priority: int = 100
) -> None:
    """Let values of `base_type` become tensors by conversion_func(value, dtype, name, as_ref).

    It may return NotImplemented.  base_type: a class or a tuple of classes.  TypeError if it is
    none or conversion_func cannot be called.  Functions of a lower priority number come first.

    >>> import talweg as tf
    >>> class Celsius:
    ...     degrees = 20.0
    >>> tf.register_tensor_conversion_function(
    ...     Celsius, lambda value, dtype=None, name=None, as_ref=False: tf.constant(value.degrees))
    >>> float(tf.convert_to_tensor(Celsius()))
    20.0
    """
    kinds = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(kind, type) for kind in kinds):
        raise type_error(
            "TW104", f"base_type must be a type or a tuple of types, got {base_type!r}"
        )
    if not callable(conversion_func):
        raise type_error("TW104", f"conversion_func must be callable, got {conversion_func!r}")

    def converter(value: object, dtype: DType) -> Any:
        converted = conversion_func(value, dtype=dtype, name=None, as_ref=False)
        return convert_to_tensor(converted, dtype)

    for kind in kinds:
        CONVERTERS.insert(0, (kind, converter))


@export("AggregationMethod")
class AggregationMethod:
    """Names TensorFlow 1's ways of summing gradients; accepted, there is one way here.

    >>> import talweg as tf
    >>> tf.AggregationMethod.ADD_N
    0
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


@export("get_current_name_scope")
def get_current_name_scope() -> str:
    """Return the name scopes in force, joined by slashes; "" outside of any.

    >>> import talweg as tf
    >>> with tf.name_scope("model"), tf.name_scope("layer"):
    ...     tf.get_current_name_scope()
    'model/layer'
    """
    graph = dispatch.context.base
    prefix = scope.current.prefix if graph is None else getattr(graph, "scope", "")
    return (prefix or "").rstrip("/")


@export("variable_creator_scope", "compat.v1.variable_creator_scope")
@contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Return a context in which variables are made by `variable_creator`.

    variable_creator: a function of `next_creator` and the keywords of `tf.Variable`.  It returns
    what takes the variable's place, as a rule `next_creator(**kwargs)` with other keywords.  Of
    nested scopes the innermost is asked first; its `next_creator` asks the one around it.

    >>> import talweg as tf
    >>> def frozen(next_creator, **kwargs):
    ...     kwargs["trainable"] = False
    ...     return next_creator(**kwargs)
    >>> with tf.variable_creator_scope(frozen):
    ...     v = tf.Variable(1.0)
    >>> v.trainable
    False
    """
    before = dispatch.context.creators
    dispatch.context.creators = (variable_creator, *before)
    try:
        yield
    finally:
        dispatch.context.creators = before
