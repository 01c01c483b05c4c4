"""`tensorflow.python.client.device_lib`: the devices of this machine, as old programs list them."""

from __future__ import annotations

from typing import Any, NamedTuple

from talweg.api.config import list_logical_devices

MEMORY = 268435456  # bytes that TensorFlow says of a CPU


class LocalDevice(NamedTuple):
    """A device: what TensorFlow's message of this name says of it."""

    name: str
    device_type: str
    memory_limit: int = MEMORY
    incarnation: int = 1
    physical_device_desc: str = ""
    xla_global_id: int = -1


def list_local_devices(session_config: Any = None) -> list[LocalDevice]:
    """Return the devices that operations can name."""
    return [LocalDevice(found.name, found.device_type) for found in list_logical_devices()]
