"""tf.data.experimental.service: dispatchers and workers of one process."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.export import export
from talweg.core.dtypes import string
from talweg.core.errors import invalid, type_error, value_error
from talweg.eager.convert import convert_to_tensor
from talweg.pipeline.dataset import Dataset
from talweg.pipeline.service import Dispatcher, Distribute, find_dispatcher

if TYPE_CHECKING:
    from talweg.core.annotations import PathLike
    from talweg.core.value import Tensor

MODES = {"parallel_epochs": 0, "distributed_epoch": 1}
COMPRESSIONS = ("AUTO", "SNAPPY", None)
TARGETS = ("AUTO", "ANY", "LOCAL")


@export("data.experimental.service.ShardingPolicy")
class ShardingPolicy(enum.IntEnum):
    """Names the ways of sharding: each worker gives all elements (OFF), or a share of its own.

    >>> import talweg as tf
    >>> tf.data.experimental.service.ShardingPolicy.DYNAMIC.value
    1
    """

    OFF = 0
    DYNAMIC = 1
    FILE = 2
    DATA = 3
    FILE_OR_DATA = 4
    HINT = 5


class _DispatcherFields(NamedTuple):
    port: int
    protocol: str | None
    work_dir: str | None
    fault_tolerant_mode: bool
    worker_addresses: Any
    job_gc_check_interval_ms: int | None
    job_gc_timeout_ms: int | None
    worker_timeout_ms: int | None
    worker_max_concurrent_snapshots: int


@export("data.experimental.service.DispatcherConfig")
class DispatcherConfig(_DispatcherFields):
    """Settings of a dispatcher: `port` is part of its address, the others are accepted.

    >>> import talweg as tf
    >>> tf.data.experimental.service.DispatcherConfig(port=5050).port
    5050
    """

    def __new__(
        cls,
        port: int = 0,
        protocol: str | None = None,
        work_dir: str | None = None,
        fault_tolerant_mode: bool = False,
        worker_addresses: Any = None,
        job_gc_check_interval_ms: int | None = None,
        job_gc_timeout_ms: int | None = None,
        worker_timeout_ms: int | None = None,
        worker_max_concurrent_snapshots: int = 0,
    ) -> Any:
        rest = worker_addresses, job_gc_check_interval_ms or 0, job_gc_timeout_ms or 0
        return super().__new__(
            cls,
            port,
            protocol or "grpc",
            work_dir,
            fault_tolerant_mode,
            *rest,
            worker_timeout_ms,
            worker_max_concurrent_snapshots,
        )


class _WorkerFields(NamedTuple):
    dispatcher_address: str
    worker_address: str | None
    port: int
    protocol: str | None
    heartbeat_interval_ms: int | None
    dispatcher_timeout_ms: int | None
    data_transfer_protocol: str | None
    data_transfer_address: str | None


@export("data.experimental.service.WorkerConfig")
class WorkerConfig(_WorkerFields):
    """Settings of a worker: the address of its dispatcher; the others are accepted.

    >>> import talweg as tf
    >>> tf.data.experimental.service.WorkerConfig("localhost:5050").dispatcher_address
    'localhost:5050'
    """

    def __new__(
        cls,
        dispatcher_address: str,
        worker_address: str | None = None,
        port: int = 0,
        protocol: str | None = None,
        heartbeat_interval_ms: int | None = None,
        dispatcher_timeout_ms: int | None = None,
        data_transfer_protocol: str | None = None,
        data_transfer_address: str | None = None,
    ) -> Any:
        return super().__new__(
            cls,
            dispatcher_address,
            worker_address or "localhost:%port%",
            port,
            protocol or "grpc",
            heartbeat_interval_ms or 0,
            dispatcher_timeout_ms or 0,
            data_transfer_protocol,
            data_transfer_address or "localhost:%dts_port%",
        )


class LocalServer:
    """A dispatcher or worker of this process: it starts once, stops once, others wait for that."""

    def __init__(self) -> None:
        self._over = threading.Event()

    def join(self) -> None:
        """Wait until it is stopped."""
        self._over.wait()


@export("data.experimental.service.DispatchServer")
class DispatchServer(LocalServer):
    """A dispatcher of tf.data's service, for this process.

    Other processes do not reach it: the address is looked up in this one, and an address that has
    no dispatcher here is refused with UnavailableError.

    >>> import talweg as tf
    >>> service = tf.data.experimental.service
    >>> dispatcher = service.DispatchServer()
    >>> worker = service.WorkerServer(
    ...     service.WorkerConfig(dispatcher_address=dispatcher.target.split("://")[1]))
    >>> dataset = tf.data.Dataset.range(3).apply(
    ...     service.distribute("distributed_epoch", dispatcher.target))
    >>> [int(x) for x in dataset]
    [0, 1, 2]
    """

    def __init__(self, config: DispatcherConfig | None = None, start: bool = True):
        super().__init__()
        self._dispatcher: Dispatcher | None = None
        self._config = config or DispatcherConfig()
        if self._config.fault_tolerant_mode and not self._config.work_dir:
            raise value_error("TW104", "Cannot enable fault tolerant mode without a `work_dir`")
        if start:
            self.start()

    def start(self) -> None:
        """Take the address."""
        if self._dispatcher is None:
            self._dispatcher = Dispatcher(self._config.port)

    @property
    def target(self) -> str:
        """Returns the server's address with its protocol; RuntimeError before it is started."""
        return f"{self._config.protocol}://{self._address}"

    @property
    def _address(self) -> str:
        if self._dispatcher is None:
            raise RuntimeError("The server has not been started.  [TW503]")
        return self._dispatcher.address

    def _num_workers(self) -> int:
        return len(self._dispatcher.workers) if self._dispatcher else 0

    def _stop(self) -> None:
        if self._dispatcher is not None:
            self._dispatcher.stop()
        self._over.set()

    stop = _stop

    def __del__(self) -> None:
        self._stop()


