"""PreemptionCheckpointHandler of tf.distribute: a checkpoint before the process is ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from talweg.api.export import export, look_up
from talweg.core.errors import type_error


@export("distribute.experimental.TerminationConfig")
class TerminationConfig:
    """The options of `PreemptionCheckpointHandler`: how it learns of the end, and its actions then.

    termination_watcher_fn: a function without arguments that says whether the end was announced, by
    default whether SIGTERM has arrived.  exit_fn: called when the checkpoint is written, by default
    `sys.exit`.  grace_period: seconds from the announcement in which training may go on.  save_fn:
    saves in the place of the checkpoint, and takes the arguments of
    `save_checkpoint_if_preempted`.

    >>> import talweg as tf
    >>> tf.distribute.experimental.TerminationConfig(grace_period=10).grace_period
    10
    """

    def __init__(
        self,
        termination_watcher_fn: Callable[[], bool] | None = None,
        exit_fn: Callable[[], Any] | None = None,
        grace_period: float | None = None,
        save_fn: Callable[..., Any] | None = None,
    ):
        self.termination_watcher_fn, self.exit_fn = termination_watcher_fn, exit_fn
        self.grace_period, self.save_fn = grace_period, save_fn


@export("distribute.experimental.PreemptionCheckpointHandler")
class PreemptionCheckpointHandler:
    """Saves a checkpoint and ends the program when the machine announces its end.

    It restores the newest checkpoint when it is made; `run` calls a training function, after which
    it looks whether an end was announced.  cluster_resolver: kept, there is one machine.
    checkpoint_or_checkpoint_manager: a `tf.train.Checkpoint` (then with checkpoint_dir) or a
    `tf.train.CheckpointManager`.  TypeError for other things.

    >>> import tempfile
    >>> import talweg as tf
    >>> step, ended = tf.Variable(0), []
    >>> config = tf.distribute.experimental.TerminationConfig(
    ...     termination_watcher_fn=lambda: int(step) == 2, exit_fn=lambda: ended.append(True))
    >>> handler = tf.distribute.experimental.PreemptionCheckpointHandler(
    ...     None, tf.train.Checkpoint(step=step), tempfile.mkdtemp(), config)
    >>> while not ended:
    ...     _ = handler.run(lambda: step.assign_add(1))
    >>> handler.total_run_calls
    2
    """

    def __init__(
        self,
        cluster_resolver: Any,
        checkpoint_or_checkpoint_manager: Any,
        checkpoint_dir: str | None = None,
        termination_config: TerminationConfig | None = None,
    ):
        given = checkpoint_or_checkpoint_manager
        if hasattr(given, "latest_checkpoint"):
            self._manager = given
        elif hasattr(given, "restore") and checkpoint_dir is not None:
            folder = os.fspath(checkpoint_dir)
            self._manager = look_up("train.CheckpointManager")(given, folder, max_to_keep=1)
        else:
            raise type_error(
                "TW104",
                f"checkpoint_or_checkpoint_manager is {given!r}, checkpoint_dir {checkpoint_dir!r}",
                "a CheckpointManager, or a Checkpoint and a folder",
            )
        self._config = termination_config or TerminationConfig()
        self._announced: float | None = None  # when the end was announced
        self._arrived = threading.Event()
        if self._config.termination_watcher_fn is None:
            self._watch_signal()
        self._calls = look_up("Variable")(0, dtype="int64", trainable=False, name="total_run_calls")
        self._checkpoint = self._manager.checkpoint
        self._checkpoint._preemption_run_calls = self._calls
        if self._manager.latest_checkpoint is not None:
            self._checkpoint.restore(self._manager.latest_checkpoint)

    def _watch_signal(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread may say what a signal does
        before = signal.getsignal(signal.SIGTERM)

        def note_signal(number: int, frame: Any) -> None:
            self._arrived.set()
            if callable(before) and before is not signal.default_int_handler:
                before(number, frame)

        signal.signal(signal.SIGTERM, note_signal)

    @property
    def total_run_calls(self) -> int:
        """The number of calls of `run`, with those before the restored checkpoint."""
        return int(self._calls.numpy())

    def run(
        self, distributed_train_function: Callable[..., Any], *args: object, **kwargs: object
    ) -> Any:
        """Return the result of the function; if the end was announced it is saved before this
        returns."""
        found = distributed_train_function(*args, **kwargs)
        self._calls.assign_add(1)
        self.save_checkpoint_if_preempted()
        return found

    def save_checkpoint_if_preempted(self, *args: object, **kwargs: object) -> None:
        """Save a checkpoint and end the program, if the end was announced and no time is left."""
        watch = self._config.termination_watcher_fn or self._arrived.is_set
        if self._announced is None and watch():
            self._announced = time.monotonic()
        if self._announced is None:
            return
        if time.monotonic() - self._announced < (self._config.grace_period or 0):
            return
        if self._config.save_fn is not None:
            self._config.save_fn(*args, **kwargs)
        else:
            self._manager.save(*args, **kwargs)
        (self._config.exit_fn or sys.exit)()

    @contextlib.contextmanager
    def watch_preemption_scope(self) -> Iterator[None]:
        """Return a context at whose end it looks whether the end was announced."""
        yield
        self.save_checkpoint_if_preempted()
