"""tf.train.MonitoredSession and its kin: sessions that initialize or restore, and call hooks."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.compat_v1.messages import RunMetadata, RunOptions
from talweg.compat_v1.sessions.session import Session
from talweg.compat_v1.train.coordinator import Coordinator
from talweg.compat_v1.train.hooks import (
    CheckpointSaverHook,
    SessionRunArgs,
    SessionRunContext,
    SessionRunValues,
)
from talweg.compat_v1.train.saver import Saver
from talweg.compat_v1.train.session_manager import SessionManager
from talweg.compat_v1.train.summary_hooks import StepCounterHook, SummarySaverHook
from talweg.core.errors import (
    AbortedError,
    OutOfRangeError,
    UnavailableError,
    type_error,
    value_error,
)
from talweg.summaries.events import has_messages

if TYPE_CHECKING:
    from collections.abc import Sequence


_log = logging.getLogger("talweg")
_DEFAULT = object()


@export("compat.v1.train.Scaffold")
class Scaffold:
    """Holds a monitored session's operations of its graph: initializers, and a saver.

    init_fn: called as init_fn(scaffold, session) after `init_op`.  summary_op: what its hooks
    write, by default all summaries of the graph merged.  The other arguments are accepted.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[..., Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: Any = None,
    ):
        other = copy_from_scaffold
        if other is not None:
            init_op, saver = init_op or other.init_op, saver or other.saver
            init_fn, local_init_op = init_fn or other.init_fn, local_init_op or other.local_init_op
            summary_op = other.summary_op if summary_op is None else summary_op
            ready_op = other.ready_op if ready_op is None else ready_op
        self.init_op, self.init_feed_dict, self.init_fn = init_op, init_feed_dict, init_fn
        self.ready_op, self.ready_for_local_init_op = ready_op, ready_for_local_init_op
        self.local_init_op, self.local_init_feed_dict = local_init_op, local_init_feed_dict
        self.summary_op, self.saver = summary_op, saver

    def finalize(self) -> Scaffold:
        """Make the missing operations, and let the graph change no more."""
        if self.init_op is None:
            self.init_op = look_up("compat.v1.global_variables_initializer")()
        if self.local_init_op is None:
            local = look_up("compat.v1.local_variables_initializer")()
            self.local_init_op = look_up("group")(local, look_up("compat.v1.tables_initializer")())
        uninitialized = look_up("compat.v1.report_uninitialized_variables")
        if self.ready_op is None:
            self.ready_op = uninitialized()
        if self.ready_for_local_init_op is None:
            variables = look_up("compat.v1.global_variables")()
            self.ready_for_local_init_op = uninitialized(variables)
        if self.saver is None:
            self.saver = Saver(allow_empty=True)
        if self.summary_op is None:
            self.summary_op = look_up("compat.v1.summary.merge_all")()
        look_up("compat.v1.get_default_graph")().finalize()
        return self

    def session_manager(self) -> SessionManager:
        """Make the manager of sessions with these operations."""
        return SessionManager(
            self.local_init_op,
            self.ready_op,
            self.ready_for_local_init_op,
            local_init_feed_dict=self.local_init_feed_dict,
        )


@export("compat.v1.train.SessionCreator")
class SessionCreator:
    """Base of the creators of a monitored session's session."""

    def create_session(self) -> Session:
        """Return the session."""
        raise NotImplementedError(f"create_session of {type(self).__name__} is not implemented")


@export("compat.v1.train.ChiefSessionCreator")
class ChiefSessionCreator(SessionCreator):
    """Makes a session whose variables come from a checkpoint, or from their initializers."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: object = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: str | None = None,
    ):
        self._scaffold = scaffold or Scaffold()
        self._config, self._folder = config, checkpoint_dir
        self._path = checkpoint_filename_with_path

    def create_session(self) -> Session:
        """Return the session, ready."""
        scaffold = self._scaffold.finalize()
        own = scaffold.init_fn
        return scaffold.session_manager().prepare_session(
            "",
            scaffold.init_op,
            scaffold.saver,
            None if self._path else self._folder,
            self._path,
            config=self._config,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=None if own is None else lambda session: own(scaffold, session),
        )


@export("compat.v1.train.WorkerSessionCreator")
class WorkerSessionCreator(SessionCreator):
    """Makes a session once another process has given the variables values: here, none does.

    So it waits until the variables have values, at most max_wait_secs (DeadlineExceededError).
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        max_wait_secs: float = 30 * 60,
    ):
        self._scaffold, self._config = scaffold or Scaffold(), config
        self._most = max_wait_secs

    def create_session(self) -> Session:
        """Return the session, ready."""
        manager = self._scaffold.finalize().session_manager()
        return manager.wait_for_session("", self._config, self._most)


