"""tf.compat.v1.train.replica_device_setter: variables on the tasks of a cluster in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.api.export import export, look_up
from talweg.core.errors import type_error

VARIABLES = (
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "VarHandleOp",
    "BoostedTreesEnsembleResourceHandleOp",
    "BoostedTreesQuantileStreamResourceHandleOp",
    "ResourceConditionalAccumulator",
    "DecisionTreeResource",
)


@export("compat.v1.train.replica_device_setter")
def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str | None = "/job:ps",
    worker_device: str | None = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: list | None = None,
    ps_strategy: Callable[[Any], int] | None = None,
) -> Callable[[Any], str] | None:
    """Return a function for `tf.device` that notes tasks of a cluster; None without parameter
    servers.

    Operations of the types ps_ops, by default variables and tables, go to the tasks of ps_device in
    turn (or as ps_strategy says), others to worker_device.  Devices are notes here: all operations
    run on this machine.  TypeError for a cluster or strategy of another kind.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(ps_tasks=2)):
    ...     [tf.get_variable(name, []).device for name in "ab"]
    ['/job:ps/task:0', '/job:ps/task:1']
    """
    if cluster is not None:
        spec = look_up("train.ClusterSpec")(cluster).as_dict()
        job = look_up("DeviceSpec").from_string(ps_device or "").job
        if job not in spec or not spec[job]:
            return None
        ps_tasks = len(spec[job])
    if ps_tasks == 0:
        return None
    if ps_strategy is None:
        ps_strategy = InTurn(ps_tasks)
    if not callable(ps_strategy):
        raise type_error("TW104", f"ps_strategy is {ps_strategy!r}", "a function of operations")
    types = VARIABLES if ps_ops is None else tuple(ps_ops)
    return DeviceChooser(ps_device, worker_device, merge_devices, types, ps_strategy)


class InTurn:
    """Tasks, one after the other."""

    def __init__(self, count: int):
        self._count, self._next = count, 0

    def __call__(self, op: Any) -> int:
        """Return the task of an operation."""
        found, self._next = self._next, (self._next + 1) % self._count
        return found


class DeviceChooser:
    """The device of each operation."""

    def __init__(
        self, ps: str | None, worker: str | None, merge: bool, types: tuple, strategy: Callable
    ):
        self._ps, self._worker, self._merge = ps, worker, merge
        self._types, self._strategy = types, strategy

    def __call__(self, op: Any) -> str:
        """Return the device of an operation, merged with the one it has already."""
        if not self._merge and op.device:
            return op.device
        parse = look_up("DeviceSpec").from_string
        current = parse(op.device or "")
        wanted = parse(self._worker or "")
        if self._ps and op.type in self._types:
            wanted = parse(self._ps)
            if wanted.job and current.job in (None, wanted.job):
                wanted = wanted.replace(task=self._strategy(op))
        return wanted.make_merged_spec(current).to_string()
