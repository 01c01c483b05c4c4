"""`tensorflow.python.eager.context`: the context that runs operations, as far as libraries use
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.device import DeviceSpec
from talweg.api.export import look_up
from talweg.core import dispatch
from talweg.core.lazy import LazyModule
from talweg.eager.randomness import global_seed

if TYPE_CHECKING:
    from talweg.api import config
else:
    config = LazyModule("talweg.api.config")

__all__ = ["global_seed"]


def async_wait() -> None:
    """Wait for work that was begun: nothing is deferred here."""


class EagerContext:
    """Describes the devices and the mode of execution, as `context()` gives them."""

    def clear_kernel_cache(self) -> None:
        """Forget prepared kernels: there are none, an operation is a call of NumPy."""

    def ensure_initialized(self) -> None:
        """Make ready: nothing has to be."""

    def executing_eagerly(self) -> bool:
        """Return whether operations run at once."""
        return look_up("executing_eagerly")()

    def num_gpus(self) -> int:
        """Return the number of GPUs."""
        return len(look_up("config.list_logical_devices")("GPU"))

    @property
    def device_name(self) -> str:
        """The device that `tf.device` has put in force; '' for none."""
        return str(dispatch.context.device or "")

    @property
    def device_spec(self) -> Any:
        """The parts of `device_name`."""
        return DeviceSpec.from_string(self.device_name)

    @property
    def _seed(self) -> int | None:
        return global_seed()


CONTEXT = EagerContext()


def reset_context() -> None:
    """Begin anew with devices as they were when the program started."""
    config.settings.logical = None


_reset_context = reset_context


def context() -> EagerContext:
    """Return the context of this process."""
    return CONTEXT


def ensure_initialized() -> None:
    """Make ready: nothing has to be."""


def eager_mode() -> Any:
    """Return a block whose operations run at once."""
    return dispatch.eagerly()


def graph_mode() -> Any:
    """Return a block whose operations go to the default graph of `compat.v1`."""
    return look_up("compat.v1.Graph")().as_default()


def get_device_name() -> str:
    """Return the device that `tf.device` has put in force; '' for none."""
    return CONTEXT.device_name


def get_config() -> Any:
    """Return the settings of a session that does as this process does."""
    return look_up("compat.v1.ConfigProto")()


def num_gpus() -> int:
    """Return the number of GPUs."""
    return CONTEXT.num_gpus()
