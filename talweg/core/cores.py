"""The number of processor cores that this process may use."""

from __future__ import annotations

import os


def count_cores() -> int:
    """How many cores this process may use at a time: its own, as far as its group may use them."""
    return max(1, min(usable_cores(), count_granted_cores()))


def usable_cores() -> int:
    """How many cores this process may run on, however much time it has on them."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def count_granted_cores() -> int:
    """How many cores' time the control group grants; all of them where it says nothing."""
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            granted, period = file.read().split()
        return -(-int(granted) // int(period))
    except (OSError, ValueError):  # "max" is no number
        return os.cpu_count() or 1
