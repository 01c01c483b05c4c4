"""tf.saved_model.SaveOptions and LoadOptions."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.core.errors import type_error, value_error

if TYPE_CHECKING:
    pass


@export(
    "saved_model.experimental.VariablePolicy", "compat.v1.saved_model.experimental.VariablePolicy"
)
class VariablePolicy(enum.Enum):
    """Names the ways of saving the devices of variables.

    >>> import talweg as tf
    >>> tf.saved_model.experimental.VariablePolicy.SAVE_VARIABLE_DEVICES.value
    'save_variable_devices'
    """

    NONE = None
    SAVE_VARIABLE_DEVICES = "save_variable_devices"
    EXPAND_DISTRIBUTED_VARIABLES = "expand_distributed_variables"

    @staticmethod
    def from_obj(obj: object) -> VariablePolicy:
        """Return the policy that `obj` (a policy, its value, or None) stands for; ValueError if
        none."""
        if obj is None:
            return VariablePolicy.NONE
        if isinstance(obj, VariablePolicy):
            return obj
        text = str(obj).lower()
        for policy in VariablePolicy:
            if policy.value == text:
                return policy
        raise value_error("TW509", f"Received invalid VariablePolicy value: {obj}.")


@export("saved_model.SaveOptions", "compat.v1.saved_model.SaveOptions")
class SaveOptions:
    """Options of `tf.saved_model.save`.

    namespace_whitelist: namespaces of operations of other packages: none are known here, so that
    anything but an empty list changes nothing.  function_aliases: names -> functions.
    experimental_skip_saver: leave out the operations by which sessions restore variables.
    extra_tags: tags beside "serve".  The others are accepted.

    >>> import talweg as tf
    >>> tf.saved_model.SaveOptions(function_aliases={"f": tf.function(lambda x: x)}).extra_tags
    """

    def __init__(
        self,
        namespace_whitelist: Sequence[str] | None = None,
        save_debug_info: bool = False,
        function_aliases: dict | None = None,
        experimental_debug_stripper: bool = False,
        experimental_io_device: str | None = None,
        experimental_variable_policy: object = None,
        experimental_custom_gradients: bool = True,
        experimental_image_format: bool = False,
        experimental_skip_saver: bool = False,
        experimental_sharding_callback: Callable[..., Any] | None = None,
        extra_tags: Sequence[str] | None = None,
    ):
        self.namespace_whitelist = _check_namespaces(namespace_whitelist)
        self.save_debug_info = save_debug_info
        self.function_aliases = function_aliases or {}
        self.experimental_debug_stripper = experimental_debug_stripper
        self.experimental_io_device = experimental_io_device
        self.experimental_variable_policy = VariablePolicy.from_obj(experimental_variable_policy)
        self.experimental_custom_gradients = experimental_custom_gradients
        self.experimental_image_format = experimental_image_format
        self.experimental_skip_saver = experimental_skip_saver
        self.experimental_sharding_callback = experimental_sharding_callback
        self.extra_tags = extra_tags


def _check_namespaces(names: object) -> list[str]:
    if names is None:
        return []
    if not isinstance(names, list):
        raise type_error(
            "TW104",
            f"`namespace_whitelist` must be a list of strings. Got: {names} "
            f"with type {type(names)}.",
        )
    for name in names:
        if not isinstance(name, str):
            raise value_error(
                "TW104",
                f"Whitelisted namespace must be a string. Got: {name} of type {type(name)}.",
            )
    return names


@export("saved_model.LoadOptions")
class LoadOptions:
    """Options of `tf.saved_model.load`.

    allow_partial_checkpoint: variables may be missing among the saved values.
    experimental_skip_checkpoint: leave variables without their saved values (they are zeros).
    experimental_load_function_aliases: give the loaded object `function_aliases`.

    >>> import talweg as tf
    >>> tf.saved_model.LoadOptions(allow_partial_checkpoint=True).allow_partial_checkpoint
    True
    """

    def __init__(
        self,
        allow_partial_checkpoint: bool = False,
        experimental_io_device: str | None = None,
        experimental_skip_checkpoint: bool = False,
        experimental_variable_policy: object = None,
        experimental_load_function_aliases: bool = False,
    ):
        self.allow_partial_checkpoint = allow_partial_checkpoint
        self.experimental_io_device = experimental_io_device
        self.experimental_skip_checkpoint = experimental_skip_checkpoint
        self.experimental_variable_policy = VariablePolicy.from_obj(experimental_variable_policy)
        self.experimental_load_function_aliases = experimental_load_function_aliases
