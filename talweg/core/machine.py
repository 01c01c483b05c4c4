"""The device configuration that a program asks for, before anything looks at its devices."""

from __future__ import annotations


class Machine:
    """How the devices of this machine are divided."""

    cpus = 1  # devices that the CPU is divided into


machine = Machine()
