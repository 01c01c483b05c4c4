"""The values of a session's variables, which threads that run it share (`core/locking.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.eager.resident import nearest, resident
from talweg.eager.structured import Variables
from talweg.eager.taken import ReplaceableValue
from talweg.eager.tensor import wrap
from talweg.execute.interpret import MISSING

if TYPE_CHECKING:
    from talweg.graph.handle import Handle


class SessionValue(ReplaceableValue):
    """Holds a session's value of a variable; MISSING before it is initialized."""

    def __init__(self) -> None:
        self._tensor = wrap(MISSING)

    def _replace(self, array: np.generic | np.ndarray) -> None:
        self._tensor = wrap(array)


class SessionVariables(Variables):
    """The variables of a session, by their handles, and the random streams of its operations."""

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[Any, SessionValue] = {}

    def owner(self, handle: Handle) -> Any:
        """Return the value whose lock is held while a variable is changed."""
        found = self._values.get(handle)
        return self._values.setdefault(handle, SessionValue()) if found is None else found

    def __iter__(self) -> Iterator[Any]:
        """Return the variables that have a value."""
        values = self._values
        return iter([key for key in list(values) if self._has_value(values[key])])

    def _has_value(self, value: SessionValue) -> bool:
        return nearest(value.present()) is not MISSING

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, handle: Handle) -> bool:
        return handle in self._values and self._has_value(self._values[handle])

    def replace(self, handles: list, arrays: list) -> None:
        """Let variables have values that a device has; observers are told of eager ones only."""
        for handle, array in zip(handles, arrays):
            owner = self.owner(handle)
            owner._tensor, owner._taken = resident(array), None

    def clear(self) -> None:
        """Let go of all values."""
        self._values.clear()
        self.streams.clear()


class SessionState:
    """The state of one run of a session: what it was fed with belongs to others."""

    def __init__(self, variables: SessionVariables, fed: list):
        self._variables, self._fed = variables, fed
        self.get, self.exclusive = variables.get, variables.exclusive
        self.owner, self.owners, self.put_back = (
            variables.owner,
            variables.owners,
            variables.put_back,
        )
        self.reserve, self.settle = variables.reserve, variables.settle
        self.on_device, self.give_away = variables.on_device, variables.give_away
        self.keep, self.replace = variables.keep, variables.replace
        self.note_copy = variables.note_copy

    def __getitem__(self, handle: Handle) -> Any:
        return self._variables.get(handle)

    def __setitem__(self, handle: Handle, array: np.generic | np.ndarray) -> None:
        if type(array) is np.ndarray and any([array is given for given in self._fed]):
            array = np.array(array)
        self._variables[handle] = array
