"""Cluster resolvers name the machines of a cluster (`tf.distribute.cluster_resolver`).

They describe; talweg runs on the machine it is on.
"""

from __future__ import annotations

import enum
import json
import os
from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.core.errors import NotFoundError, UnimplementedError, compose, type_error, value_error
from talweg.strategies.cluster_spec import ClusterSpec

if TYPE_CHECKING:
    pass

_PLACE = "distribute.cluster_resolver."


@export(f"{_PLACE}ClusterResolver")
class ClusterResolver:
    """The base of all resolvers (`tf.distribute.cluster_resolver.ClusterResolver`).

    >>> import talweg as tf
    >>> kinds = tf.distribute.cluster_resolver
    >>> issubclass(kinds.SimpleClusterResolver, kinds.ClusterResolver)
    True
    """

    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None
    environment: str | None = ""

    def cluster_spec(self) -> ClusterSpec:
        """Return the machines."""
        raise NotImplementedError

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return the address of a task, with the protocol in front; '' where nobody knows it."""
        kind = self.task_type if task_type is None else task_type
        number = self.task_id if task_id is None else task_id
        if kind is None or number is None:
            return ""
        return self._with_layer(self.cluster_spec().task_address(kind, number), rpc_layer)

    def _with_layer(self, address: str, rpc_layer: str | None) -> str:
        layer = rpc_layer or self.rpc_layer
        return f"{layer}://{address}" if layer and address else address

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: Any = None,
    ) -> dict:
        """Return the accelerators of each task: none."""
        return {}


@export(f"{_PLACE}SimpleClusterResolver")
class SimpleClusterResolver(ClusterResolver):
    """A resolver of given answers (`tf.distribute.cluster_resolver.SimpleClusterResolver`).

    TypeError unless `cluster_spec` is a `tf.train.ClusterSpec`.

    >>> import talweg as tf
    >>> spec = tf.train.ClusterSpec({"worker": ["one:1", "two:2"]})
    >>> tf.distribute.cluster_resolver.SimpleClusterResolver(spec).master("worker", 1)
    'two:2'
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: dict | None = None,
        rpc_layer: str | None = None,
    ):
        if not isinstance(cluster_spec, ClusterSpec):
            raise type_error("TW104", "cluster_spec must be a `tf.train.ClusterSpec`.")
        self._spec, self._master = cluster_spec, master
        self.task_type, self.task_id = task_type, task_id
        self.environment, self.rpc_layer = environment, rpc_layer
        self._accelerators = num_accelerators

    def cluster_spec(self) -> ClusterSpec:
        """Return the machines."""
        return self._spec

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return the address of a task; without one that of the master it was told."""
        if task_type is None or task_id is None:
            return self._with_layer(self._master, rpc_layer)
        return super().master(task_type, task_id, rpc_layer)

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: Any = None,
    ) -> dict:
        """Return the accelerators of each task, as it was told."""
        return dict(self._accelerators or {})


@export(f"{_PLACE}TFConfigClusterResolver")
class TFConfigClusterResolver(ClusterResolver):
    """A resolver that reads the environment variable TF_CONFIG each time it is asked.

    >>> import talweg as tf
    >>> tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec()
    ClusterSpec({})
    """

    environment = None

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ):
        self._given = task_type, task_id, rpc_layer
        self.environment = environment

    def _config(self) -> dict:
        return json.loads(os.environ.get("TF_CONFIG", "{}"))

    @property
    def task_type(self) -> str | None:  # type: ignore[override]
        """The job of this machine."""
        return self._given[0] or self._config().get("task", {}).get("type")

    @property
    def task_id(self) -> int | None:  # type: ignore[override]
        """The number of this machine in its job."""
        found = self._given[1]
        found = self._config().get("task", {}).get("index") if found is None else found
        return None if found is None else int(found)

    @property
    def rpc_layer(self) -> str | None:  # type: ignore[override]
        """The protocol; grpc if nothing is said."""
        return self._given[2] or self._config().get("rpc_layer") or "grpc"

    def cluster_spec(self) -> ClusterSpec:
        """Return the machines."""
        return ClusterSpec(self._config().get("cluster", {}))


@export(f"{_PLACE}UnionResolver")
class UnionResolver(ClusterResolver):
    """The machines of several resolvers; all else is as the first one says.

    ValueError without resolvers, TypeError for what is none.

    >>> import talweg as tf
    >>> kinds = tf.distribute.cluster_resolver
    >>> parts = [tf.train.ClusterSpec({"worker": [name]}) for name in ("one:1", "two:2")]
    >>> kinds.UnionResolver(*map(kinds.SimpleClusterResolver, parts)).cluster_spec()
    ClusterSpec({'worker': ['one:1', 'two:2']})
    """

    def __init__(self, *args: object, **kwargs: object):
        if not args:
            raise value_error("TW207", "At least one ClusterResolver is required.")
        for resolver in args:
            if not isinstance(resolver, ClusterResolver):
                raise type_error("TW104", f"{resolver!r} is no ClusterResolver")
        self._resolvers = args
        first = args[0]
        self.task_type = kwargs.get("task_type", first.task_type)
        self.task_id = kwargs.get("task_id", first.task_id)
        self.rpc_layer = kwargs.get("rpc_layer", first.rpc_layer)
        self.environment = first.environment

    def cluster_spec(self) -> ClusterSpec:
        """Return the machines of all, those of one job one after the other."""
        found: dict[str, list] = {}
        for resolver in self._resolvers:
            spec = resolver.cluster_spec()
            for job in spec.jobs:
                found.setdefault(job, []).extend(spec.job_tasks(job))
        return ClusterSpec(found)

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return the address of a task; without one the first resolver's answer."""
        if task_type is None or task_id is None:
            return self._resolvers[0].master()
        return super().master(task_type, task_id, rpc_layer)


