"""Registrations of Keras 2 with TensorFlow when it is loaded, and its questions by private
names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from talweg.api.autograph import do_not_convert
from talweg.api.export import export, export_value, look_up
from talweg.api.scopes import get_current_name_scope
from talweg.core import dispatch
from talweg.core.errors import value_error
from talweg.core.tracking import Trackable
from talweg.eager.convert import convert_to_tensor
from talweg.trace.autograph import convert
from talweg.trace.autograph.status import status
from talweg.trace.function import Function

export_value(Function, "__internal__.function.Function")
REGISTERED: dict[str, Any] = {}


def _registers(what: str) -> Callable[[Any], Any]:
    def register(function: Callable[..., Any]) -> Any:
        """Keep a function of Keras that other parts of TensorFlow ask for."""
        REGISTERED[what] = function
        return function

    return register


register_call_context_function = export("__internal__.register_call_context_function")(
    _registers("call_context")
)
register_clear_session_function = export("__internal__.register_clear_session_function")(
    _registers("clear_session")
)
register_get_session_function = export("__internal__.register_get_session_function")(
    _registers("get_session")
)
register_load_model_function = export("__internal__.register_load_model_function")(
    _registers("load_model")
)
register_session_provider = export("__internal__.tracking.register_session_provider")(
    _registers("session_provider")
)


@export("__internal__.mixed_precision.register_loss_scale_wrapper")
def register_loss_scale_wrapper(
    optimizer_cls: type, wrapper_fn: Callable[..., Any], wrapper_cls: type | None = None
) -> None:
    """Say how an optimizer is wrapped by `tf.compat.v1.mixed_precision`'s rewrite."""
    REGISTERED.setdefault("loss_scale", {})[optimizer_cls] = (wrapper_fn, wrapper_cls)


class _MixedPrecision:
    """Whether a policy of Keras computes in 16 bits."""

    by_policy = False


@export("__internal__.train.set_using_mixed_precision_policy")
def set_using_mixed_precision_policy(is_using_mixed_precision: bool) -> None:
    """Say whether a policy of Keras computes in 16 bits."""
    _MixedPrecision.by_policy = is_using_mixed_precision


@export("__internal__.train.is_mixed_precision_graph_rewrite_enabled")
def is_mixed_precision_graph_rewrite_enabled() -> bool:
    """Return whether graphs are rewritten to compute in 16 bits: talweg has no such rewrite."""
    return False


