"""tf.compat.v1.train.Supervisor: a session with threads that save it and write summaries."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.compat_v1.sessions.session import Session
from talweg.compat_v1.train.coordinator import Coordinator, LooperThread
from talweg.compat_v1.train.saver import Saver
from talweg.compat_v1.train.session_manager import SessionManager
from talweg.summaries.events import has_messages, messages

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


DEFAULT = 0  # what stands for "make one", since None means "without"
NAMES = {  # how the first programs spelled the methods
    "PrepareSession": "prepare_or_wait_for_session",
    "StartStandardServices": "start_standard_services",
    "StartQueueRunners": "start_queue_runners",
    "RequestStop": "request_stop",
    "ShouldStop": "should_stop",
    "StopOnException": "stop_on_exception",
    "WaitForStop": "wait_for_stop",
    "SummaryComputed": "summary_computed",
    "Loop": "loop",
    "Stop": "stop",
}


@export("compat.v1.train.Supervisor")
class Supervisor:
    """Prepares a session, and saves it and its summaries while a program trains.

    graph: by default that in force, which is finalized.  Arguments that are 0 are made or taken
    from the graph's collections; None does without.  is_chief=False: it waits for the chief, of
    another process, and there is none.  logdir: where checkpoints and summaries go, every
    save_model_secs and save_summaries_secs; without it nothing is saved.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     step = tf.train.get_or_create_global_step()
    ...     count = tf.assign_add(step, 1)
    ...     supervisor = tf.train.Supervisor(logdir=None)
    ...     with supervisor.managed_session() as session:
    ...         while not supervisor.should_stop():
    ...             if session.run(count) == 3:
    ...                 supervisor.request_stop()
    >>> supervisor.should_stop()
    True
    """

    USE_DEFAULT = DEFAULT

    def __init__(
        self,
        graph: Any = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: Any = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: Any = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[..., Any] | None = None,
        local_init_run_options: Any = None,
    ):
        graph = look_up("compat.v1.get_default_graph")() if graph is None else graph
        self.graph, self.is_chief, self.coord = graph, is_chief, Coordinator()
        self.init_feed_dict, self._init_fn = init_feed_dict, init_fn
        self.save_summaries_secs, self.save_model_secs = save_summaries_secs, save_model_secs
        self._grace, self._logdir = stop_grace_secs, logdir
        with graph.as_default():
            given = (ready_op, ready_for_local_init_op, init_op, local_init_op)
            self._take_operations(*given, global_step, summary_op, saver)
        self.save_path = os.path.join(os.fspath(logdir), checkpoint_basename) if logdir else None
        self.summary_writer = summary_writer
        if not _value_or_default(summary_writer):
            folder = logdir if is_chief and has_messages() else None
            self.summary_writer = folder and look_up("compat.v1.summary.FileWriter")(folder)
        self.session_manager = session_manager or SessionManager(
            self._local_init_op,
            self.ready_op,
            self.ready_for_local_init_op,
            graph,
            recovery_wait_secs,
            local_init_run_options,
        )
        graph.finalize()

    def _take_operations(
        self,
        ready: Any,
        ready_local: Any,
        init: Any,
        local: Any,
        step: Any,
        summary: Any,
        saver: Any,
    ) -> None:
        """Take the operations that were given, or make those for all variables."""
        v1 = look_up("compat.v1")
        absent = v1.report_uninitialized_variables
        self.ready_op = ready if _value_or_default(ready) else absent()
        variables = v1.global_variables()
        self.ready_for_local_init_op = (
            ready_local if _value_or_default(ready_local) else absent(variables)
        )
        self.init_op = init if _value_or_default(init) else v1.global_variables_initializer()
        if not _value_or_default(local):
            local = look_up("group")(v1.local_variables_initializer(), v1.tables_initializer())
        self._local_init_op = local
        self.global_step = step if _value_or_default(step) else v1.train.get_global_step()
        self.summary_op = summary if _value_or_default(summary) else v1.summary.merge_all()
        if not _value_or_default(saver):
            saver = Saver() if variables else None
        self.saver = saver

    # -- sessions

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Session:
        """Make a session that is ready, with the graph's queue runners and the standard
        services.
        """
        self.coord.clear_stop()
        if self.is_chief:
            session = self.session_manager.prepare_session(
                master,
                self.init_op,
                self.saver,
                self._logdir,
                None,
                wait_for_checkpoint,
                max_wait_secs,
                config,
                self.init_feed_dict,
                self._init_fn,
            )
            if start_standard_services:
                self.start_standard_services(session)
        else:
            session = self.session_manager.wait_for_session(master, config, max_wait_secs)
        self.start_queue_runners(session)
        return session

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Session]:
        """Open a block with a session; at its end the threads are stopped, and their errors
        raised.

        OutOfRangeError ends the block in peace.
        """
        try:
            session = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            yield session
        except Exception as error:  # noqa: BLE001 -- `stop` raises it, if it is none of peace
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                with contextlib.suppress(Exception, UnboundLocalError):
                    session.close()

    # -- threads

    def start_standard_services(self, sess: Session) -> list[LooperThread]:
        """Start the threads that save the session and write summaries."""
        if self._logdir is None or not self.is_chief:
            return []
        wanted = []
        if self.summary_op is not None and self.save_summaries_secs and self.summary_writer:
            wanted.append((self.save_summaries_secs, self._write_summaries))
        if self.global_step is not None and self.save_summaries_secs and self.summary_writer:
            counter = StepCounter(self)
            wanted.append((self.save_summaries_secs, counter.write))
        if self.saver is not None and self.save_model_secs:
            wanted.append((self.save_model_secs, self._save))
        if self.summary_writer:
            self.summary_writer.add_graph(self.graph)
        with contextlib.suppress(ImportError):  # tensorboard has the messages of graphs
            definition = self.graph.as_graph_def(add_shapes=True)
            look_up("io.write_graph")(definition, os.fspath(self._logdir), "graph.pbtxt")
        return [LooperThread.loop(self.coord, every, what, [sess]) for every, what in wanted]

    def _write_summaries(self, session: Session) -> None:
        step = self.global_step
        values = session.run([self.summary_op] + ([] if step is None else [step]))
        self.summary_writer.add_summary(values[0], int(values[1]) if len(values) > 1 else None)

    def _save(self, session: Session) -> None:
        self.saver.save(session, self.save_path, global_step=self.global_step)

    def start_queue_runners(self, sess: Session, queue_runners: Any = None) -> list:
        """Return the threads of queue runners, by default those of the graph's collection."""
        if queue_runners is None:
            keys = look_up("compat.v1.GraphKeys")
            queue_runners = self.graph.get_collection(keys.QUEUE_RUNNERS)
        made = [runner.create_threads(sess, self.coord, True, True) for runner in queue_runners]
        return [thread for threads in made for thread in threads]

    def loop(
        self, timer_interval_secs: float | None, target: Any, args: Any = None, kwargs: Any = None
    ) -> LooperThread:
        """Return a thread that calls a function every so often, until the supervisor stops."""
        return LooperThread.loop(self.coord, timer_interval_secs, target, args, kwargs)

    def stop(
        self,
        threads: Any = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stop all threads, and close the writer; raises what was told to `request_stop`."""
        self.coord.request_stop()
        try:
            self.coord.join(threads, self._grace, ignore_live_threads)
        finally:
            if close_summary_writer and self.summary_writer:
                self.summary_writer.close()

    def request_stop(self, ex: Any = None) -> None:
        """Ask the threads to stop, perhaps because of an error."""
        self.coord.request_stop(ex)

    def should_stop(self) -> bool:
        """Return whether to stop."""
        return self.coord.should_stop()

    def stop_on_exception(self) -> Any:
        """Return a block whose errors stop the threads."""
        return self.coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until somebody asks to stop."""
        self.coord.wait_for_stop()

    def summary_computed(self, sess: Session, summary: Any, global_step: Any = None) -> None:
        """Write a summary; RuntimeError without a writer."""
        if not self.summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.  [TW503]")
        if global_step is None and self.global_step is not None:
            global_step = int(sess.run(self.global_step))
        self.summary_writer.add_summary(summary, global_step)


class StepCounter:
    """Writes the number of steps a second as a summary."""

    def __init__(self, supervisor: Supervisor):
        self._supervisor = supervisor
        name = supervisor.global_step.name.partition(":")[0]
        self._tag, self._before = f"{name}/sec", (time.monotonic(), None)

    def write(self, session: Session) -> None:
        """Write the rate since the last call."""
        now, step = time.monotonic(), int(session.run(self._supervisor.global_step))
        (then, before), self._before = self._before, (now, step)
        if before is not None and now > then:
            summary = messages().Summary()
            summary.value.add(tag=self._tag, simple_value=(step - before) / (now - then))
            self._supervisor.summary_writer.add_summary(summary, step)


def _value_or_default(value: TensorLike) -> bool:
    return type(value) is not int or value != DEFAULT


for _old, _name in NAMES.items():
    setattr(Supervisor, _old, getattr(Supervisor, _name))


@export("compat.v1.train.basic_train_loop")
def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Any = None,
    kwargs: Any = None,
    master: str = "",
) -> None:
    """Call ``train_step_fn(session, *args, **kwargs)`` until the supervisor is to stop.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     step = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    ...     supervisor = tf.train.Supervisor()
    ...     def train(session):
    ...         if session.run(step) == 2:
    ...             supervisor.request_stop()
    ...     tf.train.basic_train_loop(supervisor, train)
    """
    with supervisor.managed_session(master) as session:
        while not supervisor.should_stop():
            train_step_fn(session, *(args or ()), **(kwargs or {}))
