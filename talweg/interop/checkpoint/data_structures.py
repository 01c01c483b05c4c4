"""Lists, tuples and dictionaries that are trackable themselves, as Keras 2 wants its attributes.

Checkpoints of talweg look into containers as they are; Keras 2 asks its containers for the weights
of the layers in them (`_values`), so what becomes an attribute of one of its layers is wrapped.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from talweg.api.export import export, implement_hook
from talweg.core.tracking import DEFERRED, EXPLICIT, NoDependency, Trackable
from talweg.eager.variable import Variable
from talweg.interop.checkpoint.object_walk import has_state


@export("__internal__.tracking.TrackableDataStructure")
class TrackableDataStructure(Trackable):
    """A container whose elements are children."""

    _self_trainable = True
    _self_extra_variables: tuple = ()

    @property
    def _values(self) -> list:
        """The elements that may have weights, each once."""
        parts: Iterable = self.values() if isinstance(self, dict) else self  # type: ignore
        found: list = []
        for part in parts:
            wrapped = wrap_or_unwrap(part)
            if has_state(wrapped) and not any(wrapped is x for x in found):
                found.append(wrapped)
        return found

    @property
    def trainable(self) -> bool:
        """Whether the weights of its layers may be trained."""
        return self._self_trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._self_trainable = value

    def _gather(self, name: str, wanted: Any) -> list:
        found: list = []
        for part in self._values:
            if isinstance(part, Variable):
                found += [part] if wanted(part) else []
            elif hasattr(part, name):
                found += getattr(part, name)
        return [x for place, x in enumerate(found) if not any(x is y for y in found[:place])]

    @property
    def layers(self) -> list:
        """The layers in it, and in its containers."""
        found: list = []
        for part in self._values:
            if isinstance(part, TrackableDataStructure):
                found += part.layers
            elif hasattr(part, "_is_layer") and part._is_layer():
                found.append(part)
        return found

    @property
    def trainable_weights(self) -> list:
        """The trainable variables below it."""
        if not self._self_trainable:
            return []
        return self._gather("trainable_weights", lambda v: v.trainable)

    @property
    def non_trainable_weights(self) -> list:
        """The other variables below it."""
        kept = self._gather("non_trainable_weights", lambda v: not v.trainable)
        return kept if self._self_trainable else self._gather("weights", lambda v: True)

    @property
    def weights(self) -> list:
        """All variables below it."""
        return self.trainable_weights + self.non_trainable_weights

    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights
    variables = weights

    @property
    def updates(self) -> list:
        """The updates of its layers."""
        return [x for layer in self.layers for x in getattr(layer, "updates", ())]

    @property
    def losses(self) -> list:
        """The losses of its layers."""
        return [x for layer in self.layers for x in getattr(layer, "losses", ())]

    def _trackable_children(self, save_type: str = "checkpoint", **options: object) -> dict:
        return _parts(self)

    def _restore_elements(self) -> None:
        """Give new elements the values that a restored checkpoint has for them."""
        if DEFERRED in self.__dict__:
            for name, part in _parts(self).items():
                self._child_arrived(name, part)


def _parts(container: Any) -> dict:
    if isinstance(container, dict):
        named = {key: value for key, value in container.items() if isinstance(key, str)}
    else:
        named = {name: getattr(container, name) for name in getattr(container, "_fields", ())}
        named = named or {str(place): part for place, part in enumerate(container)}
    return {name: part for name, part in named.items() if has_state(part)}


def _changing(name: str) -> Any:
    method = getattr(list, name)

    def change(self: Any, *args: object) -> Any:
        self._follow()
        found = method(self, *args)
        source = self.__dict__.get("_source")
        if source is not None:
            source[:] = list.copy(self)
        self._restore_elements()
        return self if name in ("__iadd__", "__imul__") else found

    return change


def _reading(name: str) -> Any:
    method = getattr(list, name)

    def read(self: Any, *args: object) -> Any:
        self._follow()
        return method(self, *args)

    return read


class ListWrapper(TrackableDataStructure, list):
    """A list whose elements are children; it and the list that it was made of change together."""

    def __init__(self, wrapped_list: Iterable = ()):
        list.__init__(self, wrapped_list)
        self._source = wrapped_list if type(wrapped_list) is list else None
        for place, part in enumerate(list(self)):
            list.__setitem__(self, place, wrap_or_unwrap(part))

    __hash__ = object.__hash__  # type: ignore[assignment]

    def _follow(self) -> None:
        """Take over the elements appended to the list that it was made of."""
        source = self._source
        if source is not None and len(source) != list.__len__(self):
            list.__setitem__(self, slice(None), [wrap_or_unwrap(part) for part in source])
            self._restore_elements()

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return list, (list(self),)

    def __copy__(self) -> ListWrapper:
        return ListWrapper(list(self))

    def __deepcopy__(self, memo: dict) -> ListWrapper:
        return ListWrapper(copy.deepcopy(list(self), memo))

    def copy(self) -> ListWrapper:
        """Copy the list: another one of the same elements."""
        return ListWrapper(list(self))


for _name in [
    "append",
    "extend",
    "insert",
    "__iadd__",
    "__imul__",
    "__setitem__",
    "__delitem__",
    "pop",
    "remove",
    "clear",
]:
    setattr(ListWrapper, _name, _changing(_name))
for _name in ("sort", "reverse"):
    setattr(ListWrapper, _name, _changing(_name))
for _name in ("__iter__", "__len__", "__getitem__", "__contains__", "__eq__", "__repr__", "index"):
    setattr(ListWrapper, _name, _reading(_name))


class _DictWrapper(TrackableDataStructure, dict):
    """A dictionary whose values are children; the one that it was made of changes with it."""

    def __init__(self, wrapped_dict: Any = (), **items: object):
        dict.__init__(self)
        self._source = wrapped_dict if type(wrapped_dict) is dict and not items else None
        for key, value in dict(wrapped_dict, **items).items():
            dict.__setitem__(self, key, wrap_or_unwrap(value))

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __setitem__(self, key: Any, value: Any) -> None:
        dict.__setitem__(self, key, wrap_or_unwrap(value))
        if self._source is not None:
            self._source[key] = value
        self._restore_elements()

    def __delitem__(self, key: Any) -> None:
        dict.__delitem__(self, key)
        if self._source is not None:
            self._source.pop(key, None)

    def update(self, *args: object, **kwargs: object) -> None:
        """Take over the values of another mapping."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key, which gets the default if it has none."""
        if key not in self:
            self[key] = default
        return self[key]

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return dict, (dict(self),)

    def __deepcopy__(self, memo: dict) -> _DictWrapper:
        return _DictWrapper(copy.deepcopy(dict(self), memo))


