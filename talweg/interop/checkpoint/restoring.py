"""Restores the values of a checkpoint to objects: those that are there, and those made later.

A restore walks the saved objects and the program's side by side, by the names of children.  What it
finds it gets ready first, all of it, and only then changes anything; where something does not fit,
nothing has changed.  Saved children that the program does not have yet wait at their parent: the
attribute that is set later (a layer that is built with its first batch) gets its value then.
"""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.compat import get_logger
from talweg.compat_v1.sessions.session import get_default_session
from talweg.core import dispatch
from talweg.core.dtypes import as_dtype
from talweg.core.errors import invalid, value_error
from talweg.core.shapes import as_shape
from talweg.core.tracking import CATCHING_UP, DEFERRED, Trackable
from talweg.eager.convert import convert_to_tensor
from talweg.eager.graph_variable import GraphVariable
from talweg.formats.bundle.reader import Bundle, not_found
from talweg.interop.checkpoint.object_graph import VALUE, SavedObject
from talweg.interop.checkpoint.object_walk import (
    CONTAINERS,
    child,
    children,
    escape_name,
    has_state,
    is_without_value,
    tensors_of,
    variable_in,
)
from talweg.interop.checkpoint.slots import SlotPosition, has_slots
from talweg.interop.checkpoint.watched_containers import is_unshared, watch_container

if TYPE_CHECKING:
    from talweg.compat_v1.sessions.session import Session
    from talweg.interop.checkpoint.watched_containers import WatchedDict, WatchedList