@export("data.experimental.service.WorkerServer")
class WorkerServer(LocalServer):
    """A worker of a dispatcher in this process; UnavailableError where that is not.

    The example is at `DispatchServer`.
    """

    def __init__(self, config: WorkerConfig, start: bool = True):
        super().__init__()
        self._dispatcher: Dispatcher | None = None
        if not config.dispatcher_address:
            raise value_error("TW104", "Must specify a `dispatcher_address` in the `config`")
        self._config = config
        if start:
            self.start()

    def start(self) -> None:
        """Start to work for the dispatcher."""
        if self._dispatcher is None:
            self._dispatcher = find_dispatcher(self._config.dispatcher_address)
            self._dispatcher.workers.append(id(self))

    def _stop(self) -> None:
        if self._dispatcher is not None and id(self) in self._dispatcher.workers:
            self._dispatcher.workers.remove(id(self))
        self._over.set()

    stop = _stop

    def __del__(self) -> None:
        self._stop()


@export("data.experimental.service.CrossTrainerCache")
class CrossTrainerCache:
    """Says that consumers may share elements; ValueError without an id.

    Consumers of one job share an iteration here, each element going to one of them.

    >>> import talweg as tf
    >>> tf.data.experimental.service.CrossTrainerCache("one").trainer_id
    'one'
    """

    def __init__(self, trainer_id: str):
        if not trainer_id:
            raise value_error("TW104", "tf.data service cross-trainer cache requires a trainer ID")
        self.trainer_id = trainer_id


def _check(
    processing_mode: Any,
    service: Any,
    job_name: Any,
    target_workers: Any,
) -> int:
    """Convert a mode to its sharding; ValueError and TypeError for modes that do not go
    together.
    """
    sharding = MODES.get(processing_mode) if isinstance(processing_mode, str) else processing_mode
    if sharding is None or not isinstance(processing_mode, (str, ShardingPolicy)):
        text = f"processing_mode {processing_mode!r}"
        raise value_error("TW207", text, f"a ShardingPolicy, or one of {', '.join(MODES)}")
    if not isinstance(service, (str, tuple)) or not service:
        raise value_error("TW104", f"service {service!r}", "a dispatcher's target, a string")
    if isinstance(service, str) and "://" not in service:
        raise value_error("TW104", f"service {service!r}", "protocol://address")
    if job_name is not None and (not isinstance(job_name, str) or not job_name):
        raise value_error("TW104", f"job_name {job_name!r}", "a string that is not empty, or None")
    if target_workers not in TARGETS:
        raise invalid("TW207", f"target_workers {target_workers!r}", "'AUTO', 'ANY' or 'LOCAL'")
    return int(sharding)


