"""tf.compat.v1.train: threads that keep queues full."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.compat_v1.graphs import default_graph
from talweg.core import dispatch
from talweg.core.errors import CancelledError, OutOfRangeError, value_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.compat_v1.sessions.session import Session
    from talweg.compat_v1.train.coordinator import Coordinator
    from talweg.graph.operation import Operation

QUEUE_RUNNERS = "queue_runners"


@export("compat.v1.train.QueueRunner", "compat.v1.train.queue_runner.QueueRunner")
class QueueRunner:
    """Enqueue operations that threads run again and again, until queue or coordinator stops.

    enqueue_ops: a thread for each.  close_op, cancel_op: how the queue is closed when all threads
    are done, or are to stop.  queue_closed_exception_types: errors that mean the end.
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: Any = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ):
        if queue is None or enqueue_ops is None:
            raise value_error("TW104", "Must specify queue and enqueue_ops")
        self._queue, self._enqueue_ops = queue, list(enqueue_ops)
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = (
            queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        )
        self._ends = tuple(queue_closed_exception_types or (OutOfRangeError,))
        self._lock = threading.Lock()
        self._exceptions: list[BaseException] = []
        self._running: dict[Any, int] = {}

    queue = property(lambda self: self._queue, doc="The queue.")
    enqueue_ops = property(lambda self: self._enqueue_ops, doc="What the threads run.")
    close_op = property(lambda self: self._close_op, doc="What closes the queue.")
    cancel_op = property(lambda self: self._cancel_op, doc="What closes it at once.")
    queue_closed_exception_types = property(lambda self: self._ends, doc="What means the end.")
    exceptions_raised = property(lambda self: self._exceptions, doc="What threads raised.")
    name = property(lambda self: self._queue.name, doc="The name of the queue.")

    def _run(self, session: Session, enqueue_op: Operation, coord: Coordinator) -> None:
        counted = False
        try:
            while coord is None or not coord.should_stop():
                try:
                    session.run(enqueue_op)
                except (*self._ends, CancelledError) as error:
                    if isinstance(error, CancelledError) and not isinstance(error, self._ends):
                        if coord is None or not coord.should_stop():
                            raise
                        return
                    with self._lock:
                        counted = True
                        self._running[session] -= 1
                        last = self._running[session] == 0
                    if last:
                        session.run(self._close_op)
                    return
        except Exception as error:  # noqa: BLE001 -- the coordinator passes it on
            if coord is None:
                with self._lock:
                    self._exceptions.append(error)
                raise
            coord.request_stop(error)
        finally:
            if not counted:
                with self._lock:
                    self._running[session] -= 1

    def _cancel(self, session: Session, coord: Coordinator) -> None:
        coord.wait_for_stop()
        with contextlib.suppress(Exception):  # the session may be closed already
            session.run(self._cancel_op)

    def create_threads(
        self,
        sess: object,
        coord: Coordinator | None = None,
        daemon: bool = False,
        start: bool = False,
    ) -> list[threading.Thread]:
        """Make a thread for each enqueue operation, and one that closes the queue when it is to
        stop.

        RuntimeError if threads of an earlier call, for another session, have not ended: none here.
        """
        with self._lock:
            self._exceptions = []
            self._running[sess] = len(self._enqueue_ops)
        threads = [
            threading.Thread(target=self._run, args=(sess, op, coord), name=f"QueueRunner-{n}")
            for n, op in enumerate(self._enqueue_ops)
        ]
        if coord is not None:
            threads.append(threading.Thread(target=self._cancel, args=(sess, coord)))
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            thread.daemon = daemon
            if start:
                thread.start()
        return threads


@export("compat.v1.train.add_queue_runner", "compat.v1.train.queue_runner.add_queue_runner")
def add_queue_runner(qr: QueueRunner, collection: str = QUEUE_RUNNERS) -> None:
    """Let `start_queue_runners` know of a queue runner."""
    default_graph().add_to_collection(collection, qr)


@export("compat.v1.train.start_queue_runners", "compat.v1.train.queue_runner.start_queue_runners")
def start_queue_runners(
    sess: object = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Start the threads of all queue runners of the graph; the threads.

    ValueError without a session.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     batch = tf.train.batch([tf.train.range_input_producer(4, 1, False).dequeue()], 4)
    ...     _ = session.run(tf.local_variables_initializer())
    ...     coordinator = tf.train.Coordinator()
    ...     threads = tf.train.start_queue_runners(session, coordinator)
    ...     session.run(batch).tolist()
    ...     coordinator.request_stop()
    ...     coordinator.join(threads)
    [0, 1, 2, 3]
    """
    session = look_up("compat.v1.get_default_session")() if sess is None else sess
    if session is None:
        raise value_error(
            "TW104",
            "Cannot start queue runners: No default session is registered. Use `with "
            "sess.as_default()` or pass an explicit session to tf.start_queue_runners(sess=sess)",
        )
    graph = getattr(session, "graph", None) or dispatch.context.base
    threads = []
    for runner in graph.get_collection(collection):
        threads += runner.create_threads(session, coord, daemon, start)
    return threads
