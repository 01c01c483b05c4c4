"""A variable whose value is taken away while somebody writes into it (`core/locking.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core import locking
from talweg.core.errors import OutOfRangeError, compose
from talweg.eager.tensor import wrap


class ReplaceableValue:
    """The part of `tf.Variable` that lets a value be written in place, unseen by others."""

    _held: int | None = None  # the thread that changes it
    _taken: Any = None  # the value, while that thread writes into it
    _tensor: Any  # None meanwhile
    _group: Any = None  # whose value a device keeps with others: (DeviceGroup, number)

    assign_add: Callable[..., Any]
    _name: str

    def take(self) -> Any:
        """Take the value away, to write into it: readers wait until it is no longer held."""
        tensor = self._taken
        if tensor is None:
            self._taken = tensor = self._tensor
            self._tensor = None
        return tensor

    def put_back(self) -> None:
        """Let the value that was taken away be there again, unless there is a new one."""
        tensor, self._taken = self._taken, None
        if self._tensor is None:
            self._tensor = tensor

    def present(self) -> Any:
        """Return the value; while another thread writes into it, the one after that.

        Python that is called from such a run, or that it waits for, gets what is there by now.
        """
        tensor = self._tensor
        return locking.wait_to_read(self) if tensor is None else tensor

    def lend(self) -> Any:
        """Let the value written so far, by a run that is in Python, be the variable's."""
        if self._tensor is None:
            self._tensor, self._taken = wrap(np.array(self._taken._array)), None
        return self._tensor

    def count_up_to(self, limit: int) -> Any:
        """Add 1 unless that passes `limit` (OutOfRangeError); returns the value before."""
        with locking.holding(self):
            before = self.present()
            if int(before) >= limit:
                text = compose("TW206", f"Reached limit of {limit} in variable '{self._name}'")
                raise OutOfRangeError(None, None, text)
            self.assign_add(1)
        return before
