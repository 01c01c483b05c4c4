"""Initial values that come from a checkpoint, and views of objects, as Keras 2 asks for them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.compat_v1.train.checkpoints import STATE_FILE, CheckpointState, write_state
from talweg.core.tracking import TrackableReference
from talweg.interop.checkpoint.object_walk import Survey, survey

if TYPE_CHECKING:
    from talweg.compat_v1.sessions.session import Session
    from talweg.core.annotations import DTypeLike


@export("__internal__.tracking.CheckpointInitialValue")
class CheckpointInitialValue:
    """The saved value of a variable that is being made; `wrapped_value` is the tensor."""

    def __init__(self, checkpoint_position: Any, shape: Any = None, shard_info: Any = None):
        self.checkpoint_position = checkpoint_position
        self.wrapped_value = checkpoint_position.value()

    @property
    def shape(self) -> Any:
        """The shape of the value."""
        return self.wrapped_value.shape


@export("__internal__.tracking.CheckpointInitialValueCallable")
class CheckpointInitialValueCallable:
    """An initializer that gives the saved value of a variable that is being made."""

    def __init__(self, checkpoint_position: Any):
        self.checkpoint_position = checkpoint_position

    def __call__(
        self, shape: Any = None, dtype: DTypeLike | None = None, shard_info: Any = None
    ) -> Any:
        return self.checkpoint_position.value()


export("__internal__.tracking.TrackableReference")(TrackableReference)


class ByIdentity(dict):
    """Values by objects, which are told apart by identity."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(id(key))


@export("__internal__.tracking.ObjectGraphView")
class ObjectGraphView:
    """Walks the objects below a root, as checkpoints see them.

    >>> import talweg as tf
    >>> module = tf.Module()
    >>> module.v = tf.Variable(1.0)
    >>> found, paths = tf.__internal__.tracking.ObjectGraphView(module).breadth_first_traversal()
    >>> [step.name for step in paths[module.v]]
    ['v']
    """

    def __init__(self, root: Any, attached_dependencies: Any = None):
        self._root, self._attached = root, attached_dependencies

    @property
    def root(self) -> Any:
        """The object that was given."""
        return self._root

    @property
    def attached_dependencies(self) -> Any:
        """Children beside those of the root."""
        return self._attached

    def breadth_first_traversal(self) -> tuple[list, ByIdentity]:
        """Walk all objects, nearer ones first; the names and objects that lead to each of them."""
        found = survey(self._root, dict(self._attached or ()))
        return found.objects, paths_of(found)


def paths_of(found: Survey) -> ByIdentity:
    """Return the names and objects that lead to each object of a survey."""
    paths = ByIdentity()
    reached: dict[tuple, Any] = {}
    for obj, path in zip(found.objects, found.paths):
        reached[path] = obj
        steps = [TrackableReference(path[n], reached[path[: n + 1]]) for n in range(len(path))]
        dict.__setitem__(paths, id(obj), tuple(steps))
    return paths


@export("__internal__.tracking.streaming_restore")
def streaming_restore(status: Any, session: Session | None = None) -> None:
    """Restore objects that are there, and those made later, as eager restores do in any case."""
    if session is not None and hasattr(status, "initialize_or_restore"):
        status.initialize_or_restore(session)


@export("__internal__.train.update_checkpoint_state")
def update_checkpoint_state(
    save_dir: Any,
    model_checkpoint_path: Any,
    all_model_checkpoint_paths: Any = None,
    latest_filename: str | None = None,
    save_relative_paths: bool = False,
    all_model_checkpoint_timestamps: Any = None,
    last_preserved_timestamp: Any = None,
) -> None:
    """Write into the file `checkpoint` of a folder which checkpoint is the latest one.

    save_relative_paths: write paths relative to the folder, so that it can be moved.
    """
    paths = [os.fspath(path) for path in all_model_checkpoint_paths or [model_checkpoint_path]]
    latest = os.fspath(model_checkpoint_path)
    if save_relative_paths:
        paths = [os.path.relpath(path, save_dir) for path in paths]
        latest = os.path.relpath(latest, save_dir)
    times = list(all_model_checkpoint_timestamps or ())
    state = CheckpointState(latest, paths, times, last_preserved_timestamp or 0.0)
    write_state(os.path.join(save_dir, latest_filename or STATE_FILE), state)
