"""tf.config: lists the devices, and keeps the settings that programs make and read back."""

from __future__ import annotations

import os
import sys
from collections import namedtuple
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.export import export
from talweg.core import settings as flags
from talweg.core.errors import UnimplementedError, compose, type_error, value_error
from talweg.core.lazy import LazyModule
from talweg.core.machine import machine
from talweg.core.precision import precision
from talweg.execute import choice
from talweg.trace.options import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.execute.xla import engine
else:
    engine = LazyModule("talweg.execute.xla.engine")

ENGINE = "talweg.execute.xla.engine"  # there once JAX is


@export("config.PhysicalDevice")
class PhysicalDevice(NamedTuple):
    """A device of this machine: a CPU, or a GPU that JAX sees."""

    name: str
    device_type: str


@export("config.LogicalDevice")
class LogicalDevice(NamedTuple):
    """A device that operations can name."""

    name: str
    device_type: str


LogicalDeviceConfiguration = export(
    "config.LogicalDeviceConfiguration", "config.experimental.VirtualDeviceConfiguration"
)(
    namedtuple(
        "LogicalDeviceConfiguration",
        ["memory_limit", "experimental_priority", "experimental_device_ordinal"],
        defaults=(None, None, None),
    )
)

CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")


class _Settings:
    """Holds the settings that programs have made."""

    def __init__(self) -> None:
        self.cpu_visible = True
        self.growth: dict[Any, bool] = {}  # what was said of GPUs
        self.logical: list | None = None
        self.threads = {"inter_op": 0, "intra_op": 0}
        self.soft_placement = True
        self.jit = ""
        self.optimizer: dict[str, Any] = {}
        self.synchronous = True
        self.policy = "silent"


settings = _Settings()


class DeviceList(list):
    """A list of devices; who takes one out of an empty list learns why it is empty."""

    def __getitem__(self, index: Any) -> Any:
        if not self and isinstance(index, int):
            raise IndexError(
                compose(
                    "TW206",
                    "list index out of range: no such device is here",
                    hint="if gpus: ... around it; an NVIDIA GPU takes talweg[cuda], "
                    "without one the program runs on the CPU",
                )
            )
        return super().__getitem__(index)


def _of_type(devices: list[Any], device_type: str | None) -> list[Any]:
    """Select the devices of a type; all for None."""
    return DeviceList([d for d in devices if device_type in (None, d.device_type)])


def _physical_devices() -> list[Any]:
    gpus = [PhysicalDevice(f"/physical_device:GPU:{k}", "GPU") for k in range(machine.gpus)]
    return [CPU, *gpus]


def _check_device(device: object) -> None:
    there = _physical_devices()
    if device not in there:
        raise value_error("TW207", f"Unrecognized device: {device!r}", f"one of {there}")


def _check_not_begun(what: str) -> None:
    """Raise RuntimeError once something ran through XLA, whose devices are as they are then."""
    if ENGINE in sys.modules:
        text = f"{what} cannot be modified after being initialized"
        raise RuntimeError(compose("TW401", text, hint="call it before anything else runs"))


@export("config.list_physical_devices", "config.experimental.list_physical_devices")
def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices of this machine of a type ("CPU", "GPU"), or all: one CPU, and JAX's GPUs.

    >>> import talweg as tf
    >>> tf.config.list_physical_devices()
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    return _of_type(_physical_devices(), device_type)


@export("config.list_logical_devices", "config.experimental.list_logical_devices")
def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Return the devices operations can name: one for each visible device, or as configured.

    >>> import talweg as tf
    >>> tf.config.list_logical_devices("GPU")
    []
    """
    cpus = len(settings.logical or [0]) if settings.cpu_visible else 0
    found = [LogicalDevice(f"/device:CPU:{index}", "CPU") for index in range(cpus)]
    gpus = range(len(machine.visible_gpus))
    found += [LogicalDevice(f"/device:GPU:{index}", "GPU") for index in gpus]
    return _of_type(found, device_type)


@export("config.get_visible_devices", "config.experimental.get_visible_devices")
def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the physical devices in use.

    >>> import talweg as tf
    >>> tf.config.get_visible_devices("GPU")
    []
    """
    cpus = [CPU] if settings.cpu_visible else []
    found = cpus + [_physical_devices()[1 + number] for number in machine.visible_gpus]
    return _of_type(found, device_type)