class Restoration:
    """A checkpoint that is being given to the objects of a program."""

    def __init__(self, bundle: Bundle, nodes: list[SavedObject]):
        self.bundle, self.nodes = bundle, nodes
        self.objects: dict[int, Any] = {}  # number of a saved object -> the program's
        self._slots = [(n, slot) for n, node in enumerate(nodes) for slot in node.slots]
        self.restored: set[str] = set()  # keys whose tensors were given to something
        self.quiet = False  # whether what nobody takes may be left without a word
        self.session: Any = None
        self.waiting: list[tuple[Any, np.ndarray]] = []  # variables of graphs, without a session
        # Containers that may get more elements, and the trackables that they belong to.
        self._containers: list[tuple[Any, Any]] = []

    # -- walking

    def bind(
        self, number: int, obj: object, beside: dict[str, Any] | None = None, owner: object = None
    ) -> None:
        """Bind a saved object to `obj`, and those below it to the objects below `obj`.

        `owner`: the trackable that `obj`, a container, belongs to.
        """
        objects, missing = self._meet(number, obj, beside or {}, owner)
        variables, others = [], []
        for saved_number, met in objects.items():
            variable = variable_in(met)
            if variable is not None:
                variables += self._for_variable(saved_number, variable)
            elif is_without_value(met):
                variables += self._for_variable(saved_number, Unmade(met))
            elif isinstance(met, Trackable):
                others += self._for_other(saved_number, met)
        for saved_number, variable in self._meet_slots(objects).items():
            objects[saved_number] = variable
            variables += self._for_variable(saved_number, variable)
        with dispatch.eagerly(), _all_or_nothing() as changed:
            for variable, value, _ in variables:
                self._give(variable, value, changed)
            for other, tensors, _ in others:
                other._restore_from_tensors(tensors)
        self.objects.update(objects)
        self.restored.update(key for _, _, keys in (*variables, *others) for key in keys)
        for lacking in missing:
            self._defer(*lacking)

    def _meet(
        self, number: int, obj: object, beside: dict[str, Any], owner: object
    ) -> tuple[dict, list]:
        """Pair the saved objects with those of the program, by number; also the children that it
        has not.
        """
        objects: dict[int, Any] = {}
        missing = []
        pending = deque([(number, obj, owner)])
        while pending:
            saved_number, met, owner = pending.popleft()
            owner = met if isinstance(met, Trackable) else owner
            if saved_number in self.objects or saved_number in objects:
                continue  # what two names lead to is restored once
            objects[saved_number] = met
            own = {**children(met), **beside} if met is obj else children(met)
            for name, below in self.nodes[saved_number].children:
                part = own.get(name)
                part = child(met, name) if part is None else part
                if part is None:
                    missing.append((met, owner, name, below))
                else:
                    pending.append((below, part, owner))
        return objects, missing

    def _meet_slots(self, objects: dict[int, Any]) -> dict[int, Any]:
        """Pair saved slot variables with those of optimizers that are known now, by number.

        An optimizer that has not made one yet makes it now, or gives it its value when it does.
        """
        met: dict[int, Any] = {}
        known = {**self.objects, **objects}
        for entry in list(self._slots):
            owner, slot = entry
            if owner not in known or slot.original not in known:
                continue
            self._slots.remove(entry)
            variable = variable_in(known[slot.original])
            if variable is not None and has_slots(known[owner]):
                made = known[owner]._create_or_restore_slot_variable(
                    slot_variable_position=SlotPosition(self, slot.number),
                    slot_name=slot.name,
                    variable=known[slot.original],
                )
                if made is not None:
                    met[slot.number] = made
        return met

    def _for_variable(self, number: int, variable: object) -> list[tuple]:
        for attribute in self.nodes[number].attributes:
            if attribute.name == VALUE:
                value = self._fitting(attribute.key, variable)
                return [(variable, value, [attribute.key])]
        return []

    def _fitting(self, key: str, variable: Any) -> np.ndarray:
        entry = self.bundle.entry(key)
        if entry.dtype is not variable.dtype:
            raise invalid(
                "TW507",
                f"tensor_name = {key}; expected dtype {variable.dtype.name} (variable "
                f"'{variable.name}') does not equal original dtype {entry.dtype.name}",
            )
        if not variable.shape.is_compatible_with(entry.dims):
            raise value_error(
                "TW507",
                f"Received incompatible tensor with shape {entry.dims} when attempting to restore "
                f"variable with shape {variable.shape} and name {variable.name} (tensor {key} of "
                f"{self.bundle.prefix})",
            )
        return self.bundle.read(key)

    def _for_other(self, number: int, obj: object) -> list[tuple]:
        attributes = {attribute.name: attribute for attribute in self.nodes[number].attributes}
        if not attributes or not hasattr(obj, "_restore_from_tensors"):
            return []
        whole = getattr(obj, "_checkpoint_attribute", None)
        keys = {}
        for name in tensors_of(obj):
            attribute = attributes.get(escape_name(name) if whole is None else whole)
            if attribute is None:
                return []
            keys[name] = attribute.key if whole is None else attribute.key + name
        with dispatch.eagerly():
            tensors = {n: convert_to_tensor(self.bundle.read(key)) for n, key in keys.items()}
        used = [attribute.key for attribute in attributes.values()]
        return [(obj, tensors, used)] if tensors else []

    def _give(self, variable: Any, value: np.ndarray, changed: list) -> None:
        if isinstance(variable, Unmade):
            variable.begin_with(value)
            return
        if not isinstance(variable, GraphVariable):
            changed.append((variable, variable.handle_read()))
            variable.assign(value)
            return
        session = self.session or get_default_session()
        if session is None:
            self.waiting.append((variable, value))
        else:
            variable.load(value, session)

    def run(self, session: Session) -> None:
        """Give the variables of a graph their values in a session."""
        self.session = session
        with _all_or_nothing() as changed:
            for variable, value in self.waiting:
                self._give(variable, value, changed)

    # -- what comes later

    def _defer(self, parent: object, owner: object, name: str, number: int) -> None:
        if isinstance(parent, Trackable):
            if hasattr(parent, "__dict__"):
                _defer(parent).later[name] = (self, number)
        elif not isinstance(parent, tuple):
            self._containers.append((parent, owner))
            _defer(owner).open[id(self)] = self
            _notice(self)

    def look_again(self) -> None:
        """Give elements that containers got in the meantime their values."""
        containers, self._containers = self._containers, []
        seen = set()
        for container, owner in containers:
            if id(container) not in seen:
                seen.add(id(container))
                self._look_into(container, owner)
        if self._containers:
            return
        _forget(self)
        for _, owner in containers:
            _defer(owner).open.pop(id(self), None)

    def _look_into(self, container: WatchedDict | WatchedList | list[Any], owner: object) -> None:
        numbers = [n for n, met in self.objects.items() if met is container]
        for place in numbers:
            for name, below in self.nodes[place].children:
                if below in self.objects:
                    continue
                part = child(container, name)
                if part is None:
                    self._containers.append((container, owner))
                else:
                    self.bind(below, part, owner=owner)

    # -- what is left

    def find_unrestored(self) -> list[tuple[int, Any]]:
        """Return the saved values that nothing took: number of the object and attribute."""
        return [
            (number, attribute)
            for number, node in enumerate(self.nodes)
            for attribute in node.attributes
            if attribute.key not in self.restored
        ]

    def path(self, number: int) -> str:
        """Return the path from the root to a saved object, for messages."""
        names = {0: "(root)"}
        pending = deque([0])
        while pending and number not in names:
            place = pending.popleft()
            slots = [(slot.name, slot.number) for slot in self.nodes[place].slots]
            for name, below in (*self.nodes[place].children, *slots):
                if below not in names:
                    names[below] = f"{names[place]}.{name}"
                    pending.append(below)
        return names.get(number, f"object {number}")

    def __del__(self) -> None:
        if self.quiet or not sys or sys.is_finalizing():  # modules are emptied at the end
            return
        left = self.find_unrestored()
        if left:
            names = ", ".join([self.path(number) for number, _ in left[:10]])
            get_logger().warning(
                "A restore of %s ends with values that no object took: %s%s. Silence this with "
                "`status.expect_partial()`, or ask `status.assert_consumed()`.",
                self.bundle.prefix,
                names,
                ", ..." if len(left) > 10 else "",
            )