@export("__internal__.train.assign_moving_average")
def assign_moving_average(
    variable: Any, value: object, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """Move a variable towards `value`: ``variable -= (variable - value) * (1 - decay)``.

    zero_debias: divide by ``1 - decay ** steps``, counted for the variable, so that the first
    values count fully.

    >>> import talweg as tf
    >>> v = tf.Variable(0.0)
    >>> _ = tf.__internal__.train.assign_moving_average(v, 4.0, 0.5, zero_debias=False)
    >>> float(v)
    2.0
    """
    value = convert_to_tensor(value, variable.dtype)
    kept = convert_to_tensor(decay, variable.dtype)
    if not zero_debias:
        return variable.assign_sub((variable - value) * (1 - kept))
    biased, steps = _debiasing(variable)
    biased.assign_sub((biased - value) * (1 - kept))
    steps.assign_add(1.0)
    return variable.assign(biased / (1 - kept ** look_up("cast")(steps, variable.dtype)))


def _debiasing(variable: Any) -> tuple:
    """Return the average that begins at zero, and the number of steps, of a variable."""
    found = getattr(variable, "_debiasing", None)
    if found is None:
        make, zeros = look_up("Variable"), look_up("zeros")
        with look_up("init_scope")():
            biased = make(zeros(variable.shape, variable.dtype), trainable=False, name="biased")
            found = biased, make(0.0, trainable=False, name="local_step")
        variable._debiasing = found
    return found


@export("__internal__.get_name_scope")
def get_name_scope() -> str:
    """Return the name scope in force, without the `/` at its end."""
    return get_current_name_scope()


@export("__internal__.load_context")
@contextmanager
def load_context(load_options: Any) -> Iterator[None]:
    """Return a block in which a model is loaded with these options."""
    before = REGISTERED.get("load_options")
    REGISTERED["load_options"] = load_options
    try:
        yield
    finally:
        REGISTERED["load_options"] = before


@export("__internal__.execute_fn_for_device")
def execute_fn_for_device(
    device_branch_fns: dict, default_fn: Callable[[], Any], name: str = "execute_fn"
) -> Any:
    """Return the result of the function for the device that is in force, CPU if none is."""
    device = str(dispatch.context.device or "CPU").upper()
    kinds = {kind.upper(): function for kind, function in device_branch_fns.items()}
    found = next((f for kind, f in kinds.items() if kind in device), default_fn)
    return found()


@export("__internal__.distribute.variable_sync_on_read_context")
@contextmanager
def variable_sync_on_read_context() -> Iterator[None]:
    """Open a block in which replicas read the common value of a variable."""
    yield


class ControlStatus:
    """Whether code is converted by AutoGraph where this was asked for."""

    def __init__(self, converting: bool | None):
        self.converting = converting


@export("__internal__.autograph.control_status_ctx")
def control_status_ctx() -> ControlStatus:
    """Return whether code is converted here."""
    return ControlStatus(status.converting)


@export("__internal__.autograph.tf_convert")
def tf_convert(
    f: Callable[..., Any],
    ctx: ControlStatus,
    convert_by_default: bool = True,
    user_requested: bool = False,
) -> Any:
    """Return `f`, converted by AutoGraph where the code that asked for `ctx` is.

    >>> import talweg as tf
    >>> internal = tf.__internal__.autograph
    >>> internal.tf_convert(len, internal.control_status_ctx())([1, 2])
    2
    """
    if ctx.converting is None:
        return convert.convert_function(f) if convert_by_default else f
    return convert.convert_function(f) if ctx.converting else do_not_convert(f)


@export("__internal__.ops.is_resource_variable")
def is_resource_variable(var: Any) -> bool:
    """Return whether something is a variable."""
    return isinstance(var, look_up("Variable"))


@export("__internal__.ops.broadcast_weights")
def broadcast_weights(weights: Any, values: Any) -> Any:
    """Return `weights` in the shape of `values`; ValueError or InvalidArgumentError if they do not
    fit.

    weights: a scalar, or of the rank of `values` with each size 1 or equal.

    >>> import talweg as tf
    >>> tf.__internal__.ops.broadcast_weights([[2.0], [3.0]], tf.ones([2, 2])).numpy().tolist()
    [[2.0, 2.0], [3.0, 3.0]]
    """
    values = convert_to_tensor(values)
    weights = convert_to_tensor(weights, dtype_hint=values.dtype)
    if weights.shape.is_fully_defined() and weights.shape == values.shape:
        return weights
    rank, wanted = weights.shape.rank, values.shape.rank
    pairs = zip(weights.shape.as_list() if rank else (), values.shape.as_list() if wanted else ())
    if None not in (rank, wanted) and (
        rank not in (0, wanted) or any(a not in (1, b, None) and b is not None for a, b in pairs)
    ):
        raise value_error(
            "TW203",
            "weights can not be broadcast to values. values.rank="
            f"{wanted}. weights.rank={rank}. values.shape={values.shape}. "
            f"weights.shape={weights.shape}.",
        )
    return look_up("multiply")(weights, look_up("ones_like")(values, dtype=weights.dtype))


@export("__internal__.tracking.DelegatingTrackableMixin")
class DelegatingTrackableMixin(Trackable):
    """An object whose children and values are those of another object."""

    def __init__(self, trackable_obj: Any):
        self._trackable = trackable_obj

    def _trackable_children(self, save_type: str = "checkpoint", **options: object) -> dict:
        return self._trackable._trackable_children(save_type, **options)

    def _lookup_dependency(self, name: str, cached: dict | None = None) -> Any:
        return self._trackable._lookup_dependency(name, cached)

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
        return self._trackable._track_trackable(trackable, name, overwrite)

    def _handle_deferred_dependencies(self, name: str, trackable: Any) -> None:
        self._trackable._handle_deferred_dependencies(name, trackable)
