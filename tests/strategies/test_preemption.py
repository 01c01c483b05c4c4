"""A checkpoint before the process is ended: by a function that says so, and by SIGTERM."""

import os
import signal

import pytest

import talweg as tf

Handler = tf.distribute.experimental.PreemptionCheckpointHandler
Config = tf.distribute.experimental.TerminationConfig


def _train(folder, config):
    step = tf.Variable(0)
    handler = Handler(None, tf.train.Checkpoint(step=step), folder, config)
    return step, handler


def test_saved_and_resumed(tmp_path):
    ended = []
    config = Config(lambda: not ended and int(step) == 3, lambda: ended.append(True))
    step, handler = _train(tmp_path, config)
    while not ended:
        handler.run(step.assign_add, 1)
    assert handler.total_run_calls == 3
    again, handler = _train(tmp_path, Config(lambda: False))
    assert (int(again), handler.total_run_calls) == (3, 3)


def test_signal(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    try:
        step, handler = _train(tmp_path, None)
        handler.run(step.assign_add, 1)
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(SystemExit):
            handler.run(step.assign_add, 1)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert tf.train.latest_checkpoint(str(tmp_path)) is not None


def test_time_that_is_left(tmp_path):
    saved = []
    config = Config(lambda: True, lambda: None, grace_period=1000, save_fn=saved.append)
    step, handler = _train(tmp_path, config)
    handler.run(step.assign_add, 1)
    assert saved == []
    config.grace_period = 0
    handler.save_checkpoint_if_preempted("now")
    assert saved == ["now"]


def test_refused(tmp_path):
    with pytest.raises(TypeError, match="checkpoint_dir"):
        Handler(None, tf.train.Checkpoint())
