"""The parts of tf.distribute and tf.config that need other machines: their errors, and settings."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.core.errors import UnimplementedError, compose, value_error
from talweg.strategies.cluster_spec import ClusterSpec
from talweg.strategies.strategy import Strategy

if TYPE_CHECKING:
    pass


def _refusal(what: str) -> Exception:
    return UnimplementedError(
        None,
        None,
        compose(
            "TW402",
            f"{what} needs other machines or processes; talweg trains on one machine",
            hint="tf.distribute.MirroredStrategy, with replicas on its logical devices",
        ),
    )


@export("distribute.ParameterServerStrategy", "distribute.experimental.ParameterServerStrategy")
class ParameterServerStrategy(Strategy):
    """Variables on other machines: UnimplementedError, since there are none.

    >>> import talweg as tf
    >>> isinstance(tf.distribute.get_strategy(), tf.distribute.ParameterServerStrategy)
    False
    """

    def __init__(self, cluster_resolver: Any, variable_partitioner: Any = None):
        raise _refusal("ParameterServerStrategy")


@export("compat.v1.distribute.experimental.ParameterServerStrategy")
class ParameterServerStrategyV1(ParameterServerStrategy):
    """Variables on other machines: UnimplementedError, since there are none.

    >>> import talweg.compat.v1 as tf
    >>> strategy = tf.distribute.get_strategy()
    >>> isinstance(strategy, tf.distribute.experimental.ParameterServerStrategy)
    False
    """

    def __init__(self, cluster_resolver: Any = None):
        super().__init__(cluster_resolver)


@export(
    "distribute.coordinator.ClusterCoordinator",
    "distribute.experimental.coordinator.ClusterCoordinator",
)
class ClusterCoordinator:
    """Hands work to other machines: UnimplementedError, since there are none.

    >>> import talweg as tf
    >>> try:
    ...     tf.distribute.coordinator.ClusterCoordinator(None)
    ... except tf.errors.UnimplementedError:
    ...     print("one machine")
    one machine
    """

    def __init__(self, strategy: Any):
        raise _refusal("ClusterCoordinator")


@export("distribute.Server")
class Server:
    """A server for other processes: UnimplementedError, since talweg works in its own.

    >>> import talweg as tf
    >>> isinstance(None, tf.distribute.Server)
    False
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: object = None,
        start: bool = True,
    ):
        raise _refusal("Server")


@export(
    "distribute.experimental.CommunicationImplementation",
    "distribute.experimental.CollectiveCommunication",
)
class CommunicationImplementation(enum.Enum):
    """The transports between machines; accepted, there is one.

    >>> import talweg as tf
    >>> tf.distribute.experimental.CommunicationImplementation.RING.value
    'RING'
    """

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


@export("distribute.experimental.CommunicationOptions")
class CommunicationOptions:
    """The options of exchanges between devices; accepted, replicas exchange values in memory.

    ValueError for a negative size.

    >>> import talweg as tf
    >>> tf.distribute.experimental.CommunicationOptions(bytes_per_pack=1024).bytes_per_pack
    1024
    """

    def __init__(
        self,
        bytes_per_pack: int = 0,
        timeout_seconds: float | None = None,
        implementation: object = CommunicationImplementation.AUTO,
    ):
        if bytes_per_pack < 0:
            raise value_error("TW207", f"bytes_per_pack must be >= 0, got {bytes_per_pack}")
        self.bytes_per_pack, self.timeout_seconds = bytes_per_pack, timeout_seconds
        self.implementation = CommunicationImplementation(implementation)


@export("distribute.experimental.CollectiveHints")
class CollectiveHints(CommunicationOptions):
    """The older name of `CommunicationOptions`, without a choice of the implementation.

    >>> import talweg as tf
    >>> tf.distribute.experimental.CollectiveHints(timeout_seconds=2.0).timeout_seconds
    2.0
    """

    def __init__(self, bytes_per_pack: int = 0, timeout_seconds: float | None = None):
        super().__init__(bytes_per_pack, timeout_seconds)


@export("config.experimental_connect_to_cluster")
def connect_to_cluster(
    cluster_spec_or_resolver: Any,
    job_name: str = "localhost",
    task_index: int = 0,
    protocol: str | None = None,
    make_master_device_default: bool = True,
    cluster_device_filters: Any = None,
) -> None:
    """Do nothing for a cluster without machines; UnimplementedError for any other.

    >>> import talweg as tf
    >>> tf.config.experimental_connect_to_cluster(tf.train.ClusterSpec({}))
    """
    spec = cluster_spec_or_resolver
    if not isinstance(spec, ClusterSpec):
        spec = spec.cluster_spec()
    if spec.jobs:
        raise _refusal("experimental_connect_to_cluster")


@export("config.experimental_connect_to_host")
def connect_to_host(remote_host: Any = None, job_name: str = "worker") -> None:
    """Raise UnimplementedError: operations run on this machine.

    >>> import talweg as tf
    >>> try:
    ...     tf.config.experimental_connect_to_host("there:2222")
    ... except tf.errors.UnimplementedError:
    ...     print("one machine")
    one machine
    """
    raise _refusal("experimental_connect_to_host")


@export("config.experimental.ClusterDeviceFilters")
class ClusterDeviceFilters:
    """The devices that tasks of a cluster see; kept.

    >>> import talweg as tf
    >>> filters = tf.config.experimental.ClusterDeviceFilters()
    >>> filters.set_device_filters("worker", 0, ["/job:ps"])
    """

    def __init__(self) -> None:
        self.filters: dict[tuple, list] = {}

    def set_device_filters(self, job_name: str, task_index: int, device_filters: Any) -> None:
        """Let a task see only devices that match."""
        self.filters[job_name, task_index] = list(device_filters)


@export("config.experimental.enable_mlir_bridge")
def enable_mlir_bridge() -> None:
    """Accept the call: talweg has a compiler of its own."""


@export("config.experimental.disable_mlir_bridge")
def disable_mlir_bridge() -> None:
    """Accept the call: talweg has a compiler of its own."""
