"""Small types of tf.distribute: values of replicas, contexts of inputs, options."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from talweg.api.export import export
from talweg.core.errors import value_error
from talweg.eager.replicated import DistributedValues, Mirrored, PerReplica

export("distribute.DistributedValues")(DistributedValues)
export("types.experimental.distributed.PerReplica")(PerReplica)
export("types.experimental.distributed.Mirrored")(Mirrored)


@export("distribute.InputReplicationMode")
class InputReplicationMode(enum.Enum):
    """The modes of reading the input (`tf.distribute.InputReplicationMode`).

    >>> import talweg as tf
    >>> tf.distribute.InputReplicationMode.PER_WORKER.value
    'PER_WORKER'
    """

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


@export("distribute.InputContext")
class InputContext:
    """The part of the input that is to be made (`tf.distribute.InputContext`).

    >>> import talweg as tf
    >>> tf.distribute.InputContext(num_replicas_in_sync=2).get_per_replica_batch_size(8)
    4
    """

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ):
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def __str__(self) -> str:
        total = self.num_input_pipelines
        own = self.input_pipeline_id
        return f"tf.distribute.InputContext(input pipeline id {own}, total: {total})"

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Return the size of a replica's batch; ValueError unless it divides the global one."""
        if global_batch_size % self.num_replicas_in_sync:
            raise value_error(
                "TW207",
                f"The global_batch_size {global_batch_size} is not divisible by "
                f"num_replicas_in_sync {self.num_replicas_in_sync}",
            )
        return global_batch_size // self.num_replicas_in_sync


@export("distribute.experimental.ValueContext")
class ValueContext:
    """The replica that a value is made for (`tf.distribute.experimental.ValueContext`).

    >>> import talweg as tf
    >>> tf.distribute.experimental.ValueContext().replica_id_in_sync_group
    0
    """

    def __init__(self, replica_id_in_sync_group: int = 0, num_replicas_in_sync: int = 1):
        self.replica_id_in_sync_group = replica_id_in_sync_group
        self.num_replicas_in_sync = num_replicas_in_sync


@export("distribute.InputOptions")
@dataclasses.dataclass(frozen=True)
class InputOptions:
    """The options of dataset sharing (`tf.distribute.InputOptions`); accepted, as replicas are one.

    >>> import talweg as tf
    >>> tf.distribute.InputOptions().experimental_fetch_to_device
    """

    experimental_fetch_to_device: bool | None = None
    experimental_replication_mode: Any = InputReplicationMode.PER_WORKER
    experimental_place_dataset_on_device: bool = False
    experimental_per_replica_buffer_size: int = 1


@export("distribute.RunOptions")
@dataclasses.dataclass(frozen=True)
class RunOptions:
    """The options of compilation in `run` (`tf.distribute.RunOptions`); accepted.

    >>> import talweg as tf
    >>> tf.distribute.RunOptions().experimental_enable_dynamic_batch_size
    True
    """

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: Any = None


@export("distribute.CrossDeviceOps")
class CrossDeviceOps:
    """The reductions across devices (`tf.distribute.CrossDeviceOps`); there is one device.

    >>> import talweg as tf
    >>> isinstance(tf.distribute.NcclAllReduce(), tf.distribute.CrossDeviceOps)
    True
    """


class PackedReduction(CrossDeviceOps):
    """An exchange of values packed together; accepted, replicas exchange them in memory."""

    def __init__(self, num_packs: int = 1):
        self.num_packs = num_packs


for _name in ("NcclAllReduce", "HierarchicalCopyAllReduce"):
    export(f"distribute.{_name}")(
        type(_name, (PackedReduction,), {"__doc__": "Accepted; values are in one memory."})
    )


@export("distribute.ReductionToOneDevice")
class ReductionToOneDevice(CrossDeviceOps):
    """Values are copied to one device and reduced there; accepted, they are in one memory.

    >>> import talweg as tf
    >>> tf.distribute.ReductionToOneDevice("CPU:0").reduce_to_device
    'CPU:0'
    """

    def __init__(self, reduce_to_device: Any = None, accumulation_fn: Any = None):
        self.reduce_to_device, self.accumulation_fn = reduce_to_device, accumulation_fn