@export("config.set_visible_devices", "config.experimental.set_visible_devices")
def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Use only these devices (of a type).

    ValueError for a device that is not there; RuntimeError for GPUs once one has run something.

    >>> import talweg as tf
    >>> tf.config.set_visible_devices([], "GPU")
    """
    given = [devices] if isinstance(devices, (PhysicalDevice, str)) else list(devices or [])
    for device in given:
        _check_device(device)
    if device_type in (None, "CPU"):
        settings.cpu_visible = CPU in given
    hidden = [k for k, gpu in enumerate(_physical_devices()[1:]) if gpu not in given]
    if device_type in (None, "GPU") and machine.gpus and frozenset(hidden) != machine.hidden:
        _check_not_begun("Visible devices")
        machine.hidden = frozenset(hidden)
        choice.follow_devices()


@export(
    "config.get_logical_device_configuration",
    "config.experimental.get_virtual_device_configuration",
)
def get_logical_device_configuration(device: object) -> list | None:
    """Return the logical devices a physical one was divided into; None if it was not.

    >>> import talweg as tf
    >>> tf.config.get_logical_device_configuration(tf.config.list_physical_devices("CPU")[0])
    """
    _check_device(device)
    return settings.logical if device == CPU else None


@export(
    "config.set_logical_device_configuration",
    "config.experimental.set_virtual_device_configuration",
)
def set_logical_device_configuration(device: Any, logical_devices: Sequence[Any]) -> None:
    """Divide a physical device into logical ones: a CPU, since JAX divides no GPU.

    ValueError for a device that is not there, for limits a CPU does not have, and for several
    devices of a GPU.

    >>> import talweg as tf
    >>> cpu = tf.config.list_physical_devices("CPU")[0]
    >>> tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()])
    """
    _check_device(device)
    if device != CPU:
        if len(logical_devices) > 1 or any([one.memory_limit for one in logical_devices]):
            text = f"{device.name}: JAX neither divides a GPU nor limits its memory in MB"
            hint = "XLA_PYTHON_CLIENT_MEM_FRACTION in the environment; logical devices of the CPU"
            raise value_error("TW402", text, hint=hint)
        return
    for one in logical_devices:
        if one.memory_limit is not None:
            raise value_error("TW207", "Setting memory limit on CPU virtual devices is not there")
    settings.logical = list(logical_devices)
    machine.cpus = max(len(settings.logical), 1)


@export("config.experimental.set_memory_growth")
def set_memory_growth(device: object, enable: bool) -> None:
    """Set whether memory of a GPU is taken as it is needed; JAX takes most of it at once otherwise.

    ValueError for a CPU; RuntimeError once something ran through XLA.  It is one choice for all
    GPUs, the last one.

    >>> import talweg as tf
    >>> for gpu in tf.config.list_physical_devices("GPU"):
    ...     tf.config.experimental.set_memory_growth(gpu, True)
    """
    _check_gpu(device, "Cannot set memory growth on non-GPU and non-Pluggable devices")
    if settings.growth.get(device, False) != bool(enable):
        _check_not_begun("Physical devices")
    settings.growth[device] = bool(enable)
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false" if enable else "true"


@export("config.experimental.get_memory_growth")
def get_memory_growth(device: object) -> bool:
    """Return the setting of `set_memory_growth` for a GPU, False at first; ValueError for a CPU.

    >>> import talweg as tf
    >>> gpus = tf.config.list_physical_devices("GPU")
    >>> [tf.config.experimental.get_memory_growth(gpu) for gpu in gpus]
    []
    """
    _check_gpu(device, f"{device} has no memory growth")
    return settings.growth.get(device, False)


def _check_gpu(device: object, text: str) -> None:
    _check_device(device)
    if device == CPU:
        raise value_error("TW207", text, "a GPU")


@export("config.experimental.get_device_details")
def get_device_details(device: object) -> dict[Any, Any]:
    """Return details of a physical device: a GPU's name and compute capability; of a CPU none are
    known.

    >>> import talweg as tf
    >>> tf.config.experimental.get_device_details(tf.config.list_physical_devices()[0])
    {}
    """
    _check_device(device)
    if device == CPU:
        return {}
    device_of_jax = _of_jax(f"GPU:{_physical_devices().index(device) - 1}")
    details: dict[Any, Any] = {"device_name": device_of_jax.device_kind}
    capability = getattr(device_of_jax, "compute_capability", None)
    if capability is not None:
        details["compute_capability"] = tuple([int(part) for part in str(capability).split(".")])
    return details


def _of_jax(device: str) -> Any:
    """Find JAX's device by the name of a logical GPU; ValueError for others."""
    kind, _, number = str(device).upper().rpartition("DEVICE:")[2].partition(":")
    if kind == "CPU":
        raise value_error("TW207", f"Allocator stats not available for device {device!r}")
    gpus = engine.devices(kind) if kind == "GPU" and machine.visible_gpus else []
    if not number.isdigit() or int(number) >= len(gpus):
        raise value_error("TW207", f"No matching devices found for {device!r}")
    return gpus[int(number)]