class _TupleWrapper(TrackableDataStructure):
    """A tuple whose elements are children."""

    plain_type: Any = tuple  # as which nests know it

    def __new__(cls, *values: Any) -> Any:
        """Return a tuple as one whose elements are children; or another of a wrapped class."""
        if cls is _TupleWrapper:
            return _wrap_tuple(*values)
        return cls.plain_type.__new__(cls, *values)

    def __init__(self, *args: object, **kwargs: object):
        super().__init__()

    def __reduce_ex__(self, protocol: Any) -> tuple:
        plain = self.plain_type
        values = tuple(self)  # type: ignore[arg-type, call-overload]
        return (plain, (values,)) if plain is tuple else (plain, values)

    def __hash__(self) -> int:
        return id(self)


_tuples: dict[type, type] = {}


def _wrap_tuple(value: tuple) -> Any:
    kind = type(value)
    if kind not in _tuples:
        names = {"__module__": kind.__module__, "plain_type": kind}
        _tuples[kind] = type(kind.__name__, (_TupleWrapper, kind), names)
    parts = [wrap_or_unwrap(part) for part in value]
    return tuple.__new__(_tuples[kind], parts)


@implement_hook("wrap_container")
def wrap_container(value: object) -> Any:
    """Return a trackable container for a list,
    tuple or dictionary with state; others as they are.
    """
    return wrap_or_unwrap(value) if has_state(value) else value


@export("__internal__.tracking.wrap")
def wrap_or_unwrap(value: object) -> Any:
    """Return a trackable container for a list, tuple or dictionary; what NoDependency holds; the
    value.
    """
    if isinstance(value, NoDependency):
        return value.value
    if isinstance(value, Trackable):
        return value
    if type(value) is dict or type(value).__name__ in ("OrderedDict", "defaultdict"):
        return _DictWrapper(value) if type(value) is dict else value
    if type(value) is list:
        return ListWrapper(value)
    if isinstance(value, tuple) and has_state(value):
        return _wrap_tuple(value)
    return value


@export("__internal__.tracking.sticky_attribute_assignment")
def sticky_attribute_assignment(trackable: Any, name: str, value: object) -> Any:
    """Return the value that an attribute gets: containers are wrapped, and become children."""
    wrapped = wrap_or_unwrap(value)
    if isinstance(value, NoDependency):
        return wrapped
    trackable.__dict__.setdefault(EXPLICIT, True)
    if isinstance(wrapped, Trackable):
        trackable._track_trackable(wrapped, name=name, overwrite=True)
    return wrapped
