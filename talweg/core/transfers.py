"""Counts of the bytes that are copied between the host and devices.

Whatever copies values goes through here, so that tests and benchmarks can ask for the counts
(`python -m benchmarks devices`).  They are not exact where threads copy at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


class Transfers:
    """The bytes copied so far, in each direction."""

    __slots__ = ("to_device", "to_host")

    def __init__(self) -> None:
        self.to_device = self.to_host = 0


transfers = Transfers()


def fetch(array: Any) -> Any:
    """Return a device's array as one of NumPy; others as they are."""
    if not hasattr(array, "devices"):
        return array
    transfers.to_host += array.nbytes
    return np.asarray(array)


def note_sent(arrays: Iterable[Any]) -> None:
    """Note that a device is given arrays: those of NumPy are copied to it."""
    for array in arrays:
        if not hasattr(array, "devices"):
            transfers.to_device += array.nbytes


def is_true(flag: Any) -> bool:
    """Return whether a device's flag is set: a byte that is fetched."""
    transfers.to_host += 1
    return bool(flag)
