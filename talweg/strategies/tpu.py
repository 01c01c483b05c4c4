"""tf.distribute.TPUStrategy: a replica on each core of the TPUs that JAX has in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.device import full_device
from talweg.api.export import export
from talweg.core.errors import (
    FailedPreconditionError,
    NotFoundError,
    UnimplementedError,
    compose,
)
from talweg.core.lazy import LazyModule
from talweg.execute import executor
from talweg.strategies.mirrored import SeveralReplicas

if TYPE_CHECKING:
    from talweg.execute.xla import engine
else:
    engine = LazyModule("talweg.execute.xla.engine")


def cores() -> list[str]:
    """Return the names of the TPU cores that JAX has here; NotFoundError where it has none."""
    why = "JAX has none on this machine"
    try:
        found = engine.devices("TPU")
    except FailedPreconditionError:
        found, why = [], "JAX, which would know of them, is not installed (pip install talweg[xla])"
    if not found:
        hint = "tf.distribute.MirroredStrategy, for CPUs and GPUs"
        raise NotFoundError(None, None, compose("TW402", f"No TPU devices found: {why}", hint=hint))
    return [full_device(f"TPU:{number}") for number in range(len(found))]


@export("distribute.TPUStrategy", "distribute.experimental.TPUStrategy")
class TPUStrategy(SeveralReplicas):
    """A replica on each core of the TPUs of this machine; functions run through XLA from then on.

    >>> import talweg as tf
    >>> isinstance(tf.distribute.get_strategy(), tf.distribute.TPUStrategy)
    False
    """

    def __init__(
        self,
        tpu_cluster_resolver: Any = None,
        experimental_device_assignment: Any = None,
        experimental_spmd_xla_partitioning: bool = False,
    ):
        if experimental_device_assignment is not None:
            text = "experimental_device_assignment: every core has one replica"
            raise UnimplementedError(None, None, compose("TW402", text, "None"))
        found = cores()
        if executor.chosen.value == "auto":
            executor.chosen.set("xla")
        super().__init__(found)


@export("tpu.experimental.initialize_tpu_system")
def initialize_tpu_system(cluster_resolver: Any = None) -> None:
    """Check that this process has TPUs, which JAX has made ready by then.

    cluster_resolver: what `tf.distribute.cluster_resolver.TPUClusterResolver` gives.  Returns
    nothing: every core has one replica, so there is no topology to place them by.  NotFoundError
    where there are no TPUs.

    >>> import talweg as tf
    >>> try:
    ...     tf.tpu.experimental.initialize_tpu_system()
    ... except tf.errors.NotFoundError:
    ...     strategy = tf.distribute.get_strategy()
    """
    cores()


@export("tpu.experimental.shutdown_tpu_system")
def shutdown_tpu_system(cluster_resolver: Any = None) -> None:
    """Check that this process has TPUs; JAX lets go of them when the process ends.

    cluster_resolver: as for `tf.tpu.experimental.initialize_tpu_system`.  NotFoundError where there
    are no TPUs.
    """
    cores()