@export("compat.v1.train.MonitoredSession")
class MonitoredSession:
    """A session that initializes or restores its variables, and calls hooks around each `run`.

    The graph is finalized.  OutOfRangeError and StopIteration end a `with` block in peace.  After
    AbortedError and UnavailableError another session is made, and the run is done again.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     count = tf.train.create_global_step()
    ...     step = count.assign_add(1)
    ...     with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(3)]) as session:
    ...         while not session.should_stop():
    ...             print(session.run(step))
    1
    2
    3
    """

    _recovers = True

    def __init__(
        self,
        session_creator: object = None,
        hooks: Any = None,
        stop_grace_period_secs: float = 120,
    ):
        self._hooks: list[Any] = list(hooks or ())
        self._grace = stop_grace_period_secs
        self._coordinator = Coordinator()
        for hook in self._hooks:
            hook.begin()
        self._graph = look_up("compat.v1.get_default_graph")()
        self._creator = session_creator or ChiefSessionCreator()
        self._session: Any = None
        self._open()

    def _open(self) -> None:
        """Make the session, and tell the hooks."""
        self._coordinator = Coordinator()
        self._session = self._creator.create_session()
        for hook in self._hooks:
            hook.after_create_session(self._session, self._coordinator)

    @property
    def graph(self) -> Any:
        """The graph it runs."""
        return self._graph

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Compute the values of `fetches`, and those that hooks ask for.

        RuntimeError once a hook asked to stop, or on a closed session.
        """
        while True:
            if self._session is None or self._coordinator.should_stop():
                raise RuntimeError("Run called even after should_stop requested.  [TW503]")
            try:
                return self._run(fetches, feed_dict, options, run_metadata)
            except (AbortedError, UnavailableError) as error:
                if not self._recovers:
                    raise
                _log.info("a session ended, %s; another one is made", error.message)
                self._session.close()
                self._open()

    def _run(self, fetches: Any, feed_dict: Any, options: dict[Any, Any], run_metadata: Any) -> Any:
        original = SessionRunArgs(fetches, feed_dict, options)
        context = SessionRunContext(original, self._session)
        asked, feeds = self._ask_hooks(context, feed_dict)
        wanted = {
            "caller": fetches,
            **{str(i): args.fetches for i, args in asked.items() if args.fetches is not None},
        }
        metadata = run_metadata
        if self._hooks:
            options = merge_options([options, *[args.options for args in asked.values()]])
            metadata = RunMetadata() if run_metadata is None else run_metadata
        outputs = self._session.run(wanted, feeds or None, options, metadata)
        for number, hook in enumerate(self._hooks):
            values = SessionRunValues(outputs.get(str(number)), options, metadata)
            hook.after_run(context, values)
        if context.stop_requested:
            self._coordinator.request_stop()
        return outputs["caller"]

    def _ask_hooks(self, context: SessionRunContext, feed_dict: Any) -> tuple[dict, dict]:
        """Ask each hook for its fetches and feeds; RuntimeError if two feed the same tensor."""
        asked, feeds = {}, dict(feed_dict or {})
        for number, hook in enumerate(self._hooks):
            args: Any = hook.before_run(context)
            if args is None:
                continue
            if not isinstance(args, SessionRunArgs):
                raise type_error(
                    "TW104", f"{type(hook).__name__}.before_run gave {args!r}", "SessionRunArgs"
                )
            asked[number] = args
            for key, value in (args.feed_dict or {}).items():
                if key in feeds:
                    raise RuntimeError(f"Same tensor is fed by two hooks: {key}  [TW504]")
                feeds[key] = value
        return asked, feeds

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Call `step_fn(context)`, where `context.session` is the session and `run_with_hooks`
        this run.

        `context.request_stop()` ends the training.  ValueError unless `step_context` is the name of
        the only argument.
        """
        names = list(inspect.signature(step_fn).parameters)
        if names != ["step_context"]:
            raise value_error(
                "TW104",
                f"`step_fn` may either have one `step_context` argument, or be a method with it, "
                f"not {names}",
                "def step_fn(step_context)",
            )
        if self._session is None:
            raise RuntimeError("Run called even after should_stop requested.  [TW503]")
        return step_fn(_StepContext(self))

    def should_stop(self) -> bool:
        """Return whether to stop: a hook asked for it, or the session is closed."""
        return self._session is None or self._coordinator.should_stop()

    def close(self) -> None:
        """End the hooks and close the session."""
        self._close(failed=False)

    def _close(self, failed: bool) -> None:
        session, self._session = self._session, None
        if session is None:
            return
        try:
            if not failed:
                for hook in self._hooks:
                    hook.end(session)
        finally:
            self._coordinator.request_stop()
            try:
                self._coordinator.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
            finally:
                session.close()

    def __enter__(self) -> MonitoredSession:
        return self

    def __exit__(self, kind: Any, error: object, trace: object) -> bool:
        peaceful = kind is None or issubclass(kind, (OutOfRangeError, StopIteration))
        self._close(failed=not peaceful)
        return peaceful


