"""The devices of this machine, and a program's settings for their use.

GPUs are counted without JAX: by the driver's list, where JAX's plugin for them is installed.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

DRIVER = "/proc/driver/nvidia/gpus"  # a folder for each GPU
PLUGINS = ("jax_cuda13_plugin", "jax_cuda12_plugin")


class Machine:
    """The devices of this machine."""

    cpus = 1  # devices that the CPU is divided into

    def __init__(self) -> None:
        self._gpus: int | None = None  # how many there are, once that was asked
        self.hidden: frozenset[int] = frozenset()  # GPUs that the program does not want
        self.platforms: dict[str, str] = {}  # JAX's names of kinds, where they are others
        self.tasks = {("localhost", 0)}  # (job, task) whose devices eager code may name

    @property
    def gpus(self) -> int:
        """Count the GPUs that JAX can use."""
        if self._gpus is None:
            self._gpus = count_gpus()
        return self._gpus

    @property
    def visible_gpus(self) -> list[int]:
        """The numbers of the GPUs that the program uses."""
        return [number for number in range(self.gpus) if number not in self.hidden]


def count_gpus() -> int:
    """Return the number of GPUs that the driver lists and the environment lets this process see."""
    try:
        found = len(os.listdir(DRIVER))
    except OSError:
        return 0
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        names = [name.strip() for name in visible.split(",")]
        none = [k for k, name in enumerate(names) if name in ("", "-1")]
        found = min(found, none[0] if none else len(names))
    return found if any([find_spec(name) for name in PLUGINS]) else 0


machine = Machine()
