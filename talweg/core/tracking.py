"""What may hold state: objects that know the stateful objects among their attributes, by name.

`Trackable` is the base of variables, modules, and whatever else can be found from another object by
a path of names; `AutoTrackable` finds its children among its attributes.  Keras keeps its own lists
beside these and tells `_track_trackable` what it adds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Trackable:
    """Something with state, or that leads to it; `_trackable_children` says where."""

    __slots__ = ()

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
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
        return trackable

    def _trackable_children(self, save_type: str = "checkpoint", **options: Any) -> dict:
        """The children, by name."""
        return dict(self.__dict__.get("_self_unconditional_dependency_names", {}))

    def _lookup_dependency(self, name: str, cached: dict | None = None) -> Any:
        """The child of a name, or None."""
        return self._trackable_children().get(name)

    def _maybe_initialize_trackable(self) -> None:
        """Nothing has to be made ready: children are found when they are asked for."""


class AutoTrackable(Trackable):
    """Something whose attributes are its children."""

    def _trackable_children(self, save_type: str = "checkpoint", **options: Any) -> dict:
        """The attributes that are trackable, and what `_track_trackable` was told."""
        found = {n: value for n, value in vars(self).items() if isinstance(value, Trackable)}
        return {**found, **super()._trackable_children(save_type, **options)}


def no_automatic_dependency_tracking(method: Callable[..., Any]) -> Callable[..., Any]:
    """`method`, while which attributes that are set do not become children."""

    @functools.wraps(method)
    def untracked(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = getattr(self, "_self_setattr_tracking", True)
        self._self_setattr_tracking = False
        try:
            return method(self, *args, **kwargs)
        finally:
            self._self_setattr_tracking = before

    return untracked