@export("config.experimental.get_memory_info")
def get_memory_info(device: str) -> dict[Any, Any]:
    """Return the bytes that a GPU's allocator has given out: `current`, and at most so far, `peak`.

    ValueError for the CPU, whose allocator keeps no statistics.

    >>> import talweg as tf
    >>> try:
    ...     tf.config.experimental.get_memory_info("CPU:0")
    ... except ValueError:
    ...     print("not there")
    not there
    """
    statistics = _of_jax(device).memory_stats()
    if statistics is None:
        raise value_error("TW207", f"Allocator stats not available for device {device!r}")
    return {"current": statistics["bytes_in_use"], "peak": statistics["peak_bytes_in_use"]}


@export("config.experimental.get_memory_usage")
def get_memory_usage(device: str) -> int:
    """Return the bytes that a GPU's allocator has given out; see `get_memory_info`."""
    return get_memory_info(device)["current"]


@export("config.experimental.reset_memory_stats")
def reset_memory_stats(device: str) -> None:
    """Raise UnimplementedError for a GPU: JAX keeps the peak of the process; ValueError for the
    CPU."""
    _of_jax(device)
    text = f"the peak of {device!r} is that of the process: JAX does not begin it anew"
    raise UnimplementedError(None, None, compose("TW402", text))


def _thread_accessors(kind: str) -> None:
    def get() -> int:
        return settings.threads[kind]

    def set_(num_threads: int) -> None:
        if not isinstance(num_threads, int):
            raise type_error("TW104", f"num_threads must be an int, got {num_threads!r}")
        settings.threads[kind] = num_threads
        if kind == "intra_op":
            flags.threads.set(max(0, num_threads))

    get.__name__ = f"get_{kind}_parallelism_threads"
    get.__doc__ = f"Return the number of {kind.replace('_', '-')} threads asked for; 0 if none was."
    set_.__name__ = f"set_{kind}_parallelism_threads"
    used = "programs compiled from now on use it" if kind == "intra_op" else "it is kept, not used"
    set_.__doc__ = f"Ask for a number of {kind.replace('_', '-')} threads; {used}."
    export(f"config.threading.{get.__name__}")(get)
    export(f"config.threading.{set_.__name__}")(set_)


_thread_accessors("inter_op")
_thread_accessors("intra_op")


@export("config.run_functions_eagerly", "config.experimental_run_functions_eagerly")
def run_functions_eagerly(run_eagerly: bool) -> None:
    """Set whether `tf.function` shall run its Python function as it is.

    >>> import talweg as tf
    >>> tf.config.run_functions_eagerly(True)
    >>> tf.config.functions_run_eagerly()
    True
    >>> tf.config.run_functions_eagerly(False)
    """
    options.change(run_eagerly=bool(run_eagerly))


