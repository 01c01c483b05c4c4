"""Operations that a saved model of TensorFlow 1 runs when it is loaded."""

from __future__ import annotations

from typing import Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export, look_up
from talweg.compat_v1.graphs import default_graph


@export("compat.v1.saved_model.main_op.main_op")
@as_it_is
def main_op() -> Any:
    """Return an operation that initializes all variables and tables of the default graph.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     v = tf.get_variable("v", initializer=2.0)
    ...     session.run(tf.saved_model.main_op.main_op())
    ...     float(session.run(v))
    2.0
    """
    names = ("global_variables_initializer", "local_variables_initializer", "tables_initializer")
    return look_up("group")(*[look_up(f"compat.v1.{name}")() for name in names])


@export(
    "compat.v1.saved_model.main_op_with_restore",
    "compat.v1.saved_model.main_op.main_op_with_restore",
)
@as_it_is
def main_op_with_restore(restore_op_name: str) -> Any:
    """Call `main_op`, and then the operation of this name.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     v = tf.get_variable("v", initializer=2.0)
    ...     change = tf.assign(v, 3.0, name="change")
    ...     session.run(tf.saved_model.main_op_with_restore("change"))
    ...     float(session.run(v))
    3.0
    """
    graph = default_graph()
    operation = graph.get_operation_by_name(restore_op_name)
    with graph.control_dependencies([main_op()]):
        return look_up("group")(operation)
