"""The devices that operations of a session's graph ask for: are they there?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.config import settings
from talweg.api.device import DeviceSpec
from talweg.core.errors import InvalidArgumentError, compose
from talweg.core.machine import machine

if TYPE_CHECKING:
    from talweg.graph.graph import Graph


def check_devices(graph: Graph, config: Any) -> None:
    """Raise InvalidArgumentError for an operation on a device that is not there.

    The whole graph is checked, whatever is fetched.  Soft placement (`config`) lets another device
    of the same task stand for a device, but no task for another one.
    """
    refused: dict[str, str] = {}  # device -> what is wrong with it
    for node, device in graph.devices_asked():
        if device not in refused:
            refused[device] = _explain_refusal(DeviceSpec.from_string(device), config)
        if refused[device]:
            name = graph.operation_name(node)
            text = f"Cannot assign a device for operation {name}: '{device}' is not there"
            hint = "a device name without job, replica and task, such as '/CPU:0'"
            if refused[device].startswith("a device"):
                hint = "tf.compat.v1.ConfigProto(allow_soft_placement=True)"
            raise InvalidArgumentError(None, None, compose("TW402", text, refused[device], hint))


def _explain_refusal(spec: DeviceSpec, config: Any) -> str:
    """Say which devices there are, if the one that is asked for is not; '' if it is."""
    known = [
        (job, task)
        for job, task in machine.tasks
        if spec.job in (None, job) and spec.task in (None, task)
    ]
    if not known or spec.replica not in (None, 0):
        tasks = ", ".join([f"/job:{job}/task:{task}" for job, task in sorted(machine.tasks)])
        return f"one of {tasks}"
    cpus = dict(getattr(config, "device_count", None) or {}).get("CPU", 1)
    counts = {"CPU": max(cpus, len(settings.logical or [0])), "GPU": len(machine.visible_gpus)}
    is_there = (spec.device_index or 0) < counts.get(spec.device_type or "CPU", 0)
    if is_there or getattr(config, "allow_soft_placement", False):
        return ""
    there = [f"/{kind}:{number}" for kind, count in counts.items() for number in range(count)]
    return f"a device of {', '.join(there)}"