@export("config.functions_run_eagerly", "config.experimental_functions_run_eagerly")
def functions_run_eagerly() -> bool:
    """Return whether `tf.function` runs its Python function; see `run_functions_eagerly`."""
    return options.run_eagerly


@export("config.set_soft_device_placement")
def set_soft_device_placement(enabled: bool) -> None:
    """Keep the setting; operations always run where they can.

    >>> import talweg as tf
    >>> tf.config.set_soft_device_placement(True)
    """
    settings.soft_placement = bool(enabled)


@export("config.get_soft_device_placement")
def get_soft_device_placement() -> bool:
    """Return the setting of `set_soft_device_placement`; True at first."""
    return settings.soft_placement


@export("config.optimizer.set_jit")
def set_jit(enabled: bool | str) -> None:
    """Keep the setting of the JIT: True, False, or "autoclustering".

    >>> import talweg as tf
    >>> tf.config.optimizer.set_jit(False)
    """
    settings.jit = enabled if isinstance(enabled, str) else "autoclustering" if enabled else ""


@export("config.optimizer.get_jit")
def get_jit() -> str:
    """Return the setting of `set_jit`: "" or "autoclustering"."""
    return settings.jit


@export("config.optimizer.set_experimental_options")
def set_experimental_options(options: dict) -> None:
    """Keep the options for `get_experimental_options`."""
    settings.optimizer.update(options)


@export("config.optimizer.get_experimental_options")
def get_experimental_options() -> dict[Any, Any]:
    """Return the options set last, with the two that always have a value."""
    return {"disable_model_pruning": False, "disable_meta_optimizer": False, **settings.optimizer}


@export("config.experimental.enable_op_determinism")
def enable_op_determinism() -> None:
    """Have the same program give the same numbers, bit for bit, in every run.

    An operation gives the same result for the same operands anyway; what may differ from run to run
    is when a function, or an eager operation on large tensors, becomes machine code, whose last
    digits are others.  From here on that does not hang on time any more.

    >>> import talweg as tf
    >>> tf.config.experimental.enable_op_determinism()

    `TALWEG_DETERMINISTIC=1` asks for the same; this takes it back:

    >>> from talweg.core import settings
    >>> settings.deterministic.set(False)
    """
    flags.deterministic.set(True)


def disable_op_determinism() -> None:
    """Forget that determinism was asked for."""
    flags.deterministic.set(False)


def is_op_determinism_enabled() -> bool:
    """Return whether determinism was asked for."""
    return flags.deterministic.get()


@export("config.experimental.enable_tensor_float_32_execution")
def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Let products of float32 numbers be rounded to fewer digits where hardware can.

    Processors compute them in full; of other devices see docs/devices.md.
    """
    precision.tensor_float_32 = bool(enabled)


@export("config.experimental.tensor_float_32_execution_enabled")
def tensor_float_32_execution_enabled() -> bool:
    """Return the setting of `enable_tensor_float_32_execution`; True at first."""
    return precision.tensor_float_32


@export("config.experimental.set_synchronous_execution")
def set_synchronous_execution(enable: bool) -> None:
    """Keep the setting; execution is always synchronous."""
    settings.synchronous = bool(enable)


@export("config.experimental.get_synchronous_execution")
def get_synchronous_execution() -> bool:
    """Return the setting of `set_synchronous_execution`; True at first."""
    return settings.synchronous


@export("config.experimental.set_device_policy")
def set_device_policy(device_policy: str | None) -> None:
    """Keep the policy: "silent", "silent_for_int32", "warn" or "explicit"; ValueError for
    others.
    """
    if device_policy not in (None, "silent", "silent_for_int32", "warn", "explicit"):
        raise value_error("TW207", f"Not a valid device policy: {device_policy!r}")
    settings.policy = device_policy or "silent"


@export("config.experimental.get_device_policy")
def get_device_policy() -> str:
    """Return the setting of `set_device_policy`; "silent" at first."""
    return settings.policy
