"""tf.compat.v1.train: the variable that counts training steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export, look_up
from talweg.compat_v1.graphs import default_graph
from talweg.compat_v1.initializers import Zeros
from talweg.compat_v1.variable_scopes import get_variable
from talweg.core import dispatch
from talweg.core.dtypes import int64
from talweg.core.errors import type_error, value_error
from talweg.eager.variable import VariableAggregation
from talweg.graph.collections import GLOBAL_VARIABLES

if TYPE_CHECKING:
    from talweg.compat_v1.sessions.session import Session
    from talweg.graph.graph import Graph

GLOBAL_STEP = "global_step"


@export("compat.v1.train.get_global_step")
@as_it_is
def get_global_step(graph: Graph | None = None) -> Any:
    """Return the global step of a graph (the default one): a variable; None if there is none.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     step = tf.train.get_or_create_global_step()
    ...     tf.train.get_global_step() is step
    True
    """
    graph = graph or default_graph()
    steps = graph.get_collection(GLOBAL_STEP)
    if not steps:
        names = [v for v in graph.get_collection(GLOBAL_VARIABLES) if v.name == "global_step:0"]
        steps = names
    if len(steps) != 1:
        return None
    assert_global_step(steps[0])
    return steps[0]


@export("compat.v1.train.create_global_step")
@as_it_is
def create_global_step(graph: Graph | None = None) -> Any:
    """Return a new global step, an int64 variable that begins at 0; ValueError if there is one.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     tf.train.create_global_step().name
    'global_step:0'
    """
    graph = graph or default_graph()
    if get_global_step(graph) is not None:
        raise value_error("TW401", '"global_step" already exists.')
    if dispatch.context.base is None:
        step = look_up("Variable")(
            0,
            dtype=int64,
            trainable=False,
            name=GLOBAL_STEP,
            aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
        )
        graph.add_to_collection(GLOBAL_STEP, step)
        return step
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GLOBAL_STEP,
            [],
            int64,
            Zeros(int64),
            trainable=False,
            aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
            collections=[GLOBAL_VARIABLES, GLOBAL_STEP],
        )


@export("compat.v1.train.get_or_create_global_step")
@as_it_is
def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """Return the global step of a graph, made if there is none."""
    graph = graph or default_graph()
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


@export("compat.v1.train.global_step")
@as_it_is
def global_step(sess: Session, global_step_tensor: Any) -> int:
    """Return the value of the global step in a session, an int.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     step = tf.train.create_global_step()
    ...     session.run(step.initializer)
    ...     tf.train.global_step(session, step)
    0
    """
    if sess is None:
        return int(global_step_tensor.numpy())
    return int(sess.run(global_step_tensor))


@export("compat.v1.train.assert_global_step")
@as_it_is
def assert_global_step(global_step_tensor: Any) -> None:
    """Raise TypeError unless it is an integer scalar variable or tensor."""
    step = global_step_tensor
    if not step.dtype.is_integer:
        raise type_error(
            "TW102", f'Existing "global_step" does not have integer type: {step.dtype}'
        )
    if step.shape.rank not in (0, None):
        raise type_error("TW203", f'Existing "global_step" is not scalar: {step.shape}')
