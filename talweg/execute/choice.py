"""Which executor runs programs: the setting, and whether there is a GPU."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch, settings
from talweg.core.lazy import LazyModule
from talweg.core.machine import machine

if TYPE_CHECKING:
    from talweg.execute.xla import engine
    from talweg.passes.functionalize import Program
else:
    engine = LazyModule("talweg.execute.xla.engine")

chosen = settings.executor
with contextlib.suppress(ValueError):  # of a wrong value the first run tells
    chosen.get()  # from here on `chosen.value` is the one in force, without a call
_by_devices = False  # whether xla was chosen because there is a GPU


def follow_devices() -> None:
    """Choose XLA where the program uses a GPU, if it chose no executor itself."""
    global _by_devices
    if chosen.value == "auto" and machine.visible_gpus:
        chosen.set("xla")
        _by_devices = True
    elif _by_devices and chosen.value == "xla" and not machine.visible_gpus:
        chosen.set("auto")
        _by_devices = False


class _Host(threading.local):
    """Whether this thread computes elements of a dataset, which are the host's work."""

    inside = False


_host = _Host()


def on_host(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function whose programs do not run through XLA."""
    before, _host.inside = _host.inside, True
    try:
        return function(*arguments)
    finally:
        _host.inside = before


def near_values(handles: list, state: Any, stay: bool) -> list:
    """Return variables' values as a device has them; with `stay` those of NumPy are copied to it.

    The copies are kept beside the values, for the next call.
    """
    arrays = state.on_device(handles)
    for number, array in enumerate(arrays) if stay else ():
        if isinstance(array, (np.ndarray, np.generic)) and array.dtype.kind != "O":
            arrays[number] = put(array)
            state.note_copy(handles[number], array, arrays[number])
    return arrays


class Placing:
    """Whether `tf.device` has placed a function on another device than the default one."""

    used = False


placing = Placing()


def target(program: Program | None = None) -> Any:
    """Return JAX's device that `tf.device` names inside or around a program.

    None for the default one, and in replicas, which have devices of their own.
    """
    name = None if program is None else program.device
    if name is None:
        name = dispatch.context.device
    if dispatch.context.replica is not None:
        return None
    found = engine.first_visible() if name is None else engine.device_named(name)
    if found is not None:
        placing.used = True
    return found


def is_placeable() -> bool:
    """Return whether what is called now can run where `tf.device` names a device, or none."""
    name = dispatch.context.device
    return name is None or dispatch.context.replica is None and not is_on_cpu()


def name_of_device(array: Any) -> str:
    """Return the kind and number of the device that has an array: "CPU:1"."""
    return engine.name_of_device(array)


def is_on_cpu() -> bool:
    """Return whether talweg's own executors run programs, though XLA is chosen.

    They do in datasets, and in `tf.device` of the CPU if XLA was chosen because of a GPU.
    """
    return _host.inside or _by_devices and "CPU" in (dispatch.context.device or "")


def is_on_device() -> bool:
    """Return whether calls of functions run through XLA."""
    return chosen.value == "xla" and not is_on_cpu()


def put(array: Any) -> Any:
    """Copy an array of NumPy to the device."""
    return engine.put(array)


follow_devices()
