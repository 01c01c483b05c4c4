"""Runs of programs that change variables: one update of all of them, as far as Python lets it.

A run holds what it writes (`core/locking.py`), so nobody else changes that between its reading and
its writing.  A program that calls Python may wait there for another thread, which may need the same
variable.  So its run remembers from which value of a variable it started (`LongRun`).  If another
one is there when it is done, because somebody waited in vain, or because the Python that it called
changed the variable, its change is made anew to that one: sums are added, what was assigned is
assigned.  That is what TensorFlow's single updates do, each of which stands for itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from sys import getrefcount
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.locking import hold, let_go, let_go_one, runs
from talweg.core.roles import Role
from talweg.core.transfers import fetch
from talweg.eager.resident import nearest
from talweg.execute.donation import UNSHARED, is_writable, to_write
from talweg.execute.interpret import MISSING
from talweg.graph.node import Node
from talweg.passes.functionalize import Program, bodies_of, program_of

if TYPE_CHECKING:
    from talweg.eager.variable import Variable

SUMS = frozenset(("add", "sub", "count_up_to", "skip", "scatter_add", "scatter_sub"))
SUMS |= {"scatter_nd_add", "scatter_nd_sub"}  # rules that commute


class PendingUpdate:
    """A block in which a program runs as one update of its variables; it gives the state to use."""

    __slots__ = ("_before", "_changes", "_held", "_program", "_run", "_state")

    def __init__(self, program: Program, changes: Iterable[Any], state: Any):
        self._program, self._changes, self._state = program, changes, state

    def __enter__(self) -> Any:
        program, state = self._program, self._state
        owners = state.owners(self._changes)
        self._run = None
        if not program.calls_python:
            self._held = hold(owners)
            return state
        of_handles = dict(zip(self._changes, owners))  # before `hold` gives them another order
        self._held = [] if program.gives_way else hold(owners)
        self._run = run = LongRun(program, state, of_handles, self._held)
        self._before, runs.inner = runs.inner, run
        return run

    def __exit__(self, *error: object) -> None:
        run, held = self._run, self._held
        if run is not None:
            runs.inner = self._before
            me = get_ident()
            held = [variable for variable in held if variable._held == me]  # not those it lost
        let_go(held)


class LongRun:
    """The state of a run that may wait in Python."""

    __slots__ = (
        "_bases",
        "_held",
        "_owners",
        "_program",
        "_state",
        "_taken",
        "_written",
        "reserve",
        "settle",
        "since",
    )

    def __init__(self, program: Program, state: Any, owners: dict, held: list):
        self._program, self._state, self._owners = program, state, owners
        self._held = {id(owner): owner for owner in held}
        self._bases = {
            id(owner): owner.present() if (tensor := owner._tensor) is None else tensor
            for owner in owners.values()
        }
        self._taken: dict[int, Any] = {}  # what it writes in place
        self._written: dict[int, tuple] = {}  # what it was given last, and what it wrote then
        self.since = 0.0  # when it went into Python
        self.reserve, self.settle = state.reserve, state.settle

    # -- what others may do meanwhile

    def holds(self, variable: Variable) -> bool:
        """Return whether nobody else may change a variable."""
        return id(variable) in self._held

    def lend(self, variable: Any) -> bool:
        """Let others read the value written so far into a variable; whether there is one."""
        taken = variable._taken
        if taken is None or taken is not self._taken.get(id(variable)):
            return False
        self._bases[id(variable)] = variable.lend()
        return True

    def lose(self, variable: object) -> None:
        """Let another run change a variable, and never again make others wait."""
        self.lend(variable)
        del self._held[id(variable)]
        self._program.gives_way = True

    def _give_way(self) -> None:
        """Release all variables: a thread that waits for one must not hold others."""
        for variable in self._held.values():
            self.lend(variable)
            let_go_one(variable)
        self._held.clear()

    # -- state

    def get(self, handle: Any, default: Any = MISSING) -> Any:
        """Return the array that a variable has for this run."""
        owner = self._owners.get(handle)
        if owner is None:
            if type(handle) is Node:
                return self._state.get(handle, default)
            owner = self._state.owner(handle)  # of another handle, or what is read only
        key = id(owner)
        tensor = self._taken.get(key) if self._taken else None
        if tensor is None:
            tensor = self._bases.get(key)
        return self._state.get(handle, default) if tensor is None else tensor._array

    __getitem__ = get

    def exclusive(self, handle: object, known: int) -> Any:
        """Return a variable's array, to be written in place;
        a copy if anybody else refers to it.
        """
        variable = self._state.owner(handle)
        key = id(variable)
        tensor = self._taken.get(key)
        if tensor is not None:  # once more
            array = tensor._array
            return to_write(array, getrefcount(array) <= UNSHARED + known)
        tensor = self._bases.get(key)
        if tensor is None or key not in self._held or variable._tensor is not tensor:
            return to_write(self.get(handle), False)
        array = tensor._array
        del self._bases[key]
        variable._taken, variable._tensor = tensor, None
        alone = getrefcount(tensor) <= UNSHARED and getrefcount(array) <= UNSHARED + known
        if alone and is_writable(array):
            self._taken[key] = tensor
            return array
        variable.put_back()
        self._bases[key] = tensor
        return to_write(array, False)

    def put_back(self, handles: Iterable[Any]) -> None:
        """Let variables have their values again that were taken away and not written."""
        for handle in handles:
            variable = self._state.owner(handle)
            tensor = self._taken.pop(id(variable), None)
            if tensor is not None and variable._taken is tensor:
                variable.put_back()
                self._bases[id(variable)] = tensor

    def __setitem__(self, handle: object, array: object) -> None:
        if type(handle) is Node:
            self._state[handle] = array
            return
        variable = self._owners.get(handle)
        if variable is None:
            variable = self._state.owner(handle)
        key, given = id(variable), array
        if self._is_written(variable, given):
            return
        if type(array) is np.ndarray and not array.flags.owndata:
            array = np.array(array)
        bases = self._bases
        if not self._taken and key in self._held and variable._tensor is bases.get(key, MISSING):
            self._written[key] = given, array
            self._state[handle] = array  # nobody else may change it: the usual case
            bases[key] = variable._tensor
            return
        taken = self._taken.get(key)
        if taken is not None and variable._taken is taken:
            self._state[handle] = array
            bases[key] = variable._tensor
        else:
            self._write_anew(variable, handle, given, array)
        self._taken.pop(key, None)

    def _write_anew(self, variable: Any, handle: Any, given: Any, array: Any) -> None:
        """Change a variable that somebody else may have changed."""
        held, key = [], id(variable)
        if key not in self._held:
            self._give_way()
            held = hold([variable])
        try:
            base, present = self._bases.get(key), variable.present()
            if base is not None and present is not base:
                rules = rules_of(self._program, handle)
                array = replay_change(rules, base._array, array, present._array)
            self._written[key] = given, array
            self._state[handle] = array
            self._bases[key] = variable._tensor
        finally:
            let_go(held)

    def _is_written(self, variable: Any, given: Any) -> bool:
        """Return whether a write has been made
        that a signal came into: its program makes it again.
        """
        key = id(variable)
        before = self._written.get(key)
        if before is None or before[0] is not given:
            return False
        present, base = variable._tensor, self._bases.get(key)
        if present is not None and present._array is before[1]:
            self._bases[key] = present
        elif base is None or base._array is not before[1]:
            return False
        self._taken.pop(key, None)
        return True

    def publish(self, handle: Any, array: Any) -> None:
        """Give a variable the value that the run has for it, for Python that is called next."""
        base = self._bases.get(self._of(handle)[1])
        if base is None or base._array is not array:
            copied = array.copy() if type(array) is np.ndarray else array
            self[handle] = copied  # the run may use its own memory again

    def adopt(self, handle: Any) -> Any:
        """Return the array that Python gave a variable after `publish`; None if it gave none."""
        variable, key = self._of(handle)
        present = variable.present()
        if present is self._bases.get(key):
            return None
        self._bases[key] = present
        return present._array

    def variable(self, handle: Any) -> Any:
        """Return the variable of a handle."""
        return self._state.variable(handle)

    # -- where values are on a device

    def _of(self, handle: Any) -> tuple[Any, int]:
        """Return the variable of a handle, and its key."""
        owner = self._owners.get(handle)
        if owner is None:
            owner = self._state.owner(handle)
        return owner, id(owner)

    def on_device(self, handles: list) -> list:
        """Return a device's copies of variables' values; see `Variables`."""
        found = []
        for handle in handles:
            _, key = self._of(handle)
            tensor = self._taken.get(key)
            tensor = self._bases.get(key) if tensor is None else tensor
            found.append(self._state.on_device([handle])[0] if tensor is None else nearest(tensor))
        return found

    def give_away(self, handles: list) -> list[bool]:
        """Return which variables may be written where they are; see `Variables`."""
        found = []
        for handle in handles:
            variable, key = self._of(handle)
            alone = False
            if key in self._held and variable._tensor is self._bases.get(key, MISSING):
                del self._bases[key]
                (alone,) = self._state.give_away([handle])
                if alone:
                    self._taken[key] = variable._taken
                else:
                    self._bases[key] = variable._tensor
            found.append(alone)
        return found

    def keep(self, handle: Any, array: Any) -> None:
        """Restore a variable's value; see `Variables`."""
        variable, key = self._of(handle)
        self._taken.pop(key, None)
        self._state.keep(handle, array)
        self._bases[key] = variable._tensor

    def note_copy(self, handle: Any, array: Any, copied: Any) -> None:
        """Let the copy that a device has of a variable's value be kept beside it."""
        self._state.note_copy(handle, array, copied)

    def replace(self, handles: list, arrays: list) -> None:
        """Let variables have values that a device has; see `Variables`."""
        for handle, array in zip(handles, arrays):
            variable, key = self._of(handle)
            taken = self._taken.get(key)
            own = taken is not None and variable._taken is taken
            if key in self._held and (own or variable._tensor is self._bases.get(key, MISSING)):
                self._taken.pop(key, None)
                self._state.replace([handle], [array])
                self._bases[key] = variable._tensor
            else:
                self[handle] = fetch(array)


