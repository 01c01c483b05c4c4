"""The number of processor cores that this process may use."""

from __future__ import annotations

import os


def count_cores() -> int:
    """Count the cores that this process may use at a time: its own, within its group's share."""
    return max(1, min(usable_cores(), count_granted_cores()))


def usable_cores() -> int:
    """Count the cores that this process may run on, however much time it has on them."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def count_granted_cores() -> int:
    """Count the cores whose time the control group grants; all of them where it says nothing."""
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            granted, period = file.read().split()
        return -(-int(granted) // int(period))
    except (OSError, ValueError):  # "max" is no number
        return os.cpu_count() or 1
