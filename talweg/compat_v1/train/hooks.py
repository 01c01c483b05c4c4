"""Hooks of a monitored session: callbacks before and after each `run`."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.api.export import export, look_up
from talweg.compat_v1.summary.files import FileWriterCache
from talweg.compat_v1.train.saver import Saver
from talweg.core.errors import value_error
from talweg.formats.files import make_folder
from talweg.summaries.events import has_messages, messages

if TYPE_CHECKING:
    from talweg.compat_v1.sessions.session import Session
    from talweg.compat_v1.train.coordinator import Coordinator
    from talweg.core.value import Tensor

_log = logging.getLogger("talweg")


class SessionRunArgs(NamedTuple):
    """A hook's additions to a call of `run`: fetches and feeds."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """The results of a call of `run` for a hook: the values of its fetches."""

    results: Any
    options: Any
    run_metadata: Any


export("compat.v1.train.SessionRunArgs")(SessionRunArgs)
export("compat.v1.train.SessionRunValues")(SessionRunValues)


@export("compat.v1.train.SessionRunContext")
class SessionRunContext:
    """A call of `run`, as hooks see it: they may ask the training to stop."""

    def __init__(self, original_args: SessionRunArgs, session: object):
        self._original_args, self._session = original_args, session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The fetches and feeds of the user."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session itself."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook asked to stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Ask to stop after this call."""
        self._stop_requested = True


@export("compat.v1.train.SessionRunHook")
class SessionRunHook:
    """Base of hooks: each method is called at its time and does nothing here."""

    def begin(self) -> None:
        """Called before the session is made; the graph may still be changed."""

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Called when the session is made and its variables have values."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each call of `run`: what to fetch and feed beside."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each call of `run` that did not fail."""

    def end(self, session: Session) -> None:
        """Called at the end of a session that did not fail."""


@export("compat.v1.train.SecondOrStepTimer")
class SecondOrStepTimer:
    """Says when something is due that happens every so many seconds, or steps.

    >>> import talweg.compat.v1 as tf
    >>> timer = tf.train.SecondOrStepTimer(every_steps=2)
    >>> timer.should_trigger_for_step(0), timer.update_last_triggered_step(0)
    (True, (None, None))
    >>> timer.should_trigger_for_step(1), timer.should_trigger_for_step(2)
    (False, True)
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None):
        if every_secs is None and every_steps is None:
            raise value_error("TW207", "Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise value_error("TW207", "Can not provide both every_secs and every_steps.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self._last_step: int | None = None
        self._last_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Return whether it is due in this step."""
        if self._last_step is None or self._last_time is None:
            return True
        if self._last_step == step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_time + self._every_secs
        return step >= self._last_step + self._every_steps  # type: ignore[operator]

    def update_last_triggered_step(self, step: int) -> tuple:
        """Note that it was done; seconds and steps since the last time (None the first time)."""
        now = time.time()
        since = (
            (None, None)
            if self._last_step is None or self._last_time is None
            else (now - self._last_time, step - self._last_step)
        )
        self._last_step, self._last_time = step, now
        return since

    def last_triggered_step(self) -> int | None:
        """Return the step at which the timer triggered last."""
        return self._last_step


def global_step_for(hook: str) -> Any:
    """Return the variable that counts steps; RuntimeError if there is none."""
    step = look_up("compat.v1.train.get_global_step")()
    if step is None:
        raise RuntimeError(f"Global step should be created to use {hook}.  [TW207]")
    return step


