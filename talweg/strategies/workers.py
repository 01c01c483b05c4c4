"""tf.distribute.MultiWorkerMirroredStrategy: replicas in several processes, on one machine or many.

Every worker runs the same script.  Each has replicas on its own devices, as `MirroredStrategy` has;
what replicas exchange goes over all workers.  Variables begin with the first worker's values, and
stay equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.config import list_logical_devices
from talweg.api.export import export
from talweg.core.errors import UnavailableError
from talweg.eager.tensor import DEVICE
from talweg.strategies.cluster import cluster_of
from talweg.strategies.elsewhere import CommunicationImplementation, CommunicationOptions
from talweg.strategies.mirrored import MirroredExtended, SeveralReplicas
from talweg.strategies.resolvers import TFConfigClusterResolver
from talweg.strategies.strategy import OneReplica

if TYPE_CHECKING:
    from talweg.strategies.cluster import Cluster


class WorkerExtended(MirroredExtended):
    """`strategy.extended` of a worker of a cluster."""

    def __init__(self, strategy: object, devices: list[str], cluster: Cluster):
        super().__init__(strategy, devices)
        self.cluster = cluster
        self.everywhere = cluster.begin(kind_of(devices[0]), len(devices))

    @property
    def worker_devices(self) -> tuple:
        """The devices of this worker's replicas, by their names in the cluster."""
        job, _, task = self.cluster.tasks[self.cluster.own][0].partition(":")
        place = f"/job:{job}/replica:0/task:{task}/device:"
        return tuple([place + device.rpartition("device:")[2] for device in self._devices])

    parameter_devices = worker_devices

    @property
    def should_checkpoint(self) -> bool:
        """Whether this worker's checkpoint is the one to keep: the first one's is."""
        return self.cluster.own == 0

    should_save_summary = should_checkpoint
    experimental_should_init = True
    experimental_between_graph = True

    @property
    def _num_workers(self) -> int:
        return self.cluster.count

    def _in_multi_worker_mode(self) -> bool:
        return True

    def call_for_each_replica(
        self, fn: Callable, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        """Call `fn` in each replica of this worker; other workers are told of an error."""
        try:
            return super().call_for_each_replica(fn, args, kwargs)
        except Exception as error:
            if not isinstance(error, UnavailableError):
                self.cluster.tell_failure(error)
            raise


def kind_of(device: str) -> str:
    """Return the kind of a device: "CPU", "GPU"."""
    return device.rpartition("device:")[2].partition(":")[0]


@export("distribute.MultiWorkerMirroredStrategy")
class MultiWorkerMirroredStrategy(OneReplica):
    """Replicas on each device of each worker (`tf.distribute.MultiWorkerMirroredStrategy`).

    cluster_resolver: who knows the workers, by default TF_CONFIG.  communication_options: its
    `timeout_seconds` bounds how long workers wait for one that lives.  It waits until all are
    there: UnavailableError if one does not come, FailedPreconditionError without JAX, or if workers
    differ; RuntimeError if something ran through XLA before.  One worker has one replica.

    >>> import talweg as tf
    >>> tf.distribute.MultiWorkerMirroredStrategy().num_replicas_in_sync
    1
    """

    def __new__(cls, cluster_resolver: Any = None, communication_options: Any = None) -> Any:
        resolver = cluster_resolver or TFConfigClusterResolver()
        cluster = cluster_of(resolver)
        if cluster is None:
            return object.__new__(cls)
        found: Any = object.__new__(_SeveralWorkers)
        found._cluster = cluster
        return found

    def __init__(self, cluster_resolver: Any = None, communication_options: Any = None):
        super().__init__(DEVICE)
        self._resolver = cluster_resolver or TFConfigClusterResolver()

    @property
    def cluster_resolver(self) -> Any:
        """The resolver that knows the workers."""
        return self._resolver


class _SeveralWorkers(SeveralReplicas, MultiWorkerMirroredStrategy):  # type: ignore[misc]
    """A MultiWorkerMirroredStrategy of several workers."""

    def __init__(self, cluster_resolver: Any = None, communication_options: Any = None):
        cluster, self._resolver = self._cluster, cluster_resolver or TFConfigClusterResolver()
        seconds = getattr(communication_options, "timeout_seconds", None)
        if seconds:
            cluster.patience = float(seconds)
        devices = list_logical_devices("GPU") or list_logical_devices("CPU")
        names = [f"{DEVICE.rpartition('/')[0]}{device.name}" for device in devices]
        self.first_replica = cluster.own * len(names)
        super().__init__(names, WorkerExtended(self, names, cluster))

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas of all workers."""
        return self.replicas_here * self.extended.cluster.count


_SeveralWorkers.__name__ = _SeveralWorkers.__qualname__ = "MultiWorkerMirroredStrategy"


@export("distribute.experimental.MultiWorkerMirroredStrategy")
class ExperimentalMultiWorkerMirroredStrategy(MultiWorkerMirroredStrategy):
    """`tf.distribute.MultiWorkerMirroredStrategy`, with arguments in its older order.

    >>> import talweg as tf
    >>> tf.distribute.experimental.MultiWorkerMirroredStrategy().num_replicas_in_sync
    1
    """

    def __new__(
        cls,
        communication: CommunicationImplementation = CommunicationImplementation.AUTO,
        cluster_resolver: Any = None,
    ) -> Any:
        options = CommunicationOptions(implementation=communication)
        return MultiWorkerMirroredStrategy(cluster_resolver, options)
