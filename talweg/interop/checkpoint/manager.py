"""tf.train.CheckpointManager: several checkpoints of one folder, of which old ones go."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from talweg.api.export import export
from talweg.compat_v1.global_steps import global_step
from talweg.compat_v1.sessions.session import get_default_session
from talweg.compat_v1.train.checkpoints import (
    STATE_FILE,
    CheckpointState,
    get_checkpoint_state,
    remove_checkpoint,
    write_state,
)
from talweg.core.errors import value_error
from talweg.eager.graph_variable import GraphVariable
from talweg.graph.symbol import Symbol
from talweg.interop.checkpoint.checkpoint import Checkpoint
from talweg.interop.checkpoint.options import CheckpointOptions


def _present_number(number: Any) -> int:
    """Return an int, or the value of a tensor or variable, in the default session if one is."""
    if isinstance(number, (Symbol, GraphVariable)):
        return global_step(get_default_session(), number)
    return int(number)


@export("train.CheckpointManager", "compat.v1.train.CheckpointManager")
class CheckpointManager:
    """Saves checkpoints to a folder and deletes old ones (`tf.train.CheckpointManager`).

    max_to_keep: how many stay; None for all.  keep_checkpoint_every_n_hours: one of those that
    would go stays if the last that stayed is so much older.  step_counter, checkpoint_interval:
    `save` does nothing until the counter has gone that far.  init_fn: called by
    `restore_or_initialize` where there is nothing to restore.

    >>> import tempfile
    >>> import talweg as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = tf.train.Checkpoint(step=tf.Variable(0))
    ...     manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    ...     paths = [manager.save() for _ in range(3)]
    ...     print(manager.checkpoints == paths[1:], manager.latest_checkpoint == paths[-1])
    True True
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
        last_checkpoint_step: int | None = None,
    ):
        if max_to_keep is not None and max_to_keep <= 0:
            raise value_error(
                "TW507",
                f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.",
            )
        if checkpoint_interval is not None and step_counter is None:
            raise value_error(
                "TW507", "`step_counter` should be passed if `checkpoint_interval` is not None."
            )
        self._checkpoint, self._directory = checkpoint, os.fspath(directory)
        self._max_to_keep, self._name = max_to_keep, checkpoint_name
        self._keep_hours = keep_checkpoint_every_n_hours
        self._step_counter, self._interval = step_counter, checkpoint_interval
        self._init_fn, self._last_step = init_fn, last_checkpoint_step
        self._latest: str | None = None
        self._kept: dict[str, float] = {}  # path -> when it was written, oldest first
        self._last_preserved = time.time() - 1
        self._take_over()

    def _take_over(self) -> None:
        """Take over the checkpoints that an earlier manager of the folder kept."""
        state = get_checkpoint_state(self._directory)
        if state is None:
            return
        paths = state.all_model_checkpoint_paths
        times = state.all_model_checkpoint_timestamps
        if len(times) != len(paths):
            times = [time.time()] * len(paths)
        self._latest = state.model_checkpoint_path
        self._last_preserved = state.last_preserved_timestamp or self._last_preserved
        self._kept = dict(zip(paths, times))

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint that is saved."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """The counter's least distance between two checkpoints; None: `save` always saves."""
        return self._interval

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the newest checkpoint, or None."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The paths of those that are kept and counted, oldest first."""
        return list(self._kept)

    def save(
        self,
        checkpoint_number: Any = None,
        check_interval: bool = True,
        options: CheckpointOptions | None = None,
    ) -> str | None:
        """Write a checkpoint, and delete those that are too old; its path.

        checkpoint_number: stands in the path instead of the number of the save (an int or an
        integer variable or tensor).  None if the counter has not gone far enough.
        """
        step = None if self._interval is None else int(self._step_counter)
        if check_interval and self._too_early(step):
            return None

        def write(number: int) -> str:
            if checkpoint_number is not None:
                number = _present_number(checkpoint_number)
            prefix = os.path.join(self._directory, f"{self._name}-{number}")
            return self._checkpoint.write(prefix, options=options)

        path = self._checkpoint.write_numbered(write)
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self._latest = path
        self._last_step = self._last_step if step is None else step
        gone = self._too_old()
        self._note()  # first, so that the file `checkpoint` never names what is not there
        for old in gone:
            if self._is_own(old):
                remove_checkpoint(old)
        return path

    def _is_own(self, path: str) -> bool:
        """Return whether a checkpoint lies in the folder: a state file may name what does not."""
        folder = os.path.realpath(self._directory)
        return Path(os.path.realpath(path)).is_relative_to(folder)

    def _too_early(self, step: int | None) -> bool:
        if step is None or self._interval is None or self._last_step is None:
            return False
        return step < self._last_step + self._interval

    def _too_old(self) -> list[str]:
        """Forget the checkpoints that are too many; those of them whose files are to go."""
        gone = []
        while self._max_to_keep is not None and len(self._kept) > self._max_to_keep:
            path = next(iter(self._kept))
            written = self._kept.pop(path)
            if self._keep_hours and written - self._keep_hours * 3600 >= self._last_preserved:
                self._last_preserved = written
            else:
                gone.append(path)
        return gone

    def _note(self) -> None:
        """Write the file `checkpoint`, with paths relative to the folder."""
        names = [os.path.relpath(path, self._directory) for path in self._kept]
        latest = os.path.relpath(self._latest or "", self._directory)
        state = CheckpointState(latest, names, list(self._kept.values()), self._last_preserved)
        write_state(os.path.join(self._directory, STATE_FILE), state)

    def restore_or_initialize(self) -> str | None:
        """Restore the newest checkpoint and give its path; or call `init_fn`, and give None."""
        if self._latest is not None:
            self._checkpoint.restore(self._latest)
            if self._interval is not None:
                self._last_step = int(self._step_counter)
            return self._latest
        if self._init_fn is not None:
            self._init_fn()
        return None

    def sync(self) -> None:
        """Wait for writing that was begun: nothing is deferred here."""
