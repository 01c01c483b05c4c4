"""Multi-process runs, joined by JAX: each process has devices, and they exchange arrays.

JAX's own service, which the processes need to find each other, ends a process whose peer is gone.
So they leave it as soon as they are connected (where their devices are CPUs: gloo's connections
need it no more); who is lost is then said by `strategies/meeting.py`, and operations fail.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core.machine import machine
from talweg.core.transfers import fetch, note_sent
from talweg.execute.xla import engine
from talweg.execute.xla.engine import jax

LEAST = 64  # elements of what is exchanged


def join(address: str, count: int, number: int, seconds: float) -> None:
    """Make this process one of several; RuntimeError if JAX has begun before."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    with contextlib.suppress(AttributeError):  # of versions that have no such option
        jax.config.update("jax_enable_recoverability", True)
    jax.distributed.initialize(
        address, count, number, initialization_timeout=max(1, round(seconds))
    )


def part() -> None:
    """Leave the service by which the processes found each other."""
    jax.distributed.shutdown()


def is_cpu() -> bool:
    """Return whether the devices are CPUs."""
    return jax.local_devices()[0].platform == "cpu"


def devices_of_all(kind: str, count: int) -> list[list]:
    """Return this many devices of a kind of each process, by process."""
    found: dict[int, list] = {}
    for device in jax.devices(machine.platforms.get(kind, kind).lower()):
        found.setdefault(device.process_index, []).append(device)
    return [found[number][:count] for number in sorted(found)]


class WorkerMesh:
    """Devices, `each` of every process, for exchanges outside of programs."""

    def __init__(self, devices: list, each: int = 1):
        self.count, self._each = len(devices), each
        mesh = jax.sharding.Mesh(np.array(devices), ("worker",))
        spec = jax.sharding.PartitionSpec
        self._rows = jax.sharding.NamedSharding(mesh, spec("worker"))
        everywhere = jax.sharding.NamedSharding(mesh, spec())
        self._sum = jax.jit(lambda x: x.sum(0, dtype=x.dtype), out_shardings=everywhere)
        self._all = jax.jit(lambda x: x, out_shardings=everywhere)

    def sum(self, flat: np.ndarray) -> np.ndarray:
        """Sum one vector of each process."""
        return self._exchange(self._sum, flat)[: flat.size]

    def rows(self, flat: np.ndarray) -> np.ndarray:
        """Return the vectors of all processes, which are of one length."""
        return self._exchange(self._all, flat)[:, : flat.size]

    def _exchange(self, function: Callable[..., Any], flat: np.ndarray) -> np.ndarray:
        size = round_up_size(flat.size)
        row = np.zeros((self._each, size), flat.dtype)
        row[0, : flat.size] = flat
        note_sent((row,))
        with engine.wide():
            array = jax.make_array_from_process_local_data(self._rows, row, (self.count, size))
            return fetch(function(array))


def round_up_size(size: int) -> int:
    """Round a size up to one of few: 8 between two powers of two."""
    if size <= LEAST:
        return LEAST
    step = 1 << max(0, (size - 1).bit_length() - 4)
    return -(-size // step) * step


class Watched:
    """A thread for work that may block for ever, while the caller checks for lost peers."""

    def __init__(self) -> None:
        self._ready = threading.Semaphore(0)
        self._done = threading.Semaphore(0)
        self._work: Any = None
        self._found: tuple[Any, BaseException | None] = (None, None)
        self._asking = threading.Lock()
        self._stuck = False
        threading.Thread(target=self._run, daemon=True, name="talweg exchange").start()

    def _run(self) -> None:
        while True:
            self._ready.acquire()
            try:
                self._found = self._work(), None
            except BaseException as error:  # noqa: BLE001 -- raised where it was asked for
                self._found = None, error
            self._work = None
            self._done.release()

    def run(self, work: Callable[[], Any], lost: Callable[[], str | None]) -> Any:
        """Run `work` and return its result; TimeoutError, with the lost peers, if it blocks."""
        with self._asking:
            if self._stuck:
                raise TimeoutError(lost() or "an exchange has not ended")
            self._work = work
            self._ready.release()
            while not self._done.acquire(timeout=0.5):
                who = lost()
                if who is not None and not self._done.acquire(timeout=2.0):
                    self._stuck = True
                    raise TimeoutError(who)
            result, error = self._found
            self._found = None, None
        if error is not None:
            raise error
        return result
