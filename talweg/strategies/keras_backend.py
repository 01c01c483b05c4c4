"""`keras.distribution` on Keras's TensorFlow backend, which leaves most of it out.

When Keras loads its backend on talweg, what is missing there is put in: variables made while a
distribution is set are DVariables with its layouts, batches are shared out as it says, and layers'
results where a `LayoutMap` names them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.api.export import look_up
from talweg.core import dispatch
from talweg.core.errors import value_error

DTENSOR = "experimental.dtensor."


def distribution() -> Any:
    """Return Keras's distribution in force; None without one."""
    from keras.src.backend.common import global_state

    return global_state.get_global_attribute("distribution")


def layout_of(tensor_layout: Any) -> Any:
    """Return the layout of dtensor behind one of Keras."""
    return getattr(tensor_layout, "backend_layout", tensor_layout)


def distribute_tensor(tensor: Any, layout: Any) -> Any:
    """Return a tensor shared out as a layout of Keras says; nests leaf by leaf."""
    if isinstance(tensor, (list, tuple, dict)):
        return look_up("nest.map_structure")(lambda x: distribute_tensor(x, layout), tensor)
    return look_up(DTENSOR + "relayout")(tensor, layout_of(layout))


def distribute_batch(batch: Any, current: Any) -> Any:
    """Return a batch shared out as a distribution says;
    copied to all devices if it does not divide.
    """

    def distribute(x: Any) -> Any:
        shape = getattr(x, "shape", None)
        if shape is None or not shape.rank:
            return x
        layout = layout_of(current.get_data_layout(shape.as_list()))
        size = shape[0]
        if size is not None and size % layout.num_shards(0):
            layout = look_up(DTENSOR + "Layout").replicated(layout.mesh, shape.rank)
        return look_up(DTENSOR + "relayout")(x, layout)

    return look_up("nest.map_structure")(distribute, batch)


def initialize(
    job_addresses: Any = None, num_processes: Any = None, process_id: Any = None
) -> None:
    """Do nothing for one process; ValueError for more."""
    if num_processes not in (None, 1) or (job_addresses and "," in str(job_addresses)):
        raise value_error(
            "TW402",
            f"keras.distribution.initialize: {num_processes} processes at {job_addresses}",
            "one process",
            "tf.distribute.MultiWorkerMirroredStrategy runs on several hosts",
        )


def adapt_backend(backend: Any) -> None:
    """Give the backend what `keras.distribution` asks for, and let variables be shared out."""
    library, variable = backend.distribution_lib, backend.core.Variable
    given: dict[str, Any] = {
        "get_device_count": lambda device_type=None: len(library.list_devices(device_type)),
        "distribute_tensor": distribute_tensor,
        "distribute_value": distribute_tensor,
        "distribute_data_input": lambda batch, layout, name: distribute_tensor(batch, layout),
        "initialize": initialize,
        "num_processes": lambda: 1,
        "process_id": lambda: 0,
    }
    for name, function in given.items():
        if name == "distribute_value" or not hasattr(library, name):
            setattr(library, name, function)
    initialize_whole = variable._initialize

    def initialize_shared(self: Any, value: Any) -> None:
        current = distribution()
        if current is None or isinstance(value, look_up("Variable")):
            initialize_whole(self, value)
            return
        if not callable(value):
            self._shape = self._validate_shape(value.shape)
        if self._layout is None:
            self._layout = current.get_variable_layout(self)
        layout = layout_of(self._layout)
        with dispatch.eagerly():  # whatever function is being traced
            if callable(value):
                value = look_up(DTENSOR + "call_with_layout")(value, layout)
        self._value = look_up(DTENSOR + "DVariable")(
            value,
            layout=layout,
            dtype=self._dtype,
            trainable=self.trainable,
            name=self.name,
            aggregation=self._map_aggregation(self.aggregation),
            synchronization=self._map_synchronization(self.synchronization),
        )

    variable._initialize = initialize_shared


def adapt_trainer(module: Any) -> None:
    """Let steps of Keras's training have batches that are shared out."""
    trainer = module.TensorFlowTrainer
    plain = trainer.distribute_strategy

    def distribute_strategy(self: Any) -> Any:
        found = plain.fget(self)
        return found if distribution() is None else SharedBatches(found)

    trainer.distribute_strategy = property(distribute_strategy)


class SharedBatches:
    """A strategy of one replica whose batches are shared out as Keras's distribution says."""

    def __init__(self, strategy: Any):
        self._strategy = strategy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._strategy, name)

    def run(self, fn: Callable[..., Any], args: tuple = (), kwargs: Any = None) -> Any:
        """Run a function on batches that are shared out."""
        current = distribution()
        if current is not None:
            args = distribute_batch(args, current)
        return self._strategy.run(fn, args=args, kwargs=kwargs)
