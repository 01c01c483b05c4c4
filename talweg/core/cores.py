"""The number of processor cores that this process may use."""

from __future__ import annotations

import math
import os

GROUPS = "/proc/self/cgroup"
ROOT = "/sys/fs/cgroup"


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
    """Count the cores whose time the control groups grant; all of them where they say nothing."""
    granted = [quota for group in control_groups() if (quota := read_quota(group)) is not None]
    return min([os.cpu_count() or 1, *(math.ceil(quota) for quota in granted)])


def control_groups() -> list[str]:
    """Return the folders of this process's group of the CPU controller and of those around it.

    In a container the first one may be named as the host sees it, and then be missing here.
    """
    folders: list[str] = []
    try:
        with open(GROUPS) as file:
            lines = file.read().splitlines()
    except OSError:  # not Linux
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        mounts = [controllers, "cpu"] if controllers else [""]  # version 1, else version 2
        parts = [part for part in path.split("/") if part]
        for depth in range(len(parts), -1, -1):
            folders += [os.path.join(ROOT, mount, *parts[:depth]) for mount in mounts]
    return list(dict.fromkeys(folders))


def read_quota(group: str) -> float | None:
    """Return how many cores' time a control group has; None where it has no limit."""
    try:
        if os.path.exists(path := os.path.join(group, "cpu.max")):
            with open(path) as file:
                granted, period = file.read().split()
        else:
            with open(os.path.join(group, "cpu.cfs_quota_us")) as file:
                granted = file.read()
            with open(os.path.join(group, "cpu.cfs_period_us")) as file:
                period = file.read()
        quota = int(granted) / int(period)
    except (OSError, ValueError, ZeroDivisionError):  # "max" is no number
        return None
    return quota if quota > 0 else None
