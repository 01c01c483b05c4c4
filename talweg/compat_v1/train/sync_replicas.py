"""tf.compat.v1.train.SyncReplicasOptimizer: gradients of several replicas averaged in each step.

The gradients of a step are collected in accumulators (`ConditionalAccumulator`), which leave out
those computed before the step.  The chief's queue runner takes their means, once there are enough,
applies them, and hands out a token with the number of the next step to each replica (Chen et al.
2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.compat_v1.train.hooks import SessionRunHook
from talweg.compat_v1.train.optimizer import Optimizer
from talweg.compat_v1.train.queue_runner import QueueRunner
from talweg.core.errors import value_error
from talweg.core.value import IndexedSlices

if TYPE_CHECKING:
    from talweg.compat_v1.sessions.session import Session


@export("compat.v1.train.SyncReplicasOptimizer")
class SyncReplicasOptimizer(Optimizer):
    """An optimizer that waits for the gradients of `replicas_to_aggregate` replicas in each step.

    opt: the optimizer that applies their means; total_num_replicas: how many get a token to begin
    the next step, by default as many.  variable_averages, variables_to_average: a
    `tf.train.ExponentialMovingAverage` to be updated in each step.  Replicas are threads here.
    `make_session_run_hook` begins and ends what it needs of a monitored session.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     step, v = tf.train.get_or_create_global_step(), tf.Variable(1.0)
    ...     descent = tf.train.GradientDescentOptimizer(0.5)
    ...     sync = tf.train.SyncReplicasOptimizer(descent, replicas_to_aggregate=1)
    ...     train = sync.minimize(v * v, global_step=step)
    ...     hook = sync.make_session_run_hook(is_chief=True, num_tokens=0)
    ...     with tf.train.MonitoredSession(hooks=[hook]) as session:
    ...         session.run(train)
    ...         print(session.run([step, v]))
    [np.int64(1), np.float32(0.0)]
    """

    def __init__(
        self,
        opt: Any,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ):
        super().__init__(use_locking, name)
        self._opt, self._wanted = opt, replicas_to_aggregate
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        self._total, self._tokens = total, max(total, replicas_to_aggregate)
        self._averages, self._averaged = variable_averages, variables_to_average
        self._applied = False
        self.local_step_init_op = self.chief_init_op = self.ready_for_local_init_op = None

    def compute_gradients(self, *args: object, **kwargs: object) -> list:
        """Compute the gradients by the optimizer inside."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Make an operation for a replica's step: its gradients are handed in, and it waits for a
        token.

        ValueError without gradients or without a global step.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise value_error("TW401", "Must supply at least one variable")
        if global_step is None:
            raise value_error("TW401", "Global step is required to check staleness")
        v1, self._global_step = look_up("compat.v1"), global_step
        local = v1.Variable(
            v1.cast(global_step.initialized_value(), "int64"),
            trainable=False,
            collections=[v1.GraphKeys.LOCAL_VARIABLES],
            name="sync_rep_local_step",
        )
        self.local_step_init_op = v1.assign(local, v1.cast(global_step, "int64"))
        self.ready_for_local_init_op = v1.report_uninitialized_variables(v1.global_variables())
        handed, means, resets = [], [], []
        for gradient, variable in pairs:
            if gradient is None:
                means.append((None, variable))
                continue
            sparse = isinstance(gradient, IndexedSlices)
            kind = v1.SparseConditionalAccumulator if sparse else v1.ConditionalAccumulator
            accumulator = kind(
                variable.dtype.base_dtype,
                shape=variable.shape,
                shared_name=f"{variable.op.name}/grad_accum",
            )
            if sparse:
                handed.append(accumulator.apply_indexed_slices_grad(gradient, local_step=local))
                means.append((accumulator.take_indexed_slices_grad(self._wanted), variable))
            else:
                handed.append(accumulator.apply_grad(gradient, local_step=local))
                means.append((accumulator.take_grad(self._wanted), variable))
            resets.append(accumulator.set_global_step(v1.cast(global_step, "int64")))
        self.chief_init_op = v1.group(self.local_step_init_op, *resets)
        self._queue = v1.FIFOQueue(-1, "int64", shapes=(), shared_name="sync_token_q")
        update = self._opt.apply_gradients(means, global_step)
        with v1.control_dependencies([update]):
            tokens = v1.fill([self._tokens], v1.cast(global_step.read_value(), "int64"))
            sync = self._queue.enqueue_many((tokens,))
        if self._averages is not None:
            with v1.control_dependencies([sync]):
                sync = self._averages.apply(self._averaged)
        self._runner = QueueRunner(self._queue, [sync])
        with v1.control_dependencies(handed):
            token = self._queue.dequeue()
        with v1.control_dependencies([token]):
            train = v1.assign(local, token, name=name).op
        self._applied = True
        return train

    def _check(self, what: str) -> None:
        if not self._applied:
            raise value_error("TW401", f"{what} should be called after apply_gradients().")

    def get_chief_queue_runner(self) -> QueueRunner:
        """Return the runner that applies the means, for the chief. ValueError before
        apply_gradients.
        """
        self._check("get_chief_queue_runner")
        return self._runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Any:
        """Make an operation that hands out the first tokens, by default one to each replica.

        ValueError before apply_gradients, and for too few tokens.
        """
        self._check("get_init_tokens_op")
        needed = self._wanted - self._total
        count = self._wanted if num_tokens == -1 else num_tokens
        if count < needed:
            raise value_error(
                "TW207", f"Too few tokens to finish the first step: {count} (given) vs {needed}"
            )
        v1 = look_up("compat.v1")
        if not count:
            return v1.no_op(name="no_init_tokens")
        step = v1.cast(self._global_step, "int64")
        return self._queue.enqueue_many((v1.fill([count], step),))

    def get_slot(self, *args: object, **kwargs: object) -> Any:
        """Return a slot of the optimizer inside."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: object, **kwargs: object) -> list:
        """Return the slots of the optimizer inside."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list:
        """Return the variables of the optimizer inside."""
        return self._opt.variables()

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SyncReplicasHook:
        """Make a hook that initializes the optimizer's queues, once a session is there."""
        return SyncReplicasHook(self, is_chief, num_tokens)


class SyncReplicasHook(SessionRunHook):
    """Starts the chief's queue runner, and hands out the first tokens."""

    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int):
        self._optimizer, self._is_chief, self._count = optimizer, is_chief, num_tokens

    def begin(self) -> None:
        """Make the operations, while the graph still may change."""
        self._threads: list = []
        self._start: Any = self._optimizer.local_step_init_op
        self._tokens: Any = None
        if self._is_chief:
            self._start = self._optimizer.chief_init_op
            self._tokens = self._optimizer.get_init_tokens_op(self._count)
            self._runner = self._optimizer.get_chief_queue_runner()

    def after_create_session(self, session: Session, coord: Any) -> None:
        """Run them."""
        session.run(self._start)
        if self._is_chief:
            session.run(self._tokens)
            self._coordinator = coord
            self._threads = self._runner.create_threads(session, coord, daemon=True, start=True)

    def end(self, session: Session) -> None:
        """Leave the thread alone that waits for gradients which never come."""
        for thread in self._threads:
            self._coordinator.forget_thread(thread)
