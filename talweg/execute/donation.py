"""Buffer donation: ownership of variables' memory, which may be overwritten if unshared.

References are counted.  Whoever asks says how many are known, because they are the asker's own and
will not be read after the value has changed; one more than that, and the value is copied.
"""

from __future__ import annotations

import sys
from sys import getrefcount
from typing import Any

import numpy as np


def _count_of_one() -> int:
    holder = [np.zeros(1)]
    array = holder[0]
    return sys.getrefcount(array)


_WRITABLE = 0x1 | 0x4 | 0x100 | 0x400  # NumPy's flags: row-major, own memory, aligned, writeable
UNSHARED = _count_of_one()  # `sys.getrefcount` of what one container and one local name refer to


def is_writable(array: object) -> bool:
    """Return whether an array has row-major memory of its own that may be written."""
    return type(array) is np.ndarray and array.flags.num & _WRITABLE == _WRITABLE


def to_write(array: Any, alone: bool) -> np.ndarray:
    """Return an array to write to: this one if it is unshared, or a copy."""
    return array if alone and is_writable(array) else np.array(array, order="C")


# References to a device's array that only its variable has: the tensor, this dictionary, the list
# of the program that asks, and the call of `getrefcount`
ON_DEVICE = 4


class OwnedValues(dict):
    """The variables of a body; `outer` is the state of the enclosing program.

    A variable that nothing has changed so far is the outer one's, too, and it decides.
    """

    __slots__ = ("given", "outer", "reserve")

    def __init__(self, outer: Any, values: dict):
        super().__init__(values)
        self.outer = outer
        self.given: set = set()  # variables whose memory a device writes into
        self.reserve = getattr(outer, "reserve", None)  # random streams are the outer one's alone

    def exclusive(self, variable: Any, known: int) -> np.ndarray:
        """Return a variable's array for writing in place, a copy if it is shared.

        `known` references are the caller's.
        """
        if self.outer.get(variable) is self[variable]:
            return exclusive(self.outer, variable, known + 1)
        array = self[variable]
        alone = getrefcount(array) <= UNSHARED + known
        return to_write(array, alone)

    # -- where values are on a device

    def on_device(self, variables: list) -> list:
        """Return the variables' values: arrays of a device, or NumPy's."""
        return [self[v] if v in self else _on_device(self.outer, v) for v in variables]

    def give_away(self, variables: list) -> list[bool]:
        """Return the variables that may be donated: those unchanged since the outer state."""
        found = []
        for variable in variables:
            there = hasattr(self.outer, "give_away")
            alone = there and _on_device(self.outer, variable) is self.get(variable)
            alone = alone and getrefcount(self[variable]) <= ON_DEVICE
            alone = alone and self.outer.give_away([variable])[0]
            if alone:
                self.given.add(variable)
            found.append(alone)
        return found

    def keep(self, variable: Any, array: Any) -> None:
        """Restore a variable whose elements a device now has elsewhere."""
        self[variable] = array
        self.given.discard(variable)
        self.outer.keep(variable, array)

    def note_copy(self, variable: Any, array: Any, copied: Any) -> None:
        """Let the copy that a device has of a variable's value be kept beside it."""
        if self.get(variable) is array:
            self[variable] = copied
        if hasattr(self.outer, "note_copy"):
            self.outer.note_copy(variable, array, copied)

    def replace(self, variables: list, arrays: list) -> None:
        """Assign variables values on a device."""
        for variable, array in zip(variables, arrays):
            self[variable] = array
            if variable in self.given:
                self.given.discard(variable)
                self.outer.replace([variable], [array])


def _on_device(state: Any, variable: Any) -> Any:
    """Return a variable's array, on the device or the host."""
    own = getattr(state, "on_device", None)
    return state.get(variable) if own is None else own([variable])[0]


def exclusive(state: dict, variable: object, known: int) -> np.ndarray:
    """Return a variable's array for writing in place: its own if unshared.

    `known` references to it are the caller's.
    """
    own = getattr(state, "exclusive", None)
    if own is not None:
        return own(variable, known)
    return np.array(state[variable])
