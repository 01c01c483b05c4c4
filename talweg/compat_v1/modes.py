"""tf.compat.v1: graphs or eager execution as the way of the whole process; switches without effect.

With `disable_eager_execution` operations go to a graph wherever none is entered; each thread has a
graph of its own.  What the other switches choose between is the same here: variables are resources,
control flow is functional.
"""

from __future__ import annotations

from talweg.api.export import export
from talweg.compat_v1 import graphs
from talweg.core import dispatch
from talweg.core.errors import compose

Context = dispatch.Context


@export("compat.v1.disable_eager_execution")
def disable_eager_execution() -> None:
    """Let operations go to a graph wherever none is entered, in every thread.

    Inside a graph's block this has its effect after the block.

    >>> import talweg.compat.v1 as tf
    >>> tf.disable_eager_execution()
    >>> tf.executing_eagerly()
    False
    >>> tf.reset_default_graph()
    >>> tf.enable_eager_execution()
    """
    if Context.first_base is not None:
        return
    Context.first_base = graphs.new_bottom
    dispatch.enter()
    if dispatch.context.base is None:
        dispatch.context.base = graphs.default_graph()


@export("compat.v1.enable_eager_execution")
def enable_eager_execution(
    config: object = None, device_policy: object = None, execution_mode: object = None
) -> None:
    """Let operations run at once where no graph is entered, as they do from the start.

    ValueError if the default graph has operations already.  The arguments are accepted.
    """
    if Context.first_base is None:
        return
    base = dispatch.context.base
    if base is not None and base.stats()["live"]:
        raise ValueError(
            compose(
                "TW501",
                "tf.enable_eager_execution must be called at program startup.",
                hint="tf.reset_default_graph() before it",
            )
        )
    Context.first_base = None
    dispatch.leave()
    dispatch.context.base = None


@export("compat.v1.executing_eagerly_outside_functions")
def executing_eagerly_outside_functions() -> bool:
    """Return whether operations run at once where no function is being traced.

    >>> import talweg.compat.v1 as tf
    >>> tf.executing_eagerly_outside_functions()
    True
    """
    base = dispatch.context.base
    while base is not None and base.building_function:
        base = base.outer
    return base is None


@export("compat.v1.disable_v2_behavior")
def disable_v2_behavior() -> None:
    """Call `disable_eager_execution` and `disable_resource_variables`."""
    disable_eager_execution()
    disable_resource_variables()


@export("compat.v1.enable_v2_behavior")
def enable_v2_behavior() -> None:
    """Call `enable_eager_execution` and `enable_resource_variables`."""
    enable_eager_execution()
    enable_resource_variables()


class _ModeSwitches:
    """Holds the settings of the functions below."""

    resource_variables = True
    control_flow_v2 = True
    tensor_equality = True


@export("compat.v1.enable_resource_variables")
def enable_resource_variables() -> None:
    """Let variables made without `use_resource` be resource variables from now on.

    What `assign` of these returns in a graph is a variable, too; of the others it is a tensor.
    """
    _ModeSwitches.resource_variables = True


@export("compat.v1.disable_resource_variables")
def disable_resource_variables() -> None:
    """Let variables made without `use_resource` be reference variables from now on."""
    _ModeSwitches.resource_variables = False


def is_resource(use_resource: bool | None) -> bool:
    """Return whether a variable made with this `use_resource` is a resource variable."""
    return _ModeSwitches.resource_variables if use_resource is None else bool(use_resource)


@export("compat.v1.resource_variables_enabled")
def resource_variables_enabled() -> bool:
    """Return whether variables made without `use_resource` are resource variables.

    >>> import talweg.compat.v1 as tf
    >>> tf.resource_variables_enabled()
    True
    """
    return _ModeSwitches.resource_variables


@export("compat.v1.enable_control_flow_v2")
def enable_control_flow_v2() -> None:
    """Keep the flag for `control_flow_v2_enabled`; control flow is functional in any case."""
    _ModeSwitches.control_flow_v2 = True


@export("compat.v1.disable_control_flow_v2")
def disable_control_flow_v2() -> None:
    """Keep the flag for `control_flow_v2_enabled`; control flow is functional in any case."""
    _ModeSwitches.control_flow_v2 = False


@export("compat.v1.control_flow_v2_enabled")
def control_flow_v2_enabled() -> bool:
    """Return the setting of `enable_control_flow_v2` and its opposite.

    >>> import talweg.compat.v1 as tf
    >>> tf.control_flow_v2_enabled()
    True
    """
    return _ModeSwitches.control_flow_v2


@export("compat.v1.enable_v2_tensorshape")
def enable_v2_tensorshape() -> None:
    """Do nothing: the dimensions of a TensorShape are ints and None in any case."""


@export("compat.v1.disable_v2_tensorshape")
def disable_v2_tensorshape() -> None:
    """Do nothing: the dimensions of a TensorShape are ints and None in any case.

    What older programs ask of them works where sizes are read with `dimension_value`.
    """


@export("compat.v1.enable_tensor_equality")
def enable_tensor_equality() -> None:
    """Keep the setting: eager tensors compare their elements, those of a `tf.Graph` their
    identity.
    """
    _ModeSwitches.tensor_equality = True


@export("compat.v1.disable_tensor_equality")
def disable_tensor_equality() -> None:
    """Keep the setting: eager tensors compare their elements, those of a `tf.Graph` their
    identity.
    """
    _ModeSwitches.tensor_equality = False