@export("compat.v1.train.StopAtStepHook")
class StopAtStepHook(SessionRunHook):
    """Stops after `num_steps` more steps, or at step `last_step`; ValueError unless one is said."""

    def __init__(self, num_steps: int | None = None, last_step: int | None = None):
        if (num_steps is None) == (last_step is None):
            raise value_error("TW207", "Exactly one of num_steps or last_step must be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        """Find the step."""
        self._step = global_step_for("StopAtStepHook")

    def after_create_session(self, session: Session, coord: Any) -> None:
        """Settle where to stop."""
        if self._last_step is None:
            self._last_step = int(session.run(self._step)) + int(self._num_steps or 0)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Stop if that is reached."""
        if int(run_context.session.run(self._step)) >= int(self._last_step or 0):
            run_context.request_stop()


@export("compat.v1.train.CheckpointSaverListener")
class CheckpointSaverListener:
    """Base of listeners to checkpoints: each method does nothing here."""

    def begin(self) -> None:
        """Called before the session is made."""

    def before_save(self, session: Session, global_step_value: int) -> None:
        """Called before a checkpoint is written."""

    def after_save(self, session: Session, global_step_value: int) -> Any:
        """Called after a checkpoint was written; True asks to stop."""

    def end(self, session: Session, global_step_value: int) -> None:
        """Called at the end of the session."""


@export("compat.v1.train.CheckpointSaverHook")
class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint at the start, every `save_secs` or `save_steps`, and at the end."""

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: object = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: object = None,
        listeners: Any = None,
        save_graph_def: bool = True,
    ):
        if saver is not None and scaffold is not None:
            raise value_error("TW207", "You cannot provide both saver and scaffold.")
        self._folder, self._saver, self._scaffold = checkpoint_dir, saver, scaffold
        self._path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._listeners = list(listeners or ())
        self._save_graph_def = save_graph_def
        self._writer: Any = None

    def begin(self) -> None:
        """Find the step, and the saver."""
        self._step = global_step_for("CheckpointSaverHook")
        if self._saver is None and self._scaffold is None:
            self._saver = Saver()
        if has_messages():
            self._writer = FileWriterCache.get(self._folder)
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Session, coord: Any) -> None:
        """Write the graph as text and in the summaries, and the first checkpoint."""
        step = int(session.run(self._step))
        graph = look_up("compat.v1.get_default_graph")()
        if self._writer is not None:
            if self._save_graph_def:
                look_up("io.write_graph")(graph, self._folder, "graph.pbtxt")
            saver = self._saver or self._scaffold.saver
            export_meta_graph = look_up("compat.v1.train.export_meta_graph")
            self._writer.add_graph(graph)
            self._writer.add_meta_graph(export_meta_graph(saver_def=saver.as_saver_def()))
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write a checkpoint, if it is due."""
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Session) -> None:
        """Write the last checkpoint."""
        step = int(session.run(self._step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)
        if self._writer is not None:
            self._writer.flush()

    def _save(self, session: Any, step: int) -> bool:
        for listener in self._listeners:
            listener.before_save(session, step)
        saver = self._saver or self._scaffold.saver
        make_folder(self._folder)
        saver.save(session, self._path, step, write_meta_graph=self._save_graph_def)
        if self._writer is not None:
            kind = messages().SessionLog
            told = kind(status=kind.CHECKPOINT, checkpoint_path=self._path)
            self._writer.add_session_log(told, step)
        return any([listener.after_save(session, step) for listener in self._listeners])


@export("compat.v1.train.LoggingTensorHook")
class LoggingTensorHook(SessionRunHook):
    """Logs values of tensors every so many calls or seconds, and at the end if `at_end`.

    tensors: a list of tensors or names, or a dictionary; formatter: values by name to text.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict], str] | None = None,
    ):
        given = sum(option is not None for option in (every_n_iter, every_n_secs))
        if given > 1 or (given == 0 and not at_end):
            raise value_error(
                "TW207",
                "either at_end and/or exactly one of every_n_iter and every_n_secs must "
                "be provided.",
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise value_error("TW207", f"invalid every_n_iter={every_n_iter}.")
        self._tensors = (
            tensors
            if isinstance(tensors, dict)
            else {getattr(item, "name", item): item for item in tensors}
        )
        self._timer = SecondOrStepTimer(every_n_secs, every_n_iter) if given else None
        self._tags = sorted(self._tensors) if isinstance(tensors, dict) else list(self._tensors)
        self._at_end, self._formatter, self._calls = at_end, formatter, 0

    def begin(self) -> None:
        """Begin to count calls."""
        self._calls = 0
        if self._timer is not None:
            self._timer.reset()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetch the tensors if it is time."""
        self._due = self._timer is not None and self._timer.should_trigger_for_step(self._calls)
        return SessionRunArgs(self._tensors) if self._due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log them."""
        if self._due and self._timer is not None:
            self._write(run_values.results)
        self._calls += 1

    def end(self, session: Session) -> None:
        """Log them once more."""
        if self._at_end:
            self._write(session.run(self._tensors))

    def _write(self, values: dict) -> None:
        timer = self._timer
        seconds = None if timer is None else timer.update_last_triggered_step(self._calls)[0]
        if self._formatter:
            _log.info(self._formatter(values))
            return
        text = ", ".join(f"{tag} = {values[tag]}" for tag in self._tags)
        _log.info(text if seconds is None else f"{text} ({seconds:.3f} sec)")


class NanLossDuringTrainingError(RuntimeError):
    """The loss became NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


export("compat.v1.train.NanLossDuringTrainingError")(NanLossDuringTrainingError)


@export("compat.v1.train.NanTensorHook")
class NanTensorHook(SessionRunHook):
    """Stops, or raises NanLossDuringTrainingError, when a tensor becomes NaN."""

    def __init__(self, loss_tensor: Tensor, fail_on_nan_loss: bool = True):
        self._loss, self._fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the tensor."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Look at it."""
        if np.isnan(run_values.results).any():
            if self._fail:
                raise NanLossDuringTrainingError
            run_context.request_stop()


@export("compat.v1.train.FinalOpsHook")
class FinalOpsHook(SessionRunHook):
    """Runs operations at the end; their values are in `final_ops_values`."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None):
        self._final_ops, self._feeds = final_ops, final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values of the final operations."""
        return self._values

    def end(self, session: Session) -> None:
        """Run them."""
        if self._final_ops is not None:
            self._values = session.run(self._final_ops, feed_dict=self._feeds)


@export("compat.v1.train.GlobalStepWaiterHook")
class GlobalStepWaiterHook(SessionRunHook):
    """Has the first call of `run` wait until the global step is `wait_until_step`.

    For workers that begin after others; the step is looked at twice a second.
    """

    def __init__(self, wait_until_step: int):
        self._wait_until_step = wait_until_step
        self._done = wait_until_step <= 0

    def begin(self) -> None:
        """Find the step."""
        self._step = global_step_for("GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        """Wait until the global step has come so far."""
        while not self._done:
            self._done = int(run_context.session.run(self._step)) >= self._wait_until_step
            if not self._done:
                time.sleep(0.5)


@export("compat.v1.train.FeedFnHook")
class FeedFnHook(SessionRunHook):
    """Feeds each call of `run` the values that a function gives."""

    def __init__(self, feed_fn: Callable[[], dict]):
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask the function."""
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
