"""tf.train.TrackableView: the objects with state that can be reached from one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.core.tracking import Trackable
from talweg.interop.checkpoint.object_walk import children, has_state

if TYPE_CHECKING:
    pass


@export("train.TrackableView")
class TrackableView:
    """Views the objects below `root`, by the names of children.

    >>> import talweg as tf
    >>> module = tf.Module()
    >>> module.v = tf.Variable(1.0)
    >>> sorted(tf.train.TrackableView(module).children(module))
    ['v']
    """

    def __init__(self, root: object):
        self._root = root

    @property
    def root(self) -> Any:
        """The object that was given."""
        return self._root

    @classmethod
    def children(cls, obj: object, save_type: str = "checkpoint", **kwargs: object) -> dict:
        """Return the children of an object, by name; lists and dictionaries that lead to some,
        too."""
        if not isinstance(obj, Trackable) or (save_type == "checkpoint" and not kwargs):
            return children(obj)
        found = obj._trackable_children(save_type, **kwargs)
        return {name: child for name, child in found.items() if has_state(child)}

    def descendants(self) -> list:
        """Return all objects below the root, and the root: nearer ones first."""
        found, seen = [self._root], {id(self._root)}
        for obj in found:
            for child in self.children(obj).values():
                if id(child) not in seen:
                    seen.add(id(child))
                    found.append(child)
        return found
