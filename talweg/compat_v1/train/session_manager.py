"""tf.compat.v1.train.SessionManager: sessions whose variables are restored or initialized."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export, look_up
from talweg.compat_v1.sessions.session import Session
from talweg.compat_v1.train.checkpoints import get_checkpoint_state
from talweg.core.errors import DeadlineExceededError, compose

if TYPE_CHECKING:
    from talweg.core.annotations import PathLike


@export("compat.v1.train.SessionManager")
class SessionManager:
    """Makes sessions: from a checkpoint, by initializers, or waiting for another process.

    local_init_op: run in every session, once ready_for_local_init_op (names of variables without a
    value) gives nothing; ready_op: gives nothing when all is ready.  graph: by default that in
    force.  recovery_wait_secs: how long `wait_for_session` waits between two looks.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     v = tf.Variable(2.0)
    ...     manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    ...     session = manager.prepare_session("", init_op=tf.global_variables_initializer())
    ...     print(session.run(v))
    2.0
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Any = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: Any = None,
    ):
        self._graph = look_up("compat.v1.get_default_graph")() if graph is None else graph
        self._local_init_op, self._local_feeds = local_init_op, local_init_feed_dict
        self._local_options, self._pause = local_init_run_options, recovery_wait_secs
        self._ready_op, self._ready_for_local_init_op = ready_op, ready_for_local_init_op

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: PathLike | None = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: Any = None,
    ) -> Session:
        """Make a session that is ready: restored if there is a checkpoint, else initialized.

        init_fn: called with the session after init_op.  RuntimeError if neither is given and there
        is no checkpoint, and if variables have no value in the end.
        """
        session, path = self._restore(
            config,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
        )
        if path is None:
            if init_op is None and init_fn is None and self._local_init_op is None:
                raise RuntimeError(
                    "Model is not initialized and no init_op or init_fn or local_init_op was given"
                    "  [TW505]"
                )
            if init_op is not None:
                session.run(init_op, feed_dict=init_feed_dict)
            if init_fn is not None:
                init_fn(session)
        source = "Init operations did" if path is None else f"The checkpoint {path} did"
        for absent, purpose in self._steps(session):
            if absent:
                raise RuntimeError(
                    compose(
                        "TW505",
                        f"{source} not make model ready for {purpose}: {absent} have no value",
                        hint="init_op=tf.global_variables_initializer()",
                    )
                )
        return session

    def recover_session(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: PathLike | None = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[Session, bool]:
        """Restore a session from a checkpoint; also whether it is ready, with all values."""
        session, path = self._restore(
            config,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
        )
        if path is None:
            return session, False
        return session, not any([absent for absent, _ in self._steps(session)])

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float = float("inf")
    ) -> Session:
        """Return a session, once its variables have values; DeadlineExceededError after
        max_wait_secs."""
        until = time.monotonic() + max_wait_secs
        while True:
            session = Session(graph=self._graph, config=config)
            if not any([absent for absent, _ in self._steps(session)]):
                return session
            session.close()
            if time.monotonic() + self._pause > until:
                raise DeadlineExceededError(
                    None, None, compose("TW505", f"Session was not ready after {max_wait_secs} s")
                )
            time.sleep(self._pause)

    def _restore(
        self, config: Any, saver: Any, folder: Any, path: Any, wait: bool, most: float
    ) -> tuple[Session, str | None]:
        """Restore a session, if there is a checkpoint; also the checkpoint's path, or None."""
        session = Session(graph=self._graph, config=config)
        if saver is None or not (folder or path):
            return session, None
        state = None
        until = time.monotonic() + most
        while path is None:
            state = get_checkpoint_state(folder)
            path = None if state is None else state.model_checkpoint_path
            if path is not None or not wait or time.monotonic() + self._pause > until:
                break
            time.sleep(self._pause)
        if path is None:
            return session, None
        saver.restore(session, path)
        if state is not None:
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return session, path

    def _steps(self, session: Session) -> Any:
        """Yield the missing initializations: before the local one, and after it."""
        absent = self._absent(session, self._ready_for_local_init_op)
        yield absent, "local_init"
        if absent:
            return
        if self._local_init_op is not None:
            session.run(
                self._local_init_op, feed_dict=self._local_feeds, options=self._local_options
            )
        yield self._absent(session, self._ready_op), "use"

    @staticmethod
    def _absent(session: Session, ready: Any) -> str:
        found = () if ready is None else session.run(ready)
        return ", ".join(np.ravel(found).astype(str)) if np.size(found) else ""