def rules_of(program: Program, variable: object) -> set[str]:
    """Return the rules by which a program changes a variable."""
    found: set[str] = set()
    for step in program.steps:
        if step.kind == "state" and step.params.get("variable") is variable and step.states:
            if not _is_adoption(step.node):
                found.add(step.params["rule"])
        elif step.kind == "body":
            for body in bodies_of(step.node):
                found |= rules_of(program_of(body), variable)
    return found


def _is_adoption(node: Node) -> bool:
    """Return whether a write takes over what Python wrote (`trace/synchronization.py`)."""
    parts = [part for x in node.operands[:1] for part in x.operands]
    calls = [
        part.inputs[0].params.get("call") for part in parts if part.prim.role is Role.PROJECTION
    ]
    return any([getattr(call, "adopts", False) for call in calls])


def replay_change(rules: set[str], base: Any, after: Any, present: Any) -> Any:
    """Apply a change from `base` to `after` to the present value."""
    arrays = base, after, present
    if any([array is MISSING for array in arrays]) or len({np.shape(x) for x in arrays}) > 1:
        return after
    if rules <= SUMS:
        return np.asarray(present + (after - base), np.asarray(after).dtype)[()]
    same = np.equal(base, after) if np.asarray(after).dtype != object else base == after
    if rules <= {"assign"}:
        return present if np.all(same) else after
    return np.where(same, present, after)[()]
