"""tf.train.CheckpointView: the objects of a checkpoint, without a program that has them."""

from __future__ import annotations

import os
from collections import deque
from typing import Any

from talweg.api.export import export
from talweg.formats.bundle.reader import Bundle
from talweg.interop.checkpoint import object_graph as messages
from talweg.interop.checkpoint.object_walk import children
from talweg.interop.checkpoint.restoring import object_graph
from talweg.interop.checkpoint.trackable_view import TrackableView


@export("train.CheckpointView")
class CheckpointView:
    """The saved objects of a checkpoint, by number, and those of a program that correspond to them.

    save_path: what `tf.train.Checkpoint.save` returned.  NotFoundError if there is no such
    checkpoint, or if it has no objects.

    >>> import tempfile
    >>> import talweg as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = tf.train.Checkpoint(v=tf.Variable(1.0)).save(folder + "/c")
    ...     tf.train.CheckpointView(path).children(0)
    {'v': 1, 'save_counter': 2}
    """

    def __init__(self, save_path: Any):
        bundle = Bundle(os.fspath(save_path))
        self._nodes = messages.decode(object_graph(bundle, messages.KEY))

    def children(self, node_id: int) -> dict[str, int]:
        """Return the numbers of the children of a saved object, by name; IndexError for another
        number."""
        return dict(self._nodes[node_id].children)

    def descendants(self) -> list[int]:
        """Return the numbers of all saved objects, from the root, 0, on."""
        found, seen = [0], {0}
        for number in found:
            for below in self.children(number).values():
                if below not in seen:
                    seen.add(below)
                    found.append(below)
        return found

    def match(self, obj: object) -> dict[int, Any]:
        """Return the objects below `obj` that have the names and places of saved ones, by
        number."""
        found = {0: obj}
        pending = deque([0])
        while pending:
            number = pending.popleft()
            own = children(found[number])
            for name, below in self._nodes[number].children:
                if below not in found and name in own:
                    found[below] = own[name]
                    pending.append(below)
        return found

    def diff(self, obj: object) -> tuple[dict, list, list]:
        """Compare with an object: (the result of `match`, numbers of other saved objects, other
        objects of `obj`).
        """
        found = self.match(obj)
        met = {id(one) for one in found.values()}
        lacking = [number for number in self.descendants() if number not in found]
        return found, lacking, [x for x in TrackableView(obj).descendants() if id(x) not in met]