@export("data.experimental.service.distribute")
def distribute(
    processing_mode: Any,
    service: Any,
    job_name: str | None = None,
    consumer_index: Any = None,
    num_consumers: Any = None,
    max_outstanding_requests: Any = None,
    data_transfer_protocol: str | None = None,
    compression: str | None = "AUTO",
    cross_trainer_cache: CrossTrainerCache | None = None,
    target_workers: str = "AUTO",
) -> Callable[[Any], Any]:
    """Return a function for `dataset.apply`: the elements as the workers at `service` give them.

    processing_mode: "parallel_epochs" (each worker gives all elements), "distributed_epoch" (the
    workers together give each element once) or a `ShardingPolicy`.  job_name: datasets with one
    name share the elements of an iteration.  consumer_index and num_consumers: element i goes to
    consumer i % num_consumers.  The rest is accepted.

    UnavailableError without a dispatcher or worker in this process.  The example is at
    `DispatchServer`.
    """
    sharding = _check(processing_mode, service, job_name, target_workers)
    if compression not in COMPRESSIONS:
        raise value_error("TW207", f"compression {compression!r}", "'AUTO', 'SNAPPY' or None")

    def apply(dataset: Any) -> Any:
        dispatcher = find_dispatcher(service if isinstance(service, str) else service[1])
        if num_consumers is not None and consumer_index is not None:
            served = Distribute(dataset.stage, dispatcher, sharding, None)
            return Dataset.of(served, dataset).shard(num_consumers, consumer_index)
        return Dataset.of(Distribute(dataset.stage, dispatcher, sharding, job_name), dataset)

    return apply


@export("data.experimental.service.register_dataset")
def register_dataset(
    service: Any, dataset: Any, compression: str | None = "AUTO", dataset_id: str | None = None
) -> Tensor:
    """Return the id under which a dispatcher keeps a dataset for `from_dataset_id`, a string
    tensor.

    >>> import talweg as tf
    >>> service = tf.data.experimental.service
    >>> dispatcher = service.DispatchServer()
    >>> service.register_dataset(dispatcher.target, tf.data.Dataset.range(3), dataset_id="a")
    <tf.Tensor: shape=(), dtype=string, numpy=b'a'>
    """
    if not hasattr(dataset, "stage"):
        raise type_error("TW104", f"dataset is a {type(dataset).__name__}", "a tf.data.Dataset")
    dispatcher = find_dispatcher(service if isinstance(service, str) else service[1])
    return convert_to_tensor(dispatcher.register(dataset, dataset_id), string)


@export("data.experimental.service.from_dataset_id")
def from_dataset_id(
    processing_mode: Any,
    service: Any,
    dataset_id: Any,
    element_spec: Any = None,
    job_name: str | None = None,
    consumer_index: Any = None,
    num_consumers: Any = None,
    max_outstanding_requests: Any = None,
    data_transfer_protocol: str | None = None,
    cross_trainer_cache: CrossTrainerCache | None = None,
    target_workers: str = "AUTO",
) -> Any:
    """Return `distribute` of the dataset that `register_dataset` gave an id.

    NotFoundError for an id that the dispatcher does not have.
    """
    _check(processing_mode, service, job_name, target_workers)
    dispatcher = find_dispatcher(service if isinstance(service, str) else service[1])
    key = dataset_id.numpy() if hasattr(dataset_id, "numpy") else dataset_id
    key = key.decode() if isinstance(key, bytes) else str(key)
    return dispatcher.dataset(key).apply(
        distribute(processing_mode, service, job_name, consumer_index, num_consumers)
    )


@export("data.experimental.distributed_save")
def distributed_save(
    dataset: Any, path: PathLike, data_service_address: str, compression: str | None = "AUTO"
) -> None:
    """Call `dataset.save`, done before it returns, where the address has a dispatcher."""
    find_dispatcher(data_service_address)
    dataset.save(path)