def _elsewhere(name: str, what: str) -> None:
    """Refuse a resolver of a service that talweg does not ask."""

    def refuse(self: Any, *args: object, **kwargs: object) -> None:
        raise UnimplementedError(
            None,
            None,
            compose(
                "TW402",
                f"{name} asks {what}; talweg runs on the machine it is on",
                hint="tf.distribute.MirroredStrategy",
            ),
        )

    text = f"Asks {what}: UnimplementedError, since talweg runs on one machine."
    export(_PLACE + name)(type(name, (ClusterResolver,), {"__init__": refuse, "__doc__": text}))


_elsewhere("GCEClusterResolver", "Google Compute Engine")
_elsewhere("KubernetesClusterResolver", "Kubernetes")


@export(f"{_PLACE}TPUClusterResolver")
class TPUClusterResolver(ClusterResolver):
    """The TPUs of this machine: `tpu` is "local", or "" or None where it has some.

    ValueError without a name on a machine without TPUs, by which programs tell whether there are
    any; UnimplementedError for the name or address of a service.

    >>> import talweg as tf
    >>> tf.distribute.cluster_resolver.TPUClusterResolver("local").master()
    ''
    """

    def __init__(
        self,
        tpu: str | None = None,
        zone: str | None = None,
        project: str | None = None,
        job_name: str = "worker",
        coordinator_name: str | None = None,
        coordinator_address: str | None = None,
        credentials: str = "default",
        service: Any = None,
        discovery_url: str | None = None,
    ):
        if not tpu:
            try:
                look_up("tpu.experimental.initialize_tpu_system")()
            except NotFoundError as error:
                text = "TPUClusterResolver: no name of a TPU, and this machine has none"
                raise value_error("TW402", text, 'tpu="local", where there are TPUs') from error
        elif tpu != "local":
            text = f"TPUClusterResolver: {tpu!r} is a service for TPUs, which talweg does not ask"
            hint = 'run the program on the TPU\'s machine, with TPUClusterResolver("local")'
            raise UnimplementedError(
                None,
                None,
                compose("TW402", text, 'tpu="local", for those of this machine', hint=hint),
            )
        self.task_type, self.task_id = job_name, 0

    def cluster_spec(self) -> ClusterSpec:
        """Return no other tasks: the TPUs are those of this machine."""
        return ClusterSpec({})

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return '': the TPUs are in this process."""
        return ""


@export(_PLACE + "KubernetesExecutableLocation")
class ExecutableLocation(enum.Enum):
    """The place of a program that asks Kubernetes for its cluster.

    >>> import talweg as tf
    >>> tf.distribute.cluster_resolver.KubernetesExecutableLocation.OFF_CLUSTER.value
    1
    """

    WITHIN_CLUSTER = 0
    OFF_CLUSTER = 1
