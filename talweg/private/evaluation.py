"""`tensorflow.python.training.evaluation`: evaluates the model of a checkpoint once."""

from __future__ import annotations

from typing import Any

from talweg.api.export import look_up
from talweg.core.errors import value_error


def _v1(name: str) -> Any:
    return look_up(f"compat.v1.{name}")


def get_or_create_eval_step() -> Any:
    """Find or make the graph's local variable that counts evaluations; ValueError for several."""
    keys = _v1("GraphKeys")
    steps = _v1("get_default_graph")().get_collection(keys.EVAL_STEP)
    if len(steps) > 1:
        raise value_error("TW104", "Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if steps:
        return steps[0]
    return _v1("get_variable")(
        "eval_step",
        shape=[],
        dtype=look_up("int64"),
        initializer=_v1("zeros_initializer")(),
        trainable=False,
        collections=[keys.LOCAL_VARIABLES, keys.EVAL_STEP],
    )


def stop_after_n_evals_hook(num_evals: int | None, log_progress: bool = True) -> Any:
    """Make a hook that stops a session after so many evaluations; never if `num_evals` is None."""
    hook_class = _v1("train.SessionRunHook")

    class StopAfterNEvalsHook(hook_class):
        """Asks for the count of evaluations in each step."""

        counts_evaluations = True
        step: Any = None

        def before_run(self, run_context: Any) -> Any:
            """Fetch the count, too."""
            return _v1("train.SessionRunArgs")(self.step)

        def after_run(self, run_context: Any, run_values: Any) -> None:
            """Stop when the count is reached."""
            if log_progress:
                _v1("logging.info")("Evaluation [%s/%s]", run_values.results, num_evals)
            if num_evals is not None and run_values.results >= num_evals:
                run_context.request_stop()

    return StopAfterNEvalsHook()


def _with_step(eval_ops: Any, hooks: list) -> Any:
    """Add the operation that counts evaluations to the others, and give it to hooks."""
    step = _v1("assign_add")(get_or_create_eval_step(), 1, use_locking=True)
    for hook in hooks:
        if getattr(hook, "counts_evaluations", False):
            hook.step = step
    if isinstance(eval_ops, dict):
        return {**eval_ops, "update_eval_step": step}
    return [*(eval_ops if isinstance(eval_ops, (list, tuple)) else [eval_ops]), step]


def evaluate_once(
    checkpoint_path: str,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Any = None,
    config: Any = None,
) -> Any:
    """Run `eval_ops` on the variables of a checkpoint until a hook stops; `final_ops`' values."""
    hooks = list(hooks or [])
    get_or_create_eval_step()
    if eval_ops is not None:
        eval_ops = _with_step(eval_ops, hooks)
    creator = _v1("train.ChiefSessionCreator")(
        scaffold=scaffold,
        checkpoint_filename_with_path=checkpoint_path,
        master=master,
        config=config,
    )
    last = _v1("train.FinalOpsHook")(final_ops, final_ops_feed_dict)
    with _v1("train.MonitoredSession")(session_creator=creator, hooks=[*hooks, last]) as session:
        if eval_ops is not None:
            while not session.should_stop():
                session.run(eval_ops, feed_dict)
    return last.final_ops_values