def merge_options(asked: list) -> Any:
    """Return the RunOptions of a run: for each field the most that somebody asks for."""
    found = RunOptions()
    for options in asked:
        if options is None:
            continue
        for field in ("trace_level", "timeout_in_ms"):
            setattr(found, field, max(getattr(found, field, 0), getattr(options, field, 0)))
        found.output_partition_graphs |= options.output_partition_graphs
    return found


class _StepContext:
    """Holds the session for the function of `run_step_fn`, and lets it stop or run with hooks."""

    def __init__(self, monitored: MonitoredSession):
        self._monitored = monitored

    @property
    def session(self) -> Session:
        """The session itself; hooks see nothing of what it runs."""
        return self._monitored._session

    def run_with_hooks(self, *args: object, **kwargs: object) -> Any:
        """Call `run` with hooks."""
        return self._monitored.run(*args, **kwargs)

    def request_stop(self) -> None:
        """End the training; raises StopIteration, which the `with` block takes."""
        raise StopIteration("step_fn has requested the iterations to stop.")


@export("compat.v1.train.SingularMonitoredSession")
class SingularMonitoredSession(MonitoredSession):
    """A MonitoredSession that takes its checkpoint folder; `raw_session` gives the session.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     v = tf.Variable(3.0)
    ...     with tf.train.SingularMonitoredSession() as session:
    ...         print(session.run(v))
    3.0
    """

    _recovers = False

    def __init__(
        self,
        hooks: Sequence[Any] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: object = None,
        checkpoint_dir: Any = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ):
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, stop_grace_period_secs)

    def raw_session(self) -> Session:
        """Return the session without hooks."""
        return self._session


@export("compat.v1.train.MonitoredTrainingSession")
def MonitoredTrainingSession(  # noqa: N802 -- TensorFlow's name
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: Any = None,
    scaffold: Scaffold | None = None,
    hooks: Any = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: Any = _DEFAULT,
    save_summaries_steps: Any = _DEFAULT,
    save_summaries_secs: Any = _DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = _DEFAULT,
    summary_dir: Any = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """Return a MonitoredSession that saves checkpoints in `checkpoint_dir` and goes on from the
    last.

    They are saved every ten minutes unless `save_checkpoint_secs` or `save_checkpoint_steps` says
    otherwise (None for both: never).  Summaries are written to `summary_dir`, by default
    `checkpoint_dir`, every 100 steps unless `save_summaries_steps` or `save_summaries_secs` says
    otherwise; without the package tensorboard they are left out, if nobody asked for them.

    >>> import tempfile
    >>> import talweg.compat.v1 as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for _ in range(2):
    ...         with tf.Graph().as_default():
    ...             step = tf.train.get_or_create_global_step().assign_add(1)
    ...             with tf.train.MonitoredTrainingSession(checkpoint_dir=folder) as session:
    ...                 print(session.run(step))
    1
    2
    """
    seconds, steps = save_checkpoint_secs, save_checkpoint_steps
    if seconds is _DEFAULT:
        seconds = 600 if steps is _DEFAULT else None
    steps = None if steps is _DEFAULT else steps
    scaffold = scaffold or Scaffold()
    own: list[Any] = list(chief_only_hooks or ()) if is_chief else []
    asked = (save_summaries_steps, save_summaries_secs)
    if is_chief:
        own += _writing_hooks(scaffold, summary_dir, checkpoint_dir, asked, log_step_count_steps)
    if checkpoint_dir and is_chief and (seconds or steps):
        own.append(
            CheckpointSaverHook(
                checkpoint_dir, seconds, steps, scaffold=scaffold, save_graph_def=save_graph_def
            )
        )
    own += hooks or ()
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, own, stop_grace_period_secs)


def _writing_hooks(
    scaffold: Scaffold,
    summary_dir: object,
    checkpoint_dir: object,
    asked: tuple,
    count_steps: int | None,
) -> list:
    """Make the hooks that write summaries and count steps; `asked`: after how many steps or
    seconds.
    """
    folder = summary_dir or checkpoint_dir
    steps, seconds = (None if value is _DEFAULT else value for value in asked)
    if asked == (_DEFAULT, _DEFAULT):
        steps = 100
        if not summary_dir and not has_messages():
            folder = None
    hooks: list[Any] = []
    if count_steps and (folder or checkpoint_dir):
        hooks.append(StepCounterHook(count_steps, output_dir=folder))
    if folder and (steps or seconds):
        hooks.append(SummarySaverHook(steps, seconds, folder, scaffold=scaffold))
    return hooks
