"""Which executor runs programs: the setting, and whether there is a GPU."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch, settings
from talweg.core.lazy import LazyModule
from talweg.core.machine import machine

if TYPE_CHECKING:
    from talweg.execute.xla import engine
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
