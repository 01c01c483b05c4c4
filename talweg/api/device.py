"""tf.device and tf.DeviceSpec: where functions run through XLA, and what eager results are called.

What is computed inside of `tf.device` says that it lies there (`.device`).  A device that is not
there stands for the first one, as TensorFlow's soft placement has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.config import settings
from talweg.api.export import export, implement_hook
from talweg.core import dispatch
from talweg.core.errors import InvalidArgumentError, compose, value_error
from talweg.core.machine import machine
from talweg.eager import placed
from talweg.eager.tensor import DEVICE
from talweg.graph.function_graph import FunctionGraph

if TYPE_CHECKING:
    from talweg.graph.operation import Operation

VARIABLES = placed  # imported for what it registers: variables made inside of a block

_KINDS = ("CPU", "GPU", "TPU")
_FIELDS = ("job", "replica", "task", "device_type", "device_index")


@export("DeviceSpec", "compat.v1.DeviceSpec")
class DeviceSpec:
    """The parts of a device name (`tf.DeviceSpec`): job, replica, task, device type and index.

    >>> import talweg as tf
    >>> tf.DeviceSpec(job="ps", device_type="CPU", device_index=0).to_string()
    '/job:ps/device:CPU:0'
    """

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ):
        self.job = job
        self.replica = None if replica is None else int(replica)
        self.task = None if task is None else int(task)
        self.device_type = None if device_type is None else str(device_type).upper()
        self.device_index = None if device_index is None else int(device_index)

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """Parse a name such as ``/job:worker/task:1/device:GPU:0``."""
        fields: dict[str, Any] = {}
        for part in filter(None, spec.split("/")):
            key, *rest = part.split(":")
            if key in ("job", "replica", "task") and len(rest) == 1:
                fields[key] = rest[0]
            elif key == "device" and 1 <= len(rest) <= 2:
                fields.update(_device_fields(rest))
            elif key.upper() in _KINDS and len(rest) <= 1:
                fields.update(_device_fields([key, *rest]))
            else:
                raise value_error(
                    "TW207",
                    f"Unknown attribute {part.split(':')[0]!r} in the device name {spec!r}",
                    "a name such as '/CPU:0' or '/job:worker/task:0/device:GPU:1'",
                    "'/GPU:0'" if key.lower() in ("cuda", "mps") else "",
                )
        return cls(**fields)

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Return the parts of a name, as a new DeviceSpec."""
        return type(self).from_string(spec)

    def to_string(self) -> str:
        """Return the name."""
        text = "".join(
            f"/{name}:{value}"
            for name, value in (("job", self.job), ("replica", self.replica), ("task", self.task))
            if value is not None
        )
        if self.device_type is None:
            return text
        index = "*" if self.device_index is None else self.device_index
        return f"{text}/device:{self.device_type}:{index}"

    def replace(self, **changes: object) -> DeviceSpec:
        """Return a copy with some parts changed."""
        return type(self)(**{**{name: getattr(self, name) for name in _FIELDS}, **changes})

    def make_merged_spec(self, other: DeviceSpec) -> DeviceSpec:
        """Make a spec of this one, overridden by the parts that `other` has."""
        given = {name: getattr(other, name) for name in _FIELDS}
        return self.replace(**{name: value for name, value in given.items() if value is not None})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())


