"""tf.experimental.dtensor: what processes there are, and their devices.  There is this process."""

from __future__ import annotations

from typing import Any

from talweg.api.export import export, look_up
from talweg.strategies.layouts import Mesh

STARTED: list[bool] = []


@export("experimental.dtensor.client_id")
def client_id() -> int:
    """Return the number of this process, 0.

    >>> import talweg as tf
    >>> tf.experimental.dtensor.client_id(), tf.experimental.dtensor.num_clients()
    (0, 1)
    """
    return 0


@export("experimental.dtensor.num_clients")
def num_clients() -> int:
    """Return the number of processes, 1."""
    return 1


@export("experimental.dtensor.job_name")
def job_name() -> str:
    """Return the name of the job that the processes do."""
    return "localhost"


@export("experimental.dtensor.full_job_name")
def full_job_name(task_id: int | None = None) -> str:
    """Return the job with the number of a process."""
    return f"localhost/replica:0/task:{task_id or 0}"


@export("experimental.dtensor.jobs")
def jobs() -> list[str]:
    """Return the addresses of all processes: none, since there is one."""
    return []


@export("experimental.dtensor.heartbeat_enabled")
def heartbeat_enabled() -> bool:
    """Return whether processes would tell each other that they are alive."""
    return True


@export("experimental.dtensor.preferred_device_type")
def preferred_device_type() -> str:
    """Return the kind of device to compute on: "CPU"."""
    return "CPU"


@export("experimental.dtensor.local_devices")
def local_devices(device_type: str, for_client_id: int | None = None) -> list[Any]:
    """Return the devices of this process of a kind, as `tf.DeviceSpec`."""
    found = look_up("config.list_logical_devices")(device_type)
    spec = look_up("DeviceSpec")
    return [
        spec(job="localhost", replica=0, task=0, device_type=device_type, device_index=number)
        for number in range(len(found))
    ]


@export("experimental.dtensor.num_local_devices")
def num_local_devices(device_type: str) -> int:
    """Return the number of devices of this process of a kind."""
    return len(local_devices(device_type))


@export("experimental.dtensor.num_global_devices")
def num_global_devices(device_type: str) -> int:
    """Return the number of devices of all processes of a kind."""
    return num_local_devices(device_type)


@export("experimental.dtensor.barrier")
def barrier(mesh: Mesh, barrier_name: str | None = None, timeout_in_ms: int | None = None) -> None:
    """Wait until all processes are here: this one is."""


@export(
    "experimental.dtensor.initialize_accelerator_system",
    "experimental.dtensor.initialize_multi_client",
)
def initialize_accelerator_system(
    device_type: str | None = None,
    enable_coordination_service: bool | None = True,
    num_logical_cpu_devices: int | None = None,
    experimental_reset_context: bool | None = False,
    experimental_enable_megcore: bool | None = False,
) -> str:
    """Make the devices ready, `num_logical_cpu_devices` of the CPU if that is given; their kind.

    ValueError if that was done before, RuntimeError if the devices are in use already.
    """
    if STARTED:
        raise ValueError(
            "Accelerator system has already been initialized. Call "
            "tf.experimental.dtensor.shutdown_accelerator_system first.  [TW402]"
        )
    if num_logical_cpu_devices is not None:
        (cpu,) = look_up("config.list_physical_devices")("CPU")
        one = look_up("config.LogicalDeviceConfiguration")
        parts = [one() for _ in range(num_logical_cpu_devices)]
        look_up("config.set_logical_device_configuration")(cpu, parts)
    STARTED.append(True)
    return device_type or "CPU"


@export("experimental.dtensor.shutdown_accelerator_system")
def shutdown_accelerator_system() -> None:
    """Undo `initialize_accelerator_system`; ValueError without that."""
    if not STARTED:
        raise ValueError(
            "Accelerator system is not initialized. Call "
            "tf.experimental.dtensor.initialize_accelerator_system first.  [TW402]"
        )
    STARTED.clear()
