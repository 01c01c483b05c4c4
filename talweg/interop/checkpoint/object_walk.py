"""Walks the objects below one: attributes with state, and lists and dictionaries that hold some.

Lists, tuples and dictionaries count as they are at the moment of saving, whatever was done to them
before; their elements have their positions or keys as names.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from talweg.core.errors import value_error
from talweg.core.tracking import EXPLICIT, UNTRACKED, AutoTrackable, Trackable
from talweg.eager.variable import Variable, variable_of
from talweg.interop.checkpoint.object_graph import SavedSlot

CONTAINERS = (list, tuple, dict)


def has_state(value: object, inside: tuple = ()) -> bool:
    """Return whether a value is a trackable, or a container that leads to one."""
    if isinstance(value, Trackable):
        return True
    if not isinstance(value, CONTAINERS) or any(value is outer for outer in inside):
        return False
    parts = value.values() if isinstance(value, dict) else value
    return any(has_state(part, (*inside, value)) for part in parts)


def children(obj: object) -> dict[str, Any]:
    """Return the children of an object or container, by name."""
    if not isinstance(obj, Trackable):
        return _parts(obj)
    parts = {
        name: child
        for name, child in obj._trackable_children("checkpoint").items()
        if has_state(child)
    }
    if not isinstance(obj, AutoTrackable) or EXPLICIT in obj.__dict__:
        return parts
    # In the order of the attributes, as TensorFlow numbers them.
    own = {}
    for name, value in vars(obj).items():
        if name in parts:
            own[name] = parts[name]
        elif _may_be_child(obj, name, value) and has_state(value):
            own[name] = value
    return {**own, **parts}


def _may_be_child(obj: object, name: str, value: object) -> bool:
    if not isinstance(value, CONTAINERS) or name.startswith("_self_"):
        return False
    if name == "_layers" and hasattr(obj, "_functional"):
        # Keras's Sequential, whose list grows in front when it is built.
        return obj._functional is None and obj.built
    return name not in obj.__dict__.get(UNTRACKED, ())


def _parts(container: Any) -> dict[str, Any]:
    named: dict[str, Any] = {}
    if isinstance(container, dict):
        named = {key: value for key, value in container.items() if isinstance(key, str)}
    else:
        named = {name: getattr(container, name) for name in getattr(container, "_fields", ())}
        named.update({str(place): part for place, part in enumerate(container)})
    return {name: part for name, part in named.items() if has_state(part)}


_look_up = Trackable._lookup_dependency


def child(obj: object, name: str) -> Any:
    """Return the child of a name, or None; containers count even while they are empty."""
    found = children(obj).get(name)
    if found is None and getattr(type(obj), "_lookup_dependency", _look_up) is not _look_up:
        found = cast("Any", obj)._lookup_dependency(name)  # a library's, which may make it now
    if found is None and isinstance(obj, AutoTrackable) and EXPLICIT not in obj.__dict__:
        value = vars(obj).get(name)
        return value if _may_be_child(obj, name, value) else None
    if found is None and isinstance(obj, dict) and isinstance(obj.get(name), CONTAINERS):
        return obj[name]
    return found


def escape_name(name: str) -> str:
    """Return a name as a part of a key: ``/`` separates parts there."""
    return name.replace(".", "..").replace("/", ".S")


@dataclass
class Survey:
    """The objects below a root, nearer ones first: each once, under its shortest path."""

    objects: list = field(default_factory=list)
    paths: list[tuple[str, ...]] = field(default_factory=list)
    children: list[list[tuple[str, int]]] = field(default_factory=list)
    slots: dict[int, list[SavedSlot]] = field(default_factory=dict)  # of optimizers, by number
    _slot_paths: dict[int, str] = field(default_factory=dict)

    def key(self, number: int, attribute: str) -> str:
        """Return the key of an attribute's tensor."""
        path = self._slot_paths.get(number) or "/".join(map(escape_name, self.paths[number]))
        return f"{path}/.ATTRIBUTES/{escape_name(attribute)}"

    def add_slot(self, optimizer: int, slot: SavedSlot, variable: object) -> None:
        """Add the slot variable of an optimizer, as the last object."""
        before, owner = self.paths[slot.original], self.paths[optimizer]
        path = (*before, ".OPTIMIZER_SLOT", *owner, slot.name)
        escaped = [map(escape_name, part) for part in (before, owner, (slot.name,))]
        self._slot_paths[slot.number] = "/".join(
            [*escaped[0], ".OPTIMIZER_SLOT", *escaped[1], *escaped[2]]
        )
        self.objects.append(variable)
        self.paths.append(path)
        self.children.append([])
        self.slots.setdefault(optimizer, []).append(slot)


def survey(
    root: object,
    beside: dict[str, Any] | None = None,
    children_of: Callable[[Any], dict[str, Any]] = children,
    same: Callable[[Any], Any] = lambda obj: obj,
) -> Survey:
    """Survey the objects that can be reached from `root` and the children `beside` its own.

    `same` gives the object that a child counts as.
    """
    reached = Survey([root], [()])
    numbers = {id(root): 0}
    pending = deque([root])
    while pending:
        obj = pending.popleft()
        below = children_of(obj)
        if obj is root:
            below = {**below, **(beside or {})}
        path, edges = reached.paths[numbers[id(obj)]], []
        for name, part in below.items():
            part = same(part)
            if id(part) not in numbers:
                numbers[id(part)] = len(reached.objects)
                reached.objects.append(part)
                reached.paths.append((*path, name))
                pending.append(part)
            edges.append((name, numbers[id(part)]))
        reached.children.append(edges)
    return reached


def check_names(walked: Survey) -> None:
    """Raise ValueError if something with state stands only under a key of a dictionary that is no
    text.

    Keras has such dictionaries, of layers that it knows by name, too.
    """
    reached = {id(obj) for obj in walked.objects}
    for container in walked.objects:
        if isinstance(container, dict):
            for key, value in container.items():
                if not isinstance(key, str) and not _all_reached(value, reached):
                    raise value_error(
                        "TW507",
                        f"Unable to save the dictionary {container}: its key {key!r} is "
                        "no text and leads to variables",
                        "keys that are texts",
                    )


def _all_reached(value: Any, reached: set[int]) -> bool:
    if isinstance(value, Trackable) or not has_state(value):
        return id(value) in reached or not isinstance(value, Trackable)
    parts = value.values() if isinstance(value, dict) else value
    return all(_all_reached(part, reached) for part in parts)


def variable_in(obj: object) -> Variable | None:
    """Return the variable that an object is or stands for, or None."""
    if isinstance(obj, Variable):
        return obj
    if not isinstance(obj, Trackable) or is_without_value(obj):
        return None
    found = variable_of(obj)
    return found if isinstance(found, Variable) else None


def is_without_value(obj: object) -> bool:
    """Return whether an object is a Keras variable whose value is yet to be made."""
    kind = type(obj)
    return getattr(kind, "_should_act_as_resource_variable", False) and obj._value is None


def tensors_of(obj: object) -> dict[str, Any]:
    """Serialize an object that is no variable to tensors, by name."""
    serialize = getattr(obj, "_serialize_to_tensors", None)
    if serialize is None or not isinstance(obj, Trackable) or is_without_value(obj):
        return {}
    return serialize()