def _device_fields(parts: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {"device_type": parts[0]}
    if len(parts) == 2 and parts[1] != "*":
        if not parts[1].isdigit():
            raise value_error("TW207", f"The device index {parts[1]!r} is not a number")
        fields["device_index"] = parts[1]
    return fields


@implement_hook("device_spec")
def device_spec(given: str) -> Any:
    """Return a device as a DeviceSpec; functions and None as they are."""
    if given is None or callable(given):
        return given
    device(given)
    return DeviceSpec.from_string(given.to_string() if hasattr(given, "to_string") else given)


class Placed:
    """An operation as functions that choose devices see it: with that of the blocks further in."""

    def __init__(self, operation: Any, device: str):
        self._operation, self.device = operation, device

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_operation"], name)


@implement_hook("device_for")
def device_for(scopes: tuple, made: Operation) -> str:
    """Return the device of an operation made inside `scopes`, inner ones before outer ones."""
    found, text = DeviceSpec(), ""
    for given in reversed(scopes):
        if given is None:
            break
        if callable(given):
            answer = given(Placed(made, text))
            text = answer.to_string() if hasattr(answer, "to_string") else str(answer or "")
            found = DeviceSpec.from_string(text)
        else:
            found = given.make_merged_spec(found)
            text = found.to_string()
    return text


def full_name(given: DeviceSpec | None, outer: str | None = None) -> str | None:
    """Complete the name of a device, as threads note it: None for the first one, and for None."""
    if given is None:
        return None
    spec = DeviceSpec.from_string(outer or DEVICE).make_merged_spec(given)
    if spec.device_index is None:
        spec = spec.replace(device_index=0)
    whole_name = spec.to_string()
    _check_task(spec, whole_name)
    index, count = spec.device_index or 0, len(settings.logical or [0])
    gpus = len(machine.visible_gpus)
    if spec.device_type == "GPU" and index < gpus:
        return whole_name
    if spec.device_type == "CPU" and index < count:
        return None if whole_name == DEVICE and not gpus else whole_name
    if not settings.soft_placement:
        raise InvalidArgumentError(
            None,
            None,
            compose(
                "TW402",
                f"Could not satisfy device specification '{whole_name}': it is not there",
                f"one of {count} logical devices of the CPU, {gpus} GPUs",
                "tf.config.set_soft_device_placement(True), or "
                "tf.config.set_logical_device_configuration",
            ),
        )
    return None


def _check_task(spec: DeviceSpec, whole_name: str) -> None:
    """Raise InvalidArgumentError for a device of a task that there is not, but in a `tf.Graph`.

    A graph may be made here and run by others, so it may name any task.
    """
    if spec.replica == 0 and (spec.job, spec.task) in machine.tasks:
        return
    graph = dispatch.context.base
    while isinstance(graph, FunctionGraph):
        graph = graph.outer
    if graph is None:
        tasks = ", ".join([f"/job:{job}/task:{task}" for job, task in sorted(machine.tasks)])
        text = f"{whole_name} unknown device"
        hint = "a device name without job, replica and task, such as '/CPU:0'"
        raise InvalidArgumentError(None, None, compose("TW402", text, f"one of {tasks}", hint))


def full_device(device: str) -> str:
    """Return a device by its whole name; ValueError for what is none."""
    text = str(device)
    if not any([kind in text.upper() for kind in ("CPU", "GPU", "TPU")]):
        raise value_error("TW207", f"Unknown device {device!r}", "a name such as 'CPU:0'")
    spec = DeviceSpec(job="localhost", replica=0, task=0, device_index=0)
    return spec.make_merged_spec(DeviceSpec.from_string(text)).to_string()


@export("device")
class device:
    """A context whose results lie on a device.

    Functions that XLA runs are computed there, everything else by the CPU.

    device_name: a string such as "/CPU:1", a DeviceSpec, a logical device, or None for the first
    device.  ValueError for what is no device name.  InvalidArgumentError, where no `tf.Graph` is in
    force, for a job, replica or task that there is not.

    >>> import talweg as tf
    >>> with tf.device("/CPU:0"):
    ...     tf.constant(1.0).device
    '/job:localhost/replica:0/task:0/device:CPU:0'
    """

    def __init__(self, device_name: object):
        name = device_name
        if hasattr(name, "to_string"):
            name = name.to_string()
        elif hasattr(name, "name") and hasattr(name, "device_type"):
            name = name.name
        if name is not None and not isinstance(name, str):
            raise value_error(
                "TW104", f"Expecting a string device name. Got {type(name)}({name!r})"
            )
        self._given = DeviceSpec.from_string(name) if name else None
        self._entered: list = []

    def __enter__(self) -> None:
        context, base = dispatch.context, dispatch.context.base
        found = full_name(self._given, context.device)
        scope = None
        if base is not None:
            scope = base.device(None if self._given is None else self._given.to_string())
            scope.__enter__()
        self._entered.append((context.device, found, scope))
        if found is not None:
            dispatch.enter()  # so that operations pass where their results are put on the device
        context.device = found

    def __exit__(self, *error: object) -> None:
        before, found, scope = self._entered.pop()
        dispatch.context.device = before
        if found is not None:
            dispatch.leave()
        if scope is not None:
            scope.__exit__(*error)
