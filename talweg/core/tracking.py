"""Trackable objects: they know the stateful objects among their attributes, by name.

`Trackable` is the base of variables, modules, and whatever else can be found from another object by
a path of names; `AutoTrackable` finds its children among its attributes.  Keras keeps its own lists
beside these and tells `_track_trackable` what it adds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from talweg.core.hooks import hooks

DEFERRED = "_self_deferred_restores"  # the attribute with what a checkpoint has for later children
UNTRACKED = "_self_untracked"  # the attribute with the names of attributes that are no children
EXPLICIT = "_self_explicit"  # there if only what `_track_trackable` was told is a child
# Containers that become trackable themselves as attributes: none, until libraries look for these.
WRAPPED: set[type] = set()
CATCHING_UP: list[Callable[[], None]] = []  # looks for elements that lists got in the meantime


def catch_up() -> None:
    """Let restores that wait for elements of lists and dictionaries look for them."""
    for look in list(CATCHING_UP):
        look()


class TrackableReference(NamedTuple):
    """A child and its name."""

    name: str
    ref: Any


class Trackable:
    """An object with state, or that leads to it; `_trackable_children` says where."""

    __slots__ = ()
    _object_identifier = "_generic_user_object"  # what saved models call objects of the kind

    def _track_trackable(self, trackable: object, name: str, overwrite: bool = False) -> Any:
        """Know `trackable` as the child `name`; ValueError if another has the name."""
        if not isinstance(trackable, Trackable):
            raise TypeError(
                "Trackable._track_trackable() can only be used to track objects of type "
                f"Trackable. Got type {type(trackable)}."
            )
        children = self.__dict__.setdefault("_self_unconditional_dependency_names", {})
        if not overwrite and children.get(name, trackable) is not trackable:
            raise ValueError(
                f"Called Trackable._track_trackable() with name='{name}', but a Trackable with "
                "this name is already declared as a dependency."
            )
        children[name] = trackable
        self._child_arrived(name, trackable)
        return trackable

    def _child_arrived(self, name: str, child: object) -> None:
        """Give a new child its values from a restored checkpoint."""
        deferred = self.__dict__.get(DEFERRED)
        if deferred is not None:
            deferred.accept_child(self, name, child)

    def _trackable_children(self, save_type: str = "checkpoint", **options: object) -> dict:
        """Return the children, by name."""
        return dict(self.__dict__.get("_self_unconditional_dependency_names", {}))

    @property
    def _unconditional_checkpoint_dependencies(self) -> list:
        """Return the children with their names, as libraries ask for them."""
        return [TrackableReference(*part) for part in self._trackable_children().items()]

    @property
    def _unconditional_dependency_names(self) -> dict:
        """Return the children by name, as libraries ask for them."""
        return self.__dict__.setdefault("_self_unconditional_dependency_names", {})

    def _lookup_dependency(self, name: str, cached: dict | None = None) -> Any:
        """Return the child of a name, or None."""
        return self._trackable_children().get(name)

    def _add_variable_with_custom_getter(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        getter: Any = None,
        overwrite: bool = False,
        **kwargs_for_getter: object,
    ) -> Any:
        """Return the variable that `getter` makes, a child;
        ValueError if there is one of this name.
        """
        children = self.__dict__.get("_self_unconditional_dependency_names", {})
        if not overwrite and name in children:
            raise ValueError(
                f"A variable named '{name}' already exists in this Trackable, but "
                "Trackable._add_variable called to create another with that name. Variable names "
                "must be unique within a Trackable object."
            )
        if isinstance(self, AutoTrackable):
            self.__dict__.setdefault(EXPLICIT, True)
        own = kwargs_for_getter
        made = getter(name=name, shape=shape, dtype=dtype, initializer=initializer, **own)
        if not getattr(self, "_manual_tracking", True) or not isinstance(made, Trackable):
            return made
        return self._track_trackable(made, name, overwrite)

    def _delete_tracking(self, name: str) -> None:
        """Forget the child of a name."""
        self.__dict__.get("_self_unconditional_dependency_names", {}).pop(name, None)

    def _handle_deferred_dependencies(self, name: str, trackable: Any) -> None:
        """Give the present child of a name its values from a restored checkpoint."""
        self._child_arrived(name, trackable)

    def _no_dependency(self, value: object) -> Any:
        """Return a value that is not to become a child where it is made an attribute."""
        return value

    def _maybe_initialize_trackable(self) -> None:
        """Do nothing: children are found when they are asked for."""


class NoDependency:
    """Wraps a value that is not to become a child of the object whose attribute it is."""

    def __init__(self, value: Any):
        self.value = value


class AutoTrackable(Trackable):
    """An object whose attributes are its children."""

    def __setattr__(self, name: str, value: object) -> None:
        own = self.__dict__
        if type(value) is NoDependency:
            super().__setattr__(name, value.value)
            own.setdefault(UNTRACKED, set()).add(name)
            return
        if type(value) in WRAPPED and own.get("_self_setattr_tracking", True):
            value = hooks.wrap_container(value)
        before = own.get(name)
        super().__setattr__(name, value)
        if not own.get("_self_setattr_tracking", True):
            if value is not before:  # a list that `+=` has grown stays what it is
                own.setdefault(UNTRACKED, set()).add(name)
        elif DEFERRED in own or UNTRACKED in own:
            own.get(UNTRACKED, set()).discard(name)
            self._child_arrived(name, value)

    def _trackable_children(self, save_type: str = "checkpoint", **options: object) -> dict:
        """Return the attributes that are trackable, and what `_track_trackable` was told; the
        traced functions, too, if a saved model is written.

        Functions are looked for here, not by the writer: Keras 2 hides those that train while it
        asks its base class for the children.
        """
        functions = hooks.functions_of(self) if save_type == "savedmodel" else {}
        children = super()._trackable_children(save_type, **options)
        if EXPLICIT not in self.__dict__:
            untracked = self.__dict__.get(UNTRACKED, ())
            attributes = {
                name: value
                for name, value in vars(self).items()
                if isinstance(value, Trackable) and name not in untracked
            }
            children = {**attributes, **children}
        for name in functions.keys() & children.keys():
            if children[name] is not functions[name]:
                raise ValueError(
                    "Can't save object because it has multiple children with the same name. "
                    f"Object: {self}, attribute name: {name}, child 1: {children[name]}, "
                    f"child 2: {functions[name]}  [TW509]"
                )
        return {**children, **functions}


@contextmanager
def no_automatic_dependency_tracking_scope(obj: Any) -> Iterator[None]:
    """Leave attributes that are set on an object in the block out of its children."""
    before = getattr(obj, "_self_setattr_tracking", True)
    obj._self_setattr_tracking = False
    try:
        yield
    finally:
        obj._self_setattr_tracking = before


def no_automatic_dependency_tracking(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return `method`, while which attributes that are set do not become children."""

    @functools.wraps(method)
    def call_untracked(self: Any, *args: object, **kwargs: object) -> Any:
        with no_automatic_dependency_tracking_scope(self):
            return method(self, *args, **kwargs)

    return call_untracked