class Unmade:
    """A Keras variable of a layer that is being built: its `tf.Variable` is made afterwards."""

    def __init__(self, variable: Any):
        self._variable = variable
        self.name, self.dtype = variable.path, as_dtype(variable.dtype)
        self.shape = as_shape(tuple(variable.shape))

    def begin_with(self, value: np.ndarray) -> None:
        """Have the variable made with a value, in place of that of its initializer."""
        self._variable._initializer = lambda shape, dtype=None: convert_to_tensor(value)


class Deferred:
    """Holds checkpoints' values for children that an object does not have yet."""

    def __init__(self) -> None:
        self.later: dict[str, tuple[Restoration, int]] = {}
        self.open: dict[int, Restoration] = {}  # those that wait for elements of its containers

    def accept_child(self, parent: object, name: str, value: object) -> None:
        """Give a new child its values, if there are some and it can have any."""
        if name not in self.later or not (has_state(value) or isinstance(value, CONTAINERS)):
            return
        restoration, number = self.later.pop(name)
        if is_unshared(value):
            value = parent.__dict__[name] = watch_container(value, restoration.look_again)
        restoration.bind(number, value, owner=parent)

    def __deepcopy__(self, memo: dict) -> Deferred:
        return Deferred()

    def __reduce__(self) -> tuple:
        return Deferred, ()


def _defer(parent: object) -> Deferred:
    return parent.__dict__.setdefault(DEFERRED, Deferred())


_waiting: dict[int, Any] = {}


def _notice(restoration: Restoration) -> None:
    """Have a restoration look into its containers from time to time, as long as it lives."""
    if id(restoration) not in _waiting:
        known, key = weakref.ref(restoration), id(restoration)

        def look() -> None:
            there = known()
            if there is not None:
                there.look_again()

        def forget() -> None:
            if _waiting.pop(key, None) is not None:
                CATCHING_UP.remove(look)

        _waiting[key] = forget
        CATCHING_UP.append(look)
        weakref.finalize(restoration, forget).atexit = False


def _forget(restoration: Restoration) -> None:
    end = _waiting.get(id(restoration))
    if end is not None:
        end()


@contextlib.contextmanager
def _all_or_nothing() -> Iterator[list]:
    """Give the variables of the list their values back where the block fails."""
    changed: list = []
    try:
        yield changed
    except BaseException:
        for variable, value in reversed(changed):
            variable.assign(value)
        raise


def object_graph(bundle: Bundle, key: str) -> bytes:
    """Return the message with the saved objects; NotFoundError for a checkpoint of another kind."""
    if key not in bundle.entries:
        raise not_found(
            f"{bundle.prefix} has no objects: it was written by a tf.compat.v1.train.Saver",
            "tf.compat.v1.train.Saver(variables).restore(None, path)",
        )
    found = bundle.read(key)
    return bytes(found[()]) if found.ndim == 0 else b""
