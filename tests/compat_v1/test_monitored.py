"""Monitored sessions, their hooks, and coordinators of threads."""

import threading

import numpy as np
import pytest

import talweg as T

v1 = T.compat.v1
train = v1.train


def counting():
    """A variable, and a step that adds 1 to it and to the count of steps."""
    v = T.Variable(0.0, name="v")
    count = train.get_or_create_global_step()
    return v, T.group(v.assign_add(1.0), count.assign_add(1))


class Watching(train.SessionRunHook):
    """Notes what it is told."""

    def __init__(self, fetches):
        self.fetches, self.seen = fetches, []

    def begin(self):
        self.seen.append("begin")

    def after_create_session(self, session, coord):
        self.seen.append("created")

    def before_run(self, run_context):
        return train.SessionRunArgs(self.fetches)

    def after_run(self, run_context, run_values):
        self.seen.append(run_values.results.tolist())

    def end(self, session):
        self.seen.append("end")


def test_hooks_are_told():
    """Each at its time, with the values it asked for."""
    with T.Graph().as_default():
        x = v1.placeholder(T.float32, [2])
        y = x + 1.0
        hook = Watching(x * 2.0)
        with train.MonitoredSession(hooks=[hook]) as session:
            assert session.run(y, {x: [1.0, 2.0]}).tolist() == [2.0, 3.0]
        assert hook.seen == ["begin", "created", [2.0, 4.0], "end"]
        assert session.should_stop()
        with pytest.raises(RuntimeError):
            session.run(x, {x: [1.0, 2.0]})


def test_training_goes_on_from_its_checkpoint(tmp_path):
    """Two sessions on one folder count on."""
    found = []
    for last in (3, 5):
        with T.Graph().as_default():
            v, step = counting()
            hooks = [train.StopAtStepHook(last_step=last)]
            with train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), hooks=hooks, save_checkpoint_steps=2
            ) as session:
                while not session.should_stop():
                    session.run(step)
                found.append(
                    float(session.run_step_fn(lambda step_context: step_context.session.run(v)))
                )
    assert found == [3.0, 5.0]
    assert train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-5")


def test_a_session_that_fails_does_not_end_in_peace(tmp_path):
    """Errors pass through and hooks are not told of an end; the end of input is no error."""
    with T.Graph().as_default():
        x = v1.placeholder(T.int32, [])
        y = T.gather([1, 2], x)
        hook = Watching(y)
        with pytest.raises(T.errors.InvalidArgumentError):  # noqa: SIM117
            with train.SingularMonitoredSession(hooks=[hook]) as session:
                session.run(y, {x: 9})
        assert hook.seen == ["begin", "created"]
    with T.Graph().as_default():
        v = T.Variable(0, name="v")
        step = v.count_up_to(2)
        with train.SingularMonitoredSession() as session:
            for _ in range(5):
                session.run(step)


def test_the_graph_is_final():
    """Nothing can be added inside."""
    with T.Graph().as_default():
        v, step = counting()
        with train.MonitoredSession() as session:
            with pytest.raises(RuntimeError, match="finalized"):
                T.Variable(1.0)
            session.run(step)
            assert session.run(v) == 1.0


def test_nan_stops():
    """NanTensorHook raises, or asks to stop."""
    with T.Graph().as_default():
        x = v1.placeholder(T.float32, [])
        hook = train.NanTensorHook(x)
        with pytest.raises(train.NanLossDuringTrainingError):  # noqa: SIM117
            with train.MonitoredSession(hooks=[hook]) as session:
                session.run(x, {x: np.nan})
    with T.Graph().as_default():
        x = v1.placeholder(T.float32, [])
        hook = train.NanTensorHook(x, fail_on_nan_loss=False)
        with train.MonitoredSession(hooks=[hook]) as session:
            session.run(x, {x: 1.0})
            assert not session.should_stop()
            session.run(x, {x: np.nan})
            assert session.should_stop()


def test_feeds_and_final_operations():
    """FeedFnHook feeds; FinalOpsHook runs at the end; two feeds of one tensor are an error."""
    with T.Graph().as_default():
        x = v1.placeholder(T.float32, [])
        y = x * 2.0
        final = train.FinalOpsHook(T.constant(4.0) + 1.0)
        hooks = [train.FeedFnHook(lambda: {x: 3.0}), final]
        with train.MonitoredSession(hooks=hooks) as session:
            assert session.run(y) == 6.0
            with pytest.raises(RuntimeError, match="fed by two"):
                session.run(x, {x: 1.0})
        assert final.final_ops_values == 5.0


def test_logged_tensors(caplog):
    """LoggingTensorHook writes to the log of talweg."""
    with T.Graph().as_default(), caplog.at_level("INFO", "talweg"):
        v, step = counting()
        hook = train.LoggingTensorHook({"v": v.value()}, every_n_iter=2)
        with train.MonitoredSession(hooks=[hook]) as session:
            for _ in range(4):
                session.run(step)
    assert len(caplog.messages) == 2
    assert caplog.messages[0].startswith("v = ")


@pytest.mark.parametrize(
    "make",
    [
        lambda: train.StopAtStepHook(),
        lambda: train.StopAtStepHook(1, 2),
        lambda: train.LoggingTensorHook([]),
        lambda: train.LoggingTensorHook([], every_n_iter=0),
        lambda: train.SecondOrStepTimer(),
        lambda: train.SecondOrStepTimer(1, 1),
        lambda: train.CheckpointSaverHook("x", save_secs=1, saver=1, scaffold=1),
    ],
)
def test_hooks_refuse(make):
    """ValueError for settings that contradict each other."""
    with pytest.raises(ValueError, match="TW207"):
        make()


def test_coordinators_pass_errors_on():
    """What a thread raised is raised by `join`; the end of input is no error."""
    for error, raised in (
        (ValueError("mine"), True),
        (T.errors.OutOfRangeError(None, None, ""), False),
    ):
        coordinator = train.Coordinator()

        def work(coordinator=coordinator, error=error):
            with coordinator.stop_on_exception():
                raise error

        threads = [threading.Thread(target=work)]
        threads[0].start()
        if raised:
            with pytest.raises(ValueError, match="mine"):
                coordinator.join(threads)
        else:
            coordinator.join(threads)
        assert coordinator.should_stop()
        assert coordinator.joined


def test_coordinators_do_not_wait_for_ever():
    """A thread that does not stop is named."""
    coordinator, gate = train.Coordinator(), threading.Event()
    thread = threading.Thread(target=gate.wait, name="stubborn", daemon=True)
    thread.start()
    coordinator.request_stop()
    with pytest.raises(RuntimeError, match="stubborn"):
        coordinator.join([thread], stop_grace_period_secs=0.05)
    gate.set()
    thread.join()
