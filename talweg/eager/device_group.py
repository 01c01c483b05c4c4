"""Variables whose values a device keeps together, as one tuple of arrays between steps.

Steps that come one after the other take the tuple and leave a new one; nothing is done for each
variable.  Who looks at a variable or assigns it, anybody and from any thread, does so as ever: its
value is then its own (`_tensor` in the variable's dictionary), and the group has noted its number
in `touched`.  The next step takes those values in again.

So that reading is noticed, `_tensor` becomes a property of variables with the first group: who has
no device does not pay for it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from sys import getrefcount
from threading import get_ident
from typing import Any

from talweg.core import locking
from talweg.eager.resident import nearest, resident
from talweg.eager.taken import ReplaceableValue

ALONE = 2  # `getrefcount` of a tensor that one local name refers to


class DeviceGroup:
    """The variables that some programs use, and the arrays that a device has of their values.

    `lock` is held while a step runs, and while a value is looked at.  `arrays[i]` counts for every
    variable that has no value of its own.
    """

    def __init__(self) -> None:
        self.lock = locking.new_lock()
        self.owners: list[Callable[[], Any]] = []  # give the variables; None of those that are gone
        self.arrays: tuple = ()
        self.touched: list[int] = []
        self.device: Any = None  # that has all arrays, where programs run on several
        self.replaced = False  # whether another group has its variables now

    def join(self, variables: Iterable[Any]) -> None:
        """Let variables be in this group, which it takes in before the next step."""
        for variable in variables:
            number = len(self.owners)
            self.owners.append(weakref.ref(variable, self._forget))
            self.touched.append(number)
            variable._group = (self, number)
        self.arrays = (*self.arrays, *[None] * (len(self.owners) - len(self.arrays)))

    def _forget(self, gone: object) -> None:
        """Let nothing be kept of a variable that is gone, once the next step looks."""
        self.replaced = True

    def look(self, variable: Any, number: int) -> Any:
        """Let a variable have its value for itself; gives that."""
        with self.lock:
            own = variable.__dict__
            if "_tensor" not in own:
                own["_tensor"] = resident(self.arrays[number])
                self.touched.append(number)
            return own["_tensor"]

    def take_in(self, put: Callable[[Any], Any], copy: Callable[[Any], Any]) -> bool:
        """Take values in again that variables had for themselves; False where somebody holds one.

        put: what brings NumPy's array to the device; copy: what copies an array there, since
        memory that a tensor refers to is not given away.
        """
        me, held = get_ident(), []
        numbers, self.touched = list(dict.fromkeys(self.touched)), []
        arrays, self.device = list(self.arrays), None
        try:
            for number in numbers:
                variable = self.owners[number]()
                if variable is None or variable._held is not None:
                    self.touched += numbers
                    return False
                variable._held = me
                held.append((number, variable))
            joining = [(n, v, v.__dict__.get("_tensor", self)) for n, v in held]
            if any([tensor is None for _, _, tensor in joining]):
                self.touched += numbers
                return False
            while joining:
                number, variable, tensor = joining.pop()
                if tensor is self:
                    continue
                del variable.__dict__["_tensor"]
                array = nearest(tensor)
                if not hasattr(array, "devices"):
                    array = put(array)
                elif getrefcount(tensor) > ALONE:
                    array = copy(array)
                arrays[number] = array
            self.arrays = tuple(arrays)
        finally:
            locking.let_go([variable for _, variable in held])
        return True

    def dissolve(self) -> None:
        """Let every variable have its value for itself, and leave the group."""
        with self.lock:
            self.replaced = True
            for number, owner in enumerate(self.owners):
                variable = owner()
                if variable is not None and variable._group[0] is self:
                    self.look(variable, number)
                    variable._group = None
            self.owners, self.arrays, self.touched = [], (), []


def group_of(variables: list) -> DeviceGroup:
    """Return the group that all of these variables are in from now on.

    Groups that share variables become one, so that programs need not take them from each other.
    """
    let_groups_keep()
    groups = list(dict.fromkeys([v._group[0] for v in variables if v._group is not None]))
    if len(groups) == 1 and not groups[0].replaced:
        joined = groups[0]
    else:
        joined, others = DeviceGroup(), []
        for group in groups:
            others += [v for owner in group.owners if (v := owner()) is not None]
            group.dissolve()
        joined.join([v for v in others if v._group is None])
    joined.join([v for v in variables if v._group is None])
    return joined


# -- the property


def _own_or_group(self: Any) -> Any:
    own = self.__dict__
    try:
        return own["_tensor"]
    except KeyError:
        group, number = own["_group"]
        return group.look(self, number)


def _keep_for_itself(self: Any, tensor: Any) -> None:
    own = self.__dict__
    own["_tensor"] = tensor
    if own.get("_group") is not None:
        group, number = own["_group"]
        group.touched.append(number)


def let_groups_keep() -> None:
    """Let variables have no value of their own."""
    if not hasattr(ReplaceableValue, "_tensor"):
        ReplaceableValue._tensor = property(_own_or_group, _keep_for_itself)  # type: ignore
