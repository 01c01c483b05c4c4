"""Tests whose values are on devices of this process leave tensors and variables as they were.

The first value on a device changes how all eager tensors answer for their sizes, and how variables
hold theirs, for the rest of the process: later tests would count what that costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from talweg.eager.taken import ReplaceableValue
from talweg.eager.tensor import EagerTensor
from talweg.trace.options import options

NAMES = ("dims", "ndim", "dtype", "nbytes", "device", "backing_device", "__getattr__")


@contextmanager
def devices_forgotten() -> Iterator[None]:
    """The block, after which eager tensors have arrays again, and no other values."""
    before = {name: EagerTensor.__dict__[name] for name in NAMES if name in EagerTensor.__dict__}
    try:
        yield
    finally:
        if "_tensor" in ReplaceableValue.__dict__:
            del ReplaceableValue._tensor
        options.devices = False
        options.change()
        for name in NAMES:
            if name in before:
                setattr(EagerTensor, name, before[name])
            elif name in EagerTensor.__dict__:
                delattr(EagerTensor, name)
