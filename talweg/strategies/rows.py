"""Values of variables of several replicas, which devices have: one array, a row for each replica.

A part of such a variable has no value of its own until somebody looks at it or assigns it; as with
`DeviceGroup`, the number of such a part is noted in `touched`.
"""

from __future__ import annotations

import weakref
from typing import Any

from talweg.core import locking
from talweg.eager.device_group import let_groups_keep
from talweg.eager.tensor import wrap

LOCK = locking.new_lock()  # held while a program of replicas runs, or somebody looks


class Rows:
    """The values of the parts of one variable."""

    replaced = True  # a DeviceGroup of such a part takes it over

    def __init__(self, mesh: Any, parts: tuple):
        let_groups_keep()
        self.mesh, self.array = mesh, None
        self.owners = [weakref.ref(part) for part in parts]
        self.touched = list(range(len(parts)))
        self._seen: dict[int, Any] = {}  # what was given to those who looked
        for number, part in enumerate(parts):
            if part._group is not None:
                part._group[0].dissolve()
            part._group = (self, number)

    def look(self, part: Any, number: int) -> Any:
        """Let a part have its value for itself; gives that."""
        with LOCK:
            own = part.__dict__
            if "_tensor" not in own:
                own["_tensor"] = self._seen[number] = wrap(self.mesh.part(self.array, number)[()])
                self.touched.append(number)
            return own["_tensor"]

    def take(self) -> Any:
        """Return the array, in which is what parts had for themselves."""
        if self.touched:
            numbers, self.touched = self.touched, []
            parts = [owner() for owner in self.owners]
            changed = [
                number
                for number in numbers
                if parts[number].__dict__.get("_tensor") is not self._seen.get(number, self)
                and "_tensor" in parts[number].__dict__
            ]
            if changed or self.array is None:
                self.array = self.mesh.put([part._tensor._array for part in parts])
            for part in parts:
                part.__dict__.pop("_tensor", None)
            self.touched.clear()
            self._seen.clear()
        return self.array

    def dissolve(self) -> None:
        """Let every part have its value for itself, and leave."""
        with LOCK:
            for number, owner in enumerate(self.owners):
                part = owner()
                if part is not None and part._group is not None and part._group[0] is self:
                    self.look(part, number) if self.array is not None else None
                    part._group = None


def rows_of(variable: Any, mesh: Any) -> Rows:
    """Return the rows of a variable of several replicas on a mesh."""
    found = getattr(variable, "_rows", None)
    if found is not None and found.mesh is mesh:
        groups = [part._group for part in variable.values]
        if all([group is not None and group[0] is found for group in groups]):
            return found
    found = variable._rows = Rows(mesh, variable.values)
    return found
