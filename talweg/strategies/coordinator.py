"""tf.distribute.coordinator: the values of workers, which programs ask about.

talweg has no workers (`ClusterCoordinator` says so), so nothing makes such values.
"""

from __future__ import annotations

from typing import Any

from talweg.api.export import export


@export(
    "distribute.coordinator.PerWorkerValue",
    "distribute.experimental.coordinator.PerWorkerValues",
)
class PerWorkerValue:
    """A value for each worker of a cluster.

    >>> import talweg as tf
    >>> tf.distribute.coordinator.PerWorkerValue([1, 2])
    PerWorkerValue([1, 2])
    """

    def __init__(self, values: Any):
        self._values = tuple(values)

    def __repr__(self) -> str:
        return f"PerWorkerValue({list(self._values)!r})"


@export("distribute.coordinator.RemoteValue", "distribute.experimental.coordinator.RemoteValue")
class RemoteValue:
    """The result of a function that a worker runs; subclasses say where it is.

    >>> import talweg as tf
    >>> isinstance(tf.constant(1.0), tf.distribute.coordinator.RemoteValue)
    False
    """

    def fetch(self) -> Any:
        """Return the result as NumPy values, once it is there."""
        raise NotImplementedError("RemoteValue.fetch: subclasses say where the result is")

    def get(self) -> Any:
        """Return the result as tensors, once it is there."""
        raise NotImplementedError("RemoteValue.get: subclasses say where the result is")


@export("distribute.coordinator.experimental_get_current_worker_index")
def get_current_worker_index() -> int:
    """Return the number of the worker that runs this: RuntimeError, since there is none.

    >>> import talweg as tf
    >>> try:
    ...     tf.distribute.coordinator.experimental_get_current_worker_index()
    ... except RuntimeError:
    ...     print("no worker")
    no worker
    """
    raise RuntimeError(
        "Cannot retrieve the worker index: this is no worker of a ClusterCoordinator  [TW402]"
    )
